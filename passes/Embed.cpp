//===- passes/Embed.cpp - bitcode and addresses in sections that are not loaded ----------------------------------------===//

#include "Compatible.h"
#include "Placed.h"
#include "Stages.h"

#include "include/pcere/rt_abi.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Mangler.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace pcere {

static constexpr const char *UnitMetadata = "pcere.unit", *SymbolsMetadata = "pcere.symbols";

uint64_t unitId(const Module &M) {
  const NamedMDNode *Node = M.getNamedMetadata(UnitMetadata);
  if (!Node || Node->getNumOperands() != 1)
    return 0;
  return mdconst::extract<ConstantInt>(Node->getOperand(0)->getOperand(0))->getZExtValue();
}

bool isThreadprivateCache(const GlobalVariable &Variable) {
  return Variable.getName().ends_with(".cache.") || (Variable.getName().ends_with(".cache") && Variable.hasCommonLinkage());
}

bool isRuntimeState(const GlobalVariable &Variable) {
  return Variable.getName().starts_with(".gomp_critical_user_") || isThreadprivateCache(Variable);
}

/// cc1's arguments that shape code after the frontend and that the driver takes in the same spelling.
static bool isFrontendCodeFlag(StringRef A) {
  static constexpr StringLiteral Prefixes[] = {
      "-ffp-contract=", "-ffast-math", "-fapprox-func", "-funsafe-math-optimizations", "-fno-signed-zeros", "-freciprocal-math",
      "-ffinite-math-only", "-fmath-errno", "-funroll-loops", "-fno-unroll-loops", "-fno-builtin", "-ffunction-sections",
      "-fdata-sections", "-fveclib=", "-femulated-tls", "-fsplit-machine-functions", "-fbasic-block-sections=", "-fno-plt", "-mcmodel=", "-fprofile-update="};
  return any_of(Prefixes, [&](StringRef Prefix) { return A.starts_with(Prefix); });
}

/// The driver's arguments that shape code after the frontend.
static bool isDriverCodeFlag(StringRef A) {
  static constexpr StringLiteral Others[] = {"-fpass-plugin", "-fplugin", "-fopenmp", "-fdebug", "-fcoverage", "-ffile", "-fmacro",
                                             "-fdiagnostics", "-fcolor", "-fno-color", "-fmodule", "-fuse-ld", "-flto", "-fthin",
                                             "-fsyntax-only", "-fsanitize", "-fPI", "-fpi", "-fno-PI", "-fno-pi", "-fvisibility"};
  if (A.starts_with("-m"))
    return A != "-mllvm";
  return A.starts_with("-f") && !A.contains('/') && none_of(Others, [&](StringRef Prefix) { return A.starts_with(Prefix); });
}

std::vector<std::string> commandLine() {
  std::vector<std::string> Arguments;
  if (auto Buffer = MemoryBuffer::getFileAsStream("/proc/self/cmdline")) {
    SmallVector<StringRef, 128> Parts;
    (*Buffer)->getBuffer().split(Parts, '\0', -1, false);
    for (StringRef Part : Parts)
      Arguments.push_back(Part.str());
  }
  return Arguments;
}

/// Arguments of this compilation that shape code, in the driver's spelling. The driver runs cc1 inside its own process when it has
/// one job, so that they are found in either form; flang's frontend is called fc1.
static std::vector<std::string> codeFlags() {
  std::vector<std::string> Arguments = commandLine(), Flags;
  bool Frontend = is_contained(Arguments, "-cc1") || is_contained(Arguments, "-fc1");
  bool LinkedAsCode = is_contained(Arguments, "-ffat-lto-objects"); // unless the linker is told otherwise
  bool VectorizesLoops = false, VectorizesSLP = false;
  for (size_t I = 1; I < Arguments.size(); ++I) {
    StringRef A = Arguments[I];
    VectorizesLoops |= A == "-vectorize-loops";
    VectorizesSLP |= A == "-vectorize-slp";
    if (A == "-mllvm" && I + 1 < Arguments.size()) {
      if (!StringRef(Arguments[++I]).ltrim('-').starts_with("pcere-")) // this plugin's own: they hold for this build
        Flags.insert(Flags.end(), {"-mllvm", Arguments[I]});
    } else if (A == "-target-feature" || A == "-target-cpu" || A == "-tune-cpu" || A == "-Xclang" || A == "-o") {
      ++I; // target attributes stand in the bitcode
    } else if (A == "-fprofile-instrument=clang") { // its counting stands in the bitcode, and is to be made code
      Flags.push_back("-fprofile-instr-generate");
    } else if (A.starts_with("-flto=") && Frontend && !LinkedAsCode) {
      Flags.push_back(A.str());
    } else if (A.starts_with("-O") || (Frontend ? isFrontendCodeFlag(A) : isDriverCodeFlag(A))) {
      Flags.push_back(A.str());
    }
  }
  bool Vectorises = is_contained(Flags, "-O2") || is_contained(Flags, "-O3") || is_contained(Flags, "-Ofast") ||
                    is_contained(Flags, "-Os") || is_contained(Flags, "-O4");
  if (Frontend && Vectorises && !VectorizesLoops)
    Flags.push_back("-fno-vectorize");
  if (Frontend && Vectorises && !VectorizesSLP)
    Flags.push_back("-fno-slp-vectorize");
  return Flags;
}

static uint32_t moduleLevel(const Module &M, StringRef Flag) {
  auto *Value = mdconst::extract_or_null<ConstantInt>(M.getModuleFlag(Flag));
  return Value ? static_cast<uint32_t>(Value->getZExtValue()) : 0;
}

/// Bytes as module assembly; the assembler reads long .ascii lines fast.
static void writeAscii(raw_ostream &Out, StringRef Bytes) {
  static constexpr char Octal[] = "01234567";
  for (size_t Start = 0; Start < Bytes.size(); Start += 256) {
    Out << ".ascii \"";
    for (unsigned char C : Bytes.substr(Start, 256)) {
      if (isPrint(static_cast<char>(C)) && C != '"' && C != '\\')
        Out << static_cast<char>(C);
      else
        Out << '\\' << Octal[C >> 6] << Octal[(C >> 3) & 7] << Octal[C & 7];
    }
    Out << "\"\n";
  }
}

static SmallString<0> writeBitcode(const Module &M) {
  SmallString<0> Bytes;
  raw_svector_ostream Stream(Bytes);
  WriteBitcodeToFile(M, Stream, /*ShouldPreserveUseListOrder=*/true);
  return Bytes;
}

void embedSection(Module &M, StringRef Section, StringRef Bytes) {
  std::string Text;
  raw_string_ostream Out(Text);
  Out << ".section " << Section << ",\"\",@progbits\n.p2align 4\n";
  writeAscii(Out, Bytes);
  Out << ".p2align 4\n.text\n";
  M.appendModuleInlineAsm(Out.str());
}

/// Not each assembler takes these in a name, be it in quotes and with a backslash before them. A first \1 is LLVM's own.
static bool isBeyondQuotes(char C) { return C == '"' || C == '\\' || C == 0x7f || (static_cast<unsigned char>(C) < ' ' && C != '\1'); }

/// A global's name as codelets and the table have it.
static std::string assemblyName(StringRef Name) {
  std::string Text;
  for (char C : Name)
    Text += isBeyondQuotes(C) ? ".pcere." + utohexstr(static_cast<unsigned char>(C)) + "." : std::string(1, C);
  return Text;
}

/// The unit as codelets have it; the program's keeps its names, by which others know them.
static SmallString<0> writeUnit(Module &M) {
  std::vector<std::pair<GlobalValue *, std::string>> Renamed;
  for (GlobalValue &Value : M.global_values())
    if (any_of(Value.getName(), isBeyondQuotes))
      Renamed.emplace_back(&Value, Value.getName().str());
  for (auto &[Value, Name] : Renamed)
    Value->setName(assemblyName(Name));
  SmallString<0> Bytes = writeBitcode(M);
  for (auto &[Value, Name] : Renamed)
    Value->setName(Name);
  return Bytes;
}

void embedBitcode(Module &M, OptimizationLevel Level) {
  LLVMContext &Context = M.getContext();
  uint64_t Id = contentHash(writeBitcode(M));
  Id += Id == 0;
  Metadata *Value = ConstantAsMetadata::get(ConstantInt::get(Type::getInt64Ty(Context), Id));
  M.getOrInsertNamedMetadata(UnitMetadata)->addOperand(MDNode::get(Context, Value));

  SmallString<0> Bitcode = writeUnit(M);
  SmallVector<uint8_t, 0> Packed;
  bool Zstd = compression::zstd::isAvailable();
  if (Zstd)
    compression::zstd::compress(arrayRefFromStringRef(Bitcode), Packed, 3);
  StringRef Stored = Zstd ? toStringRef(Packed) : StringRef(Bitcode);
  std::string Flags;
  for (const std::string &Flag : codeFlags())
    Flags.append(Flag.c_str(), Flag.size() + 1);
  StringRef Source = M.getSourceFileName();

  pcere_unit_header Header = {};
  memcpy(Header.magic, PCERE_UNIT_MAGIC, sizeof Header.magic);
  Header.abi_version = PCERE_ABI_VERSION;
  Header.llvm_major = LLVM_VERSION_MAJOR;
  Header.unit_id = Id;
  Header.coding = Zstd ? PCERE_UNIT_ZSTD : PCERE_UNIT_RAW;
  Header.optimisation = Level.getSpeedupLevel() + Level.getSizeLevel() * PCERE_OPT_SIZE;
  Header.pic_level = moduleLevel(M, "PIC Level");
  Header.pie_level = moduleLevel(M, "PIE Level");
  Header.flags_bytes = Flags.size();
  Header.source_bytes = Source.size() + 1;
  Header.raw_bytes = Bitcode.size();
  Header.stored_bytes = Stored.size();

  std::string Bytes(reinterpret_cast<const char *>(&Header), sizeof Header);
  Bytes.append(Flags).append(Source.str().c_str(), Source.size() + 1).append(Stored.data(), Stored.size());
  embedSection(M, ".pcere.bc", Bytes);
}

static bool hasNoSymbolOfItsOwn(const GlobalValue &Value) {
  return Value.isDeclarationForLinker() || Value.getName().starts_with("llvm.") ||
         // The linker may have dropped it with its group. A group of which each unit keeps its own goes only when nobody uses it.
         (Value.hasLocalLinkage() && Value.hasComdat() && Value.getComdat()->getSelectionKind() != Comdat::NoDeduplicate);
}

struct SymbolEntry {
  GlobalValue *Value;
  std::string Name; ///< as the unit calls it
  const char *Expression;
  uint64_t Size;
  unsigned Kind;
  bool Local;
};

static std::vector<SymbolEntry> symbolsOf(Module &M) {
  std::vector<SymbolEntry> Entries;
  bool Emulated = is_contained(commandLine(), "-femulated-tls"); // then no thread-local variable has a symbol
  for (GlobalVariable &V : M.globals())
    if (!hasNoSymbolOfItsOwn(V) && !(Emulated && V.isThreadLocal()) && !V.hasAppendingLinkage() && !V.getName().starts_with(".pcere.site") && (!V.isConstant() || isPlacedConstant(V)))
      Entries.push_back({&V, assemblyName(V.getName()), V.isThreadLocal() ? "@dtpoff" : "", M.getDataLayout().getTypeAllocSize(V.getValueType()),
                         V.isThreadLocal() ? PCERE_SYMBOL_TLS : PCERE_SYMBOL_VARIABLE, V.hasLocalLinkage()});
  for (Function &F : M)
    if (!hasNoSymbolOfItsOwn(F) && (!F.hasLocalLinkage() || F.hasAddressTaken(nullptr, /*IgnoreCallbackUses=*/true)))
      Entries.push_back({&F, assemblyName(F.getName()), "", 0, PCERE_SYMBOL_FUNCTION, F.hasLocalLinkage()});
  return Entries;
}

static bool isForLinkTimeOptimisation(const Module &M) { return M.getModuleFlag("ThinLTO") || M.getModuleFlag("EnableSplitLTOUnit"); }

/// Link-time optimisation puts modules together: of two statics of one name one is renamed, and so is one that ThinLTO shares with other modules, but not what
/// the table's assembly calls them, which then is the other's, or nobody's. So each gets a name of its own. What is kept for assembly keeps its name.
static void makeNamesUnique(Module &M, ArrayRef<SymbolEntry> Entries, uint64_t Id) {
  SmallVector<GlobalValue *, 16> Used;
  collectUsedGlobalVariables(M, Used, /*CompilerUsed=*/false);
  collectUsedGlobalVariables(M, Used, /*CompilerUsed=*/true);
  SmallPtrSet<GlobalValue *, 16> Kept(Used.begin(), Used.end());
  for (const SymbolEntry &Entry : Entries)
    if (Entry.Value->hasLocalLinkage() && !Kept.contains(Entry.Value) && !StringRef(Entry.Name).starts_with("\1"))
      Entry.Value->setName(Entry.Name + ".pcere." + utohexstr(Id, /*LowerCase=*/true, /*Width=*/16));
}

/// Link-time optimisation writes names that a unit's assembly refers to into a directive, without the quotes that they need.
static bool needsQuotes(StringRef Symbol) {
  return Symbol.empty() || isDigit(Symbol.front()) || !all_of(Symbol, [](char C) { return isAlnum(C) || C == '_' || C == '.' || C == '$' || C == '@'; });
}

/// So the table knows those that must not stand there by other names, hidden in the program. What other units may define as well cannot have one: such a variable keeps its symbol instead.
static void avoidNames(Module &M, std::vector<SymbolEntry> &Entries, uint64_t Id, bool Linked) {
  Mangler Mang;
  unsigned Count = 0;
  std::string Left;
  SmallVector<GlobalValue *, 4> Kept, Aliased;
  erase_if(Entries, [&](SymbolEntry &Entry) {
    SmallString<128> Symbol;
    Mang.getNameWithPrefix(Symbol, Entry.Value, false);
    if (Linked ? !needsQuotes(Symbol) : none_of(Symbol, isBeyondQuotes))
      return false;
    if (!Entry.Value->isStrongDefinitionForLinker() || Entry.Value->hasComdat()) {
      if (auto *V = dyn_cast<GlobalVariable>(Entry.Value); V && !isRuntimeState(*V)) {
        Left += (Left.empty() ? "" : ", ") + Entry.Name;
        Kept.push_back(V);
      }
      return true;
    }
    GlobalAlias *Alias = GlobalAlias::create(GlobalValue::ExternalLinkage, "pcere.name." + utohexstr(Id, /*LowerCase=*/true, /*Width=*/16) + "." + utostr(Count++), Entry.Value);
    Alias->setVisibility(GlobalValue::HiddenVisibility);
    Alias->setThreadLocalMode(Entry.Value->getThreadLocalMode());
    Aliased.push_back(Entry.Value);
    Entry.Value = Alias;
    return false;
  });
  appendToCompilerUsed(M, Aliased); // else one that nothing else refers to gets the alias's name
  appendToUsed(M, Kept);
  if (!Left.empty())
    WithColor::warning() << "PCEREPass: " << (Linked ? "with -flto, where the program is stripped, " : "") << "replays do not find these variables, since they are inline or weak and "
                         << (Linked ? "their names need quotes: " : "assemblers do not take their names: ") << Left << "\n";
}

void embedSymbols(Module &M) {
  uint64_t Id = unitId(M);
  if (!Id || M.getNamedMetadata(SymbolsMetadata)) // -ffat-lto-objects has two pipelines, one behind the other
    return;
  M.getOrInsertNamedMetadata(SymbolsMetadata);
  std::vector<SymbolEntry> Symbols = symbolsOf(M);
  bool Linked = isForLinkTimeOptimisation(M);
  if (Linked)
    makeNamesUnique(M, Symbols, Id);
  avoidNames(M, Symbols, Id, Linked);
  Mangler Mang;
  std::string Entries;
  raw_string_ostream Out(Entries);
  for (const SymbolEntry &Entry : Symbols) {
    SmallString<128> Symbol;
    Mang.getNameWithPrefix(Symbol, Entry.Value, false);
    if (Entry.Local && Linked) // ThinLTO may give it another name: what is left of this one is nobody's to define, as a library's users were asked to
      Out << ".hidden \"" << Symbol << "\"\n";
    std::string Name = Entry.Name;
    size_t Padded = (Name.size() + 8) & ~size_t(7);
    Out << ".quad \"" << Symbol << "\"" << Entry.Expression << ", " << Entry.Size << "\n.short " << Entry.Kind << ", "
        << unsigned(Entry.Local) << "\n.long " << Padded << "\n";
    Name.resize(Padded);
    writeAscii(Out, Name);
  }

  // Stripping drops one of these, and the GNU linker the other where it collects what nobody uses: it keeps what has relocations only for debuggers.
  for (StringRef Section : {".pcere.sym", ".debug_pcere"}) {
    std::string Text, Label = (".L" + Section.substr(1) + "." + utohexstr(Id)).str(); // link-time optimisation joins the assembly of several units
    raw_string_ostream Asm(Text);
    Asm << ".section " << Section << ",\"\",@progbits\n.p2align 4\n" << Label << ":\n.ascii \"" << PCERE_SYMBOLS_MAGIC << "\"\n.long "
        << PCERE_ABI_VERSION << ", " << Symbols.size() << "\n.quad " << format_hex(Id, 18) << ", " << Label << ".end-" << Label << "\n"
        << Out.str() << ".p2align 4\n" << Label << ".end:\n.text\n";
    M.appendModuleInlineAsm(Asm.str());
  }
}

} // namespace pcere
