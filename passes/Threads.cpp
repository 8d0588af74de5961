//===- passes/Threads.cpp - regions that hold only for the thread count they were captured with --------------------------===//
//
// A program may give each thread its own part of an array whose size it took from omp_get_max_threads and the like before the region. Memory is
// captured with that size, so more threads than that would run over its end. Values are followed from the calls that ask for a
// thread count, through arithmetic and memory, into allocations and indices.
//
// Memory is divided into classes (MemoryClasses.h); numbers flow along directed edges. The calls of a function are told apart by who runs them, a
// region or what lies outside of all, and by where they stand: a matrix product that asks for the threads and is called inside a region, too, has made
// nothing there before that region. It runs after the optimiser, where C++ containers have become plain loads. Of one unit in a user's build; of a
// captured program's units together once more (Together.cpp).
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "MemoryClasses.h"
#include "Stages.h"
#include "ThreadCalls.h"

#include "include/pcere/rt_abi.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace llvm;

namespace pcere {

static constexpr const char *SiteMetadata = "pcere.site"; ///< on the outlined function: its region's site

void rememberSite(Function &Microtask, GlobalVariable &Site) {
  Microtask.setMetadata(SiteMetadata, MDNode::get(Microtask.getContext(), ValueAsMetadata::get(&Site)));
}

void rememberName(Function &Microtask, StringRef Name) {
  Microtask.setMetadata(SiteMetadata, MDNode::get(Microtask.getContext(), MDString::get(Microtask.getContext(), Name)));
}

namespace {

class ThreadFlow : MemoryClasses {
  Module &M;
  /// A function as a call of it sees it: its values have nodes of their own. Memory is one, through what points to it. The outer one
  /// entered the owner's region, which is told apart from where others entered it.
  struct Instance { const Function *F; unsigned Owner, Outer; };
  enum { ByFunction, ByOwner, ByCall } Apart = ByFunction; ///< what has instances of its own
  std::vector<Instance> Instances{{nullptr, 0, 0}};        ///< the first is of what is no function's: variables and constants
  using Key = std::tuple<const Function *, unsigned, unsigned, const CallBase *>;
  std::map<Key, unsigned> InstanceOf;
  DenseSet<std::pair<const Function *, unsigned>> Begun;   ///< functions with an instance of that owner
  unsigned Here = 0;                                       ///< the instance that is looked at
  DenseMap<std::pair<unsigned, const Value *>, unsigned> Known;
  DenseMap<unsigned, unsigned> Returned;
  struct Edge { unsigned From, To; const Instruction *Allocation; };
  std::vector<Edge> Edges;
  struct Microtask { Function *F; SetVector<Function *> Reached; };
  std::vector<Microtask> Microtasks;    ///< owner I + 1; owner 0 is everything else
  SetVector<Function *> Serial;         ///< whatever runs outside of regions
  DenseMap<const Function *, BitVector> Owners;

  unsigned node(const Value *V) {
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

  static bool carriesNothing(const Value *V) {
    return isa<ConstantData>(V) || isa<BasicBlock>(V) || isa<MetadataAsValue>(V) || isa<InlineAsm>(V);
  }

  void flow(const Value *From, unsigned To, bool Pointer) {
    if (carriesNothing(From))
      return;
    if (Pointer && From->getType()->isPointerTy())
      unify(node(From), To);
    else
      Edges.push_back({node(From), To, nullptr});
  }

  void flow(const Value *From, const Value *To) { flow(From, node(To), To->getType()->isPointerTy()); }

  unsigned returned(unsigned Of) {
    auto [Slot, New] = Returned.try_emplace(Of, 0);
    if (New)
      Slot->second = fresh();
    return Slot->second;
  }

  Key key(const Instance &I, const CallBase *Site) const {
    return {I.F, Apart >= ByOwner ? I.Owner : 0, Apart >= ByOwner ? I.Outer : 0, Apart >= ByCall ? Site : nullptr};
  }

  /// \p Site is null for what others than direct calls begin.
  unsigned instance(const Instance &I, const CallBase *Site) {
    auto [Slot, New] = InstanceOf.try_emplace(key(I, Site), static_cast<unsigned>(Instances.size()));
    if (New) {
      Instances.push_back(I);
      Begun.insert({I.F, Apart >= ByOwner ? I.Owner : 0});
    }
    return Slot->second;
  }

  /// Of what \p Call, which stands here, calls. A function that calls itself does so within one instance, or the first call's sites would be lost.
  unsigned calledHere(const Function &F, const CallBase &Call) {
    return Instances[Here].F == &F ? Here : instance({&F, Instances[Here].Owner, Instances[Here].Outer}, &Call);
  }

  /// Who runs this instance.
  BitVector owners(const Instance &I) const {
    if (Apart == ByFunction)
      return Owners.lookup(I.F);
    BitVector One(static_cast<unsigned>(Microtasks.size()) + 1);
    return One.set(I.Owner);
  }

  unsigned ownerOfMicrotask(const Function &F) const {
    for (unsigned K = 0; K < Microtasks.size(); ++K)
      if (Microtasks[K].F == &F)
        return K + 1;
    return 0;
  }

  void address(const GetElementPtrInst &I) {
    APInt Offset(M.getDataLayout().getIndexTypeSizeInBits(I.getType()), 0);
    if (!I.getType()->isPointerTy())
      return;
    if (I.accumulateConstantOffset(M.getDataLayout(), Offset)) {
      const Value *Root = I.getPointerOperand()->stripAndAccumulateConstantOffsets(M.getDataLayout(), Offset, true);
      if (!carriesNothing(Root))
        unify(field(node(Root), Offset.getSExtValue()), node(&I));
    } else if (!carriesNothing(I.getPointerOperand()) && I.getPointerOperandType()->isPointerTy())
      unify(node(I.getPointerOperand()), node(&I));
  }

  unsigned nodeIn(unsigned Other, const Value *V) {
    std::swap(Here, Other);
    unsigned N = node(V);
    Here = Other;
    return N;
  }

  void callArguments(const CallBase &Call, unsigned From, unsigned Callee, unsigned To) {
    const Function &F = *Instances[Callee].F;
    for (unsigned A = From; A < Call.arg_size() && To < F.arg_size(); ++A, ++To)
      flow(Call.getArgOperand(A), nodeIn(Callee, F.getArg(To)), F.getArg(To)->getType()->isPointerTy());
  }

  void call(const CallBase &Call) {
    StringRef Name = calleeName(Call);
    auto *Callee = dyn_cast<Function>(Call.getCalledOperand()->stripPointerCasts());
    if (forkPath(Call) >= 0 && Call.arg_size() >= 3) {
      if (auto *F = dyn_cast<Function>(Call.getArgOperand(2)->stripPointerCasts()))
        callArguments(Call, forkPath(Call) == PCERE_PATH_FORK_IF ? 4 : 3, instance({F, ownerOfMicrotask(*F), Instances[Here].Owner}, &Call), 2);
    } else if (Name == "__kmpc_omp_task_alloc" && Call.arg_size() >= 6) {
      auto *F = dyn_cast<Function>(Call.getArgOperand(5)->stripPointerCasts());
      if (F && F->arg_size() > 1)
        flow(&Call, nodeIn(calledHere(*F, Call), F->getArg(1)), true);
    } else if (asksForThreadCount(Call) || readsThreadVariable(Call)) {
      Sources.push_back({Here, &Call});
    } else if (asksForThreadNumber(Name)) {
      Numbers.push_back({Here, &Call});
    } else if (auto [First, Count] = allocationSize(Name); Count > 0 && Call.arg_size() >= First + Count) {
      for (unsigned A = First; A < First + Count; ++A)
        if (!carriesNothing(Call.getArgOperand(A)))
          Edges.push_back({node(Call.getArgOperand(A)), Name == "posix_memalign" ? content(node(Call.getArgOperand(0))) : node(&Call), &Call});
      if (Name.starts_with("realloc"))
        flow(Call.getArgOperand(0), &Call);
    } else if (isa<MemTransferInst>(Call)) {
      if (!carriesNothing(Call.getArgOperand(0)) && !carriesNothing(Call.getArgOperand(1)))
        unify(content(node(Call.getArgOperand(0))), content(node(Call.getArgOperand(1))));
    } else if (Callee && !Callee->isDeclaration()) {
      unsigned Called = calledHere(*Callee, Call);
      callArguments(Call, 0, Called, 0);
      if (!Call.getType()->isVoidTy()) {
        if (Call.getType()->isPointerTy())
          unify(returned(Called), node(&Call));
        else
          Edges.push_back({returned(Called), node(&Call), nullptr});
      }
    } else if (isa<IntrinsicInst>(Call) ||
               readsNumber(Name)) {
      if (!Call.getType()->isVoidTy())
        for (const Use &U : Call.args())
          if (!carriesNothing(U))
            Edges.push_back({node(U), node(&Call), nullptr});
    }
  }

  std::vector<std::pair<unsigned, const Instruction *>> Sources, Numbers; ///< with the instance

  void instruction(const Instruction &I) {
    if (auto *Load = dyn_cast<LoadInst>(&I)) {
      if (carriesNothing(Load->getPointerOperand()))
        return;
      unsigned Content = content(node(Load->getPointerOperand()));
      if (I.getType()->isPointerTy())
        unify(Content, node(&I));
      else
        Edges.push_back({Content, node(&I), nullptr});
    } else if (auto *Store = dyn_cast<StoreInst>(&I)) {
      if (!carriesNothing(Store->getPointerOperand()))
        flow(Store->getValueOperand(), content(node(Store->getPointerOperand())), true);
    } else if (auto *Address = dyn_cast<GetElementPtrInst>(&I)) {
      address(*Address);
    } else if (auto *Call = dyn_cast<CallBase>(&I)) {
      call(*Call);
    } else if (auto *Return = dyn_cast<ReturnInst>(&I)) {
      if (const Value *V = Return->getReturnValue())
        flow(V, returned(Here), true);
    } else if (auto *Alloca = dyn_cast<AllocaInst>(&I)) {
      if (!carriesNothing(Alloca->getArraySize()))
        Edges.push_back({node(Alloca->getArraySize()), node(&I), &I});
    } else if (!isa<CmpInst>(I) && !I.getType()->isVoidTy()) {
      for (const Use &U : I.operands())
        if (!(isa<SelectInst>(I) && U.getOperandNo() == 0))
          flow(U, &I);
    }
  }

  static bool join(BitVector &To, const BitVector &From) {
    if (!From.test(To))
      return false;
    To |= From;
    return true;
  }

  bool pass(const Edge &E) {
    const Facts From = Nodes[find(E.From)].F;
    Facts &To = Nodes[find(E.To)].F;
    if (E.Allocation) {
      bool Changed = join(To.Sized, From.Count);
      if (Changed && !To.Allocated)
        To.Allocated = E.Allocation, To.Asked = From.Asked;
      return Changed;
    }
    bool Count = join(To.Count, From.Count), Sized = join(To.Sized, From.Sized), Number = From.Number && !To.Number;
    To.Number |= From.Number;
    if ((Count || Sized) && !To.Asked)
      To.Asked = From.Asked;
    if (Sized && !To.Allocated)
      To.Allocated = From.Allocated;
    return Count || Sized || Number;
  }

  void settle() {
    for (bool Changed = true; Changed;) {
      Changed = false;
      for (const Edge &E : Edges)
        Changed |= pass(E);
    }
  }

  /// Whatever is allocated by this instruction of the instance, or by what it calls, has a size that follows \p Bound.
  void allocates(const Instruction &I, const Facts &Bound) {
    SetVector<unsigned> Called;
    auto Look = [&](unsigned In, const Instruction &At) {
      auto *Call = dyn_cast<CallBase>(&At);
      if (!Call || forkPath(*Call) >= 0)
        return;
      if (allocationSize(calleeName(*Call)).second > 0) {
        Facts &To = Nodes[find(nodeIn(In, &At))].F;
        if (join(To.Sized, Bound.Count) && !To.Allocated)
          To.Allocated = &I, To.Asked = Bound.Asked;
      }
      const Function *Callee = Call->getCalledFunction();
      if (Callee && Callee == Instances[In].F)
        Called.insert(In);
      else if (Callee && !Callee->isDeclaration())
        for (const CallBase *Site : {Call, static_cast<const CallBase *>(nullptr)}) // an allocator of the program's own is not followed as a call
          if (auto Slot = InstanceOf.find(key({Callee, Instances[In].Owner, Instances[In].Outer}, Site)); Slot != InstanceOf.end())
            Called.insert(Slot->second);
    };
    Look(Here, I);
    for (size_t K = 0; K < Called.size(); ++K)
      for (const Instruction &At : instructions(*Instances[Called[K]].F))
        Look(Called[K], At);
  }

  /// A loop that runs once per thread makes one part per thread too, say by push_back.
  void followLoops() {
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
          for (const Use &U : Compare->operands())
            for (unsigned K : In) {
              Here = K;
              if (!carriesNothing(U))
                followLoop(*L, *U);
            }
        }
      }
    }
  }

  void followLoop(const Loop &L, const Value &Limit) {
    const Facts Bound = Nodes[find(node(&Limit))].F;
    if (Bound.Count.none())
      return;
    for (const BasicBlock *Inside : L.blocks())
      for (const Instruction &I : *Inside)
        allocates(I, Bound);
  }

  /// Functions that a region's threads run, inner regions left out.
  void reach(Microtask &R) {
    R.Reached.insert(R.F);
    for (size_t K = 0; K < R.Reached.size(); ++K)
      for (Instruction &I : instructions(*R.Reached[K])) {
        auto *Call = dyn_cast<CallBase>(&I);
        if (!Call || forkPath(*Call) >= 0)
          continue;
        for (const Use &U : I.operands())
          if (auto *F = dyn_cast<Function>(U.get()->stripPointerCasts()); F && !F->isDeclaration())
            R.Reached.insert(F);
      }
  }

  void findOwners() {
    for (Function &F : M)
      if (F.hasMetadata(SiteMetadata))
        Microtasks.push_back({&F, {}});
    unsigned Count = static_cast<unsigned>(Microtasks.size()) + 1;
    for (unsigned K = 1; K < Count; ++K) {
      reach(Microtasks[K - 1]);
      for (const Function *F : Microtasks[K - 1].Reached)
        Owners.try_emplace(F, BitVector(Count)).first->second.set(K);
    }
    for (Function &F : M)
      if (!F.isDeclaration() && !Owners.count(&F))
        Serial.insert(&F);
    for (size_t K = 0; K < Serial.size(); ++K) {
      for (Instruction &I : instructions(*Serial[K])) {
        auto *Call = dyn_cast<CallBase>(&I);
        auto *Callee = Call ? Call->getCalledFunction() : nullptr;
        if (Callee && !Callee->isDeclaration() && !Callee->hasMetadata(SiteMetadata))
          Serial.insert(Callee);
      }
      Owners.try_emplace(Serial[K], BitVector(Count)).first->second.set(0);
    }
  }

  bool asks() const {
    bool Count = false, Number = false;
    for (const Function &F : M)
      for (const Instruction &I : instructions(F))
        if (auto *Call = dyn_cast<CallBase>(&I)) {
          Count |= asksForThreadCount(*Call) || readsThreadVariable(*Call);
          Number |= asksForThreadNumber(calleeName(*Call));
        }
    return Count && Number;
  }

  /// As much is told apart as can be looked at in a second or two.
  void choosePrecision() {
    static constexpr uint64_t InstructionsMost = 400000;
    DenseMap<const Function *, uint64_t> Own, WithCallees;
    DenseMap<const Function *, SmallVector<const Function *, 2>> Forks;
    for (const Function &F : M)
      Own[&F] = F.getInstructionCount();
    for (const Function &F : M) {
      WithCallees[&F] = Own[&F];
      for (const Instruction &I : instructions(F)) {
        auto *Call = dyn_cast<CallBase>(&I);
        auto *Callee = Call ? Call->getCalledFunction() : nullptr;
        if (Call && forkPath(*Call) >= 0 && Call->arg_size() >= 3)
          Callee = dyn_cast<Function>(Call->getArgOperand(2)->stripPointerCasts()), Forks[&F].push_back(Callee);
        if (Callee)
          WithCallees[&F] += Own[Callee];
      }
    }
    DenseMap<const Function *, uint64_t> Entered; // by how many owners
    auto Enter = [&](const SetVector<Function *> &By) {
      DenseSet<const Function *> All;
      for (const Function *F : By)
        if (auto Slot = Forks.find(F); Slot != Forks.end())
          All.insert(Slot->second.begin(), Slot->second.end());
      for (const Function *F : All)
        Entered[F]++;
    };
    uint64_t Owners = 0, Calls = 0;
    auto Add = [&](const SetVector<Function *> &Functions, uint64_t Times) {
      for (const Function *F : Functions) {
        Owners += Times * Own[F];
        Calls += Times * WithCallees[F];
      }
    };
    Enter(Serial);
    for (const Microtask &R : Microtasks)
      Enter(R.Reached);
    Add(Serial, 1);
    for (const Microtask &R : Microtasks)
      Add(R.Reached, std::max<uint64_t>(Entered[R.F], 1));
    Apart = Calls <= InstructionsMost ? ByCall : Owners <= InstructionsMost ? ByOwner : ByFunction;
  }

  /// Begin with what is called from nowhere, or by nobody knows whom.
  void walk() {
    size_t Done = 1;
    auto From = [&](const Function &F, unsigned Owner) {
      if (Begun.count({&F, Apart >= ByOwner ? Owner : 0}))
        return;
      instance({&F, Owner, 0}, nullptr);
      for (; Done < Instances.size(); ++Done) {
        Here = static_cast<unsigned>(Done);
        for (const Instruction &I : instructions(*Instances[Done].F))
          instruction(I);
      }
    };
    for (const Function *F : Serial)
      if (!F->hasLocalLinkage() || F->hasAddressTaken())
        From(*F, 0);
    for (const Function *F : Serial)
      From(*F, 0);
    for (unsigned K = 0; K < Microtasks.size(); ++K)
      for (const Function *F : Microtasks[K].Reached)
        From(*F, K + 1);
  }

  static std::string place(const Instruction *I) {
    if (!I)
      return "";
    const DILocation *L = I->getDebugLoc();
    while (L && L->getInlinedAt()) // where the user's code called what was inlined
      L = L->getInlinedAt();
    if (L)
      return (" at " + sys::path::filename(L->getFilename()) + ":" + utostr(L->getLine())).str();
    return (" in " + I->getFunction()->getName()).str();
  }

  static std::string asked(const Instruction *I) {
    auto *Call = dyn_cast_or_null<CallBase>(I);
    StringRef Name = Call ? calleeName(*Call) : StringRef("a thread count");
    return demangle((Name == "getenv" ? StringRef("OMP_NUM_THREADS") : Name).str()) + place(I);
  }

public:
  explicit ThreadFlow(Module &M) : M(M) {}

  size_t regions() const { return Microtasks.size(); }
  Function &microtask(size_t K) const { return *Microtasks[K].F; }

  /// False: there is no region, or nobody asks for a thread count, or nobody for a thread's number.
  bool run() {
    if (!asks())
      return false;
    findOwners();
    if (Microtasks.empty())
      return false;
    choosePrecision();
    walk();
    unsigned Count = static_cast<unsigned>(Microtasks.size()) + 1;
    for (Node &N : Nodes) {
      N.F.Count.resize(Count);
      N.F.Sized.resize(Count);
    }
    for (auto [In, I] : Sources) {
      Facts &F = Nodes[find(nodeIn(In, I))].F;
      F.Count |= owners(Instances[In]);
      F.Asked = I;
    }
    for (auto [In, I] : Numbers)
      Nodes[find(nodeIn(In, I))].F.Number = true;
    settle();
    followLoops();
    settle();
    return true;
  }

  /// Why the region's memory holds for the captured thread count only, or "".
  std::string reason(size_t K) {
    unsigned Owner = static_cast<unsigned>(K) + 1;
    BitVector Others(static_cast<unsigned>(Microtasks.size()) + 1, true);
    Others.reset(Owner);
    std::string Reason;
    for (unsigned In = 1; In < Instances.size() && Reason.empty(); ++In)
      if (owners(Instances[In]).test(Owner))
        Reason = reasonIn(In, Others);
    return Reason;
  }

private:
  std::string reasonIn(unsigned In, const BitVector &Others) {
    Here = In;
    for (const Instruction &I : instructions(*Instances[In].F)) {
      auto *Address = dyn_cast<GetElementPtrInst>(&I);
      if (!Address || carriesNothing(Address->getPointerOperand()))
        continue;
      const Facts Base = Nodes[find(node(Address->getPointerOperand()))].F;
      for (const Use &Index : Address->indices()) {
        if (carriesNothing(Index))
          continue;
        const Facts At = Nodes[find(node(Index))].F;
        if (At.Number && Base.Sized.anyCommon(Others))
          return "memory with one part per thread (allocated" + place(Base.Allocated) + ", sized by " + asked(Base.Asked) + ")";
        if (At.Number && At.Count.anyCommon(Others))
          return "a division of the work by a thread count from before the region (" + asked(At.Asked) + ")";
      }
    }
    return "";
  }
};

} // namespace

void flagThreadSized(Module &M) {
  ThreadFlow Flow(M);
  if (!Flow.run())
    return;
  for (size_t K = 0; K < Flow.regions(); ++K) {
    std::string Reason = Flow.reason(K);
    auto *Held = dyn_cast_or_null<ValueAsMetadata>(Flow.microtask(K).getMetadata(SiteMetadata)->getOperand(0).get());
    auto *Site = Held ? dyn_cast<GlobalVariable>(Held->getValue()) : nullptr;
    if (!Reason.empty() && Site && Site->hasInitializer())
      setThreadSized(*Site, Reason);
  }
}

void writeThreadSized(Module &M, StringRef File) {
  std::error_code Failure;
  raw_fd_ostream Out(File, Failure, sys::fs::OF_Text);
  ThreadFlow Flow(M);
  if (!Failure && Flow.run())
    for (size_t K = 0; K < Flow.regions(); ++K) {
      auto *Name = dyn_cast<MDString>(Flow.microtask(K).getMetadata(SiteMetadata)->getOperand(0));
      std::string Reason = Flow.reason(K);
      if (Name && !Reason.empty())
        Out << Name->getString() << '\t' << Reason << '\n';
    }
  Out.close();
  if (Failure || Out.has_error())
    report_fatal_error(Twine("error: cannot write ") + File, /*gen_crash_diag=*/false);
}

} // namespace pcere
