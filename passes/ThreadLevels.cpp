//===- passes/ThreadLevels.cpp - code for the inside of regions alone, or for their outside -------------------------------------------===//
//
//   void fill(double *at, long from, long to) {
//     #pragma omp parallel for if (!omp_in_parallel())      never entered by the threads of a region that calls it for parts of their own
//
// A region of one thread is none to omp_in_parallel, but its thread has the number 0, and so nothing of its own.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "ThreadCalls.h"
#include "ThreadFlow.h"

#include "llvm/IR/Constants.h"

using namespace llvm;

namespace pcere {

static constexpr StringLiteral Askers[] = {"omp_get_level", "omp_get_active_level", "omp_in_parallel"};

/// Is it how deep in regions the caller is, as the program asks for it, and keeps it in a variable of its own?
static bool isLevel(const Value *V) {
  V = withoutCasts(V);
  auto *Load = dyn_cast<LoadInst>(V);
  if (auto *Local = Load ? dyn_cast<AllocaInst>(Load->getPointerOperand()) : nullptr)
    V = onlyValue(*Local) ? withoutCasts(onlyValue(*Local)) : V;
  auto *Call = dyn_cast<CallBase>(V);
  StringRef Name = Call ? calleeName(*Call) : StringRef();
  Name.consume_back("_"); // Fortran's
  return is_contained(Askers, Name);
}

/// Whether comparing a level so tells that it is 0, or that it is not; or neither.
static std::optional<bool> isOutside(const ICmpInst &Compare, bool Truth) {
  for (unsigned K : {0u, 1u}) {
    auto *With = dyn_cast<ConstantInt>(Compare.getOperand(1 - K));
    if (!With || !isLevel(Compare.getOperand(K)))
      continue;
    ICmpInst::Predicate How = K ? Compare.getSwappedPredicate() : Compare.getPredicate();
    How = Truth ? How : ICmpInst::getInversePredicate(How);
    const APInt &Number = With->getValue();
    bool Zero = ICmpInst::compare(APInt(Number.getBitWidth(), 0), Number, How), More = false;
    for (uint64_t Level : {1, 2, 3})
      More |= ICmpInst::compare(APInt(Number.getBitWidth(), Level), Number, How);
    if (Zero != More)
      return Zero;
  }
  return std::nullopt;
}

void ThreadFlow::findLevels() {
  SetVector<const Function *> Asking;
  auto Add = [&](const Function *Asker) {
    if (Asker)
      for (const User *U : Asker->users())
        if (auto *Call = dyn_cast<CallBase>(U))
          Asking.insert(Call->getFunction());
  };
  for (StringRef Name : Askers) {
    Add(M.getFunction(Name));
    Add(M.getFunction((Name + "_").str()));
  }
  for (const Function *F : Asking)
    for (const BasicBlock &Block : *F)
      for (auto [Compare, Truth] : impliedAt(Block, Control.of(*F).Tree))
        if (std::optional<bool> Outside = isOutside(*Compare, Truth))
          (*Outside ? OutsideAlone : InsideAlone).insert(&Block);
}

bool ThreadFlow::isNeverRun(const BasicBlock &Block) const {
  return Apart >= ByOwner && (Instances[Here].Owner ? OutsideAlone : InsideAlone).contains(&Block);
}

} // namespace pcere
