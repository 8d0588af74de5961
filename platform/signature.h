/* platform/signature.h - the performance signature of a machine: what it is, and what memory, arithmetic and OpenMP cost on it.
 *
 * One form for machines that were measured (`pcere platform discover`) and for published ones (platform/archs/NAME.json). docs/format/platform.md is
 * normative. A signature that breaks physics (a latency below zero, a nearer level slower than a farther one) is refused, naming the field.
 */
#ifndef PCERE_PLATFORM_SIGNATURE_H
#define PCERE_PLATFORM_SIGNATURE_H

#include "core/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A value with its interval: 95 % of a measurement, or the range that sources give. Unknown bounds are NAN; an unknown quantity is NAN throughout. */
struct quantity { double value, low, high; };
extern const struct quantity quantity_unknown;
bool quantity_known(const struct quantity *quantity);
/* The farther end of a 95 % interval as a standard deviation, over the value; 0 without an interval. */
double quantity_doubt(const struct quantity *quantity);

#define PLATFORM_RESTART_INSTRUCTIONS 20.0
#define PLATFORM_RESTART_LINES 64.0

enum platform_basis { PLATFORM_MEASURED, PLATFORM_PUBLISHED };

/* What `threads` threads, on a core each as far as there are cores, get out of a level together. */
struct platform_bandwidth {
    unsigned threads;
    struct quantity read, write, triad;      /* bytes/s; what the program names, without the lines that are loaded to be written into */
    struct quantity latency_ns;              /* of one thread's dependent loads while the others do the same; unknown: not measured */
};

struct platform_level {                      /* a cache, or memory */
    unsigned level;                          /* 1 is nearest; 0 is memory, which comes last */
    uint64_t bytes;                          /* one such cache; memory: all of it */
    unsigned line_bytes, ways;               /* 0: unknown */
    unsigned shared_by;                      /* hardware threads that share one; memory: all */
    struct quantity latency_ns;              /* of a dependent load that finds its line there */
    struct quantity effective_bytes;         /* that one thread reads again and again until a quarter of the lines come from farther away; unknown: not measured */
    struct quantity streams_ratio;           /* bandwidth of one core that reads sixteen streams in turn, over that of up to four */
    struct quantity restart_ns;              /* of a line, in runs of PLATFORM_RESTART_LINES that each begin with a jump, with PLATFORM_RESTART_INSTRUCTIONS instructions between lines; unknown: not measured */
    struct quantity overlap_read, overlap_write;     /* share of the shorter time that vanishes when a core works on lines while they come (0 to 1) */
    struct platform_bandwidth *bandwidths;   /* by threads, ascending; the data of all threads together lie in their caches of this level */
    size_t bandwidth_count;
};

/* Hockney's model, t = alpha + beta * bytes (Hockney 1994; the signature paper's Eq. 2), with how well it fits. */
struct platform_piece { uint64_t from_bytes, to_bytes; double alpha_ns, beta_ns_per_byte; };
struct platform_transfer {
    double alpha_ns, beta_ns_per_byte;       /* one line for all sizes */
    double r2, worst_residual_ratio;         /* of that line: share of explained variance, largest |t - fit| / t */
    struct platform_piece *pieces;           /* a line for each range of sizes, where one does not do */
    size_t piece_count;
    struct platform_point { uint64_t bytes; struct quantity time_ns; } *points;    /* what was measured; none for published ones */
    size_t point_count;
};

struct platform_pair {                       /* what one thread pays for data that another, on another processor, has just written */
    char *relation;                          /* what they share: "core", "l2", "l3", "numa", "package", "machine" */
    unsigned cpus[2];                        /* the pair that was measured, as the system numbers them */
    struct platform_transfer read, write;
    struct quantity line_ns;                 /* one way of one line */
};

struct platform_arithmetic {
    char *kind;                              /* "add", "fma" (counts as two), "divide"; "add-chain", "fma-chain": each waits for the one before; "log" and other functions: calls */
    unsigned bits;                           /* of a vector of doubles; 64: scalar */
    struct quantity flops_per_s;             /* of one core */
};

/* Of one core: instructions that it begins in a cycle, of probe_pipeline's kinds; "window": instructions that it works ahead of one that
 * waits; "refill": cycles that a mispredicted branch costs from when that is known. */
struct platform_pipeline { char *kind; struct quantity value; };
struct platform_overhead { char *construct; unsigned threads; struct quantity time_ns; };    /* of probe_overhead's kinds */
/* What a core pays for addresses: it reads from `reach_pages` pages in turn until half of the reads must look a page up in memory, each of which takes `miss_ns` where many do. */
struct platform_translation { struct quantity reach_pages, miss_ns; };      /* unknown: not measured */
struct platform_clock {                      /* of one core while that many are busy */
    unsigned threads;
    struct quantity hz;                      /* for some milliseconds */
    struct quantity sustained_hz;            /* after `load_s` without a break; unknown: not measured */
    double load_s;
};

struct platform_signature {
    char *name;                              /* what --arch takes */
    char *title;                             /* "Intel Xeon E5-2690, two sockets" */
    enum platform_basis basis;
    char *isa;                               /* "x86-64", "aarch64" */
    char *llvm_cpu;                          /* what LLVM calls the processor (-mcpu), or NULL */
    double frequency_hz;                     /* nominal; 0: unknown */
    unsigned sockets, cores_per_socket, threads_per_core, numa_nodes;
    unsigned vector_bits;                    /* widest vector of doubles */
    bool fma;
    uint64_t page_bytes;
    bool pinned;                             /* threads could be pinned while it was measured; published: true */
    struct platform_level *levels;           /* nearest first, memory last: at least memory is there */
    size_t level_count;
    struct platform_pair *pairs;
    size_t pair_count;
    struct platform_arithmetic *arithmetic;
    size_t arithmetic_count;
    struct platform_pipeline *pipeline;      /* empty: not measured */
    size_t pipeline_count;
    struct platform_translation translation;
    struct platform_overhead *overheads;
    size_t overhead_count;
    struct platform_clock *clocks;
    size_t clock_count;
    char **sources;                          /* of published figures: what says so; of measured ones: date and how */
    size_t source_count;
};

/* Frees what it holds and zeroes it. Accepts a zeroed one. */
void signature_done(struct platform_signature *signature);

/* Hardware threads of the whole machine, and the cores. */
unsigned signature_threads(const struct platform_signature *signature);
unsigned signature_cores(const struct platform_signature *signature);

/* By how much longer what waits for the processor alone takes once `threads` cores have worked for long than at first (1.1): of the nearest numbers of threads that were measured, in proportion
 * between two of them; 1 where that is within CLOCK_NOISE_RATIO, or not known. *ret_load_s (may be NULL): how long that was. */
#define CLOCK_NOISE_RATIO 0.02
double signature_clock_falls(const struct platform_signature *signature, unsigned threads, double *ret_load_s);

/* The bandwidths of a level at `threads` threads: those of the nearest count at or below, scaled to no more than in proportion; NULL: none known. */
const struct platform_bandwidth *level_bandwidth(const struct platform_level *level, unsigned threads);

/* PCERE_DATA names the field that cannot be: "levels[1].latency_ns is below that of a nearer level". (platform/signature_check.c) */
enum pcere_status signature_check(const struct platform_signature *signature, const char *where, struct pcere_error *error);

/* Parse, and check. `where` is for messages. PCERE_DATA: no JSON, of another schema, a field that is missing or wrong. */
enum pcere_status signature_read(const char *text, size_t bytes, const char *where, struct platform_signature *ret_signature,
                                 struct pcere_error *error);


/* The same as one JSON object; new reference. */
enum pcere_status signature_write(const struct platform_signature *signature, json_t **ret_object, struct pcere_error *error);

#endif
