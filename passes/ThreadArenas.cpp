//===- passes/ThreadArenas.cpp - memory that a program cuts from a larger piece of its own -----------------------------------------===//
//
// `p = arena + top; top += bytes;` and `p = next; next += bytes;` are allocations of so many bytes, where what tells how far the arena is used outlives the function: a variable of the program's, or a
// member of what it was given.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "ThreadArenas.h"

#include "ThreadCalls.h"

#include "llvm/IR/DataLayout.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace pcere {

namespace {

/// Where something is kept: what the address begins with, and how far from there.
struct Cursor {
  const Value *Base;
  int64_t Offset;
};

} // namespace

/// Where nothing was optimised: what a local variable has that is given it once, and is read at \p V; else \p V.
static const Value *keptIn(const Value *V) {
  auto *Read = dyn_cast<LoadInst>(V);
  auto *Local = Read ? dyn_cast<AllocaInst>(Read->getPointerOperand()) : nullptr;
  const Value *Kept = Local ? onlyValue(*Local) : nullptr;
  return Kept ? Kept : V;
}

static Cursor cursorAt(const Value *Address, const DataLayout &Layout) {
  APInt Offset(Layout.getIndexTypeSizeInBits(Address->getType()), 0);
  const Value *Base = Address->stripAndAccumulateConstantOffsets(Layout, Offset, /*AllowNonInbounds=*/true);
  return {keptIn(Base), Offset.getSExtValue()};
}

static bool isSame(const Cursor &A, const Cursor &B) {
  auto *First = dyn_cast<LoadInst>(A.Base), *Second = dyn_cast<LoadInst>(B.Base); // a pointer that is read again
  return A.Offset == B.Offset && (A.Base == B.Base || (First && Second && First->getPointerOperand() == Second->getPointerOperand()));
}

static bool outlives(const Cursor &At) { return isa<GlobalVariable>(At.Base) || isa<Argument>(At.Base) || isa<LoadInst>(At.Base) || isa<CallBase>(At.Base); }

static constexpr unsigned DepthMost = 6; // of what is computed from it

static bool isKeptAt(const Value *V, const Cursor &At, const DataLayout &Layout) {
  return !isa<Constant>(V) && any_of(V->users(), [&](const User *U) {
    auto *Store = dyn_cast<StoreInst>(U);
    return Store && Store->getValueOperand() == V && isSame(cursorAt(Store->getPointerOperand(), Layout), At);
  });
}

/// Whether \p V is how far the arena is used, perhaps rounded.
static bool isUsed(const Value *V, const Cursor &At, const DataLayout &Layout, unsigned Depth = 0) {
  V = withoutCasts(V);
  if (Depth > DepthMost)
    return false;
  if (isKeptAt(V, At, Layout)) // and not read again by optimised code, which has it already
    return true;
  if (const Value *Kept = keptIn(V); Kept != V)
    return isUsed(Kept, At, Layout, Depth + 1);
  if (auto *Load = dyn_cast<LoadInst>(V))
    return isSame(cursorAt(Load->getPointerOperand(), Layout), At);
  auto *Rounded = dyn_cast<BinaryOperator>(V);
  return Rounded && (Rounded->getOpcode() == Instruction::And || Rounded->getOpcode() == Instruction::Add) && isa<ConstantInt>(Rounded->getOperand(1)) &&
         isUsed(Rounded->getOperand(0), At, Layout, Depth + 1);
}

static const GetElementPtrInst *bytesFrom(const User *U) {
  auto *Address = dyn_cast<GetElementPtrInst>(U);
  return Address && Address->getNumIndices() == 1 && Address->getSourceElementType()->isIntegerTy(8) ? Address : nullptr;
}

/// Whether something begins so many bytes from somewhere: what is kept may be chosen, or be of several turns of a loop.
static bool isOffset(const Value *V) {
  return !isa<Constant>(V) && any_of(V->users(), [&](const User *U) { return bytesFrom(U) && bytesFrom(U)->getOperand(1) == V; });
}

namespace {

/// Of the end that is kept: where it was, and what was added.
struct Growth {
  const Value *Begin = nullptr, *Bytes = nullptr;
};

} // namespace

/// More than one where optimised code notes the end of several blocks at once.
static void growths(const Value *End, const Cursor &At, const DataLayout &Layout, SmallVectorImpl<Growth> &All, unsigned Depth = 0) {
  if (Depth > DepthMost)
    return;
  End = withoutCasts(keptIn(withoutCasts(End)));
  auto Begins = [&](const Value *V) { return isUsed(V, At, Layout) || isOffset(V); };
  if (auto *Moved = dyn_cast<GetElementPtrInst>(End); Moved && Moved->getNumIndices() == 1) {
    if (!isa<Constant>(Moved->getOperand(1)) && isUsed(Moved->getPointerOperand(), At, Layout))
      All.push_back({Moved->getPointerOperand(), Moved->getOperand(1)});
    return;
  }
  auto *Sum = dyn_cast<BinaryOperator>(End);
  if (!Sum || (Sum->getOpcode() != Instruction::Add && Sum->getOpcode() != Instruction::And))
    return;
  const Value *First = Sum->getOperand(0), *Second = Sum->getOperand(1);
  if (Sum->getOpcode() == Instruction::Add && Begins(First))
    All.push_back({First, Second});
  else if (Sum->getOpcode() == Instruction::Add && Begins(Second))
    All.push_back({Second, First});
  if (isa<ConstantInt>(Second) || Begins(First)) // what is rounded, or was noted at the same time
    growths(First, At, Layout, All, Depth + 1);
}

static void begins(const Growth &By, const Cursor &At, const Function &F, bool Pointer, const DataLayout &Layout, Cut &Found) {
  bool Always = isa<Constant>(By.Bytes); // elements of a list, unless they are counted in bytes
  for (const Instruction &I : instructions(F)) {
    auto *Address = dyn_cast<GetElementPtrInst>(&I);
    bool Begins = bytesFrom(&I) ? Address->getOperand(1) == By.Begin || (isUsed(By.Begin, At, Layout) && isUsed(Address->getOperand(1), At, Layout))
                                : Address && Address->getNumIndices() == 1 && !Always && isUsed(Address->getOperand(1), At, Layout);
    if (I.getType()->isPointerTy() && (Pointer ? !Always && (&I == By.Begin || (isa<LoadInst>(I) && isUsed(&I, At, Layout))) : Begins))
      Found.push_back({&I, By.Bytes});
  }
}

Cut cutFromArena(const StoreInst &Store) {
  const DataLayout &Layout = Store.getModule()->getDataLayout();
  const Value *End = Store.getValueOperand();
  Cut Found;
  if ((!End->getType()->isIntegerTy() && !End->getType()->isPointerTy()) || isa<Constant>(End))
    return Found;
  Cursor At = cursorAt(Store.getPointerOperand(), Layout);
  SmallVector<Growth, 2> All;
  if (outlives(At))
    growths(End, At, Layout, All);
  for (const Growth &By : All)
    begins(By, At, *Store.getFunction(), End->getType()->isPointerTy(), Layout, Found);
  return Found;
}

} // namespace pcere
