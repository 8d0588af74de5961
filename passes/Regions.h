//===- passes/Regions.h - OpenMP regions in a module --------------------------------------------------------------------===//
//
// Finds the places where a thread enters a parallel region, by what they call and never by how functions are named, and gives
// each region the name that users know it by: FUNCTION@FILE:LINE, with #2 for a second construct on one line.
//
//===------------------------------------------------------------------------------------------------------------------------===//
#ifndef PCERE_PASSES_REGIONS_H
#define PCERE_PASSES_REGIONS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

#include <string>
#include <vector>

namespace pcere {

/// One source region: the function that clang outlined for it, and what the source says about it.
struct Region {
  llvm::Function *Microtask = nullptr;
  std::string Name, Function, File;
  unsigned Line = 0;
};

/// One way into a region. The same region has several: the fork and the serial path of its `if` clause.
struct Entry {
  size_t RegionIndex = 0;
  int Path = 0;                       ///< enum pcere_path
  llvm::CallBase *First = nullptr;    ///< the fork call, or __kmpc_serialized_parallel
  llvm::CallBase *Last = nullptr;     ///< the fork call, or __kmpc_end_serialized_parallel
  llvm::Value *NumThreads = nullptr;  ///< of the clause, or null
  llvm::Value *ProcBind = nullptr;    ///< of the clause, or null
  llvm::SmallVector<llvm::Value *, 16> Words;
};

struct RegionTable {
  std::vector<Region> Regions;
  std::vector<Entry> Entries;
};

/// All regions of \p M in the order of its functions and instructions.
RegionTable findRegions(llvm::Module &M);

/// The function that \p Call calls by name, or "".
llvm::StringRef calleeName(const llvm::CallBase &Call);

/// The source function around \p F, as users know it: outlined functions carry its name.
std::string sourceFunction(const llvm::Function &F);

/// The fork call of clang's OpenMP ABI that \p Call is, as an enum pcere_path, or -1.
int forkPath(const llvm::CallBase &Call);

} // namespace pcere

#endif
