/* platform/probe/pipeline.c - how many instructions of a kind a core begins in a cycle, how far ahead of one that waits it works, and what a mispredicted branch costs. */
#include "probe.h"

#include <string.h>

enum { ROUNDS = 20000, CODE_REPEATS = 16, CYCLE_ADDITIONS = 256, WINDOW_LINES = 1 << 19, WINDOW_STEPS = 4000, LINE_BYTES = 64, BRANCHES = 1 << 18, LOAD_CYCLES = 5 };

#if defined __x86_64__

static char memory[16384] __attribute__((aligned(4096)));

#define CLOBBERS "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "memory", "cc"
#define CODE(NAME, TEXT)                                                                                                                   \
    static void NAME(void)                                                                                                                 \
    {                                                                                                                                      \
        for (int i = 0; i < ROUNDS; i++)                                                                                                   \
            __asm__ volatile(".rept 16\n" TEXT ".endr" : : "r"(memory) : CLOBBERS);                                                        \
    }

CODE(run_plain, "lea 1(%%rsi), %%rax\nlea 1(%%rsi), %%rcx\nlea 1(%%rsi), %%rdx\nnop\nlea 1(%%rsi), %%r8\nlea 1(%%rsi), %%r9\nlea 1(%%rsi), %%r10\nnop\n")
CODE(run_load, "mov (%0), %%rax\nmov 8(%0), %%rcx\nmov 64(%0), %%rdx\nmov 72(%0), %%r8\nmov 128(%0), %%r9\nmov 136(%0), %%r10\n")
CODE(run_load_vector, "movupd (%0), %%xmm0\nmovupd 16(%0), %%xmm1\nmovupd 64(%0), %%xmm2\nmovupd 80(%0), %%xmm3\nmovupd 128(%0), %%xmm4\nmovupd 144(%0), %%xmm5\n")
CODE(run_store, "mov %%rax, (%0)\nmov %%rax, 8(%0)\nmov %%rax, 16(%0)\nmov %%rax, 24(%0)\nmov %%rax, 32(%0)\nmov %%rax, 40(%0)\n")
CODE(run_store_vector, "movupd %%xmm0, (%0)\nmovupd %%xmm0, 16(%0)\nmovupd %%xmm0, 32(%0)\nmovupd %%xmm0, 48(%0)\nmovupd %%xmm0, 64(%0)\nmovupd %%xmm0, 80(%0)\n")
CODE(run_stream, "movupd (%0), %%xmm0\nmovupd 16(%0), %%xmm1\nmovupd 1088(%0), %%xmm2\nmovupd 1104(%0), %%xmm3\nmovupd %%xmm4, 2176(%0)\nmovupd %%xmm5, 2192(%0)\n")
CODE(run_update, "incl (%0)\nincl 64(%0)\nincl 128(%0)\nincl 192(%0)\nincl 256(%0)\nincl 320(%0)\nincl 384(%0)\nincl 448(%0)\n")

/* A number that is multiplied, then added to, and so on: zeros. */
CODE(run_pair_chain, "mulsd (%0), %%xmm0\naddsd 8(%0), %%xmm0\nmulsd (%0), %%xmm0\naddsd 8(%0), %%xmm0\n")

static const struct { const char *kind; unsigned instructions; void (*run)(void); } codes[] = {
    {"plain", 8, run_plain}, {"load", 6, run_load}, {"load-vector", 6, run_load_vector}, {"store", 6, run_store},
    {"store-vector", 6, run_store_vector}, {"stream", 6, run_stream}, {"update", 8, run_update}, {"pair-chain", 4, run_pair_chain},
};

/* Of a chain of additions, each of which takes one. */
static double cycle_ns(void)
{
    uint64_t start = probe_now_ns();
    for (int i = 0; i < ROUNDS; i++)
        __asm__ volatile(".rept 256\nadd $1, %%rax\n.endr" : : : "rax", "cc");
    return (double)(probe_now_ns() - start) / (double)(ROUNDS * CYCLE_ADDITIONS);
}

/* ---- the window ---------------------------------------------------------------------------------------------------------- */

/* Two loads that miss, each followed by so many additions: while these fit into the window, the misses overlap. */
#define AHEAD(N)                                                                                                                           \
    case N:                                                                                                                                \
        for (int i = 0; i < WINDOW_STEPS; i++)                                                                                             \
            __asm__ volatile("mov (%0), %0\n.rept " #N "\nadd %%eax, %%ecx\n.endr\nmov (%1), %1\n.rept " #N "\nadd %%eax, %%edx\n.endr"    \
                             : "+r"(one), "+r"(other) : : "ecx", "edx", "cc");                                                             \
        break;
static const unsigned aheads[] = {16, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768};

static double ahead_ns(unsigned instructions, char **chains)
{
    char *one = chains[0], *other = chains[1];
    uint64_t start = probe_now_ns();
    switch (instructions) {
        AHEAD(16) AHEAD(64) AHEAD(96) AHEAD(128) AHEAD(160) AHEAD(192) AHEAD(224) AHEAD(256) AHEAD(320) AHEAD(384) AHEAD(448) AHEAD(512) AHEAD(640) AHEAD(768)
    }
    double took = (double)(probe_now_ns() - start) / (double)WINDOW_STEPS;
    chains[0] = one;
    chains[1] = other;
    return took;
}

/* The most instructions with which two misses still take less than the middle between one and two of them. */
static double window_find(char **chains, double addition_ns)
{
    enum { COUNT = sizeof aheads / sizeof *aheads };
    double window = aheads[0], together = ahead_ns(aheads[0], chains), once = ahead_ns(aheads[0], chains);
    together = once < together ? once : together;
    for (size_t i = 1; i < COUNT; i++) {
        double work = 2 * (double)(aheads[i] - aheads[0]) * addition_ns / 4, took = ahead_ns(aheads[i], chains), again = ahead_ns(aheads[i], chains);
        if ((again < took ? again : took) - work > 1.5 * together)
            break;
        window = aheads[i];
    }
    return window;
}

/* ---- mispredicted branches ----------------------------------------------------------------------------------------------- */

/* Of one branch, with some instructions that wait for nothing. */
static double branch_ns(const unsigned char *ways)
{
    uint64_t start = probe_now_ns();
    for (size_t i = 0; i < BRANCHES; i++)
        __asm__ volatile("cmpb $0, %0\nje 1f\nnop\n1:\n.rept 8\nlea 1(%%rsi), %%rax\nlea 1(%%rsi), %%rcx\nnop\n.endr\n" : : "m"(ways[i]) : "rax", "rcx", "cc");
    return (double)(probe_now_ns() - start) / (double)BRANCHES;
}

/* What branches that nobody can foretell, half of which go the other way, take longer; less what they wait for their load. */
static double refill_find(double cycle)
{
    static unsigned char always[BRANCHES], random[BRANCHES];
    uint64_t state = 1;
    for (size_t i = 0; i < BRANCHES; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        random[i] = (unsigned char)(state >> 63);
    }
    branch_ns(always);
    double foretold = branch_ns(always), again = branch_ns(always), missed = branch_ns(random), missed_again = branch_ns(random);
    double more = (missed < missed_again ? missed : missed_again) - (foretold < again ? foretold : again);
    return 2 * more / cycle - (double)LOAD_CYCLES;
}
#endif

void probe_pipeline(const struct probe *probe)
{
    probe_pin(probe->cpus[0]);
#if defined __x86_64__
    if (strcmp(probe->kind, "window") == 0) {
        char *chains[] = {probe_chain((size_t)WINDOW_LINES * LINE_BYTES), probe_chain((size_t)WINDOW_LINES * LINE_BYTES)};
        for (unsigned i = 0; i < probe->repeats; i++)
            probe_print(window_find(chains, cycle_ns()));
        return;
    }
    if (strcmp(probe->kind, "refill") == 0) {
        for (unsigned i = 0; i < probe->repeats; i++)
            probe_print(refill_find(cycle_ns()));
        return;
    }
    for (size_t k = 0; k < sizeof codes / sizeof *codes; k++)
        if (strcmp(codes[k].kind, probe->kind) == 0) {
            codes[k].run();
            for (unsigned i = 0; i < probe->repeats; i++) {
                double before = cycle_ns();
                uint64_t start = probe_now_ns();
                codes[k].run();
                double took = (double)(probe_now_ns() - start), after = cycle_ns();
                probe_print((double)((unsigned)(ROUNDS * CODE_REPEATS) * codes[k].instructions) / took * (before < after ? before : after));
            }
            return;
        }
#endif
    probe_refuse("there is no '%s' for the pipeline of this processor", probe->kind);
}
