//===- passes/ThreadArenas.h - memory that a program cuts from a larger piece of its own -------------------------------------------===//
#ifndef PCERE_PASSES_THREADARENAS_H
#define PCERE_PASSES_THREADARENAS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Instructions.h"

namespace pcere {

/// Pointers to what is cut, and as many bytes (or elements) each; a constant where it is always as much.
using Cut = llvm::SmallVector<std::pair<const llvm::Instruction *, const llvm::Value *>, 2>;

/// What is cut where \p Store notes that more of an arena is used.
Cut cutFromArena(const llvm::StoreInst &Store);

} // namespace pcere

#endif
