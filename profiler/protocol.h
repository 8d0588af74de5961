/* profiler/protocol.h - the trace file that the library inside the user's process writes and the host reads: docs/format/trace.md.
 *
 *   0               header_bytes                                                  after the program's end
 *   ├─ trace_header ─┼─ block ─┼─ block ─┼─ ··· (block_bytes each, by any thread) ─┼─ index: trace_index, one entry a block, by time ─┤
 *
 * The runner makes the file with what is wanted, the target maps its header. A block belongs to one thread, or holds tables. Each thread has one
 * block mapped, shared: it writes its records there in order, and then how many there are, so that a killed program leaves all of them. A full block is
 * copied to another place of the file, and the mapped one begins anew. The runner seals the file: checksums, index. Whoever reads it treats it as hostile.
 */
#ifndef PCERE_PROFILER_PROTOCOL_H
#define PCERE_PROFILER_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_MAGIC "PCERETR1"
#define TRACE_VERSION 1u
#define TRACE_HEADER_BYTES 16384u
#define TRACE_BLOCK_BYTES 65536u
#define TRACE_BLOCK_MAGIC 0x4b4c4254u           /* "TBLK" */
#define TRACE_ENVIRONMENT "PCERE_PROFILE"       /* "FD": number of the inherited descriptor of the file */
#define TRACE_LIBRARY "libpcere-profiler.so"
#define TRACE_MARK_FUNCTION "__pcere_profile_mark"      /* void (uint64_t): for programs that know which part of them is to be profiled, as codelets do */

#define TRACE_EVENTS_MOST 64u
#define TRACE_EVENT_NAME_BYTES 48u
#define TRACE_THREADS_MOST 65535u
#define TRACE_CONSTRUCTS_MOST (1u << 20)
#define TRACE_ID_THREAD_SHIFT 44                /* ids of tasks and teams: who made it << 44 | a count from 1 */

enum trace_clock { TRACE_CLOCK_NONE = 0, TRACE_CLOCK_TSC = 1, TRACE_CLOCK_MONOTONIC = 2 };

enum trace_want { TRACE_WANT_TASK_GRAPH = 1, TRACE_WANT_LOCKS = 2, TRACE_WANT_ITERATIONS = 4 };

struct trace_anchor { uint64_t ticks, monotonic_ns, realtime_ns; };

enum trace_backend { TRACE_BACKEND_SW = 1, TRACE_BACKEND_IR = 2, TRACE_BACKEND_PMU = 3, TRACE_BACKEND_CACHE = 4 };

enum trace_source { TRACE_SOURCE_NONE = 0, TRACE_SOURCE_KERNEL = 1 /* perf events */, TRACE_SOURCE_USAGE = 2 /* the thread's resource usage */,
                    TRACE_SOURCE_PROGRAM = 3 /* the program, which was compiled to count */ };

struct trace_event {            /* a counter whose differences follow the records that have TRACE_COUNTS */
    char name[TRACE_EVENT_NAME_BYTES];
    uint32_t backend;           /* enum trace_backend */
    uint32_t flags;             /* TRACE_EVENT_TURNS */
    uint64_t config, config1, config2;  /* sw, pmu: of perf_event_attr. ir: enum pcere_count. cache: enum cache_count */
    uint32_t type;              /* likewise */
    uint32_t source;            /* enum trace_source, by the target: where its counts came from */
    uint32_t failed_errno;      /* by the target: it could not be opened on some thread, where its differences are 0 */
    uint32_t reserved_2;
};

#define TRACE_EVENT_TURNS 1u    /* pmu: it takes turns on the processor's counters, as the kernel has it; differences are those of estimates, and may be below zero (modulo 2^64) */

struct trace_turns { uint64_t enabled_ns, running_ns; };

struct trace_cache { uint64_t bytes; uint32_t ways, line_bytes; };

struct trace_header {           /* at the file's start, in TRACE_HEADER_BYTES */
    /* by the runner, before the program starts */
    char magic[8];
    uint32_t version;
    uint32_t header_bytes, block_bytes;
    uint32_t clock_wanted;      /* enum trace_clock; 0: the best there is */
    uint32_t event_count;
    uint32_t wanted;            /* enum trace_want: what a profile has no use for */
    uint64_t bytes_most;        /* the file grows no larger */
    uint64_t device, inode;     /* of the file, by which the target knows its descriptor */
    char library[4096];         /* the path that was put before LD_PRELOAD; "": the program has the library in itself */
    struct trace_event events[TRACE_EVENTS_MOST];

    /* by the target */
    uint32_t attached;          /* TRACE_VERSION once the constructor is through */
    uint32_t tool_started;      /* 1: the OpenMP runtime accepted the tool */
    uint32_t runtime_version;   /* _OPENMP of the runtime */
    char runtime[64];           /* what the runtime calls itself */
    uint32_t foreign_runtime;   /* 1: another OpenMP runtime (libgomp, ...) was loaded at the end */
    uint32_t clock;             /* enum trace_clock */
    int32_t pid;
    uint32_t ended;             /* 1: the program ended by itself, after its last event */
    struct trace_anchor start, end;     /* end: only if `ended` */
    uint64_t block_count;       /* blocks taken */
    uint64_t thread_count;
    uint64_t dropped;           /* records that found no room */
    uint32_t full_errno;        /* why there was none, or 0 */
    uint32_t construct_count;
    uint64_t forks;             /* children, whose events are not here */
    uint64_t unmatched;         /* tool events of a construct whose call was not seen */
    uint64_t unnamed;           /* events whose construct could not be told (tables full) */
    uint64_t counters_lost, counters_shared;    /* readings of kernel counters that told nothing, or of a part of the time */
    uint64_t by_id, by_source, by_address;      /* constructs, by what names them */

    /* by the runner again */
    uint32_t sealed;            /* 1: whole, with checksums and index */
    int32_t program_status;     /* as waitpid gives it */
    uint64_t index_offset, index_count, index_checksum;     /* XXH64 of the index */
    uint64_t wall_ns;           /* of the program, from before its process was made until its end was seen */
    uint64_t header_checksum;   /* XXH64 of the header with 0 here */

    /* by the runner, before the program starts; 0 in files that were made before there was such a back end */
    struct trace_cache caches[2];       /* that TRACE_BACKEND_CACHE models, nearest first */

    /* by the target */
    struct trace_turns turns[TRACE_EVENTS_MOST];        /* of events with TRACE_EVENT_TURNS: how long they were to be counted, and were, on all threads */

    /* by the runner again: what a reader of a part of the file needs, between the last block and the index: struct trace_made for each entry of the index, then struct trace_lasting. 0: there is none */
    uint64_t part_offset, lasting_count, part_checksum;         /* XXH64 of both */
};

/* Is that a cache that can be modelled? Sets and the line's bytes are powers of two. */
static inline bool trace_cache_sound(const struct trace_cache *cache)
{
    uint64_t line = cache->line_bytes, way = cache->ways ? cache->bytes / cache->ways : 0;
    uint64_t sets = line ? way / line : 0;
    return line >= 8 && line <= 4096 && (line & (line - 1)) == 0 && sets && (sets & (sets - 1)) == 0 && cache->ways <= 4096 && cache->bytes <= (uint64_t)1 << 32 &&
           sets * line * cache->ways == cache->bytes;
}

/* Both levels, with lines of one size. */
static inline bool trace_caches_sound(const struct trace_cache caches[2])
{
    return trace_cache_sound(&caches[0]) && trace_cache_sound(&caches[1]) && caches[0].line_bytes == caches[1].line_bytes;
}

enum trace_block_kind { TRACE_BLOCK_RECORDS = 1, TRACE_BLOCK_TABLE = 2 };

struct trace_block {            /* 64 bytes at a block's start */
    uint32_t magic;
    uint16_t kind;              /* enum trace_block_kind */
    uint16_t thread;            /* whose records these are */
    uint32_t sequence;          /* from 0 in its thread, or among tables */
    uint32_t used;              /* slots of 16 bytes, or bytes of a table */
    uint64_t base_ticks;        /* that the times of its first records count from */
    uint64_t monotonic_ns;      /* CLOCK_MONOTONIC at base_ticks */
    uint64_t first_ticks, last_ticks;   /* by the runner, as the checksum */
    uint64_t checksum;          /* XXH64 of the `used` slots or bytes behind this head; its seed is XXH64 of the head with 0 here */
    uint64_t reserved;
};

struct trace_index { uint64_t offset; uint32_t used; uint16_t thread, kind; uint64_t first_ticks, last_ticks; };

struct trace_made { uint64_t tasks, ids; };    /* by the block's thread, before the block: tasks, and the highest count in an id of its tasks */
/* A record that holds beyond its block, or ends one that did: in the order of threads, and in each of its records. TRACE_TEAM stands before what it belongs to. */
struct trace_lasting { uint64_t ticks, value; uint32_t word, block; /* (offset - header_bytes) / block_bytes */ };

/* ---- records ---------------------------------------------------------------------------------------------------------------- */

struct trace_record {           /* 16 bytes, one slot */
    uint32_t time;              /* ticks since the base of the block, or of the last TRACE_TIME before */
    uint32_t word;              /* type, TRACE_COUNTS, flags, extra */
    uint64_t value;
};

#define TRACE_COUNTS 0x80u      /* one difference for each event follows, two a slot */
#define TRACE_WORD(type, flags, extra) ((uint32_t)(type) | (uint32_t)(flags) << 8 | (uint32_t)(extra) << 12)
#define TRACE_TYPE(word) ((word) & 0x7fu)
#define TRACE_FLAGS(word) ((word) >> 8 & 0xfu)
#define TRACE_EXTRA(word) ((word) >> 12)
#define TRACE_EXTRA_MOST 0xfffffu

enum trace_type {               /* extra; value */
    TRACE_TIME = 1,             /* ; new base in ticks */
    TRACE_THREAD_END,
    TRACE_PARALLEL_BEGIN,       /* construct; id of the team. flags 1: of teams (a league) */
    TRACE_PARALLEL_END,         /* ; id of the team */
    TRACE_TEAM,                 /* threads in it; id of the team: of the implicit task that begins next */
    TRACE_IMPLICIT_BEGIN,       /* number of the thread in its team; id of the implicit task. flags 1: the initial task */
    TRACE_IMPLICIT_END,         /* ; id of the implicit task */
    TRACE_LOOP_BEGIN,           /* construct; enum trace_schedule | chunk << 8. flags 1: its iterations are those of all teams of a league */
    TRACE_RANGE_BEGIN,          /* iterations (saturated: TRACE_LENGTH follows); the first. Ends the range before */
    TRACE_LENGTH,               /* ; iterations of the range that was just begun */
    TRACE_LOOP_END,
    TRACE_SINGLE_BEGIN,         /* construct; 1: by this thread, 0: by another one */
    TRACE_SINGLE_END,
    TRACE_MASKED_BEGIN,         /* construct; by this thread */
    TRACE_MASKED_END,
    TRACE_TASK_CREATE,          /* construct (0: by what is around); id of the task. flags: enum trace_task */
    TRACE_TASK_SWITCH,          /* ; id of the task that goes on. flags: ompt_task_status_t of the one before */
    TRACE_TASKLOOP_BEGIN,       /* construct */
    TRACE_TASKLOOP_END,
    TRACE_TASKLOOP_RANGE,       /* iterations (saturated); the first one of the task that runs */
    TRACE_WAIT_BEGIN,           /* flags: ompt_sync_region_t */
    TRACE_WAIT_END,             /* likewise */
    TRACE_DEPENDENCE,           /* ; address. flags: ompt_dependence_type_t: of the task that this thread made last. Only where TRACE_WANT_TASK_GRAPH */
    TRACE_MUTEX_BEGIN,          /* ; wait id. flags: ompt_mutex_t: it waits to have it. Only where TRACE_WANT_LOCKS */
    TRACE_MUTEX_END,            /* likewise: it has it */
    TRACE_MARK,                 /* ; 1: what this thread does now is meant, 0: no longer. By TRACE_MARK_FUNCTION */
    TRACE_TARGET_BEGIN,         /* construct; device. flags: ompt_target_t */
    TRACE_TARGET_END,           /* likewise, without a construct */
    TRACE_DATA_BEGIN,           /* variable (a construct); address on the host, of DELETE on the device. flags: enum trace_data */
    TRACE_DATA_BYTES,           /* device; bytes: of the operation that was just begun */
    TRACE_DATA_END,             /* ; of ALLOC the address on the device. flags: enum trace_data */
    TRACE_KERNEL_BEGIN,         /* ; device: it executes what the target construct holds */
    TRACE_KERNEL_END,           /* likewise */
    TRACE_RANK,                 /* ranks; rank in MPI_COMM_WORLD: this process */
    TRACE_MESSAGE_BEGIN,        /* flags: enum trace_message */
    TRACE_MESSAGE_END,          /* rank of the other side, or of the root, + 1 (0: unknown); tag. flags: enum trace_message */
    TRACE_CPU,                  /* ; number of the processor that this thread runs on. Before its first record, and when the next finds another one */
    TRACE_ITERATION,            /* ; number of the iteration, or section, that begins now. Only where TRACE_WANT_ITERATIONS, of programs that tell it */
    TRACE_TYPES,
};

enum trace_data { TRACE_DATA_ALLOC = 1, TRACE_DATA_SUBMIT, TRACE_DATA_RETRIEVE, TRACE_DATA_DELETE, TRACE_DATA_FORWARD };

/* Messages count only in MPI_COMM_WORLD; TRACE_MESSAGE_POST asks for one that comes later, which TRACE_MESSAGE_COME then tells at its end; TRACE_MESSAGE_OTHER is no message. */
enum trace_message { TRACE_MESSAGE_SEND = 1, TRACE_MESSAGE_RECEIVE, TRACE_MESSAGE_ALL, TRACE_MESSAGE_FROM_ROOT, TRACE_MESSAGE_TO_ROOT, TRACE_MESSAGE_POST, TRACE_MESSAGE_OTHER,
                     TRACE_MESSAGE_COME };

enum trace_task { TRACE_TASK_UNTIED = 1, TRACE_TASK_UNDEFERRED = 2, TRACE_TASK_WAITS = 4 /* a taskwait with dependences: no task of the program */,
                  TRACE_TASK_TARGET = 8 };

enum { TRACE_DEPENDENCE_ALL_MEMORY = 9 };      /* beside ompt_dependence_type_t, whose numbers for it are too large */

enum trace_schedule { TRACE_SCHEDULE_STATIC = 1, TRACE_SCHEDULE_STATIC_CHUNKED, TRACE_SCHEDULE_DYNAMIC, TRACE_SCHEDULE_GUIDED, TRACE_SCHEDULE_OTHER };

/* ---- tables ----------------------------------------------------------------------------------------------------------------- */

enum trace_construct_kind {
    TRACE_PARALLEL = 1, TRACE_LOOP, TRACE_SECTIONS, TRACE_DISTRIBUTE, TRACE_SINGLE, TRACE_MASKED, TRACE_TASK, TRACE_TASKLOOP, TRACE_TEAMS,
    TRACE_TARGET, TRACE_VARIABLE /* that a data operation moves */,
    TRACE_KINDS,
};

enum trace_basis { TRACE_BY_ID = 1, TRACE_BY_SOURCE, TRACE_BY_ADDRESS };    /* what names a construct */

enum trace_entry_kind { TRACE_ENTRY_CONSTRUCT = 1, TRACE_ENTRY_MODULE, TRACE_ENTRY_THREAD };

struct trace_entry {            /* of a table block; 8-byte aligned */
    uint32_t bytes;             /* of the whole entry, a multiple of 8 */
    uint16_t kind;              /* enum trace_entry_kind */
    uint8_t construct_kind;     /* enum trace_construct_kind */
    uint8_t basis;              /* enum trace_basis */
    uint32_t index;             /* of the construct (from 1), module (from 1) or thread (from 0) */
    uint32_t module;            /* construct: where its call lies; 0: unknown. thread: its kernel id */
    uint64_t id;                /* construct: see docs/format/trace.md. thread: ompt_thread_t */
    uint64_t offset;            /* construct: of the return address in the module's file image */
    char text[];                /* NUL-terminated. construct: ";file;function;line;column;;..." or "". module: path, then its build id */
};

#endif
