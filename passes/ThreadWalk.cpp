//===- passes/ThreadWalk.cpp - instructions as classes of memory and edges along which numbers go ----------------------------------===//

#include "Stages.h"
#include "ThreadArenas.h"
#include "ThreadCalls.h"
#include "ThreadFlow.h"
#include "ThreadLayout.h"

#include "include/pcere/rt_abi.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace pcere {

unsigned ThreadFlow::node(const Value *V) {
  int64_t Distance = 0;
  if (isa<ConstantExpr>(V) && V->getType()->isPointerTy()) {
    APInt Offset(M.getDataLayout().getIndexTypeSizeInBits(V->getType()), 0);
    V = V->stripAndAccumulateConstantOffsets(M.getDataLayout(), Offset, /*AllowNonInbounds=*/true);
    Distance = Offset.getSExtValue();
  }
  auto [Slot, New] = Known.try_emplace({isa<Constant>(V) ? 0 : Here, V}, 0);
  if (New)
    Slot->second = fresh();
  return field(Slot->second, Distance);
}

unsigned ThreadFlow::nodeIn(unsigned Other, const Value *V) {
  std::swap(Here, Other);
  unsigned N = node(V);
  Here = Other;
  return N;
}

/// Of each class's objects, each with a table of its own: a base's, which all of them begin with, would make these one.
unsigned ThreadFlow::objectTable(const GlobalVariable &Table, int64_t Begin) {
  unsigned N = fresh();
  for (const Pointed &Of : pointersIn(*Table.getInitializer(), M.getDataLayout()))
    if (auto *F = dyn_cast<Function>(Of.To->stripPointerCastsAndAliases()); F && Of.Exact >= Begin)
      hold(content(field(N, Of.Exact - Begin)), *F);
  return N;
}

/// \p To is what \p From says.
void ThreadFlow::point(const Value *From, unsigned To) {
  APInt Offset(M.getDataLayout().getIndexTypeSizeInBits(From->getType()), 0);
  const Value *Root = isa<Constant>(From) ? From->stripAndAccumulateConstantOffsets(M.getDataLayout(), Offset, /*AllowNonInbounds=*/true) : From;
  auto *Table = dyn_cast<GlobalVariable>(Root);
  if (auto *F = dyn_cast<Function>(Root->stripPointerCastsAndAliases()))
    hold(To, *F);
  else if (Table && Table->hasInitializer() && isObjectTable(*Table))
    unify(objectTable(*Table, Offset.getSExtValue()), To);
  else
    unify(node(From), To);
}

void ThreadFlow::flow(const Value *From, unsigned To, bool Pointer, bool Copy) {
  if (carriesNothing(From))
    return;
  if (Pointer && From->getType()->isPointerTy())
    point(From, To);
  else
    edge(node(From), To, Copy);
}

unsigned ThreadFlow::returned(unsigned Of) {
  auto [Slot, New] = Returned.try_emplace(Of, 0);
  if (New)
    Slot->second = fresh();
  return Slot->second;
}

ThreadFlow::Key ThreadFlow::key(const Instance &I, const CallBase *Site, unsigned Chain) const {
  return {I.F, Apart >= ByOwner ? I.Owner : 0, Apart >= ByOwner ? I.Outer : 0, Apart >= ByCall || Chain ? Site : nullptr, Chain};
}

/// \p Site is null for what others than direct calls begin.
unsigned ThreadFlow::instance(Instance I, const CallBase *Site) {
  static constexpr unsigned DepthMost = 16; // allocators that call each other in a circle
  unsigned Chain = Site && Small.count(I.F) && Instances[Here].Depth < DepthMost && Walked <= 2 * InstructionsMost ? Here : 0;
  I.Depth = Chain ? Instances[Chain].Depth + 1 : 0;
  I.By = Chain && !ownerOfMicrotask(*I.F) ? Instances[Chain].By : I.F;
  auto [Slot, New] = InstanceOf.try_emplace(key(I, Site, Chain), static_cast<unsigned>(Instances.size()));
  if (New) {
    Instances.push_back(I);
    Walked += I.F->getInstructionCount();
    Begun.insert({I.F, Apart >= ByOwner ? I.Owner : 0});
  }
  return Slot->second;
}

/// Of what \p Call, which stands here, calls. A function that calls itself does so within one instance, or the first call's sites would be lost.
unsigned ThreadFlow::calledHere(const Function &F, const CallBase &Call) {
  return Instances[Here].F == &F ? Here : instance({&F, Instances[Here].Owner, Instances[Here].Outer}, &Call);
}

/// Instances of \p F as \p Call in another one may have begun them: an allocator of the program's own is not followed as a call.
SmallVector<unsigned, 2> ThreadFlow::calledFrom(unsigned In, const Function &F, const CallBase &Call) const {
  SmallVector<unsigned, 2> All;
  Instance Of{&F, Instances[In].Owner, Instances[In].Outer};
  for (Key K : {key(Of, &Call, In), key(Of, &Call, 0), key(Of, nullptr, 0)})
    if (auto Slot = InstanceOf.find(K); Slot != InstanceOf.end() && !is_contained(All, Slot->second))
      All.push_back(Slot->second);
  return All;
}

void ThreadFlow::address(const GetElementPtrInst &I) {
  const DataLayout &Layout = M.getDataLayout();
  APInt Offset(Layout.getIndexTypeSizeInBits(I.getType()), 0);
  if (!I.getType()->isPointerTy() || isVirtualBase(I))
    return;
  if (I.accumulateConstantOffset(Layout, Offset)) {
    const Value *Root = I.getPointerOperand()->stripAndAccumulateConstantOffsets(Layout, Offset, true);
    if (!carriesNothing(Root))
      unify(field(node(Root), Offset.getSExtValue()), node(&I));
  } else if (!carriesNothing(I.getPointerOperand()) && I.getPointerOperandType()->isPointerTy())
    unify(field(node(I.getPointerOperand()), foldedOffset(cast<GEPOperator>(I), Layout)), node(&I));
}

/// A constant that no variable begins with before it is given a count.
static bool isOtherNumber(const Value *V) {
  auto *Number = dyn_cast<ConstantInt>(V);
  return Number && !Number->isZero() && !Number->isOne() && !Number->isMinusOne();
}

void ThreadFlow::callArguments(const CallBase &Call, unsigned From, unsigned Callee, unsigned To) {
  const Function &F = *Instances[Callee].F;
  for (unsigned A = From; A < Call.arg_size() && To < F.arg_size(); ++A, ++To)
    if (isOtherNumber(Call.getArgOperand(A)))
      GivenConstants.insert(nodeIn(Callee, F.getArg(To)));
    else
      flow(Call.getArgOperand(A), nodeIn(Callee, F.getArg(To)), F.getArg(To)->getType()->isPointerTy(), /*Copy=*/true);
}

bool ThreadFlow::callOfRuntime(const CallBase &Call, StringRef Name) {
  if (forkPath(Call) >= 0 && Call.arg_size() >= 3) {
    if (auto *F = dyn_cast<Function>(Call.getArgOperand(2)->stripPointerCasts()))
      callArguments(Call, forkPath(Call) == PCERE_PATH_FORK_IF ? 4 : 3, instance({F, ownerOfMicrotask(*F), Instances[Here].Owner}, &Call), 2);
  } else if (Name == "__kmpc_omp_task_alloc" && Call.arg_size() >= 6) {
    auto *F = dyn_cast<Function>(Call.getArgOperand(5)->stripPointerCasts());
    if (F && F->arg_size() > 1)
      flow(&Call, nodeIn(calledHere(*F, Call), F->getArg(1)), true, false);
  } else if (Name == "__kmpc_threadprivate_cached" && Call.arg_size() >= 3) {
    flow(Call.getArgOperand(2), node(&Call), true, false);
  } else if (asksForThreadCount(Call) || readsThreadVariable(Call) || setsThreadVariable(Call) || setsOfProcessors(Call)) {
    Sources.push_back({Here, &Call});
  } else if (sharesWork(Call)) {
    Shared.push_back({Here, &Call});
  } else if (asksForThreadNumber(Name)) {
    Numbers.push_back({Here, &Call});
  } else if (Name == "pthread_barrier_init" && Call.arg_size() == 3) {
    BarriersMade.push_back({Here, &Call});
  } else if (Name == "pthread_barrier_wait" && Call.arg_size() == 1) {
    BarriersUsed.push_back({Here, &Call});
  } else if (const Value *Team = asksForTeam(Call)) {
    if (!carriesNothing(Team))
      Teams.push_back({Here, &Call});
  } else {
    return false;
  }
  return true;
}

bool ThreadFlow::callThatAllocates(const CallBase &Call, StringRef Name) {
  auto Size = [&](const Value *V, unsigned Memory) {
    if (!carriesNothing(V))
      Edges.push_back({node(V), Memory, &Call, Edge::Computed});
  };
  const Function *Callee = likelyCallee(Call);
  if (auto [First, Count] = allocationSize(Name); Count > 0 && Call.arg_size() >= First + Count) {
    for (unsigned A = First; A < First + Count; ++A)
      Size(Call.getArgOperand(A), Name == "posix_memalign" ? content(node(Call.getArgOperand(0))) : node(&Call));
    if (Name.starts_with("realloc"))
      flow(Call.getArgOperand(0), node(&Call), true, true);
  } else if (!Callee && isAskedForMemory(Call)) {
    Size(Call.getArgOperand(1), node(&Call));
  } else if (Callee && Callee->isDeclaration() && namesAllocator(Name) && Call.getType()->isPointerTy()) {
    for (const Use &U : Call.args())
      if (U->getType()->isIntegerTy())
        Size(U, node(&Call));
  } else {
    return false;
  }
  return true;
}

/// Text that becomes a number.
bool ThreadFlow::callThatReads(const CallBase &Call, StringRef Name) {
  bool Scans = scansNumbers(Name);
  if ((!Scans && !readsNumber(Name)) || !Call.arg_size() || carriesNothing(Call.getArgOperand(0)))
    return false;
  unsigned Text = node(Call.getArgOperand(0));
  for (unsigned From : {Text, content(Text)}) { // of getenv, the pointer is known; of a string with its copy, what it leads to
    if (!Scans)
      edge(From, node(&Call), false);
    for (unsigned A = 2; Scans && A < Call.arg_size(); ++A)
      if (!carriesNothing(Call.getArgOperand(A)))
        edge(From, content(node(Call.getArgOperand(A))), false);
  }
  return true;
}

static bool chooses(Intrinsic::ID ID) {
  return ID == Intrinsic::smin || ID == Intrinsic::smax || ID == Intrinsic::umin || ID == Intrinsic::umax;
}

/// The least of two numbers, as an intrinsic or, of different widths, as a choice.
static bool isLeast(const Instruction &I) {
  if (auto *Own = dyn_cast<IntrinsicInst>(&I))
    return Own->getIntrinsicID() == Intrinsic::smin || Own->getIntrinsicID() == Intrinsic::umin;
  auto *Select = dyn_cast<SelectInst>(&I);
  auto *Compare = Select ? dyn_cast<ICmpInst>(Select->getCondition()) : nullptr;
  if (!Compare || !Compare->isRelational())
    return false;
  bool Less = Compare->getPredicate() == ICmpInst::ICMP_SLT || Compare->getPredicate() == ICmpInst::ICMP_SLE || Compare->getPredicate() == ICmpInst::ICMP_ULT || Compare->getPredicate() == ICmpInst::ICMP_ULE;
  const Value *First = withoutCasts(Compare->getOperand(Less ? 0 : 1)), *Second = withoutCasts(Compare->getOperand(Less ? 1 : 0));
  return withoutCasts(Select->getTrueValue()) == First && withoutCasts(Select->getFalseValue()) == Second;
}

/// What becomes of a thread's number when work is shared out: \p I multiplies, divides or limits. True: it is such an instruction, and was followed.
bool ThreadFlow::partition(const Instruction &I) {
  unsigned Code = I.getOpcode();
  bool Product = Code == Instruction::Mul || Code == Instruction::FMul, Quotient = Code == Instruction::SDiv || Code == Instruction::UDiv || Code == Instruction::FDiv;
  auto *Own = dyn_cast<IntrinsicInst>(&I);
  bool Chooses = isa<SelectInst>(I) || (Own && chooses(Own->getIntrinsicID()));
  unsigned First = isa<SelectInst>(I) ? 1 : 0;
  if (Code == Instruction::Mul || Code == Instruction::Shl)
    Products.push_back({Here, &I});
  if ((!Product && !Quotient && !Chooses) || I.getType()->isPointerTy())
    return false;
  const Value *A = I.getOperand(First), *B = I.getOperand(First + 1);
  if (carriesNothing(B) || (carriesNothing(A) && !Quotient))
    return false;
  if (Quotient)
    Divisions.push_back({Here, &I});
  if (isLeast(I))
    Minima.push_back({Here, &I});
  if (!carriesNothing(A))
    Edges.push_back({node(A), node(&I), nullptr, Quotient ? Edge::Quotient : Product ? Edge::Product : Edge::Choice, node(B), Here});
  Edges.push_back({node(B), node(&I), nullptr, Quotient ? Edge::Divisor : Product ? Edge::Product : Edge::Choice, carriesNothing(A) ? 0 : node(A), Here});
  return true;
}

/// \p Alone: of several one may tell a count, and another a number of its own.
void ThreadFlow::enter(const CallBase &Call, const Function &F, bool Alone) {
  if (F.isDeclaration())
    return;
  unsigned Called = calledHere(F, Call);
  callArguments(Call, 0, Called, 0);
  if (Call.getType()->isPointerTy() && F.getReturnType()->isPointerTy())
    unify(returned(Called), node(&Call));
  else if (!Call.getType()->isVoidTy() && Alone)
    edge(returned(Called), node(&Call), true);
}

void ThreadFlow::call(const CallBase &Call) {
  Functions Callees = targets(Call);
  const Function *Callee = Callees.size() == 1 ? Callees.front() : nullptr;
  StringRef Name = Callee ? Callee->getName() : StringRef();
  auto *Own = dyn_cast<IntrinsicInst>(&Call);
  if (makesStandardBarrier(Call))
    BarriersMade.push_back({Here, &Call});
  else if (usesStandardBarrier(Call))
    BarriersUsed.push_back({Here, &Call});
  if (callOfRuntime(Call, Name) || callThatAllocates(Call, Name) || callOfFortran(Call, Name) || callThatReads(Call, Name))
    return;
  if (isa<MemTransferInst>(Call)) {
    if (!carriesNothing(Call.getArgOperand(0)) && !carriesNothing(Call.getArgOperand(1)))
      unify(content(node(Call.getArgOperand(0))), content(node(Call.getArgOperand(1))));
    return;
  }
  for (const Function *Target : Callees)
    enter(Call, *Target, Callees.size() == 1);
  if (Callees.empty() && Call.isIndirectCall())
    Unknown.push_back({Here, &Call});
  if (Own && !Call.getType()->isVoidTy() && !partition(Call)) {
    for (const Use &U : Call.args())
      flow(U, node(&Call), Own->getIntrinsicID() == Intrinsic::threadlocal_address, chooses(Own->getIntrinsicID()));
  }
}

const Instruction *beginOfConstruct(const Instruction &Inside, const DominatorTree &Tree, std::initializer_list<StringRef> Names) {
  for (auto *At = Tree.getNode(const_cast<BasicBlock *>(Inside.getParent())); At && At->getIDom(); At = At->getIDom()) {
    const Instruction *Way = At->getIDom()->getBlock()->getTerminator();
    auto *Test = Way->getNumSuccessors() == 2 ? dyn_cast<ICmpInst>(Way->getOperand(0)) : nullptr;
    auto *Call = Test ? dyn_cast<CallBase>(Test->getOperand(0)) : nullptr;
    if (Call && is_contained(Names, calleeName(*Call)))
      return Call;
  }
  return nullptr;
}

/// Whether a single construct that stands before \p Load, with a barrier behind it, runs \p Store.
static bool isSingleBefore(const StoreInst &Store, const LoadInst &Load, const DominatorTree &Tree) {
  const Instruction *Begin = beginOfConstruct(Store, Tree, {"__kmpc_single"});
  if (!Begin || !Tree.dominates(Begin, &Load))
    return false;
  bool Ended = false, Waited = false;
  for (const Instruction &I : instructions(*Load.getFunction()))
    if (auto *Call = dyn_cast<CallBase>(&I); Call && Tree.dominates(Begin, Call)) {
      StringRef Name = calleeName(*Call);
      Ended |= Name == "__kmpc_end_single" && Tree.dominates(&Store, Call);
      Waited |= Name == "__kmpc_barrier" && Tree.dominates(Call, &Load);
    }
  return Ended && Waited;
}

/// What the region was given the address of; without optimisation the address is kept in a variable of its own, and read once.
static bool isShared(const Value &At) {
  auto *Read = dyn_cast<LoadInst>(&At);
  auto *Kept = Read ? dyn_cast<AllocaInst>(Read->getPointerOperand()) : nullptr;
  if (!Kept)
    return isa<Argument>(At);
  return all_of(Kept->users(), [&](const User *U) {
    auto *Store = dyn_cast<StoreInst>(U);
    return U == Read || (Store && Store->getPointerOperand() == Kept && isa<Argument>(Store->getValueOperand()));
  });
}

bool eachThreadRuns(const Function &F) {
  auto *Call = F.hasOneUse() ? dyn_cast<CallBase>(*F.user_begin()) : nullptr;
  return hasSite(F) || (Call && Call->isCallee(&*F.use_begin()) && hasSite(*Call->getFunction()));
}

/// A shared variable that a region itself sets before it reads it has not what it had before the region. \p Set: all that the region's function stores there.
bool ThreadFlow::setBefore(const LoadInst &Load, SmallVectorImpl<const Value *> &Set) {
  const Value *At = Load.getPointerOperand();
  const Function &F = *Load.getFunction();
  if (!Instances[Here].Owner || !Load.getType()->isIntegerTy() || !isShared(*At) || !eachThreadRuns(F))
    return false;
  bool Before = false;
  SmallVector<const StoreInst *, 4> Stores;
  for (const User *U : At->users())
    if (auto *Store = dyn_cast<StoreInst>(U)) {
      if (Store->getPointerOperand() != At || Store->getValueOperand()->getType() != Load.getType())
        return false;
      Stores.push_back(Store);
    } else if (auto *Other = dyn_cast<LoadInst>(U); !Other || Other->getType() != Load.getType()) {
      return false;
    }
  if (Stores.empty())
    return false;
  DominatorTree &Tree = Control.of(F).Tree;
  for (const StoreInst *Store : Stores) {
    Before |= Tree.dominates(Store, &Load) || isSingleBefore(*Store, Load, Tree);
    Set.push_back(Store->getValueOperand());
  }
  return Before;
}

/// A constant or another number, by comparing one with a constant.
static bool isChoice(const Instruction &I) {
  auto *Select = dyn_cast<SelectInst>(&I);
  auto *Compare = Select && Select->getType()->isIntegerTy() ? dyn_cast<ICmpInst>(Select->getCondition()) : nullptr;
  return Compare && (isa<ConstantInt>(Compare->getOperand(0)) || isa<ConstantInt>(Compare->getOperand(1))) &&
         (isa<ConstantInt>(Select->getTrueValue()) || isa<ConstantInt>(Select->getFalseValue()));
}

const Value *storedPointer(const StoreInst &Store) {
  auto *Number = dyn_cast<PtrToIntOperator>(Store.getValueOperand());
  return Number && Number->getType()->isIntegerTy(64) ? Number->getPointerOperand() : Store.getValueOperand();
}

/// `-100 - threads`: the less the more there are, which is neither a size nor what is divided by; an error's number. (None of 0 and -1 is how a compiler begins a negation.)
static bool isFromConstant(const Instruction &I) {
  auto *From = I.getOpcode() == Instruction::Sub ? dyn_cast<ConstantInt>(I.getOperand(0)) : nullptr;
  auto *Float = I.getOpcode() == Instruction::FSub ? dyn_cast<ConstantFP>(I.getOperand(0)) : nullptr;
  return (From && !From->isZero() && !From->isMinusOne()) || (Float && !Float->isZero());
}

/// Floating-point numbers in tables are what the program computes with. One of them may be a count, but those that become sizes and indices stand in variables, and members, of their own.
static bool isOfTable(const StoreInst &Store) {
  if (!Store.getValueOperand()->getType()->isFloatingPointTy())
    return false;
  if (auto *Element = dyn_cast<GEPOperator>(Store.getPointerOperand()))
    return !Element->hasAllConstantIndices();
  auto *Read = dyn_cast<LoadInst>(Store.getPointerOperand());
  return Read && !isa<AllocaInst>(Read->getPointerOperand());
}

/// A floating-point number that a function was given, as a whole number: an interpreter's, say, that looks whether it is one. Shares of the work are divided, or rounded, before they become such.
static bool isWholeOfGiven(const Instruction &I) {
  if (!isa<FPToSIInst>(I) && !isa<FPToUIInst>(I))
    return false;
  const Value *Of = I.getOperand(0);
  while (isa<FPExtInst>(Of) || isa<FPTruncInst>(Of))
    Of = cast<Instruction>(Of)->getOperand(0);
  auto *Load = dyn_cast<LoadInst>(Of);
  auto *Local = Load ? dyn_cast<AllocaInst>(Load->getPointerOperand()) : nullptr;
  return isa<Argument>(Of) || (Local && isa_and_nonnull<Argument>(onlyValue(*Local)));
}

void ThreadFlow::instruction(const Instruction &I) {
  if (countsThreads(I))
    Sources.push_back({Here, &I});
  if (takesMaximum(I))
    Maxima.push_back({Here, &I});
  if (isChoice(I))
    Chosen.push_back({Here, &I});
  control(I);
  if ((isa<LoadInst>(I) || isa<AtomicRMWInst>(I)) && isInStandardBarrier(I))
    BarriersRead.push_back({Here, &I});
  if (auto *Load = dyn_cast<LoadInst>(&I)) {
    if (carriesNothing(Load->getPointerOperand()))
      return;
    unsigned Content = content(node(Load->getPointerOperand()));
    SmallVector<const Value *, 4> Set;
    if (I.getType()->isPointerTy())
      unify(Content, node(&I));
    else if (setBefore(*Load, Set))
      for (const Value *V : Set)
        flow(V, node(&I), false, true);
    else
      edge(Content, node(&I), true);
  } else if (auto *Store = dyn_cast<StoreInst>(&I)) {
    if (isa<AllocaInst>(Store->getPointerOperand()) && isOtherNumber(Store->getValueOperand()))
      GivenConstants.insert(content(node(Store->getPointerOperand())));
    if (!carriesNothing(Store->getPointerOperand()) && !isOfTable(*Store) && !storeParts(*Store->getValueOperand(), node(Store->getPointerOperand())))
      flow(storedPointer(*Store), content(node(Store->getPointerOperand())), true, true);
    for (auto [Memory, Bytes] : cutFromArena(*Store))
      if (!carriesNothing(Bytes))
        Edges.push_back({node(Bytes), node(Memory), &I, Edge::Computed});
  } else if (auto *Address = dyn_cast<GetElementPtrInst>(&I)) {
    address(*Address);
    if (!Address->hasAllConstantIndices() && !carriesNothing(Address->getPointerOperand()))
      Indexed.push_back({Here, &I});
  } else if (auto *Part = dyn_cast<ExtractValueInst>(&I); Part && takePart(*Part)) {
    return;
  } else if (auto *Call = dyn_cast<CallBase>(&I)) {
    call(*Call);
  } else if (auto *Return = dyn_cast<ReturnInst>(&I)) {
    if (const Value *V = Return->getReturnValue())
      flow(V, returned(Here), true, true);
  } else if (auto *Alloca = dyn_cast<AllocaInst>(&I)) {
    if (!carriesNothing(Alloca->getArraySize()))
      Edges.push_back({node(Alloca->getArraySize()), node(&I), &I, Edge::Computed});
  } else if (auto *Compare = dyn_cast<ICmpInst>(&I)) {
    if (Instances[Here].Owner || Apart == ByFunction)
      InRegions.push_back({Here, &I});
    if (isa<ConstantInt>(I.getOperand(0)) || isa<ConstantInt>(I.getOperand(1)))
      Bounded.push_back({Here, &I});
    if (Compare->isRelational())
      Compares.push_back({Here, &I});
    else if (comparesTicket(*Compare))
      Equals.push_back({Here, &I});
  } else if (auto *Atomic = dyn_cast<AtomicRMWInst>(&I)) {
    if (Atomic->getOperation() == AtomicRMWInst::Add || Atomic->getOperation() == AtomicRMWInst::Sub)
      Tickets.push_back({Here, &I});
    if (carriesNothing(Atomic->getPointerOperand()))
      return;
    unsigned Content = content(node(Atomic->getPointerOperand()));
    if (I.getType()->isPointerTy())
      unify(Content, node(&I));
    else
      edge(Content, node(&I), true);
    flow(Atomic->getValOperand(), Content, true, false);
  } else if (I.getOpcode() == Instruction::SRem || I.getOpcode() == Instruction::URem) {
    flow(I.getOperand(0), node(&I), false, false);
    if (!carriesNothing(I.getOperand(1)))
      Edges.push_back({node(I.getOperand(1)), node(&I), nullptr, Edge::Modulus});
  } else if (!isa<CmpInst>(I) && !I.getType()->isVoidTy() && !isFromConstant(I) && !isWholeOfGiven(I) && !partition(I)) {
    if (isa<TruncInst>(I) && I.getType()->isIntegerTy(1) && (Instances[Here].Owner || Apart == ByFunction))
      Truths.push_back({Here, &I});
    bool Copy = (isa<CastInst>(I) && I.getType()->isFloatingPointTy() == I.getOperand(0)->getType()->isFloatingPointTy()) || isa<PHINode>(I) || isa<SelectInst>(I) || isa<FreezeInst>(I);
    for (const Use &U : I.operands())
      if (!(isa<SelectInst>(I) && U.getOperandNo() == 0))
        flow(U, node(&I), I.getType()->isPointerTy(), Copy);
  }
}

/// What variables begin with.
void ThreadFlow::initials() {
  for (const GlobalVariable &V : M.globals())
    if (V.hasInitializer() && !isObjectTable(V))
      for (const Pointed &Of : pointersIn(*V.getInitializer(), M.getDataLayout())) {
        point(Of.To, content(field(node(&V), Of.Folded)));
        if (Of.Exact != Of.Folded)
          point(Of.To, content(field(node(&V), Of.Exact)));
      }
}

void ThreadFlow::walkOn() {
  for (; Walk < Instances.size(); ++Walk) {
    Here = static_cast<unsigned>(Walk);
    for (const BasicBlock &Block : *Instances[Walk].F)
      if (!isNeverRun(Block))
        for (const Instruction &I : Block)
          instruction(I);
  }
}

/// Begin with what is called from nowhere, or by nobody knows whom.
void ThreadFlow::walk() {
  auto From = [&](const Function &F, unsigned Owner) {
    if (Begun.count({&F, Apart >= ByOwner ? Owner : 0}))
      return;
    instance({&F, Owner, 0}, nullptr);
    walkOn();
  };
  initials();
  findLevels();
  for (const Function *F : Serial)
    if (!F->hasLocalLinkage() || F->hasAddressTaken())
      From(*F, 0);
  for (const Function *F : Serial)
    From(*F, 0);
  for (unsigned K = 0; K < Microtasks.size(); ++K)
    for (const Function *F : Microtasks[K].Reached)
      From(*F, K + 1);
}

} // namespace pcere
