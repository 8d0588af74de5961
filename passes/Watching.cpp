//===- passes/Watching.cpp - code that tells a runtime what it does as it does it -----------------------------------------------===//
//
// Accesses to memory, for models of caches, and iterations of loops that threads share. The hooks are weak (include/pcere/counts.h): without a runtime each
// costs a call of a function that returns at once.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "Counting.h"

#include "llvm/ADT/SetVector.h"
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
  bool Static = Name.starts_with("__kmpc_for_static_init_") || Name.starts_with("__kmpc_dist_for_static_init_");
  unsigned Lower = Static ? 4 : Name.starts_with("__kmpc_dispatch_next_") ? 3 : 0;
  return Lower && Call.arg_size() > Lower + 1 ? Call.getArgOperand(Lower)->stripPointerCasts() : nullptr;
}

/// Where the function that a task of a taskloop executes has its first iteration: a variable (clang), or a value (flang); or null.
static Value *firstTaskIteration(const CallInst &Call) {
  enum { TASK = 2, ENTRY = 5, LOWER = 5, SHARED = 1 }; // of the runtime's two functions, the outlined one, and what calls that
  const Function *Callee = Call.getCalledFunction();
  auto *Task = Callee && Callee->getName().starts_with("__kmpc_taskloop") ? dyn_cast<CallInst>(Call.getArgOperand(TASK)->stripPointerCasts()) : nullptr;
  auto *Entry = Task && Task->arg_size() > ENTRY ? dyn_cast<Function>(Task->getArgOperand(ENTRY)->stripPointerCasts()) : nullptr;
  if (!Entry || Entry->isDeclaration() || Entry->arg_size() <= SHARED)
    return nullptr;
  for (Instruction &I : instructions(*Entry)) {
    if (auto *Inner = dyn_cast<CallInst>(&I); Inner && Inner->arg_size() > LOWER) {
      Function *Outlined = Inner->getCalledFunction();
      if (Outlined && !Outlined->isDeclaration() && Outlined->hasLocalLinkage())
        for (User *U : Outlined->getArg(LOWER)->users())
          if (auto *Store = dyn_cast<StoreInst>(U))
            return Store->getPointerOperand();
    }
    if (auto *Lower = dyn_cast<LoadInst>(&I); Lower && Lower->getType()->isIntegerTy(64))
      if (auto *Shared = dyn_cast<LoadInst>(Lower->getPointerOperand()->stripPointerCasts());
          Shared && Shared->getPointerOperand()->stripPointerCasts() == Entry->getArg(SHARED))
        return Lower;
  }
  return nullptr;
}

/// Does it go from one iteration to the next? Those of combined constructs (distribute parallel for) go from range to range of their teams.
static bool stepsByOne(const AllocaInst &Variable) {
  for (const User *U : Variable.users())
    if (auto *Store = dyn_cast<StoreInst>(U); Store && Store->getPointerOperand() == &Variable)
      if (auto *Sum = dyn_cast<BinaryOperator>(Store->getValueOperand()); Sum && Sum->getOpcode() == Instruction::Add)
        if (auto *Step = dyn_cast<ConstantInt>(Sum->getOperand(1)); !Step || !Step->isOne())
          return false;
  return true;
}

/// The variable that goes through the iterations: it begins with what stands at \p First.
static AllocaInst *iterationVariable(Value *First) {
  for (User *U : First->users())
    if (auto *Begin = dyn_cast<LoadInst>(U); Begin && Begin->getPointerOperand() == First) {
      Value *Number = Begin;
      if (auto *Narrow = Begin->hasOneUse() ? dyn_cast<CastInst>(*Begin->user_begin()) : nullptr)
        Number = Narrow;
      for (User *V : Number->users())
        if (auto *Store = dyn_cast<StoreInst>(V); Store && Store->getValueOperand() == Number && Store->getPointerOperand() != First)
          if (auto *Variable = dyn_cast<AllocaInst>(Store->getPointerOperand()); Variable && stepsByOne(*Variable))
            return Variable;
    }
  return nullptr;
}

/// A loop that the OpenMP IR builder made (flang) has its number in a register, from 0 or from the first iteration.
static PHINode *countsFromZero(Value *V) {
  auto *Counter = dyn_cast<PHINode>(V);
  for (unsigned I = 0; Counter && I < Counter->getNumIncomingValues(); ++I)
    if (auto *Begin = dyn_cast<ConstantInt>(Counter->getIncomingValue(I)); Begin && Begin->isZero())
      return Counter;
  return nullptr;
}

struct Iteration {
  Value *Number = nullptr;
  BasicBlock *Begin = nullptr; ///< where an iteration begins
};

/// The block behind the comparison with the last iteration.
static BasicBlock *bodyOf(PHINode &Counter) {
  for (User *U : Counter.users())
    if (auto *Compare = dyn_cast<ICmpInst>(U))
      for (User *V : Compare->users())
        if (auto *Branch = dyn_cast<BranchInst>(V); Branch && Branch->isConditional())
          return Branch->getSuccessor(0);
  return nullptr;
}

/// From the value \p First of the first iteration to the number of each: their sum with a counter from 0, which a taskloop multiplies by its step, or a counter that
/// begins there.
static Iteration iterationRegister(Value *First, bool Multiplied) {
  SmallVector<Value *, 8> Rest{First};
  SmallPtrSet<Value *, 8> Seen;
  while (!Rest.empty()) {
    Value *V = Rest.pop_back_val();
    if (!Seen.insert(V).second)
      continue;
    for (User *U : V->users()) {
      if (auto *Counter = dyn_cast<PHINode>(U))
        if (BasicBlock *Body = bodyOf(*Counter))
          return {Counter, Body};
      auto *Binary = dyn_cast<BinaryOperator>(U);
      if (isa<CastInst>(U) || (Binary && Binary->getOpcode() == Instruction::Sub && Binary->getOperand(0) == V && isa<ConstantInt>(Binary->getOperand(1))))
        Rest.push_back(U);
      if (!Binary || Binary->getOpcode() != Instruction::Add)
        continue;
      Value *Other = Binary->getOperand(Binary->getOperand(0) == V ? 1 : 0);
      if (auto *Product = Multiplied ? dyn_cast<BinaryOperator>(Other) : nullptr; Product && Product->getOpcode() == Instruction::Mul)
        Other = Product->getOperand(0);
      PHINode *Counter = countsFromZero(Other);
      if (Counter && bodyOf(*Counter) == Binary->getParent())
        return {Binary, Binary->getParent()};
      Rest.push_back(U);
    }
  }
  return {};
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
    auto *Wide = Compare ? dyn_cast<CastInst>(Compare->getOperand(0)) : nullptr; // as taskloops have their bounds
    if (Compare && (Compare->getOperand(0) == Load || Compare->getOperand(1) == Load || (Wide && Wide->getOperand(0) == Load)))
      Begins.push_back(Branch->getSuccessor(0));
  }
}

void watchIterations(Module &M, const CountMode &Mode) {
  if (!Mode.Iterations)
    return;
  SmallSetVector<AllocaInst *, 16> Variables;
  SmallVector<Iteration, 16> Registers;
  for (Function &F : M)
    for (Instruction &I : instructions(F))
      if (auto *Call = dyn_cast<CallInst>(&I)) {
        Value *Range = firstIteration(*Call), *First = Range ? Range : firstTaskIteration(*Call);
        if (!First)
          continue;
        if (AllocaInst *Variable = iterationVariable(First)) {
          Variables.insert(Variable);
          continue;
        }
        SmallVector<Value *, 4> Values;
        if (!Range)
          Values.push_back(First);
        else
          for (User *U : Range->users())
            if (isa<LoadInst>(U))
              Values.push_back(U);
        for (Value *V : Values)
          if (Iteration Found = iterationRegister(V, !Range); Found.Number) {
            Registers.push_back(Found);
            break;
          }
      }
  if (Variables.empty() && Registers.empty())
    return;
  Type *Int64 = Type::getInt64Ty(M.getContext());
  Function *Tell = teller(M, (OwnPrefix + "iteration").str(), "__pcere_iteration", {Int64});
  for (AllocaInst *Variable : Variables) {
    SmallVector<BasicBlock *, 2> Begins;
    iterationsBegin(*Variable, Begins);
    for (BasicBlock *Begin : Begins) {
      IRBuilder<> Builder(Begin, Begin->getFirstInsertionPt());
      Value *Number = Builder.CreateLoad(Variable->getAllocatedType(), Variable);
      Builder.CreateCall(Tell, {Builder.CreateIntCast(Number, Int64, /*isSigned=*/true)});
    }
  }
  for (const Iteration &Found : Registers) {
    auto *Sum = dyn_cast<BinaryOperator>(Found.Number);
    IRBuilder<> Builder(Found.Begin, Sum ? std::next(Sum->getIterator()) : Found.Begin->getFirstInsertionPt());
    Builder.CreateCall(Tell, {Builder.CreateIntCast(Found.Number, Int64, /*isSigned=*/true)});
  }
}

} // namespace pcere
