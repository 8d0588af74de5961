//===- passes/ThreadValues.cpp - numbers that each thread set for itself in another region ------------------------------------------===//
//
//   #pragma omp threadprivate(steps)     region A: steps = share(..)     region B: for (i = 0; i < steps; i++)
//
// Threads that a replay of B has beyond the captured ones never ran A: their number is what it is when the program starts, and they would do nothing, or what another thread does. B is flagged
// where such a number says when a loop ends, or where in memory it works; B has not set it by then; and another region sets it to something else than it begins with. Which number a generator draws
// is no matter: numbers are not followed through remainders and bits.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "KnownCalls.h"
#include "ThreadCalls.h"
#include "ThreadFlow.h"

#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

#include <functional>

using namespace llvm;

namespace pcere {

namespace {

/// What is set on all ways to an instruction.
class Settings {
public:
  Settings(Shapes &Of, const OwnWalk &Walk) : Of(Of), Walk(Walk) {}
  bool before(const Instruction &I, const pcere::Place &At);
  bool isMastersAlone(const Instruction &I);

private:
  static constexpr unsigned DepthMost = 5;
  bool sets(const Instruction &I, const pcere::Place &At, unsigned Depth);
  bool surely(const Function &F, const pcere::Place &At, unsigned Depth);

  Shapes &Of;
  const OwnWalk &Walk;
};

} // namespace

/// Whoever gets the variable's address may set it.
bool Settings::sets(const Instruction &I, const pcere::Place &At, unsigned Depth) {
  static constexpr uint64_t Whole = UINT64_MAX / 2;
  const DataLayout &Layout = I.getModule()->getDataLayout();
  if (auto *Store = dyn_cast<StoreInst>(&I))
    return Walk.place(*Store->getPointerOperand(), Layout.getTypeStoreSize(Store->getValueOperand()->getType()).getKnownMinValue(), OwnWalk::Itself).covers(At);
  auto *Call = dyn_cast<CallBase>(&I);
  auto *Known = dyn_cast<IntrinsicInst>(&I);
  if (!Call || (Known && !isa<MemIntrinsic>(I)) || calleeName(*Call).starts_with("__kmpc_threadprivate") || forkPath(*Call) >= 0)
    return false;
  for (unsigned K = 0; K < Call->arg_size(); ++K)
    if (!Call->onlyReadsMemory(K) && Walk.place(*Call->getArgOperand(K), Whole, OwnWalk::Itself).V == At.V)
      return true;
  const Function *Callee = Call->getCalledFunction();
  return Callee && !Callee->isDeclaration() && Depth < DepthMost && surely(*Callee, At, Depth + 1);
}

bool Settings::surely(const Function &F, const pcere::Place &At, unsigned Depth) {
  SmallVector<const BasicBlock *, 4> Ends;
  for (const BasicBlock &B : F)
    if (isa<ReturnInst>(B.getTerminator()))
      Ends.push_back(&B);
  return any_of(instructions(F), [&](const Instruction &I) {
    return all_of(Ends, [&](const BasicBlock *End) { return Of.of(F).Tree.dominates(I.getParent(), End); }) && sets(I, At, Depth);
  });
}

bool Settings::before(const Instruction &I, const pcere::Place &At) {
  const Function &F = *I.getFunction();
  return any_of(instructions(F), [&](const Instruction &Earlier) { return Of.of(F).Tree.dominates(&Earlier, &I) && sets(Earlier, At, 0); });
}

/// Behind a construct or a test that lets the first thread in alone.
bool Settings::isMastersAlone(const Instruction &I) {
  DominatorTree &Tree = Of.of(*I.getFunction()).Tree;
  for (auto *Node = Tree.getNode(const_cast<BasicBlock *>(I.getParent())); Node && Node->getIDom(); Node = Node->getIDom()) {
    const Instruction *Way = Node->getIDom()->getBlock()->getTerminator();
    auto *Test = Way->getNumSuccessors() == 2 ? dyn_cast<ICmpInst>(Way->getOperand(0)) : nullptr;
    auto *Call = Test && Test->isEquality() && carriesNothing(Test->getOperand(1)) ? dyn_cast<CallBase>(Test->getOperand(0)) : nullptr;
    StringRef Name = Call ? calleeName(*Call) : StringRef();
    if (Name == "__kmpc_master" || Name == "__kmpc_masked" || Name == "omp_get_thread_num")
      return true;
  }
  return false;
}

/// A region with copyin compares addresses of the variable, to leave the first thread's as it is.
static bool comparesAddress(const Function &F, const OwnWalk &Walk, const GlobalVariable &V) {
  return any_of(instructions(F), [&](const Instruction &I) {
    return isa<ICmpInst>(I) && any_of(I.operands(), [&](const Use &U) {
             bool Number = Operator::getOpcode(U.get()) == Instruction::PtrToInt;
             return Walk.place(Number ? *cast<Operator>(U.get())->getOperand(0) : *U.get(), 1, OwnWalk::Itself).V == &V;
           });
  });
}

static bool isFirst(const Place &At, const Instruction &By) {
  auto *Store = dyn_cast<StoreInst>(&By);
  auto *What = Store ? dyn_cast<Constant>(Store->getValueOperand()) : nullptr;
  return What && ConstantFoldLoadFromConst(const_cast<Constant *>(At.V->getInitializer()), What->getType(), APInt(64, At.Start), By.getModule()->getDataLayout()) == What;
}

void ThreadFlow::findOwnValues(const OwnWalk &Walk, ArrayRef<OwnUses> Of) {
  Shapes All;
  Purposes Purpose(All);
  Settings Setting(All, Walk);
  auto FillerOf = [&](size_t K, const Place &At) -> const Instruction * {
    for (auto [To, By] : Of[K].Filled)
      if (To.meets(At) && !isFirst(At, *By) && !Setting.isMastersAlone(*By))
        return By;
    return nullptr;
  };
  auto Filler = [&](size_t K, const Place &At) -> const Instruction * {
    for (size_t Other = 0; Other < Microtasks.size(); ++Other)
      if (const Instruction *By = Other == K ? nullptr : FillerOf(Other, At))
        return By;
    return nullptr;
  };
  DenseSet<const Function *> Asked; // whose callers were looked at, for one number
  std::function<bool(size_t, const Instruction &, const Place &)> MayBeUnset = [&](size_t K, const Instruction &I, const Place &At) {
    const Function *F = I.getFunction();
    if (Setting.isMastersAlone(I) || Setting.before(I, At))
      return false;
    if (F == Microtasks[K].F)
      return true;
    return Asked.insert(F).second && any_of(F->users(), [&](const User *U) {
             auto *Caller = dyn_cast<Instruction>(U);
             return Caller && Microtasks[K].Reached.count(const_cast<Function *>(Caller->getFunction())) && MayBeUnset(K, *Caller, At);
           });
  };
  giveReasons([&](size_t K) -> std::string {
    for (auto [At, Number] : Of[K].Numbers) {
      const Instruction *By = At.V->hasInitializer() ? Filler(K, At) : nullptr;
      Purposes::Purpose For = By ? Purpose.of(*Number) : Purposes::Nothing;
      if (For == Purposes::Nothing || (For == Purposes::Place && Of[K].filler(At)))
        continue;
      const GlobalVariable &V = *At.V;
      Asked.clear();
      if (none_of(Microtasks[K].Reached, [&](const Function *F) { return comparesAddress(*F, Walk, V); }) && MayBeUnset(K, *Number, At))
        return ownReason("numbers that each thread set for itself", At, *By);
    }
    return "";
  });
}

} // namespace pcere
