//===- passes/Together.cpp - the units of a program in one module, to follow thread counts from one to another -----------------===//
//
// A count that one file asks for may size memory that a second one allocates, and a region of a third divides. Each unit is compiled alone, so this is
// seen once their bitcode is at hand: linked, simplified as one program, and looked at as single units are. Of an optimiser's work it needs little: variables in
// registers, and small functions where they are called, which takes wrappers and containers away.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "BareBitcode.h"
#include "Stages.h"

#include "llvm/Analysis/InlineCost.h"
#include "llvm/Analysis/ProfileSummaryInfo.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/Inliner.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace llvm;

namespace pcere {

static void prepare(Module &M) {
  for (const Region &R : findRegions(M).Regions)
    rememberName(*R.Microtask, R.Name);
  for (Function &F : M)
    dropFlags(F);
  M.setModuleInlineAsm("");
}

/// Nobody calls in from outside, and what has one caller moves into it.
static void makeInternal(Module &M) {
  if (const Function *Main = M.getFunction("main"); !Main || Main->isDeclaration())
    return; // a library, or main came without bitcode
  for (GlobalValue &V : M.global_values())
    if (!V.isDeclaration() && V.getName() != "main" && !V.getName().starts_with("llvm.") && !V.hasLocalLinkage() && !V.hasAppendingLinkage()) {
      if (auto *O = dyn_cast<GlobalObject>(&V))
        O->setComdat(nullptr);
      V.setVisibility(GlobalValue::DefaultVisibility);
      V.setLinkage(GlobalValue::InternalLinkage);
    }
}

/// Constructors are called by another name than that of the function which they have in common, in each unit but their own.
static void resolveAliases(Module &M) {
  for (GlobalAlias &A : make_early_inc_range(M.aliases())) {
    if (!isa_and_nonnull<Function>(A.getAliaseeObject()))
      continue;
    A.replaceAllUsesWith(A.getAliasee());
    if (A.hasLocalLinkage())
      A.eraseFromParent();
  }
}

static FunctionPassManager simplifier() {
  FunctionPassManager Passes;
  Passes.addPass(SROAPass(SROAOptions::ModifyCFG));
  Passes.addPass(EarlyCSEPass());
  Passes.addPass(SimplifyCFGPass());
  return Passes;
}

static void simplify(Module &M, ModuleAnalysisManager &Analyses) {
  ModulePassManager Passes;
  Passes.addPass(GlobalDCEPass());
  Passes.addPass(createModuleToFunctionPassAdaptor(simplifier()));
  ModuleInlinerWrapperPass Inliner(getInlineParams(/*OptLevel=*/2, /*SizeOptLevel=*/0));
  Inliner.addModulePass(RequireAnalysisPass<ProfileSummaryAnalysis, Module>());
  Inliner.getPM().addPass(createCGSCCToFunctionPassAdaptor(simplifier()));
  Passes.addPass(std::move(Inliner));
  Passes.addPass(GlobalDCEPass());
  Passes.run(M, Analyses);
}

void joinUnits(Module &M, StringRef List, ModuleAnalysisManager &Analyses) {
  stripNonLineTableDebugInfo(M);
  prepare(M);
  Linker Program(M);
  ErrorOr<std::unique_ptr<MemoryBuffer>> Names = MemoryBuffer::getFile(List);
  if (!Names)
    report_fatal_error(Twine("error: cannot read ") + List + ": " + Names.getError().message(), /*gen_crash_diag=*/false);
  SmallVector<StringRef, 32> Paths;
  (*Names)->getBuffer().split(Paths, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef Path : Paths) {
    std::unique_ptr<Module> Other = readUnit(Path, M.getContext());
    prepare(*Other);
    if (Program.linkInModule(std::move(Other)))
      report_fatal_error(Twine("error: cannot link ") + Path, /*gen_crash_diag=*/false);
  }
  makeInternal(M);
  resolveAliases(M);
  simplify(M, Analyses);
}

} // namespace pcere
