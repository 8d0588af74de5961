//===- passes/ThreadFortran.cpp - numbers of threads in what flang leaves to its runtime -----------------------------------------===//
//
// A descriptor tells of an array (CFI_cdesc_t, ISO_Fortran_binding.h): its address, what it is an array of, and for each dimension the lowest index, how many elements, and their distance. The runtime reads
// and sets descriptors in calls: bounds before an allocation, a whole one where an allocation moves, those of the left side where an assignment allocates it anew.
//
//===------------------------------------------------------------------------------------------------------------------------===//

#include "ThreadCalls.h"
#include "ThreadFlow.h"
#include "ThreadLayout.h"

#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace pcere {

static constexpr int64_t AttributeAt = 22, DimensionsAt = 24, DimensionBytes = 24, ExtentAt = 8; ///< bytes
static constexpr unsigned AttributeAllocatable = 2;

/// What a function stores \p Offset bytes behind the beginning of its own \p Variable, as a constant or within one, or null.
static Constant *constantIn(const AllocaInst &Variable, int64_t Offset, Type *Of) {
  const DataLayout &Layout = Variable.getModule()->getDataLayout();
  auto Stored = [&](const User *U, const Value *To, int64_t Distance) -> Constant * {
    auto *Store = dyn_cast<StoreInst>(U);
    if (!Store || Store->getPointerOperand() != To)
      return nullptr;
    const Value *V = Store->getValueOperand();
    while (auto *Part = dyn_cast<InsertValueInst>(V)) // what is no constant there is undefined in the constant around it
      V = Part->getAggregateOperand();
    auto *Whole = dyn_cast<Constant>(V);
    int64_t Within = Offset - Distance;
    if (!Whole || Within < 0 || Within >= static_cast<int64_t>(Layout.getTypeStoreSize(Whole->getType()).getFixedValue()))
      return nullptr;
    Constant *Part = ConstantFoldLoadFromConst(const_cast<Constant *>(Whole), Of, APInt(64, static_cast<uint64_t>(Within)), Layout);
    return Part && !isa<UndefValue>(Part) ? Part : nullptr;
  };
  for (const User *U : Variable.users()) {
    if (Constant *Found = Stored(U, &Variable, 0))
      return Found;
    auto *Address = dyn_cast<GetElementPtrInst>(U);
    APInt Distance(Layout.getIndexTypeSizeInBits(Variable.getType()), 0);
    if (!Address || Address->getPointerOperand() != &Variable || !Address->accumulateConstantOffset(Layout, Distance))
      continue;
    for (const User *Behind : Address->users())
      if (Constant *Found = Stored(Behind, Address, Distance.getSExtValue()))
        return Found;
  }
  return nullptr;
}

/// Whether an assignment may allocate what \p Descriptor tells of: not if the function that makes the descriptor itself says that it is no allocatable array.
static bool mayAllocate(const Value &Descriptor) {
  auto *Own = dyn_cast<AllocaInst>(&Descriptor);
  auto *Attribute = Own ? dyn_cast_or_null<ConstantInt>(constantIn(*Own, AttributeAt, Type::getInt8Ty(Own->getContext()))) : nullptr;
  return !Attribute || Attribute->equalsInt(AttributeAllocatable);
}

/// How many dimensions the array of \p Descriptor has at most.
static unsigned dimensions(const Value &Descriptor) {
  static constexpr unsigned Most = 15, Dimensions = 7;
  auto *Own = dyn_cast<AllocaInst>(&Descriptor);
  auto *Variable = dyn_cast<GlobalVariable>(&Descriptor);
  Type *Of = Own ? Own->getAllocatedType() : Variable ? Variable->getValueType() : nullptr;
  auto *Struct = dyn_cast_or_null<StructType>(Of);
  if (!Struct || Struct->getNumElements() < Dimensions)
    return Most;
  auto *Bounds = Struct->getNumElements() > Dimensions ? dyn_cast<ArrayType>(Struct->getElementType(Dimensions)) : nullptr;
  return Bounds ? static_cast<unsigned>(Bounds->getNumElements()) : 0;
}

/// GET_ENVIRONMENT_VARIABLE, of that one: the descriptor of the text that it sets, or null.
const Value *setsThreadVariable(const CallBase &Call) {
  if (calleeName(Call) != "_FortranAGetEnvVariable" || Call.arg_size() < 2 || isa<Constant>(Call.getArgOperand(1)))
    return nullptr;
  auto *Descriptor = dyn_cast<AllocaInst>(Call.getArgOperand(0));
  Constant *Name = Descriptor ? constantIn(*Descriptor, 0, Descriptor->getType()) : nullptr;
  auto *Variable = Name ? dyn_cast<GlobalVariable>(Name->stripPointerCasts()) : nullptr;
  auto *Data = Variable && Variable->hasInitializer() ? dyn_cast<ConstantDataSequential>(Variable->getInitializer()) : nullptr;
  return Data && Data->isString() && Data->getAsString().rtrim(' ') == "OMP_NUM_THREADS" ? Call.getArgOperand(1) : nullptr;
}

/// The array of \p To has the bounds of that of \p From.
void ThreadFlow::copyBounds(const Value &From, const Value &To) {
  for (unsigned K = 0; K < std::min(dimensions(From), dimensions(To)); ++K)
    for (int64_t At : {DimensionsAt + K * DimensionBytes, DimensionsAt + K * DimensionBytes + ExtentAt})
      edge(content(field(node(&From), At)), content(field(node(&To), At)), true);
}

bool ThreadFlow::callOfFortran(const CallBase &Call, StringRef Name) {
  if (!Name.consume_front("_FortranA") || Call.arg_size() < 2 || carriesNothing(Call.getArgOperand(0)))
    return false;
  const Value &First = *Call.getArgOperand(0), &Second = *Call.getArgOperand(1);
  if ((Name.starts_with("AllocatableSetBounds") || Name.starts_with("PointerSetBounds")) && Call.arg_size() >= 4) {
    const Value *Last = Call.getArgOperand(3);
    auto *Dimension = dyn_cast<ConstantInt>(&Second);
    if (carriesNothing(Last))
      return true;
    Edges.push_back({node(Last), content(node(&First)), &Call, Edge::Computed});
    if (Dimension)
      edge(node(Last), content(field(node(&First), DimensionsAt + Dimension->getSExtValue() * DimensionBytes + ExtentAt)), false);
  } else if (Name == "ioBeginInternalListInput" || Name == "ioBeginInternalFormattedInput") { // what it returns stands for the text in calls that read of it
    edge(content(node(&First)), content(node(&Call)), false);
  } else if (carriesNothing(&Second)) {
    return false;
  } else if (Name.starts_with("MoveAlloc")) {
    unify(content(node(&First)), content(node(&Second)));
    copyBounds(Second, First);
  } else if (Name.starts_with("Assign") || Name.starts_with("AllocatableApplyMold") || Name.starts_with("PointerApplyMold")) {
    if (Name.starts_with("Assign") && !mayAllocate(First))
      return true;
    for (unsigned K = 0; K < std::min(dimensions(First), dimensions(Second)); ++K)
      Edges.push_back({content(field(node(&Second), DimensionsAt + K * DimensionBytes + ExtentAt)), content(node(&First)), &Call, Edge::Computed});
    copyBounds(Second, First);
  } else if (Name == "Trim" || Name.starts_with("Adjust")) {
    edge(content(content(node(&Second))), content(content(node(&First))), false);
  } else if (Name == "ioInputInteger") {
    edge(content(node(&First)), content(node(&Second)), false);
  } else {
    return false;
  }
  return true;
}

static int64_t offsetOf(Type *Of, ArrayRef<unsigned> Indices, const DataLayout &Layout) {
  int64_t Offset = 0;
  for (unsigned Index : Indices)
    if (auto *Struct = dyn_cast<StructType>(Of)) {
      Offset += static_cast<int64_t>(static_cast<uint64_t>(Layout.getStructLayout(Struct)->getElementOffset(Index)));
      Of = Struct->getElementType(Index);
    } else {
      Of = cast<ArrayType>(Of)->getElementType();
      Offset += static_cast<int64_t>(Index * Layout.getTypeAllocSize(Of).getFixedValue());
    }
  return Offset;
}

/// Where nothing was optimised, descriptors are put together as values, and stored as a whole: each part goes where it lies. False: \p V is nothing of that kind.
bool ThreadFlow::storeParts(const Value &V, unsigned To) {
  auto *Part = dyn_cast<InsertValueInst>(&V);
  auto *Begin = dyn_cast<ConstantAggregate>(&V);
  if (Begin)
    for (const Pointed &Of : pointersIn(*Begin, M.getDataLayout()))
      point(Of.To, content(field(To, Of.Exact)));
  if (!Part)
    return Begin || isa<UndefValue>(V);
  for (; Part; Part = dyn_cast<InsertValueInst>(Part->getAggregateOperand())) {
    unsigned At = field(To, offsetOf(Part->getType(), Part->getIndices(), M.getDataLayout()));
    if (!storeParts(*Part->getInsertedValueOperand(), At))
      flow(Part->getInsertedValueOperand(), content(At), true, true);
    if (const Value *Rest = Part->getAggregateOperand(); !isa<InsertValueInst>(Rest) && !storeParts(*Rest, To))
      flow(Rest, content(To), true, true);
  }
  return true;
}

/// A part of what was put together, or is loaded as a whole.
bool ThreadFlow::takePart(const ExtractValueInst &Part) {
  if (const Value *Known = FindInsertedValue(const_cast<Value *>(Part.getAggregateOperand()), Part.getIndices()); Known && Known != &Part) {
    flow(Known, node(&Part), true, true);
    return true;
  }
  auto *Whole = dyn_cast<LoadInst>(Part.getAggregateOperand());
  if (!Whole || carriesNothing(Whole->getPointerOperand()))
    return false;
  unsigned From = content(field(node(Whole->getPointerOperand()), offsetOf(Whole->getType(), Part.getIndices(), M.getDataLayout())));
  if (Part.getType()->isPointerTy())
    unify(From, node(&Part));
  else
    edge(From, node(&Part), true);
  return true;
}

} // namespace pcere
