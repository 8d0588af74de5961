//===- passes/ThreadEntries.cpp - regions that a program enters only with several threads ---------------------------------------------===//
//
//   if (omp_get_max_threads() > 1) work_in_parallel(); else work();
//
// A capture with one thread knows nothing of them. Where all calls that lead to a region, through functions that nothing else than calls refer to, stand behind such a comparison of the count itself, copied, or
// of the least of it and something else. Conditions may be joined to others: further ones may keep the program from entering it even so.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "BareBitcode.h"
#include "Regions.h"
#include "ThreadCalls.h"
#include "ThreadFlow.h"

#include "include/pcere/rt_abi.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"

using namespace llvm;

namespace pcere {

/// What is known where \p Condition came out as \p Truth.
static void addImplied(const Value &Condition, bool Truth, Implied &All, unsigned Depth = 0) {
  static constexpr unsigned DepthMost = 6;
  auto *I = dyn_cast<Instruction>(&Condition);
  if (!I || Depth == DepthMost)
    return;
  if (auto *Compare = dyn_cast<ICmpInst>(I)) {
    All.push_back({Compare, Truth});
  } else if (isa<FreezeInst>(I)) {
    addImplied(*I->getOperand(0), Truth, All, Depth + 1);
  } else if (auto *Select = dyn_cast<SelectInst>(I)) {
    auto *True = dyn_cast<ConstantInt>(Select->getTrueValue()), *False = dyn_cast<ConstantInt>(Select->getFalseValue());
    if ((True && True->isOne() && !Truth) || (False && False->isZero() && Truth)) { // one or the other, one and the other
      addImplied(*Select->getCondition(), Truth, All, Depth + 1);
      addImplied(True ? *Select->getFalseValue() : *Select->getTrueValue(), Truth, All, Depth + 1);
    }
  } else if (I->getOpcode() == Instruction::Xor && isa<ConstantInt>(I->getOperand(1))) {
    addImplied(*I->getOperand(0), !Truth, All, Depth + 1);
  } else if (I->getOpcode() == (Truth ? Instruction::And : Instruction::Or)) {
    addImplied(*I->getOperand(0), Truth, All, Depth + 1);
    addImplied(*I->getOperand(1), Truth, All, Depth + 1);
  }
}

Implied impliedAt(const BasicBlock &Block, const DominatorTree &Tree) {
  Implied All;
  for (auto *Node = Tree.getNode(const_cast<BasicBlock *>(&Block)); Node && Node->getIDom(); Node = Node->getIDom()) {
    const BasicBlock *Before = Node->getIDom()->getBlock();
    auto *Branch = dyn_cast<BranchInst>(Before->getTerminator());
    if (!Branch || !Branch->isConditional() || Branch->getSuccessor(0) == Branch->getSuccessor(1))
      continue;
    for (unsigned Way : {0u, 1u})
      if (Tree.dominates(BasicBlockEdge(Before, Branch->getSuccessor(Way)), &Block))
        addImplied(*Branch->getCondition(), Way == 0, All);
  }
  return All;
}

/// How comparing one thread comes out.
static bool holdsForOne(const ICmpInst &Compare, unsigned Operand) {
  const APInt &With = cast<ConstantInt>(Compare.getOperand(1 - Operand))->getValue();
  return ICmpInst::compare(APInt(With.getBitWidth(), 1), With, Operand ? Compare.getSwappedPredicate() : Compare.getPredicate());
}

/// Is it a loop's turns that are counted, say a benchmark's over numbers of threads?
static bool countsTurns(const ICmpInst &Compare, unsigned Operand, Shapes &Of) {
  auto *Phi = dyn_cast<PHINode>(withoutCasts(Compare.getOperand(Operand)));
  return Purposes(Of).endsLoop(Compare) || (Phi && Of.of(*Phi->getFunction()).Loops.isLoopHeader(Phi->getParent()));
}

/// For how many threads at least \p Site is come to, as its own function says.
ThreadFlow::Entry ThreadFlow::entryHere(const Instruction &Site, const Copies &Counts) {
  Implied Before = impliedAt(*Site.getParent(), Control.of(*Site.getFunction()).Tree);
  Entry Found;
  for (unsigned In = 1; In < Instances.size() && !Before.empty(); ++In) {
    if (Instances[In].F != Site.getFunction() || !owners(Instances[In]).test(0))
      continue;
    Entry Most;
    for (auto [Compare, Truth] : Before)
      for (unsigned K : {0u, 1u}) {
        uint64_t From = carriesNothing(Compare->getOperand(K)) ? 0 : turnsAt(*Compare, K);
        auto Of = From > Most.From && holdsForOne(*Compare, K) != Truth ? Counts.find(find(nodeIn(In, Compare->getOperand(K)))) : Counts.end();
        if (Of != Counts.end() && isAlways(Counts, In, Compare->getOperand(K)) && !countsTurns(*Compare, K, Control))
          Most = {From, Of->second.Asked, Compare};
      }
    if (!Most.From)
      return {};
    if (!Found.From || Most.From < Found.From)
      Found = Most;
  }
  return Found;
}

/// So, or as all say that call its function.
ThreadFlow::Entry ThreadFlow::entryOf(const Instruction &Site, const Copies &Counts, unsigned Depth) {
  static constexpr unsigned DepthMost = 6;
  const Function &F = *Site.getFunction();
  Entry Found = entryHere(Site, Counts);
  if (Found.From || Depth == DepthMost || !F.hasLocalLinkage())
    return Found;
  for (const Use &U : F.uses()) {
    auto *Call = dyn_cast<CallBase>(U.getUser());
    Entry Of = Call && Call->isCallee(&U) && Call->getFunction() != &F ? entryOf(*Call, Counts, Depth + 1) : Entry();
    if (!Of.From)
      return {};
    if (!Found.From || Of.From < Found.From)
      Found = Of;
  }
  return Found;
}

void ThreadFlow::findEntries(function_ref<void(const Function &, const std::string &)> Tell) {
  MapVector<const Function *, SmallVector<const Instruction *, 2>> Sites;
  for (const Function &F : M)
    for (const Instruction &I : instructions(F))
      if (auto *Call = dyn_cast<CallBase>(&I); Call && forkPath(*Call) >= 0 && Call->arg_size() >= 3)
        if (auto *Microtask = dyn_cast<Function>(Call->getArgOperand(2)->stripPointerCasts()); Microtask && ownerOfMicrotask(*Microtask))
          Sites[Microtask].push_back(Call);
  Copies Counts = Sites.empty() ? Copies() : countsAndMinima();
  for (auto &[Microtask, Of] : Sites) {
    Entry Fewest;
    bool All = true;
    for (const Instruction *Site : Of) {
      Entry Found = entryOf(*Site, Counts, 0);
      All &= Found.From > 0;
      if (!Fewest.From || Found.From < Fewest.From)
        Fewest = Found;
    }
    if (!All)
      continue;
    std::string Where = sourcePlace(Fewest.Compared->getDebugLoc());
    Tell(*Microtask, PCERE_THREADS_ENTERED + std::to_string(Fewest.From) + " threads on (" + asked(Fewest.Asked) + (Where.empty() ? "" : ", compared at " + Where) + ")");
  }
}

} // namespace pcere
