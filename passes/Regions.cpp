//===- passes/Regions.cpp - finding and naming OpenMP regions -----------------------------------------------------------===//

#include "Stages.h"

#include "include/pcere/rt_abi.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/MD5.h"
#include "llvm/Support/Path.h"

#include <cxxabi.h>
#include <map>

using namespace llvm;

namespace pcere {

StringRef calleeName(const CallBase &Call) {
  const auto *Callee = dyn_cast<Function>(Call.getCalledOperand()->stripPointerCasts());
  return Callee ? Callee->getName() : StringRef();
}

int forkPath(const CallBase &Call) {
  StringRef Name = calleeName(Call);
  if (Name == "__kmpc_fork_call")
    return PCERE_PATH_FORK;
  if (Name == "__kmpc_fork_call_if")
    return PCERE_PATH_FORK_IF;
  return -1;
}

static Instruction *nextOnPath(Instruction *I) {
  if (auto *Invoke = dyn_cast<InvokeInst>(I))
    return &Invoke->getNormalDest()->front();
  if (!I->isTerminator())
    return I->getNextNode();
  BasicBlock *Next = I->getParent()->getSingleSuccessor();
  return Next ? &Next->front() : nullptr;
}

static Instruction *previousOnPath(Instruction *I) {
  if (Instruction *Previous = I->getPrevNode())
    return Previous;
  BasicBlock *Block = I->getParent()->getSinglePredecessor();
  return Block ? Block->getTerminator() : nullptr;
}

/// The direct call between __kmpc_serialized_parallel and its end, and that end.
static bool matchSerialized(CallBase &Begin, CallBase *&Direct, CallBase *&End) {
  Direct = End = nullptr;
  unsigned Steps = 0;
  for (Instruction *I = nextOnPath(&Begin); I && Steps < 256; I = nextOnPath(I), ++Steps) {
    auto *Call = dyn_cast<CallBase>(I);
    if (!Call)
      continue;
    if (calleeName(*Call) == "__kmpc_end_serialized_parallel") {
      End = Call;
      return Direct != nullptr;
    }
    Function *Callee = Call->getCalledFunction();
    if (Callee && !Callee->isDeclaration() && Call->arg_size() >= 2)
      Direct = Call;
  }
  return false;
}

/// The clauses pushed for this entry. They lie just before it; with an `if` clause, before its branch.
static void findClauses(Entry &E) {
  unsigned Steps = 0;
  for (Instruction *I = previousOnPath(E.First); I && Steps < 256; I = previousOnPath(I), ++Steps) {
    auto *Call = dyn_cast<CallBase>(I);
    if (!Call)
      continue;
    StringRef Name = calleeName(*Call);
    bool Threads = Name.starts_with("__kmpc_push_num_threads");
    if (!Threads && Name != "__kmpc_push_proc_bind") {
      // Any other call to the runtime that starts or ends a region takes a pending clause with it.
      if (forkPath(*Call) >= 0 || Name == "__kmpc_end_serialized_parallel" || Name == "__kmpc_serialized_parallel")
        break;
      continue;
    }
    Value *&Clause = Threads ? E.NumThreads : E.ProcBind;
    if (!Clause)
      Clause = Call->getArgOperand(2);
  }
}

/// ";file;function;line;column;;" of the ident_t at \p Ident.
static bool parseIdent(Value *Ident, std::string &File, std::string &FunctionName, unsigned &Line) {
  auto *Variable = dyn_cast<GlobalVariable>(Ident->stripPointerCasts());
  if (!Variable || !Variable->hasInitializer())
    return false;
  auto *Fields = dyn_cast<ConstantStruct>(Variable->getInitializer());
  if (!Fields || Fields->getNumOperands() < 5)
    return false;
  auto *Text = dyn_cast<GlobalVariable>(Fields->getOperand(4)->stripPointerCasts());
  auto *Data = Text && Text->hasInitializer() ? dyn_cast<ConstantDataSequential>(Text->getInitializer()) : nullptr;
  if (!Data || !Data->isCString())
    return false;
  SmallVector<StringRef, 6> Parts;
  Data->getAsCString().split(Parts, ';');
  if (Parts.size() < 5 || Parts[3].getAsInteger(10, Line) || Line == 0)
    return false;
  File = Parts[1].str();
  FunctionName = Parts[2].str();
  return true;
}

/// "f" of "__omp_offloading_<device>_<file>_f_l<line>", with "_debug__" behind it under -g: what a target construct in f becomes. Device and file
/// are those of the source's inode, other ones in each copy of it.
static StringRef targetFunction(StringRef Name) {
  StringRef Rest = Name, Function, Line;
  if (!Rest.consume_front("__omp_offloading_"))
    return Name;
  Rest = Rest.split('_').second.split('_').second;
  Rest.consume_back("_debug__");
  std::tie(Function, Line) = Rest.rsplit("_l");
  return Function.empty() || Line.empty() ? Name : Function;
}

/// "main::$_0::operator()<int>" of "auto main::$_0::operator()<int>(int) const": LLVM's demangler knows no templates of local lambdas, the C++ library's does.
static std::string functionByLibrary(const std::string &Name) {
  int Status = 0;
  char *Plain = StringRef(Name).starts_with("_Z") ? abi::__cxa_demangle(Name.c_str(), nullptr, nullptr, &Status) : nullptr;
  StringRef Text = Plain ? StringRef(Plain) : StringRef();
  Text.consume_front("auto ");
  size_t End = Text.rfind(')');
  for (unsigned Open = 0; End != StringRef::npos && End < Text.size(); --End) { // back to where the parameters begin
    Open += Text[End] == ')';
    Open -= Text[End] == '(';
    if (!Open || !End)
      break;
  }
  std::string Function = Text.substr(0, End == StringRef::npos ? Text.size() : End).str();
  std::free(Plain);
  return Function;
}

/// Without arguments of templates that have no name of their own: "init" of "init<(lambda at a.cpp:4:5)>".
static StringRef withoutUnnamed(StringRef Name) { return Name.contains("(lambda at ") || Name.contains("(unnamed ") ? Name.split('<').first : Name; }

/// "mesh::Solver<double>::init", as debug information has it: no demangler here knows parameters of templates that a concept constrains.
static std::string functionByDebug(const Function *F) {
  std::string Name;
  for (const DIScope *Scope = F ? F->getSubprogram() : nullptr; Scope; Scope = Scope->getScope()) {
    if (isa<DIFile>(Scope) || isa<DICompileUnit>(Scope) || isa<DIModule>(Scope) || isa<DILexicalBlockBase>(Scope))
      continue;
    StringRef Part = Scope->getName().empty() && isa<DINamespace>(Scope) ? "(anonymous namespace)" : withoutUnnamed(Scope->getName());
    if (Part.empty() || Part.contains(".omp"))
      return "";
    Name = Part.str() + (Name.empty() ? "" : "::") + Name;
  }
  return Name;
}

/// Before the first ".omp" part.
std::string sourceFunction(const Function &F) {
  std::string Name = targetFunction(F.getName().split(".omp").first.rtrim('.')).str();
  if (Name.empty())
    Name = F.getName().str();
  if (isFortran(*F.getParent()))
    return fortranName(Name);
  ItaniumPartialDemangler Demangler;
  if (!Demangler.partialDemangle(Name.c_str()) && Demangler.isFunction()) {
    size_t Size = 0;
    if (char *Plain = Demangler.getFunctionName(nullptr, &Size)) {
      Name = Plain;
      std::free(Plain);
    }
  } else if (std::string Function = functionByLibrary(Name); !Function.empty()) {
    Name = Function;
  } else if (StringRef(Name).starts_with("_Z")) {
    Function = functionByDebug(F.getParent()->getFunction(Name));
    Name = Function.empty() ? Name : Function;
  }
  return Name;
}

/// Functions of templates of templates have names of thousands of letters; a capture's log has room for a thousand, with file and line. The middle becomes a hash.
static std::string shortened(std::string Name) {
  constexpr size_t Most = 480, Head = 400, Tail = 60;
  if (Name.size() <= Most)
    return Name;
  auto Whole = [&](size_t At) { // not inside of a letter
    while (At && (static_cast<unsigned char>(Name[At]) & 0xC0) == 0x80)
      --At;
    return At;
  };
  return Name.substr(0, Whole(Head)) + "~" + utohexstr(MD5Hash(Name), /*LowerCase=*/true) + "~" + Name.substr(Whole(Name.size() - Tail));
}

static void describe(Region &R, const CallBase &First, const Module &M) {
  std::string IdentFile, IdentFunction;
  R.Function = shortened(sourceFunction(*First.getFunction()));
  R.File = M.getSourceFileName();
  if (parseIdent(First.getArgOperand(0), IdentFile, IdentFunction, R.Line)) {
    if (!StringRef(IdentFile).starts_with("FIR")) // flang's ident names no file
      R.File = IdentFile;
  } else if (const DebugLoc &Location = First.getDebugLoc()) {
    R.Line = Location.getLine();
    R.File = Location->getFilename().str();
  }
  R.Name = R.Function + "@" + sys::path::filename(R.File).str();
  if (R.Line)
    R.Name += ":" + utostr(R.Line);
}

RegionTable findRegions(Module &M) {
  RegionTable Table;
  std::map<Function *, size_t> Known;
  StringMap<unsigned> Uses;
  for (Function &F : M)
    for (Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallBase>(&I);
      if (!Call)
        continue;
      Entry E;
      Function *Microtask = nullptr;
      E.First = E.Last = Call;
      E.Path = forkPath(*Call);
      if (E.Path >= 0 && Call->arg_size() >= 3) {
        Microtask = dyn_cast<Function>(Call->getArgOperand(2)->stripPointerCasts());
        for (unsigned A = 3; A < Call->arg_size(); ++A)
          E.Words.push_back(Call->getArgOperand(A));
      } else if (calleeName(*Call) == "__kmpc_serialized_parallel") {
        CallBase *Direct = nullptr;
        if (!matchSerialized(*Call, Direct, E.Last))
          continue;
        E.Path = PCERE_PATH_SERIALIZED;
        Microtask = Direct->getCalledFunction();
        for (unsigned A = 2; A < Direct->arg_size(); ++A) {
          // A word made between the two calls cannot be passed to a probe before the first.
          Value *Word = Direct->getArgOperand(A);
          auto *Made = dyn_cast<Instruction>(Word);
          bool Late = Made && Made->getParent() == Call->getParent() && Call->comesBefore(Made);
          E.Words.push_back(Late ? Constant::getNullValue(Word->getType()) : Word);
        }
      }
      if (!Microtask)
        continue;
      auto [Slot, New] = Known.try_emplace(Microtask, Table.Regions.size());
      if (New) {
        Region R;
        R.Microtask = Microtask;
        describe(R, *E.First, M);
        unsigned Ordinal = ++Uses[R.Name];
        if (Ordinal > 1)
          R.Name += "#" + utostr(Ordinal);
        Table.Regions.push_back(std::move(R));
      }
      E.RegionIndex = Slot->second;
      findClauses(E);
      Table.Entries.push_back(std::move(E));
    }
  return Table;
}

} // namespace pcere
