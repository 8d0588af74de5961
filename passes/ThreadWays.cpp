//===- passes/ThreadWays.cpp - regions that a thread count from before them sends another way ----------------------------------------===//
//
//   threads = omp_get_max_threads();     region: if (threads > 1) part[i] = x; else sum[at[i]] += x;
//
// Their memory has the count that they were captured with, and so they go that way in replays with any other. Only the count itself, copied, that a region compares with a constant; not what tells of
// processors, which are as many for any number of threads.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "BareBitcode.h"
#include "Regions.h"
#include "ThreadFlow.h"

#include "include/pcere/rt_abi.h"

#include "llvm/IR/Constants.h"

using namespace llvm;

namespace pcere {

/// A thread count that follows what the user asks for.
static bool followsUser(const Instruction &I, bool InRegion) {
  auto *Call = dyn_cast<CallBase>(&I);
  StringRef Name = Call ? calleeName(*Call) : StringRef();
  Name.consume_back("_"); // Fortran's
  return Name == "omp_get_max_threads" || ((Name == "omp_get_num_threads" || Name == "omp_get_team_size") && InRegion);
}

/// The fewest threads, two or more, for which comparing them comes out otherwise than for one; or 0. Of equality, with one.
static uint64_t turnsAt(const ICmpInst &Compare, unsigned Operand) {
  static constexpr int64_t Most = 4096;
  auto *Number = dyn_cast<ConstantInt>(Compare.getOperand(1 - Operand));
  if (!Number || Number->getBitWidth() > 64)
    return 0;
  int64_t With = Number->getSExtValue();
  ICmpInst::Predicate How = Operand ? Compare.getSwappedPredicate() : Compare.getPredicate();
  if (ICmpInst::isEquality(How))
    return With == 1 ? 2 : 0;
  bool After = How == ICmpInst::ICMP_SGT || How == ICmpInst::ICMP_UGT || How == ICmpInst::ICMP_SLE || How == ICmpInst::ICMP_ULE;
  return With + After > 1 && With < Most ? static_cast<uint64_t>(With + After) : 0;
}

ThreadFlow::Copies ThreadFlow::copiesOfCounts() {
  Copies All;
  SetVector<unsigned> Next;
  auto Add = [&](unsigned N, const BitVector &By, const Instruction *Asked) {
    Copy &Of = All.try_emplace(N, Copy{BitVector(older() + 1), Asked}).first->second;
    if (By.test(Of.By)) {
      Of.By |= By;
      Next.insert(N);
    }
  };
  for (auto [In, I] : Sources) {
    BitVector Regions = owners(Instances[In]);
    Regions.reset(0);
    if (followsUser(*I, Regions.any()))
      Add(find(nodeIn(In, I)), owners(Instances[In]), I);
  }
  while (!Next.empty()) {
    unsigned N = Next.pop_back_val();
    Copy Of = All.find(N)->second;
    for (unsigned K = N + 1 < FirstOut.size() ? FirstOut[N] : 0; N + 1 < FirstOut.size() && K < FirstOut[N + 1]; ++K)
      if (const Edge &E = Edges[Out[K]]; E.How == Edge::Copied && !E.Allocation && !isWide(E.To))
        Add(find(E.To), Of.By, Of.Asked);
  }
  return All;
}

/// The class of \p V, or, where it is read from memory, perhaps more than once, of what is there.
unsigned ThreadFlow::origin(unsigned In, const Value *V) {
  while (auto *Cast = dyn_cast<CastInst>(V))
    V = Cast->getOperand(0);
  auto *Load = dyn_cast<LoadInst>(V);
  return find(Load && !carriesNothing(Load->getPointerOperand()) ? content(nodeIn(In, Load->getPointerOperand())) : nodeIn(In, V));
}

/// Of these, by instance and origin, those at which a loop ends.
DenseSet<std::pair<unsigned, unsigned>> ThreadFlow::bounds(const Copies &Of) {
  DenseSet<std::pair<unsigned, unsigned>> All;
  Shapes Known;
  Purposes Purpose(Known);
  for (auto [In, I] : InRegions)
    for (const Use &U : I->operands())
      if (!carriesNothing(U) && Of.count(find(nodeIn(In, U))) && Purpose.of(*U) == Purposes::Bound)
        All.insert({In, origin(In, U)});
  return All;
}

/// Of regions for which nothing else was found. A count that the region, too, asks for is its own team's. Where a loop ends at it, comparing it is most likely to find out whether that is entered.
void ThreadFlow::findWays() {
  Copies Of = copiesOfCounts();
  DenseSet<std::pair<unsigned, unsigned>> Ends = bounds(Of);
  MapVector<unsigned, std::pair<uint64_t, std::string>> Ways; // by region: the fewest threads, and the reason
  for (auto [In, I] : InRegions)
    for (unsigned K : {0u, 1u}) {
      auto *Compare = cast<ICmpInst>(I);
      uint64_t From = carriesNothing(I->getOperand(K)) ? 0 : turnsAt(*Compare, K);
      auto Slot = From ? Of.find(find(nodeIn(In, I->getOperand(K)))) : Of.end();
      BitVector Own = owners(Instances[In]);
      Own.reset(0);
      if (Slot == Of.end() || !Slot->second.By.anyCommon(others(In)) || Slot->second.By.anyCommon(Own) || Ends.count({In, origin(In, I->getOperand(K))}))
        continue;
      for (unsigned Owner : Own.set_bits()) {
        auto &[Least, Reason] = Ways[Owner];
        if (Least && Least <= From)
          continue;
        Least = From;
        std::string At = sourcePlace(I->getDebugLoc());
        Reason = PCERE_THREADS_WAY + std::to_string(From) + " threads on (" + asked(Slot->second.Asked) + (At.empty() ? "" : ", compared at " + At) + ")";
      }
    }
  giveReasons([&](size_t K) { return Ways.lookup(static_cast<unsigned>(K) + 1).second; });
}

} // namespace pcere
