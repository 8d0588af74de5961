//===- passes/ThreadFlow.h - where numbers of threads go, from the calls that ask for them into sizes and indices ----------------===//
//
// Memory is divided into classes (MemoryClasses.h); numbers flow along directed edges. The calls of a function are told apart by who runs them, a
// region or what lies outside of all, and by where they stand: a matrix product that asks for the threads and is called inside a region, too, has made
// nothing there before that region.
//
//   ThreadWalk.cpp   instructions become classes and edges     ThreadSources.cpp   what is a number of threads, or a thread's
//   ThreadRules.cpp  loops, and what outlives an invocation    ThreadPrecision.cpp  what is told apart
//   Threads.cpp      what regions do with it                ThreadOwn.cpp       memory that each thread made for itself
//   ThreadValues.cpp  numbers that each thread set for itself    ThreadBarriers.cpp  barriers for a number of threads
//   ThreadParts.cpp   parts of the work, one for each thread, from before the region    ThreadControl.cpp  what a program decides by a thread count
//   ThreadPieces.cpp  as many pieces of work as threads    ThreadWays.cpp    another way for more threads
//   ThreadAnew.cpp    numbers that a region sets anew before it reads them
//   ThreadArenas.cpp  memory that a program cuts from its own    ThreadTeams.cpp   teams of as many threads as were asked for
//   ThreadTargets.cpp  which function a call through a table enters    ThreadEntries.cpp  regions that only several threads enter
//   ThreadLevels.cpp  code for the inside of regions alone, or for their outside    ThreadFortran.cpp   what flang leaves to its runtime
//
//===------------------------------------------------------------------------------------------------------------------------===//
#ifndef PCERE_PASSES_THREADFLOW_H
#define PCERE_PASSES_THREADFLOW_H

#include "MemoryClasses.h"
#include "ThreadOwn.h"
#include "ThreadPurposes.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace pcere {

inline bool carriesNothing(const llvm::Value *V) {
  return llvm::isa<llvm::ConstantData>(V) || llvm::isa<llvm::BasicBlock>(V) || llvm::isa<llvm::MetadataAsValue>(V) || llvm::isa<llvm::InlineAsm>(V);
}

/// Where \p I is in the source, " at FILE:LINE", or "".
std::string place(const llvm::Instruction *I);

/// By which call, and where, a thread count was asked for.
std::string asked(const llvm::Instruction *I);

/// `nt++` by each thread of a region, once, as an atomic construct, under a critical one, or as a reduction adds it up: where nt is, or null.
const llvm::Value *countsThreads(const llvm::Instruction &I);

/// Whether a number that was drawn from a counter (atomically) is compared for equality.
bool comparesTicket(const llvm::ICmpInst &Compare);

/// Calls of std::barrier's and std::latch's members, and what reads a number in one of them, also where it was inlined (by debug information).
bool usesStandardBarrier(const llvm::CallBase &Call);
bool makesStandardBarrier(const llvm::CallBase &Call);
bool isInStandardBarrier(const llvm::Instruction &I);

/// A worksharing loop, or a taskloop that says how many tasks it has.
bool sharesWork(const llvm::CallBase &Call);

/// A region's own function, or the one that has all of it where nothing was optimised.
bool eachThreadRuns(const llvm::Function &F);

/// Of a construct that one thread runs, as a call of one of these \p Names tells it, and that has \p Inside: that call; or null.
const llvm::Instruction *beginOfConstruct(const llvm::Instruction &Inside, const llvm::DominatorTree &Tree, std::initializer_list<llvm::StringRef> Names);

/// What \p Store stores; a pointer also where the optimiser moves it as a number (std::unique_ptr).
const llvm::Value *storedPointer(const llvm::StoreInst &Store);

/// What \p V is so many times \p By of, or by so many bits shifted (or such a constant by what it is), or null.
const llvm::Value *multiplied(const llvm::Value &V, const llvm::ConstantInt *&By);

/// The fewest threads, two or more, for which comparing them (\p Operand) comes out otherwise than for one; or 0. Of equality, with one.
uint64_t turnsAt(const llvm::ICmpInst &Compare, unsigned Operand);

using Implied = llvm::SmallVector<std::pair<const llvm::ICmpInst *, bool>, 4>; ///< comparisons, and how they came out

/// What has come out before \p Block is entered.
Implied impliedAt(const llvm::BasicBlock &Block, const llvm::DominatorTree &Tree);

/// The C++ library's own, where it counts who waits.
bool isInStandardWait(const llvm::Instruction &I);

class ThreadFlow : MemoryClasses {
public:
  /// Told apart is what \p InstructionsMost instructions are enough for, each counted once for each call or region that it is looked at for.
  ThreadFlow(llvm::Module &M, uint64_t InstructionsMost) : M(M), InstructionsMost(InstructionsMost) {}

  /// False: there is no region, or nobody asks for a thread count, and threads have nothing of their own.
  bool run();

  size_t regions() const { return Microtasks.size(); }
  llvm::Function &microtask(size_t K) const { return *Microtasks[K].F; }

  /// Why the region's memory holds for the captured thread count only, or "".
  const std::string &reason(size_t K) const { return Reasons[K]; }

  /// Behind run(): \p Tell gets each microtask whose region the program enters only from some number of threads on, and "entered only from 2 threads on (..)".
  void findEntries(llvm::function_ref<void(const llvm::Function &, const std::string &)> Tell);

private:
  /// What is known of a value or of a class of memory.
  struct Facts {
    llvm::BitVector Count;                      ///< it depends on a thread count that was asked for by these owners
    llvm::BitVector Sized;                      ///< it points into memory whose size does
    llvm::BitVector Divided;                    ///< it is a part of something that was divided by such a count, or what was left
    llvm::BitVector Part;                       ///< it is a part
    bool Number = false;                        ///< it depends on a thread's number
    bool Follows = false;                       ///< one of the counts in Count or Sized is none of processors, but what the user asks for
    const llvm::Instruction *Asked = nullptr;   ///< one of the calls that gave Count
    const llvm::Instruction *DividedBy = nullptr; ///< and Divided
    const llvm::Instruction *Allocated = nullptr;
  };

  /// A function as a call of it sees it: its values have nodes of their own. Memory is one, through what points to it. The outer one
  /// entered the owner's region, which is told apart from where others entered it. By: the function whose owners run it; of a small one, its caller's. Depth: of small ones.
  struct Instance { const llvm::Function *F; unsigned Owner, Outer; const llvm::Function *By = nullptr; unsigned Depth = 0; };
  using Key = std::tuple<const llvm::Function *, unsigned, unsigned, const llvm::CallBase *, unsigned>;
  struct Edge {
    unsigned From, To;
    const llvm::Instruction *Allocation; ///< To is memory of as many bytes as From says; or null
    enum Way : uint8_t { Copied, Choice, Computed, Product, Quotient, Divisor, Modulus, Decided, Own } How; ///< Copied, Choice: To is From, or one of several that may be; Own: what In's region set there
    unsigned Beside = 0, In = 0;         ///< of a choice, a product or a quotient: the other operand, and where it stands; In of an own one, too
  };
  struct Microtask { llvm::Function *F; llvm::SetVector<llvm::Function *> Reached; };
  struct Seen { unsigned In; const llvm::Instruction *I; };
  using Functions = llvm::SmallVector<const llvm::Function *, 2>;
  struct Making { const llvm::Instruction *At; const llvm::Value *Memory, *Into; Functions Callees; }; ///< memory that is made there, or where a pointer to it is put, or null; and what is called

  /// What a loop that ends at a thread count sets at its counter, one for each thread; or what is set in one chosen part of several.
  struct Filled {
    llvm::BitVector By;                         ///< who sets it
    const llvm::Instruction *At = nullptr, *Asked = nullptr;
    bool Turns = false, Dealt = false;          ///< the one, the other
    bool Numbers = false;                       ///< of what was set there, something is no pointer
  };
  /// What a region does with that.
  struct PartUse { bool Set = false, Elsewhere = false, Works = false, Leads = false; };

  // ThreadWalk.cpp
  unsigned node(const llvm::Value *V);
  unsigned nodeIn(unsigned Other, const llvm::Value *V);
  unsigned returned(unsigned Of);
  void edge(unsigned From, unsigned To, bool Copy) { Edges.push_back({From, To, nullptr, Copy ? Edge::Copied : Edge::Computed}); }
  bool partition(const llvm::Instruction &I);
  unsigned objectTable(const llvm::GlobalVariable &Table, int64_t Begin);
  void point(const llvm::Value *From, unsigned To);
  void flow(const llvm::Value *From, unsigned To, bool Pointer, bool Copy);
  bool setBefore(const llvm::LoadInst &Load, llvm::SmallVectorImpl<const llvm::Value *> &Set);
  void address(const llvm::GetElementPtrInst &I);
  void callArguments(const llvm::CallBase &Call, unsigned From, unsigned Callee, unsigned To);
  void enter(const llvm::CallBase &Call, const llvm::Function &F, bool Alone);
  void call(const llvm::CallBase &Call);
  bool callOfRuntime(const llvm::CallBase &Call, llvm::StringRef Name);
  bool callThatAllocates(const llvm::CallBase &Call, llvm::StringRef Name);
  bool callThatReads(const llvm::CallBase &Call, llvm::StringRef Name);
  void instruction(const llvm::Instruction &I);
  Key key(const Instance &I, const llvm::CallBase *Site, unsigned Chain) const;
  unsigned instance(Instance I, const llvm::CallBase *Site);
  llvm::SmallVector<unsigned, 2> calledFrom(unsigned In, const llvm::Function &F, const llvm::CallBase &Call) const;
  unsigned calledHere(const llvm::Function &F, const llvm::CallBase &Call);
  void initials();
  void walkOn();
  void walk();

  // ThreadFortran.cpp
  void copyBounds(const llvm::Value &From, const llvm::Value &To);
  bool callOfFortran(const llvm::CallBase &Call, llvm::StringRef Name);
  bool storeParts(const llvm::Value &V, unsigned To);
  bool takePart(const llvm::ExtractValueInst &Part);

  // ThreadAnew.cpp
  bool isSetBefore(const llvm::Instruction &Point, const llvm::Function &F) const;
  void readsOwn(unsigned Class, unsigned Owner, const llvm::Instruction &Point);
  void findSetAnew();

  // ThreadTargets.cpp
  void findTargets();
  bool enterMore();
  void enterByMemory();
  void enterAlike();
  Functions targets(const llvm::CallBase &Call) const;
  const llvm::Function *callee(const llvm::CallBase &Call) const;  ///< null: also where it is one of several

  // ThreadLevels.cpp
  void findLevels();
  bool isNeverRun(const llvm::BasicBlock &Block) const;       ///< by those who run the instance that is looked at

  // ThreadControl.cpp
  static bool takesMaximum(const llvm::Instruction &I);
  void control(const llvm::Instruction &I);
  void addMaxima();

  // ThreadPrecision.cpp
  struct Cost { uint64_t Own = 0, Tree = 0; bool Maker = false, Head = false; llvm::SmallVector<const llvm::Function *, 4> Callees, Forks; };
  using Costs = llvm::MapVector<const llvm::Function *, Cost>; ///< callees before their callers
  Costs costs() const;
  void addCost(const llvm::Function &F, Costs &All, llvm::DenseSet<const llvm::Function *> &Open) const;
  uint64_t tellApart(Costs &All, const llvm::DenseMap<const llvm::Function *, uint64_t> &Times, uint64_t TreeMost);
  void choosePrecision();

  // ThreadSources.cpp
  bool asks() const;
  void addSources();
  void addOwnNumbers();
  void addTickets();
  void addTeams();
  void addThreadLocals();

  // ThreadRules.cpp
  void order();
  bool divides(const Edge &E);
  static bool joinFollows(const Facts &From, Facts &To);
  bool joinUndivided(const Edge &E, const Facts &From, Facts &To);
  void followAgain();
  bool pass(const Edge &E);
  bool passSize(unsigned N, unsigned Field);
  void settle();
  llvm::ArrayRef<Making> makings(const llvm::Function &F);
  void allocates(const llvm::Loop &L, const Facts &Bound);
  void followLoops();
  void followLoop(const llvm::Loop &L, const llvm::Value &Limit, const llvm::Value &Other);
  void keepOlder();
  void keepOlderIn(unsigned In);
  void keepOlderOf(unsigned In, const llvm::Instruction &I, int Class, unsigned Depth);

  // Threads.cpp
  struct Referred { llvm::SetVector<llvm::Function *> Given, Called; }; ///< by any operand of a call, and as what is called
  using Callees = llvm::DenseMap<const llvm::Function *, Referred>;
  Callees callees() const;
  void findOwners();
  const llvm::BitVector &owners(const Instance &I) const;
  unsigned ownerOfMicrotask(const llvm::Function &F) const;
  void followCounts();
  llvm::BitVector others(unsigned In) const;
  void giveReasons(llvm::function_ref<std::string(size_t)> ReasonOf);
  void flag(const llvm::BitVector &Of, const std::string &Reason);
  std::string reasonAt(const llvm::GetElementPtrInst &Address, const llvm::BitVector &Others, bool Shares);
  void findReasons();

  // ThreadParts.cpp
  llvm::BitVector sharing(Shapes &Of);
  void findEqualParts();
  void findOwnTurns();
  void fill(unsigned N, const llvm::Instruction &At, const Facts &Bound, bool Number);
  void fillsOf(unsigned In, const llvm::Argument &Object, const llvm::Instruction &At, const Facts &Bound, unsigned Depth = 0);
  bool mayChange(const llvm::Instruction &I, unsigned N);
  bool isSameEachTurn(const llvm::Loop &L, const llvm::Value &V, unsigned Depth);
  bool isForAllAlike(const llvm::Loop &L, const llvm::Value &V);
  void fills(const llvm::Loop &L, const Facts &Bound);
  void deals(unsigned In, Shapes &Of);
  const Filled *filled(const llvm::Value &Address, unsigned &Class);
  bool isAtOwnNumber(const llvm::Value &Address);
  void lookAtPart(const llvm::Instruction &I, Purposes &Purpose, llvm::MapVector<std::pair<unsigned, unsigned>, PartUse> &Uses);
  void findParts(Shapes &Of);

  // ThreadWays.cpp
  /// Of a thread count, or so many Times it (0: nobody knows): who asked for it; or of a flag, or a number chosen at Compared, that is another one from so many threads on.
  struct Copy { llvm::BitVector By; const llvm::Instruction *Asked; uint64_t From = 0; const llvm::Instruction *Compared = nullptr; uint64_t Times = 1; };
  using Copies = llvm::DenseMap<unsigned, Copy>; ///< by class
  struct Way { uint64_t From = 0; std::string Reason; };
  void addCopy(Copies &All, llvm::SetVector<unsigned> &Next, unsigned N, const Copy &Of);
  void followCopies(Copies &All, llvm::SetVector<unsigned> &Next);
  Copies copiesOfCounts();
  Copies copiesOfFlags(const Copies &Counts);
  unsigned origin(unsigned In, const llvm::Value *V);
  llvm::DenseSet<std::pair<unsigned, unsigned>> bounds(const Copies &Of);
  Copies copiesOfChoices(const Copies &Counts);
  void addWays(const Seen &At, const Copy *Of, uint64_t From);
  void findWays();

  // ThreadPieces.cpp
  const Copy *copyFromBefore(const Copies &Of, unsigned In, const llvm::Value *V);
  llvm::ArrayRef<unsigned> entering(unsigned N) const { return N + 1 < FirstIn.size() ? llvm::ArrayRef(Entering).slice(FirstIn[N], FirstIn[N + 1] - FirstIn[N]) : llvm::ArrayRef<unsigned>(); }
  void addTeamCopies(Copies &All);
  /// How many pieces of work a region has for each thread of before it, 0: that was not found; or, each thread the same.
  struct Cut { uint64_t Times = 0; std::string Where; bool EachTheSame = false; };
  bool addProducts(Copies &All, uint64_t Most);
  bool addMinima(Copies &All);
  Copies countsAndMinima();
  Copies countsOfPieces(const Copies &Counts, uint64_t Most);
  bool isAlways(const Copies &Of, unsigned In, const llvm::Value *V);
  Copies copiesOfParts(const Copies &Counts);
  Cut cutBy(const Seen &At, const llvm::Value *Number, const Copies &Of);
  uint64_t elementsOf(unsigned N, uint64_t Bytes, const Copies &Sizes);
  Cut cutByContainer(const Seen &At, const llvm::Value *End, const Copies &Sizes);
  Cut cutOfShared(const Seen &At, const Copies &Counts, const Copies &Parts, const Copies &Sizes);
  Cut cutOfLoop(const Seen &At, const Copies &Counts, const Copies &Parts);
  void findChosenPieces(const Copies &Counts);
  void findPieces();
  void givePieces();

  // ThreadEntries.cpp
  struct Entry { uint64_t From = 0; const llvm::Instruction *Asked = nullptr, *Compared = nullptr; };
  Entry entryHere(const llvm::Instruction &Site, const Copies &Counts);
  Entry entryOf(const llvm::Instruction &Site, const Copies &Counts, unsigned Depth);

  // ThreadTeams.cpp
  void findAskedTeams();

  // ThreadBarriers.cpp
  bool countsOut(const Seen &Equal, const llvm::BitVector &Others, std::string &Reason);
  void findBarriers();

  // ThreadOwn.cpp
  bool keepsOwn() const;
  void findOwn();
  void findOwnMemory(llvm::ArrayRef<OwnUses> Of);

  // ThreadValues.cpp
  void findOwnValues(const OwnWalk &Walk, llvm::ArrayRef<OwnUses> Of);

  Facts &facts(unsigned N);
  const Facts *known(unsigned N);               ///< null: nothing
  bool isWide(unsigned N) { return find(N) < Wide.size() && Wide.test(find(N)); }
  void changed(unsigned N) { Changed.insert(find(N)); }
  unsigned older() const { return static_cast<unsigned>(Microtasks.size()) + 1; } ///< the owner that stands for earlier invocations of the same region

  llvm::Module &M;
  uint64_t InstructionsMost;
  enum { ByFunction, ByOwner, ByCall } Apart = ByFunction; ///< what has instances of its own
  llvm::DenseSet<const llvm::Function *> Small;             ///< an instance for each call from each instance: as if they stood in their callers
  std::vector<Instance> Instances{{nullptr, 0, 0}};        ///< the first is of what is no function's: variables and constants
  std::map<Key, unsigned> InstanceOf;
  llvm::DenseSet<std::pair<const llvm::Function *, unsigned>> Begun; ///< functions with an instance of that owner
  unsigned Here = 0;                                       ///< the instance that is looked at
  size_t Walk = 1;                                         ///< the first that was not yet
  llvm::DenseMap<std::pair<unsigned, const llvm::Value *>, unsigned> Known;
  llvm::DenseMap<unsigned, unsigned> Returned;
  std::vector<Edge> Edges;
  std::vector<unsigned> FirstOut, Out;                     ///< edges by the class that they leave
  std::vector<Microtask> Microtasks;                       ///< owner I + 1; owner 0 is everything else
  llvm::SetVector<llvm::Function *> Serial;                ///< whatever runs outside of regions
  llvm::DenseMap<const llvm::Function *, llvm::BitVector> Owners;
  std::vector<llvm::BitVector> Alone;                      ///< by owner: that one
  std::vector<std::string> Reasons;
  llvm::BitVector Wide;                                    ///< classes of so many values that one says nothing of the others
  bool Redone = false;                                     ///< it is known what was divided by counts
  llvm::DenseMap<const llvm::CallBase *, Functions> Targets; ///< of calls through pointers
  std::vector<Seen> Unknown;                               ///< such calls, of which nobody knows what they enter
  llvm::DenseSet<std::pair<size_t, const llvm::Function *>> Entered; ///< by the first's place there
  Shapes Control;                                          ///< of functions in which a loop decides
  llvm::DenseSet<const llvm::BasicBlock *> OutsideAlone, InsideAlone; ///< of regions
  llvm::DenseMap<const llvm::Function *, std::vector<Making>> Makings;
  uint64_t Walked = 0;                                     ///< instructions, by instances
  llvm::MapVector<unsigned, Way> Ways;                     ///< by region
  llvm::DenseMap<unsigned, Cut> Cuts;                      ///< by region
  std::vector<Seen> Chosen, Shared, Divisions, Products, Minima, Sources, Numbers, Tickets, Teams, Compares, Equals, InRegions, Bounded, Truths, Maxima, Indexed, BarriersMade, BarriersUsed, BarriersRead;
  llvm::DenseMap<unsigned, Filled> Fills;                  ///< by class
  llvm::DenseSet<unsigned> GivenConstants;                 ///< nodes, and in the end their classes, that have a constant, too: a parameter, or what a local variable holds
  std::vector<unsigned> FirstIn, Entering;                 ///< edges by the class that they enter
  llvm::DenseSet<unsigned> Origins;                        ///< classes of what num_threads clauses ask for, and that was copied from; and of the least of a count and something else
  std::vector<int> FactsOf;                                ///< by class, or -1
  std::deque<Facts> AllFacts;
  llvm::SetVector<unsigned> Changed;
};

} // namespace pcere

#endif
