//===- passes/ThreadControl.cpp - numbers that follow a thread count by what a program decides, not by arithmetic -------------------===//
//
//   while (room < threads) room *= 2;     switch (threads) { case 1: room = 1; break; case 2: room = 2; break; ..     if (CPU_ISSET(cpu, &allowed)) processors++;
//   #pragma omp parallel reduction(max : highest)     highest = omp_get_thread_num() + 1;
//
// Only what becomes room for as many threads: what is doubled, or shifted by, until it reaches them; constants that are no less than the count for which they are chosen. Not what a loop up to a thread
// count adds up, nor what is chosen to be one thing with few threads and another one with many (a grain, a method).
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "ThreadCalls.h"
#include "ThreadFlow.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace pcere {

/// `X != 0`: X, or null.
static const Value *nonZero(const Value &V) {
  auto *Compare = dyn_cast<ICmpInst>(&V);
  auto *Zero = Compare && Compare->getPredicate() == ICmpInst::ICMP_NE ? dyn_cast<Constant>(Compare->getOperand(1)) : nullptr;
  return Zero && Zero->isNullValue() ? Compare->getOperand(0) : nullptr;
}

/// `(A & B) != 0`: the two.
static const Instruction *bitTest(const Value &V) {
  auto *Both = dyn_cast_or_null<Instruction>(nonZero(V));
  return Both && Both->getOpcode() == Instruction::And ? Both : nullptr;
}

/// `if (X) count++`: X, or null.
static const Value *countedFor(const Instruction &I) {
  auto *Select = dyn_cast<SelectInst>(&I);
  auto *Step = Select ? dyn_cast<BinaryOperator>(Select->getTrueValue()) : nullptr;
  bool Counts = Step && Step->getOpcode() == Instruction::Add && isa<ConstantInt>(Step->getOperand(1)) && Step->getOperand(0) == Select->getFalseValue();
  const Value *Counted = Counts ? nonZero(*Select->getCondition()) : nullptr;
  return Counted && Counted->getType()->isIntegerTy() ? Counted : nullptr;
}

/// Constants in a table that are no less than their indices, and not all alike.
static bool hasRoom(const GlobalVariable &Table) {
  auto *Of = Table.isConstant() && Table.hasInitializer() ? dyn_cast<ConstantDataSequential>(Table.getInitializer()) : nullptr;
  if (!Of || !Of->getElementType()->isIntegerTy())
    return false;
  for (unsigned K = 0; K < Of->getNumElements(); ++K)
    if (Of->getElementAsInteger(K) < K)
      return false;
  return Of->getNumElements() > 1 && Of->getElementAsInteger(0) != Of->getElementAsInteger(Of->getNumElements() - 1);
}

/// The switch that chooses among the constants of \p Phi, none of which is less than the number that it is chosen for; or null.
static const SwitchInst *choosesRoom(const PHINode &Phi) {
  const SwitchInst *Switch = nullptr;
  SmallVector<const ConstantInt *, 8> Chosen;
  if (!Phi.getType()->isIntegerTy() || Phi.getType()->isIntegerTy(1))
    return nullptr;
  for (unsigned K = 0; K < Phi.getNumIncomingValues(); ++K) {
    const BasicBlock *Way = Phi.getIncomingBlock(K);
    const BasicBlock *To = isa<SwitchInst>(Way->getTerminator()) ? Phi.getParent() : Way, *From = To == Way ? Way->getUniquePredecessor() : Way;
    auto *By = From ? dyn_cast<SwitchInst>(From->getTerminator()) : nullptr;
    auto *Constant = dyn_cast<ConstantInt>(Phi.getIncomingValue(K));
    if (!By || (Switch && By != Switch) || !Constant)
      return nullptr;
    Switch = By;
    Chosen.push_back(Constant);
    for (auto Case : By->cases())
      if (Case.getCaseSuccessor() == To && Case.getCaseValue()->getValue().sgt(Constant->getValue().sextOrTrunc(Case.getCaseValue()->getBitWidth())))
        return nullptr;
  }
  return any_of(Chosen, [&](const ConstantInt *C) { return C != Chosen[0]; }) ? Switch : nullptr;
}

/// Where a loop keeps a number from one turn to the next: an instruction of its header, or a variable.
static const Instruction *keeper(const Value &V) {
  auto *Load = dyn_cast<LoadInst>(&V);
  return Load ? dyn_cast<AllocaInst>(Load->getPointerOperand()) : static_cast<const Instruction *>(dyn_cast<PHINode>(&V));
}

const Value *multiplied(const Value &V, const ConstantInt *&By) {
  auto *I = dyn_cast<BinaryOperator>(&V);
  if (!I || (I->getOpcode() != Instruction::Shl && I->getOpcode() != Instruction::Mul))
    return nullptr;
  unsigned Constant = isa<ConstantInt>(I->getOperand(1)) ? 1 : 0;
  By = dyn_cast<ConstantInt>(I->getOperand(Constant));
  return By ? I->getOperand(1 - Constant) : nullptr;
}

static const Value *grown(const Value &V) {
  const ConstantInt *By;
  return multiplied(V, By);
}

/// What \p Kept is given, by the loop itself, or by anybody.
static SmallVector<const Value *, 4> given(const Instruction &Kept, const Loop *L = nullptr) {
  SmallVector<const Value *, 4> Given;
  if (auto *Phi = dyn_cast<PHINode>(&Kept)) {
    for (unsigned K = 0; K < Phi->getNumIncomingValues(); ++K)
      if (!L || L->contains(Phi->getIncomingBlock(K)))
        Given.push_back(Phi->getIncomingValue(K));
  } else {
    for (const User *U : Kept.users())
      if (auto *Store = dyn_cast<StoreInst>(U); Store && Store->getPointerOperand() == &Kept && (!L || L->contains(Store)))
        Given.push_back(Store->getValueOperand());
  }
  return Given;
}

static bool isUsedBehind(const Value &V, const Loop &L) {
  return any_of(V.users(), [&](const User *U) { return isa<Instruction>(U) && !isa<StoreInst>(U) && !L.contains(cast<Instruction>(U)); });
}

/// What grows by factors until it is compared with \p Compare's other side, and is used when the loop is over; or null.
static const Instruction *growsUntil(const ICmpInst &Compare, const Value &Side, Shapes &Of) {
  const Value *V = &Side, *Scaled = nullptr;
  for (unsigned Step = 0; Step < 4 && !keeper(*V); ++Step) {
    auto *Cast = dyn_cast<CastInst>(V);
    auto *Sum = dyn_cast<BinaryOperator>(V);
    const Value *Before = grown(*V);
    Scaled = Before ? V : Scaled;
    V = Before ? Before : Cast ? Cast->getOperand(0) : Sum && Sum->getOpcode() == Instruction::Add && isa<ConstantInt>(Sum->getOperand(1)) ? Sum->getOperand(0) : nullptr;
    if (!V)
      return nullptr;
  }
  const Instruction *Kept = keeper(*V);
  auto Grows = [&](const Value *Next) {
    const Value *Before = grown(*Next);
    return Before && keeper(*Before) == Kept;
  };
  if (!Kept || (!Scaled && none_of(given(*Kept), Grows))) // before loops are looked for, which takes more
    return nullptr;
  const Loop *L = Of.of(*Compare.getFunction()).Loops.getLoopFor(Compare.getParent());
  if (!L || (isa<PHINode>(Kept) && Kept->getParent() != L->getHeader()) || !Purposes(Of).endsLoop(Compare))
    return nullptr;
  SmallVector<const Value *, 4> Next = given(*Kept, L);
  bool Used = isUsedBehind(*Kept, *L) || (Scaled && isUsedBehind(*Scaled, *L)) || any_of(Next, [&](const Value *N) { return isUsedBehind(*N, *L); });
  return Used && !Next.empty() && (Scaled || any_of(Next, Grows)) ? Kept : nullptr;
}

void ThreadFlow::control(const Instruction &I) {
  auto Follow = [&](const Value *From, unsigned To) {
    if (!carriesNothing(From))
      Edges.push_back({node(From), To, nullptr, Edge::Decided});
  };
  if (auto *Test = isa<CastInst>(I) || isa<SelectInst>(I) ? bitTest(*I.getOperand(0)) : nullptr)
    for (const Use &U : Test->operands())
      Follow(U, node(&I));
  if (const Value *Counted = countedFor(I))
    Follow(Counted, node(&I));
  if (auto *Load = dyn_cast<LoadInst>(&I)) {
    auto *Address = dyn_cast<GetElementPtrInst>(Load->getPointerOperand());
    auto *Table = Address ? dyn_cast<GlobalVariable>(Address->getPointerOperand()) : nullptr;
    if (Table && Load->getType()->isIntegerTy() && hasRoom(*Table))
      for (const Use &U : Address->indices())
        Follow(U, node(&I));
  } else if (auto *Phi = dyn_cast<PHINode>(&I)) {
    if (const SwitchInst *Switch = choosesRoom(*Phi))
      Follow(Switch->getCondition(), node(&I));
  } else if (auto *Compare = dyn_cast<ICmpInst>(&I)) {
    for (unsigned K : {0u, 1u})
      if (const Instruction *Kept = carriesNothing(Compare->getOperand(1 - K)) ? nullptr : growsUntil(*Compare, *Compare->getOperand(K), Control))
        Follow(Compare->getOperand(1 - K), isa<AllocaInst>(Kept) ? content(node(Kept)) : node(Kept));
  }
}

/// A variable that becomes the greater of what it was and another value: both, or nulls.
static std::pair<const Value *, const Value *> maximum(const Instruction &I) {
  auto *Atomic = dyn_cast<AtomicRMWInst>(&I);
  if (Atomic && (Atomic->getOperation() == AtomicRMWInst::Max || Atomic->getOperation() == AtomicRMWInst::UMax))
    return {Atomic->getPointerOperand(), Atomic->getValOperand()};
  auto *Store = dyn_cast<StoreInst>(&I);
  auto *Greater = Store ? dyn_cast<IntrinsicInst>(Store->getValueOperand()) : nullptr;
  if (!Greater || (Greater->getIntrinsicID() != Intrinsic::smax && Greater->getIntrinsicID() != Intrinsic::umax))
    return {};
  for (unsigned K : {0u, 1u})
    if (auto *Before = dyn_cast<LoadInst>(Greater->getArgOperand(K)); Before && Before->getPointerOperand() == Store->getPointerOperand())
      return {Before->getPointerOperand(), Greater->getArgOperand(1 - K)};
  return {};
}

bool ThreadFlow::takesMaximum(const Instruction &I) { return maximum(I).first && !carriesNothing(maximum(I).first) && !carriesNothing(maximum(I).second); }

/// The highest number of a region's threads tells how many there are.
void ThreadFlow::addMaxima() {
  for (auto [In, I] : Maxima) {
    auto [Variable, Value] = maximum(*I);
    const Facts *Of = owners(Instances[In]).find_next(0) > 0 ? known(nodeIn(In, Value)) : nullptr;
    if (!Of || !Of->Number || Of->Count.any() || Of->Divided.any())
      continue;
    unsigned N = content(nodeIn(In, Variable));
    if (isWide(N))
      continue;
    Facts &F = facts(N);
    F.Count |= owners(Instances[In]);
    F.Follows = true;
    F.Asked = I;
    changed(N);
  }
}

} // namespace pcere
