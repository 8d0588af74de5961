/* tests/bench/stand_in_runtime.h - what record_cost.c calls of its runtime: some of libomp's functions, as clang calls them, and what libomp does by itself.
 */
#ifndef PCERE_TESTS_BENCH_STAND_IN_RUNTIME_H
#define PCERE_TESTS_BENCH_STAND_IN_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stand_in_ident { int32_t reserved_1, flags, reserved_2, reserved_3; const char *source; };
struct stand_in_depend { intptr_t address; size_t bytes; uint8_t flags; };       /* kmp_depend_info */

/* The functions before which the recorder puts its own: X(result, name, parameters). */
#define STAND_IN_ENTRIES(X)                                                                                                    \
    X(void, __kmpc_fork_call, (struct stand_in_ident *, int32_t, void (*)(int32_t *, int32_t *), ...))                          \
    X(void, __kmpc_dispatch_init_4, (struct stand_in_ident *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t))            \
    X(int, __kmpc_dispatch_next_4, (struct stand_in_ident *, int32_t, int32_t *, int32_t *, int32_t *, int32_t *))              \
    X(void, __kmpc_for_static_init_4, (struct stand_in_ident *, int32_t, int32_t, int32_t *, int32_t *, int32_t *, int32_t *, int32_t, int32_t)) \
    X(void, __kmpc_for_static_fini, (struct stand_in_ident *, int32_t))                                                         \
    X(int32_t, __kmpc_single, (struct stand_in_ident *, int32_t))                                                               \
    X(void, __kmpc_end_single, (struct stand_in_ident *, int32_t))                                                              \
    X(int32_t, __kmpc_omp_task, (struct stand_in_ident *, int32_t, void *))                                                     \
    X(int32_t, __kmpc_omp_task_with_deps, (struct stand_in_ident *, int32_t, void *, int32_t, struct stand_in_depend *, int32_t, void *))
#define STAND_IN_DECLARE(result, name, parameters) result name parameters;
STAND_IN_ENTRIES(STAND_IN_DECLARE)

void stand_in_start(void);
void stand_in_end(void);
void stand_in_tool(bool on);
/* The next call of __kmpc_dispatch_next_4 finds no chunk. */
void stand_in_last_chunk(void);
void stand_in_wait(void);
void stand_in_lock(void);
/* A task with dependences that the runtime makes without a call that the recorder could see. */
void stand_in_unseen_task(int32_t count, struct stand_in_depend *depends);

#endif
