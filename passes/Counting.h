//===- passes/Counting.h - code that counts what a unit's code does, added after optimisation -----------------------------------===//
//
// What is counted and how it is offered: include/pcere/counts.h.
//
//===------------------------------------------------------------------------------------------------------------------------===//
#ifndef PCERE_PASSES_COUNTING_H
#define PCERE_PASSES_COUNTING_H

#include "include/pcere/counts.h"

#include "Touches.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/ValueHandle.h"

#include <array>

namespace pcere {

struct CountMode {
  bool Totals = false;
  bool Blocks = false;     ///< Totals, and each block
  bool Accesses = false;   ///< Totals, and each access to memory is told as it happens
  bool Iterations = false; ///< each iteration of a worksharing loop is told as it begins
};

/// Words joined by commas: ir, blocks, cache, iterations. Anything else but "" is an error of the compilation, and \p From says where it was found;
/// without that it is left out.
CountMode countMode(llvm::LLVMContext &Context, llvm::StringRef Word, llvm::StringRef From);

/// Count in all functions that \p M defines. Run it at the very end: what it adds is not counted, and must not be embedded. \p InPlace: add
/// each block's counts where it runs, with no regard to cost: what cheaper ways are compared with.
void insertCounts(llvm::Module &M, const CountMode &Mode, bool InPlace, llvm::FunctionAnalysisManager &Analyses);

/// Have every iteration of the worksharing loops, taskloops and distribute constructs, and every section, that \p M holds told to __pcere_iteration. Run it at the pipeline's start, behind
/// embedBitcode: it must not be embedded, and finds the loops as the compiler's front end wrote them.
void watchIterations(llvm::Module &M, const CountMode &Mode);

/// Let \p Caller, which is empty but for its entry, call \p Hook if there is such a function at run time, and return.
void callIfPresent(llvm::Function &Caller, llvm::StringRef Hook, llvm::ArrayRef<llvm::Value *> Arguments);

/// A function of this name that returns nothing, of which an image has one however many units define it: empty but for its entry.
llvm::Function *sharedFunction(llvm::Module &M, llvm::StringRef Name, llvm::FunctionType *Kind);

/// What is added has this at the beginning of its name, is not counted, and calling it is not counted either.
inline constexpr llvm::StringLiteral OwnPrefix = "__pcere_counts_";

/// Accesses to memory as code had them before anything was counted, for watching them afterwards.
class AccessWatch {
  llvm::SmallVector<std::pair<llvm::WeakTrackingVH, Touch>, 64> Touches;

public:
  void find(llvm::Function &F);
  /// Have each told to __pcere_cache_access before it happens.
  void insert(llvm::Module &M);
};

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
