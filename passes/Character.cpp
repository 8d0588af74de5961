//===- passes/Character.cpp - a codelet that counts what it does ---------------------------------------------------------===//
//
// Blocks are numbered when the optimiser is done, so that what is counted is the code that will run. The same numbers name the blocks of another
// compilation of the unit, whose assembly tells which instructions each of them became.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "Stages.h"
#include "Touches.h"

#include "include/pcere/character_abi.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace pcere {

std::vector<BasicBlock *> numberBlocks(Module &M) {
  std::vector<BasicBlock *> Blocks;
  for (Function &F : M)
    if (!F.isDeclarationForLinker() && !F.hasFnAttribute(Attribute::Naked))
      for (BasicBlock &B : F)
        Blocks.push_back(&B);
  return Blocks;
}

void nameBlocks(ArrayRef<BasicBlock *> Blocks) {
  for (size_t I = 0; I < Blocks.size(); ++I)
    Blocks[I]->setName(CHARACTER_BLOCK_PREFIX + Twine(I));
}

namespace {

/// Cycles, about, of one instruction on a processor of the last fifteen years. Moves between kinds of registers, extensions and addresses are part of what uses them.
unsigned cyclesOf(const Instruction &I) {
  switch (I.getOpcode()) {
  case Instruction::Load:
    return 5;
  case Instruction::FAdd:
  case Instruction::FSub:
  case Instruction::FMul:
  case Instruction::FCmp:
    return 4;
  case Instruction::FDiv:
    return 13;
  case Instruction::FRem:
    return 40;
  case Instruction::SIToFP:
  case Instruction::UIToFP:
  case Instruction::FPToSI:
  case Instruction::FPToUI:
    return 7;
  case Instruction::Mul:
    return 3;
  case Instruction::SDiv:
  case Instruction::UDiv:
  case Instruction::SRem:
  case Instruction::URem:
    return isa<Constant>(I.getOperand(1)) ? 4 : 18; // shifts, or a multiplication
  case Instruction::Call:
    return isa<IntrinsicInst>(I) ? 4 : 20;
  case Instruction::GetElementPtr:
  case Instruction::BitCast:
  case Instruction::ZExt:
  case Instruction::SExt:
  case Instruction::Trunc:
    return 0;
  default:
    return 1;
  }
}

/// Cycles from what is at hand when the block begins to V: along the longest chain of the block. A branch that was mispredicted is found out only then.
unsigned chainCycles(const Value *V, const BasicBlock *B, DenseMap<const Value *, unsigned> &Known) {
  auto *I = dyn_cast<Instruction>(V);
  if (!I || I->getParent() != B || isa<PHINode>(I))
    return 0;
  if (auto Found = Known.find(I); Found != Known.end())
    return Found->second;
  unsigned Longest = 0;
  for (const Value *Operand : I->operands())
    Longest = std::max(Longest, chainCycles(Operand, B, Known));
  return Known[I] = Longest + cyclesOf(*I);
}

class Counter {
  Module &M;
  LLVMContext &Context;
  PointerType *Pointer;
  IntegerType *Int32, *Int64;
  GlobalVariable *Unit;
  size_t BlockCount;
  DenseMap<const Instruction *, unsigned> Left; ///< instructions from each access to its block's end
  FunctionCallee Thread, Access, Range, Branch, Select;
  size_t Sites = 0;
  SmallVector<CallInst *, 64> Accesses;

  /// What lies in a function's own frame is near at any time.
  static bool isWatched(const Touch &T) {
    return !T.Lanes && T.Address->getType()->isPointerTy() && T.Address->getType()->getPointerAddressSpace() == 0 && !isa<AllocaInst>(getUnderlyingObject(T.Address));
  }

  Value *wordAt(IRBuilder<> &Builder, Value *Words, uint64_t Index) { return Builder.CreateConstInBoundsGEP1_64(Int64, Words, Index); }

  void touch(const Touch &T, Value *Words) {
    IRBuilder<> Builder(T.I);
    Value *Site = wordAt(Builder, Words, 1 + BlockCount * (1 + CHARACTER_SELECT_WORDS) + Sites++ * CHARACTER_SITE_WORDS);
    Value *Address = Builder.CreatePtrToInt(T.Address, Int64);
    if (T.Length)
      Builder.CreateCall(Range, {Words, Site, Address, Builder.CreateZExtOrTrunc(T.Length, Int64), Builder.getInt32(T.Stores)});
    else
      Accesses.push_back(Builder.CreateCall(Access, {Words, Site, Address, Builder.getInt32(T.Stores), Builder.getInt32(Left.lookup(T.I))}));
  }

  /// Most uses are of the line that the instruction used before, of which the callee makes nothing.
  void elsewhereOnly(CallInst *Call) {
    IRBuilder<> Builder(Call);
    Value *Line = Builder.CreateLShr(Call->getArgOperand(2), Log2_32(CHARACTER_LINE_BYTES));
    Value *Elsewhere = Builder.CreateICmpNE(Builder.CreateLoad(Int64, Call->getArgOperand(1)), Line);
    Builder.SetInsertPoint(SplitBlockAndInsertIfThen(Elsewhere, Call, false, MDBuilder(Context).createBranchWeights(1, 8)));
    Builder.CreateCall(Access, SmallVector<Value *, 5>(Call->args()));
    Call->eraseFromParent();
  }

  /// Of the block; what lies behind each of its accesses is noted.
  unsigned instructionsBehind(const BasicBlock &B, ArrayRef<Touch> Touches) {
    unsigned Behind = 0;
    size_t Next = Touches.size();
    for (const Instruction &I : reverse(B)) {
      for (; Next && Touches[Next - 1].I == &I; --Next)
        Left[&I] = Behind;
      Behind += cyclesOf(I) > 0 && !isa<PHINode>(I) && !I.isLifetimeStartOrEnd() && !isa<DbgInfoIntrinsic>(I);
    }
    return Behind;
  }

  /// Choices that the code generator may make branches of: their conditions, of which several may share one.
  void selects(BasicBlock &B, uint64_t Number, Value *Words) {
    SmallVector<Instruction *, 8> Choices;
    for (Instruction &I : B)
      if (!I.getType()->isVectorTy() && (isa<SelectInst>(I) || isa<MinMaxIntrinsic>(I)))
        Choices.push_back(&I);
    SmallPtrSet<Value *, 8> Seen;
    DenseMap<const Value *, unsigned> Known;
    uint64_t Count = 0;
    for (Instruction *I : Choices) {
      IRBuilder<> Builder(I);
      auto *Least = dyn_cast<MinMaxIntrinsic>(I);
      Value *Condition = Least ? Builder.CreateICmp(Least->getPredicate(), Least->getLHS(), Least->getRHS()) : cast<SelectInst>(I)->getCondition();
      if (isa<Constant>(Condition) || !Seen.insert(Condition).second)
        continue;
      Builder.CreateCall(Select, {Words, wordAt(Builder, Words, 1 + BlockCount + Number * CHARACTER_SELECT_WORDS), Builder.getInt64(Number << 8 | (Count++ & 0xff)),
                                  Builder.CreateZExt(Condition, Int32), Builder.getInt32(chainCycles(Condition, &B, Known))});
    }
  }

public:
  Counter(Module &M, size_t Blocks)
      : M(M), Context(M.getContext()), Pointer(PointerType::getUnqual(Context)), Int32(Type::getInt32Ty(Context)), Int64(Type::getInt64Ty(Context)),
        BlockCount(Blocks) {
    auto *Fields = StructType::get(Context, {Int64, Int64, Int64, Int64});
    Unit = new GlobalVariable(M, Fields, false, GlobalValue::InternalLinkage, nullptr, "pcere.character");
    Type *None = Type::getVoidTy(Context);
    Thread = M.getOrInsertFunction("__pcere_character_thread", FunctionType::get(Pointer, {Pointer}, false));
    Access = M.getOrInsertFunction("__pcere_character_access", FunctionType::get(None, {Pointer, Pointer, Int64, Int32, Int32}, false));
    Range = M.getOrInsertFunction("__pcere_character_range", FunctionType::get(None, {Pointer, Pointer, Int64, Int64, Int32}, false));
    Select = M.getOrInsertFunction("__pcere_character_select", FunctionType::get(None, {Pointer, Pointer, Int64, Int32, Int32}, false));
    Branch = M.getOrInsertFunction("__pcere_character_branch", FunctionType::get(None, {Pointer, Int64, Int32, Int32}, false));
  }

  void function(ArrayRef<BasicBlock *> Blocks, size_t First) {
    IRBuilder<> Entry(&*Blocks.front()->getFirstInsertionPt());
    auto *Words = Entry.CreateCall(Thread, {Unit});
    auto *Clock = Entry.CreateLoad(Pointer, Words);
    for (size_t I = 0; I < Blocks.size(); ++I) {
      BasicBlock &B = *Blocks[I];
      SmallVector<Touch, 16> Touches;
      for (Instruction &I : B)
        if (&I != Words && &I != Clock)
          findTouches(I, Touches);
      unsigned Instructions = instructionsBehind(B, Touches);
      auto At = B.getFirstInsertionPt();
      if (At == B.end())
        continue; // nothing can stand in it
      if (!I)
        At = std::next(Clock->getIterator());
      IRBuilder<> Builder(&B, At);
      Value *Slot = wordAt(Builder, Words, 1 + First + I);
      Builder.CreateStore(Builder.CreateAdd(Builder.CreateLoad(Int64, Slot), Builder.getInt64(1)), Slot);
      Builder.CreateStore(Builder.CreateAdd(Builder.CreateLoad(Int64, Clock), Builder.getInt64(Instructions)), Clock);
      for (const Touch &T : Touches)
        if (isWatched(T))
          touch(T, Words);
      selects(B, First + I, Words);
      auto *Last = dyn_cast<BranchInst>(B.getTerminator());
      if (Last && Last->isConditional()) {
        DenseMap<const Value *, unsigned> Known;
        unsigned Cycles = chainCycles(Last->getCondition(), &B, Known);
        Builder.SetInsertPoint(Last);
        Builder.CreateCall(Branch, {Words, Builder.getInt64(First + I), Builder.CreateZExt(Last->getCondition(), Int32), Builder.getInt32(Cycles)});
      }
    }
  }

  void finish() {
    for (CallInst *Call : Accesses)
      elsewhereOnly(Call);
    auto *Fields = cast<StructType>(Unit->getValueType());
    Unit->setInitializer(ConstantStruct::get(Fields, {ConstantInt::get(Int64, unitId(M)), ConstantInt::get(Int64, BlockCount), ConstantInt::get(Int64, Sites),
                                                      ConstantInt::get(Int64, 0)}));
  }
};

} // namespace

void countBlocks(Module &M, ArrayRef<BasicBlock *> Blocks) {
  if (Blocks.empty())
    return;
  Counter Counts(M, Blocks.size());
  for (size_t I = 0, End; I < Blocks.size(); I = End) {
    for (End = I + 1; End < Blocks.size() && Blocks[End]->getParent() == Blocks[I]->getParent();)
      ++End;
    Counts.function(Blocks.slice(I, End - I), I);
  }
  Counts.finish();
}

} // namespace pcere
