//===- passes/Threads.cpp - regions that hold only for the thread count they were captured with --------------------------===//
//
// A program may give each thread its own part of an array whose size it took from omp_get_max_threads and the like before the region. Memory is
// captured with that size, so more threads than that would run over its end. Values are followed from the calls that ask for a
// thread count, through arithmetic and memory, into allocations and indices.
//
// Memory is divided into classes by unification (Steensgaard, POPL 1996), by constant offset inside an object; numbers flow along
// directed edges. It runs after the optimiser, where C++ containers have become plain loads. Of one unit in a user's build;
// of a captured program's units together once more (Together.cpp).
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "Stages.h"

#include "include/pcere/rt_abi.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
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
#include <unistd.h>

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

/// Of threads, or of what programs take for as many: processors, places.
bool asksForThreadCount(const CallBase &Call) {
  StringRef Name = calleeName(Call);
  if (Name == "sysconf") {
    auto *What = Call.arg_size() == 1 ? dyn_cast<ConstantInt>(Call.getArgOperand(0)) : nullptr;
    return What && (What->equalsInt(_SC_NPROCESSORS_CONF) || What->equalsInt(_SC_NPROCESSORS_ONLN));
  }
  Name.consume_back("_"); // Fortran's
  static constexpr StringLiteral Known[] = {"omp_get_max_threads", "omp_get_num_threads", "omp_get_num_procs", "omp_get_team_size", "omp_get_thread_limit",
                                            "omp_get_num_places", "get_nprocs", "get_nprocs_conf", "_ZNSt6thread20hardware_concurrencyEv"};
  return is_contained(Known, Name);
}

bool asksForThreadNumber(StringRef Name) {
  Name.consume_back("_");
  return Name == "omp_get_thread_num";
}

bool readsThreadVariable(const CallBase &Call) {
  if (calleeName(Call) != "getenv" || Call.arg_size() != 1)
    return false;
  auto *Variable = dyn_cast<GlobalVariable>(Call.getArgOperand(0)->stripPointerCasts());
  auto *Data = Variable && Variable->hasInitializer() ? dyn_cast<ConstantDataSequential>(Variable->getInitializer()) : nullptr;
  return Data && Data->isCString() && Data->getAsCString() == "OMP_NUM_THREADS";
}

bool readsNumber(StringRef Name) {
  Name.consume_front("__isoc23_");
  static constexpr StringLiteral Known[] = {"atoi", "atol", "atoll", "strtol", "strtoul", "strtoll", "strtoull"};
  return is_contained(Known, Name);
}

/// Arguments of an allocation that make its size: first, and how many; 0: it is none.
std::pair<unsigned, unsigned> allocationSize(StringRef Name) {
  if (Name.starts_with("_Znwm") || Name.starts_with("_Znam"))
    return {0, 1};
  static const std::pair<StringLiteral, std::pair<unsigned, unsigned>> Known[] = {
      {"malloc", {0, 1}},        {"valloc", {0, 1}},   {"omp_alloc", {0, 1}}, {"calloc", {0, 2}}, {"reallocarray", {1, 2}},
      {"realloc", {1, 1}},       {"memalign", {1, 1}}, {"mmap", {1, 1}},      {"aligned_alloc", {1, 1}},
      {"omp_aligned_alloc", {1, 1}}, {"__kmpc_alloc", {1, 1}}, {"posix_memalign", {2, 1}}};
  for (const auto &[Function, Arguments] : Known)
    if (Name == Function)
      return Arguments;
  return {0, 0};
}

/// What is known of a value or of a class of memory.
struct Facts {
  BitVector Count;                      ///< it depends on a thread count that was asked for by these owners
  BitVector Sized;                      ///< it points into memory whose size does
  bool Number = false;                  ///< it depends on a thread's number
  const Instruction *Asked = nullptr;   ///< one of the calls that gave Count
  const Instruction *Allocated = nullptr;
};

class ThreadFlow {
  Module &M;
  struct Node {
    unsigned Parent;
    int Content = -1;                   ///< what a pointer of this class leads to
    std::map<int64_t, unsigned> Fields; ///< pointers at a constant distance
    Facts F;
  };
  std::vector<Node> Nodes;
  DenseMap<const Value *, unsigned> Known, Returned;
  struct Edge { unsigned From, To; const Instruction *Allocation; };
  std::vector<Edge> Edges;
  struct Microtask { Function *F; SetVector<Function *> Reached; };
  std::vector<Microtask> Microtasks;    ///< owner I + 1; owner 0 is everything else
  DenseMap<const Function *, BitVector> Owners;

  unsigned fresh() {
    Nodes.push_back({static_cast<unsigned>(Nodes.size()), -1, {}, {}});
    return static_cast<unsigned>(Nodes.size() - 1);
  }

  unsigned find(unsigned N) {
    while (Nodes[N].Parent != N)
      N = Nodes[N].Parent = Nodes[Nodes[N].Parent].Parent;
    return N;
  }

  unsigned content(unsigned N) {
    N = find(N);
    if (Nodes[N].Content < 0) {
      unsigned New = fresh();
      Nodes[N].Content = static_cast<int>(New);
    }
    return find(static_cast<unsigned>(Nodes[N].Content));
  }

  unsigned field(unsigned N, int64_t Offset) {
    N = find(N);
    if (Offset == 0)
      return N;
    auto Slot = Nodes[N].Fields.find(Offset);
    if (Slot != Nodes[N].Fields.end())
      return find(Slot->second);
    unsigned New = fresh();
    Nodes[N].Fields[Offset] = New;
    return New;
  }

  void unify(unsigned A, unsigned B) {
    SmallVector<std::pair<unsigned, unsigned>, 8> Work{{A, B}};
    while (!Work.empty()) {
      auto [X, Y] = Work.pop_back_val();
      X = find(X);
      Y = find(Y);
      if (X == Y)
        continue;
      Nodes[Y].Parent = X;
      if (Nodes[Y].Content >= 0) {
        if (Nodes[X].Content >= 0)
          Work.push_back({static_cast<unsigned>(Nodes[X].Content), static_cast<unsigned>(Nodes[Y].Content)});
        else
          Nodes[X].Content = Nodes[Y].Content;
      }
      for (auto [Offset, Other] : Nodes[Y].Fields) {
        auto [Slot, New] = Nodes[X].Fields.try_emplace(Offset, Other);
        if (!New)
          Work.push_back({Slot->second, Other});
      }
      Nodes[Y].Fields.clear();
    }
  }

  unsigned node(const Value *V) {
    int64_t Distance = 0;
    if (isa<ConstantExpr>(V) && V->getType()->isPointerTy()) {
      APInt Offset(M.getDataLayout().getIndexTypeSizeInBits(V->getType()), 0);
      V = V->stripAndAccumulateConstantOffsets(M.getDataLayout(), Offset, /*AllowNonInbounds=*/true);
      Distance = Offset.getSExtValue();
    }
    auto [Slot, New] = Known.try_emplace(V, 0);
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

  unsigned returned(const Function &F) {
    auto [Slot, New] = Returned.try_emplace(&F, 0);
    if (New)
      Slot->second = fresh();
    return Slot->second;
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

  void callArguments(const CallBase &Call, unsigned From, Function &Callee, unsigned To) {
    for (unsigned A = From; A < Call.arg_size() && To < Callee.arg_size(); ++A, ++To)
      flow(Call.getArgOperand(A), Callee.getArg(To));
  }

  void source(const Instruction &I) {
    Facts &F = Nodes[find(node(&I))].F;
    F.Count |= Owners[I.getFunction()];
    F.Asked = &I;
  }

  void call(const CallBase &Call) {
    StringRef Name = calleeName(Call);
    auto *Callee = dyn_cast<Function>(Call.getCalledOperand()->stripPointerCasts());
    if (forkPath(Call) >= 0 && Call.arg_size() >= 3) {
      if (auto *F = dyn_cast<Function>(Call.getArgOperand(2)->stripPointerCasts()))
        callArguments(Call, forkPath(Call) == PCERE_PATH_FORK_IF ? 4 : 3, *F, 2);
    } else if (Name == "__kmpc_omp_task_alloc" && Call.arg_size() >= 6) {
      auto *F = dyn_cast<Function>(Call.getArgOperand(5)->stripPointerCasts());
      if (F && F->arg_size() > 1)
        flow(&Call, F->getArg(1));
    } else if (asksForThreadCount(Call) || readsThreadVariable(Call)) {
      Sources.push_back(&Call);
    } else if (asksForThreadNumber(Name)) {
      Numbers.push_back(&Call);
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
      callArguments(Call, 0, *Callee, 0);
      if (!Call.getType()->isVoidTy()) {
        if (Call.getType()->isPointerTy())
          unify(returned(*Callee), node(&Call));
        else
          Edges.push_back({returned(*Callee), node(&Call), nullptr});
      }
    } else if (isa<IntrinsicInst>(Call) ||
               readsNumber(Name)) {
      if (!Call.getType()->isVoidTy())
        for (const Use &U : Call.args())
          if (!carriesNothing(U))
            Edges.push_back({node(U), node(&Call), nullptr});
    }
  }

  std::vector<const Instruction *> Sources, Numbers;

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
        flow(V, returned(*I.getFunction()), true);
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

  /// Whatever is allocated by this instruction, or by what it calls, has a size that follows \p Bound.
  void allocates(const Instruction &I, const Facts &Bound) {
    SetVector<const Function *> Called;
    auto Look = [&](const Instruction &At) {
      auto *Call = dyn_cast<CallBase>(&At);
      if (!Call || forkPath(*Call) >= 0)
        return;
      if (allocationSize(calleeName(*Call)).second > 0) {
        Facts &To = Nodes[find(node(&At))].F;
        if (join(To.Sized, Bound.Count) && !To.Allocated)
          To.Allocated = &I, To.Asked = Bound.Asked;
      }
      if (const Function *Callee = Call->getCalledFunction(); Callee && !Callee->isDeclaration())
        Called.insert(Callee);
    };
    Look(I);
    for (size_t K = 0; K < Called.size(); ++K)
      for (const Instruction &At : instructions(*Called[K]))
        Look(At);
  }

  /// A loop that runs once per thread makes one part per thread too, say by push_back.
  void followLoops() {
    for (Function &F : M) {
      if (F.isDeclaration())
        continue;
      DominatorTree Dominators(F);
      LoopInfo Loops(Dominators);
      for (Loop *L : Loops.getLoopsInPreorder()) {
        SmallVector<BasicBlock *, 4> Exiting;
        L->getExitingBlocks(Exiting);
        for (BasicBlock *Block : Exiting) {
          auto *Branch = dyn_cast<BranchInst>(Block->getTerminator());
          auto *Compare = Branch && Branch->isConditional() ? dyn_cast<ICmpInst>(Branch->getCondition()) : nullptr;
          if (!Compare)
            continue;
          for (const Use &U : Compare->operands()) {
            if (carriesNothing(U))
              continue;
            const Facts Bound = Nodes[find(node(U))].F;
            if (Bound.Count.any())
              for (BasicBlock *Inside : L->blocks())
                for (const Instruction &I : *Inside)
                  allocates(I, Bound);
          }
        }
      }
    }
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
    SetVector<Function *> Serial; // whatever runs outside of regions
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
  explicit ThreadFlow(Module &M) : M(M) { findOwners(); }

  size_t regions() const { return Microtasks.size(); }
  Function &microtask(size_t K) const { return *Microtasks[K].F; }

  /// False: nobody asks for a thread count, or nobody for a thread's number.
  bool run() {
    for (Function &F : M)
      for (Instruction &I : instructions(F))
        instruction(I);
    if (Sources.empty() || Numbers.empty())
      return false;
    unsigned Count = static_cast<unsigned>(Microtasks.size()) + 1;
    for (Node &N : Nodes) {
      N.F.Count.resize(Count);
      N.F.Sized.resize(Count);
    }
    for (const Instruction *I : Sources)
      source(*I);
    for (const Instruction *I : Numbers)
      Nodes[find(node(I))].F.Number = true;
    settle();
    followLoops();
    settle();
    return true;
  }

  /// Why the region's memory holds for the captured thread count only, or "".
  std::string reason(size_t K) {
    BitVector Others(static_cast<unsigned>(Microtasks.size()) + 1, true);
    Others.reset(static_cast<unsigned>(K) + 1);
    for (Function *F : Microtasks[K].Reached)
      for (Instruction &I : instructions(*F)) {
        auto *Address = dyn_cast<GetElementPtrInst>(&I);
        if (!Address || carriesNothing(Address->getPointerOperand()))
          continue;
        const Facts &Base = Nodes[find(node(Address->getPointerOperand()))].F;
        for (const Use &Index : Address->indices()) {
          if (carriesNothing(Index))
            continue;
          const Facts &At = Nodes[find(node(Index))].F;
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
  if (Flow.regions() == 0 || !Flow.run())
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
  if (!Failure && Flow.regions() > 0 && Flow.run())
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
