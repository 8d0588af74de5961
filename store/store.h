/* store/store.h - program.pcere/ on disk: the only code that knows its files. Formats are normative in docs/format/.
 *
 *   PROGRAM.pcere/
 *     manifest.json        what was run and measured: struct store_manifest
 *     program              copy of the executable (its embedded bitcode, symbols and relocations travel with it)
 *     libraries/NAME       copies of the shared libraries that it used, but for those of the C, C++ and OpenMP runtimes
 *     pages                content-addressed pages, lz4 blocks, append-only while capturing
 *     codelets/NAME.codelet  one captured invocation each: struct store_codelet
 *     invocations.json     what the timing run saw of each region's invocations: struct store_series
 *     samples.jsonl        every replay and run ever measured, one JSON object a line
 *     build/               rebuilt codelets: a cache that may be deleted at any time
 *
 * All files are created with mode 0600, directories with 0700: they hold a process's memory. A codelet file is written under a
 * temporary name and renamed after its pages are on disk, so that it is there whole or not at all; a process killed at any instant
 * leaves a store that opens and holds every codelet finished before. Everything read is hostile: any damage gives PCERE_DATA and
 * one sentence, never a crash.
 */
#ifndef PCERE_STORE_H
#define PCERE_STORE_H

#include "core/error.h"
#include "include/pcere/rt_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STORE_SCHEMA_VERSION 1

/* ---- manifest ------------------------------------------------------------------------------------------------------------ */

struct store_class {             /* invocations of one region that perform alike */
    uint64_t representative;     /* invocation number, counted from 1 in the region */
    uint64_t members;            /* invocations that it stands for, itself included */
    uint64_t time_ns;            /* in-vivo wall time of all members together */
    uint64_t time_ns_median;     /* in-vivo median of the members */
    uint64_t representative_ns;  /* in-vivo time of the representative itself */
    uint64_t between_members, between_ns;   /* of these, members of which none was captured, that lie between captured ones: the nearer of these, scaled, stands for them */
    bool nested;                 /* its members ran inside other regions: their time is part of the times of these */
    bool captured;               /* false: it weighs too little, or `reason` says why not */
    bool by_chance;              /* not stored: the machine stretched its members, or so it seems, and they are not captured for that */
    uint32_t team;               /* store_codelet_team of the codelet: 0 if it runs with as many threads as are asked for, or is not there */
    uint64_t memory_bytes;       /* present memory of the codelet */
    uint64_t made_pages;         /* that the representative touched for the first time; 0: none, or nobody counted them */
    uint64_t stored_bytes;       /* what the codelet added to the store, after compression */
    char *codelet;               /* file name in codelets/ without suffix, or NULL */
    char *reason;                /* why not captured, or NULL */
    uint64_t read_bytes, written_bytes;     /* by the representative, with read(2), write(2) and their like */
    char *io;                    /* "reads mesh.dat; writes standard output", or NULL if it was not seen to do either */
};

struct store_region {
    char *name;                  /* "conj_grad@cg.c:405" */
    char *function, *file;
    uint32_t line;
    uint64_t invocations;
    uint64_t time_ns;            /* in-vivo wall time of those inside no other region, together */
    uint64_t nested;             /* how many of the invocations were inside other regions */
    uint64_t nested_ns;          /* in-vivo wall time of these together: part of the times of the regions around them */
    char *parent;                /* the region that most of these were in, or NULL */
    uint64_t probed_ns;          /* by how much probes of regions inside it stretched time_ns and nested_ns: at least */
    char *status;                /* "captured", "skipped" or "invalid" */
    char *reason;                /* NULL if captured */
    char *thread_sized;          /* what keeps its codelets from running with more threads than they were captured with, or NULL; see PCERE_THREADS_EXACT */
    struct store_class *classes;
    size_t class_count;
};

/* What a capture sets for a program whose user says nothing of places; stands in manifest.environment. */
#define STORE_OWN_BIND "OMP_PROC_BIND=true"
#define STORE_OWN_PLACES "OMP_PLACES=cores"

#define STORE_SHORT_NS 2000u
#define STORE_STRETCHED_RATIO 0.05      /* above which a region's times are said to be too long */

/* Of what they would be without: of a region that is nothing but probes, by samples, ten times as long. */
static inline double store_stretched_ratio(uint64_t probed_ns, uint64_t time_ns)
{
    uint64_t rest_ns = time_ns > probed_ns ? time_ns - probed_ns : 0;
    return probed_ns ? (double)probed_ns / (double)(rest_ns > probed_ns / 10 ? rest_ns : probed_ns / 10 + 1) : 0;
}

/* Do at least nine of ten of its invocations take less than STORE_SHORT_NS, about as long as looking at them? A mean would not tell: one that the machine held up weighs as much as
 * a hundred thousand others. Where it has no classes, their mean. */
static inline bool store_region_is_short(const struct store_region *region)
{
    uint64_t members = 0, short_ones = 0;
    for (size_t i = 0; i < region->class_count; i++) {
        members += region->classes[i].members;
        short_ones += region->classes[i].time_ns_median < STORE_SHORT_NS ? region->classes[i].members : 0;
    }
    return members ? short_ones >= members - members / 10 : region->invocations && (region->time_ns + region->nested_ns) / region->invocations < STORE_SHORT_NS;
}

/* Can no capture have it? Reasons that lie in the region say what it does ("it reads from a pipe", "its code lies in"); others tell of a run that missed it. */
static inline bool store_region_is_beyond_capture(const struct store_region *region)
{
    return region->status && !strcmp(region->status, "invalid") && region->reason && (!strncmp(region->reason, "it ", 3) || !strncmp(region->reason, "its ", 4));
}

/* What its thread_sized says behind BEGINNING, or NULL: it does not begin so. */
static inline const char *store_region_limit(const struct store_region *region, const char *beginning)
{
    size_t length = strlen(beginning);
    return region->thread_sized && strncmp(region->thread_sized, beginning, length) == 0 ? region->thread_sized + length : NULL;
}

/* Whether it holds for no fewer threads than the capture's, as for no more. */
static inline bool store_region_is_exact(const struct store_region *region)
{
    return store_region_limit(region, PCERE_THREADS_EXACT) || store_region_limit(region, PCERE_THREADS_DIVISION) || store_region_limit(region, PCERE_THREADS_TEAM);
}

/* From how many threads on it goes another way than with fewer, or 0. */
static inline uint32_t store_region_turns(const struct store_region *region)
{
    const char *from = store_region_limit(region, PCERE_THREADS_WAY);
    return from ? (uint32_t)strtoul(from, NULL, 10) : 0;
}

/* As many threads have room in its memory as the capture had processors; 0: it is not known to be for these. */
static inline uint32_t store_region_room(const struct store_region *region)
{
    const char *parts = store_region_limit(region, PCERE_THREADS_ROOM_FOR);
    return parts ? (uint32_t)strtoul(parts, NULL, 10) : 0;
}

/* How many pieces of work it shares out for each thread of the capture, or 0. */
static inline uint32_t store_region_pieces(const struct store_region *region)
{
    const char *pieces = store_region_limit(region, PCERE_THREADS_PIECES);
    return pieces ? (uint32_t)strtoul(pieces, NULL, 10) : 0;
}

/* Whether it can run with so many threads where the capture had so many. */
bool store_region_takes(const struct store_region *region, uint32_t capture_threads, uint32_t threads);

/* The team that all its codelets have whatever is asked, if it is another one than the capture's number of threads; else 0. */
static inline uint32_t store_region_team(const struct store_region *region, uint32_t capture_threads)
{
    uint32_t team = 0;
    for (size_t i = 0; i < region->class_count; i++) {
        const struct store_class *one = &region->classes[i];
        if (one->captured && (!one->team || (team && one->team != team)))
            return 0;
        team = one->captured ? one->team : team;
    }
    return team == capture_threads ? 0 : team;
}

enum { STORE_HOLDS_BYTES = 120 };

/* "at most 2 threads", "1, 2 or 4 threads": how many it holds for where the capture had so many and it is thread_sized. Returns TEXT. */
const char *store_region_holds(char text[STORE_HOLDS_BYTES], const struct store_region *region, uint32_t capture_threads);

/* Whether all its codelets may be asked for so many threads: for any number where the program itself says how many they run with. */
bool store_region_may_have(const struct store_region *region, uint32_t capture_threads, uint32_t threads);

struct store_image {             /* a shared library of the user that was captured like the program */
    char *library;               /* its name in libraries/, or NULL: it could not be copied */
    uint64_t bias;               /* load address minus link-time address */
    bool global;                 /* the program needs it, itself or through others; false: it was loaded later */
};

/* What was found out of a region after the capture. */
struct store_limit { char *region, *reason; };

/* From how many threads on the program enters the region, or 0: that is not what the reason tells. */
static inline uint32_t store_limit_enters(const struct store_limit *limit)
{
    size_t length = sizeof PCERE_THREADS_ENTERED - 1;
    return strncmp(limit->reason, PCERE_THREADS_ENTERED, length) == 0 ? (uint32_t)strtoul(limit->reason + length, NULL, 10) : 0;
}

struct store_manifest {
    bool complete;               /* false until the capture ended: codelets that are there are valid all the same */
    bool looked_together;        /* what the files of each image tell about thread_sized together is in there */
    char *program;               /* path as given */
    char *program_file;          /* absolute path at capture */
    char **arguments;            /* NULL-terminated, without the program itself */
    char **environment;          /* NULL-terminated NAME=VALUE of what libraries read while they are loaded: docs/format/store.md */
    char *working_directory;
    char *compiler;              /* from the bitcode's unit headers: "clang 19" */
    char *build_id;              /* hex, or NULL */
    char *host;                  /* a JSON object as text: core/host.h writes it */
    uint64_t page_size;          /* bytes */
    uint32_t threads;            /* OMP_NUM_THREADS of the capture */
    uint64_t wall_ns, serial_ns; /* whole program, less stops and what they slowed down; what lies outside regions */
    uint64_t capture_wall_ns;    /* the run that was stopped, stops included, or 0 */
    int32_t program_status;      /* as waitpid gave it */
    bool foreign_allocator;      /* the program's malloc was not the C library's: no sizes in front of its blocks */
    uint64_t image_bias;         /* load address minus link-time address of the executable */
    struct store_image *images;  /* in the order of loading; image 0 of codelets is the executable, these are the next */
    size_t image_count;
    struct store_region *regions;
    size_t region_count;
    struct store_limit *not_entered;   /* regions that the program enters only with more threads than the capture's, as far as is known */
    size_t not_entered_count;
};

/* Of all its regions. */
static inline uint64_t store_manifest_invocations(const struct store_manifest *manifest)
{
    uint64_t count = 0;
    for (size_t i = 0; i < manifest->region_count; i++)
        count += manifest->regions[i].invocations;
    return count;
}

void store_manifest_done(struct store_manifest *manifest);   /* frees what it holds (all by malloc); accepts half-built */

/* ---- codelet ------------------------------------------------------------------------------------------------------------- */

enum store_role { STORE_ROLE_IMAGE = 1, STORE_ROLE_HEAP, STORE_ROLE_ANONYMOUS, STORE_ROLE_STACK, STORE_ROLE_LIBRARY };

struct store_mapping {           /* one range of the captured address space; ascending, not overlapping */
    uint64_t start, end;         /* bytes, multiples of the page size */
    uint32_t protection;         /* PROT_* at capture */
    uint32_t role;               /* enum store_role */
    char name[64];               /* for people: "[heap]", "cg.A", "" */
};

#define STORE_PAGE_ZERO UINT64_MAX          /* page number of a page that is all zero */

struct store_run {               /* consecutive pages at consecutive addresses with consecutive page numbers (or all zero) */
    uint64_t address;
    uint64_t page;               /* number of the first page in `pages`, or STORE_PAGE_ZERO for all of them */
    uint64_t count;              /* pages */
};                               /* a page of a mapping that no run covers was absent */

struct store_alias {             /* memory that is mapped a second time: what is at `address` is what is at `original` */
    uint64_t address, original, bytes;      /* multiples of the page size */
};

#define STORE_THREAD_SELF (UINT32_MAX - 1)  /* no TLS block but what pthread_self() tells the thread, of no bytes */
#define STORE_THREAD_COPIES UINT32_MAX  /* no TLS block but a struct threadprivate_table (include/pcere/threadprivate.h), of all threads; the last entry, if any */
struct store_thread {            /* thread `number` of the team-to-be: 0 is the one that enters the region */
    uint32_t number;
    uint32_t image;              /* whose TLS: 0 the executable's, k that of images[k - 1] of the manifest; STORE_THREAD_SELF, STORE_THREAD_COPIES */
    uint64_t tls_address;        /* where the image's TLS block of that thread lay; its bytes are in the pages */
    uint64_t tls_bytes;          /* 0 if the image has no TLS or the thread does not exist yet, or has none of it yet */
};

#define STORE_LOCK_GONE UINT32_MAX
enum store_lock_kind { STORE_LOCK_SIMPLE, STORE_LOCK_NESTED, STORE_LOCK_CRITICAL /* of a construct, told by no name: a replay clears it */ };
struct store_lock {              /* a live OpenMP lock */
    uint64_t address;
    uint32_t kind;               /* enum store_lock_kind */
    uint32_t hint;
    uint32_t held, owner;        /* how often it is held at the region's start, and the number of the thread that holds it; 0, 0: free */
    uint32_t held_after, owner_after;   /* and at its end; STORE_LOCK_GONE, 0: unknown, or it is no more */
};

enum store_random_kind { STORE_RANDOM_TABLE = 1 /* rand, random */, STORE_RANDOM_48 /* drand48 and its like */, STORE_RANDOM_VARIABLES /* include/pcere/libc_variables.inc */ };
#define STORE_RANDOM_BYTES 256u
struct store_random {            /* state that the C library keeps: of a generator of random numbers, or its own variables; 536 bytes */
    uint64_t address;            /* where the program has the state itself, by initstate(3); 0: it is the C library's */
    uint32_t kind;               /* enum store_random_kind */
    uint32_t bytes;              /* of the state; at most STORE_RANDOM_BYTES */
    uint32_t known_after;        /* 1: `after` is there */
    uint32_t reserved;
    unsigned char before[STORE_RANDOM_BYTES], after[STORE_RANDOM_BYTES];    /* at the region's start and end, zeros behind */
};

/* The table of externals, at the start of `externals`: what shared libraries had where. It is read from a file: hostile. Entries ascend. */
struct store_externals_header { char magic[8]; uint64_t bytes, count, strings; };   /* whole size; offset of the names */
#define STORE_EXTERNALS_MAGIC "PCEREEX1"
struct store_external { uint64_t address; uint32_t bytes, name; };     /* bytes: 0 for a function, else those of a constant object */

struct store_frame { uint64_t address; char symbol[120]; };              /* call path, innermost first */

struct store_range { uint64_t address, bytes; };

#define STORE_LEVELS_MAX 16u
struct store_level { uint32_t team, number; };  /* a parallel region around: size of its team, number of the entering thread in it */

/* What a process knows besides memory, where the region starts. */
struct store_setting {
    int32_t schedule_kind, schedule_chunk;   /* as omp_get_schedule gives them; kind 0: unknown */
    int32_t max_active_levels;   /* 0: unknown */
    int32_t dynamic;             /* 0 or 1; -1: unknown */
    uint64_t environment;        /* value of `environ`, or 0 */
    uint64_t float_control;      /* how the entering thread computes with floating point: MXCSR, above it the control word of the x87; 0: unknown */
    uint32_t level_count;        /* parallel regions around this one; at most STORE_LEVELS_MAX */
    uint32_t global_thread;      /* the OpenMP runtime's own number of the thread that enters the region */
    struct store_level levels[STORE_LEVELS_MAX];     /* outermost first, zeros behind */
    uint64_t pointer_guard;      /* by which the C library disguises pointers to functions, if captured memory may hold such ones; else 0 */
    uint32_t teams, team;        /* of the league around the region, which is no parallel region, and the number of the one it lies in; 1 (or 0), 0: there is none, or it is of one team */
    int32_t thread_limit;        /* as omp_get_thread_limit gives it: of the construct around (teams, target), or the program's; 0: unknown */
    uint32_t reserved;
};

struct store_signal { uint64_t handler; uint64_t mask; uint32_t number, flags; };    /* handler: an address, or 1 to ignore (SIG_IGN) */

#define STORE_KEY_MADE UINT32_MAX
#define STORE_KEY_RUNTIME (UINT32_MAX - 1)
#define STORE_KEY_HELD (UINT32_MAX - 2)
struct store_key {               /* of pthread_key_create */
    uint32_t key;                /* its number, below STORE_KEYS_MAX */
    uint32_t thread;             /* of the team: what it keeps there is `value`. STORE_KEY_MADE: there is such a key, and `value` is the address of the function that ends
                                    what threads keep, or 0; STORE_KEY_RUNTIME: it is the OpenMP runtime's; STORE_KEY_HELD: as STORE_KEY_MADE, of a library that is not captured, whose
                                    number captured memory holds: it may be of an object of the program's, or of the library's, which does without */
    uint64_t value;
};
#define STORE_KEYS_MAX 1024u

enum store_descriptor_kind { STORE_DESCRIPTOR_FILE = 1, STORE_DESCRIPTOR_DIRECTORY, STORE_DESCRIPTOR_PIPE, STORE_DESCRIPTOR_SOCKET,
                             STORE_DESCRIPTOR_TERMINAL, STORE_DESCRIPTOR_DEVICE, STORE_DESCRIPTOR_OTHER /* epoll, timers, ... */ };
#define STORE_DESCRIPTOR_FOLDER (-100)   /* as AT_FDCWD */
enum {                           /* marks of a descriptor */
    STORE_DESCRIPTOR_READ = 1,   /* the region read from it */
    STORE_DESCRIPTOR_WRITTEN = 2,
    STORE_DESCRIPTOR_DELETED = 4,    /* the file has no name any more */
    STORE_DESCRIPTOR_CONTENT = 8,    /* what the file held is in `contents` */
};

struct store_descriptor {        /* a file that was open at the region's start; 512 bytes */
    int32_t number;              /* STORE_DESCRIPTOR_FOLDER, the first one if it is there: the program's working directory */
    uint32_t kind;               /* enum store_descriptor_kind */
    uint32_t flags;              /* of open(2): O_ACCMODE, O_APPEND, ... */
    uint32_t marks;
    uint64_t offset;             /* file position, bytes */
    uint64_t bytes;              /* size of the file */
    uint64_t changed_ns;         /* its time of last change, since 1970 */
    uint64_t content_first, content_count;   /* runs in `contents` */
    char path[456];              /* "" if it has none, or one that is longer */
};

enum store_stream_kind { STORE_STREAM_FILE, STORE_STREAM_STDIN, STORE_STREAM_STDOUT, STORE_STREAM_STDERR };
#define STORE_STREAM_BYTES 224u

struct store_stream {            /* an open FILE of the GNU C library */
    uint64_t address;            /* in the codelet's pages but for the three standard ones */
    int32_t descriptor;
    uint32_t kind;               /* enum store_stream_kind */
    unsigned char bytes[STORE_STREAM_BYTES];    /* struct _IO_FILE and its table's address, at the region's start */
};

struct store_codelet {
    char *region;
    uint64_t unit_id;            /* of the translation unit whose construct was entered, as in rt_abi.h; 0 if unknown */
    uint64_t invocation;         /* from 1 */
    uint64_t members;            /* of its class when it was captured */
    uint32_t path;               /* enum pcere_path */
    int32_t num_threads, proc_bind;  /* clauses, as in rt_abi.inc */
    uint32_t capture_threads;    /* omp_get_max_threads() where the region starts */
    uint64_t stack_pointer;      /* of the thread that enters the region, just before the fork */
    uint64_t in_vivo_ns;         /* of this invocation, in the timing run */
    uint64_t ended_ns;           /* since 1970, as the kernel stamps files, when the region had ended: files that changed later are not those that it read; 0: unknown */
    uint64_t *words;             /* the fork's arguments */
    size_t word_count;
    struct store_mapping *mappings;  size_t mapping_count;
    struct store_run *before;    size_t before_count;     /* memory at the region's start: ascending, not overlapping */
    struct store_run *after;     size_t after_count;      /* pages whose content differs after the region (absent before: included), and others that are known to have been written */
    struct store_run *made;      size_t made_count;       /* after the region: pages of what it allocated (docs/format/store.md), none of which any mapping has; the first holds the first block's size */
    struct store_alias *aliases; size_t alias_count;      /* ascending by `address`, not overlapping; no run has a page there, and no original lies there */
    bool has_after;              /* false: the end was not seen (exit inside the region), so that it cannot be verified */
    struct store_thread *threads;  size_t thread_count;
    struct store_lock *locks;    size_t lock_count;
    struct store_setting setting;
    struct store_signal *signals;  size_t signal_count;   /* those that the program does not leave at their default */
    struct store_frame *frames;  size_t frame_count;
    struct store_range *ignored; size_t ignored_count;    /* written by the OpenMP runtime or by capture itself: not compared */
    struct store_descriptor *descriptors; size_t descriptor_count;   /* ascending; without standard output and standard error */
    struct store_stream *streams; size_t stream_count;
    struct store_run *contents;  size_t content_count;    /* of files: `address` is an offset; ascending in each file */
    struct store_random *randoms; size_t random_count;
    struct store_run *externals; size_t external_count;   /* the table of externals: `address` is an offset; none: unknown */
    struct store_key *keys;      size_t key_count;
    char *locale;                /* "", or lines: the C library's locale as setlocale(LC_ALL, NULL) gives it; that of the entering thread, if it has one of
                                    its own, else ""; "c++", if std::locale() is not the classic one, else "" */
    bool does_io;                /* the region was seen to read or write, or its end was not seen */
    bool reads_opened;           /* it read from what it opened itself: from nothing else can that have come */
};

void store_codelet_done(struct store_codelet *codelet);

/* The team that it had in the capture. */
static inline uint32_t store_codelet_captured_team(const struct store_codelet *codelet)
{
    return codelet->num_threads ? (uint32_t)llabs(codelet->num_threads) : codelet->capture_threads;
}

/* The team that the program itself asked for by a num_threads clause or omp_set_num_threads, told by its being a number in the source, or another one than the
 * capture's threads: a replay gives it as many whatever is asked. 0: as many as are asked. */
static inline uint32_t store_codelet_team(const struct store_codelet *codelet, uint32_t capture_threads)
{
    uint32_t own = store_codelet_captured_team(codelet);
    if (codelet->num_threads < 0)
        return own;
    return own && capture_threads && own != capture_threads ? own : 0;
}

/* With as many threads as are asked for: how many the teams get that the region's threads begin, where no clause says it. The program itself may have set that, which is told
 * as above. 0: unknown. */
static inline uint32_t store_codelet_inner_team(const struct store_codelet *codelet, uint32_t capture_threads, uint32_t threads)
{
    return codelet->capture_threads == capture_threads ? threads : codelet->capture_threads;
}

/* How the team that the region enters is bound, by its clause, as the OpenMP runtime numbers that. -1: it has no such clause, or enters none, since its if clause was false. */
static inline int32_t store_codelet_binding(const struct store_codelet *codelet)
{
    return codelet->path == PCERE_PATH_SERIALIZED ? -1 : codelet->proc_bind;
}

/* ---- invocations --------------------------------------------------------------------------------------------------------- */

struct store_series {            /* invocations of one region in the timing run, in order; of many, a selection */
    char *region;
    uint64_t invocations;        /* all of them */
    size_t count;                /* those that follow */
    uint64_t *number;            /* from 1 */
    uint64_t *begin_ns;          /* since the run's first invocation of any region */
    uint64_t *time_ns;
    uint64_t *representative;    /* of its class: an invocation number; 0: of no class */
};

void store_series_done(struct store_series *series);
void store_series_free(struct store_series *series, size_t count);

struct store;
/* Replace what the store says of invocations, atomically. */
enum pcere_status store_invocations_write(const struct store *store, const struct store_series *series, size_t count, struct pcere_error *error);
/* All series; none (and PCERE_OK) if the store has no such file. PCERE_DATA: it is damaged. */
enum pcere_status store_invocations_load(const struct store *store, struct store_series **ret_series, size_t *ret_count,
                                         struct pcere_error *error);

/* What was found out of regions after the capture: fill in `thread_sized` of those that have none, or only one that fewer threads keep to, on disk (atomically) and in store_manifest(store), which has it
 * even where it cannot be written. Regions that the store does not have are left out, but for those that more threads than the capture's enter: `not_entered`. `all`: nothing is left to be found out;
 * looked_together is set. */
enum pcere_status store_limits_write(struct store *store, const struct store_limit *limits, size_t count, bool all, struct pcere_error *error);
void store_limits_free(struct store_limit *limits, size_t count);

/* ---- writing ------------------------------------------------------------------------------------------------------------- */

struct store_writer;

/* Create `path` as a new store. An existing one: PCERE_USAGE unless `force`. With `force` the old store stays in place until
 * the new one's manifest says that it is complete (or the writer is closed); then they are exchanged in one step. What is no
 * PCERE store, and what another writer is writing, is refused with PCERE_USAGE in any case. `workers` threads compress (at
 * least 1); they and the one that writes yield to all others (workers_yield), and who waits for them helps. Page sizes: powers of two from 512 to 65536. */
enum pcere_status store_writer_open(const char *path, bool force, uint64_t page_size, unsigned workers,
                                    struct store_writer **ret_writer, struct pcere_error *error);
/* Reserve and touch buffers for `bytes` of pages that may be waiting for compression, so that a stop does not pay for it. By one thread at a time;
 * others may add pages meanwhile: where more room is wanted than there is, it comes once all that was added is written. `stop`: NULL, or
 * becomes true when it is not wanted any more; then this soon returns, with the room that was there, touched in part. */
enum pcere_status store_writer_reserve(struct store_writer *writer, uint64_t bytes, const _Atomic(bool) *stop, struct pcere_error *error);

/* Copy the executable in; its checksum goes into the manifest. PCERE_USAGE: `file` is no regular file. */
enum pcere_status store_writer_program(struct store_writer *writer, const char *file, struct pcere_error *error);

/* Copy in a shared library that the program uses. `name` is what programs call it (its soname); it can stand as a file name. If the
 * store has that file, nothing is done; if it has another one of that name, a number is added to it. *ret_name (malloc; may be NULL) is its
 * name in the store. It is in the next manifest. PCERE_USAGE: `file` is no regular file, or the name is none. */
enum pcere_status store_writer_library(struct store_writer *writer, const char *name, const char *file, char **ret_name,
                                       struct pcere_error *error);

/* Add `count` pages that lie one after the other at `data`. Known pages cost no space. ret_pages[i] is the number of page i or
 * STORE_PAGE_ZERO. The data is copied (or already compressed) when this returns; compression goes on in the background and the
 * call waits only if more than the reserved bytes are waiting. Thread-safe. A failure of the background work (full disk) is
 * reported by the next call, and by all further ones: no page and no codelet can be added any more; the manifest still can. */
enum pcere_status store_writer_pages(struct store_writer *writer, const void *data, size_t count, uint64_t *ret_pages,
                                     struct pcere_error *error);

/* Start what was added so far on its way to the disk, and do not wait: it will have to be there when the store is complete. */
void store_writer_flush(struct store_writer *writer);

/* While paused, compression rests as long as there is room for what comes: a stop has the processors for itself. */
void store_writer_pause(struct store_writer *writer, bool pause);

/* Wait until every page is written, then write the codelet whole. *ret_name (malloc) is its name; *ret_stored_bytes is what
 * those of its pages take there that no codelet before has. PCERE_USAGE: the codelet breaks a rule of docs/format/store.md, which the message
 * says; nothing is written. */
enum pcere_status store_writer_codelet(struct store_writer *writer, const struct store_codelet *codelet, char **ret_name,
                                       uint64_t *ret_stored_bytes, struct pcere_error *error);
/* As above but in the background: returns at once, in order; `done` (may be NULL) is called with the result, on another thread or by a later call of this one that waits:
 * `error` is NULL, or `name` is. It must not call the writer. `codelet` is moved, and zeroed, even on failure (then `done` is
 * not called). Without `done`, a failure is reported by store_writer_manifest. */
typedef void store_codelet_done_fn(void *context, const char *name, uint64_t stored_bytes, const struct pcere_error *error);
enum pcere_status store_writer_codelet_async(struct store_writer *writer, struct store_codelet *codelet /* moved */,
                                             store_codelet_done_fn *done, void *context, struct pcere_error *error);
/* Wait, and help, until all of those are done; what pages wait for compression are compressed by as many threads as there are processors. */
void store_writer_settle(struct store_writer *writer);

/* Write (replace atomically) manifest.json; page_size is the writer's. Waits for all codelets under way. `complete` syncs all
 * files to the disk first, and puts the new store in place of an old one. A failure of background work that no call has
 * reported yet is reported here: the manifest is written all the same, but not as complete. May be called again and again: a
 * store whose capture is killed has the last one written. */
enum pcere_status store_writer_manifest(struct store_writer *writer, const struct store_manifest *manifest,
                                        struct pcere_error *error);
/* Free, after the codelets under way; what was written stays. A store to which neither manifest, codelet nor program was
 * written goes away (with `force`, the old one stays). Accepts NULL. */
void store_writer_close(struct store_writer *writer);

/* ---- reading ------------------------------------------------------------------------------------------------------------- */

struct store;

/* The store `path`; NULL: the only *.pcere in the current directory, else PCERE_USAGE with a list (none: PCERE_DATA). Checks
 * the manifest and the index of the pages, not yet their content. */
enum pcere_status store_open(const char *path, struct store **ret_store, struct pcere_error *error);
void store_close(struct store *store);
const char *store_path(const struct store *store);
uint64_t store_identity(const struct store *store);    /* the store_id of its files: what was made from one store does not fit another */
/* Borrowed. Strings are never NULL but where struct store_manifest says so; program and others are "" if the capture was killed
 * early. */
const struct store_manifest *store_manifest(const struct store *store);
/* Path of a file of the store: "program" or "libraries/NAME" (the checksum is checked each time), "build" (created on demand);
 * free() it. */
enum pcere_status store_file(const struct store *store, const char *name, char **ret_path, struct pcere_error *error);

struct store_library {
    char *name;                  /* what programs call it, and its name in libraries/ */
    char *file;                  /* where it lay when the program was captured */
};
/* Shared libraries that are in the store. Borrowed. */
size_t store_library_count(const struct store *store);
const struct store_library *store_library(const struct store *store, size_t index);

/* Load and check the codelet of that name (store_class.codelet). store_codelet_done it. */
enum pcere_status store_codelet_load(struct store *store, const char *name, struct store_codelet *ret_codelet,
                                     struct pcere_error *error);
/* Decompress `count` pages with consecutive numbers from `first` into `out` (count * page_size bytes). Each block's checksum is
 * checked. Thread-safe. Fast for long runs (blocks are decoded by several threads) and for short ones in ascending order
 * (decoded blocks are kept for a while). */
enum pcere_status store_pages_read(struct store *store, uint64_t first, uint64_t count, void *out, struct pcere_error *error);

/* Read every file and every block of the store; the first damage found is the error. */
enum pcere_status store_check(struct store *store, struct pcere_error *error);

/* ---- packing and removing -------------------------------------------------------------------------------------------------- */

struct store_pack { uint64_t packed_bytes, unpacked_bytes; uint32_t files; };

/* Make one file of the store (docs/format/pack.md), whole or not at all, after checking everything in it. Rebuilt codelets stay
 * behind. PCERE_USAGE: `file` exists (unless `force`, and it is a regular file), or a capture is writing the store. */
enum pcere_status store_pack(struct store *store, const char *file, bool force, struct store_pack *ret_pack, struct pcere_error *error);

/* Make a store of a packed one, at `path` or, if that is NULL, under the packed store's own name in the current directory, which
 * *ret_path (malloc) tells. The file is hostile: it is checked before anything is written, nothing but a store's files is made
 * of it, and the store appears when all of it was checked. `force` replaces an old store, as store_writer_open does.
 * PCERE_DATA: it is not whole, or not a packed store. PCERE_SYSTEM: the disk has no room for what it says to hold. */
enum pcere_status store_unpack(const char *file, const char *path, bool force, char **ret_path, struct store_pack *ret_pack,
                               struct pcere_error *error);

/* Remove a store, or with `cache_only` its rebuilt codelets. *ret_bytes is what it occupied. PCERE_DATA: there is nothing of that
 * name. PCERE_USAGE: it is not a store, holds what is no part of one (nothing is removed then), or is being written. */
enum pcere_status store_remove(const char *path, bool cache_only, uint64_t *ret_bytes, struct pcere_error *error);

/* ---- samples ------------------------------------------------------------------------------------------------------------- */

struct store_sample {            /* one line of samples.jsonl */
    char *kind;                  /* "replay", "run"; "calibration": a replay under a warm-up that was tried and not taken */
    char *host_name;             /* the name that --arch selects: of the machine that measured */
    char *host;                  /* JSON object as text */
    char *region;                /* NULL: the whole program */
    uint64_t representative;     /* invocation number; 0 in a "run" */
    uint32_t threads;
    uint32_t processors;         /* that the measuring process might use; 0: not known */
    uint32_t team;               /* of a region's "run": the threads that all its invocations asked for; 0: not known, or not all the same */
    uint32_t warmups;
    uint64_t start_ns;           /* how late the last thread of a new team began there; 0: not measured, or one thread */
    uint64_t fork_ns;            /* what a parallel region took there that did nothing; 0: not measured */
    uint64_t line_ns;            /* what a cache line took from one thread of the team to the next; 0: not measured, or one thread */
    char *warmup;                /* policy as asked: "auto" */
    char *warmup_policy;         /* what was done then: "preceded"; NULL: as `warmup` says */
    char *warmup_reason;         /* why, in words, or NULL */
    bool has_residual;           /* its time was compared with that in vivo, at the capture's number of threads: */
    double residual_ratio;       /* (in vitro - in vivo) / in vivo */
    char *flags;                 /* "" for the original's */
    char *settings;              /* "schedule=... places=... bind=..." normalised, or "" */
    uint64_t *samples_ns;        /* raw; extrapolated, a value for each shot, if sampled_ratio is not 0 */
    size_t sample_count;
    uint64_t *cpu_ns;            /* of each sample: CPU time of the thread that entered the region; NULL: not known */
    uint64_t *switches;          /* of each sample: how often the kernel took a processor away from any of the threads; with fewer processors than threads, 1
                                  * where somebody else had one; NULL: not known */
    uint64_t *waits_ns;          /* of each sample with `switches`, what these cost it at most: how long its threads together waited for a processor, or, with fewer processors than
                                  * threads, what they lacked of all processors' time (of 0.1 s and more: what it lost to others by that); 0: not known; NULL: of none. Of a "run", how long its initial thread waited for a processor */
    uint64_t *process_counts;    /* how many of the samples each process gave, in order, adding up to sample_count; NULL: one gave all */
    size_t process_count;        /* of process_counts; 0 with NULL */
    double slow_ratio;           /* by how much longer known work took beside these samples than at full speed, where all were made on slow processors; else 0 */
    double loud_ratio;           /* by how much longer known work took than at full speed, in the mean over all looks at it before and after timed runs, also those that do not count */
    double sampled_ratio;        /* share of the loops' iterations that were run; 0: the region was run whole */
    uint64_t cost_ns;            /* wall time of the process that measured this, restoring and warm-up included */
    uint64_t wall_ns, serial_ns; /* of a "run" */
    uint64_t when_s;             /* Unix time */
};

void store_sample_done(struct store_sample *sample);
/* After a failure of `status` to write into it: if that was since its files or their file system may not be written, `error` says so of the whole store, and
 * what to do. The status. */
enum pcere_status store_unwritable_tell(const struct store *store, enum pcere_status status, struct pcere_error *error);
/* Append one line, atomically (one write with O_APPEND under a lock), with its checksum. */
enum pcere_status store_sample_append(const struct store *store, const struct store_sample *sample, struct pcere_error *error);
/* All samples whose lines are whole, in the file's order; what is damaged is passed by, and told by store_samples_whole. (An unfinished
 * last line without newline is no damage: a killed writer.) PCERE_DATA: there is no such file. */
enum pcere_status store_samples_load(struct store *store, struct store_sample **ret_samples, size_t *ret_count,
                                     struct pcere_error *error);
/* PCERE_DATA naming the lines that the last store_samples_load of this store passed by; PCERE_OK where there was none, or nothing was loaded. */
enum pcere_status store_samples_whole(const struct store *store, struct pcere_error *error);
void store_samples_free(struct store_sample *samples, size_t count);

#endif
