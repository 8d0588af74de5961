//===- passes/Sampling.cpp - may a codelet run only a part of a region's iterations? --------------------------------------===//
//
// Iterations of a worksharing loop may run in any order and number as far as OpenMP goes, but what they compute may decide what other code does: a
// convergence test, an index that another loop made, a flag that another thread waits for. A sample would then run something else. So from each decision
// (branch, index, length, argument of a call that is not seen) values are followed back through operands, arguments and memory:
//
//   decision outside the sampled loops   must not depend on anything that is written inside of them
//   decision inside                      must not depend on memory that other iterations write; a thread's own memory is fine, and so is an index that is a counter, stepped by a
//                                        loop with a dynamic schedule: part of its iterations, once each, are what a legal execution begins with
//
// Memory is told apart by the optimiser's alias analyses within a function, and by types and objects between functions. Other units are not seen:
// calls to them make the region run whole, but for what is known to be harmless.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "Sampling.h"

#include "KnownCalls.h"
#include "Regions.h"

#include "include/pcere/rt_abi.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/CaptureTracking.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

namespace pcere {

namespace {

/// What stands behind every call that might throw where nothing may leave a construct: a run that gets there has no time to measure.
bool endsProgram(const Function &F) { return F.doesNotReturn() && F.doesNotThrow(); }

class Judge {
  FunctionAnalysisManager &Analyses;
  Function &Microtask;
  SetVector<Function *> Reached, Tasks, Combiners;    ///< Combiners: join private copies of a reduction
  DenseMap<Function *, SmallVector<CallBase *, 4>> Callers;
  DenseSet<const Instruction *> Inside;      ///< of a sampled loop
  DenseSet<const Instruction *> InsideChunks;        ///< of one that asks for chunks
  DenseSet<const Value *> Bounds;            ///< variables that the runtime's calls fill with a loop's bounds
  struct Write { Instruction *I; const Value *Pointer; MemoryLocation Location; bool Inside, Own; };
  SmallVector<Write, 64> Writes;
  Sampling Result;
  bool HasLoop = false, Index = false;       ///< Index: what is followed is one, inside of a loop

  bool isBound(const Value *V) const { return Bounds.contains(getUnderlyingObject(V)); }

  void refuse(const Twine &Why) {
    if (Result.Whole.empty())
      Result.Whole = Why.str();
  }

  static std::string place(const Instruction &I) {
    if (const DebugLoc &At = I.getDebugLoc())
      return " (line " + std::to_string(At.getLine()) + ")";
    return "";
  }

  /// Memory of one thread: its stack, its thread-local variables.
  bool isOwn(const Value *Pointer) const {
    const Value *Object = getUnderlyingObject(Pointer, 0);
    if (isa<AllocaInst>(Object)) // tasks share variables of those that make them
      return !Result.Tasks || !PointerMayBeCaptured(Object, /*ReturnCaptures=*/true, /*StoreCaptures=*/true);
    if (Result.Tasks && !isa<Argument>(Object))
      return false; // what is thread-local is met by several tasks
    if (auto *V = dyn_cast<GlobalVariable>(Object))
      return V->isThreadLocal();
    if (auto *Call = dyn_cast<IntrinsicInst>(Object))
      return Call->getIntrinsicID() == Intrinsic::threadlocal_address;
    if (auto *Load = dyn_cast<LoadInst>(Object); Load && Combiners.contains(const_cast<Function *>(Load->getFunction())))
      return isa<Argument>(getUnderlyingObject(Load->getPointerOperand(), 0)); // a list of private copies
    if (auto *A = dyn_cast<Argument>(Object)) { // of a function that all callers give such memory
      Function *F = const_cast<Function *>(A->getParent());
      auto Calls = Callers.find(F);
      if (F == &Microtask || Calls == Callers.end() || Calls->second.empty() || Depth > 8)
        return false;
      ++Depth;
      bool All = all_of(Calls->second, [&](CallBase *Call) { return A->getArgNo() < Call->arg_size() && isOwn(Call->getArgOperand(A->getArgNo())); });
      --Depth;
      return All;
    }
    return false;
  }
  mutable unsigned Depth = 0;

  void reach() {
    Reached.insert(&Microtask);
    for (size_t K = 0; K < Reached.size(); ++K)
      for (Instruction &I : instructions(*Reached[K])) {
        auto *Call = dyn_cast<CallBase>(&I);
        if (!Call)
          continue;
        auto *Callee = dyn_cast<Function>(Call->getCalledOperand()->stripPointerCasts());
        if (Callee && !Callee->isDeclaration() && !endsProgram(*Callee)) {
          Reached.insert(Callee);
          Callers[Callee].push_back(Call);
        }
        StringRef Name = calleeName(*Call);
        // Tasks are called back, too, and so is what copies them.
        if (isTaskAllocation(Name) && Call->arg_size() > 5)
          Result.Tasks = true;
        if (isTaskAllocation(Name) || Name.starts_with("__kmpc_taskloop"))
          for (const Use &U : Call->args())
            if (auto *Task = dyn_cast<Function>(U.get()->stripPointerCasts()); Task && !Task->isDeclaration()) {
              Reached.insert(Task);
              Tasks.insert(Task);
            }
        // What combines private copies of a reduction is called back by the runtime.
        if (Name.starts_with("__kmpc_reduce") && Call->arg_size() > 5)
          if (auto *Combine = dyn_cast<Function>(Call->getArgOperand(5)->stripPointerCasts()); Combine && !Combine->isDeclaration()) {
            Reached.insert(Combine);
            Combiners.insert(Combine);
          }
      }
  }

  /// A chunk was asked for: where there was none, the loop is over.
  static BasicBlock *afterLastChunk(const CallBase &Next) {
    using namespace PatternMatch;
    for (const User *U : Next.users()) {
      auto *Compare = dyn_cast<ICmpInst>(U);
      if (!Compare || !Compare->isEquality() || !match(Compare->getOperand(1), m_Zero()))
        continue;
      for (const User *Use : Compare->users())
        if (auto *Branch = dyn_cast<BranchInst>(Use); Branch && Branch->isConditional())
          return Branch->getSuccessor(Compare->getPredicate() == ICmpInst::ICMP_EQ ? 0 : 1);
    }
    return nullptr;
  }

  void enclose(CallBase &Begin) {
    StringRef Name = calleeName(Begin);
    bool Chunks = Name.starts_with("__kmpc_dispatch");
    DenseSet<BasicBlock *> Outside;
    if (Chunks)
      for (Instruction &I : instructions(*Begin.getFunction()))
        if (auto *Call = dyn_cast<CallBase>(&I); Call && calleeName(*Call).starts_with("__kmpc_dispatch_next")) {
          BasicBlock *After = afterLastChunk(*Call);
          if (!After)
            return refuse("it has a loop whose end was not found" + place(Begin));
          Outside.insert(After);
        }
    SmallVector<Instruction *, 32> Work{Begin.getNextNode()};
    while (!Work.empty()) {
      Instruction *I = Work.pop_back_val();
      for (; I; I = I->getNextNode()) {
        if (auto *Call = dyn_cast<CallBase>(I)) {
          if (isLoopEnd(calleeName(*Call)))
            break;
          if (isLoopBegin(calleeName(*Call)) && Call != &Begin)
            return refuse("it has a loop whose end was not found" + place(Begin));
        }
        if (!Inside.insert(I).second)
          break;
        if (Chunks)
          InsideChunks.insert(I);
        if (I->isTerminator())
          for (BasicBlock *Next : successors(I))
            if (!Outside.contains(Next))
              Work.push_back(&Next->front());
      }
    }
  }

  /// All of a function that is called from inside, and what it calls.
  void encloseCallees() {
    SetVector<Function *> Called;
    for (Function *F : Tasks) {
      Called.insert(F);
      for (Instruction &I : instructions(*F))
        Inside.insert(&I);
    }
    auto Look = [&](const Instruction &I) {
      if (auto *Call = dyn_cast<CallBase>(&I))
        if (auto *F = dyn_cast<Function>(Call->getCalledOperand()->stripPointerCasts()); F && !F->isDeclaration())
          Called.insert(F);
    };
    for (const Instruction *I : Inside)
      Look(*I);
    for (size_t K = 0; K < Called.size(); ++K)
      for (Instruction &I : instructions(*Called[K])) {
        Inside.insert(&I);
        Look(I);
      }
  }

  void findLoops() {
    SmallVector<CallBase *, 8> Begins;
    for (Function *F : Reached)
      for (Instruction &I : instructions(*F)) {
        auto *Call = dyn_cast<CallBase>(&I);
        if (!Call || !isLoopBegin(calleeName(*Call)))
          continue;
        HasLoop = true;
        Begins.push_back(Call);
      }
    for (Function *F : Reached)
      for (Instruction &I : instructions(*F))
        if (auto *Call = dyn_cast<CallBase>(&I))
          if (StringRef Name = calleeName(*Call); isLoopBegin(Name) || Name.starts_with("__kmpc_dispatch_next"))
            for (const Use &U : Call->args())
              if (auto *A = dyn_cast<AllocaInst>(U.get()->stripPointerCasts()))
                Bounds.insert(A);
    for (CallBase *Begin : Begins)
      enclose(*Begin);
    encloseCallees();
  }

  static bool isConstantObject(const Value *Pointer) {
    auto *V = dyn_cast<GlobalVariable>(getUnderlyingObject(Pointer, 0));
    return V && V->isConstant();
  }

  void write(Instruction &I, const Value *Pointer, MemoryLocation Location) {
    if (!Pointer || !isBound(Pointer))
      Writes.push_back({&I, Pointer, Location, Inside.contains(&I), Pointer && isOwn(Pointer)});
  }

  /// Calls that are not seen: are they known?
  void call(CallBase &Call) {
    StringRef Name = calleeName(Call);
    auto *Callee = dyn_cast<Function>(Call.getCalledOperand()->stripPointerCasts());
    if (StringRef Refused = refusedCall(Name); !Refused.empty())
      return refuse("it has " + Refused + place(Call));
    if (isAllocation(Name)) {
      Result.OneBlock |= Inside.contains(&Call);
      return;
    }
    if (auto *Memory = dyn_cast<AnyMemIntrinsic>(&Call))
      return write(Call, Memory->getRawDest(), MemoryLocation::getForDest(Memory));
    if (isa<IntrinsicInst>(Call) || isHarmless(Name) || (Callee && !Callee->isDeclaration()))
      return;
    if (isMathematics(Name)) {
      for (const Use &U : Call.args())
        if (U->getType()->isPointerTy())
          write(Call, U.get(), MemoryLocation::getBeforeOrAfter(U.get()));
      return;
    }
    if (Call.onlyReadsMemory())
      return;
    if (Call.isInlineAsm() || !Callee)
      return refuse("it calls what is not seen when it is compiled" + place(Call));
    // Of another unit: it may do what it likes with what is the thread's own.
    if (all_of(Call.args(), [&](const Use &U) { return !U->getType()->isPointerTy() || isOwn(U.get()) || isConstantObject(U.get()); })) {
      Result.OneBlock |= Inside.contains(&Call);
      for (const Use &U : Call.args())
        if (U->getType()->isPointerTy() && isOwn(U.get()))
          write(Call, U.get(), MemoryLocation::getBeforeOrAfter(U.get()));
      return;
    }
    refuse("it calls " + demangle(Name.str()) + ", which is not seen when it is compiled" + place(Call));
  }

  void collect() {
    for (Function *F : Reached)
      for (Instruction &I : instructions(*F)) {
        if (auto *Store = dyn_cast<StoreInst>(&I))
          write(I, Store->getPointerOperand(), MemoryLocation::get(Store));
        else if (auto *Call = dyn_cast<CallBase>(&I))
          call(*Call);
        else if (auto *RMW = dyn_cast<AtomicRMWInst>(&I))
          write(I, RMW->getPointerOperand(), MemoryLocation::get(RMW));
        else if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I))
          write(I, Exchange->getPointerOperand(), MemoryLocation::get(Exchange));
        else if (I.mayWriteToMemory() && !isa<LoadInst>(I) && !isa<FenceInst>(I) && !I.isTerminator())
          write(I, nullptr, MemoryLocation());
      }
  }

  bool mayAlias(const Instruction &Read, const Value *Pointer, const MemoryLocation &Location, const Write &W) {
    if (!W.Pointer)
      return true;
    const Value *A = getUnderlyingObject(Pointer, 0), *B = getUnderlyingObject(W.Pointer, 0);
    if (areDistinct(A, B))
      return false;
    if ((!Location.AATags.TBAA || !W.Location.AATags.TBAA) && kindsDiffer(Read, *W.I))
      return false;
    if (Read.getFunction() == W.I->getFunction())
      return !Analyses.getResult<AAManager>(*const_cast<Function *>(Read.getFunction())).isNoAlias(Location, W.Location);
    return tagsMayMeet(Location.AATags.TBAA, W.Location.AATags.TBAA); // between functions only types can be compared
  }

  /// Two accesses of scalar types that have nothing in common but their root never meet.
  /// Where nothing says what was meant: numbers with a point on one side and none on the other, or an atomic access of another size, are of
  /// different objects.
  bool kindsDiffer(const Instruction &Read, const Instruction &Written) const {
    if (auto *Store = dyn_cast<StoreInst>(&Written))
      return Read.getType()->getScalarType()->isFloatingPointTy() != Store->getValueOperand()->getType()->getScalarType()->isFloatingPointTy();
    const Value *Value = nullptr;
    if (auto *RMW = dyn_cast<AtomicRMWInst>(&Written))
      Value = RMW->getValOperand();
    else if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&Written))
      Value = Exchange->getNewValOperand();
    const DataLayout &Layout = Microtask.getParent()->getDataLayout();
    return Value && Layout.getTypeStoreSize(Read.getType()->getScalarType()) != Layout.getTypeStoreSize(Value->getType());
  }

  /// Different variables of the function that forks, whose addresses the region gets as arguments.
  bool areDistinct(const Value *A, const Value *B) const {
    if (A == B)
      return false;
    if (isIdentifiedObject(A) && isIdentifiedObject(B))
      return true;
    auto Outer = [&](const Value *V, const CallBase &Fork) {
      auto *Parameter = dyn_cast<Argument>(V);
      if (!Parameter || Parameter->getParent() != &Microtask)
        return V;
      unsigned At = Parameter->getArgNo() + (forkPath(Fork) == PCERE_PATH_FORK_IF ? 2 : 1);
      return At < Fork.arg_size() ? getUnderlyingObject(Fork.getArgOperand(At), 0) : V;
    };
    bool Forked = false;
    for (const User *U : Microtask.users()) {
      auto *Fork = dyn_cast<CallBase>(U);
      if (!Fork || forkPath(*Fork) < 0)
        return false;
      const Value *X = Outer(A, *Fork), *Y = Outer(B, *Fork);
      if (X == Y || !isIdentifiedObject(X) || !isIdentifiedObject(Y))
        return false;
      Forked = true;
    }
    return Forked;
  }

  static bool tagsMayMeet(const MDNode *A, const MDNode *B) {
    if (!A || !B || A->getNumOperands() < 3 || B->getNumOperands() < 3)
      return true;
    auto *TypeA = dyn_cast<MDNode>(A->getOperand(1)), *TypeB = dyn_cast<MDNode>(B->getOperand(1));
    auto Above = [](const MDNode *Lower, const MDNode *Upper) {
      for (unsigned Steps = 0; Lower && Steps < 16; ++Steps) {
        if (Lower == Upper)
          return true;
        Lower = Lower->getNumOperands() > 1 ? dyn_cast<MDNode>(Lower->getOperand(1)) : nullptr;
      }
      return false;
    };
    return !TypeA || !TypeB || Above(TypeA, TypeB) || Above(TypeB, TypeA);
  }

  /// It stands inside of a loop, since the optimiser moved it there, and is what its operands make it, whichever way control took.
  static bool isOnlyComputed(const Instruction &I) {
    auto *Phi = dyn_cast<PHINode>(&I);
    if (!Phi)
      return !I.mayReadOrWriteMemory();
    auto *First = dyn_cast<Instruction>(Phi->getIncomingValue(0));
    return First && !isa<PHINode>(First) && !First->mayReadOrWriteMemory() && all_of(Phi->incoming_values(), [&](const Use &U) {
             auto *Other = dyn_cast<Instruction>(U.get());
             return Other && Other->isIdenticalToWhenDefined(First);
           });
  }

  /// An atomic update that is made of a comparison and an exchange, such as a maximum's: it is tried again, in a block of its own, with what it found, and nothing
  /// else sees that. (A wait for a flag compares with something else.)
  static bool isUpdate(const AtomicCmpXchgInst &Exchange) {
    const BasicBlock *Block = Exchange.getParent();
    auto *Branch = dyn_cast<BranchInst>(Block->getTerminator());
    auto *Expected = dyn_cast<PHINode>(Exchange.getCompareOperand());
    if (!Branch || !Branch->isConditional() || Branch->getSuccessor(1) != Block || !Expected || Expected->getParent() != Block)
      return false;
    return all_of(Exchange.users(), [&](const User *U) {
             auto *Part = dyn_cast<ExtractValueInst>(U);
             const Value *Reader = Part && Part->getIndices()[0] ? static_cast<const Value *>(Branch) : Expected;
             return Part && Part->getParent() == Block && all_of(Part->users(), [&](const User *Use) { return Use == Reader; });
           }) &&
           all_of(Expected->users(), [&](const User *U) { return cast<Instruction>(U)->getParent() == Block; });
  }

  /// Such an update goes on or begins again: that decides nothing.
  static bool onlyRetries(const BranchInst &Branch) {
    auto *Success = dyn_cast<ExtractValueInst>(Branch.getCondition());
    auto *Exchange = Success ? dyn_cast<AtomicCmpXchgInst>(Success->getAggregateOperand()) : nullptr;
    return Exchange && Exchange->getParent() == Branch.getParent() && isUpdate(*Exchange);
  }

  struct Fault { const Instruction *Source = nullptr; std::string Name; };

  /// Does \p V, as it is used in a decision inside or outside of loops, depend on what a sample does not compute?
  Fault follow(const Value *Start, bool DecisionInside) {
    SetVector<const Value *> Work;
    Work.insert(Start);
    auto Add = [&](const Value *V) {
      if (!isa<Constant>(V) && !isa<BasicBlock>(V) && !isa<MetadataAsValue>(V) && !isa<InlineAsm>(V))
        Work.insert(V);
    };
    for (size_t K = 0; K < Work.size(); ++K) {
      const Value *V = Work[K];
      if (auto *A = dyn_cast<Argument>(V)) {
        for (CallBase *Call : Callers.lookup(const_cast<Function *>(A->getParent())))
          if (A->getArgNo() < Call->arg_size())
            Add(Call->getArgOperand(A->getArgNo()));
        continue;
      }
      auto *I = dyn_cast<Instruction>(V);
      if (!I)
        continue;
      if (!DecisionInside && Inside.contains(I) && !isOnlyComputed(*I))
        return {I, ""};               // a value that a loop made
      if (auto *Load = dyn_cast<LoadInst>(I)) {
        if (isBound(Load->getPointerOperand()))
          continue;
        if (Fault F = memory(*I, Load->getPointerOperand(), MemoryLocation::get(Load), DecisionInside, Add); F.Source)
          return F;
        Add(Load->getPointerOperand());
        continue;
      }
      if (any_of(I->users(), [&](const User *U) {
            auto *Exchange = dyn_cast<AtomicCmpXchgInst>(U);
            return Exchange && Exchange->getCompareOperand() == I && isUpdate(*Exchange);
          }))
        continue;                     // what it found is what the memory that it updates had
      if (isa<AtomicRMWInst>(I) || isa<AtomicCmpXchgInst>(I))
        return {I, ""};
      if (auto *Call = dyn_cast<CallBase>(I)) {
        StringRef Name = calleeName(*Call);
        auto *Callee = dyn_cast<Function>(Call->getCalledOperand()->stripPointerCasts());
        if (Callee && !Callee->isDeclaration()) {
          for (Instruction &At : instructions(*Callee))
            if (auto *Return = dyn_cast<ReturnInst>(&At); Return && Return->getReturnValue())
              Add(Return->getReturnValue());
          continue;
        }
        if (Name == "omp_test_lock" || Name == "strlen" || Name == "memcmp" || Name == "strcmp")
          return {I, ""};
        if (Name.starts_with("__kmpc_") || Name.starts_with("omp_get_") || isAllocation(Name))
          continue;
        if (!isa<IntrinsicInst>(Call) && !isMathematics(Name) && !Call->onlyReadsMemory())
          return {I, ""};             // nobody knows what it depends on
        for (const Use &U : Call->args())
          Add(U.get());
        continue;
      }
      for (const Use &U : I->operands())
        Add(U.get());
    }
    return {};
  }

  /// Memory that a task is made with: nobody else writes there before it begins.
  static bool isTask(const Value *Pointer) {
    const Value *Object = Pointer ? getUnderlyingObject(Pointer, 0) : nullptr;
    if (auto *Load = dyn_cast_or_null<LoadInst>(Object)) // the address of what it shares with others, which stands at its begin
      Object = Load->getPointerOperand();
    auto *Call = dyn_cast_or_null<CallBase>(Object);
    return Call && isTaskAllocation(calleeName(*Call));
  }

  /// The same, as the task itself sees it.
  bool isTaskItself(const Value *Pointer) const {
    auto *A = dyn_cast<Argument>(getUnderlyingObject(Pointer, 0));
    return A && A->getArgNo() == 1 && Tasks.contains(const_cast<Function *>(A->getParent())) && !PointerMayBeCaptured(A, /*ReturnCaptures=*/true, /*StoreCaptures=*/true);
  }

  /// The constant by which a store steps what was read from there; null: it does something else.
  static const ConstantInt *stepOf(const Instruction *I) {
    auto *Store = dyn_cast<StoreInst>(I);
    auto *Step = Store ? dyn_cast<BinaryOperator>(Store->getValueOperand()) : nullptr;
    auto *Read = Step && Step->getOpcode() == Instruction::Add ? dyn_cast<LoadInst>(Step->getOperand(0)) : nullptr;
    return Read && Read->getPointerOperand() == Store->getPointerOperand() ? dyn_cast<ConstantInt>(Step->getOperand(1)) : nullptr;
  }

  /// Read to be stepped by \p W, or by another store with the same step, in a loop with a dynamic schedule.
  bool isCounter(const Instruction &Read, const Write &W) const {
    const ConstantInt *Step = InsideChunks.contains(&Read) && InsideChunks.contains(W.I) ? stepOf(W.I) : nullptr;
    return Step && any_of(Read.users(), [&](const User *U) {
             return any_of(U->users(), [&](const User *Use) { return isa<Instruction>(Use) && stepOf(cast<Instruction>(Use)) == Step && cast<StoreInst>(Use)->getPointerOperand() == Read.getOperand(0); });
           });
  }

  /// A value comes out of memory: who wrote it?
  template <typename AddFn>
  Fault memory(const Instruction &Read, const Value *Pointer, const MemoryLocation &Location, bool DecisionInside, AddFn Add) {
    bool Own = isOwn(Pointer), Itself = isTaskItself(Pointer);
    if (auto *Load = dyn_cast<LoadInst>(&Read); Load && (Load->isVolatile() || isStrongerThanUnordered(Load->getOrdering())))
      return {&Read, nameOf(Pointer)};
    for (const Write &W : Writes) {
      if (Own != W.Own && W.Pointer && (Own || W.Own))
        continue;
      if (Itself && W.Pointer && !isTask(W.Pointer) && !isTaskItself(W.Pointer))
        continue;
      if (!Itself && !mayAlias(Read, Pointer, Location, W))
        continue;
      if (W.Inside && DecisionInside && Own)
        continue;                     // the same thread's, from an iteration before
      if (Index && isCounter(Read, W)) {
        Result.Once = true;
        continue;
      }
      if (auto *Store = dyn_cast<StoreInst>(W.I); Store && DecisionInside && (isTask(W.Pointer) || (Itself && isTaskItself(W.Pointer)))) {
        Add(Store->getValueOperand()); // what a task was given when it was made
        continue;
      }
      if (W.Inside)
        return {&Read, nameOf(Pointer)};
      Result.Restored |= !Own;        // a flag that the region sets is set for the next shot, too
      if (auto *Store = dyn_cast<StoreInst>(W.I))
        Add(Store->getValueOperand());
      else if (auto *RMW = dyn_cast<AtomicRMWInst>(W.I))
        Add(RMW->getValOperand());
      else if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(W.I))
        Add(Exchange->getNewValOperand());
      else if (!isa<MemSetInst>(W.I))
        return {&Read, nameOf(Pointer)};
    }
    return {};
  }

  static std::string nameOf(const Value *Pointer) {
    const Value *Object = getUnderlyingObject(Pointer, 0);
    return Object->hasName() && (isa<GlobalVariable>(Object) || isa<Argument>(Object)) ? "'" + Object->getName().str() + "'" : "";
  }

  void decide(const Instruction &I, const Value *V, const char *What) {
    if (isa<Constant>(V) || !Result.Whole.empty())
      return;
    bool DecisionInside = Inside.contains(&I);
    Index = isa<GetElementPtrInst>(I) && DecisionInside;
    if (Fault F = follow(V, DecisionInside); F.Source)
      refuse(Twine(What) + place(I) + " depends on " + (F.Name.empty() ? "what its loops compute" : F.Name + ", which it changes") +
             (F.Source != &I ? place(*F.Source) : ""));
  }

  /// The runtime's own questions (is there another chunk, who is the single thread) are no decisions of the program.
  static bool asksRuntime(const Value *Condition) {
    auto *Compare = dyn_cast<ICmpInst>(Condition);
    auto *Call = Compare ? dyn_cast<CallBase>(Compare->getOperand(0)) : nullptr;
    return Call && calleeName(*Call).starts_with("__kmpc_");
  }

  void decisions() {
    for (Function *F : Reached)
      for (Instruction &I : instructions(*F)) {
        if (!Result.Whole.empty())
          return;
        if (auto *Branch = dyn_cast<BranchInst>(&I)) {
          if (Branch->isConditional() && !asksRuntime(Branch->getCondition()) && !onlyRetries(*Branch))
            decide(I, Branch->getCondition(), "a branch");
        } else if (auto *Switch = dyn_cast<SwitchInst>(&I)) {
          if (!asksRuntime(Switch->getCondition()) && !isa<CallBase>(Switch->getCondition()))
            decide(I, Switch->getCondition(), "a branch");
        } else if (auto *Address = dyn_cast<GetElementPtrInst>(&I)) {
          for (const Use &Index : Address->indices())
            decide(I, Index.get(), "an index");
        } else if (auto *Memory = dyn_cast<AnyMemIntrinsic>(&I)) {
          decide(I, Memory->getLength(), "a length");
        }
      }
  }

public:
  Judge(Function &Microtask, FunctionAnalysisManager &Analyses) : Analyses(Analyses), Microtask(Microtask) {}

  Sampling run() {
    reach();
    findLoops();
    collect();
    if (!HasLoop && !Result.Tasks)
      refuse("it has no worksharing loop, and no tasks");
    if (Result.Whole.empty())
      decisions();
    Result.Shares = sharesWork(Microtask);
    return Result;
  }
};

constexpr const char *SamplingMetadata = "pcere.sampling"; ///< on the outlined function: why it must run whole, and whether in one block

} // namespace

bool sharesWork(const Function &Microtask) {
  SetVector<const Function *> Reached;
  Reached.insert(&Microtask);
  for (size_t K = 0; K < Reached.size(); ++K)
    for (const Instruction &I : instructions(*Reached[K])) {
      auto *Call = dyn_cast<CallBase>(&I);
      StringRef Name = Call ? calleeName(*Call) : "";
      if (Name.starts_with("__kmpc_dispatch_init") || Name.starts_with("__kmpc_omp_task") || Name.starts_with("__kmpc_taskloop"))
        return true;
      if (const Function *Callee = Call ? Call->getCalledFunction() : nullptr; Callee && !Callee->isDeclaration())
        Reached.insert(Callee);
    }
  return false;
}

void judgeSampling(Module &M, FunctionAnalysisManager &Analyses) {
  LLVMContext &Context = M.getContext();
  for (Function &F : M) {
    if (F.isDeclaration() || !F.hasMetadata("pcere.region"))
      continue;
    Sampling S = judgeSampling(F, Analyses);
    Metadata *Fields[] = {MDString::get(Context, S.Whole), ConstantAsMetadata::get(ConstantInt::getBool(Context, S.OneBlock)),
                          ConstantAsMetadata::get(ConstantInt::getBool(Context, S.Tasks)), ConstantAsMetadata::get(ConstantInt::getBool(Context, S.Once)),
                          ConstantAsMetadata::get(ConstantInt::getBool(Context, S.Restored)),
                          ConstantAsMetadata::get(ConstantInt::getBool(Context, S.Shares))};
    F.setMetadata(SamplingMetadata, MDNode::get(Context, Fields));
  }
}

Sampling samplingOf(const Function &Microtask) {
  const MDNode *Node = Microtask.getMetadata(SamplingMetadata);
  if (!Node)
    return {.Whole = "it was not examined", .OneBlock = true};
  auto Flag = [&](unsigned At) { return !mdconst::extract<ConstantInt>(Node->getOperand(At))->isZero(); };
  return {.Whole = cast<MDString>(Node->getOperand(0))->getString().str(), .Tasks = Flag(2), .OneBlock = Flag(1), .Restored = Flag(4), .Shares = Flag(5), .Once = Flag(3)};
}

Sampling judgeSampling(Function &Microtask, FunctionAnalysisManager &Analyses) {
  return Judge(Microtask, Analyses).run();
}

} // namespace pcere
