//===- passes/Plugin.cpp - PCEREPass.so: where the stages hang in clang's pipeline ---------------------------------------===//
//
//   clang -O3 -g -fopenmp -fpass-plugin=PCEREPass.so x.c
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "Sampling.h"
#include "Stages.h"

#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"

using namespace llvm;

static cl::opt<bool> CodeletMode("pcere-codelet", cl::desc("build a captured unit for a codelet"), cl::Hidden);
static cl::opt<std::string> ExportFile("pcere-export", cl::desc("write a captured unit as text for a build without this plugin"), cl::Hidden);
static cl::opt<std::string> ExportSuffix("pcere-export-suffix", cl::desc("what internal names of that unit end in"), cl::Hidden);
static cl::opt<bool> Library("pcere-codelet-library", cl::Hidden, cl::desc("with -pcere-codelet: the unit is a shared library's"));
static cl::opt<bool> Retarget("pcere-codelet-retarget", cl::Hidden,
                              cl::desc("drop the attributes of the original's flags, so that those of this compilation apply"));

static cl::opt<unsigned> FastMath("pcere-fast-math", cl::Hidden, cl::init(0),
                                  cl::desc("rules that floating-point instructions of a retargeted unit need not keep: 1 order of sums, 2 NaN, 4 infinities, "
                                           "8 signed zeros, 16 division, 32 contraction, 64 exact functions"));

namespace {

void verify(Module &M) {
  std::string Text;
  raw_string_ostream Out(Text);
  if (verifyModule(M, &Out))
    report_fatal_error(Twine("PCEREPass: broken module ") + M.getSourceFileName() + ": " + Out.str());
}

struct StartPass : PassInfoMixin<StartPass> {
  OptimizationLevel Level;
  explicit StartPass(OptimizationLevel Level) : Level(Level) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    if (!ExportFile.empty()) {
      pcere::exportUnit(M, ExportFile, ExportSuffix);
    } else if (CodeletMode) {
      pcere::prepareCodelet(M, Retarget, FastMath);
    } else {
      pcere::embedBitcode(M, Level);
      pcere::insertProbes(M, pcere::findRegions(M));
    }
    verify(M);
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

struct EndPass : PassInfoMixin<EndPass> {
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &Analyses) {
    if (CodeletMode) {
      pcere::judgeSampling(M, Analyses.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager());
      pcere::finishCodelet(M, Library);
    } else {
      pcere::flagThreadSized(M);
      pcere::embedSymbols(M);
    }
    verify(M);
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

} // namespace

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "PCEREPass", PCERE_VERSION, [](PassBuilder &Builder) {
            Builder.registerPipelineStartEPCallback(
                [](ModulePassManager &Manager, OptimizationLevel Level) { Manager.addPass(StartPass(Level)); });
            Builder.registerOptimizerLastEPCallback([](ModulePassManager &Manager, OptimizationLevel) {
              Manager.addPass(GlobalDCEPass()); // clang's own comes after this point: what it drops must not be listed
              Manager.addPass(EndPass());
            });
          }};
}
