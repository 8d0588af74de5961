//===- passes/Placed.h - which constants lie in a codelet where the program had them ---------------------------------------===//
#ifndef PCERE_PASSES_PLACED_H
#define PCERE_PASSES_PLACED_H

#include "Stages.h"

#include "llvm/IR/GlobalVariable.h"

namespace pcere {

/// A constant that captured memory may point to, and that pointers are compared with: tables of functions, virtual tables, types. Those that nobody can tell from
/// others like them by their address are each unit's own.
inline bool isPlacedConstant(const llvm::GlobalVariable &V) {
  return V.isConstant() && !V.isDeclarationForLinker() && !V.hasAppendingLinkage() && !V.hasPrivateLinkage() && !V.hasSection() &&
         !(V.hasLocalLinkage() && V.hasGlobalUnnamedAddr()) && !V.getName().starts_with("llvm.") && !V.getName().starts_with(".pcere") && !isRuntimeState(V);
}

} // namespace pcere

#endif
