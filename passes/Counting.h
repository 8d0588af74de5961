//===- passes/Counting.h - code that counts what a unit's code does, added after optimisation -----------------------------------===//
//
// What is counted and how it is offered: include/pcere/counts.h.
//
//===------------------------------------------------------------------------------------------------------------------------===//
#ifndef PCERE_PASSES_COUNTING_H
#define PCERE_PASSES_COUNTING_H

#include "include/pcere/counts.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"

#include <array>

namespace pcere {

enum class CountMode { None, Totals, Blocks };

/// "ir" or "blocks"; anything else but "" is an error of the compilation, and \p From says where it was found.
CountMode countMode(llvm::LLVMContext &Context, llvm::StringRef Word, llvm::StringRef From);

/// Count in all functions that \p M defines. Run it at the very end: what it adds is not counted, and must not be embedded. \p InPlace: add
/// each block's counts where it runs, with no regard to cost: what cheaper ways are compared with.
void insertCounts(llvm::Module &M, CountMode Mode, bool InPlace, llvm::FunctionAnalysisManager &Analyses);

/// How much each of enum pcere_count grows by.
struct Weights {
  std::array<uint64_t, PCERE_COUNT_END> Of{};

  bool empty() const;
  Weights &operator+=(const Weights &Other);
};

/// What one execution of \p I adds. Lengths that are known only at run time are left out.
Weights weigh(const llvm::Instruction &I);

/// The length of a block that is copied or filled, where it is no constant; or null.
llvm::Value *variableLength(const llvm::Instruction &I);

using FunctionSet = llvm::SmallPtrSet<const llvm::Function *, 32>;

/// Functions of \p M from which nothing can be called that looks at counts, and that nothing leaves but by returning.
FunctionSet quietFunctions(const llvm::Module &M, llvm::FunctionAnalysisManager &Analyses);

/// Can \p I lead to code that looks at counts, or to a place other than the next instruction? \p Quiet are functions that cannot.
bool isLoud(const llvm::Instruction &I, const FunctionSet &Quiet, const llvm::TargetLibraryInfo &Library);

} // namespace pcere

#endif
