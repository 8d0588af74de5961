//===- passes/Stages.h - what the plugin does to a module, stage by stage -------------------------------------------------===//
//
// In vivo (a user's build):      identifyConstructs, embedBitcode, embedConstructs, insertProbes at the pipeline's start; flagThreadSized, embedSymbols at its end.
// In vitro (-pcere-codelet):     prepareCodelet, insertProbes at the start; dropProbes, finishCodelet at the end. Contract: include/pcere/codelet_abi.h.
// Exporting (-pcere-export=FILE): exportUnit at the start; nothing at the end.
// Looking (-pcere-threads=FILE):  joinUnits at the start; writeThreadSized at the end.
// Asking (-pcere-reach=FILE):     writeReached at the start; nothing at the end.
//
//===------------------------------------------------------------------------------------------------------------------------===//
#ifndef PCERE_PASSES_STAGES_H
#define PCERE_PASSES_STAGES_H

#include "Regions.h"

#include "llvm/IR/PassManager.h"
#include "llvm/Passes/OptimizationLevel.h"

#include <cstdint>

namespace pcere {

/// Put bytes into a section that is not loaded.
void embedSection(llvm::Module &M, llvm::StringRef Section, llvm::StringRef Bytes);

/// Put the module as it is, with what is needed to build it again, into the section .pcere.bc, which is not loaded.
void embedBitcode(llvm::Module &M, llvm::OptimizationLevel Level);

/// Call the weak hooks of include/pcere/rt_abi.inc around every entry. Outlined functions themselves are not touched.
void insertProbes(llvm::Module &M, const RegionTable &Table);

/// Follow thread counts into allocations and indices, and write into the sites of the regions concerned why they hold only for the
/// thread count of the capture. Run it at the pipeline's end.
void flagThreadSized(llvm::Module &M);

/// Take the calls away again, and what only they need: optimisers saw them, and nobody is to be called.
void dropProbes(llvm::Module &M);

/// Which site belongs to an outlined function, for flagThreadSized.
void rememberSite(llvm::Function &Microtask, llvm::GlobalVariable &Site);

/// Whether that is known: the function's region is one of the capture's.
bool hasSite(const llvm::Function &Microtask);

/// The same by a region's name, for writeThreadSized.
void rememberName(llvm::Function &Microtask, llvm::StringRef Name);

/// As flagThreadSized, of a module whose outlined functions have names: a line "REGION\tREASON" each into \p File.
void writeThreadSized(llvm::Module &M, llvm::StringRef File);

/// Link the units into \p M whose bitcode files \p List names, a line each, and simplify what comes of it, without the compiler's own pipeline.
void joinUnits(llvm::Module &M, llvm::StringRef List, llvm::ModuleAnalysisManager &Analyses);

/// Which units the code of some regions can reach, over any number of functions: their numbers into \p File, a line each. \p List has a line each of these:
///   unit PATH             bitcode; units are numbered from 0 in this order
///   region NUMBER NAME    where code begins: a region of that unit
///   name NAME             and whatever unit defines this function
void writeReached(llvm::StringRef List, llvm::StringRef File);

/// Fill in pcere_site::thread_sized.
void setThreadSized(llvm::GlobalVariable &Site, llvm::StringRef Reason);

/// Write where the module's variables and functions end up into .pcere.sym, which is not loaded either. Nothing is kept alive by it:
/// run it after the last GlobalDCE.
void embedSymbols(llvm::Module &M);

/// Give a captured unit the names under which it can be linked into a codelet, and remember its regions in metadata. With other flags than the program's: what clang notes of these
/// in a function when it compiles a source.
void prepareCodelet(llvm::Module &M, bool Retarget, unsigned FastMath, llvm::StringRef VectorWidth);

/// Have every worksharing loop ask the OpenMP runtime for its schedule (OMP_SCHEDULE), whatever its source says. After prepareCodelet.
void askForSchedules(llvm::Module &M);

/// Drop the attributes of the flags that a function was compiled with.
void dropFlags(llvm::Function &F);

/// Drop what the program's processor alone has, before prepareCodelet, and note which functions cannot do without. refuseForeign, after it, has these end the codelet with
/// the reason instead: until then they tell which regions there are.
void changeProcessor(llvm::Module &M);
void refuseForeign(llvm::Module &M);

/// What sanitizers leave to be made of the whole program: control-flow integrity and devirtualisation ask whether an address is of a type, to which the answer is yes in
/// a program that works; and a safe stack is a second one, which neither a codelet nor an export has.
void dropSanitizing(llvm::Module &M);

/// Assembly of the source's that takes in a file (.incbin) goes: the file is sure to be there for who compiled the program alone. What it defined is where the capture had it. So go
/// versions of the unit's own functions (.symver), which only a library with a version script may have.
void dropLinkersAssembly(llvm::Module &M);

/// Turn variables into references to captured addresses, and add the tables that the replay runtime reads. In a shared library's unit
/// thread-local variables become references, too.
void finishCodelet(llvm::Module &M, bool Library);

/// Have functions begin in a line of the instruction cache where they began in the program. \p File has a line "OFFSET\tUNIT\tNAME" for each function of the program: where in a line of 64
/// bytes it begins, the source file of a local one, without folder (else empty), its symbol. Before finishCodelet, which gives functions other names.
void placeFunctions(llvm::Module &M, llvm::StringRef File);

/// All blocks of a unit as the optimiser left them: a block's number is its index. Before finishCodelet, which adds functions of its own.
std::vector<llvm::BasicBlock *> numberBlocks(llvm::Module &M);

/// Name them by their numbers, for the assembly's comments; they count what they do (include/pcere/character_abi.h). After finishCodelet.
void nameBlocks(llvm::ArrayRef<llvm::BasicBlock *> Blocks);
void countBlocks(llvm::Module &M, llvm::ArrayRef<llvm::BasicBlock *> Blocks);

/// Write the unit as text, before any optimisation, for a build without this plugin: as prepareCodelet leaves it, but with `.SUFFIX` behind
/// each internal name, so that several units can be linked where internal variables become absolute symbols. It begins with a line for
/// each region:
///   ; region 'NAME' is FUNCTION with N arguments
/// FILE.uses gets a line "FUNCTION USED" for each function or variable of another unit that a function refers to.
void exportUnit(llvm::Module &M, llvm::StringRef File, llvm::StringRef Suffix);

/// Does \p E lead to a region that is called directly, and never forked? Such a function could lose arguments or vanish into its caller.
bool isOnlySerial(const RegionTable &Table, const Entry &E);

/// The unit's identity, or 0 where embedBitcode has not seen it.
uint64_t unitId(const llvm::Module &M);

/// The words of this compilation's command line.
std::vector<std::string> commandLine();

/// Was \p M compiled by flang?
bool isFortran(const llvm::Module &M);

/// flang calls every module FIRModule: give it the name of its source file.
void nameSource(llvm::Module &M);

/// A procedure's name as its source has it: _QMwork_arraysPfill is work_arrays::fill, `solve_` is solve, the main program is main.
std::string fortranName(llvm::StringRef Symbol);

/// Is \p Variable where the OpenMP runtime notes each thread's copy of a threadprivate variable (-fnoopenmp-use-tls, and flang)?
bool isThreadprivateCache(const llvm::GlobalVariable &Variable);

/// Locks of critical constructs and caches of threadprivate variables: state of the OpenMP runtime, not of the program.
bool isRuntimeState(const llvm::GlobalVariable &Variable);

} // namespace pcere

#endif
