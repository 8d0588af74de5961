//===- passes/Touches.cpp - see Touches.h -----------------------------------------------------------------------------------------===//

#include "Touches.h"

#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace pcere {

static uint64_t sizeOf(const Instruction &I, Type *T) { return I.getModule()->getDataLayout().getTypeStoreSize(T).getKnownMinValue(); }

static void intrinsicTouches(IntrinsicInst &I, SmallVectorImpl<Touch> &Touches) {
  Value *First = I.arg_size() ? I.getArgOperand(0) : nullptr;
  switch (I.getIntrinsicID()) {
  case Intrinsic::masked_load:
  case Intrinsic::masked_expandload:
    Touches.push_back({&I, First, nullptr, sizeOf(I, I.getType()), nullptr, true, false});
    break;
  case Intrinsic::masked_store:
  case Intrinsic::masked_compressstore:
    Touches.push_back({&I, I.getArgOperand(1), nullptr, sizeOf(I, First->getType()), nullptr, false, true});
    break;
  case Intrinsic::masked_gather:
    Touches.push_back({&I, First, nullptr, sizeOf(I, I.getType()->getScalarType()), I.getArgOperand(I.arg_size() - 2), true, false});
    break;
  case Intrinsic::masked_scatter:
    Touches.push_back({&I, I.getArgOperand(1), nullptr, sizeOf(I, First->getType()->getScalarType()), I.getArgOperand(I.arg_size() - 1), false, true});
    break;
  default:
    if (auto *Copy = dyn_cast<MemTransferInst>(&I))
      Touches.push_back({&I, Copy->getRawSource(), Copy->getLength(), 0, nullptr, true, false});
    if (auto *Block = dyn_cast<MemIntrinsic>(&I))
      Touches.push_back({&I, Block->getRawDest(), Block->getLength(), 0, nullptr, false, true});
  }
}

void findTouches(Instruction &I, SmallVectorImpl<Touch> &Touches) {
  if (auto *Load = dyn_cast<LoadInst>(&I))
    Touches.push_back({&I, Load->getPointerOperand(), nullptr, sizeOf(I, I.getType()), nullptr, true, false});
  else if (auto *Store = dyn_cast<StoreInst>(&I))
    Touches.push_back({&I, Store->getPointerOperand(), nullptr, sizeOf(I, Store->getValueOperand()->getType()), nullptr, false, true});
  else if (auto *Update = dyn_cast<AtomicRMWInst>(&I))
    Touches.push_back({&I, Update->getPointerOperand(), nullptr, sizeOf(I, I.getType()), nullptr, true, true});
  else if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I))
    Touches.push_back({&I, Exchange->getPointerOperand(), nullptr, sizeOf(I, Exchange->getNewValOperand()->getType()), nullptr, true, true});
  else if (auto *Call = dyn_cast<IntrinsicInst>(&I))
    intrinsicTouches(*Call, Touches);
}

} // namespace pcere
