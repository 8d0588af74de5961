//===- passes/KnownCalls.h - what Sampling.cpp knows of functions that it does not see, by name ------------------------------===//
#ifndef PCERE_PASSES_KNOWN_CALLS_H
#define PCERE_PASSES_KNOWN_CALLS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"

namespace pcere {

using llvm::StringRef;
using llvm::StringSwitch;

/// Runtime calls that a sampled loop cannot stand. The words follow "it has".
inline StringRef refusedCall(StringRef Name) {
  return StringSwitch<StringRef>(Name)
      .StartsWith("__kmpc_omp_task_with_deps", "tasks that depend on each other")
      .StartsWith("__kmpc_omp_taskwait_deps", "tasks that depend on each other")
      .StartsWith("__kmpc_omp_wait_deps", "tasks that depend on each other")
      .StartsWith("__kmpc_omp_taskyield", "tasks that are put off (taskyield)")
      .StartsWith("__kmpc_omp_reg_task", "tasks with an affinity")
      .StartsWith("__kmpc_omp_target_task", "target constructs")
      .StartsWith("__kmpc_taskred", "reductions over tasks")
      .StartsWith("__kmpc_task_reduction", "reductions over tasks")
      .StartsWith("__kmpc_proxy_task", "tasks that others complete")
      .StartsWith("__kmpc_task_allow_completion", "tasks that others complete")
      .StartsWith("__kmpc_fork", "parallel regions inside")
      .StartsWith("__kmpc_serialized_parallel", "parallel regions inside")
      .StartsWith("__kmpc_push_num_t", "parallel regions inside")
      .StartsWith("__kmpc_distribute", "teams")
      .StartsWith("__kmpc_dist_", "teams")
      .StartsWith("__kmpc_team", "teams")
      .StartsWith("__kmpc_doacross", "ordered loops")
      .StartsWith("__kmpc_ordered", "ordered loops")
      .StartsWith("__kmpc_dispatch_fini", "ordered loops")
      .StartsWith("__kmpc_cancel", "cancellation")
      .StartsWith("__kmpc_flush", "flags between threads (flush)")
      .StartsWith("__tgt_", "target constructs")
      .StartsWith("omp_target", "target constructs")
      .Cases("setjmp", "_setjmp", "__sigsetjmp", "longjmp", "siglongjmp", "jumps out of functions")
      .Default("");
}

/// Their results follow from their arguments, and they write nothing that a region reads but through these.
inline bool isMathematicsFor(StringRef Name) {
  return StringSwitch<bool>(Name)
      .Cases("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", true)
      .Cases("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "sqrt", "cbrt", true)
      .Cases("hypot", "fabs", "floor", "ceil", "round", "trunc", "rint", "fmod", "fmin", "fmax", true)
      .Cases("lround", "llround", "lrint", "llrint", "nearbyint", "remainder", "copysign", "erf", "erfc", "tgamma", true)
      .Cases("lgamma", "abs", "labs", "llabs", "ldexp", "scalbn", "logb", "ilogb", "sincos", "fma", true)
      .Default(false);
}

inline bool isMathematics(StringRef Name) { // for double, float and long double
  return isMathematicsFor(Name) || ((Name.ends_with("f") || Name.ends_with("l")) && isMathematicsFor(Name.drop_back()));
}

inline bool isHarmless(StringRef Name) {
  return Name.starts_with("__kmpc_") || Name.starts_with("omp_get_") ||
         StringSwitch<bool>(Name)
             .Cases("omp_in_parallel", "omp_set_lock", "omp_unset_lock", "omp_test_lock", "omp_set_nest_lock", "omp_unset_nest_lock", true)
             .Cases("abort", "__assert_fail", "__clang_call_terminate", "strlen", "memcmp", "strcmp", "__stack_chk_fail", true)
             .Default(false);
}

/// They make blocks and drop them: no frame may forget one.
inline bool isAllocation(StringRef Name) {
  return Name.starts_with("_Zn") || Name.starts_with("_Zd") ||
         StringSwitch<bool>(Name).Cases("malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign", "memalign", true).Default(false);
}

inline bool isTaskAllocation(StringRef Name) { return Name == "__kmpc_omp_task_alloc"; }
inline bool isLoopBegin(StringRef Name) { return Name.starts_with("__kmpc_for_static_init") || Name.starts_with("__kmpc_dispatch_init"); }
inline bool isLoopEnd(StringRef Name) { return Name.starts_with("__kmpc_for_static_fini") || Name.starts_with("__kmpc_dispatch_deinit"); }

} // namespace pcere

#endif
