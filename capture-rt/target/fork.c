/* capture-rt/target/fork.c - the calls by which any code, with probes or without, enters a parallel region.
 *
 * A region with probes passes by: its begin probe left target_fork_due, and the stub jumps to the OpenMP runtime with registers and stack as
 * they are. One without is numbered and timed here, under the name that its source position gives, so that the time that no capture can show
 * is known. Units of GCC enter regions by other calls; these take a fixed number of words.
 */
#include "capture-rt/target/target.h"

#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <string.h>

#define PCERE_RT_CALL(name, result, parameters) TARGET_EXPORT result name parameters;
#include "include/pcere/rt_abi.inc"
#undef PCERE_RT_CALL

struct fork_ident { int32_t reserved_1, flags, reserved_2, reserved_3; const char *source; };
typedef void fork_if_call(struct fork_ident *ident, int32_t argc, target_microtask *microtask, int32_t condition, void *arguments);

__thread uint32_t target_fork_due;
__thread uint32_t target_fork_version;

/* For the assembly below. */
void fork_plain(struct fork_ident *ident, int32_t argc, target_microtask *microtask, ...) __attribute__((visibility("hidden")));
void fork_forward(target_fork_call *next, struct fork_ident *ident, uint64_t argc, target_microtask *microtask, const uint64_t *words) __attribute__((visibility("hidden")));
target_fork_call *fork_next __attribute__((visibility("hidden")));
TARGET_EXPORT void __kmpc_fork_call(struct fork_ident *ident, int32_t argc, target_microtask *microtask, ...);

_Static_assert(TARGET_FORK_DUE == 1 && TARGET_FORK_FRAME > TARGET_FORK_DUE, "the number in the assembly below");
/* fork_forward: the first three words go into registers, the others onto a stack that stays aligned. `words` holds at least three. */
__asm__(".text\n"
        ".globl __kmpc_fork_call\n"
        ".type __kmpc_fork_call, @function\n"
        "__kmpc_fork_call:\n"
        "    .cfi_startproc\n"
        "0:\n"
        "    movq target_fork_due@gottpoff(%rip), %r11\n"
        "    cmpl $1, %fs:(%r11)\n"
        "    jb 1f\n"
        "    ja 2f\n"
        "    movq fork_next(%rip), %r10\n"
        "    testq %r10, %r10\n"
        "    je 1f\n"
        "    movl $0, %fs:(%r11)\n"
        "    jmp *%r10\n"
        "1:  jmp fork_plain\n"
        "2:  pushq %rdi\n    pushq %rsi\n    pushq %rdx\n    pushq %rcx\n    pushq %r8\n    pushq %r9\n    pushq %rax\n"
        "    .cfi_def_cfa_offset 64\n"
        "    call target_frame_compare\n"
        "    popq %rax\n    popq %r9\n    popq %r8\n    popq %rcx\n    popq %rdx\n    popq %rsi\n    popq %rdi\n"
        "    .cfi_def_cfa_offset 8\n"
        "    jmp 0b\n"
        "    .cfi_endproc\n"
        ".size __kmpc_fork_call, . - __kmpc_fork_call\n"
        ".globl fork_forward\n"
        ".type fork_forward, @function\n"
        "fork_forward:\n"
        "    .cfi_startproc\n"
        "    pushq %rbp\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset %rbp, -16\n"
        "    movq %rsp, %rbp\n"
        "    .cfi_def_cfa_register %rbp\n"
        "    movq %rdi, %r11\n"
        "    movq %r8, %r10\n"
        "    movq %rsi, %rdi\n"
        "    movq %rdx, %rsi\n"
        "    movq %rcx, %rdx\n"
        "    movq %rsi, %rax\n"
        "    subq $3, %rax\n"
        "    jle 2f\n"
        "    testq $1, %rax\n"
        "    je 1f\n"
        "    subq $8, %rsp\n"
        "1:  pushq 16(%r10,%rax,8)\n"
        "    decq %rax\n"
        "    jnz 1b\n"
        "2:  movq 0(%r10), %rcx\n"
        "    movq 8(%r10), %r8\n"
        "    movq 16(%r10), %r9\n"
        "    xorl %eax, %eax\n"
        "    call *%r11\n"
        "    leave\n"
        "    .cfi_def_cfa %rsp, 8\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size fork_forward, . - fork_forward\n");

/* ---- what stands behind -------------------------------------------------------------------------------------------------------- */

static void *runtime_alone;     /* handle of an OpenMP runtime that came with a library loaded for itself, and that nobody else sees */

/* As this library sees it: the first in order. */
static void *symbol_next(const char *name, const void *own)
{
    if (runtime_alone)
        return dlsym(runtime_alone, name);
    void *found = dlsym(RTLD_NEXT, name);
    if (!found && (found = dlsym(RTLD_DEFAULT, name)) == own)   /* part of the executable */
        return NULL;
    return found;
}

void *target_runtime_symbol(const char *name, const void *own)
{
    return target_beside_pass(name, symbol_next(name, own));
}

/* As the object that calls would find it without this library. */
static void *symbol_near(const char *name, const void *own, const void *caller)
{
    Dl_info facts;
    struct link_map *object = NULL;
    if (!dladdr1(caller, &facts, (void **)&object, RTLD_DL_LINKMAP) || !object || !object->l_name[0])
        return NULL;
    void *handle = dlopen(object->l_name, RTLD_NOLOAD | RTLD_LAZY);
    void *found = handle ? dlsym(handle, name) : NULL;
    if (handle)
        dlclose(handle);
    return found == own ? NULL : found;
}

static void others_find(void);

bool target_fork_find(const void *caller)
{
    const void *own = TARGET_ADDRESS(__kmpc_fork_call);
    void *found = target_runtime_symbol("__kmpc_fork_call", own);
    Dl_info facts;
    if (!found && caller && (found = symbol_near("__kmpc_fork_call", own, caller)) && dladdr(found, &facts))
        runtime_alone = dlopen(facts.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
    target_fork_call *next;
    memcpy(&next, &found, sizeof next);
    __atomic_store_n(&fork_next, next, __ATOMIC_RELEASE);
    target_beside_find(found);
    others_find();
    return found != NULL;
}

target_fork_call *target_fork_next(void)
{
    return __atomic_load_n(&fork_next, __ATOMIC_ACQUIRE);
}

/* ---- entries --------------------------------------------------------------------------------------------------------------------- */

/* True: the region's site is in *ret_site, and it is to be ended. */
static bool plain_begin(const void *code, const char *source, const void *frame, struct pcere_site **ret_site)
{
    struct target_state *state = target_state;
    *ret_site = state->active ? target_plain_site(state, code, source, target_fork_version) : NULL;
    target_fork_version = 0;
    return *ret_site && target_plain_begin(state, *ret_site, (uintptr_t)frame + 2 * sizeof(void *));
}

static bool fork_was_due(void)
{
    bool due = target_fork_due;
    if (target_fork_due == TARGET_FORK_FRAME)
        target_frame_compare();
    target_fork_due = 0;
    return due;
}

void fork_plain(struct fork_ident *ident, int32_t argc, target_microtask *microtask, ...)
{
    target_runtime_attach(__builtin_return_address(0));
    target_fork_call *next = target_fork_next();
    uint64_t count = argc > 0 ? (uint64_t)argc : 0;
    uint64_t *words = __builtin_alloca((count + 3) * sizeof *words);
    va_list arguments;
    va_start(arguments, microtask);
    for (uint64_t i = 0; i < count; i++)
        words[i] = va_arg(arguments, uint64_t);
    va_end(arguments);
    memset(words + count, 0, 3 * sizeof *words);
    struct pcere_site *site = NULL;
    /* Without a position: the runtime's own team, which waits to the program's end for tasks of `target nowait`. */
    bool followed = !fork_was_due() && ident && plain_begin(TARGET_ADDRESS(microtask), ident->source, __builtin_frame_address(0), &site);
    if (next)
        fork_forward(next, ident, count, microtask, words);
    if (followed)
        __pcere_region_end(site);
}

static void *next_of(void **kept, const char *name, const void *own, const void *caller)
{
    void *next = __atomic_load_n(kept, __ATOMIC_RELAXED);
    if (!next) {
        next = symbol_next(name, own);
        next = next ? next : symbol_near(name, own, caller);
        __atomic_store_n(kept, next, __ATOMIC_RELAXED);
    }
    return next;
}

#define OTHERS(X)                                                                                                    \
    X(__kmpc_fork_call_if) X(GOMP_parallel) X(GOMP_parallel_reductions) X(GOMP_parallel_sections) X(GOMP_parallel_loop_static) \
    X(GOMP_parallel_loop_dynamic) X(GOMP_parallel_loop_guided) X(GOMP_parallel_loop_nonmonotonic_dynamic)            \
    X(GOMP_parallel_loop_nonmonotonic_guided) X(GOMP_parallel_loop_runtime) X(GOMP_parallel_loop_nonmonotonic_runtime) \
    X(GOMP_parallel_loop_maybe_nonmonotonic_runtime)
#define KEPT(name) static void *kept_##name;
OTHERS(KEPT)

TARGET_EXPORT void __kmpc_fork_call_if(struct fork_ident *ident, int32_t argc, target_microtask *microtask, int32_t condition, void *arguments);
TARGET_EXPORT void __kmpc_fork_call_if(struct fork_ident *ident, int32_t argc, target_microtask *microtask, int32_t condition, void *arguments)
{
    target_runtime_attach(__builtin_return_address(0));
    void *found = next_of(&kept___kmpc_fork_call_if, "__kmpc_fork_call_if", TARGET_ADDRESS(__kmpc_fork_call_if), __builtin_return_address(0));
    fork_if_call *next;
    memcpy(&next, &found, sizeof next);
    struct pcere_site *site = NULL;
    bool due = fork_was_due();
    bool followed = !due && condition && plain_begin(TARGET_ADDRESS(microtask), ident ? ident->source : NULL, __builtin_frame_address(0), &site);
    if (next)
        next(ident, argc, microtask, condition, arguments);
    if (followed)
        __pcere_region_end(site);
}

/* Of units that GCC compiled: all arguments are words, and all these regions are without probes. */
#define GNU(name, result, parameters, arguments)                                                                     \
    TARGET_EXPORT result name parameters;                                                                            \
    TARGET_EXPORT result name parameters                                                                             \
    {                                                                                                                \
        void *found = next_of(&kept_##name, #name, TARGET_ADDRESS(name), __builtin_return_address(0));          \
        result(*next) parameters;                                                                                    \
        memcpy(&next, &found, sizeof next);                                                                          \
        struct pcere_site *site;                                                                                     \
        bool followed = plain_begin(code, NULL, __builtin_frame_address(0), &site);                                  \
        result ended = next arguments;                                                                               \
        if (followed)                                                                                                \
            __pcere_region_end(site);                                                                                \
        return ended;                                                                                                \
    }
#define GNU_LOOP(name)                                                                                               \
    GNU(name, long, (const void *code, void *data, unsigned threads, long start, long end, long step, long chunk, unsigned flags), \
        (code, data, threads, start, end, step, chunk, flags))
#define GNU_LOOP_RUNTIME(name)                                                                                       \
    GNU(name, long, (const void *code, void *data, unsigned threads, long start, long end, long step, unsigned flags), \
        (code, data, threads, start, end, step, flags))
/* Those that return nothing leave the register of a result to whoever calls: one form serves all. */
GNU(GOMP_parallel, long, (const void *code, void *data, unsigned threads, unsigned flags), (code, data, threads, flags))
GNU(GOMP_parallel_reductions, long, (const void *code, void *data, unsigned threads, unsigned flags), (code, data, threads, flags))
GNU(GOMP_parallel_sections, long, (const void *code, void *data, unsigned threads, unsigned count, unsigned flags), (code, data, threads, count, flags))
GNU_LOOP(GOMP_parallel_loop_static)
GNU_LOOP(GOMP_parallel_loop_dynamic)
GNU_LOOP(GOMP_parallel_loop_guided)
GNU_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
GNU_LOOP(GOMP_parallel_loop_nonmonotonic_guided)
GNU_LOOP_RUNTIME(GOMP_parallel_loop_runtime)
GNU_LOOP_RUNTIME(GOMP_parallel_loop_nonmonotonic_runtime)
GNU_LOOP_RUNTIME(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

/* Before any region: looking for a name inside a captured one would free what an earlier failure of the dynamic linker left in the program's heap. */
static void others_find(void)
{
#define FIND(name) kept_##name = symbol_next(#name, TARGET_ADDRESS(name));
    OTHERS(FIND)
}
