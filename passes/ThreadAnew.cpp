//===- passes/ThreadAnew.cpp - numbers of threads that a region sets anew before it reads them ----------------------------------------===//
//
//   pool->threads = omp_get_max_threads()      region: single { pool->threads = omp_get_num_threads(); } .. each: compute(pool)
//
// What compute() finds there is the team's own, whatever was there before the region. Where the region's own function stores it, in each thread or in a construct that one thread runs and that a barrier follows, and
// whatever else of the program it calls comes behind that. A shared variable that the same function reads is seen while it is walked (ThreadWalk.cpp).
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "ThreadCalls.h"
#include "ThreadFlow.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace pcere {

/// Does \p V tell how many threads the team has that runs it?
static bool isOwnTeam(const Value *V) {
  auto *Call = dyn_cast<CallBase>(withoutCasts(V));
  StringRef Name = Call ? calleeName(*Call) : StringRef();
  Name.consume_back("_"); // Fortran's
  return Name == "omp_get_num_threads";
}

/// Behind which instruction each thread finds what \p Store sets: itself, or a barrier behind the construct, whose end it always comes before; or null.
static const Instruction *settledAt(const StoreInst &Store, Shape &Of) {
  const Function &F = *Store.getFunction();
  if (const Instruction *Begin = beginOfConstruct(Store, Of.Tree, {"__kmpc_single", "__kmpc_master", "__kmpc_masked"})) {
    const Instruction *Point = nullptr;
    bool Ended = false;
    for (const Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallBase>(&I);
      StringRef Name = Call && Of.Tree.dominates(Begin, Call) ? calleeName(*Call) : StringRef();
      Ended |= Name.starts_with("__kmpc_end_") && Of.Tree.dominates(&Store, Call);
      if (Name == "__kmpc_barrier" && !Point)
        Point = Call;
    }
    return Ended ? Point : nullptr;
  }
  for (const BasicBlock &Block : F)
    if (isa<ReturnInst>(Block.getTerminator()) && !Of.Tree.dominates(&Store, Block.getTerminator()))
      return nullptr;
  return &Store;
}

/// Whether all that \p F calls of the program comes behind \p Point.
bool ThreadFlow::isSetBefore(const Instruction &Point, const Function &F) const {
  const DominatorTree &Tree = const_cast<Shapes &>(Control).of(F).Tree;
  return all_of(instructions(F), [&](const Instruction &I) {
    auto *Call = dyn_cast<CallBase>(&I);
    if (!Call || isa<IntrinsicInst>(Call) || Call == &Point || Tree.dominates(&Point, Call))
      return true;
    const Function *Callee = callee(*Call);
    return Callee && Callee->isDeclaration();
  });
}

/// Reads of that class in the owner's region: in its own function behind \p Point, in others anywhere.
void ThreadFlow::readsOwn(unsigned Class, unsigned Owner, const Instruction &Point) {
  static constexpr size_t CopiesMost = 64; // a class with more of them is no one variable's
  if (isWide(Class) || entering(Class).size() > CopiesMost)
    return;
  const Function &F = *Point.getFunction();
  const DominatorTree &Tree = Control.of(F).Tree;
  for (unsigned In = 1; In < Instances.size(); ++In) {
    if (owners(Instances[In]) != Alone[Owner])
      continue;
    for (const Instruction &I : instructions(*Instances[In].F)) {
      auto *Atomic = dyn_cast<AtomicRMWInst>(&I);
      const Value *From = Atomic ? Atomic->getPointerOperand() : isa<LoadInst>(I) ? I.getOperand(0) : nullptr;
      if (!From || !I.getType()->isIntegerTy() || carriesNothing(From) || (Instances[In].F == &F && !Tree.dominates(&Point, &I)))
        continue;
      if (find(content(nodeIn(In, From))) == Class)
        for (unsigned E : entering(find(nodeIn(In, &I))))
          if (find(Edges[E].From) == Class && Edges[E].How == Edge::Copied)
            Edges[E].How = Edge::Own, Edges[E].In = In;
    }
  }
}

void ThreadFlow::findSetAnew() {
  for (unsigned In = 1; In < Instances.size(); ++In) {
    const Function &F = *Instances[In].F;
    const BitVector &Own = owners(Instances[In]);
    if (!eachThreadRuns(F) || Own.count() != 1 || Own.test(0))
      continue;
    for (const Instruction &I : instructions(F)) {
      auto *Store = dyn_cast<StoreInst>(&I);
      if (!Store || isa<AllocaInst>(Store->getPointerOperand()) || carriesNothing(Store->getPointerOperand()) || !isOwnTeam(Store->getValueOperand()))
        continue;
      const Instruction *Point = settledAt(*Store, Control.of(F));
      if (Point && isSetBefore(*Point, F))
        readsOwn(find(content(nodeIn(In, Store->getPointerOperand()))), static_cast<unsigned>(Own.find_first()), *Point);
    }
  }
}

} // namespace pcere
