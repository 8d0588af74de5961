//===- passes/Placement.cpp - a unit's functions lie in lines of the instruction cache as they lay in the program ------------------===//
//
// How fast a loop runs depends on where its code begins in a line, by 1 to 20 percent where nothing else changes. Functions begin at a line here, behind
// as many bytes as the program has between the line's begin and the function's; their own code, the padding of loops included, is the same then.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "Stages.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace pcere {

namespace {

constexpr unsigned LineBytes = 64;
constexpr char Nop = '\x90';

/// Where a function of some name begins: those that the symbols call this unit's own, and all of that name. Of several that begin differently nobody knows which it is.
struct Begin {
  static constexpr unsigned None = LineBytes, Many = LineBytes + 1;
  unsigned Own = None, Any = None;

  static void note(unsigned &Known, unsigned Offset) { Known = Known == None || Known == Offset ? Offset : unsigned(Many); }
  unsigned offset() const { return Own == None ? Any : Own; }
};

StringMap<Begin> beginsOf(const Module &M, StringRef File) {
  StringMap<Begin> Begins;
  auto Buffer = MemoryBuffer::getFile(File);
  if (!Buffer)
    report_fatal_error(Twine("error: cannot read '") + File + "'", /*gen_crash_diag=*/false);
  StringRef Unit = sys::path::filename(M.getSourceFileName()), Rest = (*Buffer)->getBuffer();
  while (!Rest.empty()) {
    auto [Line, Next] = Rest.split('\n');
    auto [Offset, Names] = Line.split('\t');
    auto [Local, Name] = Names.split('\t');
    Rest = Next;
    unsigned Value;
    if (Offset.getAsInteger(10, Value) || Value >= LineBytes || Name.empty())
      continue;
    Begin &B = Begins[Name];
    Begin::note(B.Any, Value);
    if (!Local.empty() && Local == Unit)
      Begin::note(B.Own, Value);
  }
  return Begins;
}

/// As the program calls it, before prepareCodelet gave it another name.
StringRef nameInProgram(const Function &F) {
  StringRef Name = F.getName();
  return Name.starts_with("__pcere_main.") ? "main" : Name.split(".pcere.").first;
}

} // namespace

void placeFunctions(Module &M, StringRef File) {
  StringMap<Begin> Begins = beginsOf(M, File);
  for (Function &F : M) {
    auto Known = F.isDeclarationForLinker() || F.hasPrefixData() ? Begins.end() : Begins.find(nameInProgram(F));
    if (Known == Begins.end() || Known->second.offset() >= LineBytes || F.getAlign().valueOrOne() > LineBytes)
      continue;
    F.setAlignment(Align(LineBytes));
    if (unsigned Offset = Known->second.offset())
      F.setPrefixData(ConstantDataArray::getString(M.getContext(), std::string(Offset, Nop), /*AddNull=*/false));
  }
}

} // namespace pcere
