/* platform/probe/arithmetic.c - how many floating-point operations a core does a second, and at how many cycles a second it runs. */
#include "probe.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CHAINS = 12, ROUNDS = 100000, ADDITIONS = 64, WARMING = 10, CLOCK_RUNS = 3 };

typedef double vector128 __attribute__((vector_size(16)));
typedef double vector256 __attribute__((vector_size(32)));
typedef double vector512 __attribute__((vector_size(64)));

/* CHAINS independent chains keep the units busy whatever their latency is (up to 12 / 2 cycles with two units). The numbers stay near 1. */
#define KERNEL(NAME, TYPE, REGISTER, TARGET, STATEMENT)                                                                                    \
    TARGET static void NAME(void)                                                                                                          \
    {                                                                                                                                      \
        TYPE x[CHAINS], a = (TYPE){0} + 1.0, b = (TYPE){0} + 1e-9;                                                                         \
        __asm__ volatile("" : "+" REGISTER(a), "+" REGISTER(b));                                                                           \
        for (int c = 0; c < CHAINS; c++)                                                                                                   \
            x[c] = (TYPE){0} + 1.0 + c * 1e-3;                                                                                             \
        for (int i = 0; i < ROUNDS; i++) {                                                                                                 \
            _Pragma("clang loop unroll(full)") for (int c = 0; c < CHAINS; c++) { STATEMENT; }                                             \
        }                                                                                                                                  \
        for (int c = 0; c < CHAINS; c++)                                                                                                   \
            __asm__ volatile("" : : REGISTER(x[c]));                                                                                       \
    }
#define KERNELS(BITS, TYPE, REGISTER, TARGET)                                                                                              \
    KERNEL(add_##BITS, TYPE, REGISTER, TARGET, x[c] = x[c] + b)                                                                            \
    KERNEL(fma_##BITS, TYPE, REGISTER, TARGET, x[c] = x[c] * a + b)                                                                        \
    KERNEL(divide_##BITS, TYPE, REGISTER, TARGET, x[c] = a / x[c])

/* One chain: each operation waits for the one before. */
#define CHAIN(NAME, TARGET, STATEMENT)                                                                                                     \
    TARGET static void NAME(void)                                                                                                          \
    {                                                                                                                                      \
        double x = 1.0, a = 1.0, b = 1e-9;                                                                                                 \
        __asm__ volatile("" : "+x"(a), "+x"(b));                                                                                           \
        for (int i = 0; i < ROUNDS; i++) {                                                                                                 \
            _Pragma("clang loop unroll(full)") for (int c = 0; c < CHAINS; c++) { STATEMENT; }                                             \
        }                                                                                                                                  \
        __asm__ volatile("" : : "x"(x));                                                                                                   \
    }

#pragma STDC FP_CONTRACT ON
#if defined __x86_64__
KERNELS(64, double, "x", __attribute__((target("avx2,fma"))))
KERNELS(128, vector128, "x", __attribute__((target("avx2,fma"))))
KERNELS(256, vector256, "x", __attribute__((target("avx2,fma"))))
KERNELS(512, vector512, "v", __attribute__((target("avx512f,avx512vl"))))
CHAIN(add_chain, , x = x + b)
CHAIN(fma_chain, __attribute__((target("avx2,fma"))), x = x * a + b)
CHAIN(multiply_add_chain, , x = x * a + b)
KERNEL(add_plain, double, "x", , x[c] = x[c] + b)
KERNEL(multiply_add_plain, double, "x", , x[c] = x[c] * a + b)
KERNEL(divide_plain, double, "x", , x[c] = a / x[c])
#endif

static const struct kernel {
    const char *kind;
    unsigned bits;
    bool avx2, avx512;
    unsigned operations;        /* of one element */
    void (*run)(void);
} kernels[] = {
#if defined __x86_64__
    {"add", 64, true, false, 1, add_64},     {"fma", 64, true, false, 2, fma_64},     {"divide", 64, true, false, 1, divide_64},
    {"add", 128, true, false, 1, add_128},   {"fma", 128, true, false, 2, fma_128},   {"divide", 128, true, false, 1, divide_128},
    {"add", 256, true, false, 1, add_256},   {"fma", 256, true, false, 2, fma_256},   {"divide", 256, true, false, 1, divide_256},
    {"add", 512, true, true, 1, add_512},    {"fma", 512, true, true, 2, fma_512},    {"divide", 512, true, true, 1, divide_512},
    {"add-chain", 64, false, false, 1, add_chain}, {"fma-chain", 64, true, false, 2, fma_chain}, {"fma-chain", 64, false, false, 2, multiply_add_chain},
    {"add", 64, false, false, 1, add_plain}, {"fma", 64, false, false, 2, multiply_add_plain}, {"divide", 64, false, false, 1, divide_plain},
#endif
    {NULL, 0, false, false, 0, NULL},
};

static bool kernel_runs(const struct kernel *kernel)
{
#if defined __x86_64__
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
    return (avx2 || !kernel->avx2) && (avx512 || !kernel->avx512);
#else
    return kernel->run != NULL;
#endif
}

void probe_arithmetic(const struct probe *probe)
{
    probe_pin(probe->cpus[0]);
    const struct kernel *kernel = kernels;
    while (kernel->kind && !(kernel->bits == probe->bits && strcmp(kernel->kind, probe->kind) == 0 && kernel_runs(kernel)))
        kernel++;
    if (!kernel->kind)
        probe_refuse("this processor has no '%s' of %u bits", probe->kind, probe->bits);
    double operations = (double)(ROUNDS * CHAINS * (size_t)kernel->operations * (kernel->bits / 64));
    for (unsigned i = 0; i < probe->repeats + 2; i++) {      /* the first two let the processor choose its clock */
        uint64_t start = probe_now_ns();
        kernel->run();
        uint64_t end = probe_now_ns();
        if (i >= 2)
            probe_print(operations / ((double)(end - start) / 1e9));
    }
}

/* ---- clock --------------------------------------------------------------------------------------------------------------- */

static uint64_t additions_run(uint64_t value)
{
    for (int i = 0; i < ROUNDS; i++) {
#if defined __x86_64__
        __asm__ volatile(".rept 64\n\tadd $1, %0\n\t.endr" : "+r"(value));
#else
        __asm__ volatile(".rept 64\n\tadd %0, %0, #1\n\t.endr" : "+r"(value));
#endif
    }
    return value;
}

static void *additions_begin(const struct probe *probe)
{
    (void)probe;
    return NULL;
}

static void *additions_step(void *state) { return (void *)(uintptr_t)additions_run((uintptr_t)state); }

/* What each round of additions, one behind the other, makes of the clock, Hz. */
static void clock_print(const struct probe *probe, uint64_t value)
{
    for (unsigned i = 0; i < probe->repeats; i++) {
        uint64_t start = probe_now_ns();
        for (int k = 0; k < CLOCK_RUNS; k++)
            value = additions_run(value);
        uint64_t end = probe_now_ns();
        probe_print((double)(CLOCK_RUNS * (size_t)ROUNDS * ADDITIONS) / ((double)(end - start) / 1e9));
    }
    probe_keep(&value);
}

void probe_clock(const struct probe *probe)
{
    probe_pin(probe->cpus[0]);
    struct others *others = probe_others_start(probe, additions_begin, additions_step);
    uint64_t value = 0;
    for (int i = 0; i < WARMING; i++)
        value = additions_run(value);
    clock_print(probe, value);
    probe_others_end(others);
}

/* The widest units would lower the clock of a processor for their own sake; most programs do not use them. */
static void load_run(void)
{
#if defined __x86_64__
    multiply_add_plain();
#endif
    uint64_t value = additions_run(0);
    probe_keep(&value);
}

static void *load_step(void *state)
{
    load_run();
    return state;
}

void probe_sustain(const struct probe *probe)
{
    probe_pin(probe->cpus[0]);
    struct others *others = probe_others_start(probe, additions_begin, load_step);
    uint64_t begin = probe_now_ns();
    while (probe_now_ns() - begin < (uint64_t)probe->load_ms * 1000000u)
        load_run();
    clock_print(probe, 0);
    probe_others_end(others);
}
