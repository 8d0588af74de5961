//===- passes/ThreadPrecision.cpp - what is told apart: calls of small functions, then all calls, then the regions that run a function --------===//
//
// Small functions are looked at once for each call, in each instance of its caller, as if they stood there: allocators in a row, what frees memory, asks for threads, or shares out work. How small
// is what fits; those whose result is memory that they allocate are in any case.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "ThreadCalls.h"
#include "ThreadFlow.h"

#include "llvm/IR/InstIterator.h"

using namespace llvm;

namespace pcere {

void ThreadFlow::addCost(const Function &F, Costs &All, DenseSet<const Function *> &Open) const {
  static constexpr uint64_t MakerMost = 100;
  Cost Of;
  Open.insert(&F);
  Of.Own = F.getInstructionCount();
  for (const Instruction &I : instructions(F)) {
    auto *Call = dyn_cast<CallBase>(&I);
    if (!Call)
      continue;
    Functions Callees = targets(*Call);
    bool Forks = forkPath(*Call) >= 0 && Call->arg_size() >= 3;
    if (Forks)
      Callees = {dyn_cast<Function>(Call->getArgOperand(2)->stripPointerCasts())};
    Of.Maker |= allocationSize(likelyName(*Call)).second > 0;
    for (const Function *Callee : Callees) {
      if (!Callee || Callee->isDeclaration())
        continue;
      if (Callee != &F && !Open.count(Callee) && !All.count(Callee))
        addCost(*Callee, All, Open);
      auto Slot = All.find(Callee);
      Of.Maker |= Slot != All.end() && Slot->second.Maker;
      (Forks ? Of.Forks : Of.Callees).push_back(Callee);
    }
  }
  Of.Maker &= F.getReturnType()->isPointerTy() && Of.Own <= MakerMost;
  Open.erase(&F);
  All.insert({&F, Of});
}

ThreadFlow::Costs ThreadFlow::costs() const {
  Costs All;
  DenseSet<const Function *> Open;
  for (const Function &F : M)
    if (!F.isDeclaration() && !All.count(&F))
      addCost(F, All, Open);
  DenseSet<const Function *> Before;
  for (auto &[F, Of] : All) {           // each circle of calls has a function that comes after one of its callers
    for (const auto *List : {&Of.Callees, &Of.Forks})
      for (const Function *Callee : *List)
        if (Callee != F && !Before.count(Callee))
          All.find(Callee)->second.Head = true;
    Before.insert(F);
  }
  return All;
}

/// Make functions small that have, with the small ones that they call, no more than \p TreeMost instructions. What has to be looked at then.
uint64_t ThreadFlow::tellApart(Costs &All, const DenseMap<const Function *, uint64_t> &Times, uint64_t TreeMost) {
  uint64_t Whole = 0;
  Small.clear();
  for (auto &[F, Of] : All) {
    Of.Tree = Of.Own;
    for (const auto *List : {&Of.Callees, &Of.Forks})
      for (const Function *Callee : *List)
        if (Callee != F && Small.count(Callee))
          Of.Tree += All.find(Callee)->second.Tree;
    if (Of.Maker || (!Of.Head && Of.Tree <= TreeMost))
      Small.insert(F);
    else
      Whole += std::max<uint64_t>(Times.lookup(F), 1) * Of.Tree;
  }
  return Whole;
}

/// As much is told apart as can be looked at in a second or two, and no more than so many times the program.
void ThreadFlow::choosePrecision() {
  static constexpr uint64_t TreeLeast = 16, TreeMost = 1 << 20;
  Costs All = costs();
  DenseMap<const Function *, uint64_t> Entered, ByOwners, ByCalls; // Entered: by how many owners
  auto Each = [&](const SetVector<Function *> &Functions, auto Do) {
    for (const Function *F : Functions)
      if (auto Slot = All.find(F); Slot != All.end())
        Do(F, Slot->second);
  };
  auto Enter = [&](const SetVector<Function *> &By) {
    DenseSet<const Function *> Forked;
    Each(By, [&](const Function *, const Cost &Of) { Forked.insert(Of.Forks.begin(), Of.Forks.end()); });
    for (const Function *F : Forked)
      Entered[F]++;
  };
  uint64_t Owners = 0, Calls = 0;
  auto Add = [&](const SetVector<Function *> &Functions, uint64_t Times) {
    Each(Functions, [&](const Function *F, const Cost &Of) {
      ByOwners[F] += Times;
      Owners += Times * Of.Own;
      Calls += Times * Of.Own;
      for (const auto *List : {&Of.Callees, &Of.Forks})
        for (const Function *Callee : *List) {
          ByCalls[Callee] += Times;
          Calls += Times * All.find(Callee)->second.Own;
        }
    });
  };
  Enter(Serial);
  for (const Microtask &R : Microtasks)
    Enter(R.Reached);
  Add(Serial, 1);
  for (const Microtask &R : Microtasks)
    Add(R.Reached, std::max<uint64_t>(Entered[R.F], 1));
  Apart = Calls <= InstructionsMost ? ByCall : Owners <= InstructionsMost ? ByOwner : ByFunction;
  const DenseMap<const Function *, uint64_t> None, &Times = Apart == ByCall ? ByCalls : Apart == ByOwner ? ByOwners : None;
  uint64_t Tree = TreeLeast, Whole = 0;
  for (const auto &[F, Of] : All)
    Whole += Of.Own;
  uint64_t Most = std::min(InstructionsMost, std::max(Owners, Calls) + 8 * Whole);
  while (Tree < TreeMost && tellApart(All, Times, Tree * 2) <= Most)
    Tree *= 2;
  tellApart(All, Times, Tree);
}

} // namespace pcere
