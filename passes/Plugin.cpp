//===- passes/Plugin.cpp - where the stages hang in the compiler's pipeline ------------------------------------------------------===//
//
//   clang -O3 -g -fopenmp -fpass-plugin=PCEREPass.so x.c
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "Compatible.h"
#include "Constructs.h"
#include "Counting.h"
#include "Sampling.h"
#include "Stages.h"

#include "llvm/IR/Verifier.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Transforms/IPO/ConstantMerge.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"

#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

using namespace llvm;

/// Before anything of another LLVM is touched, which would be a crash. PCEREPass.so never gets here.
__attribute__((constructor(101))) static void refuseOtherVersions() {
  unsigned Major = LLVM_VERSION_MAJOR, Minor, Patch;
  auto *Version = reinterpret_cast<void (*)(unsigned *, unsigned *, unsigned *)>(dlsym(RTLD_DEFAULT, "LLVMGetVersion"));
  if (Version)
    Version(&Major, &Minor, &Patch);
  if (Major == LLVM_VERSION_MAJOR)
    return;
  dprintf(STDERR_FILENO, "error: PCEREPass-%d.so is PCERE's plugin for LLVM %d, and this compiler is of LLVM %u\n"
                         "hint: -fpass-plugin=$(pcere version --plugin) finds the right one\n", LLVM_VERSION_MAJOR, LLVM_VERSION_MAJOR, Major);
  _exit(1);
}

static cl::opt<bool> CodeletMode("pcere-codelet", cl::desc("build a captured unit for a codelet"), cl::Hidden);
static cl::opt<std::string> ExportFile("pcere-export", cl::desc("write a captured unit as text for a build without this plugin"), cl::Hidden);
static cl::opt<std::string> ExportSuffix("pcere-export-suffix", cl::desc("what internal names of that unit end in"), cl::Hidden);
static cl::opt<std::string> ThreadsFile("pcere-threads", cl::desc("write which regions of a whole program hold for the captured threads only"), cl::Hidden);
static cl::opt<std::string> ThreadsUnits("pcere-threads-units", cl::desc("file with the names of the program's other units, as bitcode"), cl::Hidden);
static cl::opt<std::string> ReachFile("pcere-reach", cl::desc("write which units of a program its regions can reach"), cl::Hidden);
static cl::opt<std::string> ReachList("pcere-reach-list", cl::desc("file with the program's units and regions"), cl::Hidden);
static cl::opt<bool> Library("pcere-codelet-library", cl::Hidden, cl::desc("with -pcere-codelet: the unit is a shared library's"));
static cl::opt<bool> Retarget("pcere-codelet-retarget", cl::Hidden,
                              cl::desc("drop the attributes of the original's flags, so that those of this compilation apply"));
static cl::opt<bool> OtherProcessor("pcere-codelet-processor", cl::Hidden, cl::desc("with -pcere-codelet: the unit was compiled for another processor"));
static cl::opt<bool> Character("pcere-codelet-character", cl::Hidden, cl::desc("with -pcere-codelet: the code counts its blocks, accesses and branches"));
static cl::opt<bool> Names("pcere-codelet-names", cl::Hidden, cl::desc("with -pcere-codelet: blocks are named by the numbers of -pcere-codelet-character"));
static cl::opt<bool> Schedules("pcere-codelet-schedules", cl::Hidden, cl::desc("with -pcere-codelet: all loops ask the OpenMP runtime for their schedule"));
static cl::opt<std::string> Places("pcere-codelet-places", cl::Hidden, cl::desc("with -pcere-codelet: file that tells where the program's functions begin"));
static cl::opt<std::string> Passes("pcere-codelet-passes", cl::Hidden, cl::desc("run these passes, in opt's syntax, after those of the compiler"));

static cl::opt<unsigned> FastMath("pcere-fast-math", cl::Hidden, cl::init(0),
                                  cl::desc("rules that floating-point instructions of a retargeted unit need not keep: 1 order of sums, 2 NaN, 4 infinities, "
                                           "8 signed zeros, 16 division, 32 contraction, 64 exact functions"));

static cl::opt<std::string> VectorWidth("pcere-vector-width", cl::Hidden, cl::desc("bits of the vectors that a retargeted unit prefers"));

static cl::opt<std::string> Count("pcere-count", cl::Hidden,
                                  cl::desc("count what the code does: ir, blocks, cache, iterations, joined by commas; without it, as " PCERE_COUNTS_ENVIRONMENT " says, but not for codelets"));
static cl::opt<bool> CountInPlace("pcere-count-in-place", cl::Hidden, cl::desc("add to counts in each block that runs, at whatever cost"));

namespace {

/// What is wrong in it is told at the pipeline's end, once.
pcere::CountMode countMode(LLVMContext &Context, bool AtEnd) {
  if (!Count.empty() || CodeletMode)
    return pcere::countMode(Context, Count, AtEnd ? "-pcere-count" : "");
  const char *Word = std::getenv(PCERE_COUNTS_ENVIRONMENT);
  return pcere::countMode(Context, Word ? Word : "", AtEnd ? PCERE_COUNTS_ENVIRONMENT : "");
}

void verify(Module &M) {
  std::string Text;
  raw_string_ostream Out(Text);
  if (verifyModule(M, &Out))
    report_fatal_error(Twine("PCEREPass: broken module ") + M.getSourceFileName() + ": " + Out.str());
}

/// Stages that \p M has been through. As bitcode it comes through the pipeline a second time (-emit-llvm, whole-program tools), and so it does where the plugin is named twice.
constexpr const char *StagesMetadata = "pcere.stages";

MDNode *stage(Module &M, StringRef Name) { return MDNode::get(M.getContext(), MDString::get(M.getContext(), Name)); }

bool isDone(Module &M, StringRef Name) {
  NamedMDNode *Done = M.getNamedMetadata(StagesMetadata);
  return Done && is_contained(Done->operands(), stage(M, Name));
}

void setDone(Module &M, StringRef Name) { M.getOrInsertNamedMetadata(StagesMetadata)->addOperand(stage(M, Name)); }

/// Linked from such bitcode and others: what the others have is not seen.
void tellMissed(Module &M) {
  for (const pcere::Region &R : pcere::findRegions(M).Regions)
    if (!pcere::hasSite(*R.Microtask))
      WithColor::warning() << "PCEREPass: '" << R.Name << "' is not seen, since it was linked with bitcode that this plugin had compiled before: compile all of it with the plugin, or none\n";
}

struct StartPass : PassInfoMixin<StartPass> {
  OptimizationLevel Level;
  explicit StartPass(OptimizationLevel Level) : Level(Level) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &Analyses) {
    if (!ReachFile.empty()) {
      pcere::writeReached(ReachList, ReachFile);
    } else if (!ExportFile.empty()) {
      pcere::dropLinkersAssembly(M);
      pcere::exportUnit(M, ExportFile, ExportSuffix);
    } else if (!ThreadsFile.empty()) {
      pcere::joinUnits(M, ThreadsUnits, Analyses);
    } else if (CodeletMode) {
      if (OtherProcessor)
        pcere::changeProcessor(M);
      pcere::dropLinkersAssembly(M);
      pcere::prepareCodelet(M, Retarget, FastMath, VectorWidth);
      if (OtherProcessor)
        pcere::refuseForeign(M);
      if (Schedules)
        pcere::askForSchedules(M);
      pcere::watchIterations(M, countMode(M.getContext(), false));
    } else if (isDone(M, "begun")) {
      tellMissed(M);
    } else {
      pcere::nameSource(M);
      std::vector<pcere::Construct> Constructs = pcere::identifyConstructs(M);
      pcere::embedBitcode(M, Level);
      pcere::embedConstructs(M, Constructs);
      pcere::insertProbes(M, pcere::findRegions(M));
      pcere::watchIterations(M, countMode(M.getContext(), false));
      setDone(M, "begun"); // the embedded unit has no such mark
    }
    verify(M);
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

struct EndPass : PassInfoMixin<EndPass> {
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &Analyses) {
    if (!ReachFile.empty())
      return PreservedAnalyses::all();
    if (!ThreadsFile.empty()) {
      pcere::writeThreadSized(M, ThreadsFile);
      return PreservedAnalyses::all();
    }
    if (CodeletMode) {
      pcere::dropProbes(M);
      pcere::judgeSampling(M, Analyses.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager());
      std::vector<BasicBlock *> Blocks = pcere::numberBlocks(M);
      if (!Places.empty())
        pcere::placeFunctions(M, Places);
      pcere::finishCodelet(M, Library);
      if (Character)
        pcere::countBlocks(M, Blocks);
      else if (Names)
        pcere::nameBlocks(Blocks);
    } else if (isDone(M, "ended")) {
      return PreservedAnalyses::all();
    } else {
      pcere::flagThreadSized(M);
      pcere::embedSymbols(M);
      setDone(M, "ended");
    }
    if (ExportFile.empty())
      pcere::insertCounts(M, countMode(M.getContext(), true), CountInPlace, Analyses.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager());
    verify(M);
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

bool AddsUserPasses = false; ///< a pipeline such as default<O2> has the extension points of this plugin, too

void addUserPasses(PassBuilder &Builder, ModulePassManager &Manager) {
  if (Passes.empty())
    return;
  ModulePassManager Own;
  AddsUserPasses = true;
  Error Wrong = Builder.parsePassPipeline(Own, Passes);
  AddsUserPasses = false;
  if (Wrong)
    report_fatal_error(Twine("error: the passes are not understood: ") + toString(std::move(Wrong)), /*gen_crash_diag=*/false);
  Manager.addPass(std::move(Own));
}

} // namespace

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo llvmGetPassPluginInfo() {
  InitializeNativeTargetAsmParser(); // module assembly is fatal without it, and flang does not see to it
  return {LLVM_PLUGIN_API_VERSION, "PCEREPass", PCERE_VERSION, [](PassBuilder &Builder) {
            Builder.registerPipelineStartEPCallback(
                [](ModulePassManager &Manager, OptimizationLevel Level) {
                  if (!AddsUserPasses)
                    Manager.addPass(StartPass(Level));
                });
            pcere::atPipelineEnd(Builder, [&Builder](ModulePassManager &Manager, OptimizationLevel Level) {
              if (AddsUserPasses)
                return;
              addUserPasses(Builder, Manager);
              Manager.addPass(GlobalDCEPass()); // clang's own come after this point: what they drop must not be listed
              if (!CodeletMode && Level != OptimizationLevel::O0)
                Manager.addPass(ConstantMergePass());
              Manager.addPass(EndPass());
            });
          }};
}
