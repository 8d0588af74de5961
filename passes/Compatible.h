//===- passes/Compatible.h - what differs between the versions of LLVM that the plugin is built for -------------------------===//
//
// The one place that asks which version this is; everything else is the same source for all of them.
//
//===------------------------------------------------------------------------------------------------------------------------===//
#ifndef PCERE_PASSES_COMPATIBLE_H
#define PCERE_PASSES_COMPATIBLE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/xxhash.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"
#if LLVM_VERSION_MAJOR >= 22
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif
#if LLVM_VERSION_MAJOR >= 17
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#else
#include "llvm/ADT/Triple.h"
#include "llvm/Support/Host.h"
#endif

namespace pcere {

/// Run \p Add(Manager, Level) at the end of the optimiser's pipeline.
template <typename Function> void atPipelineEnd(llvm::PassBuilder &Builder, Function Add) {
#if LLVM_VERSION_MAJOR >= 20
  Builder.registerOptimizerLastEPCallback(
      [Add](llvm::ModulePassManager &Manager, llvm::OptimizationLevel Level, llvm::ThinOrFullLTOPhase) { Add(Manager, Level); });
#else
  Builder.registerOptimizerLastEPCallback([Add](llvm::ModulePassManager &Manager, llvm::OptimizationLevel Level) { Add(Manager, Level); });
#endif
}

/// What this machine's processor has and what it lacks, by LLVM's names.
inline llvm::StringMap<bool> hostFeatures() {
#if LLVM_VERSION_MAJOR >= 19
  return llvm::sys::getHostCPUFeatures();
#else
  llvm::StringMap<bool> Features;
  llvm::sys::getHostCPUFeatures(Features);
  return Features;
#endif
}

inline uint64_t contentHash(llvm::StringRef Bytes) {
#if LLVM_VERSION_MAJOR >= 17
  return llvm::xxh3_64bits(Bytes);
#else
  return llvm::xxHash64(Bytes);
#endif
}

/// Writes what scalar evolution knows as instructions.
struct Expander : llvm::SCEVExpander {
#if LLVM_VERSION_MAJOR >= 22
  Expander(llvm::ScalarEvolution &Evolution, const llvm::DataLayout &, const char *Name) : SCEVExpander(Evolution, Name, /*PreserveLCSSA=*/false) {}
#else
  Expander(llvm::ScalarEvolution &Evolution, const llvm::DataLayout &Layout, const char *Name)
      : SCEVExpander(Evolution, Layout, Name, /*PreserveLCSSA=*/false) {}
#endif
};

} // namespace pcere

#endif
