//===- passes/Codelet.cpp - a captured unit becomes part of a codelet ---------------------------------------------------===//
//
// The unit must come out of the optimiser exactly as in the original build, so nothing that it could see changes before the end of the
// pipeline but the name of main, and probes stand where they stood there: a call more or less, and a static variable becomes a bit. Then
// the calls go, and variables become references to where the original had them.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "Compatible.h"
#include "Placed.h"
#include "Sampling.h"
#include "Stages.h"

#include "include/pcere/codelet_abi.h"
#include "include/pcere/rt_abi.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace pcere {

static constexpr const char *RegionMetadata = "pcere.region"; ///< on the outlined function: the region's name, how many words, how it is entered
static constexpr const char *RegionList = "pcere.regions";    ///< the same of all regions, also of those whose function the optimiser drops

static std::string suffix(const Module &M) {
  return utohexstr(unitId(M), /*LowerCase=*/true, /*Width=*/16);
}

void dropFlags(Function &F) {
  for (Attribute::AttrKind Kind : {Attribute::OptimizeNone, Attribute::NoInline, Attribute::MinSize, Attribute::OptimizeForSize})
    F.removeFnAttr(Kind);
  for (StringRef Name : {"target-cpu", "target-features", "tune-cpu", "min-legal-vector-width", "prefer-vector-width"})
    F.removeFnAttr(Name);
}

/// What -ffast-math and its parts would have put on the instructions, had the source been compiled with them.
static void relaxMath(Function &F, unsigned Rules) {
  for (Instruction &I : instructions(F)) {
    if (auto *Test = dyn_cast<IntrinsicInst>(&I); Test && Test->getIntrinsicID() == Intrinsic::is_fpclass) {
      uint64_t Classes = cast<ConstantInt>(Test->getArgOperand(1))->getZExtValue(); // isnan, isinf, ...: what cannot be is not asked for
      Classes &= ~(((Rules & 2) ? uint64_t(fcNan) : 0) | ((Rules & 4) ? uint64_t(fcInf) : 0));
      Test->setArgOperand(1, ConstantInt::get(Test->getArgOperand(1)->getType(), Classes));
    }
    if (!isa<FPMathOperator>(I))
      continue;
    FastMathFlags Flags = I.getFastMathFlags();
    Flags.setAllowReassoc(Flags.allowReassoc() || (Rules & 1));
    Flags.setNoNaNs(Flags.noNaNs() || (Rules & 2));
    Flags.setNoInfs(Flags.noInfs() || (Rules & 4));
    Flags.setNoSignedZeros(Flags.noSignedZeros() || (Rules & 8));
    Flags.setAllowReciprocal(Flags.allowReciprocal() || (Rules & 16));
    Flags.setAllowContract(Flags.allowContract() || (Rules & 32));
    Flags.setApproxFunc(Flags.approxFunc() || (Rules & 64));
    I.setFastMathFlags(Flags);
  }
}

/// What the function was compiled for and this machine's processor, which is to run it, does not have: "avx512f avx512vl", or "".
/// Only what the processor is known to lack counts; much else that is called a feature is not.
static std::string missingFeatures(const Function &F) {
  if (Triple(F.getParent()->getTargetTriple()).getArch() != Triple(sys::getProcessTriple()).getArch())
    return "";
  static const StringMap<bool> Host = hostFeatures();
  SmallVector<StringRef, 64> Wanted;
  F.getFnAttribute("target-features").getValueAsString().split(Wanted, ',', -1, false);
  std::string Missing;
  for (StringRef Feature : Wanted) {
    if (!Feature.consume_front("+"))
      continue;
    if (auto Known = Host.find(Feature); Known != Host.end() && !Known->second)
      Missing += (Missing.empty() ? "" : " ") + Feature.str();
  }
  return Missing;
}

/// A virtual function, and whether its table is of a type.
static void loadUnchecked(CallBase &Call) {
  IRBuilder<> Builder(&Call);
  auto *Both = cast<StructType>(Call.getType());
  Value *Address = Builder.CreateGEP(Builder.getInt8Ty(), Call.getArgOperand(0), Call.getArgOperand(1));
  Value *Loaded = Builder.CreateInsertValue(PoisonValue::get(Both), Builder.CreateLoad(Both->getElementType(0), Address), 0);
  Call.replaceAllUsesWith(Builder.CreateInsertValue(Loaded, Builder.getTrue(), 1));
}

void dropSanitizing(Module &M) {
  for (Function &F : make_early_inc_range(M)) {
    F.removeFnAttr(Attribute::SafeStack);
    Intrinsic::ID Kind = F.getIntrinsicID();
    if (Kind != Intrinsic::type_test && Kind != Intrinsic::public_type_test && Kind != Intrinsic::type_checked_load)
      continue;
    for (User *U : make_early_inc_range(F.users()))
      if (auto *Test = dyn_cast<CallBase>(U)) {
        if (Kind == Intrinsic::type_checked_load)
          loadUnchecked(*Test);
        else
          Test->replaceAllUsesWith(ConstantInt::getTrue(M.getContext()));
        Test->eraseFromParent();
      }
  }
}

bool isOnlySerial(const RegionTable &Table, const Entry &E) {
  return E.Path == PCERE_PATH_SERIALIZED &&
         none_of(Table.Entries, [&](const Entry &O) { return O.RegionIndex == E.RegionIndex && O.Path != E.Path; });
}

/// ".symver f, f@V1": of a function of its own, a version that a library offers and nobody asks for here. Of others' the line says which is meant.
static bool isVersionOfOwn(const Module &M, StringRef Line) {
  Line = Line.trim();
  if (!Line.consume_front(".symver"))
    return false;
  const GlobalValue *V = M.getNamedValue(Line.split(',').first.trim().trim('"'));
  return V && !V->isDeclaration();
}

void dropLinkersAssembly(Module &M) {
  StringRef Assembly = M.getModuleInlineAsm();
  if (Assembly.contains(".incbin")) {
    M.setModuleInlineAsm("");
    return;
  }
  if (!Assembly.contains(".symver"))
    return;
  std::string Kept;
  SmallVector<StringRef, 16> Lines;
  Assembly.split(Lines, '\n');
  for (StringRef Line : Lines) {
    SmallVector<StringRef, 4> Parts;
    Line.split(Parts, ';');
    for (StringRef &Part : Parts)
      Part = isVersionOfOwn(M, Part) ? "" : Part;
    Kept += join(Parts, ";") + "\n";
  }
  M.setModuleInlineAsm(Kept);
}

void prepareCodelet(Module &M, bool Retarget, unsigned FastMath, StringRef VectorWidth) {
  LLVMContext &Context = M.getContext();
  dropSanitizing(M);
  RegionTable Table = findRegions(M); // before main is renamed: regions have its name
  if (Function *Main = M.getFunction("main"))
    Main->setName("__pcere_main." + suffix(M));
  insertProbes(M, Table);
  for (const Entry &E : Table.Entries) {
    const Region &R = Table.Regions[E.RegionIndex];
    Metadata *Fields[] = {MDString::get(Context, R.Name),
                          ConstantAsMetadata::get(ConstantInt::get(Type::getInt64Ty(Context), E.Words.size())),
                          ConstantAsMetadata::get(ConstantInt::get(Type::getInt64Ty(Context), static_cast<uint64_t>(E.Path)))};
    R.Microtask->setMetadata(RegionMetadata, MDNode::get(Context, Fields));
    if (E.Path == PCERE_PATH_SERIALIZED && !isOnlySerial(Table, E))
      appendToCompilerUsed(M, {R.Microtask}); // where `if` is found to be false its code goes into the function around it, and here into nothing; the fork has its address as well
    if (R.Microtask->hasLocalLinkage() && isOnlySerial(Table, E)) {
      R.Microtask->setLinkage(GlobalValue::ExternalLinkage);
      R.Microtask->setVisibility(GlobalValue::HiddenVisibility);
      R.Microtask->setName(R.Microtask->getName() + ".pcere." + suffix(M));
    }
  }
  SmallPtrSet<MDNode *, 16> Listed;
  for (const Entry &E : Table.Entries)
    if (MDNode *Node = Table.Regions[E.RegionIndex].Microtask->getMetadata(RegionMetadata); Listed.insert(Node).second)
      M.getOrInsertNamedMetadata(RegionList)->addOperand(Node);
  if (Retarget)
    for (Function &F : M) {
      dropFlags(F);
      if (!VectorWidth.empty())
        F.addFnAttr("prefer-vector-width", VectorWidth);
      if (FastMath)
        relaxMath(F, FastMath);
    }
}

namespace {

class CodeletBuilder {
  Module &M;
  LLVMContext &Context;
  PointerType *Pointer;
  IntegerType *Int32, *Int64;
  std::string Suffix;

  /// An entry of one of the tables that the linker gathers.
  void tableEntry(StringRef Section, Constant *Entry) {
    auto *V = new GlobalVariable(M, Entry->getType(), true, GlobalValue::InternalLinkage, Entry, "pcere.entry");
    V->setSection(Section);
    V->setAlignment(Align(8));
    appendToUsed(M, {V});
  }

  /// A symbol that the launcher may define as an absolute address.
  Constant *absolute(const Twine &Name) {
    auto *V = new GlobalVariable(M, Type::getInt8Ty(Context), false, GlobalValue::ExternalWeakLinkage, nullptr, Name);
    V->setVisibility(GlobalValue::HiddenVisibility);
    return V;
  }

  Constant *string(StringRef Text) {
    Constant *Bytes = ConstantDataArray::getString(Context, Text);
    return new GlobalVariable(M, Bytes->getType(), true, GlobalValue::PrivateLinkage, Bytes, "pcere.string");
  }

  Constant *ident(Function &Microtask) {
    for (User *U : Microtask.users())
      if (auto *Call = dyn_cast<CallBase>(U); Call && forkPath(*Call) >= 0)
        if (auto *Known = dyn_cast<Constant>(Call->getArgOperand(0)))
          return Known;
    Constant *String = string(";unknown;unknown;0;0;;");
    auto *Type = StructType::get(Context, {Int32, Int32, Int32, Int32, Pointer});
    Constant *Fields[] = {ConstantInt::get(Int32, 0), ConstantInt::get(Int32, 2), ConstantInt::get(Int32, 0),
                          ConstantInt::get(Int32, 22), String};
    return new GlobalVariable(M, Type, true, GlobalValue::PrivateLinkage, ConstantStruct::get(Type, Fields), "pcere.ident");
  }

  /// void NAME(const uint64_t *words)
  Function *entryFunction(StringRef Name) {
    auto *F = Function::Create(FunctionType::get(Type::getVoidTy(Context), {Pointer}, false), GlobalValue::InternalLinkage,
                               Name, M);
    F->addFnAttr(Attribute::NoInline);
    F->setUWTableKind(UWTableKind::Async);
    BasicBlock::Create(Context, "entry", F);
    return F;
  }

  Value *word(IRBuilder<> &Builder, Function *F, unsigned Index, Type *Wanted) {
    Value *Address = Builder.CreateConstInBoundsGEP1_64(Int64, F->getArg(0), Index);
    if (Wanted->isPointerTy())
      return Builder.CreateLoad(Wanted, Address);
    Value *Word = Builder.CreateLoad(Int64, Address);
    if (Wanted->isIntegerTy())
      return Builder.CreateTrunc(Word, Wanted);
    return Builder.CreateBitCast(Builder.CreateTrunc(Word, Builder.getIntNTy(static_cast<unsigned>(Wanted->getPrimitiveSizeInBits()))), Wanted);
  }

  Constant *forkFunction(Function &Microtask, Constant *Ident, unsigned Words) {
    Function *F = entryFunction("pcere.fork");
    IRBuilder<> Builder(&F->getEntryBlock());
    auto *Type = FunctionType::get(Builder.getVoidTy(), {Pointer, Int32, Pointer}, true);
    SmallVector<Value *, 24> Arguments{Ident, Builder.getInt32(Words), &Microtask};
    for (unsigned I = 0; I < Words; ++I)
      Arguments.push_back(word(Builder, F, I, Microtask.getFunctionType()->getParamType(I + 2)->isPointerTy()
                                                  ? static_cast<llvm::Type *>(Pointer) : Int64));
    Builder.CreateCall(M.getOrInsertFunction("__kmpc_fork_call", Type), Arguments);
    Builder.CreateRetVoid();
    return F;
  }

  /// Words: the condition, and an argument that the function may not have.
  Constant *forkIfFunction(Function &Microtask, Constant *Ident) {
    Function *F = entryFunction("pcere.fork.if");
    IRBuilder<> Builder(&F->getEntryBlock());
    auto *Type = FunctionType::get(Builder.getVoidTy(), {Pointer, Int32, Pointer, Int32, Pointer}, false);
    Value *Arguments[] = {Ident, Builder.getInt32(static_cast<uint32_t>(Microtask.arg_size()) - 2), &Microtask, word(Builder, F, 0, Int32), word(Builder, F, 1, Pointer)};
    Builder.CreateCall(M.getOrInsertFunction("__kmpc_fork_call_if", Type), Arguments);
    Builder.CreateRetVoid();
    return F;
  }

  /// The arguments are the region's words from \p First on.
  Constant *serialFunction(Function &Microtask, Constant *Ident, unsigned First) {
    Function *F = entryFunction("pcere.serial");
    IRBuilder<> Builder(&F->getEntryBlock());
    Value *Thread = Builder.CreateAlloca(Int32), *Bound = Builder.CreateAlloca(Int32);
    auto *ThreadType = FunctionType::get(Int32, {Pointer}, false);
    auto *SerialType = FunctionType::get(Builder.getVoidTy(), {Pointer, Int32}, false);
    Value *Number = Builder.CreateCall(M.getOrInsertFunction("__kmpc_global_thread_num", ThreadType), {Ident});
    Builder.CreateCall(M.getOrInsertFunction("__kmpc_serialized_parallel", SerialType), {Ident, Number});
    Builder.CreateStore(Number, Thread);
    Builder.CreateStore(Builder.getInt32(0), Bound);
    SmallVector<Value *, 24> Arguments{Thread, Bound};
    for (unsigned I = 2; I < Microtask.arg_size(); ++I)
      Arguments.push_back(word(Builder, F, I - 2 + First, Microtask.getFunctionType()->getParamType(I)));
    Builder.CreateCall(&Microtask, Arguments)->setCallingConv(Microtask.getCallingConv());
    Builder.CreateCall(M.getOrInsertFunction("__kmpc_end_serialized_parallel", SerialType), {Ident, Number});
    Builder.CreateRetVoid();
    return F;
  }

public:
  explicit CodeletBuilder(Module &M)
      : M(M), Context(M.getContext()), Pointer(PointerType::getUnqual(Context)), Int32(Type::getInt32Ty(Context)),
        Int64(Type::getInt64Ty(Context)), Suffix(suffix(M)) {}

  void regionEntry(MDNode *Node, Constant *Fork, Constant *Serial, StringRef Missing, StringRef Whole, uint64_t Bits) {
    uint64_t Words = mdconst::extract<ConstantInt>(Node->getOperand(1))->getZExtValue();
    tableEntry("pcere_regions", ConstantStruct::getAnon({string(cast<MDString>(Node->getOperand(0))->getString()), Fork, Serial,
                                                         ConstantInt::get(Int64, Words), ConstantInt::get(Int64, unitId(M)),
                                                         string(Missing), string(Whole), ConstantInt::get(Int64, Bits)}));
  }

  /// The optimiser found that the region does nothing, and dropped it with its call: so it did in the program.
  void emptyRegion(MDNode *Node) {
    Function *F = entryFunction("pcere.empty");
    IRBuilder<>(&F->getEntryBlock()).CreateRetVoid();
    regionEntry(Node, F, F, "", "nothing is left of it after optimisation", CODELET_REGION_EMPTY);
  }

  /// Returns whether it is a region's function.
  bool region(Function &Microtask) {
    MDNode *Node = Microtask.getMetadata(RegionMetadata);
    if (!Node || Microtask.isDeclaration() || Microtask.arg_size() < 2)
      return false;
    auto Words = static_cast<unsigned>(mdconst::extract<ConstantInt>(Node->getOperand(1))->getZExtValue());
    bool Conditional = mdconst::extract<ConstantInt>(Node->getOperand(2))->getZExtValue() == PCERE_PATH_FORK_IF;
    if (Conditional ? Words != 2 || Microtask.arg_size() > 3 : Microtask.arg_size() != Words + 2)
      return true;
    Constant *Ident = ident(Microtask);
    Sampling Samples = samplingOf(Microtask);
    regionEntry(Node, Conditional ? forkIfFunction(Microtask, Ident) : forkFunction(Microtask, Ident, Words),
                serialFunction(Microtask, Ident, Conditional), missingFeatures(Microtask), Samples.Whole,
                (Samples.OneBlock ? CODELET_SAMPLE_ONE_BLOCK : 0) | (Samples.Tasks ? CODELET_SAMPLE_TASKS : 0) | (Samples.Once ? CODELET_SAMPLE_ONCE : 0) |
                (Samples.Restored ? CODELET_SAMPLE_RESTORED : 0) | (Samples.Shares ? CODELET_REGION_SHARES : 0));
    return true;
  }

  void function(Function &F) {
    tableEntry("pcere_functions", ConstantStruct::getAnon({absolute("__pcere_old." + Suffix + "." + F.getName()), &F}));
  }

  /// Addresses of functions are told apart by comparing them, and captured data holds the program's: where code takes one other than to call it or to tell the
  /// OpenMP runtime, it gets the captured one, which leads here (replay-rt/target/overlay.c). What the program has none for stays what it is here.
  void addresses(Function &F) {
    if (none_of(F.uses(), takesAddress))
      return;
    GlobalValue *Captured = F.isDeclarationForLinker() ? wayTo(F) : sameAs(F);
    if (F.isDSOLocal())
      Captured->setVisibility(GlobalValue::HiddenVisibility);
    F.replaceUsesWithIf(Captured, [&](Use &U) { return takesAddress(U) && !isInside(U, *Captured); });
  }

  /// A weak definition of the captured address of \p F, which the launcher's takes the place of.
  GlobalValue *sameAs(Function &F) {
    F.setComdat(nullptr); // the linker keeps one unit's group, which may not be the one that has this address
    if (F.hasLinkOnceLinkage())
      F.setLinkage(F.hasLinkOnceODRLinkage() ? GlobalValue::WeakODRLinkage : GlobalValue::WeakAnyLinkage);
    return GlobalAlias::create(F.getValueType(), F.getAddressSpace(), GlobalValue::WeakAnyLinkage, "__pcere_at." + Suffix + "." + F.getName(), &F, &M);
  }

  /// The same for a function of another unit, or of a library.
  GlobalValue *wayTo(Function &F) {
    auto *Type = FunctionType::get(llvm::Type::getVoidTy(Context), false);
    auto *Way = Function::Create(Type, GlobalValue::WeakAnyLinkage, "__pcere_at." + F.getName(), M);
    Way->addFnAttr(Attribute::Naked);
    Way->addFnAttr(Attribute::NoInline);
    IRBuilder<> Builder(BasicBlock::Create(Context, "entry", Way));
    auto *Jump = InlineAsm::get(FunctionType::get(Type->getReturnType(), {Pointer}, false), "jmp ${0:P}", "s", /*hasSideEffects=*/true);
    Builder.CreateCall(Jump, {&F});
    Builder.CreateUnreachable();
    return Way;
  }

  static bool isInside(const Use &U, const GlobalValue &V) {
    auto *I = dyn_cast<Instruction>(U.getUser());
    return U.getUser() == &V || (I && I->getFunction() == &V);
  }

  /// malloc and the like of the program's executable become pcere_program_malloc, which serves the region (replay-rt/target/program_heap.c).
  /// Those of a library serve nobody here, as in the capture, whose own came before them.
  void allocator(GlobalValue &V, bool Library) {
    std::string Name = V.getName().str();
    V.setName("pcere_program_" + Name);
    if (auto *F = dyn_cast<Function>(&V))
      F->setComdat(nullptr);
    if (Library) {
      V.replaceAllUsesWith(M.getOrInsertFunction(Name, cast<FunctionType>(V.getValueType())).getCallee());
      V.setVisibility(GlobalValue::DefaultVisibility);
      V.setLinkage(GlobalValue::InternalLinkage);
      return;
    }
    V.setVisibility(GlobalValue::HiddenVisibility);
    V.setDSOLocal(true);
  }

  /// Where code takes the address of one of these, it is not the captured one.
  void ownConstants(ArrayRef<GlobalVariable *> Own) {
    SmallVector<Constant *, 64> Entries;
    for (GlobalVariable *V : Own)
      Entries.push_back(ConstantStruct::getAnon({V, ConstantInt::get(Int64, M.getDataLayout().getTypeAllocSize(V->getValueType()))}));
    if (!Entries.empty())
      tableEntry("pcere_constants", ConstantArray::get(ArrayType::get(Entries[0]->getType(), Entries.size()), Entries));
  }

  void threadLocal(GlobalVariable &V) {
    auto *Address = Function::Create(FunctionType::get(Pointer, false), GlobalValue::InternalLinkage, "pcere.tls", M);
    IRBuilder<> Builder(BasicBlock::Create(Context, "entry", Address));
    Builder.CreateRet(Builder.CreateThreadLocalAddress(&V));
    uint64_t Size = M.getDataLayout().getTypeAllocSize(V.getValueType());
    tableEntry("pcere_tls", ConstantStruct::getAnon({absolute("__pcere_tls." + Suffix + "." + V.getName()), Address,
                                                     ConstantInt::get(Int64, Size)}));
  }

  /// Each process has copies of its own; the linker must not take the original's cache for this one.
  void threadprivateCache(GlobalVariable &Cache) {
    Cache.setName(Cache.getName() + ".pcere.own");
    for (User *U : Cache.users()) {
      auto *Call = dyn_cast<CallBase>(U);
      if (!Call || calleeName(*Call) != "__kmpc_threadprivate_cached" || Call->arg_size() != 5)
        continue;
      auto *V = dyn_cast<GlobalVariable>(Call->getArgOperand(2)->stripPointerCasts());
      auto *Bytes = dyn_cast<ConstantInt>(Call->getArgOperand(3));
      if (!V || !Bytes)
        continue;
      Constant *Initial = ConstantPointerNull::get(Pointer);
      if (!V->isDeclarationForLinker())
        Initial = new GlobalVariable(M, V->getValueType(), true, GlobalValue::PrivateLinkage, V->getInitializer(), "pcere.initial");
      tableEntry("pcere_caches", ConstantStruct::getAnon({&Cache, V, Initial, Bytes, constructor(*V)}));
      return;
    }
  }

  /// What makes each thread's object of a threadprivate variable, as the program's start told the OpenMP runtime, which is not told again.
  Constant *constructor(GlobalVariable &V) {
    for (User *U : V.users()) {
      auto *Call = dyn_cast<CallBase>(U);
      if (Call && calleeName(*Call) == "__kmpc_threadprivate_register" && Call->arg_size() == 5)
        if (auto *F = dyn_cast<Function>(Call->getArgOperand(2)->stripPointerCasts()))
          return F;
    }
    return ConstantPointerNull::get(Pointer);
  }

  /// The variable lives where the original had it.
  /// A symbol at the captured address takes its place. Where the program has none, since the linker dropped it, it stays.
  void yield(GlobalVariable &V) {
    bool Local = V.hasLocalLinkage();
    V.setLinkage(GlobalValue::WeakODRLinkage);
    if (Local) {
      V.setComdat(nullptr);
      V.setVisibility(GlobalValue::HiddenVisibility);
      V.setDSOLocal(true);
      V.setName(V.getName() + ".pcere." + Suffix);
    }
  }

  void externalise(GlobalVariable &V) {
    bool Local = V.hasLocalLinkage();
    V.setInitializer(nullptr);
    V.setComdat(nullptr);
    V.setSection("");
    V.eraseMetadata(LLVMContext::MD_dbg);
    V.setLinkage(GlobalValue::ExternalLinkage);
    if (Local) {
      V.setVisibility(GlobalValue::HiddenVisibility);
      V.setDSOLocal(true);
      V.setName(V.getName() + ".pcere." + Suffix);
    }
  }
};

} // namespace

/// What the C library's allocator offers: a program may have its own of these.
static bool isAllocator(const GlobalValue &V) {
  static const StringSet<> Names = {"malloc", "calloc", "realloc", "free", "memalign", "aligned_alloc", "posix_memalign", "malloc_usable_size"};
  return !V.hasLocalLinkage() && !V.isDeclarationForLinker() && isa<FunctionType>(V.getValueType()) && Names.contains(V.getName());
}

void finishCodelet(Module &M, bool Library) {
  for (const char *Name : {"llvm.global_ctors", "llvm.global_dtors"})
    if (GlobalVariable *List = M.getNamedGlobal(Name))
      List->eraseFromParent();
  for (GlobalAlias &Alias : make_early_inc_range(M.aliases()))
    if (auto *V = dyn_cast<GlobalVariable>(Alias.getAliaseeObject()); V && !V->isConstant() && !V->isThreadLocal()) {
      Alias.replaceAllUsesWith(Alias.getAliasee());
      Alias.eraseFromParent();
    }

  CodeletBuilder Builder(M);
  SmallVector<Function *, 64> Functions;
  SmallVector<GlobalVariable *, 64> Variables, Constants, OwnConstants, Caches;
  for (Function &F : M)
    if (!F.isDeclarationForLinker()) {
      if (F.hasLocalLinkage())
        F.setComdat(nullptr); // the linker keeps one unit's group, and the table below names each unit's own function
      Functions.push_back(&F);
    }
  for (GlobalVariable &V : M.globals())
    if (!V.isDeclarationForLinker() && !V.isConstant() && !V.hasAppendingLinkage() && !isRuntimeState(V))
      Variables.push_back(&V);
    else if (isPlacedConstant(V))
      Constants.push_back(&V);
    else if (isOwnConstant(V))
      OwnConstants.push_back(&V);
    else if (!V.isDeclaration() && isThreadprivateCache(V))
      Caches.push_back(&V);
  for (GlobalVariable *V : Caches)
    Builder.threadprivateCache(*V); // while variables still have their initialisers
  SmallPtrSet<MDNode *, 16> Found;
  bool KeepsAddresses = Triple(M.getTargetTriple()).getArch() == Triple::x86_64; // elsewhere not every captured address has room for a jump
  for (Function &F : make_early_inc_range(M))
    if (KeepsAddresses && F.isDeclarationForLinker() && !F.isIntrinsic() && !F.hasExternalWeakLinkage())
      Builder.addresses(F);
  for (Function *F : Functions) {
    bool Known = !F->hasLocalLinkage() || F->hasAddressTaken(nullptr, /*IgnoreCallbackUses=*/true);
    if (Known && KeepsAddresses && !isAllocator(*F))
      Builder.addresses(*F);
    if (Known)
      Builder.function(*F);
    if (Builder.region(*F))
      Found.insert(F->getMetadata(RegionMetadata));
  }
  if (NamedMDNode *List = M.getNamedMetadata(RegionList))
    for (MDNode *Node : List->operands())
      if (!Found.contains(Node))
        Builder.emptyRegion(Node);
  for (GlobalAlias &Alias : make_early_inc_range(M.aliases()))
    if (isAllocator(Alias))
      Builder.allocator(Alias, Library);
  for (Function *F : Functions)
    if (isAllocator(*F))
      Builder.allocator(*F, Library);
  Builder.ownConstants(OwnConstants);
  for (GlobalVariable *V : Constants)
    Builder.yield(*V);
  for (GlobalVariable *V : Variables)
    if (V->isThreadLocal() && !Library)
      Builder.threadLocal(*V);
    else
      Builder.externalise(*V);
}

} // namespace pcere
