//===- passes/Fortran.cpp - what flang leaves out or spells in its own way -----------------------------------------------------===//

#include "Stages.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DebugInfoMetadata.h"

using namespace llvm;

namespace pcere {

bool isFortran(const Module &M) {
  const NamedMDNode *Compilers = M.getNamedMetadata("llvm.ident");
  for (unsigned I = 0; Compilers && I < Compilers->getNumOperands(); ++I)
    for (const MDOperand &Text : Compilers->getOperand(I)->operands())
      if (const auto *String = dyn_cast_or_null<MDString>(Text.get()); String && String->getString().contains("flang"))
        return true;
  return false;
}

void nameSource(Module &M) {
  if (M.getSourceFileName() != "FIRModule")
    return;
  for (const DICompileUnit *Unit : M.debug_compile_units())
    if (!Unit->getFilename().empty()) {
      M.setSourceFileName(Unit->getFilename());
      return;
    }
  std::vector<std::string> Arguments = commandLine(); // flang runs its frontend with the source as the last argument
  if (!Arguments.empty() && !StringRef(Arguments.back()).starts_with("-"))
    M.setSourceFileName(Arguments.back());
}

static bool isNameCharacter(char C) { return (C >= 'a' && C <= 'z') || isDigit(C) || C == '_'; }

std::string fortranName(StringRef Symbol) {
  if (!Symbol.consume_front("_Q"))
    return Symbol.ends_with("_") ? Symbol.drop_back().str() : Symbol.str(); // an external procedure, or one with a C name
  if (Symbol == "Qmain")
    return "main";
  std::string Name;
  while (!Symbol.empty()) {
    char Tag = Symbol.front();
    StringRef Part = Symbol.drop_front().take_while(isNameCharacter);
    if (!StringRef("MSFPB").contains(Tag))
      break;
    if (Tag != 'B' && !Part.empty()) // blocks have numbers
      Name += (Name.empty() ? "" : "::") + Part.str();
    else if (Tag == 'F')
      Name += "main";
    Symbol = Symbol.drop_front(1 + Part.size());
  }
  return Name;
}

} // namespace pcere
