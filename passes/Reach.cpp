//===- passes/Reach.cpp - which units of a program the code of some regions can reach -----------------------------------------===//
//
// Walks from the regions' functions over all that their bodies name, and reads no other bodies. A call through a pointer may lead to each function of the program
// whose address is taken somewhere, in code or in data, and that takes words as the call gives them: virtual functions and tables of functions, too. Units are as
// they were before any optimisation, so that whatever the optimiser does, it reaches no more.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "BareBitcode.h"
#include "Stages.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace pcere {

namespace {

[[noreturn]] void fail(const Twine &Words) { report_fatal_error(Twine("error: ") + Words, /*gen_crash_diag=*/false); }

void materialize(GlobalValue &V) {
  if (Error Failure = V.materialize())
    fail(toString(std::move(Failure)));
}

/// Whose functions does it name: the OpenMP runtime's, which call what they are given for the caller, and by no table of the program's.
bool isRuntimeCall(const CallBase &Call) {
  StringRef Name = calleeName(Call);
  return Name.starts_with("__kmpc_") || Name.starts_with("__tgt_");
}

/// Could code elsewhere call through a pointer what \p U names?
bool mayBePointedTo(const Use &U) {
  const User *By = U.getUser();
  if (auto *Call = dyn_cast<CallBase>(By))
    return !Call->isCallee(&U) && !isRuntimeCall(*Call);
  if (isa<Instruction>(By))
    return true;
  if (auto *V = dyn_cast<GlobalVariable>(By))
    return !V->getName().starts_with("llvm."); // lists of what starts the program, or is to stay
  if (isa<BlockAddress>(By) || isa<Function>(By))
    return false; // its own blocks; who catches exceptions
  return any_of(By->uses(), mayBePointedTo); // a part of a constant, an alias
}

/// How a word is passed, as far as a caller must agree with who is called.
char kindOf(const Type *T) {
  return T->isVoidTy() ? 'v' : T->isIntegerTy() || T->isPointerTy() ? 'w' : T->isFPOrFPVectorTy() ? 'f' : T->isVectorTy() ? 'x' : 'a';
}

std::string kindsOf(const FunctionType &T) {
  std::string Kinds;
  for (const Type *P : T.params())
    Kinds += kindOf(P);
  return Kinds;
}

class Reach {
public:
  void addUnit(StringRef Path, bool Names) {
    Units.push_back({readUnitLazily(Path, Context, Names)});
    Numbers[Units.back().M.get()] = Units.size() - 1;
    for (GlobalValue &V : Units.back().M->global_values())
      if (!V.isDeclaration() && !V.hasLocalLinkage() && !V.hasAvailableExternallyLinkage())
        Definers[V.getName()].push_back(&V);
  }

  void addRegion(size_t Number, StringRef Name) {
    Module &M = *Units[Number].M;
    bool Found = false;
    if (Error Failure = M.materializeAll())
      fail(toString(std::move(Failure)));
    for (const Region &R : findRegions(M).Regions)
      if (R.Name == Name) {
        reach(*R.Microtask);
        Found = true;
      }
    for (Function &F : M)
      if (!Found && !F.isDeclaration())
        reach(F);
    Units[Number].Reached = true;
  }

  void addName(StringRef Name) {
    for (GlobalValue *V : Definers.lookup(Name))
      reach(*V);
  }

  void walk() {
    for (bool More = true; More;) {
      while (!Waiting.empty())
        look(*Waiting.pop_back_val());
      More = !Calls.empty();
      if (More)
        reachPointed();
      else
        reachThreadLocal();
      More |= !Waiting.empty();
    }
  }

  void write(raw_ostream &Out) const {
    for (size_t K = 0; K < Units.size(); ++K)
      if (Units[K].Reached)
        Out << K << "\n";
  }

private:
  struct Unit {
    std::unique_ptr<Module> M;
    bool Reached = false;
  };

  /// All that the name may mean when the program is linked. Of an inline function one copy is as good as another.
  void reach(GlobalValue &V) {
    if (V.getName().starts_with("llvm.") || !Seen.insert(&V).second)
      return;
    bool Here = !V.isDeclaration() && !V.hasAvailableExternallyLinkage();
    if (!V.isDeclaration())
      Waiting.push_back(&V);
    if (V.hasLocalLinkage() || (Here && (V.hasLinkOnceODRLinkage() || V.hasWeakODRLinkage())))
      return;
    for (GlobalValue *Other : Definers.lookup(V.getName()))
      if (Seen.insert(Other).second)
        Waiting.push_back(Other);
  }

  void reachOperands(const User &By) {
    for (const Use &U : By.operands()) {
      auto *C = dyn_cast<Constant>(U.get());
      if (!C)
        continue;
      if (auto *V = dyn_cast<GlobalValue>(C))
        reach(*const_cast<GlobalValue *>(V));
      else if (Parts.insert(C).second)
        reachOperands(*C);
    }
  }

  /// A variable that every thread shares lies in captured memory, whoever defines it; all else a unit has for itself.
  void look(GlobalValue &V) {
    auto *Variable = dyn_cast<GlobalVariable>(&V);
    if (!Variable || Variable->isConstant() || Variable->isThreadLocal() || isRuntimeState(*Variable))
      Units[Numbers.lookup(V.getParent())].Reached = true;
    auto *F = dyn_cast<Function>(&V);
    if (F)
      materialize(*F);
    reachOperands(V);
    for (Instruction &I : F ? instructions(*F) : make_range(inst_iterator(), inst_iterator())) {
      reachOperands(I);
      auto *Call = dyn_cast<CallBase>(&I);
      if (Call && !Call->isInlineAsm() && !isa<GlobalValue>(Call->getCalledOperand()->stripPointerCasts()))
        Calls.push_back(Call->getFunctionType());
    }
  }

  void listPointed() {
    for (Unit &U : Units)
      if (Error Failure = U.M->materializeAll())
        fail(toString(std::move(Failure)));
    for (Unit &U : Units)
      for (Function &F : *U.M)
        if (!F.isIntrinsic() && any_of(F.uses(), mayBePointedTo))
          Pointed.push_back(&F);
    HavePointed = true;
  }

  void reachPointed() {
    StringMap<bool> Kinds;
    bool Any = false; // a call that fits all
    for (const FunctionType *T : Calls) {
      Any |= T->isVarArg();
      Kinds[kindsOf(*T)] = true;
    }
    Calls.clear();
    if (!HavePointed)
      listPointed();
    for (Function *F : Pointed)
      if (Any || F->isVarArg() || Kinds.count(kindsOf(*F->getFunctionType())))
        reach(*F);
  }

  /// Code that nothing reaches is linked as well, and no captured address stands for a variable that each thread has.
  void reachThreadLocal() {
    for (const Unit &U : Units)
      for (GlobalVariable &V : U.M->globals())
        if (U.Reached && V.isThreadLocal() && V.isDeclaration())
          reach(V);
  }

  LLVMContext Context;
  std::vector<Unit> Units;
  DenseMap<const Module *, size_t> Numbers;
  StringMap<SmallVector<GlobalValue *, 1>> Definers;
  DenseSet<const GlobalValue *> Seen;
  DenseSet<const Constant *> Parts;
  SmallVector<GlobalValue *, 64> Waiting;
  std::vector<const FunctionType *> Calls; ///< through pointers, that nobody was looked for yet
  std::vector<Function *> Pointed;         ///< functions whose address is taken
  bool HavePointed = false;
};

struct Root {
  size_t Unit;
  StringRef Region;
};

} // namespace

void writeReached(StringRef List, StringRef File) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> Text = MemoryBuffer::getFile(List);
  if (!Text)
    fail(Twine("cannot read ") + List + ": " + Text.getError().message());
  SmallVector<StringRef, 64> Lines, Paths, Names;
  std::vector<Root> Roots;
  (*Text)->getBuffer().split(Lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef Line : Lines) {
    auto [Kind, Rest] = Line.split(' ');
    auto [Number, Region] = Rest.split(' ');
    size_t Unit = 0;
    if (Kind == "unit")
      Paths.push_back(Rest);
    else if (Kind == "name")
      Names.push_back(Rest);
    else if (Kind == "region" && !Number.getAsInteger(10, Unit))
      Roots.push_back({Unit, Region});
  }
  Reach Walk;
  for (size_t K = 0; K < Paths.size(); ++K)
    Walk.addUnit(Paths[K], any_of(Roots, [K](const Root &R) { return R.Unit == K; }));
  for (const Root &R : Roots) {
    if (R.Unit >= Paths.size())
      fail(Twine("there is no unit ") + Twine(R.Unit));
    Walk.addRegion(R.Unit, R.Region);
  }
  for (StringRef Name : Names)
    Walk.addName(Name);
  Walk.walk();
  std::error_code Failure;
  raw_fd_ostream Out(File, Failure, sys::fs::OF_Text);
  if (!Failure)
    Walk.write(Out);
  Out.close();
  if (Failure || Out.has_error())
    fail(Twine("cannot write ") + File);
}

} // namespace pcere
