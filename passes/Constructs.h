//===- passes/Constructs.h - each OpenMP construct of a module, and an identity that is the same in every build --------------===//
//
// Runtime calls say by their ident_t where they come from. Without -g all of them share a few, with -g neither address nor line is fit as an identity. So
// each construct gets ident_t's of its own, whose source string ends in its id: ";file;function;line;column;;pcere:0123456789abcdef;". No instruction
// changes, just the constants that calls are given.
//
// The id is a hash of the unit's file name without folders, the function and the construct's ordinal in the function, counted in the order of the source, through
// outlined functions, before any optimisation; of a function that only its unit knows also a name that this unit offers to others.
//
//===------------------------------------------------------------------------------------------------------------------------===//
#ifndef PCERE_PASSES_CONSTRUCTS_H
#define PCERE_PASSES_CONSTRUCTS_H

#include "llvm/IR/Module.h"

#include <string>
#include <vector>

namespace pcere {

struct Construct {
  uint64_t Id = 0;
  uint64_t Parent = 0;                ///< id of the construct in whose outlined body it lies, or 0
  unsigned Kind = 0;                  ///< enum pcere_construct_kind
  unsigned Line = 0, Column = 0;      ///< 0 where nothing tells
  unsigned Ordinal = 0;               ///< in its source function
  std::string Function, File;         ///< as in Region
  std::string Region;                 ///< name of the parallel region that it is, or lies in, as far as its function tells; or ""
};

/// Give every call of \p M to the OpenMP runtime the id of its construct. Run it before embedBitcode, so that codelets have the same ids. A
/// module whose calls have ids already is left as it is; nothing is returned for it.
std::vector<Construct> identifyConstructs(llvm::Module &M);

/// Write the table into .pcere.con, which is not loaded. Run it after embedBitcode, which gives the unit its id.
void embedConstructs(llvm::Module &M, const std::vector<Construct> &Constructs);

} // namespace pcere

#endif
