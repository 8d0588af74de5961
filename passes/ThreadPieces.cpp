//===- passes/ThreadPieces.cpp - regions with as many pieces of work as there were threads before them -------------------------------===//
//
//   threads = omp_get_max_threads()     region: omp for (t = 0; t < threads; t++) piece(t), or a task for each, or taskloop num_tasks(threads)
//   chunk = n / threads                 region: omp for schedule(static, chunk)
//   own = n / threads                   region: by each thread, for (i = 0; i < own; i++)
//
// Further threads find none; in the last, all do as much as each did, so that fewer leave some. So for few pieces for each thread (3 * threads): replays with a number of threads that does not share them evenly are uneven where the program,
// which would make others, is not. Only the count itself, copied, its products with small constants, and what was divided by these. Not where a function that has its region for any number, sometimes a count, is given others as well.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "ThreadCalls.h"
#include "ThreadFlow.h"

#include "include/pcere/rt_abi.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace pcere {

static constexpr uint64_t PiecesMost = 8; ///< for each thread: of more, numbers of threads that do not share them evenly are off by less than an eighth, up to as many as there were

static constexpr uint64_t SizesMost = 1 << 20; ///< bytes for each thread

/// Of a worksharing loop: where its last iteration stands, or its number; its chunk; or null.
static std::pair<const Value *, const Value *> sharedLoop(const CallBase &Call) {
  StringRef Name = calleeName(Call);
  if ((Name.starts_with("__kmpc_for_static_init_") || Name.starts_with("__kmpc_dist_for_static_init_")) && Call.arg_size() >= 9)
    return {Call.getArgOperand(5), Call.getArgOperand(Call.arg_size() - 1)};
  if (Name.starts_with("__kmpc_dispatch_init_") && Call.arg_size() >= 7)
    return {Call.getArgOperand(4), Call.getArgOperand(6)};
  return {nullptr, nullptr};
}

/// How many tasks a taskloop is to have, or null.
static const Value *tasksOfLoop(const CallBase &Call) {
  static constexpr unsigned Kind = 8;
  static constexpr uint64_t NumTasks = 2;
  if (!calleeName(Call).starts_with("__kmpc_taskloop") || Call.arg_size() < Kind + 2)
    return nullptr;
  auto *How = dyn_cast<ConstantInt>(Call.getArgOperand(Kind));
  return How && How->equalsInt(NumTasks) ? Call.getArgOperand(Kind + 1) : nullptr;
}

/// What a loop or a taskloop ends at, or has so many of.
static SmallVector<const Value *, 4> ends(const CallBase &Call) {
  const Value *Last = tasksOfLoop(Call) ? tasksOfLoop(Call) : sharedLoop(Call).first;
  SmallVector<const Value *, 4> All;
  if (!Last->getType()->isPointerTy())
    All.push_back(Last);
  else if (isa<AllocaInst>(Last))
    for (const User *U : Last->users())
      if (auto *Store = dyn_cast<StoreInst>(U); Store && Store->getPointerOperand() == Last)
        All.push_back(Store->getValueOperand());
  return All;
}

bool sharesWork(const CallBase &Call) { return sharedLoop(Call).first || tasksOfLoop(Call); }

static bool isGivenAway(const AllocaInst &Variable) {
  return any_of(Variable.users(), [](const User *U) { return isa<CallBase>(U) && !cast<Instruction>(U)->isLifetimeStartOrEnd(); });
}

/// Without what is added to it, or the division by a step of one; what a local variable is given once is the same.
static const Value *plain(const Value *V) {
  static constexpr unsigned StepsMost = 12;
  for (unsigned Step = 0; Step < StepsMost; ++Step) {
    auto *Load = dyn_cast<LoadInst>(V);
    auto *Local = Load ? dyn_cast<AllocaInst>(Load->getPointerOperand()) : nullptr;
    auto *Computed = dyn_cast<BinaryOperator>(V);
    auto *Number = Computed ? dyn_cast<ConstantInt>(Computed->getOperand(1)) : nullptr;
    unsigned Code = Computed ? Computed->getOpcode() : 0;
    const Value *Before = nullptr;
    if (isa<CastInst>(V) || isa<FreezeInst>(V))
      Before = cast<Instruction>(V)->getOperand(0);
    else if (Number && (Code == Instruction::Add || Code == Instruction::Sub || (Number->isOne() && (Code == Instruction::SDiv || Code == Instruction::UDiv))))
      Before = Computed->getOperand(0);
    else if (Local)
      Before = onlyValue(*Local);
    if (!Before || (Local && isa<Constant>(Before) && isGivenAway(*Local))) // it begins with that, and others set it
      return V;
    V = Before;
  }
  return V;
}

const ThreadFlow::Copy *ThreadFlow::copyFromBefore(const Copies &Of, unsigned In, const Value *V) {
  V = plain(V);
  auto Slot = carriesNothing(V) ? Of.end() : Of.find(find(nodeIn(In, V)));
  BitVector Own = owners(Instances[In]);
  Own.reset(0);
  return Slot != Of.end() && Slot->second.By.anyCommon(others(In)) && !Slot->second.By.anyCommon(Own) ? &Slot->second : nullptr;
}

/// The numbers that num_threads clauses ask for, whatever they are from.
void ThreadFlow::addTeamCopies(Copies &All) {
  SetVector<unsigned> Next;
  for (auto [In, I] : Teams) {
    SetVector<unsigned> Same;
    if (calleeName(*cast<CallBase>(I)).starts_with("__kmpc_push_num_threads"))
      Same.insert(find(nodeIn(In, asksForTeam(*cast<CallBase>(I)))));
    for (size_t K = 0; K < Same.size(); ++K) {
      Origins.insert(Same[K]);
      addCopy(All, Next, Same[K], {owners(Instances[In]), I});
      for (unsigned E : entering(Same[K]))
        if (Edges[E].How == Edge::Copied)
          Same.insert(find(Edges[E].From));
    }
  }
  followCopies(All, Next);
}

/// What \p I is up to \p Most times, \p Factor times, of, or null.
static const Value *fewTimes(const Instruction &I, uint64_t Most, uint64_t &Factor) {
  const ConstantInt *By;
  const Value *Of = multiplied(I, By);
  bool Shifts = I.getOpcode() == Instruction::Shl;
  if (!Of || (Shifts && (By == I.getOperand(0) || By->getValue().ugt(32))) || By->getValue().ugt(Most))
    return nullptr;
  Factor = Shifts ? uint64_t(1) << By->getZExtValue() : By->getZExtValue();
  return Factor <= Most ? Of : nullptr;
}

/// Several pieces for each thread, up to \p Most.
bool ThreadFlow::addProducts(Copies &All, uint64_t Most) {
  SetVector<unsigned> Next;
  for (auto [In, I] : Products) {
    uint64_t Factor = 0;
    const Value *Count = fewTimes(*I, Most, Factor);
    auto Slot = !Count || carriesNothing(Count) ? All.end() : All.find(find(nodeIn(In, plain(Count))));
    if (Slot == All.end())
      continue;
    Copy Of = Slot->second;
    Of.Times = Of.Times * Factor > Most ? 0 : Of.Times * Factor;
    addCopy(All, Next, find(nodeIn(In, I)), Of);
  }
  bool New = !Next.empty();
  followCopies(All, Next);
  return New;
}

/// The least of a count and something else is no more pieces than that.
bool ThreadFlow::addMinima(Copies &All) {
  bool Any = false;
  for (bool New = true; New;) {
    SetVector<unsigned> Next;
    for (auto [In, I] : Minima)
      for (unsigned K : {0u, 1u}) {
        const Value *Count = plain(I->getOperand(isa<SelectInst>(I) ? K + 1 : K));
        auto Slot = carriesNothing(Count) ? All.end() : All.find(find(nodeIn(In, Count)));
        if (Slot == All.end())
          continue;
        Copy Of = Slot->second;
        Origins.insert(find(nodeIn(In, I)));
        addCopy(All, Next, find(nodeIn(In, I)), Of);
      }
    New = !Next.empty();
    Any |= New;
    followCopies(All, Next);
  }
  return Any;
}

ThreadFlow::Copies ThreadFlow::countsAndMinima() {
  Copies All = copiesOfCounts();
  addTeamCopies(All);
  addMinima(All);
  return All;
}

/// With these, their products with small constants, and the least of those and something else.
ThreadFlow::Copies ThreadFlow::countsOfPieces(const Copies &Counts, uint64_t Most) {
  Copies All = Counts;
  while (addProducts(All, Most) || addMinima(All)) {
  }
  return All;
}

/// Whether nothing else than these copies comes to where \p V is from, from calls with other numbers as well.
bool ThreadFlow::isAlways(const Copies &Of, unsigned In, const Value *V) {
  SetVector<unsigned> Back;
  Back.insert(find(nodeIn(In, plain(V))));
  for (size_t K = 0; K < Back.size(); ++K) {
    if (Origins.count(Back[K]))
      continue;
    if (GivenConstants.count(Back[K]))
      return false;
    for (unsigned E : entering(Back[K])) {
      unsigned From = find(Edges[E].From);
      Edge::Way How = Edges[E].How;
      if (Edges[E].Allocation || How == Edge::Decided || How == Edge::Quotient || How == Edge::Divisor || From == Back[K])
        continue;
      if (!Of.count(From))
        return false;
      Back.insert(From);
    }
  }
  return true;
}

/// Is it another one in each turn of a loop around it?
static bool varies(const Value &V, const Loop &L, unsigned Depth = 0) {
  static constexpr unsigned DepthMost = 8;
  auto *I = dyn_cast<Instruction>(&V);
  if (!I || !L.contains(I) || isa<CallBase>(I))
    return false;
  if (Depth == DepthMost || (isa<PHINode>(I) && I->getParent() == L.getHeader()))
    return true;
  if (auto *Load = dyn_cast<LoadInst>(I)) {
    auto *Local = dyn_cast<AllocaInst>(Load->getPointerOperand());
    return Local && any_of(Local->users(), [&](const User *U) { return isa<StoreInst>(U) && L.contains(cast<StoreInst>(U)); });
  }
  return any_of(I->operands(), [&](const Use &U) { return varies(*U, L, Depth + 1); });
}

static bool variesInLoops(const Instruction &Division, Shapes &Of) {
  for (const Loop *L = Of.of(*Division.getFunction()).Loops.getLoopFor(Division.getParent()); L; L = L->getParentLoop())
    if (varies(*Division.getOperand(0), *L))
      return true;
  return false;
}

/// What was divided by a count, the same for each thread: where one of them begins or ends is divided as well.
ThreadFlow::Copies ThreadFlow::copiesOfParts(const Copies &Counts) {
  Copies All;
  SetVector<unsigned> Next;
  for (auto [In, I] : Divisions) {
    const Facts *Whole = carriesNothing(I->getOperand(0)) ? nullptr : known(nodeIn(In, I->getOperand(0)));
    bool InRegion = owners(Instances[In]).find_next(0) > 0;
    if ((Whole && Whole->Number) || (InRegion && !eachThreadRuns(*I->getFunction())) || variesInLoops(*I, Control))
      continue;
    const Value *By = plain(I->getOperand(1));
    auto Slot = carriesNothing(By) ? Counts.end() : Counts.find(find(nodeIn(In, By)));
    if (Slot != Counts.end())
      addCopy(All, Next, find(nodeIn(In, I)), Slot->second);
  }
  followCopies(All, Next);
  return All;
}

/// Does the loop that ends by \p End make a task in each turn?
static bool makesTasks(const Instruction &End, Shapes &Of) {
  const Loop *L = Of.of(*End.getFunction()).Loops.getLoopFor(End.getParent());
  return L && any_of(L->blocks(), [&](const BasicBlock *Block) {
           return any_of(*Block, [](const Instruction &I) {
             auto *Call = dyn_cast<CallBase>(&I);
             return Call && calleeName(*Call) == "__kmpc_omp_task_alloc";
           });
         });
}

/// Whether each thread of a region comes to \p At, and not for a construct that shares out what it does.
static bool eachThreadComes(const Instruction &At, Shapes &Of) {
  static constexpr StringLiteral Sharing[] = {"__kmpc_for_static_init", "__kmpc_dist_for_static_init", "__kmpc_dispatch_init", "__kmpc_single", "__kmpc_master", "__kmpc_masked"};
  const Function &F = *At.getFunction();
  return eachThreadRuns(F) && none_of(instructions(F), [&](const Instruction &I) {
           auto *Call = dyn_cast<CallBase>(&I);
           StringRef Name = Call ? calleeName(*Call) : StringRef();
           return Call && any_of(Sharing, [&](StringRef Begin) { return Name.starts_with(Begin); }) && Of.of(F).Tree.dominates(Call, &At);
         });
}

/// The pieces of a region that has \p At, since \p Number is a count, a product of one, or a part, from before it; or none.
ThreadFlow::Cut ThreadFlow::cutBy(const Seen &At, const Value *Number, const Copies &Of) {
  const Copy *Count = copyFromBefore(Of, At.In, Number);
  if (!Count || !Count->Times || !isAlways(Of, At.In, Number))
    return {};
  return {Count->Times, "before the region (" + asked(Count->Asked) + ", shared out" + place(At.I) + ")"};
}

/// Where \p V is how many elements a container has, the distance of two pointers divided by a constant: of how many bytes, and one of the pointers; or 0 and null.
static std::pair<uint64_t, const Value *> elementsTo(const Value *V) {
  auto *Quotient = dyn_cast<BinaryOperator>(plain(V));
  auto *By = Quotient ? dyn_cast<ConstantInt>(Quotient->getOperand(1)) : nullptr;
  auto *Distance = Quotient ? dyn_cast<BinaryOperator>(Quotient->getOperand(0)) : nullptr;
  auto *First = Distance && Distance->getOpcode() == Instruction::Sub ? dyn_cast<PtrToIntInst>(Distance->getOperand(0)) : nullptr;
  if (!First || !isa<PtrToIntInst>(Distance->getOperand(1)) || carriesNothing(First->getOperand(0)) || !By || By->getValue().ugt(1 << 20))
    return {0, nullptr};
  unsigned Code = Quotient->getOpcode();
  bool Shifts = Code == Instruction::AShr || Code == Instruction::LShr;
  if (Shifts ? By->getValue().ugt(20) : Code != Instruction::SDiv && Code != Instruction::UDiv)
    return {0, nullptr};
  return {Shifts ? uint64_t(1) << By->getZExtValue() : By->getZExtValue(), First->getOperand(0)};
}

/// Has \p F a loop that does more in each turn than to compute a few numbers: that has another one, or calls functions?
static bool hasHeavyTurns(const Function &F, Shapes &Of) {
  for (const Loop *L : Of.of(F).Loops)
    for (const BasicBlock *Block : L->blocks())
      for (const Instruction &I : *Block) {
        auto *Call = dyn_cast<CallBase>(&I);
        if (Of.of(F).Loops.getLoopDepth(Block) > 1 || (Call && !isa<IntrinsicInst>(Call) && !calleeName(*Call).starts_with("__kmpc_") && !calleeName(*Call).starts_with("omp_")))
          return true;
      }
  return false;
}

/// How many times a count the memory of class \p N has elements, of \p Bytes each: what is allocated, or what a function that makes a container larger is asked for, which computes with how many there are. 0: that is not known, or is not
/// the same everywhere.
uint64_t ThreadFlow::elementsOf(unsigned N, uint64_t Bytes, const Copies &Sizes) {
  static constexpr size_t ClassesMost = 400;
  SetVector<unsigned> Back;
  uint64_t Times = 0;
  Back.insert(find(N));
  for (size_t K = 0; K < Back.size(); ++K) {
    if (Back.size() > ClassesMost)
      return 0;
    for (unsigned Entered : entering(Back[K])) {
      const Edge &E = Edges[Entered];
      if (E.How == Edge::Product || E.How == Edge::Decided)
        return 0;
      auto Size = Sizes.find(find(E.From));
      if (Size == Sizes.end()) {
        Back.insert(find(E.From));
        continue;
      }
      uint64_t Found = E.Allocation ? (Size->second.Times % Bytes ? 0 : Size->second.Times / Bytes) : Size->second.Times;
      if (!Found || (Times && Times != Found))
        return 0;
      Times = Found;
    }
  }
  return Times;
}

/// Of a loop along a container of objects that was made for the threads, say a list of work for each. Small elements are data, of which there may be many for each thread.
ThreadFlow::Cut ThreadFlow::cutByContainer(const Seen &At, const Value *End, const Copies &Sizes) {
  static constexpr uint64_t ObjectLeast = 24;
  const Facts *Number = carriesNothing(End) ? nullptr : known(nodeIn(At.In, End));
  BitVector Own = owners(Instances[At.In]);
  Own.reset(0);
  auto [Bytes, Pointer] = elementsTo(End);
  if (!Number || !Number->Follows || !Number->Sized.anyCommon(others(At.In)) || Number->Sized.anyCommon(Own) || Bytes < ObjectLeast || !hasHeavyTurns(*At.I->getFunction(), Control))
    return {};
  uint64_t Times = elementsOf(nodeIn(At.In, Pointer), Bytes, Sizes);
  if (!Times || Times > PiecesMost)
    return {};
  return {Times, "before the region (" + asked(Number->Asked) + ", shared out" + place(At.I) + ")"};
}

ThreadFlow::Cut ThreadFlow::cutOfShared(const Seen &At, const Copies &Counts, const Copies &Parts, const Copies &Sizes) {
  auto &Call = *cast<CallBase>(At.I);
  Cut Found;
  for (const Value *End : ends(Call))
    if (!Found.Times)
      Found = cutBy(At, End, Counts);
  const Value *Chunk = sharedLoop(Call).second;
  if (!Found.Times && Chunk)
    Found = cutBy(At, Chunk, Parts);
  for (const Value *End : ends(Call))
    if (!Found.Times)
      Found = cutByContainer(At, End, Sizes);
  return Found;
}

/// What a loop that was unrolled goes through, in whole rounds, or what these leave.
static const Value *unrolled(const Value *V) {
  auto *And = dyn_cast<BinaryOperator>(V);
  auto *Mask = And && And->getOpcode() == Instruction::And ? dyn_cast<ConstantInt>(And->getOperand(1)) : nullptr;
  return Mask && (leavesWholeRounds(Mask->getValue()) || Mask->getValue().isMask()) ? And->getOperand(0) : V;
}

ThreadFlow::Cut ThreadFlow::cutOfLoop(const Seen &At, const Copies &Counts, const Copies &Parts) {
  Purposes Purpose(Control);
  Cut Found;
  for (const Value *Operand : At.I->operand_values()) {
    const Value *U = unrolled(plain(Operand));
    const Copy *Count = copyFromBefore(Counts, At.In, U), *Part = copyFromBefore(Parts, At.In, U);
    if (Found.Times || (!Count && !Part) || !Purpose.endsLoop(*At.I))
      continue;
    if (Count && makesTasks(*At.I, Control))
      Found = cutBy(At, U, Counts);
    else if (Part && Part->Times == 1 && eachThreadComes(*At.I, Control)) {
      Found = cutBy(At, U, Parts);
      Found.EachTheSame = true;
    }
  }
  return Found;
}

/// One piece for one thread, and several for each of more.
void ThreadFlow::findChosenPieces(const Copies &Counts) {
  Copies All = copiesOfChoices(Counts);
  if (All.empty())
    return;
  addMinima(All);
  Purposes Purpose(Control);
  auto Add = [&](const Seen &At, const Value *End, bool Tasks) {
    const Copy *Of = copyFromBefore(All, At.In, End);
    if (Of && isAlways(All, At.In, End) && (!Tasks || (Purpose.endsLoop(*At.I) && makesTasks(*At.I, Control))))
      addWays({At.In, Of->Compared}, Of, Of->From);
  };
  for (const Seen &At : Shared)
    for (const Value *End : ends(*cast<CallBase>(At.I)))
      Add(At, End, /*Tasks=*/false);
  for (const Seen &At : InRegions)
    for (const Use &U : At.I->operands())
      Add(At, U, /*Tasks=*/true);
}

/// Where a region's code is looked at for several callers, all of them must have it so. Of several cuts that with the fewest pieces counts.
void ThreadFlow::findPieces() {
  DenseSet<unsigned> Constants;
  for (unsigned N : GivenConstants)
    Constants.insert(find(N));
  GivenConstants = std::move(Constants);
  Copies Counts = countsAndMinima(), Pieces = countsOfPieces(Counts, PiecesMost), Parts = copiesOfParts(Pieces), Sizes = countsOfPieces(Counts, SizesMost);
  MapVector<std::pair<const Instruction *, unsigned>, Cut> Found; // by region
  auto Add = [&](const Seen &At, function_ref<Cut()> CutOf) {
    for (unsigned Owner : owners(Instances[At.In]).set_bits()) {
      auto [Slot, New] = Found.insert({{At.I, Owner}, {}});
      if (New || Slot->second.Times)
        Slot->second = CutOf();
    }
  };
  for (const Seen &At : Shared)
    Add(At, [&] { return cutOfShared(At, Pieces, Parts, Sizes); });
  for (const Seen &At : InRegions)
    Add(At, [&] { return cutOfLoop(At, Pieces, Parts); });
  for (auto &[Key, Of] : Found) {
    Cut &Fewest = Cuts[Key.second];
    if (Of.Times && Of.EachTheSame)
      flag(Alone[Key.second], PCERE_THREADS_DIVISION "a thread count from " + Of.Where);
    else if (Of.Times && (!Fewest.Times || Of.Times < Fewest.Times))
      Fewest = Of;
  }
  findChosenPieces(Counts);
}

/// To regions for which nothing else was found.
void ThreadFlow::givePieces() {
  giveReasons([&](size_t K) {
    Cut Of = Cuts.lookup(static_cast<unsigned>(K) + 1);
    return Of.Times ? PCERE_THREADS_PIECES + std::to_string(Of.Times) + " for each of the threads " + Of.Where : std::string();
  });
}

} // namespace pcere
