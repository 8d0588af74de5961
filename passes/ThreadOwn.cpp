//===- passes/ThreadOwn.cpp - memory that each thread made for itself in another region --------------------------------------------===//
//
//   #pragma omp threadprivate(work)     region A: work = malloc(..)     region B: work[i] = ..
//
// Threads that a replay of B has beyond the captured ones never ran A: their pointer is what it is when the program starts, null. B is flagged where it goes where such a pointer leads, neither
// makes it itself nor looks whether it is there, and another region makes it. thread_local variables, copies of the OpenMP runtime's, and pointers inside of variables (Fortran's descriptors,
// C++ containers) alike.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "ThreadOwn.h"

#include "BareBitcode.h"
#include "KnownCalls.h"
#include "ThreadCalls.h"
#include "ThreadFlow.h"

#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace pcere {

OwnWalk::OwnWalk(const Module &M) : Layout(M.getDataLayout()) {
  for (const GlobalVariable &V : M.globals())
    if (V.isThreadLocal())
      Wrapped.insert({demangle(V.getName().str()), &V});
}

const GlobalVariable *OwnWalk::variable(const Value &Base) const {
  static constexpr StringRef Wrapper = "thread-local wrapper routine for ";
  if (auto *V = dyn_cast<GlobalVariable>(&Base))
    return V->isThreadLocal() ? V : nullptr;
  auto *Call = dyn_cast<CallBase>(&Base);
  if (!Call)
    return nullptr;
  StringRef Name = calleeName(*Call);
  if (Call->getIntrinsicID() == Intrinsic::threadlocal_address)
    return dyn_cast<GlobalVariable>(Call->getArgOperand(0)->stripPointerCasts());
  if (Name == "__kmpc_threadprivate_cached" && Call->arg_size() > 2)
    return dyn_cast<GlobalVariable>(Call->getArgOperand(2)->stripPointerCasts());
  if (!Name.starts_with("_ZTW"))
    return nullptr;
  std::string Readable = demangle(Name.str());
  return StringRef(Readable).starts_with(Wrapper) ? Wrapped.lookup(StringRef(Readable).substr(Wrapper.size())) : nullptr;
}

/// Fortran's descriptors are copied to the stack before they are used, where the optimiser does not run. Null: that is no such copy, or one of several.
static const Value *copiedFrom(const Value &Copy) {
  const Value *From = nullptr;
  for (const User *U : Copy.users())
    if (auto *Call = dyn_cast<MemTransferInst>(U); Call && Call->getRawDest() == &Copy) {
      if (From)
        return nullptr;
      From = Call->getRawSource();
    }
  return From;
}

Place OwnWalk::place(const Value &Pointer, uint64_t Bytes, Where Looked, unsigned Depth) const {
  static constexpr unsigned DepthMost = 2;
  if (!Pointer.getType()->isPointerTy())
    return {};
  APInt Offset(Layout.getIndexTypeSizeInBits(Pointer.getType()), 0);
  const Value *Base = Pointer.stripAndAccumulateConstantOffsets(Layout, Offset, /*AllowNonInbounds=*/true);
  Place At{variable(*Base), 0, Bytes};
  auto *Ways = Depth < DepthMost ? dyn_cast<PHINode>(Base) : nullptr; // the same variable, reached by each of them
  for (unsigned K = 0; Ways && K < Ways->getNumIncomingValues(); ++K) {
    Place Way = place(*Ways->getIncomingValue(K), Bytes, Looked, Depth + 1);
    if (!Way.V || (K && (Way.V != At.V || Way.Start != At.Start)))
      return {};
    At = Way;
  }
  if (auto *From = Looked == OrCopies && Depth < DepthMost && isa<AllocaInst>(Base) ? copiedFrom(*Base) : nullptr)
    At = place(*From, Bytes, Looked, Depth + 1);
  if (!At.V || Offset.isNegative())
    return {};
  At.Start += Offset.getZExtValue();
  return At;
}

/// A pointer that is compared with another one, or taken for a number, may be one that leads nowhere.
void OwnWalk::lookAtLoad(const LoadInst &Load, OwnUses &Uses) const {
  if (Load.getType()->isIntegerTy() || Load.getType()->isFloatingPointTy())
    if (Place From = place(*Load.getPointerOperand(), Layout.getTypeStoreSize(Load.getType()).getKnownMinValue(), Itself); From.V)
      Uses.Numbers.push_back({From, &Load});
  Place From = Load.getType()->isPointerTy() ? place(*Load.getPointerOperand(), Layout.getPointerSize(), OrCopies) : Place();
  if (!From.V)
    return;
  for (const User *U : Load.users()) {
    auto *Compare = dyn_cast<ICmpInst>(U);
    auto *Store = dyn_cast<StoreInst>(U);
    if ((Compare && Compare->isEquality()) || isa<PtrToIntInst>(U) || isa<PHINode>(U) || isa<SelectInst>(U))
      Uses.Checked.push_back(From);
    else if (isa<GetElementPtrInst>(U) || isa<LoadInst>(U) || (Store && Store->getPointerOperand() == &Load))
      Uses.Led.push_back(From);
  }
}

/// Whoever gets the variable's address may set what is in it.
void OwnWalk::lookAtCall(const CallBase &Call, OwnUses &Uses) const {
  auto *Known = dyn_cast<IntrinsicInst>(&Call);
  if (Known && (Known->isAssumeLikeIntrinsic() || Known->getIntrinsicID() == Intrinsic::threadlocal_address))
    return;
  auto *Cleared = dyn_cast<MemSetInst>(&Call);
  if ((Cleared && carriesNothing(Cleared->getValue())) || calleeName(Call).starts_with("__kmpc_threadprivate") || calleeName(Call) == "__cxa_thread_atexit")
    return;
  for (unsigned K = 0; K < Call.arg_size(); ++K)
    if (Place Given = place(*Call.getArgOperand(K), UINT64_MAX / 2, Itself); Given.V && !Call.onlyReadsMemory(K))
      Uses.Filled.push_back({{Given.V, 0, Given.Bytes}, &Call});
}

void OwnWalk::look(const Instruction &I, OwnUses &Uses) const {
  if (auto *Load = dyn_cast<LoadInst>(&I))
    return lookAtLoad(*Load, Uses);
  if (auto *Call = dyn_cast<CallBase>(&I))
    return lookAtCall(*Call, Uses);
  auto *Store = dyn_cast<StoreInst>(&I);
  if (!Store)
    return;
  const Value *What = Store->getValueOperand();
  auto *Fixed = dyn_cast<Constant>(What);
  if (Place Kept = place(*What, UINT64_MAX / 2, Itself); Kept.V)
    Uses.Filled.push_back({{Kept.V, 0, Kept.Bytes}, Store});
  if (Place To = place(*Store->getPointerOperand(), Layout.getTypeStoreSize(What->getType()).getKnownMinValue(), Itself); To.V && !(Fixed && Fixed->isNullValue()))
    Uses.Filled.push_back({To, Store});
}

/// The OpenMP runtime's copies of an object are made by its constructor.
static bool isConstructed(const GlobalVariable &V) {
  return any_of(V.users(), [&](const User *U) {
    auto *Call = dyn_cast<CallBase>(U);
    return Call && calleeName(*Call).starts_with("__kmpc_threadprivate_register") && Call->arg_size() > 3 &&
           !(isa<ConstantPointerNull>(Call->getArgOperand(2)) && isa<ConstantPointerNull>(Call->getArgOperand(3)));
  });
}

static bool isNullFirst(const Place &At, const DataLayout &Layout) {
  if (!At.V->hasInitializer() || isConstructed(*At.V))
    return false;
  Type *Pointer = PointerType::get(At.V->getContext(), 0);
  const Constant *First = ConstantFoldLoadFromConst(const_cast<Constant *>(At.V->getInitializer()), Pointer, APInt(64, At.Start), Layout);
  return First && First->isNullValue();
}

static std::string readable(const GlobalVariable &V) {
  SmallVector<DIGlobalVariableExpression *, 1> About;
  V.getDebugInfo(About);
  StringRef Name = V.getName();
  if (About.empty() && Name.starts_with("_QM"))
    return Name.substr(Name.rfind('E') + 1).str(); // _QMmoduleEname
  return About.empty() ? demangle(Name.str()) : About[0]->getVariable()->getName().str();
}

bool ThreadFlow::keepsOwn() const {
  if (any_of(M.globals(), [](const GlobalVariable &V) { return V.isThreadLocal(); }))
    return true;
  const Function *Copies = M.getFunction("__kmpc_threadprivate_cached");
  return Copies && !Copies->use_empty();
}

std::string ownReason(StringRef What, const Place &At, const Instruction &By) {
  std::string Where = sourcePlace(By.getDebugLoc());
  return (What + " in another region (" + readable(*At.V) + (Where.empty() ? "" : ", at " + Where) + ")").str();
}

void ThreadFlow::findOwn() {
  OwnWalk Walk(M);
  DenseMap<const Function *, OwnUses> OfFunction;
  for (const Function &F : M)
    for (const Instruction &I : instructions(F))
      Walk.look(I, OfFunction[&F]);
  std::vector<OwnUses> Of(Microtasks.size());
  for (size_t K = 0; K < Microtasks.size(); ++K)
    for (const Function *F : Microtasks[K].Reached)
      Of[K].append(OfFunction[F]);
  findOwnMemory(Of);
  findOwnValues(Walk, Of);
}

void ThreadFlow::findOwnMemory(ArrayRef<OwnUses> Of) {
  const DataLayout &Layout = M.getDataLayout();
  giveReasons([&](size_t K) -> std::string {
    for (const Place &At : Of[K].Led) {
      if (any_of(Of[K].Checked, [&](const Place &Known) { return Known.meets(At); }) || Of[K].filler(At) || !isNullFirst(At, Layout))
        continue;
      for (size_t Other = 0; Other < Microtasks.size(); ++Other)
        if (const Instruction *By = Other == K ? nullptr : Of[Other].filler(At))
          return ownReason("memory that each thread made for itself", At, *By);
    }
    return "";
  });
}

} // namespace pcere
