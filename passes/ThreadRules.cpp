//===- passes/ThreadRules.cpp - how numbers of threads spread: along edges, into what loops allocate, and from one invocation to the next -===//

#include "ThreadArenas.h"
#include "ThreadCalls.h"
#include "ThreadFlow.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"

using namespace llvm;

namespace pcere {

ThreadFlow::Facts &ThreadFlow::facts(unsigned N) {
  N = find(N);
  if (N >= FactsOf.size())
    FactsOf.resize(Nodes.size(), -1);
  if (FactsOf[N] < 0) {
    FactsOf[N] = static_cast<int>(AllFacts.size());
    AllFacts.emplace_back();
    AllFacts.back().Count.resize(older() + 1);
    AllFacts.back().Sized.resize(older() + 1);
    AllFacts.back().Divided.resize(older() + 1);
    AllFacts.back().Part.resize(older() + 1);
  }
  return AllFacts[static_cast<size_t>(FactsOf[N])];
}

const ThreadFlow::Facts *ThreadFlow::known(unsigned N) {
  N = find(N);
  return N < FactsOf.size() && FactsOf[N] >= 0 ? &AllFacts[static_cast<size_t>(FactsOf[N])] : nullptr;
}

/// Once classes do not become one any more. Numbers are not followed through those of thousands of values: the contents of everything.
void ThreadFlow::order() {
  static constexpr unsigned MembersMost = 2000;
  std::vector<unsigned> Members(Nodes.size(), 0);
  for (auto [Key, N] : Known)
    Members[find(N)]++;
  Wide.resize(static_cast<unsigned>(Nodes.size()));
  for (unsigned N = 0; N < Members.size(); ++N)
    if (Members[N] > MembersMost)
      Wide.set(N);
  auto Sort = [&](unsigned Edge::*End, std::vector<unsigned> &First, std::vector<unsigned> &Sorted) {
    First.assign(Nodes.size() + 1, 0);
    for (const Edge &E : Edges)
      First[find(E.*End) + 1]++;
    for (size_t N = 1; N < First.size(); ++N)
      First[N] += First[N - 1];
    Sorted.resize(Edges.size());
    std::vector<unsigned> Next(First.begin(), First.end() - 1);
    for (unsigned E = 0; E < Edges.size(); ++E)
      Sorted[Next[find(Edges[E].*End)]++] = E;
  };
  Sort(&Edge::From, FirstOut, Out);
  Sort(&Edge::To, FirstIn, Entering);
}

/// Once more is known of a count or a size.
bool ThreadFlow::joinFollows(const Facts &From, Facts &To) {
  bool New = From.Follows && !To.Follows && (To.Count.any() || To.Sized.any());
  To.Follows |= New;
  return New;
}

static bool join(BitVector &To, const BitVector &From) {
  if (!From.test(To))
    return false;
  To |= From;
  return true;
}

/// A thread's own part of the work, among as many as its own team has threads: such an index ends where the work does, however many they are.
bool ThreadFlow::divides(const Edge &E) {
  const Facts *Beside = E.How == Edge::Choice || E.How == Edge::Product || E.How == Edge::Quotient ? known(E.Beside) : nullptr;
  if (!Beside)
    return false;
  const BitVector &Own = owners(Instances[E.In]);
  BitVector Regions = Own;
  Regions.reset(0);
  const BitVector &By = E.How == Edge::Quotient ? Beside->Count : Beside->Divided;
  return Regions.anyCommon(By) && (Own.test(0) || !By.test(0)) && !By.test(older()); // one that may be from before the region is no number of its own team's
}

/// What is divided by a number and multiplied by it, or has it added and is divided by it, is no larger for larger ones.
bool ThreadFlow::joinUndivided(const Edge &E, const Facts &From, Facts &To) {
  const Facts *Part = E.How == Edge::Quotient ? &To : E.How == Edge::Product ? known(E.Beside) : nullptr;
  if (!Redone || !Part || !Part->Divided.anyCommon(From.Count))
    return join(To.Count, From.Count);
  BitVector Left = From.Count;
  Left.reset(Part->Divided);
  return join(To.Count, Left);
}

bool ThreadFlow::pass(const Edge &E) {
  const Facts *From = known(E.From);
  if (!From || find(E.From) == find(E.To) || (E.Allocation && From->Count.none()))
    return false;
  Facts &To = facts(E.To);
  Facts Own;
  if (E.How == Edge::Own) {
    Own = *From;
    for (BitVector *By : {&Own.Count, &Own.Divided, &Own.Part})
      *By &= owners(Instances[E.In]);
    From = &Own;
  }
  if (E.Allocation) {
    bool Grown = join(To.Sized, From->Count);
    if (Grown && !To.Allocated)
      To.Allocated = E.Allocation, To.Asked = From->Asked;
    return joinFollows(*From, To) || Grown;
  }
  if (E.How == Edge::Decided) {
    bool Decided = !isWide(E.To) && join(To.Count, From->Count);
    if (Decided && !To.Asked)
      To.Asked = From->Asked;
    return joinFollows(*From, To) || Decided;
  }
  bool Sized = join(To.Sized, From->Sized), Known = !isWide(E.To), Divides = E.How == Edge::Divisor || E.How == Edge::Modulus;
  bool Count = Known && !Divides && joinUndivided(E, *From, To);
  bool Divided = Known && join(To.Divided, Divides ? From->Count : From->Divided);
  if (Known && E.How == Edge::Modulus) // what a container has one of for each thread
    Divided |= join(To.Divided, From->Sized);
  bool Part = Known && E.How != Edge::Modulus && join(To.Part, Divides ? From->Count : From->Part), Number = Known && From->Number && !To.Number && !divides(E);
  To.Number |= Number;
  if (Divided && !To.DividedBy)
    To.DividedBy = Divides ? From->Asked : From->DividedBy;
  if ((Count || Sized) && !To.Asked)
    To.Asked = From->Asked;
  if (Sized && !To.Allocated)
    To.Allocated = From->Allocated;
  return joinFollows(*From, To) || Count || Sized || Divided || Part || Number;
}

bool ThreadFlow::passSize(unsigned N, unsigned Field) {
  const Facts &From = *known(N);
  if (From.Sized.none() || find(Field) == N)
    return false;
  Facts &To = facts(Field);
  bool Sized = join(To.Sized, From.Sized);
  if (!joinFollows(From, To) && !Sized)
    return false;
  if (!To.Allocated)
    To.Allocated = From.Allocated, To.Asked = From.Asked;
  return true;
}

/// Counts once more, now that it is known what was divided by them.
void ThreadFlow::followAgain() {
  for (Facts &F : AllFacts) {
    F.Count.reset();
    F.Sized.reset();
    F.Follows = false;
    F.Asked = F.Allocated = nullptr;
  }
  Redone = true;
  addSources();
  settle();
}

void ThreadFlow::settle() {
  while (!Changed.empty()) {
    unsigned N = Changed.pop_back_val();
    for (auto [Offset, Field] : Nodes[N].Fields) // pointers into the same memory
      if (passSize(N, Field))
        changed(Field);
    if (N + 1 >= FirstOut.size())
      continue;
    for (unsigned K = FirstOut[N]; K < FirstOut[N + 1]; ++K)
      if (pass(Edges[Out[K]]))
        changed(Edges[Out[K]].To);
  }
}

/// What makes memory in \p F, or calls what may: looked at once, for many loops.
ArrayRef<ThreadFlow::Making> ThreadFlow::makings(const Function &F) {
  static constexpr size_t CalleesMost = 8; // a call that may enter more of them tells little of what a loop does
  auto [Slot, New] = Makings.try_emplace(&F);
  if (!New)
    return Slot->second;
  std::vector<Making> All;
  for (const Instruction &I : instructions(F)) {
    auto *Call = dyn_cast<CallBase>(&I);
    if (auto *Store = dyn_cast<StoreInst>(&I)) {
      for (auto [Memory, Bytes] : cutFromArena(*Store))
        All.push_back({&I, Memory, nullptr, {}});
    } else if (Call && forkPath(*Call) < 0) {
      Functions Callees = targets(*Call);
      erase_if(Callees, [](const Function *Callee) { return Callee->isDeclaration(); });
      const Value *Into = allocatesInto(*Call);
      bool Allocates = Into || allocationSize(likelyName(*Call)).second > 0;
      if (Callees.size() > CalleesMost)
        Callees.clear();
      if (Allocates || !Callees.empty())
        All.push_back({&I, Allocates && !Into ? &I : nullptr, Into, Callees});
    }
  }
  return Makings[&F] = std::move(All);
}

/// Whatever is allocated in this loop of the instance, or by what it calls, has a size that follows \p Bound.
void ThreadFlow::allocates(const Loop &L, const Facts &Bound) {
  MapVector<unsigned, const Instruction *> Called; // instances, and the loop's instruction by which each is reached first
  auto Size = [&](unsigned N, const Instruction &By) {
    Facts &To = facts(N);
    bool Sized = join(To.Sized, Bound.Count);
    if (joinFollows(Bound, To) || Sized) {
      changed(N);
      if (!To.Allocated)
        To.Allocated = &By, To.Asked = Bound.Asked;
    }
  };
  auto Look = [&](unsigned In, const Making &Of, const Instruction &By) {
    if (Of.Memory)
      Size(nodeIn(In, Of.Memory), By);
    if (Of.Into && !carriesNothing(Of.Into))
      Size(content(nodeIn(In, Of.Into)), By);
    for (const Function *Callee : Of.Callees)
      if (Callee == Instances[In].F)
        Called.insert({In, &By});
      else
        for (unsigned Other : calledFrom(In, *Callee, *cast<CallBase>(Of.At)))
          Called.insert({Other, &By});
  };
  for (const Making &Of : makings(*Instances[Here].F))
    if (L.contains(Of.At))
      Look(Here, Of, *Of.At);
  for (size_t K = 0; K < Called.size(); ++K) {
    auto [In, By] = *(Called.begin() + static_cast<ptrdiff_t>(K));
    for (const Making &Of : makings(*Instances[In].F))
      Look(In, Of, *By);
  }
}

/// Loops that run once per thread make one part per thread too, say by push_back, and count up to its number. Also what an earlier invocation left.
void ThreadFlow::followLoops() {
  MapVector<Function *, SmallVector<unsigned, 4>> OfFunction;
  for (unsigned K = 1; K < Instances.size(); ++K)
    OfFunction[const_cast<Function *>(Instances[K].F)].push_back(K);
  for (auto &[F, In] : OfFunction) {
    DominatorTree Dominators(*F);
    LoopInfo Loops(Dominators);
    for (Loop *L : Loops.getLoopsInPreorder()) {
      SmallVector<BasicBlock *, 4> Exiting;
      L->getExitingBlocks(Exiting);
      for (BasicBlock *Block : Exiting) {
        auto *Branch = dyn_cast<BranchInst>(Block->getTerminator());
        auto *Compare = Branch && Branch->isConditional() ? dyn_cast<ICmpInst>(Branch->getCondition()) : nullptr;
        if (!Compare)
          continue;
        for (unsigned K : In)
          for (unsigned Limit = 0; Limit < 2; ++Limit) {
            Here = K;
            followLoop(*L, *Compare->getOperand(Limit), *Compare->getOperand(1 - Limit));
          }
      }
    }
  }
}

/// What the loop counts in, or null: the instruction whose class all its values are of.
static const Instruction *counter(const Loop &L, const Value &V) {
  auto *I = dyn_cast<Instruction>(&V);
  while (I && (isa<CastInst>(I) || (I->getOpcode() == Instruction::Add && isa<ConstantInt>(I->getOperand(1)))))
    I = dyn_cast<Instruction>(I->getOperand(0));
  if (!I || !L.contains(I))
    return nullptr;
  auto *Load = dyn_cast<LoadInst>(I);
  return (isa<PHINode>(I) && I->getParent() == L.getHeader()) || (Load && isa<AllocaInst>(Load->getPointerOperand())) ? I : nullptr;
}

void ThreadFlow::followLoop(const Loop &L, const Value &Limit, const Value &Other) {
  const Facts *Bound = carriesNothing(&Limit) ? nullptr : known(node(&Limit));
  if (!Bound || Bound->Count.none())
    return;
  allocates(L, *Bound);
  fills(L, *Bound);
  const Instruction *Counter = counter(L, Other);
  if (!Counter || !Bound->Count.test(Instances[Here].Owner) || !Instances[Here].Owner)
    return;
  auto *Load = dyn_cast<LoadInst>(Counter);
  unsigned N = Load ? content(node(Load->getPointerOperand())) : node(Counter);
  facts(N).Number = true;               // one thread's turn after another's
  changed(N);
}

/// The block that is entered only where \p Branch goes that way.
static const BasicBlock *onlyWay(const BranchInst &Branch, unsigned Way) {
  const BasicBlock *To = Branch.getSuccessor(Way);
  return To->getSinglePredecessor() && Branch.getSuccessor(0) != Branch.getSuccessor(1) ? To : nullptr;
}

/// Of a variable that the C++ compiler makes for a static one's initialisation: has that been done?
static bool isGuard(const Value *V) {
  if (auto *Compare = dyn_cast<ICmpInst>(V))
    V = Compare->getOperand(0);
  auto *Call = dyn_cast<CallBase>(V);
  return Call && calleeName(*Call) == "__cxa_guard_acquire";
}

/// Whether a variable of the program says that what \p To begins has been done: it is compared with a constant, and set there.
static bool setsFlag(const Value &Condition, const BasicBlock &To, Shapes &Control) {
  auto *Compare = dyn_cast<ICmpInst>(&Condition);
  const Value *Read = !Compare ? &Condition : isa<ConstantInt>(Compare->getOperand(1)) ? Compare->getOperand(0) : nullptr;
  auto *Load = dyn_cast_or_null<LoadInst>(Read ? withoutCasts(Read) : nullptr);
  auto *Flag = Load ? dyn_cast<GlobalVariable>(Load->getPointerOperand()) : nullptr;
  return Flag && !Flag->isThreadLocal() && any_of(Flag->users(), [&](const User *U) {
           auto *Store = dyn_cast<StoreInst>(U);
           return Store && Store->getPointerOperand() == Flag && Store->getFunction() == To.getParent() && Control.of(*To.getParent()).Tree.dominates(&To, Store->getParent());
         });
}

/// Memory that a region allocates once, for the threads of that time, and their number, which it finds in later invocations.
void ThreadFlow::keepOlder() {
  for (unsigned In = 1; In < Instances.size(); ++In)
    if (Instances[In].Owner)
      keepOlderIn(In);
}

void ThreadFlow::keepOlderIn(unsigned In) {
  const Function &F = *Instances[In].F;
  SmallVector<std::pair<const BasicBlock *, const Value *>, 4> Once; // a block, and the pointer that is null where it is entered
  for (const BasicBlock &Block : F) {
    auto *Branch = dyn_cast<BranchInst>(Block.getTerminator());
    if (!Branch || !Branch->isConditional())
      continue;
    auto *Compare = dyn_cast<ICmpInst>(Branch->getCondition());
    if (isGuard(Branch->getCondition())) {
      if (const BasicBlock *To = onlyWay(*Branch, Compare && Compare->getPredicate() == ICmpInst::ICMP_EQ ? 1 : 0))
        Once.push_back({To, nullptr});
    } else if (Compare && Compare->isEquality() && isa<ConstantPointerNull>(Compare->getOperand(1)) && !carriesNothing(Compare->getOperand(0))) {
      if (const BasicBlock *To = onlyWay(*Branch, Compare->getPredicate() == ICmpInst::ICMP_EQ ? 0 : 1))
        Once.push_back({To, Compare->getOperand(0)});
    } else {
      for (unsigned Way = 0; Way < 2; ++Way)
        if (const BasicBlock *To = onlyWay(*Branch, Way); To && setsFlag(*Branch->getCondition(), *To, Control))
          Once.push_back({To, nullptr});
    }
  }
  if (Once.empty())
    return;
  const DominatorTree &Dominators = Control.of(F).Tree;
  for (auto [First, Pointer] : Once)
    for (const BasicBlock &Block : F)
      if (Dominators.dominates(First, &Block))
        for (const Instruction &I : Block)
          keepOlderOf(In, I, Pointer ? static_cast<int>(find(nodeIn(In, Pointer))) : -1, 0);
}

/// Of what \p I allocates, or what is called there; \p Class: memory of that class alone.
void ThreadFlow::keepOlderOf(unsigned In, const Instruction &I, int Class, unsigned Depth) {
  static constexpr unsigned DepthMost = 3;
  auto *Store = dyn_cast<StoreInst>(&I);
  if (Store && Class < 0 && isa<GlobalVariable>(Store->getPointerOperand()) && !carriesNothing(Store->getValueOperand()) && Store->getValueOperand()->getType()->isIntegerTy()) {
    const Facts *Kept = known(nodeIn(In, Store->getValueOperand()));
    unsigned N = content(nodeIn(In, Store->getPointerOperand()));
    if (Kept && Kept->Count.test(Instances[In].Owner) && !facts(N).Count.test(older())) {
      facts(N).Count.set(older());
      changed(N);
    }
  }
  auto *Call = dyn_cast<CallBase>(&I);
  if (!Call || forkPath(*Call) >= 0)
    return;
  if (Call->getType()->isPointerTy()) {
    unsigned N = find(nodeIn(In, Call));
    const Facts *Made = known(N);
    if (Made && Made->Sized.test(Instances[In].Owner) && (Class < 0 || N == static_cast<unsigned>(Class))) {
      facts(N).Sized.set(older());
      changed(N);
    }
  }
  const Function *Callee = callee(*Call);
  if (!Callee || Callee->isDeclaration() || Depth == DepthMost)
    return;
  for (unsigned Other : calledFrom(In, *Callee, *Call))
    for (const Instruction &At : instructions(*Callee))
      keepOlderOf(Other, At, Class, Depth + 1);
}

} // namespace pcere
