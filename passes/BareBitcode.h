//===- passes/BareBitcode.h - units of a captured program as modules, without their debug information -----------------------===//
#ifndef PCERE_PASSES_BAREBITCODE_H
#define PCERE_PASSES_BAREBITCODE_H

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Module.h"

#include <memory>
#include <string>

namespace pcere {

/// The unit in the file \p Path, which ends the compilation if it cannot be read. Calls, and allocations on the stack, have places that sourcePlace() understands.
std::unique_ptr<llvm::Module> readUnit(llvm::StringRef Path, llvm::LLVMContext &Context);

/// The same, but bodies of functions are read when they are materialized, and nothing has a place. \p Names: regions are to be named, which takes the debug information.
std::unique_ptr<llvm::Module> readUnitLazily(llvm::StringRef Path, llvm::LLVMContext &Context, bool Names);

/// "FILE:LINE" in the source where \p L is; of a header's code and of an allocator that were inlined, where these are called. "" where nothing tells.
std::string sourcePlace(const llvm::DILocation *L);

/// The same of \p I, but of code of the system's headers that was not inlined, where the program calls that, if only one line of it does.
std::string callingPlace(const llvm::Instruction &I);

} // namespace pcere

#endif
