//===- passes/Touches.h - which memory an instruction reads and writes ----------------------------------------------------------===//
//
// Of intermediate code, for whoever has code added that watches it.
//
//===------------------------------------------------------------------------------------------------------------------------===//
#ifndef PCERE_PASSES_TOUCHES_H
#define PCERE_PASSES_TOUCHES_H

#include "llvm/IR/IRBuilder.h"

namespace pcere {

/// One stretch of memory, or, with \p Lanes, one for each element whose mask is set.
struct Touch {
  llvm::Instruction *I;
  llvm::Value *Address;          ///< a pointer; with Lanes a vector of them
  llvm::Value *Length = nullptr; ///< in bytes, of a block that is copied or filled; else null, and it is Bytes
  uint64_t Bytes = 0;
  llvm::Value *Lanes = nullptr;  ///< of a gather or scatter: its mask. Bytes is an element's
  bool Loads = false, Stores = false;
};

/// Append what \p I touches: nothing for most; two for a copied block. Masked vectors that lie together are one stretch, whole.
void findTouches(llvm::Instruction &I, llvm::SmallVectorImpl<Touch> &Touches);

} // namespace pcere

#endif
