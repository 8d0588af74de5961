//===- passes/Processor.cpp - a captured unit is made ready for another processor than the program's ------------------------===//
//
// Types, sizes and layouts are those of the program, and agree with the other processor's but for what is listed here. A function that holds what does not
// is replaced by one that ends the codelet with the reason: other regions are none the worse for it, nor are those that it enters.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "Compatible.h"
#include "Stages.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace pcere {

static constexpr const char *RefusalMetadata = "pcere.refusal"; ///< on a function that cannot be had on the other processor: why

static bool holds(Type *T, function_ref<bool(Type *)> Is) {
  return Is(T) || any_of(T->subtypes(), [&](Type *Inner) { return holds(Inner, Is); });
}

static bool isForeign(Type *T) {
  return holds(T, [](Type *Part) { return Part->isX86_FP80Ty(); });
}

/// Functions of the C library that take or keep structures of another size or order there.
static bool takesOtherStructures(StringRef Name) {
  static const StringRef Exact[] = {"stat", "fstat", "lstat", "fstatat", "setjmp", "_setjmp", "__sigsetjmp", "longjmp", "siglongjmp", "getcontext",
                                    "setcontext", "makecontext", "swapcontext", "fegetenv", "fesetenv", "feholdexcept", "feupdateenv", "cexpf", "cabsf",
                                    "vprintf", "vfprintf", "vsprintf", "vsnprintf", "vscanf", "vfscanf", "vsscanf", "vasprintf", "epoll_wait", "epoll_ctl"};
  return is_contained(Exact, Name) || Name.starts_with("pthread_mutex") || Name.starts_with("pthread_cond") || Name.starts_with("pthread_barrier") ||
         Name.starts_with("pthread_attr") || Name.starts_with("pthread_rwlock") || Name.starts_with("sem_");
}

/// What of a call only the program's processor has, in words, or "".
static std::string foreignCall(const CallBase &Call) {
  if (Call.isInlineAsm()) {
    StringRef Text = cast<InlineAsm>(Call.getCalledOperand())->getAsmString();
    return Text.empty() ? "" : ("inline assembly (" + Text.take_front(40) + ")").str();
  }
  const auto *Callee = dyn_cast<Function>(Call.getCalledOperand()->stripPointerCasts());
  if (!Callee)
    return "";
  StringRef Name = Callee->getName();
  if (Name.starts_with("llvm.x86."))
    return ("the instruction " + Name).str();
  if (Name.starts_with("llvm.va_start") || Name.starts_with("llvm.va_copy"))
    return "a list of arguments of unknown number";
  if (Callee->isIntrinsic() || !Callee->isDeclaration())
    return "";
  if (takesOtherStructures(Name))
    return (Name + ", whose structures are others there").str();
  // What other units define is rebuilt, but a library follows its own processor's rules.
  bool Passed = Callee->getReturnType()->isVectorTy();
  for (const Argument &A : Callee->args())
    Passed |= A.hasByValAttr() || A.getType()->isVectorTy();
  return Passed && !Callee->hasLocalLinkage() ? ("a structure or vector passed to " + Name).str() : "";
}

static std::string foreignInstruction(const Instruction &I) {
  if (isForeign(I.getType()) || any_of(I.operands(), [](const Use &U) { return isForeign(U->getType()); }))
    return "long double, which has 80 bits on x86-64 alone";
  if (const auto *Allocation = dyn_cast<AllocaInst>(&I); Allocation && isForeign(Allocation->getAllocatedType()))
    return "long double, which has 80 bits on x86-64 alone";
  if (const auto *Call = dyn_cast<CallBase>(&I))
    return foreignCall(*Call);
  return "";
}

static std::string foreignPart(const Function &F) {
  if (isForeign(F.getFunctionType()))
    return "long double, which has 80 bits on x86-64 alone";
  for (const Instruction &I : instructions(F))
    if (std::string Words = foreignInstruction(I); !Words.empty())
      return Words;
  return "";
}

/// What a function refers to that is to go stays without it: the regions that it enters, what it calls, since regions may be there, too, and functions that it may have put
/// into memory. What it writes to does not hold its first value for good.
static void keepUsed(Function &F, SmallSetVector<GlobalValue *, 16> &Kept) {
  SmallVector<Constant *, 32> Open;
  SmallPtrSet<Constant *, 32> Seen;
  for (Instruction &I : instructions(F))
    for (Value *Operand : I.operands())
      if (auto *C = dyn_cast<Constant>(Operand))
        Open.push_back(C);
  while (!Open.empty()) {
    Constant *C = Open.pop_back_val();
    if (!Seen.insert(C).second)
      continue;
    const auto *V = dyn_cast<GlobalVariable>(C);
    if (auto *Used = dyn_cast<GlobalValue>(C); Used && Used != &F && (Used->hasLocalLinkage() || Used->hasLinkOnceLinkage()) && !(V && (V->isConstant() || !V->hasName())))
      Kept.insert(Used);
    if (!isa<Function>(C))
      for (Value *Part : C->operands())
        Open.push_back(cast<Constant>(Part));
  }
}

/// Its type may be one that the other processor does not have: then nothing is left of it, and callers end before they call it.
static void replaceBody(Function &F, StringRef Sentence) {
  Module &M = *F.getParent();
  LLVMContext &Context = M.getContext();
  GlobalValue::LinkageTypes Linkage = F.getLinkage();
  SmallVector<std::pair<unsigned, MDNode *>, 4> Notes;
  F.getAllMetadata(Notes);
  F.deleteBody();
  for (const auto &[Kind, Note] : Notes)
    if (Kind != LLVMContext::MD_dbg)
      F.setMetadata(Kind, Note);
  F.setComdat(nullptr);
  if (isForeign(F.getFunctionType()))
    return;
  F.setLinkage(Linkage);
  F.setPersonalityFn(nullptr);
  IRBuilder<> Builder(BasicBlock::Create(Context, "entry", &F));
  auto *Type = FunctionType::get(Builder.getVoidTy(), {Builder.getPtrTy()}, false);
  auto *End = cast<Function>(M.getOrInsertFunction("pcere_region_refuse", Type).getCallee());
  End->setDoesNotReturn();
  Builder.CreateCall(End, {Builder.CreateGlobalString(Sentence)});
  Builder.CreateUnreachable();
}

/// Products are rounded before they are added to, as the program's processor did if it has no instruction for both. On the other one there is one.
static void splitMultiplyAdd(Function &F) {
  SmallVector<StringRef, 64> Features;
  F.getFnAttribute("target-features").getValueAsString().split(Features, ',');
  if (is_contained(Features, "+fma"))
    return;
  for (Instruction &I : make_early_inc_range(instructions(F))) {
    if (isa<FPMathOperator>(I))
      I.setHasAllowContract(false);
    auto *Call = dyn_cast<IntrinsicInst>(&I);
    if (!Call || Call->getIntrinsicID() != Intrinsic::fmuladd)
      continue;
    IRBuilder<> Builder(Call);
    Builder.setFastMathFlags(Call->getFastMathFlags());
    Value *Product = Builder.CreateFMul(Call->getArgOperand(0), Call->getArgOperand(1));
    Call->replaceAllUsesWith(Builder.CreateFAdd(Product, Call->getArgOperand(2)));
    Call->eraseFromParent();
  }
}

void changeProcessor(Module &M) {
  for (Function &F : M) {
    splitMultiplyAdd(F);
    for (StringRef Name : {"target-cpu", "target-features", "tune-cpu", "min-legal-vector-width", "prefer-vector-width"})
      F.removeFnAttr(Name);
    if (F.isDeclaration())
      continue;
    if (std::string Words = foreignPart(F); !Words.empty())
      F.setMetadata(RefusalMetadata, MDNode::get(M.getContext(), MDString::get(M.getContext(), (F.getName() + " uses " + Words).str())));
  }
  M.setModuleInlineAsm(""); // what the source has of it is the program's processor's: such names are where the capture had them
}

void refuseForeign(Module &M) {
  SmallSetVector<GlobalValue *, 16> Kept;
  for (Function &F : M)
    if (MDNode *Refusal = F.getMetadata(RefusalMetadata)) {
      F.setMetadata(RefusalMetadata, nullptr);
      keepUsed(F, Kept);
      replaceBody(F, cast<MDString>(Refusal->getOperand(0))->getString());
    }
  Kept.remove_if([](const GlobalValue *V) { return V->isDeclaration(); }); // some of those that went themselves
  appendToCompilerUsed(M, Kept.getArrayRef());
}

} // namespace pcere
