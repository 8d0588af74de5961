//===- passes/ThreadSources.cpp - what is a number of threads, and what is one thread's own number --------------------------------===//

#include "Stages.h"
#include "ThreadCalls.h"
#include "ThreadFlow.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace pcere {

static bool isOwnNumber(const GlobalVariable &V) { return V.isThreadLocal() && (V.getValueType()->isIntegerTy() || V.getValueType()->isStructTy()); }

static bool isOne(const Value *V) {
  auto *Number = dyn_cast<ConstantInt>(V);
  return Number && Number->isOne();
}

static bool isInLoop(const Instruction &I) {
  DominatorTree Tree(const_cast<Function &>(*I.getFunction()));
  return LoopInfo(Tree).getLoopFor(I.getParent()) != nullptr;
}

/// One, or a private variable that is set to it, or, where nothing was optimised, begins with zero and is stepped by one, once.
static bool isOneEach(const Value *V) {
  auto *Load = dyn_cast<LoadInst>(V);
  auto *Own = Load ? dyn_cast<AllocaInst>(Load->getPointerOperand()) : nullptr;
  if (!Own)
    return isOne(V);
  unsigned Steps = 0;
  for (const User *U : Own->users()) {
    auto *Store = dyn_cast<StoreInst>(U);
    if (!Store || Store->getPointerOperand() != Own)
      continue;
    auto *Begin = dyn_cast<ConstantInt>(Store->getValueOperand());
    auto *Step = dyn_cast<BinaryOperator>(Store->getValueOperand());
    auto *Before = Step && Step->getOpcode() == Instruction::Add && isOne(Step->getOperand(1)) ? dyn_cast<LoadInst>(Step->getOperand(0)) : nullptr;
    bool Stepped = (Before && Before->getPointerOperand() == Own) || isOne(Store->getValueOperand());
    Steps += Stepped;
    if (Stepped ? isInLoop(*Store) : !Begin || !Begin->isZero())
      return false;
  }
  return Steps == 1;
}

/// The same, or, where nothing was optimised, read from the same variable.
static bool sameAddress(const Value &A, const Value &B) {
  auto *FromA = dyn_cast<LoadInst>(&A), *FromB = dyn_cast<LoadInst>(&B);
  return &A == &B || (FromA && FromB && FromA->getPointerOperand() == FromB->getPointerOperand() && isa<AllocaInst>(FromA->getPointerOperand()));
}

/// Whether each thread of a region runs it once. Without optimisation the outlined function calls the one that has it.
static bool eachThreadRunsOnce(const Instruction &I) {
  const Function &F = *I.getFunction();
  return eachThreadRuns(F) && !isInLoop(I) && (hasSite(F) || !isInLoop(*cast<CallBase>(*F.user_begin())));
}

/// Behind the beginning of a critical construct: the last call before.
static bool isCritical(const Instruction &I) {
  for (const Instruction *Before = I.getPrevNode(); Before; Before = Before->getPrevNode())
    if (auto *Call = dyn_cast<CallBase>(Before); Call && !isa<IntrinsicInst>(Call))
      return calleeName(*Call).starts_with("__kmpc_critical");
  return false;
}

const Value *countsThreads(const Instruction &I) {
  if (auto *Atomic = dyn_cast<AtomicRMWInst>(&I))
    return Atomic->getOperation() == AtomicRMWInst::Add && Atomic->use_empty() && isOneEach(Atomic->getValOperand()) && eachThreadRunsOnce(I) && !isInStandardWait(I)
               ? Atomic->getPointerOperand() : nullptr;
  auto *Store = dyn_cast<StoreInst>(&I);
  auto *Sum = Store ? dyn_cast<BinaryOperator>(Store->getValueOperand()) : nullptr;
  auto *Before = Sum && Sum->getOpcode() == Instruction::Add && isOneEach(Sum->getOperand(1)) ? dyn_cast<LoadInst>(Sum->getOperand(0)) : nullptr;
  return Before && sameAddress(*Before->getPointerOperand(), *Store->getPointerOperand()) && isCritical(I) && eachThreadRunsOnce(I) ? Store->getPointerOperand() : nullptr;
}

bool ThreadFlow::asks() const {
  for (const Function &F : M)
    for (const Instruction &I : instructions(F))
      if (countsThreads(I) || (takesMaximum(I) && eachThreadRunsOnce(I)))
        return true;
      else if (auto *Call = dyn_cast<CallBase>(&I)) {
        const Value *Team = asksForTeam(*Call);
        if (asksForThreadCount(*Call) || readsThreadVariable(*Call) || setsThreadVariable(*Call) || setsOfProcessors(*Call) || (Team && !carriesNothing(Team)))
          return true;
      }
  return false;
}

/// Numbers of threads themselves.
void ThreadFlow::addSources() {
  for (auto [In, I] : Sources) {
    const Value *Text = isa<CallBase>(I) ? setsThreadVariable(*cast<CallBase>(I)) : nullptr;
    const Value *Counted = Text ? Text : isa<CallBase>(I) ? setsOfProcessors(*cast<CallBase>(I)) : countsThreads(*I);
    if (Counted && carriesNothing(Counted))
      continue;
    unsigned N = Text ? content(content(nodeIn(In, Text))) : Counted ? content(nodeIn(In, Counted)) : nodeIn(In, I);
    for (unsigned At : {N, !Counted && I->getType()->isPointerTy() ? content(N) : N}) {
      Facts &F = facts(At);
      F.Count |= owners(Instances[In]);
      F.Follows |= !isa<CallBase>(I) || !asksForProcessors(*cast<CallBase>(I));
      F.Asked = I;
      changed(At);
    }
  }
  addTeams();
}

/// A team gets as many threads as this variable says: so what else has its value, or gets it, has a thread count, too. Back along copies alone, since a number that it
/// was computed from is another one.
void ThreadFlow::addTeams() {
  if (Teams.empty())
    return;
  DenseSet<unsigned> Asked; // a region that sets the variable anew does so with its own number
  for (auto [At, I] : Sources)
    if (isa<CallBase>(I))
      Asked.insert(find(nodeIn(At, I)));
  for (auto [At, I] : Teams) {
    Here = At;
    SetVector<unsigned> Same;
    Same.insert(find(node(asksForTeam(*cast<CallBase>(I)))));
    for (size_t K = 0; K < Same.size(); ++K)
      for (unsigned E : entering(Same[K]))
        if (unsigned From = find(Edges[E].From); Edges[E].How <= Edge::Choice && !Asked.count(From))
          Same.insert(From);
    for (unsigned N : Same) {
      Facts &F = facts(N);
      F.Count |= owners(Instances[At]);
      F.Follows = true;
      if (!F.Asked)
        F.Asked = I;
      changed(N);
    }
  }
}

/// Numbers of single threads, however these got them.
void ThreadFlow::addOwnNumbers() {
  auto Add = [&](unsigned N) {
    facts(N).Number = true;
    changed(N);
  };
  for (auto [In, I] : Numbers)
    Add(nodeIn(In, I));
  addThreadLocals();
  addTickets();
}

/// A whole number that each thread keeps for itself.
void ThreadFlow::addThreadLocals() {
  Here = 0;
  for (const GlobalVariable &V : M.globals()) {
    if (!isOwnNumber(V) || !Known.count({0, &V}))
      continue;
    unsigned N = find(node(&V));
    SmallVector<unsigned, 4> Places{N};
    for (auto [Offset, Field] : Nodes[N].Fields)
      Places.push_back(Field);
    for (unsigned Place : Places) {
      unsigned Content = content(Place);
      facts(Content).Number = true;
      changed(Content);
    }
  }
}

/// What a region draws from a counter is a number for each thread, unless it is compared with a limit: then it is a piece of work's.
void ThreadFlow::addTickets() {
  static constexpr size_t Most = 256;
  if (Tickets.empty() || Tickets.size() > Most)
    return;
  DenseSet<unsigned> Compared;
  for (auto [In, I] : Compares)
    for (const Use &U : I->operands())
      if (!carriesNothing(U))
        Compared.insert(find(nodeIn(In, U)));
  for (auto [In, I] : Tickets) {
    if (!Instances[In].Owner)
      continue;
    bool Bounded = false;
    SetVector<unsigned> After;
    After.insert(find(nodeIn(In, I)));
    for (size_t K = 0; K < After.size() && !Bounded; ++K) {
      Bounded = Compared.count(After[K]);
      if (After[K] + 1 < FirstOut.size())
        for (unsigned E = FirstOut[After[K]]; E < FirstOut[After[K] + 1]; ++E)
          if (!Edges[Out[E]].Allocation)
            After.insert(find(Edges[Out[E]].To));
    }
    if (!Bounded) {
      facts(After[0]).Number = true;
      changed(After[0]);
    }
  }
}

} // namespace pcere
