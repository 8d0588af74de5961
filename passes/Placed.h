//===- passes/Placed.h - which constants lie in a codelet where the program had them, and which uses of functions mean those ---===//
#ifndef PCERE_PASSES_PLACED_H
#define PCERE_PASSES_PLACED_H

#include "Regions.h"
#include "Stages.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/IntrinsicInst.h"

namespace pcere {

/// Of a class that no other unit knows: objects hold its address.
inline bool isOwnVirtualTable(const llvm::GlobalVariable &V) { return V.hasLocalLinkage() && V.getName().starts_with("_ZTV"); }

/// A constant that captured memory may point to, and that pointers are compared with: tables of functions, virtual tables, types. Those that nobody can tell from
/// others like them by their address are each unit's own.
inline bool isPlacedConstant(const llvm::GlobalVariable &V) {
  return V.isConstant() && !V.isDeclarationForLinker() && !V.hasAppendingLinkage() && !V.hasPrivateLinkage() && !V.hasSection() &&
         (!(V.hasLocalLinkage() && V.hasGlobalUnnamedAddr()) || isOwnVirtualTable(V)) && !V.getName().starts_with("llvm.") && !V.getName().starts_with(".pcere") && !isRuntimeState(V);
}

/// Text or numbers that are each unit's own. No addresses: a table of such constants must keep nothing else alive.
inline bool isOwnConstant(const llvm::GlobalVariable &V) {
  return V.isConstant() && V.hasInitializer() && llvm::isa<llvm::ConstantDataSequential, llvm::ConstantAggregateZero>(V.getInitializer()) &&
         !isPlacedConstant(V) && V.hasLocalLinkage() && !V.isThreadLocal() && !V.hasComdat() && !V.hasSection() && !V.getName().starts_with("llvm.");
}

/// Does this use of a function take its address other than to call it or to tell the OpenMP runtime? Addresses are told apart by comparing them.
inline bool takesAddress(const llvm::Use &U) {
  if (auto *Trampoline = llvm::dyn_cast<llvm::IntrinsicInst>(U.getUser()); Trampoline && Trampoline->getIntrinsicID() == llvm::Intrinsic::init_trampoline)
    return false; // of an internal procedure, which must be the function itself
  if (auto *Call = llvm::dyn_cast<llvm::CallBase>(U.getUser()))
    return !Call->isCallee(&U) && !calleeName(*Call).starts_with("__kmpc_");
  return llvm::isa<llvm::Instruction, llvm::ConstantAggregate, llvm::ConstantExpr, llvm::GlobalVariable>(U.getUser());
}

} // namespace pcere

#endif
