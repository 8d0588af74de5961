//===- passes/ThreadParts.cpp - parts of the work, one for each thread, from before the region -------------------------------------===//
//
//   part = n / omp_get_max_threads()                            region: for (i = me * part; i < (me + 1) * part; i++)
//   threads = omp_get_max_threads()                             region: for (i = me; i < n; i += threads)
//   for (t = 0; t < threads; t++) low[t] = n * t / threads      region: for (i = low[me]; i < low[me + 1]; i++)
//   for (t = 0; t < threads; t++) piece[t] = malloc(..)         region: piece[me][i] = ..
//   for (i = 0; i < n; i++) list[i % threads].push_back(i)      region: for (i : list[me])
//
// Fewer threads would leave some of the work, and further ones have none of it, or another one's. Where each has only memory of its own, fewer have enough. Not: parts that a region also takes from elsewhere
// than its threads' own numbers (a thread without work takes another one's), or sets itself; numbers that end no loop and are no index (what a generator begins with).
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "ThreadCalls.h"
#include "ThreadFlow.h"

#include "include/pcere/rt_abi.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace pcere {

/// Regions with a loop that ends where the work is divided by a thread count from before them.
BitVector ThreadFlow::sharing(Shapes &Of) {
  BitVector Sharing(older() + 1);
  Purposes Purpose(Of);
  for (auto [In, I] : InRegions)
    for (const Use &U : I->operands()) {
      const Facts *End = carriesNothing(U) ? nullptr : known(nodeIn(In, U));
      if (End && End->Part.anyCommon(others(In)) && Purpose.endsLoop(*I))
        Sharing |= owners(Instances[In]);
    }
  return Sharing;
}

/// `if (i % threads == me)`
void ThreadFlow::findEqualParts() {
  for (auto [In, I] : InRegions)
    for (unsigned K : {0u, 1u}) {
      const Value *Own = I->getOperand(K), *Part = I->getOperand(1 - K);
      if (!cast<ICmpInst>(I)->isEquality() || carriesNothing(Own) || carriesNothing(Part))
        continue;
      const Facts *Number = known(nodeIn(In, Own)), *Of = known(nodeIn(In, Part));
      if (Number && Of && Number->Number && !Of->Number && Of->Divided.anyCommon(others(In)))
        flag(owners(Instances[In]), PCERE_THREADS_DIVISION "a thread count from before the region (" + asked(Of->DividedBy) + ", compared" + place(I) + ")");
    }
}

/// By what a loop's counter grows that \p V is, as it was or as it becomes, in a register or a variable; or null.
static const Value *stepOf(const Value *V) {
  auto Added = [](const Value *Next, function_ref<bool(const Value *)> IsCounter) -> const Value * {
    auto *Sum = dyn_cast<BinaryOperator>(Next);
    if (!Sum || Sum->getOpcode() != Instruction::Add)
      return nullptr;
    return IsCounter(Sum->getOperand(0)) ? Sum->getOperand(1) : IsCounter(Sum->getOperand(1)) ? Sum->getOperand(0) : nullptr;
  };
  V = withoutCasts(V);
  if (auto *Load = dyn_cast<LoadInst>(V)) {
    auto *Counter = dyn_cast<AllocaInst>(Load->getPointerOperand());
    auto IsCounter = [&](const Value *Before) { return isa<LoadInst>(Before) && cast<LoadInst>(Before)->getPointerOperand() == Counter; };
    if (!Counter)
      return nullptr;
    for (const User *U : Counter->users())
      if (auto *Store = dyn_cast<StoreInst>(U); Store && Store->getPointerOperand() == Counter)
        if (const Value *Step = Added(Store->getValueOperand(), IsCounter))
          return Step;
    return nullptr;
  }
  auto StepOfPhi = [&](const Value *Before) -> const Value * {
    auto *Phi = dyn_cast<PHINode>(Before);
    if (!Phi)
      return nullptr;
    for (const Value *Next : Phi->incoming_values())
      if (const Value *Step = Added(withoutCasts(Next), [&](const Value *Other) { return withoutCasts(Other) == Phi; }))
        return Step;
    return nullptr;
  };
  if (const Value *Step = StepOfPhi(V))
    return Step;
  return Added(V, [&](const Value *Before) { return StepOfPhi(Before) != nullptr; });
}

/// Loops of which each thread goes through its own turns, every so many, or up to where its part ends, whatever they do there.
void ThreadFlow::findOwnTurns() {
  Purposes Purpose(Control);
  for (auto [In, I] : InRegions)
    for (const Use &U : I->operands()) {
      const Facts *Number = carriesNothing(U) ? nullptr : known(nodeIn(In, U));
      if (!Number || !Number->Number)
        continue;
      const Value *Step = Number->Count.anyCommon(others(In)) ? stepOf(U) : nullptr;
      const Facts *By = Step && !carriesNothing(Step) ? known(nodeIn(In, Step)) : nullptr;
      bool Steps = By && !By->Number && By->Count.anyCommon(others(In)), Divides = Number->Part.anyCommon(others(In));
      if ((Steps || Divides) && Purpose.endsLoop(*I))
        flag(owners(Instances[In]), PCERE_THREADS_DIVISION "a thread count from before the region (" + asked(Steps ? By->Asked : Number->DividedBy) + ")");
    }
}

/// Where what is at \p Address belongs to, along its indices, for each of which \p Index holds or not: the object, and whether one of them was so.
static std::pair<const Value *, bool> alongIndices(const Value &Address, function_ref<bool(const Value &)> Index) {
  static constexpr unsigned StepsMost = 8;
  const Value *V = &Address;
  bool Found = false;
  for (unsigned Step = 0; Step < StepsMost; ++Step) {
    if (auto *Element = dyn_cast<GEPOperator>(V)) {
      Found |= any_of(Element->indices(), [&](const Use &U) { return !carriesNothing(U) && Index(*U); });
      V = Element->getPointerOperand();
    } else if (auto *Call = dyn_cast<CallBase>(V); Call && Call->arg_size() == 2 && Call->getArgOperand(0)->getType()->isPointerTy() && Call->getArgOperand(1)->getType()->isIntegerTy()) {
      Found |= !carriesNothing(Call->getArgOperand(1)) && Index(*Call->getArgOperand(1)); // an operator [] that was not inlined
      V = Call->getArgOperand(0);
    } else if (auto *Load = dyn_cast<LoadInst>(V); Load && isa<AllocaInst>(Load->getPointerOperand())) {
      const Value *Given = onlyValue(*cast<AllocaInst>(Load->getPointerOperand())); // a reference
      if (!Given)
        break;
      V = Given;
    } else {
      break;
    }
  }
  return {V, Found};
}

/// Does \p V follow the loop's turns, by additions and constant factors?
static bool followsTurns(const Loop &L, const Value &V, unsigned Depth = 0) {
  static constexpr unsigned DepthMost = 6;
  auto *I = dyn_cast<Instruction>(&V);
  if (!I || Depth == DepthMost || !L.contains(I))
    return false;
  auto Steps = [](const Value *Next, function_ref<bool(const Value *)> IsSame) {
    auto *Step = dyn_cast<BinaryOperator>(Next);
    return Step && Step->getOpcode() == Instruction::Add && isa<ConstantInt>(Step->getOperand(1)) && IsSame(Step->getOperand(0));
  };
  if (auto *Phi = dyn_cast<PHINode>(I))
    return Phi->getParent() == L.getHeader() && any_of(Phi->incoming_values(), [&](const Use &U) { return Steps(U, [&](const Value *Before) { return Before == Phi; }); });
  if (auto *Load = dyn_cast<LoadInst>(I)) {
    auto *Own = dyn_cast<AllocaInst>(Load->getPointerOperand());
    auto FromOwn = [&](const Value *Before) {
      auto *From = dyn_cast<LoadInst>(Before);
      return From && From->getPointerOperand() == Own;
    };
    return Own && any_of(Own->users(), [&](const User *U) {
             auto *Store = dyn_cast<StoreInst>(U);
             if (!Store || !L.contains(Store))
               return false;
             auto *Next = dyn_cast<PHINode>(Store->getValueOperand()); // flang's loops, without optimisation
             return Steps(Store->getValueOperand(), FromOwn) ||
                    (Next && Next->getParent() == L.getHeader() && any_of(Next->incoming_values(), [&](const Use &Value) { return Steps(Value, FromOwn); }));
           });
  }
  if (isa<CastInst>(I) || isa<FreezeInst>(I))
    return followsTurns(L, *I->getOperand(0), Depth + 1);
  unsigned Code = I->getOpcode();
  bool Sum = Code == Instruction::Add || Code == Instruction::Sub || Code == Instruction::Or, Scaled = (Code == Instruction::Mul || Code == Instruction::Shl) && isa<ConstantInt>(I->getOperand(1));
  return ((Sum || Scaled) && followsTurns(L, *I->getOperand(0), Depth + 1)) || (Sum && followsTurns(L, *I->getOperand(1), Depth + 1));
}

static bool isArrayOfScalars(const Value &V) {
  auto *Variable = dyn_cast<GlobalVariable>(&V);
  auto *Local = dyn_cast<AllocaInst>(&V);
  Type *Of = Variable ? Variable->getValueType() : Local ? Local->getAllocatedType() : nullptr;
  while (Of && Of->isArrayTy())
    Of = Of->getArrayElementType();
  return Of && Of->isSingleValueType() && !Of->isVectorTy();
}

/// \p Number: with something else than a pointer.
void ThreadFlow::fill(unsigned N, const Instruction &At, const Facts &Bound, bool Number) {
  Filled &F = Fills[find(N)];
  F.By.resize(older() + 1);
  F.By |= owners(Instances[Here]);
  F.Turns = true;
  F.Numbers |= Number;
  if (!F.At)
    F.At = &At, F.Asked = Bound.Asked;
}

/// Pointers that the function of \p In, or one that it calls, sets in what its parameter \p Object points to: a container's, that it makes larger.
void ThreadFlow::fillsOf(unsigned In, const Argument &Object, const Instruction &At, const Facts &Bound, unsigned Depth) {
  static constexpr unsigned DepthMost = 5;
  auto IsOf = [&](const Value &Address) { return alongIndices(Address, [](const Value &) { return false; }).first == &Object; };
  for (const Instruction &I : instructions(*Instances[In].F)) {
    if (auto *Store = dyn_cast<StoreInst>(&I); Store && Store->getValueOperand()->getType()->isPointerTy() && !isa<Constant>(Store->getValueOperand())) {
      unsigned N = IsOf(*Store->getPointerOperand()) ? find(nodeIn(In, Store->getPointerOperand())) : 0;
      if (N && !isWide(N))
        fill(N, At, Bound, /*Number=*/false);
    }
    auto *Call = dyn_cast<CallBase>(&I);
    if (!Call || Depth == DepthMost)
      continue;
    for (const Function *Callee : targets(*Call))
      for (unsigned A = 0; A < Call->arg_size() && A < Callee->arg_size() && !Callee->isDeclaration() && Callee != Instances[In].F; ++A)
        if (Call->getArgOperand(A)->getType()->isPointerTy() && IsOf(*Call->getArgOperand(A)))
          for (unsigned Other : calledFrom(In, *Callee, *Call))
            fillsOf(Other, *Callee->getArg(A), At, Bound, Depth + 1);
  }
}

/// Whether \p I may set memory of the class \p N. Allocations set none that anybody reads before.
bool ThreadFlow::mayChange(const Instruction &I, unsigned N) {
  auto *Call = dyn_cast<CallBase>(&I);
  auto *Intrinsic = dyn_cast<IntrinsicInst>(&I);
  if (!I.mayWriteToMemory() || (Intrinsic && !isa<MemIntrinsic>(I)) || (Call && (allocatesInto(*Call) || allocationSize(likelyName(*Call)).second > 0)))
    return false;
  auto *Store = dyn_cast<StoreInst>(&I);
  const Value *To = Store ? Store->getPointerOperand() : isa<MemIntrinsic>(I) ? Call->getArgOperand(0) : nullptr;
  return !To || (!carriesNothing(To) && find(node(To)) == N);
}

/// Whether \p V is the same in each turn: from before the loop, or what is computed from that, and from memory that the loop does not set.
bool ThreadFlow::isSameEachTurn(const Loop &L, const Value &V, unsigned Depth) {
  static constexpr unsigned DepthMost = 8;
  auto *I = dyn_cast<Instruction>(&V);
  if (!I || !L.contains(I))
    return true;
  bool Pure = isa<BinaryOperator>(I) || isa<CastInst>(I) || isa<SelectInst>(I) || isa<CmpInst>(I) || isa<FreezeInst>(I) || isa<GetElementPtrInst>(I) || (isa<IntrinsicInst>(I) && !I->mayReadOrWriteMemory());
  if (Depth == DepthMost || (!Pure && !isa<LoadInst>(I)))
    return false;
  if (!all_of(I->operands(), [&](const Use &U) { return isa<Function>(U) || isSameEachTurn(L, *U, Depth + 1); }))
    return false;
  if (Pure)
    return true;
  const Value *From = cast<LoadInst>(I)->getPointerOperand();
  unsigned N = find(node(From));
  return none_of(L.blocks(), [&](const BasicBlock *Inside) { return any_of(*Inside, [&](const Instruction &Other) { return mayChange(Other, N); }); });
}

/// What all threads are given alike, however many they are, is no part of the work.
bool ThreadFlow::isForAllAlike(const Loop &L, const Value &V) {
  if (V.getType()->isPointerTy())
    return false;
  const Facts *Of = known(node(&V));
  return (!Of || (!Of->Number && Of->Count.none() && Of->Divided.none() && Of->Part.none())) && isSameEachTurn(L, V, 0);
}

/// Constants are what memory beyond the last part has as well, as a rule.
void ThreadFlow::fills(const Loop &L, const Facts &Bound) {
  for (const BasicBlock *Inside : L.blocks())
    for (const Instruction &I : *Inside) {
      auto *Store = dyn_cast<StoreInst>(&I);
      auto *Call = dyn_cast<CallBase>(&I);
      for (const Function *Callee : Call ? targets(*Call) : Functions())
        for (unsigned A = 0; A < Call->arg_size() && A < Callee->arg_size() && !Callee->isDeclaration(); ++A)
          if (const Value *Given = Call->getArgOperand(A); Given->getType()->isPointerTy() && alongIndices(*Given, [&](const Value &Index) { return followsTurns(L, Index); }).second)
            for (unsigned In : calledFrom(Here, *Callee, *Call))
              fillsOf(In, *Callee->getArg(A), I, Bound);
      const Value *To = Store && !isa<Constant>(Store->getValueOperand()) ? Store->getPointerOperand() : Call ? allocatesInto(*Call) : nullptr;
      if (!To || carriesNothing(To) || (Store && isForAllAlike(L, *storedPointer(*Store))))
        continue;
      auto [Object, Turns] = alongIndices(*To, [&](const Value &Index) { return followsTurns(L, Index); });
      if (!Turns || isWide(node(To)))
        continue;
      SmallVector<unsigned, 2> Classes{find(node(To))};
      if (isArrayOfScalars(*Object))
        Classes.push_back(find(node(Object)));
      for (unsigned N : Classes)
        fill(N, I, Bound, Store && !storedPointer(*Store)->getType()->isPointerTy());
    }
}

/// Does a loop around \p Store go from one \p Index to the next?
static bool isTurn(const Value &Index, const StoreInst &Store, Shapes &Of) {
  for (const Loop *L = Of.of(*Store.getFunction()).Loops.getLoopFor(Store.getParent()); L; L = L->getParentLoop())
    if (followsTurns(*L, Index))
      return true;
  return false;
}

/// What an instance sets in one of several parts, which a remainder by a thread count, or something else than a loop's turns, chooses: to whom something was dealt, or how much.
void ThreadFlow::deals(unsigned In, Shapes &Of) {
  auto IsRemainder = [&](const Facts *At) { return At && At->Divided.any() && !At->Part.anyCommon(At->Divided); };
  Here = In;
  for (const Instruction &I : instructions(*Instances[In].F)) {
    auto *Store = dyn_cast<StoreInst>(&I);
    if (!Store || isa<Constant>(Store->getValueOperand()) || carriesNothing(Store->getPointerOperand()))
      continue;
    unsigned N = find(node(Store->getPointerOperand()));
    const Facts *Memory = known(N);
    const Instruction *Asked = nullptr;
    alongIndices(*Store->getPointerOperand(), [&](const Value &Index) {
      const Facts *At = known(node(&Index));
      if (Asked || (At && At->Number))
        return false;
      if (IsRemainder(At))
        Asked = At->DividedBy;
      else if (Memory && Memory->Sized.any() && isa<Instruction>(Index) && !isTurn(Index, *Store, Of))
        Asked = Memory->Asked;
      return Asked != nullptr;
    });
    if (!Asked || isWide(N))
      continue;
    Filled &F = Fills[N];
    F.By.resize(older() + 1);
    F.By |= owners(Instances[In]);
    F.Dealt = true;
    if (!F.At)
      F.At = &I, F.Asked = Asked;
  }
}

/// What was filled so, of the class \p Class, or null.
const ThreadFlow::Filled *ThreadFlow::filled(const Value &Address, unsigned &Class) {
  if (carriesNothing(&Address))
    return nullptr;
  const Value *Object = alongIndices(Address, [](const Value &) { return false; }).first;
  for (const Value *V : {&Address, Object}) {
    auto Slot = carriesNothing(V) ? Fills.end() : Fills.find(find(node(V)));
    if (Slot != Fills.end() && Slot->second.By.anyCommon(others(Here))) {
      Class = Slot->first;
      return &Slot->second;
    }
  }
  return nullptr;
}

bool ThreadFlow::isAtOwnNumber(const Value &Address) {
  return alongIndices(Address, [&](const Value &Index) {
           const Facts *At = known(node(&Index));
           return At && At->Number && At->Count.none() && At->Divided.none();
         }).second;
}

/// Where the pointer is not compared with another one.
static bool leads(const Value &Pointer, unsigned Depth = 0) {
  bool Leads = false;
  for (const User *U : Pointer.users()) {
    auto *Store = dyn_cast<StoreInst>(U);
    if (isa<ICmpInst>(U))
      return false;
    if (Store && Store->getValueOperand() == &Pointer) {
      if (isa<AllocaInst>(Store->getPointerOperand()) && !Depth)
        for (const User *Reader : Store->getPointerOperand()->users())
          Leads |= isa<LoadInst>(Reader) && leads(*Reader, Depth + 1);
    } else {
      Leads |= isa<GetElementPtrInst>(U) || isa<LoadInst>(U) || Store || isa<CallBase>(U);
    }
  }
  return Leads;
}

/// Of what is copied as a whole into a variable of the function's own (Fortran's descriptors, without optimisation): whether the pointer that it begins with leads somewhere.
static bool leadsFromCopy(const MemTransferInst &Copy) {
  auto *Own = dyn_cast<AllocaInst>(Copy.getRawDest());
  auto Reads = [](const User *U) { return isa<LoadInst>(U) && U->getType()->isPointerTy() && leads(*U); };
  return Own && any_of(Own->users(), [&](const User *U) {
           auto *Begin = dyn_cast<GetElementPtrInst>(U);
           return Reads(U) || (Begin && Begin->hasAllZeroIndices() && any_of(Begin->users(), Reads));
         });
}

/// Where a list ends that a loop goes along.
static bool endsLoopAt(const Value &Pointer, Purposes &Purpose) {
  return any_of(Pointer.users(), [&](const User *U) { return isa<ICmpInst>(U) && Purpose.endsLoop(*U); }) || Purpose.of(Pointer) == Purposes::Bound;
}

/// `x[me]++` is no setting.
static bool isStep(const StoreInst &Store) {
  auto *Step = dyn_cast<BinaryOperator>(Store.getValueOperand());
  auto *From = Step ? dyn_cast<LoadInst>(Step->getOperand(0)) : nullptr;
  return From && From->getPointerOperand() == Store.getPointerOperand();
}

void ThreadFlow::lookAtPart(const Instruction &I, Purposes &Purpose, MapVector<std::pair<unsigned, unsigned>, PartUse> &Uses) {
  unsigned Class = 0;
  auto *Load = dyn_cast<LoadInst>(&I);
  auto *Store = dyn_cast<StoreInst>(&I);
  auto *Atomic = dyn_cast<AtomicRMWInst>(&I);
  auto *Call = dyn_cast<CallBase>(&I);
  auto *Copy = dyn_cast<MemTransferInst>(&I);
  const Value *Address = Load ? Load->getPointerOperand() : Store ? Store->getPointerOperand() : Atomic ? Atomic->getPointerOperand() : Copy ? Copy->getRawSource() : Call ? allocatesInto(*Call) : nullptr;
  if (Copy && filled(*Copy->getRawDest(), Class))
    for (unsigned Owner : owners(Instances[Here]).set_bits())
      Uses[{Owner, Class}].Set = true;
  const Filled *By = Address ? filled(*Address, Class) : nullptr;
  if (!By)
    return;
  for (unsigned Owner : owners(Instances[Here]).set_bits()) {
    PartUse &Use = Uses[{Owner, Class}];
    if (Copy)
      Use.Leads |= isAtOwnNumber(*Address) && leadsFromCopy(*Copy);
    else if (!Load)
      Use.Set |= !Store || !isStep(*Store);
    if (!Load)
      continue;
    bool Own = isAtOwnNumber(*Address), Pointer = Load->getType()->isPointerTy();
    Purposes::Purpose For = Pointer || Load->getType()->isVectorTy() ? Purposes::Nothing : Purpose.of(*Load);
    bool Works = (By->Turns && By->Numbers && For != Purposes::Nothing) || (By->Dealt && (For == Purposes::Bound || (Pointer && endsLoopAt(*Load, Purpose))));
    Use.Works |= Works && Own;
    Use.Elsewhere |= Works && !Own && !isa<Constant>(Address);
    Use.Leads |= Pointer && Own && leads(*Load);
  }
}

void ThreadFlow::findParts(Shapes &Of) {
  MapVector<std::pair<unsigned, unsigned>, PartUse> Uses; // by region and class
  Purposes Purpose(Of);
  for (unsigned In = 1; In < Instances.size(); ++In)
    deals(In, Of);
  if (Fills.empty())
    return;
  for (unsigned In = 1; In < Instances.size(); ++In) {
    const BitVector &Own = owners(Instances[In]);
    if (Own.find_next(0) < 0)
      continue;
    Here = In;
    for (const Instruction &I : instructions(*Instances[In].F))
      lookAtPart(I, Purpose, Uses);
  }
  for (auto &[Key, Use] : Uses) {
    auto [Owner, Class] = Key;
    const Filled &By = Fills.find(Class)->second;
    std::string Where = (By.Turns ? " (set" : " (dealt") + place(By.At) + (By.Turns ? ", as many as " : ", to as many as ") + asked(By.Asked) + ")";
    if (Use.Set)
      continue;
    if (Use.Works && !Use.Elsewhere)
      flag(Alone[Owner], PCERE_THREADS_DIVISION "a thread count from before the region" + Where);
    else if (Use.Leads && By.Turns)
      flag(Alone[Owner], "memory with one part per thread" + Where);
  }
}

} // namespace pcere
