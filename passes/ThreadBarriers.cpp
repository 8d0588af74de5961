//===- passes/ThreadBarriers.cpp - barriers for a number of threads ----------------------------------------------------------------===//
//
//   pthread_barrier_init(&b, NULL, threads)     region: pthread_barrier_wait(&b)
//   std::barrier b(threads); std::latch          region: b.arrive_and_wait()
//   threads = omp_get_max_threads()             region: if (++arrived == threads) go = 1; else while (!go);
//   left = omp_get_max_threads()                region: if (--left == 0) go = 1; else while (!go);
//
// A barrier that was made for so many threads lets more of them through too early; fewer never come through.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "ThreadCalls.h"
#include "ThreadFlow.h"

#include "include/pcere/rt_abi.h"

#include "llvm/IR/DebugInfoMetadata.h"

using namespace llvm;

namespace pcere {

/// The mangled name of a member of std::barrier, of what it is made of, or of std::latch, in either library: _ZNSt14__tree_barrierI..E6arriveEl.
static bool isOfStandardBarrier(StringRef Name) {
  unsigned Length;
  if (!Name.consume_front("_ZN"))
    return false;
  Name.consume_front("K");
  if (!Name.consume_front("St3__1") && !Name.consume_front("St"))
    return false;
  if (Name.consumeInteger(10, Length))
    return false;
  StringRef Class = Name.take_front(Length);
  return Class == "latch" || Class == "barrier" || (Class.starts_with("__") && Class.contains("barrier"));
}

bool usesStandardBarrier(const CallBase &Call) { return isOfStandardBarrier(calleeName(Call)); }

bool makesStandardBarrier(const CallBase &Call) {
  StringRef Name = calleeName(Call);
  return isOfStandardBarrier(Name) && Call.arg_size() >= 2 && Call.getArgOperand(1)->getType()->isIntegerTy() && (Name.contains("C1El") || Name.contains("C2El"));
}

/// Whether \p Holds of the name of the function that has \p I, or of one that it was inlined from.
static bool isIn(const Instruction &I, function_ref<bool(StringRef)> Holds) {
  if (Holds(I.getFunction()->getName()))
    return true;
  for (const DILocation *At = I.getDebugLoc(); At; At = At->getInlinedAt())
    if (const DISubprogram *In = At->getScope()->getSubprogram(); In && Holds(In->getLinkageName()))
      return true;
  return false;
}

bool isInStandardBarrier(const Instruction &I) { return I.getType()->isIntegerTy() && isIn(I, isOfStandardBarrier); }

bool isInStandardWait(const Instruction &I) {
  return isIn(I, [](StringRef Name) { return isOfStandardBarrier(Name) || Name.starts_with("_ZNSt8__detail") || Name.starts_with("_ZNKSt8__detail"); });
}

/// What an atomic addition gave, perhaps converted, with a constant added, or kept in a variable of its own: that addition, or null.
static const AtomicRMWInst *ticket(const Value *V) {
  for (unsigned Steps = 0; V && Steps < 8; ++Steps) {
    if (auto *Atomic = dyn_cast<AtomicRMWInst>(V))
      return Atomic->getOperation() == AtomicRMWInst::Add || Atomic->getOperation() == AtomicRMWInst::Sub ? Atomic : nullptr;
    auto *I = dyn_cast<Instruction>(V);
    auto *Load = dyn_cast<LoadInst>(V);
    auto *Own = Load ? dyn_cast<AllocaInst>(Load->getPointerOperand()) : nullptr;
    bool Shifted = I && (I->getOpcode() == Instruction::Add || I->getOpcode() == Instruction::Sub) && isa<ConstantInt>(I->getOperand(1));
    V = Own ? onlyValue(*Own) : Shifted || isa<CastInst>(V) || isa<FreezeInst>(V) ? I->getOperand(0) : nullptr;
  }
  return nullptr;
}

bool comparesTicket(const ICmpInst &Compare) { return Compare.isEquality() && (ticket(Compare.getOperand(0)) || ticket(Compare.getOperand(1))); }

static bool countsDown(const AtomicRMWInst &Atomic) {
  auto *Step = dyn_cast<ConstantInt>(Atomic.getValOperand());
  return Atomic.getOperation() == AtomicRMWInst::Sub || (Step && Step->isNegative());
}

/// Whether the last one is told by how many there are, as others than the region know it: by a limit, or by what is left of them.
bool ThreadFlow::countsOut(const Seen &Equal, const BitVector &Others, std::string &Reason) {
  for (unsigned K : {0u, 1u}) {
    const Value *Limit = Equal.I->getOperand(1 - K);
    const AtomicRMWInst *Step = ticket(Equal.I->getOperand(K));
    if (!Step || carriesNothing(Step->getPointerOperand()) || (carriesNothing(Limit) && !countsDown(*Step)))
      continue;
    const Facts *Known = known(carriesNothing(Limit) ? content(nodeIn(Equal.In, Step->getPointerOperand())) : nodeIn(Equal.In, Limit));
    if (Known && Known->Count.anyCommon(Others)) {
      Reason = "a count of threads that ends at a thread count from before the region (" + asked(Known->Asked) + ", compared" + place(Equal.I) + ")";
      return true;
    }
  }
  return false;
}

static std::string exactly(const std::string &Where, const Instruction *Asked) {
  return PCERE_THREADS_EXACT "a thread count from before the region (" + Where + ", " + asked(Asked) + ")";
}

void ThreadFlow::findBarriers() {
  for (auto [In, I] : BarriersUsed)
    for (auto [MadeIn, Made] : BarriersMade) {
      const Value *Count = cast<CallBase>(Made)->getArgOperand(makesStandardBarrier(*cast<CallBase>(Made)) ? 1 : 2);
      const Facts *Wanted = carriesNothing(Count) ? nullptr : known(nodeIn(MadeIn, Count));
      bool Same = find(nodeIn(MadeIn, cast<CallBase>(Made)->getArgOperand(0))) == find(nodeIn(In, cast<CallBase>(I)->getArgOperand(0)));
      if (Same && Wanted && Wanted->Count.anyCommon(others(In)))
        flag(owners(Instances[In]), exactly("made" + place(Made), Wanted->Asked));
    }
  for (auto [In, I] : BarriersRead) {
    const Value *From = getLoadStorePointerOperand(I);
    if (auto *Atomic = dyn_cast<AtomicRMWInst>(I))
      From = Atomic->getPointerOperand();
    const Facts *Wanted = carriesNothing(From) ? nullptr : known(content(nodeIn(In, From)));
    if (Wanted && Wanted->Count.anyCommon(others(In)))
      flag(owners(Instances[In]), exactly("used" + place(I), Wanted->Asked));
  }
  for (const Seen &Equal : Equals) {
    std::string Reason;
    if (countsOut(Equal, others(Equal.In), Reason))
      flag(owners(Instances[Equal.In]), Reason);
  }
}

} // namespace pcere
