/* replay-rt/target/sample_clock.c - a thread's time less what it did not run, without asking the kernel unless it was interrupted.
 *
 * A thread may point rseq_cs of its rseq area at a critical section. When the kernel preempts or moves the thread outside that section, it clears the
 * pointer (rseq(2)). Ours is a section that is never entered, so a cleared pointer says: the thread was interrupted.
 */
#include "replay-rt/target/sample.h"

#include <time.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define HAS_RSEQ 1
#else
#define HAS_RSEQ 0
#endif

#if HAS_RSEQ && defined(RSEQ_SIG) && defined(__x86_64__)
_Static_assert(RSEQ_SIG == 0x53053053, "the signature in front of an abort handler");

/* One instruction that nobody executes, and its abort handler behind the signature. */
__asm__(".pushsection .text\n"
        ".hidden pcere_sample_section\n"
        ".globl pcere_sample_section\n"
        "pcere_sample_section:\n"
        "    ud2\n"
        "    ud2\n"
        "    .long 0x53053053\n"
        ".hidden pcere_sample_abort\n"
        ".globl pcere_sample_abort\n"
        "pcere_sample_abort:\n"
        "    ud2\n"
        ".popsection\n");
extern const char pcere_sample_section[] __attribute__((visibility("hidden")));
extern const char pcere_sample_abort[] __attribute__((visibility("hidden")));

struct section { uint32_t version, flags; const char *start; uint64_t length; const char *abort; } __attribute__((aligned(32)));

static const struct section section = {.start = pcere_sample_section, .length = 1, .abort = pcere_sample_abort};

static volatile uint64_t *watch_find(void)
{
    if (__rseq_size == 0)
        return NULL;
    const char *area = (const char *)__builtin_thread_pointer() + __rseq_offset;
    return (volatile uint64_t *)(uintptr_t)(area + 8);       /* rseq_cs */
}

static void watch_set(struct sample_clock *clock)
{
    *clock->watch = (uint64_t)&section;
}
#else
static volatile uint64_t *watch_find(void) { return NULL; }
static void watch_set(struct sample_clock *clock) { (void)clock; }
#endif

void pcere_sample_clock_begin(struct sample_clock *clock)
{
    *clock = (struct sample_clock){.watch = watch_find()};
    clock->anchor_cpu_ns = pcere_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    clock->anchor_ns = pcere_clock_ns(CLOCK_MONOTONIC);
    if (clock->watch)
        watch_set(clock);
}

void pcere_sample_clock_end(struct sample_clock *clock)
{
    if (clock->watch)
        *clock->watch = 0;
    clock->watch = NULL;
}

uint64_t pcere_sample_clock_ns(struct sample_clock *clock)
{
    uint64_t now_ns = pcere_clock_ns(CLOCK_MONOTONIC);
    if (clock->watch && !*clock->watch) {
        watch_set(clock);
        uint64_t cpu_ns = pcere_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        now_ns = pcere_clock_ns(CLOCK_MONOTONIC);
        uint64_t wall_ns = now_ns - clock->anchor_ns, ran_ns = cpu_ns - clock->anchor_cpu_ns;
        clock->stolen_ns += wall_ns > ran_ns ? wall_ns - ran_ns : 0;
        clock->anchor_ns = now_ns;
        clock->anchor_cpu_ns = cpu_ns;
    }
    return now_ns - clock->stolen_ns;
}
