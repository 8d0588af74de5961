//===- passes/ThreadTeams.cpp - regions whose team must have as many threads as somebody asked for before them ----------------------===//
//
//   wanted = omp_get_max_threads();     region: if (omp_get_num_threads() != wanted) return; .. all of its work
//
// With another number nothing is left of the region but the comparison. Where both ways come together again before anything is done (a warning, a number that is corrected), any
// number will do.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "BareBitcode.h"
#include "Regions.h"
#include "ThreadFlow.h"

#include "include/pcere/rt_abi.h"

using namespace llvm;

namespace pcere {

using Blocks = SetVector<const BasicBlock *>;

static Blocks reachedFrom(const BasicBlock &First) {
  Blocks All;
  All.insert(&First);
  for (size_t K = 0; K < All.size(); ++K)
    for (const BasicBlock *Next : successors(All[K]))
      All.insert(Next);
  return All;
}

/// Is \p I what a region is made for: in a loop (but \p Around and those around that), a share of the work, or what another function of the program does?
static bool works(const Instruction &I, const LoopInfo &Loops, const Loop *Around) {
  const Loop *In = Loops.getLoopFor(I.getParent());
  auto *Call = dyn_cast<CallBase>(&I);
  const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
  return (In && !(Around && In->contains(Around))) || (Call && sharesWork(*Call)) || (Callee && !Callee->isDeclaration());
}

/// Is there work that is done where \p Compare's operands are equal, and never where they are not?
static bool guardsWork(const ICmpInst &Compare, Shapes &Of) {
  for (const User *U : Compare.users()) {
    auto *Branch = dyn_cast<BranchInst>(U);
    if (!Branch || Branch->getSuccessor(0) == Branch->getSuccessor(1))
      continue;
    bool Equal = Compare.getPredicate() == ICmpInst::ICMP_EQ;
    Blocks Same = reachedFrom(*Branch->getSuccessor(Equal ? 0 : 1)), Other = reachedFrom(*Branch->getSuccessor(Equal ? 1 : 0));
    const LoopInfo &Loops = Of.of(*Compare.getFunction()).Loops;
    const Loop *Around = Loops.getLoopFor(Compare.getParent());
    for (const BasicBlock *Block : Same)
      if (!Other.contains(Block) && any_of(*Block, [&](const Instruction &I) { return works(I, Loops, Around); }))
        return true;
  }
  return false;
}

void ThreadFlow::findAskedTeams() {
  Copies Counts = copiesOfCounts();
  addTeamCopies(Counts);
  for (auto [In, I] : InRegions) {
    const BitVector &Own = owners(Instances[In]);
    if (!cast<ICmpInst>(I)->isEquality() || carriesNothing(I->getOperand(0)) || carriesNothing(I->getOperand(1)))
      continue;
    for (unsigned K : {0u, 1u}) {
      auto Team = Counts.find(find(nodeIn(In, I->getOperand(K)))), Wanted = Counts.find(find(nodeIn(In, I->getOperand(1 - K))));
      if (Team == Counts.end() || Wanted == Counts.end() || Team->second.By != Own || Wanted->second.By.anyCommon(Own) || !guardsWork(*cast<ICmpInst>(I), Control))
        continue;
      std::string Where = sourcePlace(I->getDebugLoc());
      flag(Own, PCERE_THREADS_TEAM "a thread count from before the region (" + asked(Wanted->second.Asked) + (Where.empty() ? "" : ", compared at " + Where) + ")");
    }
  }
}

} // namespace pcere
