//===- passes/ThreadCalls.h - calls that ask for threads, by their functions' names, and calls that allocate ---------------------===//
#ifndef PCERE_PASSES_THREADCALLS_H
#define PCERE_PASSES_THREADCALLS_H

#include "Regions.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"

#include <unistd.h>

namespace pcere {

inline const llvm::Value *withoutCasts(const llvm::Value *V) {
  while (llvm::isa<llvm::CastInst>(V) || llvm::isa<llvm::FreezeInst>(V))
    V = llvm::cast<llvm::Instruction>(V)->getOperand(0);
  return V;
}

/// The function that all direct callers of its function give for \p Parameter, or null.
inline const llvm::Function *givenFunction(const llvm::Argument &Parameter) {
  const llvm::Function *Given = nullptr;
  for (const llvm::Use &U : Parameter.getParent()->uses()) {
    auto *Call = llvm::dyn_cast<llvm::CallBase>(U.getUser());
    if (!Call || !Call->isCallee(&U) || Parameter.getArgNo() >= Call->arg_size())
      return nullptr;
    auto *F = llvm::dyn_cast<llvm::Function>(Call->getArgOperand(Parameter.getArgNo())->stripPointerCasts());
    if (!F || (Given && F != Given))
      return nullptr;
    Given = F;
  }
  return Given;
}

/// What a local variable is given once and for all, or null.
inline const llvm::Value *onlyValue(const llvm::AllocaInst &Variable) {
  const llvm::Value *Only = nullptr;
  for (const llvm::User *U : Variable.users())
    if (auto *Store = llvm::dyn_cast<llvm::StoreInst>(U)) {
      if (Only || Store->getPointerOperand() != &Variable)
        return nullptr;
      Only = Store->getValueOperand();
    }
  return Only;
}

/// The function that \p Call enters, as far as can be told, or null. Through a variable, what that begins with, though the program may let it be another one: an
/// allocator that users may replace is one all the same. Through a parameter, what is always given for it (a parser of text).
inline const llvm::Function *likelyCallee(const llvm::CallBase &Call) {
  const llvm::Value *Called = Call.getCalledOperand()->stripPointerCastsAndAliases();
  if (auto *Load = llvm::dyn_cast<llvm::LoadInst>(Called)) {
    const llvm::Value *From = Load->getPointerOperand()->stripPointerCasts();
    if (auto *Variable = llvm::dyn_cast<llvm::GlobalVariable>(From); Variable && Variable->hasInitializer())
      Called = Variable->getInitializer()->stripPointerCasts();
    else if (auto *Local = llvm::dyn_cast<llvm::AllocaInst>(From)) // nothing was optimised
      Called = onlyValue(*Local);
  }
  if (auto *Parameter = llvm::dyn_cast_or_null<llvm::Argument>(Called))
    return givenFunction(*Parameter);
  return llvm::dyn_cast_or_null<llvm::Function>(Called);
}

inline llvm::StringRef likelyName(const llvm::CallBase &Call) {
  const llvm::Function *Callee = likelyCallee(Call);
  return Callee ? Callee->getName() : llvm::StringRef();
}

/// Of processors, or places: what programs take for a number of threads, and what is as many whatever number of these the user asks for.
inline bool asksForProcessors(const llvm::CallBase &Call) {
  llvm::StringRef Name = calleeName(Call);
  if (Name == "sysconf") {
    auto *What = Call.arg_size() == 1 ? llvm::dyn_cast<llvm::ConstantInt>(Call.getArgOperand(0)) : nullptr;
    return What && (What->equalsInt(_SC_NPROCESSORS_CONF) || What->equalsInt(_SC_NPROCESSORS_ONLN));
  }
  Name.consume_back("_"); // Fortran's
  static constexpr llvm::StringLiteral Known[] = {"omp_get_num_procs", "omp_get_num_places", "get_nprocs", "get_nprocs_conf", "_ZNSt6thread20hardware_concurrencyEv", "__sched_cpucount"};
  return llvm::is_contained(Known, Name);
}

/// Of threads, or of what programs take for as many.
inline bool asksForThreadCount(const llvm::CallBase &Call) {
  llvm::StringRef Name = calleeName(Call);
  Name.consume_back("_"); // Fortran's
  static constexpr llvm::StringLiteral Known[] = {"omp_get_max_threads", "omp_get_num_threads", "omp_get_team_size", "omp_get_thread_limit"};
  return llvm::is_contained(Known, Name) || asksForProcessors(Call);
}

/// Where \p Call puts the processors that the program may use, one bit each, or null.
inline const llvm::Value *setsOfProcessors(const llvm::CallBase &Call) {
  llvm::StringRef Name = calleeName(Call);
  return (Name == "sched_getaffinity" || Name == "pthread_getaffinity_np") && Call.arg_size() == 3 ? Call.getArgOperand(2) : nullptr;
}

/// An object's function that nobody knows, asked for so many bytes, aligned to a constant: std::pmr::memory_resource.
inline bool isAskedForMemory(const llvm::CallBase &Call) {
  auto IsSize = [&](unsigned K) { return Call.getArgOperand(K)->getType()->isIntegerTy(64); };
  if (Call.isInlineAsm() || Call.arg_size() != 3 || !Call.getType()->isPointerTy() || !Call.getArgOperand(0)->getType()->isPointerTy() || !IsSize(1) || !IsSize(2))
    return false;
  auto *Aligned = llvm::dyn_cast<llvm::ConstantInt>(Call.getArgOperand(2));
  return (Aligned && Aligned->getValue().isPowerOf2()) || Call.getFunction()->getName().starts_with("_ZNSt3pmr15memory_resource8allocate");
}

/// The number that \p Call makes a team's, or null: whatever has that number has as many parts as the team has threads.
inline const llvm::Value *asksForTeam(const llvm::CallBase &Call) {
  llvm::StringRef Name = calleeName(Call);
  if (Name == "omp_set_num_threads" && Call.arg_size() == 1)
    return Call.getArgOperand(0);
  return Name.starts_with("__kmpc_push_num_threads") && Call.arg_size() >= 3 ? Call.getArgOperand(2) : nullptr;
}

inline bool asksForThreadNumber(llvm::StringRef Name) {
  Name.consume_back("_");
  return Name == "omp_get_thread_num" || Name == "omp_get_ancestor_thread_num";
}

inline bool readsThreadVariable(const llvm::CallBase &Call) {
  if ((calleeName(Call) != "getenv" && calleeName(Call) != "secure_getenv") || Call.arg_size() != 1)
    return false;
  auto *Variable = llvm::dyn_cast<llvm::GlobalVariable>(Call.getArgOperand(0)->stripPointerCasts());
  auto *Data = Variable && Variable->hasInitializer() ? llvm::dyn_cast<llvm::ConstantDataSequential>(Variable->getInitializer()) : nullptr;
  return Data && Data->isCString() && Data->getAsCString() == "OMP_NUM_THREADS";
}

/// What Fortran's runtime is asked for OMP_NUM_THREADS: where it puts the text, or null.
const llvm::Value *setsThreadVariable(const llvm::CallBase &Call);

inline bool readsNumber(llvm::StringRef Name) {
  Name.consume_front("__isoc23_");
  static constexpr llvm::StringLiteral Known[] = {"atoi", "atol", "atoll", "strtol", "strtoul", "strtoll", "strtoull"};
  return llvm::is_contained(Known, Name);
}

/// What it reads goes where its third argument and later ones lead.
inline bool scansNumbers(llvm::StringRef Name) {
  return Name == "sscanf" || Name == "__isoc99_sscanf" || Name == "__isoc23_sscanf";
}

/// Of a library's function that has no known name: fftw_malloc, numa_alloc_local, gsl_vector_alloc.
inline bool namesAllocator(llvm::StringRef Name) { return Name.contains_insensitive("alloc"); }

/// Arguments of an allocation that make its size: first, and how many; 0: it is none.
inline std::pair<unsigned, unsigned> allocationSize(llvm::StringRef Name) {
  if (Name.starts_with("_Znwm") || Name.starts_with("_Znam"))
    return {0, 1};
  static const std::pair<llvm::StringLiteral, std::pair<unsigned, unsigned>> Known[] = {
      {"malloc", {0, 1}}, {"valloc", {0, 1}}, {"omp_alloc", {0, 1}}, {"calloc", {0, 2}}, {"reallocarray", {1, 2}}, {"realloc", {1, 1}}, {"memalign", {1, 1}},
      {"mmap", {1, 1}}, {"aligned_alloc", {1, 1}}, {"omp_aligned_alloc", {1, 1}}, {"__kmpc_alloc", {1, 1}}, {"posix_memalign", {2, 1}}};
  for (const auto &[Function, Arguments] : Known)
    if (Name == Function)
      return Arguments;
  return {0, 0};
}

/// Where \p Call puts a pointer to memory that it allocates, or null. Fortran's descriptors begin with it.
inline const llvm::Value *allocatesInto(const llvm::CallBase &Call) {
  llvm::StringRef Name = likelyName(Call);
  bool Puts = Name == "posix_memalign" || Name.starts_with("_FortranAAllocatableAllocate") || Name.starts_with("_FortranAPointerAllocate");
  return Puts && Call.arg_size() ? Call.getArgOperand(0) : nullptr;
}

} // namespace pcere

#endif
