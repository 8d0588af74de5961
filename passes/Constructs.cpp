//===- passes/Constructs.cpp - identities of constructs ---------------------------------------------------------------------===//

#include "Constructs.h"

#include "Compatible.h"
#include "Stages.h"

#include "include/pcere/rt_abi.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/MD5.h"
#include "llvm/Support/Path.h"

#include <map>
#include <set>

using namespace llvm;

namespace pcere {

namespace {

/// What a runtime call is to its construct.
enum class Role {
  None,     ///< no call that carries an ident_t
  Helper,   ///< asks for the thread's number and the like: it carries some ident_t, and is no part of a construct
  Begin,
  Continue, ///< belongs to the nearest construct of its kind that began before
  End,      ///< the same, of those that are open
};

struct Meaning {
  Role R = Role::None;
  unsigned Kind = 0;
};

constexpr uint64_t IdentBarrierExplicit = 0x20, IdentLoop = 0x200, IdentSections = 0x400, IdentDistribute = 0x800; // of ident_t::flags

Meaning meaningOf(StringRef Name) {
  constexpr auto B = Role::Begin, C = Role::Continue, E = Role::End, H = Role::Helper;
  return StringSwitch<Meaning>(Name)
      .Cases("__kmpc_fork_call", "__kmpc_fork_call_if", "__kmpc_serialized_parallel", Meaning{B, PCERE_CONSTRUCT_PARALLEL})
      .Case("__kmpc_end_serialized_parallel", Meaning{E, PCERE_CONSTRUCT_PARALLEL})
      .Case("__kmpc_fork_teams", Meaning{B, PCERE_CONSTRUCT_TEAMS})
      .StartsWith("__kmpc_for_static_init", Meaning{B, PCERE_CONSTRUCT_FOR})
      .StartsWith("__kmpc_dispatch_init", Meaning{B, PCERE_CONSTRUCT_FOR})
      .StartsWith("__kmpc_dist_for_static_init", Meaning{B, PCERE_CONSTRUCT_DISTRIBUTE})
      .StartsWith("__kmpc_dist_dispatch_init", Meaning{B, PCERE_CONSTRUCT_DISTRIBUTE})
      .StartsWith("__kmpc_team_static_init", Meaning{B, PCERE_CONSTRUCT_DISTRIBUTE})
      .StartsWith("__kmpc_distribute_static_init", Meaning{B, PCERE_CONSTRUCT_DISTRIBUTE})
      .Cases("__kmpc_for_static_fini", "__kmpc_distribute_static_fini", "__kmpc_dispatch_deinit", Meaning{C, PCERE_CONSTRUCT_FOR})
      .StartsWith("__kmpc_dispatch_next", Meaning{C, PCERE_CONSTRUCT_FOR})
      .StartsWith("__kmpc_dispatch_fini", Meaning{C, PCERE_CONSTRUCT_FOR})
      .Case("__kmpc_single", Meaning{B, PCERE_CONSTRUCT_SINGLE})
      .Case("__kmpc_end_single", Meaning{E, PCERE_CONSTRUCT_SINGLE})
      .StartsWith("__kmpc_copyprivate", Meaning{C, PCERE_CONSTRUCT_SINGLE})
      .Cases("__kmpc_master", "__kmpc_masked", Meaning{B, PCERE_CONSTRUCT_MASKED})
      .Cases("__kmpc_end_master", "__kmpc_end_masked", Meaning{E, PCERE_CONSTRUCT_MASKED})
      .Cases("__kmpc_critical", "__kmpc_critical_with_hint", Meaning{B, PCERE_CONSTRUCT_CRITICAL})
      .Case("__kmpc_end_critical", Meaning{E, PCERE_CONSTRUCT_CRITICAL})
      .Cases("__kmpc_ordered", "__kmpc_doacross_post", "__kmpc_doacross_wait", Meaning{B, PCERE_CONSTRUCT_ORDERED})
      .Case("__kmpc_end_ordered", Meaning{E, PCERE_CONSTRUCT_ORDERED})
      .Cases("__kmpc_barrier", "__kmpc_cancel_barrier", Meaning{B, PCERE_CONSTRUCT_BARRIER})
      .Cases("__kmpc_reduce", "__kmpc_reduce_nowait", Meaning{B, PCERE_CONSTRUCT_REDUCTION})
      .Cases("__kmpc_end_reduce", "__kmpc_end_reduce_nowait", Meaning{C, PCERE_CONSTRUCT_REDUCTION})
      .Cases("__kmpc_omp_task_alloc", "__kmpc_omp_target_task_alloc", Meaning{B, PCERE_CONSTRUCT_TASK})
      .Cases("__kmpc_omp_task_begin_if0", "__kmpc_omp_task_complete_if0", "__kmpc_omp_wait_deps", Meaning{C, PCERE_CONSTRUCT_TASK})
      .Cases("__kmpc_omp_reg_task_with_affinity", "__kmpc_task_allow_completion_event", Meaning{C, PCERE_CONSTRUCT_TASK})
      .Cases("__kmpc_omp_taskwait", "__kmpc_omp_taskwait_deps_51", Meaning{B, PCERE_CONSTRUCT_TASKWAIT})
      .Case("__kmpc_omp_taskyield", Meaning{B, PCERE_CONSTRUCT_TASKYIELD})
      .StartsWith("__kmpc_omp_task", Meaning{C, PCERE_CONSTRUCT_TASK})
      .StartsWith("__kmpc_taskloop", Meaning{C, PCERE_CONSTRUCT_TASK})
      .Case("__kmpc_taskgroup", Meaning{B, PCERE_CONSTRUCT_TASKGROUP})
      .Case("__kmpc_end_taskgroup", Meaning{E, PCERE_CONSTRUCT_TASKGROUP})
      .Case("__kmpc_cancel", Meaning{B, PCERE_CONSTRUCT_CANCEL})
      .Case("__kmpc_cancellationpoint", Meaning{B, PCERE_CONSTRUCT_CANCELLATION_POINT})
      .Case("__kmpc_flush", Meaning{B, PCERE_CONSTRUCT_FLUSH})
      .StartsWith("__tgt_target_kernel", Meaning{B, PCERE_CONSTRUCT_TARGET})
      .Case("__kmpc_scope", Meaning{B, PCERE_CONSTRUCT_SCOPE})
      .Case("__kmpc_end_scope", Meaning{E, PCERE_CONSTRUCT_SCOPE})
      .StartsWith("__kmpc_", Meaning{H, 0})
      .StartsWith("__tgt_", Meaning{H, 0})
      .Default(Meaning{});
}

/// Loops, sections and distribute go on and end with the same calls; a taskloop's taskgroup ends with it.
bool isOfFamily(unsigned Kind, unsigned Asked) {
  if (Asked == PCERE_CONSTRUCT_FOR)
    return Kind == PCERE_CONSTRUCT_FOR || Kind == PCERE_CONSTRUCT_SECTIONS || Kind == PCERE_CONSTRUCT_DISTRIBUTE;
  if (Asked == PCERE_CONSTRUCT_TASK || Asked == PCERE_CONSTRUCT_TASKGROUP)
    return Kind == Asked || Kind == PCERE_CONSTRUCT_TASKLOOP;
  return Kind == Asked;
}

/// The ident_t that a runtime call is given, if it is one that the compiler made.
GlobalVariable *identOf(const CallBase &Call) {
  auto *V = Call.arg_size() ? dyn_cast<GlobalVariable>(Call.getArgOperand(0)->stripPointerCasts()) : nullptr;
  if (!V || !V->hasInitializer() || !V->isConstant())
    return nullptr;
  auto *Fields = dyn_cast<ConstantStruct>(V->getInitializer());
  if (!Fields || Fields->getNumOperands() != 5 || !isa<ConstantInt>(Fields->getOperand(1)) || !Fields->getOperand(3)->getType()->isIntegerTy() ||
      !Fields->getOperand(4)->getType()->isPointerTy())
    return nullptr;
  return V;
}

StringRef identText(const GlobalVariable &Ident) {
  auto *Text = dyn_cast<GlobalVariable>(cast<ConstantStruct>(Ident.getInitializer())->getOperand(4)->stripPointerCasts());
  auto *Data = Text && Text->hasInitializer() ? dyn_cast<ConstantDataSequential>(Text->getInitializer()) : nullptr;
  return Data && Data->isCString() ? Data->getAsCString() : StringRef();
}

uint64_t identFlags(const GlobalVariable &Ident) {
  return cast<ConstantInt>(cast<ConstantStruct>(Ident.getInitializer())->getOperand(1))->getZExtValue();
}

/// The first by name of all functions that \p M offers to other units. No two units of a program offer the same one, so it tells units of one file name apart.
StringRef firstOffered(const Module &M) {
  StringRef First;
  for (const Function &F : M)
    if (!F.isDeclaration() && F.hasExternalLinkage() && (First.empty() || F.getName() < First))
      First = F.getName();
  return First;
}

/// A function that the compiler made of a construct's body.
bool isOutlined(const Function &F) {
  return !F.isDeclaration() && (F.getName().contains(".omp") || F.getName().starts_with("__omp_offloading"));
}

class Identifier {
  Module &M;
  RegionTable Table;
  std::string Unit, Offered;
  DenseMap<const CallBase *, size_t> RegionOf;  ///< of the calls that enter and leave regions
  std::map<size_t, size_t> ConstructOf;         ///< by region
  std::vector<Construct> Constructs;
  std::set<const Function *> Visited;

  struct Known {                                ///< a construct of one IR function
    size_t Index;
    CallBase *Begin;
    GlobalVariable *Ident;
    bool Open;
  };
  struct Change { CallBase *Call; GlobalVariable *Ident; size_t Index; };
  std::vector<Change> Changes;
  std::map<std::pair<GlobalVariable *, size_t>, GlobalVariable *> Idents;

  struct Source {                               ///< the source function that is being walked through
    const Function *Root;
    std::string Name;
    unsigned Next = 0;
  };

  /// A template's or an inline function's name is the same in all units, and its constructs are, too. Folders are no part of it: how they are spelled is up to each build.
  uint64_t id(const Source &In, unsigned Ordinal) const {
    std::string Key = (In.Root->hasLinkOnceLinkage() || In.Root->hasWeakLinkage() ? std::string() : Unit) + '\n' + In.Root->getName().str() + '\n' +
                      utostr(Ordinal);
    if (In.Root->hasLocalLinkage())
      Key += '\n' + Offered;
    uint64_t Id = MD5Hash(Key);
    return Id ? Id : 1;
  }

  void locate(Construct &C, const CallBase &Call, const GlobalVariable &Ident, StringRef FunctionName) {
    SmallVector<StringRef, 8> Parts;
    identText(Ident).split(Parts, ';');
    C.Function = FunctionName.str();
    C.File = M.getSourceFileName();
    const DebugLoc &Location = Call.getDebugLoc();
    // flang's ident names no file, and of constructs with a reduction another one's line; where it forks, the call stands on the procedure's line
    const bool Flang = Parts.size() >= 2 && Parts[1].starts_with("FIR"), Located = Location && Location.getLine() && !calleeName(Call).starts_with("__kmpc_fork_");
    if (!(Flang && Located) && Parts.size() >= 5 && !Parts[3].getAsInteger(10, C.Line) && C.Line && !Parts[4].getAsInteger(10, C.Column)) {
      if (!Flang)
        C.File = Parts[1].str();
    } else if (Location) {
      C.Line = Location.getLine();
      C.Column = Location.getCol();
      C.File = Location->getFilename().str();
    }
  }

  static unsigned kindOf(unsigned Kind, const CallBase &Call, const GlobalVariable &Ident) {
    uint64_t Flags = identFlags(Ident);
    if (Kind == PCERE_CONSTRUCT_BARRIER && !(Flags & IdentBarrierExplicit))
      return PCERE_CONSTRUCT_IMPLICIT_BARRIER;
    if (Kind == PCERE_CONSTRUCT_FOR && !(Flags & IdentLoop)) {
      if (Flags & IdentSections || Call.getParent()->getName().starts_with("omp_section_loop"))
        return PCERE_CONSTRUCT_SECTIONS;
      if (Flags & IdentDistribute)
        return PCERE_CONSTRUCT_DISTRIBUTE;
    }
    return Kind;
  }

  static bool isForTaskloop(const CallBase &Alloc) {
    return any_of(Alloc.users(), [](const User *U) {
      auto *Call = dyn_cast<CallBase>(U);
      return Call && calleeName(*Call).starts_with("__kmpc_taskloop");
    });
  }

  /// Which of the constructs that began before does \p Call belong to?
  Known *nearest(std::vector<Known> &Here, unsigned Kind, const CallBase &Call, const GlobalVariable *Ident, bool OnlyOpen, const DominatorTree &Tree) {
    Known *Best = nullptr;
    for (Known &K : Here) {
      if (!isOfFamily(Constructs[K.Index].Kind, Kind) || (OnlyOpen && (!K.Open || K.Ident != Ident)) || !Tree.dominates(K.Begin, &Call))
        continue;
      if (Kind == PCERE_CONSTRUCT_CRITICAL && K.Begin->getArgOperand(2) != Call.getArgOperand(2))
        continue;
      if (!Best || Tree.dominates(Best->Begin, K.Begin))
        Best = &K;
    }
    return Best;
  }

  size_t begin(std::vector<Known> &Here, Source &In, Meaning What, CallBase &Call, GlobalVariable &Ident, size_t Parent) {
    bool Taskloop = What.Kind == PCERE_CONSTRUCT_TASK && isForTaskloop(Call);
    if (Taskloop && !Here.empty() && Here.back().Open && Here.back().Ident == &Ident &&
        Constructs[Here.back().Index].Kind == PCERE_CONSTRUCT_TASKGROUP) {
      Constructs[Here.back().Index].Kind = PCERE_CONSTRUCT_TASKLOOP;
      return Here.back().Index;
    }
    auto InRegion = RegionOf.find(&Call);
    if (InRegion != RegionOf.end())
      if (auto Same = ConstructOf.find(InRegion->second); Same != ConstructOf.end())
        return Same->second;
    Construct C;
    C.Ordinal = In.Next++;
    C.Id = id(In, C.Ordinal);
    C.Kind = Taskloop ? unsigned(PCERE_CONSTRUCT_TASKLOOP) : kindOf(What.Kind, Call, Ident);
    locate(C, Call, Ident, In.Name);
    if (Parent != None) {
      C.Parent = Constructs[Parent].Id;
      C.Region = Constructs[Parent].Region;
    }
    if (InRegion != RegionOf.end()) {
      C.Region = Table.Regions[InRegion->second].Name;
      ConstructOf[InRegion->second] = Constructs.size();
    }
    Here.push_back({Constructs.size(), &Call, &Ident, true});
    Constructs.push_back(std::move(C));
    return Constructs.size() - 1;
  }

  size_t rest(std::vector<Known> &Here, Meaning What, const CallBase &Call, const GlobalVariable *Ident, const DominatorTree &Tree) {
    if (auto InRegion = RegionOf.find(&Call); InRegion != RegionOf.end()) // the serial path of an if clause, whichever way came first
      if (auto Begun = ConstructOf.find(InRegion->second); Begun != ConstructOf.end())
        return Begun->second;
    Known *K = What.R == Role::End ? nearest(Here, What.Kind, Call, Ident, true, Tree) : nullptr;
    if (K)
      K->Open = false;
    else
      K = nearest(Here, What.Kind, Call, Ident, false, Tree);
    return K ? K->Index : None;
  }

  static constexpr size_t None = ~size_t(0);

  void walk(Function &F, Source &In, size_t Parent) {
    if (!Visited.insert(&F).second)
      return;
    DominatorTree Tree(F);
    std::vector<Known> Here;
    std::vector<std::pair<CallBase *, GlobalVariable *>> Helpers;
    for (Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallBase>(&I);
      if (!Call)
        continue;
      Meaning What = meaningOf(calleeName(*Call));
      GlobalVariable *Ident = What.R == Role::None ? nullptr : identOf(*Call);
      size_t Index = None;
      if (Ident && What.R == Role::Begin)
        Index = begin(Here, In, What, *Call, *Ident, Parent);
      else if (Ident && What.R != Role::Helper)
        Index = rest(Here, What, *Call, Ident, Tree);
      if (Index != None)
        Changes.push_back({Call, Ident, Index});
      else if (Ident)
        Helpers.push_back({Call, Ident});
      for (const Use &U : Call->operands())
        if (auto *Body = dyn_cast<Function>(U.get()->stripPointerCasts()); Body && isOutlined(*Body))
          walk(*Body, In, Index != None ? Index : Parent);
    }
    // Calls that shared an ident_t go on sharing one where that can be: its address may be kept in a register.
    for (auto [Call, Ident] : Helpers)
      for (const Change &C : Changes)
        if (C.Ident == Ident && C.Call->getFunction() == &F) {
          Changes.push_back({Call, Ident, C.Index});
          break;
        }
  }

  GlobalVariable *makeIdent(GlobalVariable &Old, const Construct &C) {
    SmallVector<StringRef, 8> Parts;
    identText(Old).split(Parts, ';');
    bool Located = Parts.size() >= 5 && Parts[3] != "0" && !Parts[1].starts_with("FIR");
    auto Plain = [](std::string Name) {
      std::replace(Name.begin(), Name.end(), ';', ',');
      return Name;
    };
    std::string Text = Located ? identText(Old).rtrim(';').str() + ";"
                               : ";" + Plain(C.File) + ";" + Plain(C.Function) + ";" + utostr(C.Line) + ";" + utostr(C.Column) + ";";
    Text += PCERE_IDENT_MARK + utohexstr(C.Id, /*LowerCase=*/true, /*Width=*/16) + ";";
    Constant *Data = ConstantDataArray::getString(M.getContext(), Text);
    auto *String = new GlobalVariable(M, Data->getType(), true, GlobalValue::PrivateLinkage, Data);
    String->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    String->setAlignment(Align(1));
    auto *Fields = cast<ConstantStruct>(Old.getInitializer());
    Constant *Values[] = {Fields->getOperand(0), Fields->getOperand(1), Fields->getOperand(2),
                          ConstantInt::get(Fields->getOperand(3)->getType(), Text.size()), String};
    auto *New = new GlobalVariable(M, Old.getValueType(), true, GlobalValue::PrivateLinkage, ConstantStruct::get(Fields->getType(), Values));
    New->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    New->setAlignment(Old.getAlign());
    return New;
  }

  void apply() {
    SmallPtrSet<GlobalVariable *, 32> Replaced;
    for (const Change &C : Changes) {
      GlobalVariable *&New = Idents[{C.Ident, C.Index}];
      if (!New)
        New = makeIdent(*C.Ident, Constructs[C.Index]);
      C.Call->setArgOperand(0, New);
      Replaced.insert(C.Ident);
    }
    for (GlobalVariable *Old : Replaced)
      if (Old->use_empty() && Old->hasLocalLinkage()) {
        auto *Text = dyn_cast<GlobalVariable>(cast<ConstantStruct>(Old->getInitializer())->getOperand(4)->stripPointerCasts());
        Constant *Fields = Old->getInitializer();
        Old->eraseFromParent();
        if (Fields->use_empty())
          Fields->destroyConstant();
        if (Text && Text->use_empty() && Text->hasLocalLinkage())
          Text->eraseFromParent();
      }
  }

public:
  explicit Identifier(Module &M) : M(M), Table(findRegions(M)), Unit(sys::path::filename(M.getSourceFileName())), Offered(firstOffered(M)) {
    for (const Entry &E : Table.Entries) {
      RegionOf[E.First] = E.RegionIndex;
      RegionOf[E.Last] = E.RegionIndex;
    }
  }

  std::vector<Construct> run() {
    // Those that nothing of their own source function refers to come last.
    for (bool Outlined : {false, true})
      for (Function &F : M)
        if (!F.isDeclaration() && isOutlined(F) == Outlined) {
          Source In{&F, sourceFunction(F)};
          walk(F, In, None);
        }
    apply();
    return std::move(Constructs);
  }
};

bool hasIds(const Module &M) {
  return any_of(M.globals(), [](const GlobalVariable &V) {
    auto *Data = V.isConstant() && V.hasInitializer() ? dyn_cast<ConstantDataSequential>(V.getInitializer()) : nullptr;
    return Data && Data->isCString() && Data->getAsCString().contains(";" PCERE_IDENT_MARK);
  });
}

} // namespace

std::vector<Construct> identifyConstructs(Module &M) {
  if (hasIds(M))
    return {};
  return Identifier(M).run();
}

void embedConstructs(Module &M, const std::vector<Construct> &Constructs) {
  if (Constructs.empty())
    return;
  std::string Bytes;
  auto Add = [&](const void *Data, size_t Size) { Bytes.append(static_cast<const char *>(Data), Size); };
  pcere_construct_header Header = {};
  Add(&Header, sizeof Header);
  for (const Construct &C : Constructs) {
    size_t Text = C.Function.size() + C.File.size() + C.Region.size() + 3;
    pcere_construct_entry Entry = {C.Id, C.Parent, C.Kind, C.Line, C.Column, C.Ordinal, (Text + 7) & ~size_t(7)};
    Add(&Entry, sizeof Entry);
    for (const std::string *String : {&C.Function, &C.File, &C.Region})
      Add(String->c_str(), String->size() + 1);
    Bytes.resize(Bytes.size() + Entry.text_bytes - Text);
  }
  Bytes.resize((Bytes.size() + 15) & ~size_t(15));
  memcpy(Header.magic, PCERE_CONSTRUCTS_MAGIC, sizeof Header.magic);
  Header.abi_version = PCERE_ABI_VERSION;
  Header.entries = static_cast<uint32_t>(Constructs.size());
  Header.unit_id = unitId(M);
  Header.bytes = Bytes.size();
  memcpy(&Bytes[0], &Header, sizeof Header);
  embedSection(M, ".pcere.con", Bytes);
}

} // namespace pcere
