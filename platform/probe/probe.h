/* platform/probe/probe.h - what a probe is: one small experiment on this machine, run in a process of its own.
 *
 * `pcere-probe TASK KEY=VALUE...` pins itself, repeats the experiment and prints one number a line, in the unit that the task's comment
 * gives. It is built by the compiler, and runs on the OpenMP runtime, that codelets use. Exit status 3: this machine cannot do it (a
 * vector width, a processor that it may not use), with a sentence on stderr.
 */
#ifndef PCERE_PLATFORM_PROBE_H
#define PCERE_PLATFORM_PROBE_H

#include <stddef.h>
#include <stdint.h>

enum { PROBE_CPUS_MOST = 1024 };

struct probe {
    const char *kind;                    /* "read", "fma", "barrier": which of the task's experiments */
    unsigned cpus[PROBE_CPUS_MOST];      /* where the threads run, one processor each */
    size_t cpu_count;
    size_t bytes;                        /* of the memory that one thread uses */
    unsigned bits;                       /* of a vector */
    unsigned repeats;                    /* numbers to print */
    unsigned load_ms;                    /* how long before that */
};

/* Print one result. */
void probe_print(double value);
/* End the process: status 3, "pcere-probe: SENTENCE". */
_Noreturn void probe_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Nanoseconds of a clock that all processors share. */
uint64_t probe_now_ns(void);
/* Put the calling thread on one processor, for good; refuses where that is not permitted. With pinned=0 it does nothing. */
void probe_pin(unsigned cpu);
/* Memory that nobody has touched, aligned to pages; refuses where there is none. */
void *probe_memory(size_t bytes);
/* Keep the optimiser from seeing through a value. */
static inline void probe_keep(const void *pointer) { __asm__ volatile("" : : "r"(pointer) : "memory"); }

/* others.c. A thread on each of `cpus` but the first: it makes its state by begin(probe), and gives it to step, which returns the next, again and again until the end.
 * Returns when all have begun. */
struct others *probe_others_start(const struct probe *probe, void *(*begin)(const struct probe *probe), void *(*step)(void *state));
void probe_others_end(struct others *others);

/* memory.c. latency: ns per access of a chain of dependent loads through all lines of `bytes`, in random order, on cpus[0], while the others of `cpus` follow chains of their own. */
void probe_latency(const struct probe *probe);
/* bandwidth: bytes per second that the threads of `cpus` load and store together, each in `bytes` of its own. Kinds: read, write, copy, triad.
 * Bytes are those that the program names; what the cache loads to be written into is not counted. */
void probe_bandwidth(const struct probe *probe);

/* One cycle of pointers through all lines of so many bytes, in random order; each line begins with the address of the next. */
void *probe_chain(size_t bytes);
/* overlap: of the time that the shorter of two things takes, the share that vanishes when both are done at once on cpus[0]: a chain of additions out of the
 * nearest cache, and lines that come from `bytes` of memory. Kinds: read; write, where each line is also copied. streams: not that,
 * but what share of the bandwidth of one to four places that are read in turn is left when there are sixteen. restart: ns of a line where runs of 64 lines are read
 * with as many left out in between, and 20 instructions work on each. */
void probe_overlap(const struct probe *probe);
/* capacity: of a cache of `bytes`, as many as one thread can read again and again until a quarter of them come from farther away. */
void probe_capacity(const struct probe *probe);

/* translation.c. translation: a line of each of ever more pages is read in turn, within `bytes`. Kinds: reach, the pages at which a read takes halfway between the least and what
 * it takes from most pages; miss, ns between the two. */
void probe_translation(const struct probe *probe);

/* pipeline.c. pipeline: instructions that cpus[0] begins in a cycle, independent ones from the nearest cache. Kinds: plain (registers only), load, store (of general
 * registers), load-vector, store-vector (16 bytes), stream (two vector loads to a store), update (of eight words in memory, in turn), pair-chain (a multiplication,
 * an addition, and so on, each of which waits for the one before). window: instructions
 * that it works ahead of a load that misses. */
void probe_pipeline(const struct probe *probe);

/* pair.c. pair: ns that cpus[1] takes to read (write) `bytes` which cpus[0] has just written. Kinds: read, write; line: ns of half a
 * round trip of one cache line between the two. */
void probe_pair(const struct probe *probe);

/* arithmetic.c. arithmetic: floating-point operations per second on cpus[0], out of registers. Kinds: add, fma (counted as two), divide, of which there are
 * enough side by side; `bits` 64 (scalar), 128, 256 or 512 of doubles. add-chain, fma-chain (64 only): each waits for the one before. */
void probe_arithmetic(const struct probe *probe);
void probe_function(const struct probe *probe);
/* clock: cycles per second of cpus[0] while all of `cpus` are busy, by a chain of dependent additions. */
void probe_clock(const struct probe *probe);
/* sustain: the same once all of `cpus` have worked without a break for load_ms, with units that draw power (multiplications and additions side by side). */
void probe_sustain(const struct probe *probe);

/* overheads.c. overhead: ns that one OpenMP construct adds to the work in it, with a thread on each of `cpus` (the caller sets OMP_PLACES).
 * Kinds are the names of probe_overhead_kinds, in the manner of the EPCC microbenchmarks (Bull, 1999): the time of a loop over the construct
 * with a short delay in it, less the time of the delays alone. */
void probe_overhead(const struct probe *probe);

#endif
