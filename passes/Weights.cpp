//===- passes/Weights.cpp - what an instruction counts, and who may look at counts ---------------------------------------------===//
//
// The rules here are those of include/pcere/counts.inc and docs/METHOD.md.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "Counting.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace pcere {

bool Weights::empty() const {
  return Of == decltype(Of){};
}

Weights &Weights::operator+=(const Weights &Other) {
  for (size_t I = 0; I < Of.size(); ++I)
    Of[I] += Other.Of[I];
  return *this;
}

static uint64_t elements(const Type *T) {
  auto *Vector = dyn_cast<FixedVectorType>(T);
  return Vector ? Vector->getNumElements() : 1;
}

/// \p Each operations for each element of \p T.
static void addFlops(Weights &W, const Type *T, uint64_t Each) {
  if (const auto *Parts = dyn_cast<StructType>(T)) // of intrinsics that give two results
    T = Parts->getNumElements() ? Parts->getElementType(0) : T;
  const Type *Element = T->getScalarType();
  unsigned First = Element->isDoubleTy() ? PCERE_COUNT_DOUBLE_SCALAR : PCERE_COUNT_SINGLE_SCALAR, Width = 0;
  if (T->isVectorTy()) {
    uint64_t Bits = elements(T) * Element->getPrimitiveSizeInBits().getFixedValue();
    Width = Bits <= 128 ? 1 : Bits <= 256 ? 2 : 3;
  }
  bool Named = Element->isDoubleTy() || Element->isFloatTy();
  W.Of[Named ? First + Width : static_cast<unsigned>(PCERE_COUNT_OTHER_FLOPS)] += Each * elements(T);
}

static void addAccess(Weights &W, bool Loads, uint64_t Bytes) {
  W.Of[Loads ? PCERE_COUNT_LOADS : PCERE_COUNT_STORES] += 1;
  W.Of[Loads ? PCERE_COUNT_LOAD_BYTES : PCERE_COUNT_STORE_BYTES] += Bytes;
}

static uint64_t bytesOf(const Instruction &I, Type *T) {
  return I.getModule()->getDataLayout().getTypeStoreSize(T).getKnownMinValue();
}

static uint64_t constantLength(const MemIntrinsic &Block) {
  auto *Length = dyn_cast<ConstantInt>(Block.getLength());
  return Length ? Length->getZExtValue() : 0;
}

Value *variableLength(const Instruction &I) {
  auto *Block = dyn_cast<MemIntrinsic>(&I);
  return Block && !isa<ConstantInt>(Block->getLength()) ? Block->getLength() : nullptr;
}

static void weighIntrinsic(Weights &W, const IntrinsicInst &I) {
  Type *T = I.getType();
  switch (I.getIntrinsicID()) {
  case Intrinsic::fma:
  case Intrinsic::fmuladd:
    addFlops(W, T, 2);
    break;
  case Intrinsic::sqrt:
  case Intrinsic::minnum:
  case Intrinsic::maxnum:
  case Intrinsic::minimum:
  case Intrinsic::maximum:
    addFlops(W, T, 1);
    break;
  case Intrinsic::vector_reduce_fadd:
  case Intrinsic::vector_reduce_fmul:
    addFlops(W, I.getArgOperand(1)->getType(), 1);
    break;
  case Intrinsic::vector_reduce_fmin:
  case Intrinsic::vector_reduce_fmax:
    addFlops(W, I.getArgOperand(0)->getType(), 1);
    break;
  case Intrinsic::vector_reduce_add:
  case Intrinsic::vector_reduce_mul:
  case Intrinsic::vector_reduce_and:
  case Intrinsic::vector_reduce_or:
  case Intrinsic::vector_reduce_xor:
  case Intrinsic::vector_reduce_smax:
  case Intrinsic::vector_reduce_smin:
  case Intrinsic::vector_reduce_umax:
  case Intrinsic::vector_reduce_umin:
    W.Of[PCERE_COUNT_INTEGER] += elements(I.getArgOperand(0)->getType());
    break;
  case Intrinsic::smax:
  case Intrinsic::smin:
  case Intrinsic::umax:
  case Intrinsic::umin:
  case Intrinsic::abs:
  case Intrinsic::ctpop:
  case Intrinsic::ctlz:
  case Intrinsic::cttz:
  case Intrinsic::bswap:
  case Intrinsic::bitreverse:
  case Intrinsic::fshl:
  case Intrinsic::fshr:
  case Intrinsic::sadd_with_overflow:
  case Intrinsic::uadd_with_overflow:
  case Intrinsic::ssub_with_overflow:
  case Intrinsic::usub_with_overflow:
  case Intrinsic::smul_with_overflow:
  case Intrinsic::umul_with_overflow:
  case Intrinsic::sadd_sat:
  case Intrinsic::uadd_sat:
  case Intrinsic::ssub_sat:
  case Intrinsic::usub_sat:
    W.Of[PCERE_COUNT_INTEGER] += elements(I.getArgOperand(0)->getType());
    break;
  case Intrinsic::masked_load:
  case Intrinsic::masked_gather:
  case Intrinsic::masked_expandload:
    addAccess(W, true, bytesOf(I, T));
    break;
  case Intrinsic::masked_store:
  case Intrinsic::masked_scatter:
  case Intrinsic::masked_compressstore:
    addAccess(W, false, bytesOf(I, I.getArgOperand(0)->getType()));
    break;
  default:
    if (auto *Block = dyn_cast<MemIntrinsic>(&I)) {
      if (isa<MemTransferInst>(Block))
        addAccess(W, true, constantLength(*Block));
      addAccess(W, false, constantLength(*Block));
    }
  }
}

static const Function *calleeOf(const CallBase &Call) {
  return dyn_cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases());
}

static bool isOwn(const Instruction &I) {
  auto *Call = dyn_cast<CallBase>(&I);
  const Function *Callee = Call ? calleeOf(*Call) : nullptr;
  return Callee && Callee->getName().starts_with(OwnPrefix);
}

static bool leavesNoCode(const Instruction &I) {
  if (auto *Alloca = dyn_cast<AllocaInst>(&I))
    return Alloca->isStaticAlloca();
  if (auto *Branch = dyn_cast<BranchInst>(&I))
    return Branch->isUnconditional();
  if (auto *Address = dyn_cast<GetElementPtrInst>(&I))
    return Address->hasAllConstantIndices();
  if (auto *Known = dyn_cast<IntrinsicInst>(&I)) // debugging, lifetimes, assumptions, and where thread-local data lie
    return Known->isAssumeLikeIntrinsic() || Known->getIntrinsicID() == Intrinsic::threadlocal_address;
  return isa<PHINode>(I) || isa<BitCastInst>(I) || isa<PtrToIntInst>(I) || isa<IntToPtrInst>(I) || isa<AddrSpaceCastInst>(I) ||
         isa<FreezeInst>(I) || isa<UnreachableInst>(I) || isa<LandingPadInst>(I);
}

Weights weigh(const Instruction &I) {
  Weights W;
  if (leavesNoCode(I) || isOwn(I))
    return W;
  W.Of[PCERE_COUNT_INSTRUCTIONS] = 1;
  if (auto *Load = dyn_cast<LoadInst>(&I)) {
    addAccess(W, true, bytesOf(I, I.getType()));
    W.Of[PCERE_COUNT_ATOMICS] += Load->isAtomic();
  } else if (auto *Store = dyn_cast<StoreInst>(&I)) {
    addAccess(W, false, bytesOf(I, Store->getValueOperand()->getType()));
    W.Of[PCERE_COUNT_ATOMICS] += Store->isAtomic();
  } else if (auto *Update = dyn_cast<AtomicRMWInst>(&I)) {
    addAccess(W, true, bytesOf(I, I.getType()));
    addAccess(W, false, bytesOf(I, I.getType()));
    W.Of[PCERE_COUNT_ATOMICS] += 1;
    if (I.getType()->isFPOrFPVectorTy() && Update->isFloatingPointOperation())
      addFlops(W, I.getType(), 1);
    else if (Update->getOperation() != AtomicRMWInst::Xchg)
      W.Of[PCERE_COUNT_INTEGER] += 1;
  } else if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I)) {
    addAccess(W, true, bytesOf(I, Exchange->getNewValOperand()->getType()));
    addAccess(W, false, bytesOf(I, Exchange->getNewValOperand()->getType()));
    W.Of[PCERE_COUNT_ATOMICS] += 1;
  } else if (isa<FenceInst>(I)) {
    W.Of[PCERE_COUNT_ATOMICS] += 1;
  } else if (isa<BranchInst>(I) || isa<SwitchInst>(I) || isa<IndirectBrInst>(I)) {
    W.Of[PCERE_COUNT_BRANCHES] += 1;
  } else if (isa<BinaryOperator>(I)) {
    if (I.getType()->isFPOrFPVectorTy())
      addFlops(W, I.getType(), 1);
    else
      W.Of[PCERE_COUNT_INTEGER] += elements(I.getType());
  } else if (isa<ICmpInst>(I)) {
    W.Of[PCERE_COUNT_INTEGER] += elements(I.getType());
  } else if (auto *Known = dyn_cast<IntrinsicInst>(&I)) {
    weighIntrinsic(W, *Known);
  } else if (auto *Call = dyn_cast<CallBase>(&I); Call && !Call->isInlineAsm()) {
    const Function *Callee = calleeOf(*Call);
    bool Counted = Callee && !Callee->isDeclarationForLinker();
    W.Of[Counted ? PCERE_COUNT_CALLS : PCERE_COUNT_UNSEEN_CALLS] += 1;
  }
  return W;
}

bool isLoud(const Instruction &I, const FunctionSet &Quiet, const TargetLibraryInfo &Library) {
  auto *Call = dyn_cast<CallBase>(&I);
  if (!Call || Call->isInlineAsm())
    return isa<ResumeInst>(I);
  const Function *Callee = calleeOf(*Call);
  if (!Callee)
    return true;
  if (Callee->isIntrinsic())
    return Callee->getName().starts_with("llvm.eh.") || Callee->getName().starts_with("llvm.experimental.");
  if (!Callee->isDeclaration())
    return !Quiet.contains(Callee);
  LibFunc Known; // of the C library, what returns has called nothing of the program's: qsort and exit are not said to return
  return !(Library.getLibFunc(*Callee, Known) && Library.has(Known) && Call->doesNotThrow() && Call->hasFnAttr(Attribute::WillReturn));
}

FunctionSet quietFunctions(const Module &M, FunctionAnalysisManager &Analyses) {
  FunctionSet Quiet;
  for (const Function &F : M)
    if (!F.isDeclaration() && !F.isInterposable())
      Quiet.insert(&F);
  for (bool Changed = true; Changed;) {
    Changed = false;
    for (const Function &F : M) {
      if (!Quiet.contains(&F))
        continue;
      auto &Library = Analyses.getResult<TargetLibraryAnalysis>(const_cast<Function &>(F));
      if (any_of(instructions(F), [&](const Instruction &I) { return isLoud(I, Quiet, Library); }))
        Changed = Quiet.erase(&F);
    }
  }
  return Quiet;
}

} // namespace pcere
