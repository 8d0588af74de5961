//===- passes/Processor.cpp - a captured unit is made ready for another processor than the program's ------------------------===//
//
// Types, sizes and layouts are those of the program, and agree with the other processor's but for what is listed here. A function that holds what does not
// is replaced by one that ends the codelet with the reason: other regions are none the worse for it.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "Compatible.h"
#include "Stages.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace pcere {

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

/// Its type may be one that the other processor does not have: then nothing is left of it, and callers end before they call it.
static void replaceBody(Function &F, const std::string &Words) {
  Module &M = *F.getParent();
  LLVMContext &Context = M.getContext();
  GlobalValue::LinkageTypes Linkage = F.getLinkage();
  std::string Sentence = (F.getName() + " uses " + Words).str();
  F.deleteBody();
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
      replaceBody(F, Words);
  }
  M.setModuleInlineAsm(""); // what the source has of it is the program's processor's: such names are where the capture had them
}

} // namespace pcere
