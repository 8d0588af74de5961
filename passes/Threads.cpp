//===- passes/Threads.cpp - regions that hold only for the thread count they were captured with --------------------------===//
//
// A program may give each thread its own part of an array whose size it took from omp_get_max_threads and the like before the region. Memory is
// captured with that size, so more threads than that would run over its end. Values are followed from the calls that ask for a
// thread count, through arithmetic and memory, into allocations and indices (ThreadFlow.h).
//
// It runs after the optimiser, where C++ containers have become plain loads. Of one unit in a user's build; of a
// captured program's units together once more (Together.cpp).
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "BareBitcode.h"
#include "Regions.h"
#include "Stages.h"
#include "ThreadCalls.h"
#include "ThreadFlow.h"

#include "include/pcere/rt_abi.h"

#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace pcere {

static constexpr const char *SiteMetadata = "pcere.site"; ///< on the outlined function: its region's site

void rememberSite(Function &Microtask, GlobalVariable &Site) {
  Microtask.setMetadata(SiteMetadata, MDNode::get(Microtask.getContext(), ValueAsMetadata::get(&Site)));
}

bool hasSite(const Function &Microtask) { return Microtask.hasMetadata(SiteMetadata); }

void rememberName(Function &Microtask, StringRef Name) {
  Microtask.setMetadata(SiteMetadata, MDNode::get(Microtask.getContext(), MDString::get(Microtask.getContext(), Name)));
}

/// Who runs this instance.
const BitVector &ThreadFlow::owners(const Instance &I) const {
  auto Slot = Apart == ByFunction ? Owners.find(I.By) : Owners.end();
  return Slot == Owners.end() ? Alone[I.Owner] : Slot->second;
}

unsigned ThreadFlow::ownerOfMicrotask(const Function &F) const {
  if (!F.hasMetadata(SiteMetadata))
    return 0;
  for (unsigned K = 0; K < Microtasks.size(); ++K)
    if (Microtasks[K].F == &F)
      return K + 1;
  return 0;
}

/// What the functions of the module refer to in calls: inner regions are apart from the rest.
ThreadFlow::Callees ThreadFlow::callees() const {
  Callees All;
  for (Function &F : M) {
    auto &[Given, Called] = All[&F];
    for (Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallBase>(&I);
      if (!Call || forkPath(*Call) >= 0)
        continue;
      for (const Use &U : I.operands())
        if (auto *Other = dyn_cast<Function>(const_cast<Value *>(U.get()->stripPointerCastsAndAliases())); Other && !Other->isDeclaration())
          Given.insert(Other);
      for (const Function *Target : Targets.lookup(Call))
        if (!Target->isDeclaration())
          Given.insert(const_cast<Function *>(Target)), Called.insert(const_cast<Function *>(Target));
      if (auto *Callee = dyn_cast<Function>(const_cast<Value *>(Call->getCalledOperand()->stripPointerCastsAndAliases())); Callee && !Callee->isDeclaration() && !Callee->hasMetadata(SiteMetadata))
        Called.insert(Callee);
    }
  }
  return All;
}

void ThreadFlow::findOwners() {
  Callees Of = callees();
  for (Function &F : M)
    if (F.hasMetadata(SiteMetadata))
      Microtasks.push_back({&F, {}});
  unsigned Count = older() + 1;
  Alone.assign(Count, BitVector(Count));
  for (unsigned Owner = 0; Owner < Count; ++Owner)
    Alone[Owner].set(Owner);
  auto Mark = [&](const Function *F, unsigned Owner) { Owners.try_emplace(F, BitVector(Count)).first->second.set(Owner); };
  for (unsigned K = 1; K <= Microtasks.size(); ++K) {
    SetVector<Function *> &Reached = Microtasks[K - 1].Reached; // what the region's threads run, inner regions left out
    Reached.insert(Microtasks[K - 1].F);
    for (size_t N = 0; N < Reached.size(); ++N) {
      Mark(Reached[N], K);
      auto &Given = Of[Reached[N]].Given;
      Reached.insert(Given.begin(), Given.end());
    }
  }
  for (Function &F : M)
    if (!F.isDeclaration() && !Owners.count(&F))
      Serial.insert(&F);
  for (size_t K = 0; K < Serial.size(); ++K) {
    auto &Called = Of[Serial[K]].Called;
    Serial.insert(Called.begin(), Called.end());
    Mark(Serial[K], 0);
  }
}

std::string place(const Instruction *I) {
  if (!I)
    return "";
  std::string Place = callingPlace(*I);
  if (!Place.empty())
    return " at " + Place;
  return " in " + sourceFunction(*I->getFunction());
}

static StringRef readableName(StringRef Name) {
  if (Name.starts_with("__kmpc_push_num_threads"))
    return "num_threads";
  return Name == "getenv" || Name == "secure_getenv" || Name == "_FortranAGetEnvVariable" ? StringRef("OMP_NUM_THREADS") : Name;
}

std::string asked(const Instruction *I) {
  auto *Call = dyn_cast_or_null<CallBase>(I);
  StringRef Name = Call ? calleeName(*Call) : StringRef("a thread count");
  return demangle(readableName(Name).str()) + place(I);
}

bool ThreadFlow::run() {
  bool Asks = asks(), Keeps = keepsOwn();
  if (!Asks && !Keeps)
    return false;
  findTargets();
  findOwners();
  if (Microtasks.empty())
    return false;
  Reasons.resize(Microtasks.size());
  if (Asks)
    followCounts();
  if (Keeps)
    findOwn();
  if (Asks) {
    givePieces();
    findWays();
  }
  return true;
}

void ThreadFlow::followCounts() {
  choosePrecision();
  walk();
  order();
  findSetAnew();
  addSources();
  settle();
  followAgain();
  addOwnNumbers();
  settle();
  addMaxima();
  settle();
  followLoops();
  settle();
  keepOlder();
  settle();
  for (unsigned N = 0; N < Nodes.size(); ++N) // what is divided by a number that was kept
    if (const Facts *F = find(N) == N ? known(N) : nullptr; F && F->Number)
      changed(N);
  settle();
  findReasons();
  findPieces();
  findAskedTeams();
  findBarriers();
}

static bool isExact(StringRef Reason) { return Reason.starts_with(PCERE_THREADS_EXACT) || Reason.starts_with(PCERE_THREADS_DIVISION) || Reason.starts_with(PCERE_THREADS_TEAM); }

/// One that fewer threads do not keep to, either, says more than another one.
void ThreadFlow::flag(const BitVector &Of, const std::string &Reason) {
  for (unsigned Owner : Of.set_bits())
    if (Owner >= 1 && Owner <= Microtasks.size() && (Reasons[Owner - 1].empty() || (isExact(Reason) && !isExact(Reasons[Owner - 1]))))
      Reasons[Owner - 1] = Reason;
}

/// To regions that have none yet.
void ThreadFlow::giveReasons(function_ref<std::string(size_t)> ReasonOf) {
  for (size_t K = 0; K < Microtasks.size(); ++K)
    if (Reasons[K].empty())
      Reasons[K] = ReasonOf(K);
}

/// Who else than those that run this instance; serial code is always another one.
BitVector ThreadFlow::others(unsigned In) const {
  BitVector Others = owners(Instances[In]);
  Others.flip();
  Others.set(0);
  return Others;
}

/// \p Shares: loops of the region end where the work is divided by a thread count from before it.
std::string ThreadFlow::reasonAt(const GetElementPtrInst &Address, const BitVector &Others, bool Shares) {
  const Facts *Base = known(node(Address.getPointerOperand()));
  bool Sized = Base && Base->Sized.anyCommon(Others);
  for (const Use &Index : Address.indices()) {
    if (carriesNothing(Index))
      continue;
    const Facts *At = known(node(Index));
    if (!At || !At->Number)
      continue;
    bool Counts = At->Count.anyCommon(Others), Divides = At->Part.anyCommon(Others);
    if ((Counts && !Sized) || (Divides && Shares))
      return PCERE_THREADS_DIVISION "a thread count from before the region (" + asked(Counts ? At->Asked : At->DividedBy) + ")";
    if (Sized)
      return std::string(Base->Follows ? "memory with one part per thread" : PCERE_THREADS_ROOM) + " (allocated" + place(Base->Allocated) + ", sized by " + asked(Base->Asked) + ")";
    if (Divides)
      return "an index that a thread count from before the region divides (" + asked(At->DividedBy) + ")";
  }
  return "";
}

/// Of a function that several regions run, and that is not told apart, none counts as another one.
void ThreadFlow::findReasons() {
  Shapes Of;
  BitVector Sharing = sharing(Of);
  for (auto [In, I] : Indexed) {
    const BitVector &Own = owners(Instances[In]);
    bool Left = false; // a region that runs it, of which more may be told
    for (unsigned Owner : Own.set_bits())
      Left |= Owner >= 1 && Owner <= Microtasks.size() && !isExact(Reasons[Owner - 1]);
    if (!Left)
      continue;
    Here = In;
    std::string Reason = reasonAt(*cast<GetElementPtrInst>(I), others(In), Sharing.anyCommon(Own));
    if (!Reason.empty())
      flag(Own, Reason);
  }
  findEqualParts();
  findOwnTurns();
  findParts(Of);
}

void flagThreadSized(Module &M) {
  ThreadFlow Flow(M, 400000);
  if (!Flow.run())
    return;
  for (size_t K = 0; K < Flow.regions(); ++K) {
    const std::string &Reason = Flow.reason(K);
    auto *Held = dyn_cast_or_null<ValueAsMetadata>(Flow.microtask(K).getMetadata(SiteMetadata)->getOperand(0).get());
    auto *Site = Held ? dyn_cast<GlobalVariable>(Held->getValue()) : nullptr;
    if (!Reason.empty() && Site && Site->hasInitializer())
      setThreadSized(*Site, Reason);
  }
}

void writeThreadSized(Module &M, StringRef File) {
  std::error_code Failure;
  raw_fd_ostream Out(File, Failure, sys::fs::OF_Text);
  ThreadFlow Flow(M, 4000000);
  auto Tell = [&](const Function &Microtask, const std::string &Reason) {
    auto *Name = dyn_cast<MDString>(Microtask.getMetadata(SiteMetadata)->getOperand(0));
    if (Name && !Reason.empty())
      Out << Name->getString() << '\t' << Reason << '\n';
  };
  if (!Failure && Flow.run()) {
    for (size_t K = 0; K < Flow.regions(); ++K)
      Tell(Flow.microtask(K), Flow.reason(K));
    Flow.findEntries(Tell);
  }
  Out.close();
  if (Failure || Out.has_error())
    report_fatal_error(Twine("error: cannot write ") + File, /*gen_crash_diag=*/false);
}

} // namespace pcere
