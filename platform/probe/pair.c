/* platform/probe/pair.c - what it costs one processor to use what another has just written. */
#include "probe.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { ROUND_TRIPS = 2000, OWNER = 0, USER = 1 };

struct pair {
    const struct probe *probe;
    _Alignas(128) _Atomic unsigned turn;      /* even: the owner's, odd: the user's */
    _Alignas(128) volatile uint64_t *memory;      /* not in the line that the turn is taken by */
    size_t words;
};

static void turn_await(struct pair *pair, unsigned turn)
{
    while (atomic_load_explicit(&pair->turn, memory_order_acquire) != turn)
#if defined __x86_64__
        __builtin_ia32_pause();
#else
        __asm__ volatile("yield");
#endif
}

static void turn_give(struct pair *pair, unsigned turn) { atomic_store_explicit(&pair->turn, turn, memory_order_release); }

static void words_write(struct pair *pair)
{
    for (size_t i = 0; i < pair->words; i++)
        pair->memory[i] = i;
}

static void words_read(struct pair *pair)
{
    for (size_t i = 0; i < pair->words; i++)
        (void)pair->memory[i];
}

/* The owner writes all, the user reads or writes all and is timed; it begins again. */
static void *owner_run(void *raw)
{
    struct pair *pair = raw;
    probe_pin(pair->probe->cpus[OWNER]);
    for (unsigned i = 0; i <= pair->probe->repeats; i++) {
        turn_await(pair, 2 * i);
        words_write(pair);
        turn_give(pair, 2 * i + 1);
    }
    return NULL;
}

/* What reading the clock twice takes by itself. */
static uint64_t clock_cost_ns(void)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 1000; i++) {
        uint64_t start = probe_now_ns(), cost = probe_now_ns() - start;
        least = cost < least ? cost : least;
    }
    return least;
}

static void user_run(struct pair *pair, int reads)
{
    uint64_t clock_ns = clock_cost_ns();
    for (unsigned i = 0; i <= pair->probe->repeats; i++) {
        turn_await(pair, 2 * i + 1);
        uint64_t start = probe_now_ns();
        if (reads)
            words_read(pair);
        else
            words_write(pair);
        uint64_t end = probe_now_ns();
        turn_give(pair, 2 * i + 2);
        if (i)
            probe_print((double)(end - start > clock_ns ? end - start - clock_ns : 1));
    }
}

static void *echo_run(void *raw)
{
    struct pair *pair = raw;
    probe_pin(pair->probe->cpus[OWNER]);
    for (unsigned i = 0; i < (pair->probe->repeats + 1) * ROUND_TRIPS; i++) {
        turn_await(pair, 2 * i);
        turn_give(pair, 2 * i + 1);
    }
    return NULL;
}

static void line_run(struct pair *pair)
{
    unsigned trip = 0;
    for (unsigned i = 0; i <= pair->probe->repeats; i++) {
        uint64_t start = probe_now_ns();
        for (unsigned end = trip + ROUND_TRIPS; trip < end; trip++) {
            turn_await(pair, 2 * trip + 1);
            turn_give(pair, 2 * trip + 2);
        }
        if (i)
            probe_print((double)(probe_now_ns() - start) / (2.0 * (double)(size_t)ROUND_TRIPS));
    }
}

void probe_pair(const struct probe *probe)
{
    int line = strcmp(probe->kind, "line") == 0, reads = strcmp(probe->kind, "read") == 0;
    if (!line && !reads && strcmp(probe->kind, "write") != 0)
        probe_refuse("'%s' is not a kind of pair", probe->kind);
    if (probe->cpu_count != 2 || probe->cpus[OWNER] == probe->cpus[USER])
        probe_refuse("a pair is of two processors");
    static struct pair pair;
    pair.probe = probe;
    pair.words = probe->bytes / sizeof(uint64_t) ? probe->bytes / sizeof(uint64_t) : 1;
    pair.memory = probe_memory(pair.words * sizeof(uint64_t));
    pthread_t owner;
    probe_pin(probe->cpus[USER]);
    words_write(&pair);
    if (pthread_create(&owner, NULL, line ? echo_run : owner_run, &pair) != 0)
        probe_refuse("a thread cannot be started");
    if (line)
        line_run(&pair);
    else
        user_run(&pair, reads);
    pthread_join(owner, NULL);
}
