//===- passes/Probes.cpp - weak calls around parallel regions ------------------------------------------------------------===//

#include "Sampling.h"
#include "Stages.h"

#include "include/pcere/rt_abi.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace pcere {

namespace {

Constant *string(Module &M, StringRef Text) {
  Constant *Data = ConstantDataArray::getString(M.getContext(), Text);
  auto *V = new GlobalVariable(M, Data->getType(), true, GlobalValue::PrivateLinkage, Data, ".pcere.str");
  V->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
  return V;
}

/// Declares the runtime's calls and emits guarded calls to them.
/// The number that \p V is in every run: one in the source, or that of a variable which is given no other, and whose address nobody has.
ConstantInt *onlyNumber(Value *V, unsigned Depth = 0) {
  while (auto *Cast = dyn_cast<CastInst>(V))
    V = Cast->getOperand(0);
  auto *Load = dyn_cast<LoadInst>(V);
  if (!Load || Depth > 8)
    return dyn_cast<ConstantInt>(V);
  Value *Place = Load->getPointerOperand();
  auto *Global = dyn_cast<GlobalVariable>(Place);
  bool Own = isa<AllocaInst>(Place) || (Global && Global->hasInitializer() && Global->hasLocalLinkage() && !Global->isThreadLocal());
  ConstantInt *Found = Own && Global ? dyn_cast<ConstantInt>(Global->getInitializer()) : nullptr;
  if (!Own || (Global && !Found))
    return nullptr;
  for (User *U : Place->users()) {
    auto *Read = dyn_cast<LoadInst>(U);
    if ((Read && !Read->isVolatile()) || (isa<Instruction>(U) && cast<Instruction>(U)->isLifetimeStartOrEnd()))
      continue;
    auto *Store = dyn_cast<StoreInst>(U);
    ConstantInt *Stored = Store && Store->getPointerOperand() == Place && !Store->isVolatile() ? onlyNumber(Store->getValueOperand(), Depth + 1) : nullptr;
    if (!Stored || (Found && Found->getSExtValue() != Stored->getSExtValue()))
      return nullptr;
    Found = Stored;
  }
  return Found;
}

class ProbeBuilder {
  Module &M;
  LLVMContext &Context;
  PointerType *Pointer;
  IntegerType *Int16, *Int32, *Int64;
  FunctionCallee Begin, End;
  std::vector<GlobalVariable *> Sites;

  /// A program may declare or define the hooks itself.
  FunctionCallee declare(StringRef Name, FunctionType *Type) {
    FunctionCallee Hook = M.getOrInsertFunction(Name, Type);
    if (auto *F = dyn_cast<Function>(Hook.getCallee()); F && F->isDeclaration()) {
      F->setLinkage(GlobalValue::ExternalWeakLinkage);
      F->addFnAttr(Attribute::NonLazyBind); // through the GOT, which a program without PIC keeps open for a preloaded runtime
      F->addFnAttr(Attribute::NoUnwind);
    }
    return Hook;
  }


  /// struct pcere_site
  GlobalVariable *site(const Region &R) {
    auto *Type = StructType::get(Context, {Int16, Int16, Int32, Pointer, Pointer, Pointer, Pointer, Int64, Pointer});
    uint64_t Flags = sharesWork(*R.Microtask) ? PCERE_SITE_SHARES : 0;
    Constant *Fields[] = {ConstantInt::get(Int16, PCERE_ABI_VERSION), ConstantInt::get(Int16, Flags), ConstantInt::get(Int32, R.Line),
                          string(M, R.Name), string(M, R.Function), string(M, R.File), ConstantPointerNull::get(Pointer),
                          ConstantInt::get(Int64, unitId(M)), ConstantPointerNull::get(Pointer)};
    auto *V = new GlobalVariable(M, Type, false, GlobalValue::InternalLinkage, ConstantStruct::get(Type, Fields), ".pcere.site");
    rememberSite(*R.Microtask, *V);
    return V;
  }

  void guardedCall(Instruction *Where, const DebugLoc &Location, FunctionCallee Hook, ArrayRef<Value *> Arguments) {
    IRBuilder<> Builder(Where);
    Builder.SetCurrentDebugLocation(Location);
    // The address passes through an empty piece of assembly, so that no optimiser knows that the test comes out alike in a whole loop: it would make two loops
    // of that, and one that is never run, for all that the weights say, has its serial code compiled without care.
    auto *Opaque = InlineAsm::get(FunctionType::get(Pointer, {Pointer}, false), "", "=r,0", /*hasSideEffects=*/true);
    Value *Present = Builder.CreateICmpNE(Builder.CreateCall(Opaque, {Hook.getCallee()}), ConstantPointerNull::get(Pointer), "pcere.present");
    MDNode *Unlikely = MDBuilder(Context).createBranchWeights(1, 1 << 20);
    Builder.SetInsertPoint(SplitBlockAndInsertIfThen(Present, Where, false, Unlikely));
    Builder.SetCurrentDebugLocation(Location);
    Builder.CreateCall(Hook, Arguments);
  }

public:
  ProbeBuilder(Module &M, const RegionTable &Table)
      : M(M), Context(M.getContext()), Pointer(PointerType::getUnqual(Context)), Int16(Type::getInt16Ty(Context)), Int32(Type::getInt32Ty(Context)),
        Int64(Type::getInt64Ty(Context)) {
    Type *Void = Type::getVoidTy(Context);
    Begin = declare("__pcere_region_begin", FunctionType::get(Void, {Pointer, Int32, Int32, Int32, Int32}, true));
    End = declare("__pcere_region_end", FunctionType::get(Void, {Pointer}, false));
    for (const Region &R : Table.Regions)
      Sites.push_back(site(R));
  }

  void around(const Entry &E) {
    DebugLoc Location = E.First->getDebugLoc();
    Instruction *After = E.Last->isTerminator() ? &*cast<InvokeInst>(E.Last)->getNormalDest()->getFirstInsertionPt()
                                                : E.Last->getNextNode();
    IRBuilder<> Builder(E.First);
    auto Clause = [&](Value *V, int Absent) -> Value * {
      return V ? Builder.CreateIntCast(V, Int32, true) : ConstantInt::get(Int32, Absent, true);
    };
    auto *Number = E.NumThreads ? onlyNumber(E.NumThreads) : nullptr;
    Value *Threads = Number ? ConstantInt::get(Int32, -static_cast<uint64_t>(Number->getSExtValue()), true) : Clause(E.NumThreads, 0);
    SmallVector<Value *, 24> Arguments{Sites[E.RegionIndex], ConstantInt::get(Int32, E.Path), Threads,
                                       Clause(E.ProcBind, -1), ConstantInt::get(Int32, E.Words.size())};
    for (Value *Word : E.Words) {
      if (Word->getType()->isIntegerTy() && Word->getType() != Int64)
        Word = Builder.CreateZExtOrTrunc(Word, Int64);
      Arguments.push_back(Word);
    }
    guardedCall(After, Location, End, {Sites[E.RegionIndex]});
    guardedCall(E.First, Location, Begin, Arguments);
  }
};

} // namespace

void setThreadSized(GlobalVariable &Site, StringRef Reason) {
  auto *Fields = cast<ConstantStruct>(Site.getInitializer());
  SmallVector<Constant *, 8> Values;
  for (const Use &U : Fields->operands())
    Values.push_back(cast<Constant>(U));
  Values.back() = string(*Site.getParent(), Reason);
  Site.setInitializer(ConstantStruct::get(Fields->getType(), Values));
}

void dropProbes(Module &M) {
  for (const char *Name : {"__pcere_region_begin", "__pcere_region_end"}) {
    Function *Hook = M.getFunction(Name);
    if (!Hook || !Hook->isDeclaration())
      continue;
    SmallVector<CallInst *, 16> Calls;
    for (User *U : Hook->users())
      if (auto *Call = dyn_cast<CallInst>(U))
        Calls.push_back(Call);
    for (CallInst *Call : Calls) { // or the piece of assembly that says whether there is one: there is none
      if (!Call->use_empty())
        Call->replaceAllUsesWith(Constant::getNullValue(Call->getType()));
      Call->eraseFromParent();
    }
  }
  for (StringRef Prefix : {".pcere.site", ".pcere.str"}) // the latter by the former alone
    for (GlobalVariable &V : make_early_inc_range(M.globals())) {
      V.removeDeadConstantUsers();
      if (V.getName().starts_with(Prefix) && V.use_empty())
        V.eraseFromParent();
    }
}

void insertProbes(Module &M, const RegionTable &Table) {
  if (Table.Entries.empty())
    return;
  ProbeBuilder Builder(M, Table);
  for (const Entry &E : Table.Entries)
    Builder.around(E);
}

} // namespace pcere
