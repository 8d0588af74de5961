//===- passes/ThreadTargets.cpp - functions that are called through pointers: tables, callbacks, factories, objects' functions ----------===//
//
//   make["lj/cut"] = &create<PairLJCut>;  ..  pair = make[name](program);  pair->compute()          ops->reserve = pool_reserve;  ..  ops->reserve(self, n)
//
// A count of threads may be what such a function returns, and memory what another one allocates. A pointer may be of each function whose address is in its class of memory, and that has the call's type. Which these
// are is found in a walk of its own, in which calls enter more functions, and make more of memory one class, until none enters another one; the walk that counts begins anew with that.
//
// Unification mixes classes that the program never does: of an object's table only functions of one name are entered. Where nothing is known of the object (a library made it), those are which all classes of the module have at that place of their tables, for functions of that
// type, if there is one, or all have one name: what classes of one base made of its function. So it is with procedures bound to Fortran types. And a call without arguments through any pointer enters the only such function whose address the module has.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "ThreadCalls.h"
#include "ThreadFlow.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Operator.h"

#include <cstdlib>
#include <set>

using namespace llvm;

namespace pcere {

using Slot = std::pair<int64_t, const FunctionType *>;

/// Functions at one place of all tables, and what these call them: the source's names, "" where they have none.
struct Choice {
  SmallSetVector<const Function *, 4> Of;
  std::set<std::string> Names;
};
using Choices = std::map<Slot, Choice>;

static constexpr int64_t AnySlot = -1, FirstBinding = -2; ///< Fortran's, one below the other

static void offer(Choices &All, int64_t Offset, const Function &F, std::string Name) {
  Choice &At = All[Slot{Offset, F.getFunctionType()}];
  At.Of.insert(&F);
  At.Names.insert(std::move(Name));
}

/// A function's name without those of its class and parameters, or "".
static std::string ownName(const Function &F) {
  std::string Mangled = F.getName().str(); // what is taken apart refers to it
  ItaniumPartialDemangler Name;
  if (Name.partialDemangle(Mangled.c_str()) || !Name.isFunction() || Name.isCtorOrDtor())
    return "";
  char *Own = Name.getFunctionBaseName(nullptr, nullptr);
  std::string Result = Own ? Own : "";
  std::free(Own);
  return Result;
}

static constexpr size_t AlikeMost = 64; ///< following all of very many mixes what has nothing to do with each other

/// Nobody knows which of several, unless they are alike.
static bool areAlike(size_t Count, const std::set<std::string> &Names) { return Count == 1 || (Count <= AlikeMost && Names.size() == 1 && !Names.begin()->empty()); }

static bool areAlike(ArrayRef<const Function *> Several) {
  std::set<std::string> Names;
  for (const Function *F : Several)
    Names.insert(ownName(*F));
  return areAlike(Several.size(), Names);
}

/// Two words before the first function tell of the class.
static void offerTable(Choices &All, const GlobalVariable &Table, const DataLayout &Layout) {
  static constexpr unsigned First = 2;
  for (const Use &Part : Table.getInitializer()->operands()) {
    auto *Entries = dyn_cast<ConstantArray>(Part);
    for (unsigned K = First; Entries && K < Entries->getNumOperands(); ++K) {
      auto *F = dyn_cast<Function>(Entries->getOperand(K)->stripPointerCastsAndAliases());
      if (F && F->getName() != "__cxa_pure_virtual" && !F->getName().starts_with("_ZTh") && !F->getName().starts_with("_ZTv"))
        offer(All, int64_t(K - First) * Layout.getPointerSize(), *F, ownName(*F));
    }
  }
}

static bool isBinding(Type *T) {
  auto *Struct = dyn_cast<StructType>(T);
  return Struct && Struct->hasName() && Struct->getName().starts_with("_QM__fortran_type_infoTbinding");
}

/// Of a Fortran type that can be extended: procedures in the order in which it and those that it extends have them, each an address as a number, and a name.
static void offerBindings(Choices &All, const GlobalVariable &Table) {
  auto *Entries = dyn_cast<ConstantArray>(Table.getInitializer());
  for (unsigned K = 0; Entries && isBinding(Entries->getType()->getElementType()) && K < Entries->getNumOperands(); ++K) {
    const Constant *Entry = Entries->getOperand(K), *Address = Entry->getAggregateElement(0u), *Name = Entry->getAggregateElement(1u);
    while (Address && Address->getType()->isStructTy())
      Address = Address->getAggregateElement(0u);
    auto *Number = dyn_cast_or_null<ConstantExpr>(Address);
    auto *F = Number && Number->getOpcode() == Instruction::PtrToInt ? dyn_cast<Function>(Number->getOperand(0)->stripPointerCastsAndAliases()) : nullptr;
    auto *Text = Name && Name->getType()->isStructTy() ? dyn_cast_or_null<GlobalVariable>(Name->getAggregateElement(0u)) : nullptr;
    auto *Data = Text && Text->hasInitializer() ? dyn_cast<ConstantDataSequential>(Text->getInitializer()) : nullptr;
    if (F)
      offer(All, FirstBinding - K, *F, Data && Data->isString() ? Data->getAsString().str() : "");
  }
}

/// Where in a Fortran type's table the procedure is that \p Call enters, or AnySlot. \p Size: of an entry.
static int64_t binding(const CallBase &Call, const DataLayout &Layout, int64_t Size) {
  auto *Number = dyn_cast<IntToPtrInst>(Call.getCalledOperand());
  auto *Entry = dyn_cast<LoadInst>(Number ? Number->getOperand(0) : Call.getCalledOperand());
  if (!Entry || !Size)
    return AnySlot;
  APInt Offset(Layout.getIndexTypeSizeInBits(Entry->getPointerOperandType()), 0);
  auto *Table = dyn_cast<LoadInst>(Entry->getPointerOperand()->stripAndAccumulateConstantOffsets(Layout, Offset, /*AllowNonInbounds=*/true));
  int64_t Distance = Offset.getSExtValue();
  return Table && Distance >= 0 && Distance % Size == 0 ? FirstBinding - Distance / Size : AnySlot;
}

/// Where in its object's table the function is that \p Call enters, or AnySlot.
static int64_t slot(const CallBase &Call, const DataLayout &Layout) {
  auto *Entry = dyn_cast<LoadInst>(Call.getCalledOperand());
  if (!Entry)
    return AnySlot;
  APInt Offset(Layout.getIndexTypeSizeInBits(Entry->getPointerOperandType()), 0);
  auto *Table = dyn_cast<LoadInst>(Entry->getPointerOperand()->stripAndAccumulateConstantOffsets(Layout, Offset, /*AllowNonInbounds=*/true));
  for (unsigned K = 0; Table && K < Call.arg_size() && K < 2; ++K) // behind where a result goes that is no register's
    if (Table->getPointerOperand() == Call.getArgOperand(K))
      return Offset.getSExtValue();
  return AnySlot;
}

/// Whether a call enters a function that it did not before.
bool ThreadFlow::enterMore() {
  static constexpr size_t Most = 256;   // following very many mixes what has nothing to do with each other
  bool More = false;
  for (size_t K = 0; K < Unknown.size(); ++K) {
    auto *Call = cast<CallBase>(Unknown[K].I);
    const FunctionSet *All = carriesNothing(Call->getCalledOperand()) ? nullptr : held(nodeIn(Unknown[K].In, Call->getCalledOperand()));
    if (!All)
      continue;
    Functions Fit;
    copy_if(*All, std::back_inserter(Fit), [Call](const Function *F) { return F->getFunctionType() == Call->getFunctionType(); });
    bool Object = slot(*Call, M.getDataLayout()) != AnySlot && any_of(Fit, [](const Function *F) { return F->getName().starts_with("_Z"); });
    if (Fit.size() > Most || (Object && !areAlike(Fit)))
      continue;
    for (const Function *F : Fit)
      if (Entered.insert({K, F}).second) {
        More = true;
        if (Functions &Of = Targets[Call]; !is_contained(Of, F))
          Of.push_back(F);
        Here = Unknown[K].In;
        enter(*Call, *F, /*Alone=*/false);
      }
  }
  walkOn();
  return More;
}

void ThreadFlow::enterByMemory() {
  static constexpr unsigned RoundsMost = 32;
  for (unsigned Round = 0; Round < RoundsMost && enterMore(); ++Round)
    ;
}

void ThreadFlow::enterAlike() {
  const DataLayout &Layout = M.getDataLayout();
  Choices All;
  int64_t BindingSize = 0;
  for (const GlobalVariable &V : M.globals()) {
    if (!V.hasInitializer())
      continue;
    if (V.getName().starts_with("_ZTV"))
      offerTable(All, V, Layout);
    if (auto *Table = dyn_cast<ArrayType>(V.getValueType()); Table && isBinding(Table->getElementType())) {
      offerBindings(All, V);
      BindingSize = static_cast<int64_t>(static_cast<uint64_t>(Layout.getTypeAllocSize(Table->getElementType())));
    }
  }
  for (const Function &F : M)
    if (F.arg_empty() && F.getReturnType()->isIntegerTy() && F.hasAddressTaken())
      offer(All, AnySlot, F, "");
  if (All.empty())
    return;
  DenseSet<const CallBase *> Told;
  for (auto &[Call, Of] : Targets)
    Told.insert(Call);
  for (size_t K = 0; K < Unknown.size(); ++K) {
    auto *Call = cast<CallBase>(Unknown[K].I);
    int64_t At = slot(*Call, Layout);
    auto Chosen = Told.count(Call) ? All.end() : All.find(Slot{At != AnySlot ? At : binding(*Call, Layout, BindingSize), Call->getFunctionType()});
    if (Chosen == All.end() || !areAlike(Chosen->second.Of.size(), Chosen->second.Names))
      continue;
    ArrayRef<const Function *> Of = Chosen->second.Of.getArrayRef();
    Targets[Call] = Functions(Of.begin(), Of.end());
    Here = Unknown[K].In;
    for (const Function *F : Of)
      if (Entered.insert({K, F}).second)
        enter(*Call, *F, Of.size() == 1);
  }
  walkOn();
}

void ThreadFlow::findTargets() {
  auto IsOpen = [](const Instruction &I) {
    auto *Call = dyn_cast<CallBase>(&I);
    return Call && Call->isIndirectCall() && !likelyCallee(*Call);
  };
  if (none_of(M, [&](const Function &F) { return any_of(instructions(F), IsOpen); }))
    return;
  ThreadFlow Probe(M, InstructionsMost);
  Probe.findOwners();
  Probe.choosePrecision();
  Probe.walk();
  Probe.enterByMemory();
  Probe.enterAlike();
  Probe.enterByMemory();
  for (auto &[Call, Of] : Probe.Targets)
    if (any_of(Of, [](const Function *F) { return !F->isDeclaration(); })) // one that is not seen is one of several as well
      Targets[Call] = Of;
}

ThreadFlow::Functions ThreadFlow::targets(const CallBase &Call) const {
  const Function *Likely = likelyCallee(Call);
  return Likely ? Functions{Likely} : Targets.lookup(&Call);
}

const Function *ThreadFlow::callee(const CallBase &Call) const {
  Functions All = targets(Call);
  return All.size() == 1 ? All.front() : nullptr;
}

} // namespace pcere
