//===- passes/Export.cpp - a captured unit as text, for a build without this plugin ----------------------------------------===//
//
// Plain clang turns the text into the code of the codelet: nothing that the optimiser could see changes but names. What this plugin does
// at the pipeline's end to a codelet, a script does to the compiler's assembly (replay-rt/export/place.sed).
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "Placed.h"
#include "Stages.h"

#include "include/pcere/rt_abi.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace pcere {

static bool isPlaced(const GlobalVariable &V) {
  return !V.isDeclaration() && !V.isConstant() && !V.hasAppendingLinkage() && !isRuntimeState(V);
}

/// Assembly must tell a variable's definition from others by its name and section alone.
static void makeRecognisable(Module &M) {
  for (GlobalAlias &Alias : make_early_inc_range(M.aliases()))
    if (auto *V = dyn_cast<GlobalVariable>(Alias.getAliaseeObject()); V && isPlaced(*V) && !V->isThreadLocal()) {
      Alias.replaceAllUsesWith(Alias.getAliasee());
      Alias.eraseFromParent();
    }
  for (GlobalVariable &V : M.globals()) {
    if (!isPlaced(V))
      continue;
    if (V.hasPrivateLinkage())
      V.setLinkage(GlobalValue::InternalLinkage);
    V.setSection("");
  }
}

static void renameInternals(Module &M, StringRef Suffix) {
  if (Function *Main = M.getFunction("main"))
    Main->setName("main." + Suffix);
  for (Function &F : M)
    if (F.hasLocalLinkage() && !F.isDeclaration())
      F.setName(F.getName() + "." + Suffix);
  for (GlobalVariable &V : M.globals())
    if (V.hasLocalLinkage() && (isPlaced(V) || isPlacedConstant(V)))
      V.setName(V.getName() + "." + Suffix);
}

using Uses = SmallSetVector<const Constant *, 32>;

/// \p C and all that it refers to, through tables of constants, too.
static void addUses(const Constant *C, Uses &Found) {
  if (!Found.insert(C))
    return;
  if (auto *V = dyn_cast<GlobalVariable>(C)) {
    if (V->isConstant() && V->hasInitializer())
      addUses(V->getInitializer(), Found);
    return;
  }
  if (isa<Function>(C))
    return;
  for (const Use &U : C->operands())
    if (auto *Part = dyn_cast<Constant>(U.get()))
      addUses(Part, Found);
}

/// A line "FUNCTION USED" for each function, and each variable of another unit, that a function refers to.
static void writeUses(const Module &M, raw_ostream &Out) {
  for (const Function &F : M) {
    Uses Found;
    for (const Use &U : F.operands())
      if (auto *C = dyn_cast<Constant>(U.get()))
        addUses(C, Found);
    for (const Instruction &I : instructions(F))
      for (const Use &U : I.operands())
        if (auto *C = dyn_cast<Constant>(U.get()))
          addUses(C, Found);
    for (const Constant *C : Found)
      if (auto *V = dyn_cast<GlobalValue>(C); V && (isa<Function>(V) || V->isDeclaration()) && !V->getName().starts_with("llvm."))
        Out << F.getName() << " " << V->getName() << "\n";
  }
}

/// Functions whose addresses are taken: a line for each.
static void writeTaken(const Module &M, raw_ostream &Out) {
  for (const Function &F : M)
    if (!F.isIntrinsic() && !F.hasExternalWeakLinkage() && any_of(F.uses(), takesAddress))
      Out << F.getName() << "\n";
}

static void writeFile(const Twine &File, function_ref<void(raw_ostream &)> Write) {
  std::error_code Failure;
  SmallString<128> Path;
  raw_fd_ostream Out(File.toStringRef(Path), Failure, sys::fs::OF_Text);
  if (!Failure) {
    Write(Out);
    Out.close();
    Failure = Out.error();
    Out.clear_error();
  }
  if (Failure)
    report_fatal_error(Twine("cannot write ") + Path + ": " + Failure.message(), /*gen_crash_diag=*/false);
}

void exportUnit(Module &M, StringRef File, StringRef Suffix) {
  dropSanitizing(M);
  RegionTable Table = findRegions(M); // before main is renamed: regions have its name
  makeRecognisable(M);
  renameInternals(M, Suffix);
  M.setModuleIdentifier(M.getSourceFileName());
  for (const Entry &E : Table.Entries)
    if (Function *Microtask = Table.Regions[E.RegionIndex].Microtask; Microtask->hasLocalLinkage() && isOnlySerial(Table, E)) {
      Microtask->setLinkage(GlobalValue::ExternalLinkage);
      Microtask->setVisibility(GlobalValue::HiddenVisibility);
    }
  writeFile(File, [&](raw_ostream &Out) {
    for (const Region &R : Table.Regions)
      if (R.Microtask->arg_size() >= 2)
        Out << "; region '" << R.Name << "' is " << R.Microtask->getName() << " with " << R.Microtask->arg_size() - 2 << " arguments\n";
    M.print(Out, nullptr);
  });
  writeFile(File + ".uses", [&](raw_ostream &Out) { writeUses(M, Out); });
  writeFile(File + ".taken", [&](raw_ostream &Out) { writeTaken(M, Out); });
}

} // namespace pcere
