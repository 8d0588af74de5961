//===- passes/Watching.cpp - code that tells a runtime what it does as it does it -----------------------------------------------===//
//
// Accesses to memory, for models of caches, and iterations of worksharing loops. The hooks are weak (include/pcere/counts.h): without a runtime each
// costs a call of a function that returns at once.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "Counting.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace pcere {

Function *sharedFunction(Module &M, StringRef Name, FunctionType *Kind) {
  auto *New = Function::Create(Kind, GlobalValue::LinkOnceODRLinkage, Name, M);
  New->setVisibility(GlobalValue::HiddenVisibility);
  New->setDSOLocal(true);
  New->setComdat(M.getOrInsertComdat(Name));
  New->addFnAttr(Attribute::NoUnwind);
  BasicBlock::Create(M.getContext(), "entry", New);
  return New;
}

void callIfPresent(Function &Caller, StringRef Hook, ArrayRef<Value *> Arguments) {
  Module &M = *Caller.getParent();
  LLVMContext &Context = M.getContext();
  SmallVector<Type *, 3> Types;
  for (Value *Argument : Arguments)
    Types.push_back(Argument->getType());
  FunctionCallee Callee = M.getOrInsertFunction(Hook, FunctionType::get(Type::getVoidTy(Context), Types, false));
  if (auto *Weak = dyn_cast<Function>(Callee.getCallee()); Weak && Weak->isDeclaration()) {
    Weak->setLinkage(GlobalValue::ExternalWeakLinkage);
    Weak->addFnAttr(Attribute::NonLazyBind);
  }
  BasicBlock *Call = BasicBlock::Create(Context, "call", &Caller), *End = BasicBlock::Create(Context, "end", &Caller);
  IRBuilder<> Builder(&Caller.getEntryBlock());
  Builder.CreateCondBr(Builder.CreateICmpNE(Callee.getCallee(), ConstantPointerNull::get(PointerType::getUnqual(Context))), Call, End);
  Builder.SetInsertPoint(Call);
  Builder.CreateCall(Callee, Arguments);
  Builder.CreateBr(End);
  Builder.SetInsertPoint(End);
  Builder.CreateRetVoid();
}

static Function *teller(Module &M, StringRef Name, StringRef Hook, ArrayRef<Type *> Types) {
  Function *Tell = sharedFunction(M, Name, FunctionType::get(Type::getVoidTy(M.getContext()), Types, false));
  Tell->addFnAttr(Attribute::NoInline);
  SmallVector<Value *, 3> Arguments;
  for (Argument &A : Tell->args())
    Arguments.push_back(&A);
  callIfPresent(*Tell, Hook, Arguments);
  return Tell;
}

//===- accesses ---------------------------------------------------------------------------------------------------------------===//

void AccessWatch::find(Function &F) {
  SmallVector<Touch, 2> Of;
  for (Instruction &I : instructions(F)) {
    Of.clear();
    findTouches(I, Of);
    for (const Touch &T : Of)
      Touches.push_back({WeakTrackingVH(&I), T});
  }
}

void AccessWatch::insert(Module &M) {
  LLVMContext &Context = M.getContext();
  Type *Int64 = Type::getInt64Ty(Context), *Int32 = Type::getInt32Ty(Context);
  Function *Tell = teller(M, (OwnPrefix + "access").str(), "__pcere_cache_access", {Int64, Int64, Int32});
  for (const auto &[Handle, T] : Touches) {
    if (!Handle)
      continue;
    IRBuilder<> Builder(T.I);
    unsigned What = (T.Loads ? unsigned(PCERE_ACCESS_LOADS) : 0u) | (T.Stores ? unsigned(PCERE_ACCESS_STORES) : 0u);
    auto *Vector = dyn_cast<FixedVectorType>(T.Address->getType());
    Type *Pointer = T.Address->getType()->getScalarType();
    bool Known = Pointer->getPointerAddressSpace() == 0; // what lies behind a segment register cannot be told
    if (!T.Lanes) {
      Value *Bytes = T.Length ? Builder.CreateZExtOrTrunc(T.Length, Int64) : Builder.getInt64(T.Bytes);
      Value *Address = Known ? Builder.CreatePtrToInt(T.Address, Int64) : Builder.getInt64(0);
      Builder.CreateCall(Tell, {Address, Known ? Bytes : Builder.getInt64(0), Builder.getInt32(What)});
      continue;
    }
    // one instruction, however many elements it reads or writes
    Builder.CreateCall(Tell, {Builder.getInt64(0), Builder.getInt64(0), Builder.getInt32(What)});
    for (uint64_t I = 0; Known && Vector && I < Vector->getNumElements(); ++I) {
      Value *On = Builder.CreateZExt(Builder.CreateExtractElement(T.Lanes, I), Int64);
      Value *Address = Builder.CreatePtrToInt(Builder.CreateExtractElement(T.Address, I), Int64);
      Builder.CreateCall(Tell, {Address, Builder.CreateMul(On, Builder.getInt64(T.Bytes)), Builder.getInt32(What | PCERE_ACCESS_GOES_ON)});
    }
  }
}

//===- iterations -------------------------------------------------------------------------------------------------------------===//

/// Where the call puts the first iteration of the range that this thread is given; or null.
static Value *firstIteration(const CallInst &Call) {
  const Function *Callee = Call.getCalledFunction();
  StringRef Name = Callee ? Callee->getName() : "";
  unsigned Lower = Name.starts_with("__kmpc_for_static_init_") ? 4 : Name.starts_with("__kmpc_dispatch_next_") ? 3 : 0;
  if (!Lower || Call.arg_size() <= Lower + 1)
    return nullptr;
  auto *Schedule = Lower == 4 ? dyn_cast<ConstantInt>(Call.getArgOperand(2)) : nullptr;
  if (Schedule && (Schedule->getZExtValue() & 0xffff) >= 91) // a distribute construct's: ranges for teams
    return nullptr;
  return Call.getArgOperand(Lower)->stripPointerCasts();
}

/// The variable that goes through the iterations: it begins with what stands at \p First.
static AllocaInst *iterationVariable(Value *First) {
  for (User *U : First->users())
    if (auto *Begin = dyn_cast<LoadInst>(U); Begin && Begin->getPointerOperand() == First)
      for (User *V : Begin->users())
        if (auto *Store = dyn_cast<StoreInst>(V); Store && Store->getValueOperand() == Begin && Store->getPointerOperand() != First)
          if (auto *Variable = dyn_cast<AllocaInst>(Store->getPointerOperand()))
            return Variable;
  return nullptr;
}

/// Blocks in which an iteration begins: behind the comparison of the variable with the last iteration. Where the variable is set in the same block, another
/// chunk begins there.
static void iterationsBegin(AllocaInst &Variable, SmallVectorImpl<BasicBlock *> &Begins) {
  SmallPtrSet<BasicBlock *, 4> Sets;
  for (User *U : Variable.users())
    if (auto *Store = dyn_cast<StoreInst>(U))
      Sets.insert(Store->getParent());
  for (User *U : Variable.users()) {
    auto *Load = dyn_cast<LoadInst>(U);
    auto *Branch = Load && !Sets.count(Load->getParent()) ? dyn_cast<BranchInst>(Load->getParent()->getTerminator()) : nullptr;
    auto *Compare = Branch && Branch->isConditional() ? dyn_cast<ICmpInst>(Branch->getCondition()) : nullptr;
    if (Compare && (Compare->getOperand(0) == Load || Compare->getOperand(1) == Load))
      Begins.push_back(Branch->getSuccessor(0));
  }
}

void watchIterations(Module &M, const CountMode &Mode) {
  if (!Mode.Iterations)
    return;
  SmallPtrSet<AllocaInst *, 16> Variables;
  for (Function &F : M)
    for (Instruction &I : instructions(F))
      if (auto *Call = dyn_cast<CallInst>(&I))
        if (Value *First = firstIteration(*Call))
          if (AllocaInst *Variable = iterationVariable(First))
            Variables.insert(Variable);
  if (Variables.empty())
    return;
  Type *Int64 = Type::getInt64Ty(M.getContext());
  Function *Tell = teller(M, (OwnPrefix + "iteration").str(), "__pcere_iteration", {Int64});
  for (AllocaInst *Variable : Variables) {
    SmallVector<BasicBlock *, 2> Begins;
    iterationsBegin(*Variable, Begins);
    for (BasicBlock *Begin : Begins) {
      IRBuilder<> Builder(Begin, Begin->getFirstInsertionPt());
      Value *Number = Builder.CreateLoad(Variable->getAllocatedType(), Variable);
      Value *Wide = Builder.CreateIntCast(Number, Int64, /*isSigned=*/true);
      Builder.CreateCall(Tell, {Wide});
    }
  }
}

} // namespace pcere
