//===- passes/Schedules.cpp - every worksharing loop of a unit asks the OpenMP runtime for its schedule -------------------------===//
//
// What `schedule(runtime)` would have made of it. A loop whose schedule its source fixes, or says nothing of, gets its iterations from one call:
//
//   static_init(&lower, &upper)     becomes    dispatch_init(lower, upper)
//   body, from lower to upper                  while (dispatch_next(&lower, &upper)) body, from lower to upper
//   static_fini
//
// Of schedule(static, N) the body goes on by a stride itself until the loop's end: here the stride leads beyond it, so that each chunk ends after itself. Loops so long that this sum
// could overflow ask at run time whether they are, and stay as they were. So do loops with several ends (they are cancelled), and those of doacross loops, whose iterations wait for others.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "Compatible.h"
#include "Stages.h"

#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace pcere {
namespace {

// Of libomp, as clang passes them.
constexpr uint64_t StaticChunked = 33, Static = 34, Runtime = 37, OrderedFirst = 64, OrderedRuntime = 69, Last = 70;
constexpr uint64_t Monotonic = 1u << 29, Modifiers = 3u << 29;
constexpr uint64_t DividesSections = 0x400, DividesLeagues = 0x800;

enum StaticArgument { Location, Thread, Schedule, IsLast, Lower, Upper, Stride, Increment, Chunk };

StringRef calledName(const Instruction &I) {
  const auto *Call = dyn_cast<CallInst>(&I);
  const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
  return Callee ? Callee->getName() : StringRef();
}

/// The runtime divides sections and leagues of teams by the same calls.
bool isLoop(const Value *Ident) {
  const auto *Variable = dyn_cast<GlobalVariable>(Ident->stripPointerCasts());
  const auto *Fields = Variable && Variable->hasInitializer() ? dyn_cast<ConstantStruct>(Variable->getInitializer()) : nullptr;
  const auto *Flags = Fields && Fields->getNumOperands() > 1 ? dyn_cast<ConstantInt>(Fields->getOperand(1)) : nullptr;
  return !Flags || !(Flags->getZExtValue() & (DividesSections | DividesLeagues));
}

void askDispatch(CallInst &Call) {
  auto *Known = dyn_cast<ConstantInt>(Call.getArgOperand(Schedule));
  if (!Known || !isLoop(Call.getArgOperand(Location)))
    return;
  uint64_t Plain = Known->getZExtValue() & ~Modifiers;
  if (Plain > Last)
    return;
  uint64_t Asked = (Plain > OrderedFirst ? OrderedRuntime : Runtime) | (Known->getZExtValue() & Monotonic);
  Call.setArgOperand(Schedule, ConstantInt::get(Known->getType(), Asked));
}

class StaticLoop {
  CallInst &Init, &Fini;
  Function &F;
  LLVMContext &Context;
  IntegerType *Int32, *Counter;
  Value *Arguments[9];
  StringRef Kind; ///< "4", "4u", "8" or "8u"

  FunctionCallee callee(const Twine &Name, Type *Result, ArrayRef<Type *> Types) {
    return F.getParent()->getOrInsertFunction((Name + Kind).str(), FunctionType::get(Result, Types, false));
  }

  void begin(IRBuilder<> &B) {
    Type *Pointer = PointerType::get(Context, 0);
    Value *Low = B.CreateLoad(Counter, Arguments[Lower]), *High = B.CreateLoad(Counter, Arguments[Upper]);
    B.CreateCall(callee("__kmpc_dispatch_init_", Type::getVoidTy(Context), {Pointer, Int32, Int32, Counter, Counter, Counter, Counter}),
                 {Arguments[Location], Arguments[Thread], ConstantInt::get(Int32, Runtime), Low, High, Arguments[Increment], Arguments[Chunk]});
  }

  Value *next(IRBuilder<> &B) {
    Type *Pointer = PointerType::get(Context, 0);
    Value *More = B.CreateCall(callee("__kmpc_dispatch_next_", Int32, {Pointer, Int32, Pointer, Pointer, Pointer, Pointer}),
                               {Arguments[Location], Arguments[Thread], Arguments[IsLast], Arguments[Lower], Arguments[Upper], Arguments[Stride]});
    return B.CreateIsNotNull(More);
  }

public:
  StaticLoop(CallInst &Init, CallInst &Fini)
      : Init(Init), Fini(Fini), F(*Init.getFunction()), Context(F.getContext()), Int32(Type::getInt32Ty(Context)),
        Counter(cast<IntegerType>(Init.getArgOperand(Increment)->getType())), Kind(calledName(Init).drop_front(strlen("__kmpc_for_static_init_"))) {
    for (unsigned I = 0; I < 9; I++)
      Arguments[I] = Init.getArgOperand(I);
  }

  void ask(bool Chunked) {
    BasicBlock *Head = Init.getParent(), *Body = Head->splitBasicBlock(std::next(Init.getIterator()), "pcere.chunk");
    BasicBlock *Tail = Fini.getParent(), *Rest = Tail->splitBasicBlock(std::next(Fini.getIterator()), "pcere.rest");
    BasicBlock *Next = BasicBlock::Create(Context, "pcere.next", &F, Body);
    IRBuilder<> B(&Init);
    if (!Chunked) {
      begin(B);
      Head->getTerminator()->eraseFromParent();
      Init.eraseFromParent();
      IRBuilder<>(Head).CreateBr(Next);
      B.SetInsertPoint(Next);
      B.CreateCondBr(next(B), Body, Rest);
      Fini.eraseFromParent();
      Tail->getTerminator()->setSuccessor(0, Next);
      return;
    }
    BasicBlock *Ask = BasicBlock::Create(Context, "pcere.ask", &F, Next), *End = BasicBlock::Create(Context, "pcere.end", &F, Rest);
    BasicBlock *Plain = Head->splitBasicBlock(Init.getIterator(), "pcere.plain"); // Init, and on to the body
    Head->getTerminator()->eraseFromParent();
    B.SetInsertPoint(Head);
    Value *Low = B.CreateLoad(Counter, Arguments[Lower]), *High = B.CreateLoad(Counter, Arguments[Upper]);
    Value *Short = B.CreateICmpULT(B.CreateOr(Low, High), ConstantInt::get(Counter, uint64_t(1) << (Counter->getBitWidth() - 2)));
    B.CreateCondBr(Short, Ask, Plain);
    B.SetInsertPoint(Ask);
    begin(B);
    B.CreateBr(Next);
    B.SetInsertPoint(Next);
    Value *More = next(B);
    B.CreateStore(B.CreateAdd(High, ConstantInt::get(Counter, 1)), Arguments[Stride]);
    B.CreateCondBr(More, Body, Rest);
    Fini.moveBefore(*End, End->end());
    IRBuilder<>(End).CreateBr(Rest);
    Tail->getTerminator()->eraseFromParent();
    IRBuilder<>(Tail).CreateCondBr(Short, Next, End);
  }
};

/// Values of a loop's body that what follows it uses, which can be reached without the body now.
void repair(Function &F) {
  DominatorTree Tree(F);
  SmallVector<Instruction *, 16> Outside;
  for (Instruction &I : instructions(F))
    if (any_of(I.uses(), [&](const Use &U) { return !Tree.dominates(&I, U); }))
      Outside.push_back(&I);
  for (Instruction *I : Outside)
    if (auto *Phi = dyn_cast<PHINode>(I))
      DemotePHIToStack(Phi);
    else
      DemoteRegToStack(*I);
}

/// The one that gave a loop's iterations before this end of it: the nearest that always comes before.
CallInst *beginOf(CallInst &Fini, ArrayRef<CallInst *> Inits, const DominatorTree &Tree) {
  CallInst *Nearest = nullptr;
  for (CallInst *Init : Inits)
    if (Tree.dominates(Init, &Fini) && (!Nearest || Tree.dominates(Nearest, Init)))
      Nearest = Init;
  return Nearest;
}

void askStatic(Function &F) {
  SmallVector<CallInst *, 8> Inits, Finis;
  for (Instruction &I : instructions(F)) {
    StringRef Name = calledName(I);
    if (Name == "__kmpc_doacross_init")
      return;
    if (Name.starts_with("__kmpc_for_static_init_"))
      Inits.push_back(cast<CallInst>(&I));
    else if (Name == "__kmpc_for_static_fini")
      Finis.push_back(cast<CallInst>(&I));
  }
  DominatorTree Tree(F);
  DenseMap<CallInst *, SmallVector<CallInst *, 2>> Ends;
  for (CallInst *Fini : Finis)
    if (CallInst *Init = beginOf(*Fini, Inits, Tree))
      Ends[Init].push_back(Fini);
  bool Changed = false;
  for (CallInst *Init : Inits) {
    const auto *Known = dyn_cast<ConstantInt>(Init->getArgOperand(Schedule)), *Step = dyn_cast<ConstantInt>(Init->getArgOperand(Increment));
    uint64_t Plain = Known ? Known->getZExtValue() & ~Modifiers : 0;
    if ((Plain != Static && Plain != StaticChunked) || Ends[Init].size() != 1 || !isLoop(Init->getArgOperand(Location)) || !Step || !Step->isOne())
      continue;
    StaticLoop(*Init, *Ends[Init].front()).ask(Plain == StaticChunked);
    Changed = true;
  }
  if (Changed)
    repair(F);
}

} // namespace

void askForSchedules(Module &M) {
  for (Function &F : M) {
    if (F.isDeclaration())
      continue;
    for (Instruction &I : instructions(F))
      if (calledName(I).starts_with("__kmpc_dispatch_init_"))
        askDispatch(cast<CallInst>(I));
    askStatic(F);
  }
}

} // namespace pcere
