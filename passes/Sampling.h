//===- passes/Sampling.h - may a codelet run only a part of a region's iterations? ----------------------------------------===//
#ifndef PCERE_PASSES_SAMPLING_H
#define PCERE_PASSES_SAMPLING_H

#include "llvm/IR/PassManager.h"

#include <string>

namespace pcere {

struct Sampling {
  std::string Whole;     ///< why it must run whole, in words, or ""
  bool Tasks = false;    ///< it makes tasks: these are sampled, and no loops
  bool OneBlock = false; ///< its loops may allocate, or call what may
  bool Restored = false; ///< what decides is written by it as well, outside of loops: the next shot must find it as this one did
  bool Shares = false;   ///< threads that are free take what is left to do: loops without a static schedule, tasks
  bool Once = false;     ///< its iterations step counters that are indices: no iteration may run twice on the same memory
};

/// Does \p Microtask, or what it calls in its unit, hand out work to threads that are free: loops without a static schedule, tasks?
bool sharesWork(const llvm::Function &Microtask);

/// Judge all regions of a codelet's module, and remember it for samplingOf. Run it at the pipeline's end, before finishCodelet.
void judgeSampling(llvm::Module &M, llvm::FunctionAnalysisManager &Analyses);

/// What judgeSampling found out about a region's outlined function.
Sampling samplingOf(const llvm::Function &Microtask);

/// What the region with the outlined function \p Microtask allows. Conservative: what is not understood must run whole.
Sampling judgeSampling(llvm::Function &Microtask, llvm::FunctionAnalysisManager &Analyses);

} // namespace pcere

#endif
