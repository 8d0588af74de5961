//===- passes/ThreadWays.cpp - regions that a thread count from before them sends another way ----------------------------------------===//
//
//   threads = omp_get_max_threads();     region: if (threads > 1) part[i] = x; else sum[at[i]] += x;
//
// Their memory has the count that they were captured with, and so they go that way in replays with any other. Only the count itself, copied, that a region compares with a constant, or a flag that such
// a comparison made before it; not what tells of processors, which are as many for any number of threads.
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

uint64_t turnsAt(const ICmpInst &Compare, unsigned Operand) {
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

void ThreadFlow::addCopy(Copies &All, SetVector<unsigned> &Next, unsigned N, const Copy &Of) {
  Copy &Known = All.try_emplace(N, Copy{BitVector(older() + 1), Of.Asked, Of.From, Of.Compared, Of.Times}).first->second;
  bool Differs = Known.Times && Known.Times != Of.Times;
  if (Differs)
    Known.Times = 0;
  if (Differs || Of.By.test(Known.By)) {
    Known.By |= Of.By;
    Next.insert(N);
  }
}

void ThreadFlow::followCopies(Copies &All, SetVector<unsigned> &Next) {
  while (!Next.empty()) {
    unsigned N = Next.pop_back_val();
    Copy Of = All.find(N)->second;
    for (unsigned K = N + 1 < FirstOut.size() ? FirstOut[N] : 0; N + 1 < FirstOut.size() && K < FirstOut[N + 1]; ++K)
      if (const Edge &E = Edges[Out[K]]; E.How == Edge::Copied && !E.Allocation && !isWide(E.To))
        addCopy(All, Next, find(E.To), Of);
  }
}

ThreadFlow::Copies ThreadFlow::copiesOfCounts() {
  Copies All;
  SetVector<unsigned> Next;
  for (auto [In, I] : Sources) {
    BitVector Regions = owners(Instances[In]);
    Regions.reset(0);
    if (followsUser(*I, Regions.any()))
      addCopy(All, Next, find(nodeIn(In, I)), {owners(Instances[In]), I});
  }
  followCopies(All, Next);
  return All;
}

/// What comparing a count gave, where that was kept.
ThreadFlow::Copies ThreadFlow::copiesOfFlags(const Copies &Counts) {
  Copies All;
  SetVector<unsigned> Next;
  for (auto [In, I] : Bounded)
    for (unsigned K : {0u, 1u}) {
      uint64_t From = carriesNothing(I->getOperand(K)) ? 0 : turnsAt(*cast<ICmpInst>(I), K);
      auto Of = From ? Counts.find(find(nodeIn(In, I->getOperand(K)))) : Counts.end();
      if (Of != Counts.end())
        addCopy(All, Next, find(nodeIn(In, I)), {Of->second.By, Of->second.Asked, From});
    }
  followCopies(All, Next);
  return All;
}

/// Numbers that comparing a count chose, one of them a constant.
ThreadFlow::Copies ThreadFlow::copiesOfChoices(const Copies &Counts) {
  Copies All;
  SetVector<unsigned> Next;
  for (auto [In, I] : Chosen)
    for (unsigned K : {0u, 1u}) {
      auto *Compare = cast<ICmpInst>(I->getOperand(0));
      const Value *Count = Compare->getOperand(K);
      uint64_t From = carriesNothing(Count) ? 0 : turnsAt(*Compare, K);
      auto Of = From ? Counts.find(find(nodeIn(In, Count))) : Counts.end();
      if (Of == Counts.end())
        continue;
      Origins.insert(find(nodeIn(In, I)));
      addCopy(All, Next, find(nodeIn(In, I)), {Of->second.By, Of->second.Asked, From, I});
    }
  followCopies(All, Next);
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

void ThreadFlow::addWays(const Seen &At, const Copy *Of, uint64_t From) {
  BitVector Own = owners(Instances[At.In]);
  Own.reset(0);
  if (!Of || !Of->By.anyCommon(others(At.In)) || Of->By.anyCommon(Own))
    return;
  for (unsigned Owner : Own.set_bits()) {
    Way &Known = Ways[Owner];
    if (Known.From && Known.From <= From)
      continue;
    std::string Where = sourcePlace(At.I->getDebugLoc());
    Known = {From, PCERE_THREADS_WAY + std::to_string(From) + " threads on (" + asked(Of->Asked) + (Where.empty() ? "" : ", compared at " + Where) + ")"};
  }
}

/// Of regions for which nothing else was found. A count that the region, too, asks for is its own team's. Where a loop ends at it, comparing it is most likely to find out whether that is entered.
void ThreadFlow::findWays() {
  Copies Counts = copiesOfCounts(), Flags = copiesOfFlags(Counts);
  DenseSet<std::pair<unsigned, unsigned>> Ends = bounds(Counts);
  auto Found = [&](const Copies &Among, unsigned In, const Value *V) {
    auto Slot = carriesNothing(V) ? Among.end() : Among.find(find(nodeIn(In, V)));
    return Slot == Among.end() ? nullptr : &Slot->second;
  };
  for (auto [In, I] : InRegions)
    for (unsigned K : {0u, 1u}) {
      const Value *Compared = I->getOperand(K);
      if (uint64_t From = turnsAt(*cast<ICmpInst>(I), K); From && !Ends.count({In, origin(In, Compared)}))
        addWays({In, I}, Found(Counts, In, Compared), From);
      if (const Copy *Flag = isa<ConstantInt>(I->getOperand(1 - K)) ? Found(Flags, In, Compared) : nullptr)
        addWays({In, I}, Flag, Flag->From);
    }
  for (auto [In, I] : Truths)
    if (const Copy *Flag = Found(Flags, In, I->getOperand(0)))
      addWays({In, I}, Flag, Flag->From);
  giveReasons([&](size_t K) { return Ways.lookup(static_cast<unsigned>(K) + 1).Reason; });
}

} // namespace pcere
