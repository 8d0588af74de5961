//===- passes/Counting.cpp - where counts are added, so that they cost little ---------------------------------------------------===//
//
// Most code adds its constants to the thread's vector where it runs, once for each stretch between calls that may look at counts. Loops without such calls do not touch the
// vector at all: how often their blocks run is kept in registers, or computed before the loop where scalar evolution knows it, and goes to the
// vector where the outermost of them is left.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "Counting.h"
#include "Compatible.h"
#include "Stages.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

using namespace llvm;

namespace pcere {

namespace {

constexpr unsigned ExpansionBudget = 8; ///< what computing a loop's trips may cost beside counting them one by one

/// What the counts of a unit are kept in.
struct Storage {
  Module &M;
  IntegerType *Int64;
  bool InPlace;
  GlobalVariable *Vector;            ///< thread-local, [PCERE_COUNTS_SLOTS], the same in all units of the image
  GlobalVariable *Blocks = nullptr;  ///< thread-local, of this unit, replaced when it is known how many there are; or null
  unsigned BlockCounters = 0;
};

void addTo(IRBuilder<> &Builder, GlobalVariable *Where, uint64_t Slot, Value *Amount) {
  Constant *Place = ConstantExpr::getInBoundsGetElementPtr(Builder.getInt8Ty(), Where, Builder.getInt64(Slot * 8));
  Value *Old = Builder.CreateAlignedLoad(Builder.getInt64Ty(), Place, Align(8));
  Builder.CreateAlignedStore(Builder.CreateAdd(Old, Amount), Place, Align(8));
}

/// Instructions of a block of which all run or none: up to a call that may look at counts, and with it.
struct Piece {
  Instruction *Start;
  Weights W;
};

struct CountedBlock {
  BasicBlock *Block;
  SmallVector<Piece, 2> Pieces;
  SmallVector<Instruction *, 1> Lengths; ///< copies and fills of a length that is known only there
  unsigned Instructions = 0;
  bool Loud = false;
  unsigned Counter = 0;
};

class FunctionCounter {
  Function &F;
  Storage &Where;
  const FunctionSet &Quiet;
  FunctionAnalysisManager &Analyses;
  TargetLibraryInfo &Library;
  DominatorTree Tree;
  LoopInfo Loops;
  MapVector<BasicBlock *, CountedBlock> Blocks;
  SmallPtrSet<BasicBlock *, 32> InNests;
  bool Irreducible = false, Loud = false;

  static bool isReturnNext(const Instruction &Call) {
    const Instruction *Next = Call.getNextNode();
    while (Next && (isa<DbgInfoIntrinsic>(Next) || isa<BitCastInst>(Next)))
      Next = Next->getNextNode();
    return isa_and_nonnull<ReturnInst>(Next);
  }

  void divide(BasicBlock &Block) {
    auto First = Block.getFirstInsertionPt();
    if (First == Block.end())
      return;
    while (isa<AllocaInst>(*First))
      ++First;
    CountedBlock Here{&Block, {}, {}};
    Piece P{&*First, {}};
    for (Instruction &I : Block) {
      Weights W = weigh(I);
      P.W += W;
      Here.Instructions += static_cast<unsigned>(W.Of[PCERE_COUNT_INSTRUCTIONS]);
      if (variableLength(I))
        Here.Lengths.push_back(&I);
      if (!isLoud(I, Quiet, Library))
        continue;
      Here.Loud = true;
      if (I.isTerminator())
        continue;
      if (isReturnNext(I)) { // what comes between them would cost a tail call
        P.W += weigh(*Block.getTerminator());
        Here.Instructions += static_cast<unsigned>(weigh(*Block.getTerminator()).Of[PCERE_COUNT_INSTRUCTIONS]);
        break;
      }
      Here.Pieces.push_back(P);
      P = {I.getNextNode(), {}};
    }
    Here.Pieces.push_back(P);
    Loud |= Here.Loud;
    Blocks.insert({&Block, Here});
  }

  void findNests(Loop &L, SmallVectorImpl<Loop *> &Nests) {
    bool Calm = all_of(L.blocks(), [&](BasicBlock *B) { return Blocks.count(B) && !Blocks.find(B)->second.Loud; });
    if (Calm && (L.getLoopPreheader() || InsertPreheaderForLoop(&L, &Tree, &Loops, nullptr, false))) {
      formDedicatedExitBlocks(&L, &Tree, &Loops, nullptr, false);
      if (L.hasDedicatedExits()) {
        for (Loop *Inner : L.getLoopsInPreorder()) {
          if (!Inner->getLoopPreheader())
            InsertPreheaderForLoop(Inner, &Tree, &Loops, nullptr, false);
          formDedicatedExitBlocks(Inner, &Tree, &Loops, nullptr, false);
        }
        Nests.push_back(&L);
        InNests.insert(L.block_begin(), L.block_end());
        return;
      }
    }
    for (Loop *Inner : L)
      findNests(*Inner, Nests);
  }

  /// Does \p B follow on \p Above before the loop begins its next round or is left? Says no where that takes too long to tell.
  static bool comesInEachRound(Loop *L, BasicBlock *Above, BasicBlock *B) {
    SmallPtrSet<BasicBlock *, 32> Seen;
    SmallVector<BasicBlock *, 32> Next(successors(Above));
    while (!Next.empty()) {
      BasicBlock *Here = Next.pop_back_val();
      if (Here == B)
        continue;
      if (Here == L->getHeader() || !L->contains(Here) || Seen.size() == 32)
        return false;
      if (Seen.insert(Here).second)
        Next.append(succ_begin(Here), succ_end(Here));
    }
    return true;
  }

  /// For each block the one that it shares a counter with: the first of those that run equally often.
  DenseMap<BasicBlock *, BasicBlock *> classes() {
    DenseMap<BasicBlock *, BasicBlock *> Leaders;
    PostDominatorTree After(F);
    ReversePostOrderTraversal<Function *> Order(&F);
    for (BasicBlock *B : Order) {
      if (!Blocks.count(B))
        continue;
      BasicBlock *&Leader = Leaders[B];
      Leader = B;
      bool Shares = !Where.InPlace && !Irreducible && (InNests.count(B) || !Loud);
      // Up the tree of dominators: a leader is among those above.
      for (auto *Node = Tree.getNode(B)->getIDom(); Shares && Node; Node = Node->getIDom()) {
        BasicBlock *Above = Node->getBlock();
        Loop *L = Loops.getLoopFor(B);
        if (!Blocks.count(Above) || Loops.getLoopFor(Above) != L)
          continue;
        if (L ? comesInEachRound(L, Above, B) : After.dominates(B, Above)) {
          Leader = Leaders.lookup(Above);
          break;
        }
      }
    }
    return Leaders;
  }

  struct Tally {
    AllocaInst *Slot;
    Weights W;
    int Counter = -1;             ///< of Storage::Blocks
    SmallVector<Instruction *, 4> Ends; ///< at each exit of the nest: its value there, as an operand
  };

  Tally newTally(Loop &Nest, std::vector<AllocaInst *> &Slots) {
    IRBuilder<> Builder(&*F.getEntryBlock().getFirstInsertionPt());
    Tally T{Builder.CreateAlloca(Where.Int64, nullptr, "pcere.count"), {}, -1, {}};
    Slots.push_back(T.Slot);
    Builder.SetInsertPoint(Nest.getLoopPreheader()->getTerminator());
    Builder.CreateStore(Builder.getInt64(0), T.Slot);
    return T;
  }

  static void grow(Instruction *At, const Tally &T, Value *Amount) {
    IRBuilder<> Builder(At);
    Value *Old = Builder.CreateLoad(Builder.getInt64Ty(), T.Slot);
    Builder.CreateStore(Builder.CreateAdd(Old, Amount), T.Slot);
  }

  static Value *widened(Instruction &Copy) {
    IRBuilder<> Builder(&Copy);
    return Builder.CreateZExtOrTrunc(variableLength(Copy), Builder.getInt64Ty());
  }

  /// Put counting of the nest into stack slots; what its exits will add comes with them.
  std::vector<Tally> tallyNest(Loop &Nest, const DenseMap<BasicBlock *, BasicBlock *> &Leaders, std::vector<AllocaInst *> &Slots) {
    std::vector<Tally> Tallies;
    DenseMap<BasicBlock *, size_t> Of;
    int Loads = -1, Stores = -1;
    for (auto &[Block, Here] : Blocks) {
      if (!Nest.contains(Block))
        continue;
      const Weights &W = Here.Pieces.front().W;
      BasicBlock *Leader = Leaders.lookup(Block);
      if (!W.empty() || Where.Blocks) {
        auto [Entry, New] = Of.try_emplace(Leader, Tallies.size());
        if (New) {
          Tallies.push_back(newTally(Nest, Slots));
          grow(Blocks.find(Leader)->second.Pieces.front().Start, Tallies.back(), ConstantInt::get(Where.Int64, 1));
          if (Where.Blocks)
            Tallies.back().Counter = static_cast<int>(Where.BlockCounters++);
        }
        Tally &T = Tallies[Entry->second];
        T.W += W;
        Here.Counter = static_cast<unsigned>(T.Counter);
      }
      for (Instruction *Copy : Here.Lengths) {
        auto Add = [&](int &Index, unsigned Event) {
          if (Index < 0) {
            Index = static_cast<int>(Tallies.size());
            Tallies.push_back(newTally(Nest, Slots));
            Tallies.back().W.Of[Event] = 1;
          }
          grow(Copy, Tallies[static_cast<size_t>(Index)], widened(*Copy));
        };
        if (isa<MemTransferInst>(Copy))
          Add(Loads, PCERE_COUNT_LOAD_BYTES);
        Add(Stores, PCERE_COUNT_STORE_BYTES);
      }
    }
    SmallVector<BasicBlock *, 8> Exits;
    Nest.getUniqueExitBlocks(Exits);
    for (BasicBlock *Exit : Exits) {
      IRBuilder<> Builder(&*Exit->getFirstInsertionPt());
      for (Tally &T : Tallies) {
        Value *Count = Builder.CreateLoad(Where.Int64, T.Slot);
        T.Ends.push_back(BinaryOperator::CreateAdd(Count, Builder.getInt64(0)));
        Builder.Insert(T.Ends.back());
      }
    }
    return Tallies;
  }

  static bool isNarrow(const SCEV *S, ScalarEvolution &Evolution) {
    return !SCEVExprContains(S, [&](const SCEV *Part) {
      return !isa<SCEVCouldNotCompute>(Part) && Evolution.getTypeSizeInBits(Part->getType()) > 64;
    });
  }

  /// What the loop leaves in counters, computed before it where that is possible.
  void foldLoop(Loop &L, ArrayRef<WeakTrackingVH> Counters, ScalarEvolution &Evolution, const TargetTransformInfo &Costs) {
    BasicBlock *Before = L.getLoopPreheader();
    if (!Before)
      return;
    Instruction *At = Before->getTerminator();
    Expander Writer(Evolution, F.getParent()->getDataLayout(), "pcere.trips");
    for (const WeakTrackingVH &Handle : Counters) {
      auto *Counter = dyn_cast_or_null<Instruction>(static_cast<Value *>(Handle));
      if (!Counter || !L.contains(Counter))
        continue;
      SmallVector<Use *, 4> Outside;
      for (Use &U : Counter->uses()) {
        auto *User = cast<Instruction>(U.getUser());
        auto *Phi = dyn_cast<PHINode>(User);
        if (!L.contains(Phi ? Phi->getIncomingBlock(U) : User->getParent()))
          Outside.push_back(&U);
      }
      if (Outside.empty())
        continue;
      const SCEV *Value = Evolution.getSCEVAtScope(Counter, L.getParentLoop());
      if (isa<SCEVCouldNotCompute>(Value) || !Evolution.isLoopInvariant(Value, &L) || !isNarrow(Value, Evolution) ||
          !Writer.isSafeToExpandAt(Value, At) || Writer.isHighCostExpansion(Value, &L, ExpansionBudget, &Costs, At))
        continue;
      llvm::Value *Known = Writer.expandCodeFor(Value, Where.Int64, At);
      for (Use *U : Outside) {
        Evolution.forgetValue(cast<Instruction>(U->getUser()));
        U->set(Known);
      }
    }
  }

  void fold(ArrayRef<Loop *> Nests, ArrayRef<WeakTrackingVH> Counters) {
    AssumptionCache Assumptions(F);
    ScalarEvolution Evolution(F, Library, Assumptions, Tree, Loops);
    const auto &Costs = Analyses.getResult<TargetIRAnalysis>(F);
    for (Loop *Nest : Nests) {
      SmallVector<Loop *, 8> Order = Nest->getLoopsInPreorder();
      for (Loop *L : reverse(Order))
        foldLoop(*L, Counters, Evolution, Costs);
    }
  }

  /// No code, but nothing is known of the result: else the code generator's loop strength reduction keeps each multiple of a counter up to date in the loop.
  static Value *hide(IRBuilder<> &Builder, Value *Count) {
    if (isa<Constant>(Count))
      return Count;
    auto *Kind = FunctionType::get(Count->getType(), {Count->getType()}, false);
    return Builder.CreateCall(InlineAsm::get(Kind, "", "=r,0", /*hasSideEffects=*/false), {Count});
  }

  /// Add what the nest has counted to the vector, at each of its exits.
  void settle(std::vector<Tally> &Tallies) {
    if (Tallies.empty())
      return;
    for (size_t Exit = 0; Exit < Tallies.front().Ends.size(); ++Exit) {
      Instruction *At = Tallies.back().Ends[Exit];
      IRBuilder<> Builder(At);
      MapVector<Value *, Weights> Sums;
      DenseMap<Value *, Value *> Hidden;
      for (const Tally &T : Tallies) {
        Value *&Count = Hidden[T.Ends[Exit]->getOperand(0)];
        if (!Count)
          Count = hide(Builder, T.Ends[Exit]->getOperand(0));
        Sums[Count] += T.W;
        if (T.Counter >= 0)
          addTo(Builder, Where.Blocks, static_cast<unsigned>(T.Counter), Count);
      }
      for (unsigned Event = 0; Event < PCERE_COUNT_END; ++Event) {
        Value *Sum = nullptr;
        for (const auto &[Count, W] : Sums) {
          if (!W.Of[Event])
            continue;
          Value *Part = W.Of[Event] == 1 ? Count : Builder.CreateMul(Count, Builder.getInt64(W.Of[Event]));
          Sum = Sum ? Builder.CreateAdd(Sum, Part) : Part;
        }
        if (Sum)
          addTo(Builder, Where.Vector, Event, Sum);
      }
      for (Tally &T : Tallies)
        T.Ends[Exit]->eraseFromParent();
    }
  }

  void countNests(ArrayRef<Loop *> Nests, const DenseMap<BasicBlock *, BasicBlock *> &Leaders) {
    std::vector<std::vector<Tally>> Tallies;
    std::vector<AllocaInst *> Slots;
    DenseSet<Instruction *> Old;
    for (Instruction &I : instructions(F))
      Old.insert(&I);
    for (Loop *Nest : Nests)
      Tallies.push_back(tallyNest(*Nest, Leaders, Slots));
    PromoteMemToReg(Slots, Tree);
    SmallVector<WeakTrackingVH, 64> Counters;
    for (Instruction &I : instructions(F))
      if (!Old.count(&I))
        Counters.push_back(&I);
    fold(Nests, Counters);
    for (std::vector<Tally> &Of : Tallies)
      settle(Of);
    for (const WeakTrackingVH &Handle : Counters)
      if (auto *Phi = dyn_cast_or_null<PHINode>(static_cast<Value *>(Handle)))
        RecursivelyDeleteDeadPHINode(Phi, &Library);
  }

  void addPiece(const Piece &P) {
    IRBuilder<> Builder(P.Start);
    for (unsigned Event = 0; Event < PCERE_COUNT_END; ++Event)
      if (P.W.Of[Event])
        addTo(Builder, Where.Vector, Event, Builder.getInt64(P.W.Of[Event]));
  }

  /// Blocks outside of such loops.
  void countInPlace(const DenseMap<BasicBlock *, BasicBlock *> &Leaders) {
    DenseMap<BasicBlock *, unsigned> Counters;
    for (auto &[Block, Here] : Blocks) {
      if (InNests.count(Block))
        continue;
      for (Instruction *Copy : Here.Lengths) {
        Value *Length = widened(*Copy);
        IRBuilder<> Builder(Copy);
        if (isa<MemTransferInst>(Copy))
          addTo(Builder, Where.Vector, PCERE_COUNT_LOAD_BYTES, Length);
        addTo(Builder, Where.Vector, PCERE_COUNT_STORE_BYTES, Length);
      }
      BasicBlock *Leader = Leaders.lookup(Block);
      if (Where.Blocks) {
        auto [Entry, New] = Counters.try_emplace(Leader, Where.BlockCounters);
        if (New) {
          IRBuilder<> Builder(Blocks.find(Leader)->second.Pieces.front().Start);
          addTo(Builder, Where.Blocks, Where.BlockCounters++, Builder.getInt64(1));
        }
        Here.Counter = Entry->second;
      }
      if (Leader != Block)
        Blocks.find(Leader)->second.Pieces.front().W += Here.Pieces.front().W; // a block that has several is its own leader
    }
    for (auto &[Block, Here] : Blocks)
      if (!InNests.count(Block) && (Leaders.lookup(Block) == Block))
        for (const Piece &P : Here.Pieces)
          addPiece(P);
  }

public:
  FunctionCounter(Function &F, Storage &Where, const FunctionSet &Quiet, FunctionAnalysisManager &Analyses)
      : F(F), Where(Where), Quiet(Quiet), Analyses(Analyses), Library(Analyses.getResult<TargetLibraryAnalysis>(F)), Tree(F), Loops(Tree) {}

  struct Row {
    unsigned Block, Counter, Instructions;
  };

  /// Returns the rows of the function's blocks for PCERE_COUNT=blocks.
  std::vector<Row> run() {
    DenseMap<BasicBlock *, unsigned> Numbers;
    for (BasicBlock &Block : F) {
      Numbers[&Block] = static_cast<unsigned>(Numbers.size());
      if (Tree.isReachableFromEntry(&Block))
        divide(Block);
    }
    SmallVector<Loop *, 8> Nests;
    if (!Where.InPlace && !F.callsFunctionThatReturnsTwice()) { // registers do not survive a longjmp
      SmallVector<Loop *, 8> Top(Loops.begin(), Loops.end());
      for (Loop *L : Top)
        findNests(*L, Nests);
    }
    ReversePostOrderTraversal<Function *> Order(&F);
    Irreducible = containsIrreducibleCFG<const BasicBlock *>(Order, Loops);
    DenseMap<BasicBlock *, BasicBlock *> Leaders = classes();
    countNests(Nests, Leaders);
    countInPlace(Leaders);
    std::vector<Row> Rows;
    if (Where.Blocks)
      for (const auto &[Block, Here] : Blocks)
        Rows.push_back({Numbers.lookup(Block), Here.Counter, Here.Instructions});
    return Rows;
  }
};

/// How the image tells a runtime of its counts.
class Registration {
  Module &M;
  LLVMContext &Context;
  PointerType *Pointer;
  IntegerType *Int32, *Int64;
  bool Library; ///< for a shared library, as far as can be told: it may be unloaded

  Function *shared(StringRef Name, Type *Result) { return sharedFunction(M, Name, FunctionType::get(Result, false)); }

  Function *own(StringRef Name, Type *Result) {
    auto *New = Function::Create(FunctionType::get(Result, false), GlobalValue::InternalLinkage, Name, M);
    New->addFnAttr(Attribute::NoUnwind);
    BasicBlock::Create(Context, "entry", New);
    return New;
  }

  void addressOf(Function &Accessor, GlobalVariable *Variable) {
    IRBuilder<> Builder(&Accessor.getEntryBlock());
    Builder.CreateRet(Builder.CreateThreadLocalAddress(Variable));
  }

  void announce(Function &Begin, Function &End, StringRef Register, StringRef Forget, Constant *Argument, bool Merged) {
    callIfPresent(Begin, Register, {Argument});
    appendToGlobalCtors(M, &Begin, 65535, Merged ? &Begin : nullptr);
    callIfPresent(End, Forget, {Argument});
    if (Library)
      appendToGlobalDtors(M, &End, 65535, Merged ? &End : nullptr);
    else
      End.eraseFromParent();
  }

  Constant *array(ArrayRef<Constant *> Values, Type *Element) {
    auto *Kind = ArrayType::get(Element, Values.size());
    return new GlobalVariable(M, Kind, true, GlobalValue::PrivateLinkage, ConstantArray::get(Kind, Values), "pcere.blocks");
  }

  Constant *string(StringRef Text) {
    Constant *Bytes = ConstantDataArray::getString(Context, Text);
    return new GlobalVariable(M, Bytes->getType(), true, GlobalValue::PrivateLinkage, Bytes, "pcere.string");
  }

public:
  explicit Registration(Module &M)
      : M(M), Context(M.getContext()), Pointer(PointerType::getUnqual(Context)), Int32(Type::getInt32Ty(Context)), Int64(Type::getInt64Ty(Context)),
        Library(M.getPICLevel() != PICLevel::NotPIC && M.getPIELevel() == PIELevel::Default) {}

  GlobalVariable *vector() {
    auto *Kind = ArrayType::get(Int64, PCERE_COUNTS_SLOTS);
    auto *V = new GlobalVariable(M, Kind, false, GlobalValue::LinkOnceODRLinkage, ConstantAggregateZero::get(Kind), "__pcere_counts", nullptr,
                                 GlobalValue::GeneralDynamicTLSModel);
    V->setVisibility(GlobalValue::HiddenVisibility);
    V->setDSOLocal(true);
    V->setComdat(M.getOrInsertComdat("__pcere_counts"));
    V->setAlignment(Align(64));
    return V;
  }

  GlobalVariable *counters(uint64_t Count) {
    auto *Kind = ArrayType::get(Int64, Count);
    return new GlobalVariable(M, Kind, false, GlobalValue::InternalLinkage, ConstantAggregateZero::get(Kind), "pcere.counters", nullptr,
                              GlobalValue::GeneralDynamicTLSModel);
  }

  void offerVector(GlobalVariable *Vector) {
    Function *Here = shared("__pcere_counts_here", Pointer);
    addressOf(*Here, Vector);
    announce(*shared("__pcere_counts_begin", Type::getVoidTy(Context)), *shared("__pcere_counts_end", Type::getVoidTy(Context)),
             "__pcere_counts_register", "__pcere_counts_forget", Here, true);
  }

  void offerBlocks(GlobalVariable *Counters, uint64_t CounterCount, ArrayRef<std::pair<Function *, std::vector<FunctionCounter::Row>>> Counted) {
    std::vector<Constant *> Names, Rows;
    auto *Row = StructType::get(Context, {Int32, Int32, Int32, Int32});
    for (const auto &[F, Blocks] : Counted) {
      for (const FunctionCounter::Row &B : Blocks)
        Rows.push_back(ConstantStruct::get(Row, {ConstantInt::get(Int32, Names.size()), ConstantInt::get(Int32, B.Block),
                                                 ConstantInt::get(Int32, B.Counter), ConstantInt::get(Int32, B.Instructions)}));
      Names.push_back(string(F->getName()));
    }
    Function *Here = own("pcere.counters.here", Pointer);
    addressOf(*Here, Counters);
    Constant *Fields[] = {ConstantInt::get(Int64, unitId(M)), ConstantInt::get(Int32, Names.size()), ConstantInt::get(Int32, Rows.size()),
                          ConstantInt::get(Int32, CounterCount), ConstantInt::get(Int32, 0), array(Names, Pointer), array(Rows, Row), Here};
    Constant *Unit = ConstantStruct::getAnon(Fields);
    auto *Table = new GlobalVariable(M, Unit->getType(), true, GlobalValue::PrivateLinkage, Unit, "pcere.unit");
    announce(*own("pcere.blocks.begin", Type::getVoidTy(Context)), *own("pcere.blocks.end", Type::getVoidTy(Context)),
             "__pcere_blocks_register", "__pcere_blocks_forget", Table, false);
  }
};

} // namespace

CountMode countMode(LLVMContext &Context, StringRef Word, StringRef From) {
  CountMode Mode;
  for (StringRef Rest = Word; !Rest.empty();) {
    auto [One, Behind] = Rest.split(',');
    Rest = Behind;
    if (One == "blocks")
      Mode.Blocks = true;
    else if (One == "cache")
      Mode.Accesses = true;
    else if (One == "iterations")
      Mode.Iterations = true;
    else if (One != "ir" && !From.empty())
      Context.emitError(Twine(From) + "=" + Word + ": what can be counted is ir, blocks, cache and iterations");
    Mode.Totals |= One != "iterations";
  }
  return Mode;
}

void insertCounts(Module &M, const CountMode &Mode, bool InPlace, FunctionAnalysisManager &Analyses) {
  SmallVector<Function *, 64> Functions;
  for (Function &F : M)
    if (!F.isDeclarationForLinker() && !F.hasFnAttribute(Attribute::Naked) && !F.getName().starts_with("pcere.") && !F.getName().starts_with(OwnPrefix))
      Functions.push_back(&F);
  if (!Mode.Totals || Functions.empty())
    return;
  Registration Offer(M);
  Storage Where{M, Type::getInt64Ty(M.getContext()), InPlace, Offer.vector()};
  if (Mode.Blocks)
    Where.Blocks = Offer.counters(1);
  FunctionSet Quiet = quietFunctions(M, Analyses);
  AccessWatch Accesses;
  std::vector<std::pair<Function *, std::vector<FunctionCounter::Row>>> Counted;
  for (Function *F : Functions) {
    if (Mode.Accesses)
      Accesses.find(*F);
    Counted.push_back({F, FunctionCounter(*F, Where, Quiet, Analyses).run()});
    Analyses.invalidate(*F, PreservedAnalyses::none());
  }
  if (Mode.Accesses)
    Accesses.insert(M);
  Offer.offerVector(Where.Vector);
  if (!Where.Blocks)
    return;
  GlobalVariable *Counters = Offer.counters(std::max(Where.BlockCounters, 1u));
  Where.Blocks->replaceAllUsesWith(Counters);
  Where.Blocks->eraseFromParent();
  Offer.offerBlocks(Counters, Where.BlockCounters, Counted);
}

} // namespace pcere
