//===- passes/ThreadTargets.cpp - functions that are called through an object's table, where there is but one to choose from -----------===//
//
// A count of threads may be what a virtual function returns, and memory what another one allocates. Which one is called is known where all classes that the module has agree on a place of their tables,
// for functions of that type. Likewise of a call without arguments through any pointer, where the module has the address of one such function alone.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "ThreadCalls.h"
#include "ThreadFlow.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"

using namespace llvm;

namespace pcere {

using Slot = std::pair<int64_t, const FunctionType *>;
using Choices = std::map<Slot, const Function *>; ///< null: there are several

static constexpr int64_t AnySlot = -1;

static void offer(Choices &All, int64_t Offset, const Function &F) {
  auto [At, New] = All.try_emplace(Slot{Offset, F.getFunctionType()}, &F);
  if (!New && At->second != &F)
    At->second = nullptr;
}

/// Two words before the first function tell of the class.
static void offerTable(Choices &All, const GlobalVariable &Table, const DataLayout &Layout) {
  static constexpr unsigned First = 2;
  for (const Use &Part : Table.getInitializer()->operands()) {
    auto *Entries = dyn_cast<ConstantArray>(Part);
    for (unsigned K = First; Entries && K < Entries->getNumOperands(); ++K) {
      auto *F = dyn_cast<Function>(Entries->getOperand(K)->stripPointerCastsAndAliases());
      if (F && F->getName() != "__cxa_pure_virtual" && !F->getName().starts_with("_ZTh") && !F->getName().starts_with("_ZTv"))
        offer(All, int64_t(K - First) * Layout.getPointerSize(), *F);
    }
  }
}

/// Where in its object's table the function is that \p Call enters, or AnySlot.
static int64_t slot(const CallBase &Call, const DataLayout &Layout) {
  auto *Entry = dyn_cast<LoadInst>(Call.getCalledOperand());
  if (!Entry)
    return AnySlot;
  APInt Offset(Layout.getIndexTypeSizeInBits(Entry->getPointerOperandType()), 0);
  auto *Table = dyn_cast<LoadInst>(Entry->getPointerOperand()->stripAndAccumulateConstantOffsets(Layout, Offset, /*AllowNonInbounds=*/true));
  for (unsigned K = 0; Table && K < Call.arg_size() && K < 2; ++K) // behind where a result goes that is no register's
    if (Table->getPointerOperand() == Call.getArgOperand(K))
      return Offset.getSExtValue();
  return AnySlot;
}

void ThreadFlow::findTargets() {
  const DataLayout &Layout = M.getDataLayout();
  Choices All;
  for (const GlobalVariable &V : M.globals())
    if (V.getName().starts_with("_ZTV") && V.hasInitializer())
      offerTable(All, V, Layout);
  for (const Function &F : M)
    if (F.arg_empty() && F.getReturnType()->isIntegerTy() && F.hasAddressTaken())
      offer(All, AnySlot, F);
  if (All.empty())
    return;
  for (const Function &F : M)
    for (const Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallBase>(&I);
      if (!Call || !Call->isIndirectCall() || likelyCallee(*Call))
        continue;
      auto Chosen = All.find(Slot{slot(*Call, Layout), Call->getFunctionType()});
      if (Chosen != All.end() && Chosen->second && !Chosen->second->isDeclaration())
        Targets[Call] = Chosen->second;
    }
}

const Function *ThreadFlow::callee(const CallBase &Call) const {
  const Function *Likely = likelyCallee(Call);
  return Likely ? Likely : Targets.lookup(&Call);
}

} // namespace pcere
