//===- passes/BareBitcode.cpp - reads bitcode without the debug information in it, and finds a line in there when one is asked for -----------===//
//
// Debug information is two thirds of what a unit's bitcode takes to be read, and all that is asked of it here are a few lines. The reader has no option to pass it by. But it
// skips blocks that it does not know, and a location that is "as before" where there was none is none: so both are written over the bytes in memory. Each call has
// a location instead that tells unit, function and number of the instruction. It is inlined as others are, and tells where to look in the unit as it was.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "BareBitcode.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/LLVMBitCodes.h"
#include "llvm/Bitstream/BitstreamReader.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <memory>
#include <optional>
#include <vector>

using namespace llvm;

namespace pcere {

static constexpr StringLiteral NumberedFolder = "pcere numbers"; ///< of the file of a location that is an instruction's number

template <typename T> static bool take(Expected<T> From, T &To) {
  if (!From) {
    consumeError(From.takeError());
    return false;
  }
  To = std::move(*From);
  return true;
}

static bool done(Error Failure) {
  if (!Failure)
    return true;
  consumeError(std::move(Failure));
  return false;
}

namespace {

/// Finds what to write where. Nothing is written unless all of it was understood.
class Eraser {
public:
  explicit Eraser(MutableArrayRef<char> Bytes) : Bytes(Bytes), Stream(StringRef(Bytes.data(), Bytes.size())) {}

  bool erase() {
    if (!file())
      return false;
    for (const Edit &E : Edits)
      for (unsigned K = 0; K < E.Width; ++K) {
        uint64_t Bit = E.Bit + K;
        char Mask = static_cast<char>(1u << (Bit % 8));
        char &Byte = Bytes[Bit / 8];
        Byte = static_cast<char>(E.Value >> K & 1 ? Byte | Mask : Byte & ~Mask);
      }
    return true;
  }

private:
  static constexpr uint32_t Magic = 0xdec04342;
  static constexpr unsigned IdBits = 8, UnknownBlock = 63;
  // Numbers of records from 32 to 1023 without an abbreviation: two pieces of 5 bits, each behind them one that says whether there is more.
  static constexpr unsigned CodeBits = 12, AsBefore = (bitc::FUNC_CODE_DEBUG_LOC_AGAIN & 31) | 32 | (bitc::FUNC_CODE_DEBUG_LOC_AGAIN >> 5) << 6;
  // Numbers that older headers have no names for.
  static constexpr unsigned AddressUsers = 60, FirstDebugRecord = 61, LastDebugRecord = 65;

  struct Edit {
    uint64_t Bit;
    unsigned Width, Value;
  };

  bool hide() { // the block whose number was just read
    Edits.push_back({Stream.GetCurrentBitNo() - IdBits, IdBits, UnknownBlock});
    return done(Stream.SkipBlock());
  }

  bool file() {
    SimpleBitstreamCursor::word_t Word = 0;
    if (!take(Stream.Read(32), Word) || Word != Magic)
      return false;
    while (!Stream.AtEndOfStream()) {
      BitstreamEntry Entry;
      if (!take(Stream.advance(), Entry) || Entry.Kind != BitstreamEntry::SubBlock)
        return false;
      if (Entry.ID == bitc::MODULE_BLOCK_ID ? !done(Stream.EnterSubBlock(Entry.ID)) || !module() : !done(Stream.SkipBlock()))
        return false;
    }
    return true;
  }

  bool blockInfo() {
    std::optional<BitstreamBlockInfo> Read;
    if (!take(Stream.ReadBlockInfoBlock(), Read) || !Read)
      return false;
    Info = std::move(*Read);
    Stream.setBlockInfo(&Info);
    return true;
  }

  bool module() {
    for (;;) {
      BitstreamEntry Entry;
      unsigned Code = 0;
      if (!take(Stream.advance(), Entry) || Entry.Kind == BitstreamEntry::Error)
        return false;
      if (Entry.Kind == BitstreamEntry::EndBlock)
        return true;
      bool Understood = Entry.Kind == BitstreamEntry::Record              ? take(Stream.skipRecord(Entry.ID), Code)
                        : Entry.ID == bitc::BLOCKINFO_BLOCK_ID           ? blockInfo()
                        : Entry.ID == bitc::METADATA_BLOCK_ID            ? hide()
                        : Entry.ID == bitc::FUNCTION_BLOCK_ID            ? done(Stream.EnterSubBlock(Entry.ID)) && function()
                                                                          : done(Stream.SkipBlock());
      if (!Understood)
        return false;
    }
  }

  bool function() {
    bool Begun = false; // "as before" needs an instruction
    for (;;) {
      BitstreamEntry Entry;
      if (!take(Stream.advance(), Entry) || Entry.Kind == BitstreamEntry::Error)
        return false;
      if (Entry.Kind == BitstreamEntry::EndBlock)
        return true;
      if (Entry.Kind == BitstreamEntry::SubBlock) {
        bool Hidden = Entry.ID == bitc::METADATA_BLOCK_ID || Entry.ID == bitc::METADATA_ATTACHMENT_ID;
        if (Hidden ? !hide() : !done(Stream.SkipBlock()))
          return false;
        continue;
      }
      uint64_t Bit = Stream.GetCurrentBitNo();
      unsigned Code = 0;
      if (!take(Stream.skipRecord(Entry.ID), Code))
        return false;
      if (Code == bitc::FUNC_CODE_DEBUG_LOC || (Code >= FirstDebugRecord && Code <= LastDebugRecord)) {
        if (Entry.ID != bitc::UNABBREV_RECORD || !Begun)
          return false;
        Edits.push_back({Bit, CodeBits, AsBefore});
      } else if (Code != bitc::FUNC_CODE_DECLAREBLOCKS && Code != bitc::FUNC_CODE_OPERAND_BUNDLE && Code != AddressUsers) {
        Begun = true;
      }
    }
  }

  MutableArrayRef<char> Bytes;
  BitstreamCursor Stream;
  BitstreamBlockInfo Info;
  std::vector<Edit> Edits;
};

} // namespace

template <typename Buffer> static std::unique_ptr<Buffer> opened(StringRef Path) {
  auto Read = Buffer::getFile(Path);
  if (!Read)
    report_fatal_error(Twine("error: cannot read ") + Path + ": " + Read.getError().message(), /*gen_crash_diag=*/false);
  return std::move(*Read);
}

static std::unique_ptr<Module> parsed(Expected<std::unique_ptr<Module>> Unit, StringRef Path) {
  if (!Unit)
    report_fatal_error(Twine("error: cannot read ") + Path + ": " + toString(Unit.takeError()), /*gen_crash_diag=*/false);
  return std::move(*Unit);
}

/// Rules of rounding, names of registers: such a call cannot do without its words.
static bool hasMetadataOperands(const Module &M) {
  return any_of(M, [](const Function &F) { return any_of(F.getFunctionType()->params(), [](const Type *T) { return T->isMetadataTy(); }); });
}

static void number(Module &M, StringRef Path) {
  DIBuilder Builder(M);
  DIFile *File = Builder.createFile(Path, NumberedFolder);
  Builder.createCompileUnit(dwarf::DW_LANG_C99, File, "", false, "", 0, "", DICompileUnit::LineTablesOnly);
  DISubroutineType *Type = Builder.createSubroutineType(Builder.getOrCreateTypeArray({}));
  for (Function &F : M) {
    DISubprogram *Scope = nullptr;
    unsigned Number = 0;
    for (Instruction &I : instructions(F)) {
      ++Number;
      if (!isa<CallBase>(I) && !isa<AllocaInst>(I))
        continue;
      if (!Scope)
        F.setSubprogram(Scope = Builder.createFunction(File, F.getName(), "", File, 0, Type, 0, DINode::FlagZero, DISubprogram::SPFlagDefinition));
      I.setDebugLoc(DILocation::get(M.getContext(), Number, 0, Scope));
    }
  }
  Builder.finalize();
}

std::unique_ptr<Module> readUnit(StringRef Path, LLVMContext &Context) {
  std::unique_ptr<WritableMemoryBuffer> Bytes = opened<WritableMemoryBuffer>(Path);
  bool Fortran = StringRef(Bytes->getBufferStart(), Bytes->getBufferSize()).contains("flang"); // its regions' names come from there
  if (!Fortran && Eraser(MutableArrayRef<char>(Bytes->getBufferStart(), Bytes->getBufferSize())).erase()) {
    std::unique_ptr<Module> Unit = parsed(getLazyBitcodeModule(MemoryBufferRef(*Bytes), Context), Path);
    if (!hasMetadataOperands(*Unit)) {
      if (Error Failure = Unit->materializeAll())
        report_fatal_error(Twine("error: cannot read ") + Path + ": " + toString(std::move(Failure)), /*gen_crash_diag=*/false);
      number(*Unit, Path);
      return Unit;
    }
  }
  std::unique_ptr<MemoryBuffer> Whole = opened<MemoryBuffer>(Path);
  std::unique_ptr<Module> Unit = parsed(parseBitcodeFile(Whole->getMemBufferRef(), Context), Path);
  stripNonLineTableDebugInfo(*Unit); // places of calls are all that is asked for
  return Unit;
}

std::unique_ptr<Module> readUnitLazily(StringRef Path, LLVMContext &Context, bool Names) {
  if (!Names) {
    std::unique_ptr<WritableMemoryBuffer> Bytes = opened<WritableMemoryBuffer>(Path);
    if (Eraser(MutableArrayRef<char>(Bytes->getBufferStart(), Bytes->getBufferSize())).erase()) {
      std::unique_ptr<Module> Unit = parsed(getOwningLazyBitcodeModule(std::move(Bytes), Context), Path);
      if (!hasMetadataOperands(*Unit))
        return Unit;
    }
  }
  return parsed(getOwningLazyBitcodeModule(opened<MemoryBuffer>(Path), Context, /*ShouldLazyLoadMetadata=*/true), Path);
}

/// C++ containers and others of which the lines tell little, and allocators of the program's own: where they are called says more.
static bool isCalledFor(const DILocation &L, StringRef File) {
  StringRef Ending = sys::path::extension(File);
  const DISubprogram *In = L.getScope()->getSubprogram();
  return Ending.empty() || Ending.starts_with(".h") || Ending == ".tcc" || Ending == ".inl" || Ending == ".ipp" || (In && In->getName().contains_insensitive("alloc"));
}

namespace {
struct Spot {
  std::string Place;
  bool OfSystem = false; ///< a header's, and nothing of the program's is known to be around it
};
} // namespace

static bool isOfSystem(StringRef File) {
  SmallString<128> Plain(File);
  sys::path::remove_dots(Plain, /*remove_dot_dot=*/true);
  StringRef Path = Plain;
  return Path.starts_with("/usr/include/") || Path.starts_with("/usr/lib") || Path.contains("/include/c++/");
}

static Spot spotOf(const DILocation *L);

namespace {
/// A unit that was read as it is, for the places of its numbers: the next one is often of the same unit.
struct PlacedUnit {
  std::string Path;
  LLVMContext Context;
  std::unique_ptr<MemoryBuffer> Whole;
  std::unique_ptr<Module> Unit;

  explicit PlacedUnit(StringRef Path)
      : Path(Path), Whole(opened<MemoryBuffer>(Path)), Unit(parsed(getLazyBitcodeModule(Whole->getMemBufferRef(), Context, /*ShouldLazyLoadMetadata=*/true), Path)) {}
};
} // namespace

static Spot placedSpot(Module &Unit, StringRef Name, unsigned Line) {
  Function *F = Unit.getFunction(Name);
  if (!F || !done(F->materialize()))
    return {};
  unsigned Number = 0;
  for (const Instruction &I : instructions(*F))
    if (++Number == Line)
      return spotOf(I.getDebugLoc());
  return {};
}

/// What was found is kept, since each place that a reason names is asked for many times, and reading a unit's debug information is dear.
static Spot numberedSpot(const DILocation &L) {
  static StringMap<Spot> &Known = *new StringMap<Spot>;
  static std::unique_ptr<PlacedUnit> &Last = *new std::unique_ptr<PlacedUnit>;
  StringRef Path = L.getFile()->getFilename(), Name = L.getScope()->getSubprogram()->getName();
  std::string Key = (Path + ":" + Name + ":" + Twine(L.getLine())).str();
  auto Found = Known.find(Key);
  if (Found != Known.end())
    return Found->second;
  if (!Last || Last->Path != Path) {
    Last.reset();
    Last = std::make_unique<PlacedUnit>(Path);
  }
  return Known[Key] = placedSpot(*Last->Unit, Name, L.getLine());
}

static Spot spotOf(const DILocation *L) {
  Spot Found;
  for (; L; L = L->getInlinedAt()) {
    Found = L->getDirectory() == NumberedFolder ? numberedSpot(*L) : Spot{(sys::path::filename(L->getFilename()) + ":" + Twine(L->getLine())).str(), isOfSystem(L->getFilename())};
    if (!Found.Place.empty() && (L->getLine() || !L->getInlinedAt()) && !isCalledFor(*L, StringRef(Found.Place).rsplit(':').first))
      break;
  }
  return Found;
}

std::string sourcePlace(const DILocation *L) { return spotOf(L).Place; }

static constexpr unsigned CallsMost = 16; ///< to look at, each of which has the unit's debug information read

/// Adds the program's own lines that have \p F called, through functions of the system's headers; no more than two, since then there is not one of them.
static void addCallingPlaces(const Function &F, SmallPtrSetImpl<const Function *> &Seen, unsigned &Looked, SmallVectorImpl<std::string> &Places) {
  for (const Use &U : F.uses()) {
    auto *Call = dyn_cast<CallBase>(U.getUser());
    if (!Call || !Call->isCallee(&U))
      continue;
    if (Places.size() > 1 || ++Looked > CallsMost)
      return;
    Spot At = spotOf(Call->getDebugLoc());
    if (!At.OfSystem && !is_contained(Places, At.Place))
      Places.push_back(At.Place);
    else if (At.OfSystem && Seen.insert(Call->getFunction()).second)
      addCallingPlaces(*Call->getFunction(), Seen, Looked, Places);
  }
}

std::string callingPlace(const Instruction &I) {
  Spot At = spotOf(I.getDebugLoc());
  SmallPtrSet<const Function *, 8> Seen = {I.getFunction()};
  SmallVector<std::string, 2> Places;
  unsigned Looked = 0;
  if (At.OfSystem)
    addCallingPlaces(*I.getFunction(), Seen, Looked, Places);
  return Places.size() == 1 && Looked <= CallsMost && !Places[0].empty() ? Places[0] : At.Place;
}

} // namespace pcere
