//===- passes/ThreadPurposes.cpp - numbers are followed through plain arithmetic, variables, parameters and results ----------------------===//

#include "ThreadPurposes.h"

#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace pcere {

/// Conditions may be joined first.
bool Purposes::endsLoop(const Value &Condition, unsigned Depth) {
  static constexpr unsigned JoinsMost = 3;
  for (const User *U : Condition.users()) {
    auto *I = dyn_cast<Instruction>(U);
    if (!I)
      continue;
    if (!I->isTerminator()) {
      if (Depth < JoinsMost && I->getType()->isIntegerTy(1) && !isa<CallBase>(I) && endsLoop(*I, Depth + 1))
        return true;
      continue;
    }
    for (const Loop *L = Of.of(*I->getFunction()).Loops.getLoopFor(I->getParent()); L; L = L->getParentLoop())
      for (unsigned K = 0; K < I->getNumSuccessors(); ++K)
        if (!L->contains(I->getSuccessor(K)))
          return true;
  }
  return false;
}

/// Into a function of the program's, or through one that chooses.
void Purposes::followCall(const CallBase &Call, const Use &U) {
  const Function *Callee = Call.getCalledFunction();
  auto *Known = dyn_cast<IntrinsicInst>(&Call);
  Intrinsic::ID ID = Known ? Known->getIntrinsicID() : Intrinsic::not_intrinsic;
  if (ID == Intrinsic::smin || ID == Intrinsic::smax || ID == Intrinsic::umin || ID == Intrinsic::umax)
    Same.insert(&Call);
  else if (Callee && !Callee->isDeclaration() && Call.isArgOperand(&U) && Call.getArgOperandNo(&U) < Callee->arg_size())
    Same.insert(Callee->getArg(Call.getArgOperandNo(&U)));
}

bool leavesWholeRounds(const APInt &Mask) {
  static constexpr unsigned LowMost = 8, KeptLeast = 16;
  unsigned Low = 0, Kept = 0;
  return Mask.isShiftedMask(Low, Kept) && Low <= LowMost && Kept >= KeptLeast;
}

void Purposes::follow(const Use &U) {
  auto *I = cast<Instruction>(U.getUser());
  if (auto *Call = dyn_cast<CallBase>(I))
    return followCall(*Call, U);
  if (auto *Store = dyn_cast<StoreInst>(I); Store && isa<AllocaInst>(Store->getPointerOperand()) && U.getOperandNo() == 0)
    for (const User *Reader : Store->getPointerOperand()->users())
      if (isa<LoadInst>(Reader))
        Same.insert(Reader);
  if (auto *Return = dyn_cast<ReturnInst>(I))
    for (const User *Caller : Return->getFunction()->users())
      if (auto *Call = dyn_cast<CallBase>(Caller); Call && Call->getCalledFunction() == Return->getFunction())
        Same.insert(Call);
  switch (I->getOpcode()) {
  case Instruction::Add:
  case Instruction::Sub:
  case Instruction::Mul:
  case Instruction::Shl:
  case Instruction::SDiv:
  case Instruction::UDiv:
  case Instruction::SExt:
  case Instruction::ZExt:
  case Instruction::Trunc:
  case Instruction::FPExt:
  case Instruction::PHI:
  case Instruction::Freeze:
    Same.insert(I);
    break;
  case Instruction::PtrToInt: // the distance between two pointers
    Same.insert(I);
    break;
  case Instruction::AShr:
    if (I->isExact())
      Same.insert(I);
    break;
  case Instruction::And:
    if (auto *Mask = dyn_cast<ConstantInt>(I->getOperand(1)); Mask && leavesWholeRounds(Mask->getValue()))
      Same.insert(I);
    break;
  case Instruction::Select:
    if (U.getOperandNo() > 0)
      Same.insert(I);
    break;
  default:
    break;
  }
}

Purposes::Purpose Purposes::use(const Use &U) {
  if (isa<GetElementPtrInst>(U.getUser()))
    return Place;
  if (isa<CmpInst>(U.getUser()) && endsLoop(*U.getUser()))
    return Bound;
  if (isa<Instruction>(U.getUser()))
    follow(U);
  return Nothing;
}

Purposes::Purpose Purposes::of(const Value &Number) {
  static constexpr size_t ValuesMost = 200;
  Purpose Found = Nothing;
  Same.clear();
  Same.insert(&Number);
  for (size_t K = 0; K < Same.size() && K < ValuesMost && Found != Bound; ++K) {
    const Value *V = Same[K];
    for (const Use &U : V->uses())
      Found = std::max(Found, use(U));
  }
  return Found;
}

} // namespace pcere
