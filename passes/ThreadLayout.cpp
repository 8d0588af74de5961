//===- passes/ThreadLayout.cpp - where addresses lead in objects, and what variables begin with -------------------------------------===//

#include "ThreadLayout.h"

#include "llvm/IR/GetElementPtrTypeIterator.h"

using namespace llvm;

namespace pcere {

static int64_t offset(const StructLayout &Of, unsigned Field) { return static_cast<int64_t>(static_cast<uint64_t>(Of.getElementOffset(Field))); }

int64_t foldedOffset(const GEPOperator &I, const DataLayout &Layout) {
  int64_t Distance = 0;
  for (auto Type = gep_type_begin(I), End = gep_type_end(I); Type != End; ++Type)
    if (StructType *Of = Type.getStructTypeOrNull())
      Distance += offset(*Layout.getStructLayout(Of), static_cast<unsigned>(cast<ConstantInt>(Type.getOperand())->getZExtValue()));
  return Distance;
}

bool isVirtualBase(const GetElementPtrInst &I) {
  auto *Distance = I.getNumIndices() == 1 ? dyn_cast<LoadInst>(I.getOperand(1)) : nullptr;
  auto *Entry = Distance ? dyn_cast<GEPOperator>(Distance->getPointerOperand()) : nullptr;
  auto *Back = Entry && Entry->getNumIndices() == 1 ? dyn_cast<ConstantInt>(Entry->getOperand(1)) : nullptr;
  auto *Table = Back && Back->isNegative() ? dyn_cast<LoadInst>(Entry->getPointerOperand()) : nullptr;
  return Table && Table->getType()->isPointerTy() && I.getSourceElementType()->isIntegerTy(8);
}

bool isObjectTable(const GlobalVariable &V) { return V.getName().starts_with("_ZTV") || V.getName().starts_with("_ZTC"); }

static void addPointers(const Constant &Begin, int64_t Exact, int64_t Folded, const DataLayout &Layout, std::vector<Pointed> &All) {
  if (auto *Struct = dyn_cast<ConstantStruct>(&Begin)) {
    const StructLayout *Fields = Layout.getStructLayout(Struct->getType());
    for (unsigned K = 0; K < Struct->getNumOperands(); ++K)
      addPointers(*Struct->getOperand(K), Exact + offset(*Fields, K), Folded + offset(*Fields, K), Layout, All);
  } else if (auto *Array = dyn_cast<ConstantArray>(&Begin)) {
    auto Size = static_cast<int64_t>(static_cast<uint64_t>(Layout.getTypeAllocSize(Array->getType()->getElementType())));
    for (unsigned K = 0; K < Array->getNumOperands(); ++K)
      addPointers(*Array->getOperand(K), Exact + K * Size, Folded, Layout, All);
  } else if (Begin.getType()->isPointerTy() && !isa<ConstantData>(Begin)) {
    All.push_back({&Begin, Exact, Folded});
  }
}

std::vector<Pointed> pointersIn(const Constant &Begin, const DataLayout &Layout) {
  std::vector<Pointed> All;
  addPointers(Begin, 0, 0, Layout, All);
  return All;
}

} // namespace pcere
