//===- passes/ThreadBarriers.cpp - barriers for a number of threads ----------------------------------------------------------------===//
//
//   pthread_barrier_init(&b, NULL, threads)     region: pthread_barrier_wait(&b)
//   threads = omp_get_max_threads()             region: if (++arrived == threads) go = 1; else while (!go);
//
// A barrier that was made for so many threads lets more of them through too early; fewer never come through.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "ThreadCalls.h"
#include "ThreadFlow.h"

#include "include/pcere/rt_abi.h"

using namespace llvm;

namespace pcere {

/// What an atomic addition gave, perhaps converted, with a constant added, or kept in a variable of its own.
static bool isTicket(const Value *V) {
  for (unsigned Steps = 0; V && Steps < 8; ++Steps) {
    if (auto *Atomic = dyn_cast<AtomicRMWInst>(V))
      return Atomic->getOperation() == AtomicRMWInst::Add || Atomic->getOperation() == AtomicRMWInst::Sub;
    auto *I = dyn_cast<Instruction>(V);
    auto *Load = dyn_cast<LoadInst>(V);
    auto *Own = Load ? dyn_cast<AllocaInst>(Load->getPointerOperand()) : nullptr;
    bool Shifted = I && (I->getOpcode() == Instruction::Add || I->getOpcode() == Instruction::Sub) && isa<ConstantInt>(I->getOperand(1));
    V = Own ? onlyValue(*Own) : Shifted || isa<CastInst>(V) || isa<FreezeInst>(V) ? I->getOperand(0) : nullptr;
  }
  return false;
}

bool comparesTicket(const ICmpInst &Compare) { return Compare.isEquality() && (isTicket(Compare.getOperand(0)) || isTicket(Compare.getOperand(1))); }

/// Whether the last one is told by how many there are, as others than the region know it.
bool ThreadFlow::countsUp(const Seen &Equal, const BitVector &Others, std::string &Reason) {
  for (unsigned K : {0u, 1u}) {
    const Value *Limit = Equal.I->getOperand(1 - K);
    if (carriesNothing(Limit) || !isTicket(Equal.I->getOperand(K)))
      continue;
    const Facts *Known = known(nodeIn(Equal.In, Limit));
    if (Known && Known->Count.anyCommon(Others)) {
      Reason = "a count of threads that ends at a thread count from before the region (" + asked(Known->Asked) + ", compared" + place(Equal.I) + ")";
      return true;
    }
  }
  return false;
}

void ThreadFlow::findBarriers() {
  auto Flag = [&](const BitVector &Of, const std::string &Reason) {
    for (unsigned Owner : Of.set_bits())
      if (Owner >= 1 && Owner <= Microtasks.size() && Reasons[Owner - 1].empty())
        Reasons[Owner - 1] = Reason;
  };
  for (auto [In, I] : BarriersUsed)
    for (auto [MadeIn, Made] : BarriersMade) {
      const Value *Count = cast<CallBase>(Made)->getArgOperand(2);
      const Facts *Wanted = carriesNothing(Count) ? nullptr : known(nodeIn(MadeIn, Count));
      bool Same = find(nodeIn(MadeIn, cast<CallBase>(Made)->getArgOperand(0))) == find(nodeIn(In, cast<CallBase>(I)->getArgOperand(0)));
      if (Same && Wanted && Wanted->Count.any())
        Flag(owners(Instances[In]), PCERE_THREADS_EXACT "a thread count from before the region (made" + place(Made) + ", " + asked(Wanted->Asked) + ")");
    }
  for (const Seen &Equal : Equals) {
    std::string Reason;
    if (countsUp(Equal, others(Equal.In), Reason))
      Flag(owners(Instances[Equal.In]), Reason);
  }
}

} // namespace pcere
