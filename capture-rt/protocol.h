/* capture-rt/protocol.h - what the tracer and the library inside the user's process share: the log, its limits, the stop messages.
 *
 * The tracer creates the log as a memfd, fills in mode and plan, and starts the program with two inherited descriptors: the log and, in
 * a capturing run, one end of a SOCK_SEQPACKET pair. Their numbers ride in CAPTURE_ENVIRONMENT. The target maps the log, closes
 * its descriptor, and removes every trace of this from the environment before main.
 *
 *   memfd:  struct capture_log | padding to a page | copies | struct capture_record[records_max]     (sparse: untouched pages cost nothing)
 *
 * Invocations may be captured inside captured ones, and by several threads; one thread stops at a time.
 * A stop: the target fills log->stop, sends one struct capture_message, and blocks reading the answer. End of file is an answer too: a
 * tracer that died lets the program go on. Before the answer the target may be asked to copy some of its memory into the log, several times. Whoever reads the log treats it as hostile: the program can write to it.
 */
#ifndef PCERE_CAPTURE_PROTOCOL_H
#define PCERE_CAPTURE_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE                     /* both sides prepare pages of the log; kernels before 5.14 refuse, and older headers do not know it */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#define CAPTURE_MAGIC 0x3145524543504c43u
#define CAPTURE_VERSION 34u
#define CAPTURE_LOCALE_BYTES 1024u
#define CAPTURE_MEMORY_STREAMS 64u
#define CAPTURE_ENVIRONMENT "PCERE_CAPTURE"     /* "LOG,SOCKET": descriptor numbers; SOCKET is -1 in a timing run */
#define CAPTURE_LIBRARY "libpcere-capture.so"

#define CAPTURE_REGIONS_MAX 4096u
#define CAPTURE_SITES_MAX 16384u
#define CAPTURE_RANGES_MAX 1024u
#define CAPTURE_THREADS_MAX 1024u
#define CAPTURE_MAKERS_MAX 512u
#define CAPTURE_WORDS_MAX 1024u
#define CAPTURE_PLAN_MAX 65536u
#define CAPTURE_LOCK_SLOTS (1u << 20)           /* a power of two */
#define CAPTURE_LOCK_BLOCK 64u                  /* slots that one bit of lock_blocks stands for */
#define CAPTURE_FRAME_WORDS 32u
#define CAPTURE_CRITICALS 1024u                 /* a power of two */
#define CAPTURE_INDIRECT_MAX 8192u
#define CAPTURE_RANDOM_BYTES 256u
#define CAPTURE_NAME_BYTES 1024u
#define CAPTURE_LINKER_WORDS_MAX 1024u
#define CAPTURE_LEVELS_MAX 16u
#define CAPTURE_COPY_BYTES 524288u              /* at most, at one time */
#define CAPTURE_COPY_SLOTS 8u                   /* copies that the tracer has not looked at yet */

#define CAPTURE_WORDS_SEEN 8u                   /* words of 64 bits */

static inline uint32_t capture_words_bit(uint64_t words_hash, unsigned which)
{
    return (uint32_t)(words_hash >> 9 * which) % (64 * CAPTURE_WORDS_SEEN);
}

enum capture_mode {
    CAPTURE_MODE_TIMING = 1,    /* never stops */
    CAPTURE_MODE_PLANNED = 2,   /* stops at the invocations in log->plan */
    CAPTURE_MODE_CHOOSING = 3,  /* stops where the target finds it worth it, by log->policy */
};

struct capture_region_entry {   /* one source region; the tracer fills name and plan of known ones, the target adds the others */
    uint32_t ready;             /* 1 once name, function, file and line are there */
    uint32_t line;
    uint64_t name_hash;         /* of the whole name, of which `name` may be a beginning */
    uint32_t plan_first, plan_count;    /* slice of log->plan: invocations to stop at, ascending */
    uint32_t plan_moved;        /* so many of them moved, and wait for one that stands for them */
    uint32_t ordered;           /* 1: in the run that planned, the initial thread alone entered it, and in no other region: its numbers follow the program's course */
    uint32_t site_flags;        /* PCERE_SITE_ bits of its sites */
    uint64_t words_seen[CAPTURE_WORDS_SEEN];    /* by the run that planned, in a Bloom filter of two bits for each hash (capture_words_bit) */
    uint32_t plain;             /* 1: of a unit without probes: the calls of the OpenMP runtime alone tell of it, and it is never stopped at */
    uint32_t plugin_version;    /* plain: of the plugin that compiled its unit, another than ours; 0: none did */
    uint64_t code;              /* plain: link-time address of the outlined function, in `object` */
    uint64_t unfinished;        /* begun, and left other than through the end probe */
    uint64_t probed_ns;         /* what probes of regions directly inside it took, on all threads together, by samples */
    uint64_t probed_own_ns;     /* what those of regions anywhere inside it took on the threads that had begun it */
    char name[CAPTURE_NAME_BYTES];
    char function[CAPTURE_NAME_BYTES / 2];
    char file[CAPTURE_NAME_BYTES];
    char thread_sized[CAPTURE_NAME_BYTES / 2];     /* of the site, "" for none */
    char object[CAPTURE_NAME_BYTES];    /* path of the shared library that holds its code, as the dynamic linker has it; "": the executable */
};

struct capture_counts {         /* what probes keep of a region: one cache line, apart from what is long, since every invocation asks for it */
    uint64_t invocations;       /* numbered from 1 in the order in which they begin, on whatever thread */
    uint64_t time_ns;           /* of those in no other region that ended, together */
    uint64_t nested_ns;         /* of the others that ended */
    uint64_t last_ns;           /* of the last that ended */
    uint32_t faulted;           /* 1: one of them had many page faults */
    uint32_t gathered;          /* 1: it has a codelet, or is given up; so that its history need not be asked */
    uint64_t stops_seen;        /* of all stops, when the last that ended did */
    uint64_t nested;            /* entered inside another parallel region */
    uint64_t foreign;           /* entered outside parallel regions by a thread that is not the initial one */
} __attribute__((aligned(64)));

#define CAPTURE_FRESH_REST 16u

enum {                          /* flags of a record */
    CAPTURE_RECORD_CPU = 1,     /* faults and switches were measured, and cpu_ns where it tells something; without it these two are there where the thread had lost its processor most of the time */
    CAPTURE_RECORD_STOPPED = 2, /* the program was stopped here, for a dump or in vain: end_ns - begin_ns is not a plain time */
    CAPTURE_RECORD_FRESH = 8,   /* most of its faults were of pages that had not been there: it touches memory first */
    CAPTURE_RECORD_ALL_FRESH = 16,      /* all but one in CAPTURE_FRESH_REST of them were */
    CAPTURE_RECORD_NEAR = 4,    /* the first of its region since a stop, or a stop came while it ran: caches and page tables are not as usual */
};

enum capture_planned_state {
    CAPTURE_PLANNED_WAITS = 0,
    CAPTURE_PLANNED_MOVED = 1,  /* its number came with other words: threads enter the region in another order than in the run that it was planned from */
    CAPTURE_PLANNED_TAKEN = 2,
};

struct capture_planned {        /* an invocation to stop at; where it moved, the next one with its words stands for it, under its number */
    uint64_t words_hash;        /* 0: whatever its words are */
    uint32_t invocation;
    uint32_t state;             /* enum capture_planned_state; the target's, from the program's start on */
};

struct capture_record {         /* one invocation, written when it ends; 64 bytes, one cache line */
    uint64_t begin_ns, end_ns;  /* CLOCK_MONOTONIC; end_ns less what stops took in between */
    uint64_t invocation;        /* from 1 in its region */
    uint64_t words_hash;        /* of the fork's argument words, of the team, and of which of the region's copies was entered */
    uint64_t cpu_ns;            /* CPU time of the process meanwhile; 0 where the thread that enters it was never interrupted, or waited for something by itself */
    uint32_t region;            /* index in log->regions */
    uint32_t faults;            /* minor page faults of that thread */
    uint16_t switches;          /* involuntary context switches of it, UINT16_MAX: or more */
    uint16_t caller;            /* in a choosing run, of the return addresses around it: which call path it came by; else 0 */
    uint32_t team;              /* threads that it asks for, by a clause or the runtime's setting; 0: unknown */
    uint8_t path;               /* enum pcere_path */
    uint8_t flags;
    uint16_t expected;          /* how long, as a magnitude, in a choosing run where that was foretold with some certainty; else 0 */
    uint32_t parent;            /* the region around it: its index plus one; 0: none; CAPTURE_PARENT_UNKNOWN */
};
#define CAPTURE_PARENT_UNKNOWN UINT32_MAX

enum capture_range_kind {
    CAPTURE_RANGE_OWN = 1,      /* of this library: its image, log, arena, state */
    CAPTURE_RANGE_OBJECT = 2,   /* another shared object's image, its bss included */
    CAPTURE_RANGE_SYSTEM = 3,   /* the same of the C library and the OpenMP runtime: a thread with no other frames has nothing to do */
};

struct capture_range { uint64_t start, end; uint32_t kind, tls_module; };  /* tls_module: the dynamic linker's number, 0: no TLS */

struct capture_thread { uint64_t thread_pointer; uint64_t present; };   /* by OpenMP thread number */

enum { CAPTURE_LOCK_FREE = 0, CAPTURE_LOCK_LIVE = 1, CAPTURE_LOCK_DELETED = 2 };

struct capture_lock {           /* a slot of an open-addressing table */
    uint64_t address;
    uint32_t state;
    uint8_t kind;               /* 0 simple, 1 nested */
    bool other;                 /* made by GCC's runtime, which stands before the one that regions are entered in */
    uint16_t turn;              /* low bits of log->stops when it was made or destroyed last */
    uint32_t hint;
    uint32_t initial;           /* the lock's first four bytes just after its initialisation */
    uint32_t held, owner;       /* at the last stop: how often it was held, and by which thread of the team; 0, 0: free */
};
#define CAPTURE_LOCK_UNKNOWN UINT32_MAX         /* held, but by no thread of the team */

struct capture_indirect { uint64_t resolver, address; };    /* a function of a shared object that has several forms, and the one in use */

enum { CAPTURE_CONSTANTS = 8 };                             /* of include/pcere/libc_constants.inc, in its order */
struct capture_constant { uint64_t address, bytes; };

enum capture_random_kind { CAPTURE_RANDOM_TABLE = 1, CAPTURE_RANDOM_48, CAPTURE_RANDOM_VARIABLES };
struct capture_random {         /* state that the C library keeps: of a generator of random numbers, or variables (include/pcere/libc_variables.inc) */
    uint64_t address;           /* in the program's memory, or 0 */
    uint32_t kind;              /* enum capture_random_kind */
    uint32_t bytes;
    unsigned char state[CAPTURE_RANDOM_BYTES];
};

struct capture_level { uint32_t team, number; };    /* a parallel region around: size of its team, number of the thread in it */

#define CAPTURE_KEYS_MAX 1024u      /* of the GNU C library */
#define CAPTURE_KEY_ROWS 4096u
#define CAPTURE_KEY_MADE UINT32_MAX
#define CAPTURE_KEY_RUNTIME (UINT32_MAX - 1)
#define CAPTURE_KEY_MAKER (UINT32_MAX - 2)
#define CAPTURE_KEY_PLACE (UINT32_MAX - 3)
#define CAPTURE_KEY_HOLDER (UINT32_MAX - 4)
struct capture_key {                /* of pthread_key_create or tss_create */
    uint32_t key;
    uint32_t thread;                /* of the team: what it keeps there is `value`. CAPTURE_KEY_MADE: there is such a key, and `value` is the address of the function that ends
                                       what threads keep, or 0; CAPTURE_KEY_RUNTIME: likewise, of the OpenMP runtime, and nothing else is told of it;
                                       CAPTURE_KEY_MAKER: `value` is an address in the code that made the key, or in the C library, where it made it by its last call; CAPTURE_KEY_PLACE: in
                                       that case, of the variable that it was made in; CAPTURE_KEY_HOLDER: in any case, of that variable, if the key is there still */
    uint64_t value;
};

struct capture_signal { uint64_t handler, mask; uint32_t number, flags; };
#define CAPTURE_SIGNALS_MAX 64u

enum { CAPTURE_REGISTER_RBX = 3, CAPTURE_REGISTER_RBP = 6, CAPTURE_REGISTER_RSP = 7, CAPTURE_REGISTER_R12 = 12, CAPTURE_REGISTER_RIP = 16, CAPTURE_REGISTERS };

struct capture_stop {           /* filled by the target just before it sends a message */
    uint64_t words[CAPTURE_WORDS_MAX];
    struct capture_range ranges[CAPTURE_RANGES_MAX];
    struct capture_thread threads[CAPTURE_THREADS_MAX];
    uint32_t range_count;
    uint32_t ranges_dropped;    /* more shared objects than fit: they would be dumped as program data */
    uint64_t heap_end;          /* sbrk(0) */
    uint64_t fresh_large_pages; /* at a region's end: of blocks that it freed and allocated again, and that the C library may map by themselves each time */
    uint64_t fresh_next;        /* from there on lies what captured regions have not allocated yet (target/fresh.c); 0: they cannot */
    uint32_t signal_count;
    int32_t schedule_kind, schedule_chunk, max_active_levels, dynamic;      /* the OpenMP runtime's; kind 0: unknown */
    uint32_t tracking_sent;     /* number of the descriptor that goes with the message, and 1; 0: none */
    uint64_t environment;       /* value of environ */
    uint64_t float_control;     /* of the entering thread, as struct store_setting has it */
    uint64_t pointer_guard;     /* likewise */
    uint64_t registers[CAPTURE_REGISTERS];      /* likewise, by DWARF's numbers: those that a call keeps, the stack pointer and where it stands */
    uint64_t copies_bytes;      /* from log->copies_low on: threads' copies of threadprivate variables, behind their table */
    struct capture_signal signals[CAPTURE_SIGNALS_MAX];     /* that are not at their default */
    uint32_t global_thread;     /* the OpenMP runtime's number of the entering thread */
    uint32_t level_count;       /* parallel regions around the one that begins */
    struct capture_level levels[CAPTURE_LEVELS_MAX];    /* outermost first, as far as they fit */
    uint64_t linker_words[CAPTURE_LINKER_WORDS_MAX];    /* addresses of words of the dynamic linker's, amid the program's memory perhaps */
    uint32_t linker_word_count;
    uint32_t frame_word_count;
    uint64_t frame_words[CAPTURE_FRAME_WORDS];  /* at a region's end: addresses of words of the calling function's that it wrote between the region's begin and its fork */
    uint32_t random_count;
    uint32_t indirect_count;
    uint32_t teams;             /* of the league around the region, whose initial threads work at the same time; 1: none */
    uint32_t team;              /* in it, the one whose thread enters the region */
    int32_t thread_limit;       /* the OpenMP runtime's, there; 0: unknown */
    char locale[2 * CAPTURE_LOCALE_BYTES];      /* as struct store_codelet has it; "": longer than fits */
    struct capture_random randoms[3];   /* those that the program, or a library of it, uses */
    struct capture_indirect indirect[CAPTURE_INDIRECT_MAX];
    struct capture_constant constants[CAPTURE_CONSTANTS];
    uint64_t makers[CAPTURE_MAKERS_MAX];        /* addresses of code that made threads, the OpenMP runtime apart, and where these began, as far as they fit */
    uint32_t maker_count, reserved_makers;
    uint32_t key_count, reserved_keys;      /* more than CAPTURE_KEY_ROWS: not all of them are there */
    struct capture_key keys[CAPTURE_KEY_ROWS];
};

/* What stops may cost in a choosing run. Each purse may spend so many ns and so many millionths of the time since the start. */
enum capture_purse {
    CAPTURE_PURSE_EARLY,        /* stops whose use is not known yet: regions that were never seen */
    CAPTURE_PURSE_HEAVY,        /* for classes that are known to weigh */
    CAPTURE_PURSE_LIGHT,        /* for regions that weigh something only together */
    CAPTURE_PURSE_ALONE,        /* for invocations that take long, and may be like no other */
    CAPTURE_PURSES
};
struct capture_policy {
    struct { uint64_t ns, ppm; } purses[CAPTURE_PURSES];
    uint32_t weight_ppm;        /* a class that takes this much of the time so far is worth a stop; 0: every class is */
    uint32_t left_ppm;          /* of the regions' time: the lightest regions that together take no more are not worth one beside others, either */
};

/* Times as magnitudes: 16 log2(ns), about. */
static inline uint32_t capture_magnitude(uint64_t ns)
{
    ns = ns < 16 ? 16 : ns;
    uint32_t top = 63u - (uint32_t)__builtin_clzll(ns);
    return top * 16 + (uint32_t)(ns >> (top - 4) & 15);
}

static inline uint64_t capture_magnitude_ns(uint32_t magnitude)     /* the least time of that magnitude; at least 64 */
{
    return (uint64_t)(16 + magnitude % 16) << (magnitude / 16 - 4);
}

#define CAPTURE_MAGNITUDES 1024u
#define CAPTURE_MAGNITUDE_NEAR 4u               /* apart, 13 to 25 %: about as long */
#define CAPTURE_MAGNITUDE_STEP 4u               /* in one place of a histogram: a quarter octave */
#define CAPTURE_COVERED_MAX 64u
#define CAPTURE_COVERED_TAG 0x7fffffffu

struct capture_history {        /* what a region did so far, in a choosing run; the target's alone but for `unwanted` */
    uint32_t unwanted;          /* the tracer: do not stop here again */
    uint32_t covered_count;
    uint32_t captured;          /* invocations */
    uint32_t alarmed;           /* captured invocations that were given up, since a timer's handler ran in them; also in a run with a plan, by the tracer */
    uint16_t last, before_last; /* magnitudes */
    struct {                    /* captured ones */
        uint16_t magnitude, context;    /* context: in log->contexts, of such as begin like it, */
        uint32_t tag : 31, settled : 1; /* ... that context's tag (its lower bits); settled: not among the first of their kind */
    } covered[CAPTURE_COVERED_MAX];
    struct { uint64_t count, time_ns; } like[CAPTURE_MAGNITUDES / CAPTURE_MAGNITUDE_STEP];      /* others, by how long they took */
} __attribute__((aligned(64)));

#define CAPTURE_TIMERS(X) X(REAL, "ITIMER_REAL") X(VIRTUAL, "ITIMER_VIRTUAL") X(PROF, "ITIMER_PROF") X(CREATED, "timer_create")
#define CAPTURE_TIMER_ENTRY(name, text) CAPTURE_TIMER_##name,
enum capture_timer { CAPTURE_TIMERS(CAPTURE_TIMER_ENTRY) CAPTURE_TIMER_KINDS };
#define CAPTURE_ALARMED_MOST 3u                  /* of a region in a run */

/* Processes that the program forked off are not looked at: were there any, and did one enter a region before the program ended? */
#define CAPTURE_RECORDS_TURN 16384u     /* a MiB: of regions of half a microsecond so many come in 8 ms, and to wake the tracer takes 1 us, or 40 where the hypervisor does it */

enum capture_forked { CAPTURE_FORKED_NONE, CAPTURE_FORKED_ANY, CAPTURE_FORKED_ENTERED };

#define CAPTURE_CONTEXTS (1u << 16)             /* a power of two */
struct capture_context { uint32_t tag; uint16_t magnitude; uint8_t error, count; };     /* what followed such a beginning last */

struct capture_linked {         /* of a statically linked program, link-time addresses; 0: it is none */
    uint64_t text_low, text_high;       /* code of its runtimes: OpenMP, C++, C, capture object */
    uint64_t openmp_low, openmp_high;   /* of these, of the OpenMP runtime */
};

struct capture_log {
    /* by the tracer, before the program starts */
    uint64_t magic;
    uint32_t version;
    uint32_t mode;              /* enum capture_mode */
    uint64_t log_bytes;         /* of the whole memfd */
    uint64_t records_offset;    /* bytes */
    uint64_t copies_offset;     /* bytes: CAPTURE_COPY_SLOTS of CAPTURE_COPY_BYTES each */
    uint64_t records_max;
    uint32_t after;             /* 1: stop at the end of a captured invocation as well */
    uint32_t real;              /* 1: the first region makes its team itself, as without us: a run is timed, and nothing compared with its regions' times */
    uint32_t tracking;          /* 1: make a userfaultfd for the tracer */
    uint32_t known_regions;     /* entries that the tracer filled */
    uint32_t places_ours;       /* 1: OMP_PROC_BIND and OMP_PLACES are the tracer's, not the user's */
    uint32_t helpers;           /* 1: the program makes target tasks, for which the OpenMP runtime has a team of its own (hidden helpers) */
    uint32_t hold_expired;      /* set while threads run again that were held for a captured invocation which has not ended: nobody else
                                   may begin one */
    uint32_t plan_count;
    struct capture_policy policy;
    char library[4096];         /* the path that was put before LD_PRELOAD */
    struct capture_planned plan[CAPTURE_PLAN_MAX];

    /* by the target */
    uint32_t attached;          /* CAPTURE_VERSION once the constructor is through */
    int32_t pid;
    uint32_t runtime_separate;  /* 1: the OpenMP runtime's allocations are kept out of the program's heap */
    uint32_t foreign_allocator; /* 1: the program's allocator is not the C library's: sizes do not stand in front of blocks */
    uint32_t blocks_moved;      /* 1: captured regions allocated or freed blocks, here or (the tracer sets it) in the run that planned: those of the program lie elsewhere in another run, or others in their places */
    uint32_t runtime_found;     /* 1: a shared OpenMP runtime is there */
    uint32_t regions_dropped;   /* more regions than fit */
    uint32_t locks_dropped;
    uint32_t locks_live;        /* slots of `locks` that are live */
    uint32_t stops_lost;        /* the tracer could not be told: it is gone, or the program closed the socket */
    uint32_t tracking_errno;    /* why there is no userfaultfd, or 0 */
    uint32_t forked;            /* enum capture_forked */
    struct capture_linked linked;       /* set by the tracer */
    uint64_t image_bias;        /* of the executable */
    uint64_t image_low, image_high;     /* where it lies */
    uint64_t text_low, text_high;       /* where its code lies */
    uint64_t stream_list;       /* address of the GNU C library's list of open streams (_IO_list_all), or 0 */
    uint64_t stream_tables[2];  /* of the functions of plain files' streams: narrow, wide */
    uint64_t standard_streams[3];       /* addresses of the structures of stdin, stdout, stderr */
    uint64_t memory_streams[CAPTURE_MEMORY_STREAMS];     /* of open_memstream, which the list does not hold; some may be closed by now */
    uint64_t memory_stream_count;       /* ever made: the last CAPTURE_MEMORY_STREAMS are there */
    uint64_t plt_low, plt_high; /* words of the executable's image that the dynamic linker fills on first use; may be empty */
    uint64_t tls_low;           /* lowest address of the initial thread's static TLS (that of shared objects included) */
    uint64_t initial_thread;    /* its thread pointer */
    uint64_t copies_low, copies_high;   /* include/pcere/threadprivate.h; 0: nobody had a copy */
    uint64_t control_bytes;     /* size of the thread control block at the thread pointer */
    uint64_t record_count;      /* records written, or attempted: those beyond records_max were dropped */
    uint64_t mismatched_ends;   /* end probes without their begin */
    uint64_t threads_dropped;   /* threads that no state was left for: their regions are not seen */
    uint64_t stall_ns;          /* time spent stopped, all stops together, as the program saw it */
    uint64_t stall_ns_last;
    uint64_t stall_waited_ns;   /* of stall_ns, how long the initial thread waited for a processor, about */
    uint64_t released_ns;       /* CLOCK_MONOTONIC: when the tracer let the program go on last */
    uint64_t probing_ns;        /* outside regions, on the initial thread: what choosing and timing long invocations took, without stops */
    uint64_t stops;             /* begun */
    uint64_t copies_made;       /* copies that were asked for, and are there, or have failed */
    uint32_t copies_failed[CAPTURE_COPY_SLOTS];     /* 1: the copy in that slot is not to be used */
    uint64_t spent_ns[CAPTURE_PURSES];      /* of the policy's purses */
    uint64_t probe_ns;          /* what reading the clock adds to an invocation's own time */
    uint32_t region_count;
    uint32_t site_count;
    uint64_t runtime_thread_count;      /* threads that the OpenMP runtime ever made */
    uint64_t runtime_threads[CAPTURE_THREADS_MAX];  /* their thread pointers, as far as they fit */
    uint64_t sites[CAPTURE_SITES_MAX];  /* addresses of the sites that were entered */
    struct capture_region_entry regions[CAPTURE_REGIONS_MAX];
    struct capture_counts counts[CAPTURE_REGIONS_MAX];      /* of the same regions */
    struct capture_stop stop;
    uint64_t lock_blocks[CAPTURE_LOCK_SLOTS / CAPTURE_LOCK_BLOCK / 64];     /* a bit for each block of slots that was ever used */
    struct capture_lock locks[CAPTURE_LOCK_SLOTS];
    uint64_t criticals[CAPTURE_CRITICALS];      /* addresses of the locks of critical constructs and reductions that were still zero when they were first met; 0: free */
    struct capture_history histories[CAPTURE_REGIONS_MAX];
    struct capture_context contexts[CAPTURE_CONTEXTS];
    uint32_t records_turn;      /* one more, and woken as a futex, whenever CAPTURE_RECORDS_TURN more records were begun */
};

/* Do a region's numbers tell which invocation is which, and its argument words nothing, since blocks lie elsewhere than in the run that planned? */
static inline bool capture_is_numbered(const struct capture_log *log, uint32_t region)
{
    return log->regions[region].ordered && __atomic_load_n(&log->blocks_moved, __ATOMIC_RELAXED);
}

enum capture_message_type {
    CAPTURE_MESSAGE_BEGIN = 1,
    CAPTURE_MESSAGE_END = 2,
    CAPTURE_MESSAGE_LEFT = 3,   /* a captured invocation was left in some other way; the program is not to be stopped */
    CAPTURE_MESSAGE_FORGET = 4, /* a captured invocation turned out to be of no use; likewise */
};

struct capture_message {        /* target to tracer; a userfaultfd rides beside the first one */
    uint32_t type;              /* enum capture_message_type */
    uint32_t region;            /* index in log->regions */
    uint64_t invocation;
    int32_t tid;
    int32_t path, num_threads, proc_bind;
    int32_t max_threads;        /* omp_get_max_threads(), or 0 if unknown */
    uint32_t word_count;
    uint32_t alarmed;           /* CAPTURE_MESSAGE_END: a bit of enum capture_timer for each kind of which a handler ran in the invocation, */
    uint32_t alarmed_rarely;    /* 1: and it takes less than from one time to the next */
    uint64_t words_hash;
    uint64_t unit_id;           /* of the site */
    uint64_t stack_pointer;     /* of the program, just before its call of the probe */
    uint64_t thread_pointer;    /* fs base of that thread */
};

enum capture_answer_type {
    CAPTURE_ANSWER_GO = 1,
    CAPTURE_ANSWER_NO_MORE = 2, /* go, and never stop again */
    CAPTURE_ANSWER_DECLINED = 3, /* go: this invocation is not captured, and its end need not be told */
    CAPTURE_ANSWER_COPY = 4,    /* no answer yet: copy memory into the log, and wait again */
};

struct capture_answer {         /* tracer to target */
    uint32_t type;              /* enum capture_answer_type */
    uint32_t cpu_us;            /* what the stop took the tracer, whatever else the machine did */
    uint64_t address;           /* to be copied */
    uint32_t bytes, slot;
};

#endif
