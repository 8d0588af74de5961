//===- passes/ThreadLayout.h - where addresses lead in objects, and what variables begin with ---------------------------------------===//
#ifndef PCERE_PASSES_THREADLAYOUT_H
#define PCERE_PASSES_THREADLAYOUT_H

#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"

#include <vector>

namespace pcere {

/// Bytes that \p I goes on, in an array's first element where its indices are not all constant.
int64_t foldedOffset(const llvm::GEPOperator &I, const llvm::DataLayout &Layout);

/// Where an object's table says that a virtual base of it is: nothing that it has itself at its begin.
bool isVirtualBase(const llvm::GetElementPtrInst &I);

/// Of a C++ class, or while one of its bases is made.
bool isObjectTable(const llvm::GlobalVariable &V);

/// A pointer that a variable has from its begin, so many bytes behind that; Folded: in the first element of each array.
struct Pointed { const llvm::Constant *To; int64_t Exact, Folded; };
std::vector<Pointed> pointersIn(const llvm::Constant &Begin, const llvm::DataLayout &Layout);

} // namespace pcere

#endif
