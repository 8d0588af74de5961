/* replay-rt/protocol.h - what the launcher tells a codelet's process, and what comes back: one shared file, the plan.
 *
 *   codelet PLAN PAGES       both are paths of files (of descriptors under /proc/self/fd, when the launcher runs it)
 *   codelet - PARENT FLAGS   both come later, as descriptors, through a socket (STANDBY_CHANNEL); whose child it is; what to do meanwhile (STANDBY_RUNTIME, ..)
 *
 *   PLAN    struct replay_plan | tables, each 8-byte aligned | strings     mapped shared; only `result` is written by the codelet
 *   PAGES   whole pages; plan_copy says where each goes                    mapped privately, never changed
 *
 * All offsets are bytes from the start of the file. Addresses are those of the captured process.
 */
#ifndef PCERE_REPLAY_PROTOCOL_H
#define PCERE_REPLAY_PROTOCOL_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#define PLAN_MAGIC "PCEREPL1"
#define PLAN_VERSION 49u
enum { PLAN_DESCRIPTOR = 3, PAGES_DESCRIPTOR = 4, FILLER_DESCRIPTOR = 6, DONE_DESCRIPTOR = 7 };      /* as the launcher numbers them */
#define STANDBY_CHANNEL 3
#define STANDBY_READY 4                 /* a pipe, closed when it sleeps */
#define STANDBY_DESCRIPTORS 8u          /* in one message at most, whose data are the numbers that they get */
#define STANDBY_RUNTIME 'r'             /* begin the OpenMP runtime */
#define STANDBY_PLACES_OURS 'p'         /* as plan->places_ours */
#define STACK_ROOM_LEAST (8ull << 20)    /* of addresses below a captured stack, which cost nothing until they are used; */
#define STACK_ROOM_MOST (256ull << 20)   /* however much the limit gives (ulimit -s) */
#define STACK_GUARD_BYTES (1ull << 20)   /* the kernel lets no stack grow nearer to another mapping */

/* A region may need more stack than was there at its start: as much as this process's limit gives it. */
static inline uint64_t plan_stack_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur < STACK_ROOM_LEAST)
        return STACK_ROOM_LEAST;
    return limit.rlim_cur < STACK_ROOM_MOST ? limit.rlim_cur : STACK_ROOM_MOST;
}

/* How much of it so many free addresses below the stack have room for, in whole pages. */
static inline uint64_t plan_stack_room(uint64_t space_bytes, uint64_t page_bytes)
{
    uint64_t room = plan_stack_limit();
    if (space_bytes < room + STACK_GUARD_BYTES)
        room = space_bytes > STACK_GUARD_BYTES ? space_bytes - STACK_GUARD_BYTES : 0;
    return room - room % page_bytes;
}

#define PLAN_GONE "which is not there any more"                 /* the same */
#define PLAN_CHANGED "which has changed since the capture"      /* messages say so of files, and the launcher has a hint for that */
#define PLAN_TELL_SIGNAL SIGURG         /* the launcher: a thread that gets it tells in result.places where it is; nothing where the program handles it */
#define PLAN_MARK_FUNCTION "__pcere_profile_mark"    /* void (uint64_t): 1 just before a timed run, 0 after it */
#define PLAN_SAMPLES 1024u          /* timed repetitions of one process at most */
#define PLAN_DIFFERENCES 4096u      /* differences that the result holds; those before them are written behind the plan */
#define PLAN_SPILLED_MOST (1024u * PLAN_DIFFERENCES)    /* that are written there at most; more are only counted */

struct plan_table { uint64_t offset, count; };

struct plan_mapping { uint64_t start, end; uint32_t protection, flags; };
#define PLAN_MAPPING_GROWS 1u       /* a stack: the codelet may extend it downwards over free addresses */
#define PLAN_MAPPING_FRESH 2u       /* private, of no file: what is dropped there reads as zeros */

#define PLAN_COPY_ABSENT 2u          /* of a step: pages that it finds untouched, as the region does */
struct plan_copy { uint64_t address, pages, source, zero; };    /* source: offset in PAGES; zero: 1 if all its bytes are 0, or PLAN_COPY_ABSENT.
                                       Ascending, not overlapping, each inside one mapping (`before`) */
struct plan_alias { uint64_t address, original, bytes; };   /* what is at `address` is what is at `original`, which is in no alias. Ascending, not overlapping */
struct plan_range { uint64_t address, bytes; };             /* ascending where they are searched */
#define PLAN_THREAD_COPIES UINT32_MAX
#define PLAN_THREAD_SELF (UINT32_MAX - 1)
struct plan_thread { uint32_t number, image; uint64_t tls_address, tls_bytes; };   /* image: in `images`; PLAN_THREAD_COPIES: a struct threadprivate_table; PLAN_THREAD_SELF: what pthread_self() told it, of no bytes */
struct plan_pointer { uint64_t source, address; };   /* a word that leads to a captured thread-local variable: where it is in PAGES, and in `before`, or 0. A word may come again */
struct plan_signal { uint64_t handler, mask; uint32_t number, flags; };    /* handler: captured address, or 1 to ignore */
#define PLAN_KEY_MADE UINT32_MAX
#define PLAN_KEY_RUNTIME (UINT32_MAX - 1)
#define PLAN_KEY_HELD (UINT32_MAX - 2)
struct plan_key { uint32_t key, thread; uint64_t value; };     /* thread: of the team, what it keeps by pthread_setspecific; PLAN_KEY_MADE: there is such a key, value is the captured
                                       address of what ends values, or 0; PLAN_KEY_RUNTIME: the OpenMP runtime has it; PLAN_KEY_HELD: as PLAN_KEY_MADE, but if it is not to be had, nobody may need it */
#define PLAN_LOCK_GONE UINT32_MAX
struct plan_lock {
    uint64_t address;
    uint32_t kind, hint;            /* kind: 0 simple, 1 nested */
    uint32_t held, owner;           /* how often it is held before the region, by which thread of the team; 0, 0: free */
    uint32_t held_after, owner_after;   /* PLAN_LOCK_GONE: nobody knows */
};
enum plan_random_kind { PLAN_RANDOM_TABLE = 1 /* random(3) */, PLAN_RANDOM_48 /* drand48(3) */, PLAN_RANDOM_VARIABLES /* include/pcere/libc_variables.inc */ };
#define PLAN_RANDOM_BYTES 256u
struct plan_random {                /* state of a generator of the C library, or of its variables; address: of the program's own array for it, or 0 */
    uint64_t address;
    uint32_t kind, bytes, known_after, reserved;
    unsigned char before[PLAN_RANDOM_BYTES], after[PLAN_RANDOM_BYTES];
};
struct plan_external { uint64_t address; uint32_t bytes, name; };  /* what a library had there: a function (bytes 0), or a constant */

enum plan_relocation_kind {
    PLAN_RELOCATION_ADDRESS,        /* the word becomes the symbol's address plus addend: global offset table, jump slots */
    PLAN_RELOCATION_DATA,           /* as above, but only if the captured word points to nothing that is mapped */
    PLAN_RELOCATION_COPY,           /* `addend` bytes of the symbol are copied */
    PLAN_RELOCATION_VALUE,          /* the word becomes the addend; no symbol */
    PLAN_RELOCATION_MODULE,         /* the word becomes the dynamic linker's number of what was rebuilt of image `name` */
    PLAN_RELOCATION_THREAD,         /* the word becomes the distance from the thread pointer to byte `addend` of the TLS block of image `name` */
};
struct plan_relocation { uint64_t address; int64_t addend; uint32_t kind, name; };  /* name: offset in the strings,
                                       or a number of an image */

struct plan_image {                 /* the executable, then the user's shared libraries */
    uint64_t low, high;             /* where it lay */
    uint64_t base;                  /* where the shared object with what was rebuilt of it must be; 0: it is part of the codelet's executable */
    uint64_t frames;                /* address of its .eh_frame, which the unwinder is told; or 0 */
    uint32_t table;                 /* name of its struct codelet_image, offset in the strings */
    uint32_t present;               /* 1: it was loaded when the region began */
};

enum plan_source {                  /* what stands in for a file that was open */
    PLAN_SOURCE_FILE,               /* the file itself, for reading only */
    PLAN_SOURCE_COPY,               /* a file of the codelet's own: `bytes` long, with `contents`, the rest zero */
    PLAN_SOURCE_DEVICE,             /* the device itself: /dev/null, /dev/urandom, ... */
    PLAN_SOURCE_NOTHING,            /* what is written is dropped */
    PLAN_SOURCE_LOST,               /* no use of it can be replayed */
};
struct plan_descriptor {            /* ascending by number */
    int32_t number;
    uint32_t source;                /* enum plan_source */
    uint32_t flags;                 /* of open(2) in the capture */
    uint32_t path;                  /* offset in the strings */
    uint32_t what;                  /* the same: in words, "a pipe (descriptor 7)"; "" where all that was captured can be done */
    uint32_t reserved;
    uint64_t offset, bytes;
    uint64_t changed_ns;            /* PLAN_SOURCE_FILE: time of the file's last change, or 0 if that does not matter */
    uint64_t content_first, content_count;  /* in `contents` */
};
enum plan_stream_kind { PLAN_STREAM_FILE, PLAN_STREAM_STDIN, PLAN_STREAM_STDOUT, PLAN_STREAM_STDERR };
#define PLAN_STREAM_BYTES 224u
struct plan_stream { uint64_t address; int32_t descriptor; uint32_t kind; unsigned char bytes[PLAN_STREAM_BYTES]; };   /* FILE, table */

#define PLAN_LEVELS_MAX 16u
struct plan_level { uint32_t team, number; };   /* a parallel region around: size of its team, number of the entering thread in it */

/* Functions whose answer is another each time; the last ones save where a thread is (registers, addresses on stacks and in code): another place in each process. */
#define PLAN_ASKS(X)                                                                                                    \
    X(TIME, "time") X(CLOCK_GETTIME, "clock_gettime") X(GETTIMEOFDAY, "gettimeofday") X(CLOCK, "clock") X(TIMES, "times") \
    X(GETRUSAGE, "getrusage") X(OMP_GET_WTIME, "omp_get_wtime") X(GETPID, "getpid") X(GETPPID, "getppid")               \
    X(GETTID, "gettid") X(GETRANDOM, "getrandom") X(GETENTROPY, "getentropy") X(ARC4RANDOM, "arc4random") \
    X(POLL, "poll") X(PPOLL, "ppoll") X(SELECT, "select") X(PSELECT, "pselect") X(EPOLL_WAIT, "epoll_wait")             \
    X(IOCTL, "ioctl") X(READDIR, "readdir")                                                                               \
    X(GETCONTEXT, "getcontext") X(MAKECONTEXT, "makecontext") X(SWAPCONTEXT, "swapcontext") X(SETJMP, "setjmp")
#define PLAN_ASK_ENTRY(name, text) PLAN_ASK_##name,
enum plan_ask { PLAN_ASKS(PLAN_ASK_ENTRY) PLAN_ASK_COUNT };
#define PLAN_ASK_DESCRIPTORS PLAN_ASK_POLL      /* the first of these */
#define PLAN_ASK_PLACES PLAN_ASK_GETCONTEXT

#define PLAN_STEPS_MAX 16u
#define PLAN_STEP_SAMPLES 16u
struct plan_moves { uint64_t first, count; };   /* in `step_moves` */
struct plan_step {                  /* a region that ran before this one: it is run before each run of this one */
    uint64_t stack_pointer, unit_id;
    uint32_t region, path;          /* name: offset in the strings; enum pcere_path */
    uint32_t image;                 /* that holds it, in `images` */
    int32_t proc_bind;
    uint32_t touched;               /* 1: it is not run; its copies, pages that it wrote, are only read and written where they are */
    uint64_t word_first, word_count;    /* in `step_words` */
    uint64_t copy_first, copy_count;    /* in `step_copies`: memory at its start where that is not as `before` says. Ascending, each
                                       inside one mapping */
    uint32_t timed;                 /* 1: it is timed as the region is, where that is timed: result.steps */
    uint32_t continues;             /* 1: what runs before it here (the region itself before the first step) ran before it in the program: its data may be
                                       what that left, of another invocation; what lies in long stretches of `changed` is data */
    struct plan_moves moves[2];     /* as struct replay_plan has it; [1]: where no step continues */
};
struct plan_step_samples {          /* as the region's own; of PLAN_STEP_SAMPLES runs at most */
    uint64_t count;
    uint64_t samples_ns[PLAN_STEP_SAMPLES], cpu_ns[PLAN_STEP_SAMPLES];
    uint32_t switches[PLAN_STEP_SAMPLES];
    uint32_t works_ns[PLAN_STEP_SAMPLES];
    uint64_t waits_ns[PLAN_STEP_SAMPLES];
};

enum plan_task {
    PLAN_MEASURE,                   /* time the region */
    PLAN_VERIFY,                    /* run it once and compare all memory with `expected` */
    PLAN_CHARACTER,                 /* run it once, after the warm-ups, and write what it counted of itself; for code that counts (character_abi.h) */
};

/* PLAN_CHARACTER writes, from plan->bytes on:  struct character_file | {unit id, blocks} for each unit |
 * for each thread: struct character_record | of each unit the counts of its blocks, CHARACTER_SELECT_WORDS for each of them   (all of it uint64_t) */
#define CHARACTER_MAGIC 0x3552414843455243ull
#define CHARACTER_BINS 192u         /* of distances in lines: four to each power of two of distance + 1 */
#define CHARACTER_OCTAVES 48u
#define CHARACTER_PAGE_BYTES 4096u
#define CHARACTER_PLACES 64u        /* of a page, a line each: sets of a cache that is looked up before the address is translated */
#define CHARACTER_WAYS 32u          /* no such cache has more */
#define CHARACTER_UNITS_MOST 4096u
#define CHARACTER_GAPS 48u          /* of instructions between jumps, four to each power of two of them + 1 */
/* A use by the instruction's steps: a jump; as prefetchers see it coming; likewise, but so soon after a jump that they may not have caught up. */
enum character_kind { CHARACTER_IRREGULAR, CHARACTER_REGULAR, CHARACTER_EARLY, CHARACTER_KINDS };
struct character_file { uint64_t magic, shift, threads, units; };
struct character_record {
    uint64_t moves;                 /* times that an instruction went on to another line than it used before */
    uint64_t branches, mispredicted;    /* conditional branches; by a predictor with global histories */
    uint64_t resolving_cycles;      /* that the conditions of those mispredicted take, all together */
    uint64_t uses[2][CHARACTER_KINDS][CHARACTER_BINS];      /* of followed lines: [read, written][kind][distance] */
    uint64_t cold[2][CHARACTER_KINDS];      /* likewise, but never used before */
    uint64_t foreign[2][CHARACTER_BINS];    /* of the uses those of lines that another thread wrote since: [jumps, others][distance] */
    uint64_t jumps[2][CHARACTER_GAPS];      /* irregular uses of lines that no near cache has kept, of all lines: [read, written][instructions since the last of them; 0: it could be foreseen] */
    uint64_t pages[CHARACTER_BINS]; /* uses of another page than lately, by distance in pages; of all of them */
    uint64_t writebacks[CHARACTER_OCTAVES]; /* of followed lines that had been written, from a cache of 2^k lines */
};

struct plan_policy {
    uint32_t task;                  /* enum plan_task */
    uint32_t learn;                 /* 1: a first untimed run learns what is written, later only that is restored; 0: restore all */
    uint32_t warmups;               /* untimed runs before the first timed one, the learning run included */
    uint32_t repeat_least, repeat_most;     /* timed runs: at least, at most (PLAN_SAMPLES) */
    uint32_t sample_shots;          /* 0: replay it whole. Else sample inside the region if that can be: shots at most (4 to 16), */
    uint32_t sample_shots_usual;    /* where later ones are not faster, and two do not differ, */
    uint32_t sample_shots_least;    /* and at least, even where they agree; */
    uint32_t sample_blocks;         /* blocks of iterations of one loop in one shot at most (1 to 8); */
    uint32_t sample_parts;          /* threads of the largest team that this process will have, if loops are to be sampled so that it finds their pages; at most 4; 0: as each team is */
    uint32_t sample_gain;           /* not where a shot takes more than such a part of the region's time; 0: whatever it takes */
    uint32_t rehearse;              /* 1: where no untimed run comes before the first timed one, one shows which pages it needs; 0: all captured pages are made
                                       the process's own instead (shots are always rehearsed) */
    uint32_t faulting;              /* 1: what the region touches first gets page frames that nobody has just used */
    uint32_t displace_kib;          /* before each run of the region, untimed ones as well, each thread reads so much other memory; 0: none */
    uint32_t watched;               /* 1: a library that was loaded beside records the process, and is told of timed runs by PLAN_MARK_FUNCTION */
    uint32_t character_shift;       /* PLAN_CHARACTER: of all lines a share of 2^-shift is followed */
    uint32_t helpers;               /* 1: the program makes target tasks: the OpenMP runtime's team for these is there before anything is timed */
    uint32_t starts;                /* 1: how late the team's threads begin is measured, while the entering one works: milliseconds */
    uint32_t fill;                  /* 1: caches that are to be cold are filled with other data, part of it written; 0: only emptied */
    uint32_t continues;             /* as a step has it, behind the last one */
    uint32_t watch_speed;           /* 1: known work is timed beside timed runs, on all threads of the team at once */
    uint32_t stays;                 /* 1: when its result is there, the process says so by a byte (done) and waits for its turn: the same codelet with another policy */
    uint32_t threads;               /* of the team; the runtime is told by the environment, of a later turn's by this */
    uint32_t inner_threads;         /* that its threads' own teams, which no clause says, are to have; 0: as many */
    uint32_t looks;                 /* 1: a single thread times it on one processor after the other first, and finds out alone_ns and alone_clock_ns */
    uint32_t rates;                 /* 1: when all was timed, how fast memory is restored is measured: result.rates */
    uint64_t full_ns;               /* what that takes where nothing slows the processors down, as far as other processes with so many threads know; 0: unknown */
    uint64_t alone_ns, alone_clock_ns;          /* what it takes a single thread, and a piece of work that only waits for itself, at the same clock; 0: unknown, or no measure
                                       for so many threads, which share cores */
    uint64_t await_ns;              /* so long in all processors that are slow are waited for, before timed runs */
    uint64_t sample_census_ns;      /* tasks are counted level by level until that took so long; 0: no such limit */
    uint64_t sample_region_ns;      /* what the region took in the program, as with so many threads; 0: nobody knows */
    uint64_t sample_made_pages;     /* that were not there before the region and are there behind it; UINT64_MAX: nobody knows */
    double sample_fraction;         /* share of a loop's iterations that one shot runs (above 0, at most 1) */
    uint64_t budget_ns;             /* after repeat_least runs: stop when so much time went by since the first of them began; 0: no such limit */
    uint64_t long_ns;               /* a run that takes longer is timed once only; 0: no such limit */
    uint64_t walk_ns, walk_first_ns;        /* where all that the first timed walk through steps times took no more than walk_ns (that less walk_first_ns, where its first step does not count),
                                       that walk is enough, whatever repeat_least says; 0: it is not */
    uint64_t warm_ns;               /* no more untimed runs once one of them, not the first, took so long; 0: all of them */
    uint64_t first_most_ns;         /* without an untimed run: if the first timed one takes longer, it was that; 0: whatever it takes */
    uint64_t settle_ns;             /* more untimed runs while they get faster, until these took so long (PLAN_SETTLES at most); 0: none */
};

#define PLAN_SETTLES 30u
/* A processor is slow that takes longer over the known work by such a part of what it takes at full speed; full_ns 0: not known. */
#define PLAN_SLOW_PARTS 8u
static inline bool plan_is_slow(uint64_t work_ns, uint64_t full_ns) { return full_ns && work_ns > full_ns + full_ns / PLAN_SLOW_PARTS; }

/* Caches are filled by the launcher, whose memory that takes: a thread of a codelet's that is to find other data in its processor's caches asks, and sleeps until it is done. One request
 * for each thread of a team; those that nobody serves do without. `asked` is raised by the codelet, `done` follows it; both are futexes. A line each, since different threads wait there. */
#define PLAN_FILLERS 64u
struct plan_filler {
    _Alignas(64) _Atomic uint32_t asked;
    _Atomic uint32_t done;
    _Atomic uint32_t served;        /* 1: somebody waits for it */
    uint32_t processor;             /* that the thread runs on */
    uint32_t part, parts;           /* of the memory */
    uint64_t written, of;           /* of so many pages so many are written, the others only read */
};

/* What the time of a process goes into, one after the other from the request for it to its end. */
#define PLAN_PHASES(X) X(START, "start") X(MAP, "map") X(TEAM, "team") X(PREPARE, "prepare") X(REHEARSE, "rehearse") X(LEARN, "learn") \
    X(RESTORE, "restore") X(PRECEDE, "precede") X(COOL, "cool") X(WARM, "warm") X(RUN, "run") X(END, "end")
#define PLAN_PHASE_ENTRY(name, text) PLAN_PHASE_##name,
enum plan_phase { PLAN_PHASES(PLAN_PHASE_ENTRY) PLAN_PHASE_COUNT };

enum plan_state {
    PLAN_PREPARED,                  /* the launcher wrote it; the process has not begun */
    PLAN_STARTED,
    PLAN_COLLIDED,                  /* an address range that the codelet needs is taken: start again */
    PLAN_UNMAPPED,                  /* the kernel does not give it that range: result.message */
    PLAN_RUNNING,                   /* memory stands; the region runs, or is being restored */
    PLAN_CRASHED,                   /* a signal: result.signal, result.fault_address */
    PLAN_FAILED,                    /* result.message says why */
    PLAN_UNREPEATABLE,              /* the region needs what only the original had: result.message */
    PLAN_REFUSED,                   /* this processor cannot run it: result.message says what it lacks */
    PLAN_DONE,
};

/* The launcher wakes the process up (a futex) when it has said one of the last two. */
enum plan_turn { PLAN_TURN_WAIT, PLAN_TURN_ON, PLAN_TURN_END };

struct plan_difference {            /* one run of at most eight bytes that are not as expected */
    uint64_t address;               /* of the captured process; in the captured TLS block for thread-local variables; for states below */
    uint64_t expected, found;       /* as little-endian words, only `bytes` bytes are meant */
    uint16_t bytes;
    uint16_t leftover;              /* 1: in a block that the region allocated, and all that differs may be what is left of an address that somebody kept there before */
    uint32_t thread_local_of;       /* 1 + number of the thread, 0 for ordinary memory; or a state that no memory holds: */
#define PLAN_STATE_LOCK UINT32_MAX          /* how often the OpenMP lock at the address is held */
#define PLAN_STATE_RANDOM (UINT32_MAX - 1)  /* random numbers; the address: enum plan_random_kind times PLAN_RANDOM_BYTES, plus an offset */
};

struct plan_rates {                 /* all 0: not measured */
    uint64_t captured_pages, touched_pages;     /* of the memory at the region's start; of them, those that this process has mapped */
    uint64_t restored_bytes, dropped_bytes, restore_ns;     /* between two repetitions: copied, made absent again; the time for both, median */
    uint64_t copied_bytes, copy_ns; /* memcpy of memory that no cache holds, by the same threads; median */
};

struct plan_result {
    _Atomic uint32_t state;         /* enum plan_state */
    _Atomic uint32_t progress;      /* grows with each step: a process in which it stands still hangs */
    _Atomic uint32_t inside;        /* 1: the region's own code runs */
    _Atomic uint32_t told;          /* threads that told where they are, or that they are nowhere in the program */
    uint32_t threads;               /* of the team that ran */
    int32_t signal;
    uint32_t runtime_aborted;       /* 1: of SIGABRT, that the OpenMP runtime itself called abort */
    uint64_t fault_address;
    uint64_t collision_start, collision_end;
    uint64_t written_pages, dropped_pages;      /* restored, and made absent again, between repetitions */
    uint64_t fork_ns;               /* PLAN_MEASURE: what a parallel region takes that does nothing; median */
    uint64_t start_ns;              /* the same: how much later than the entering thread, which worked, the last thread of the new team began */
    uint64_t full_ns;               /* with watch_speed: the least that the known work took, on any of the team's processors; 0: it was not timed */
    uint64_t line_ns;               /* with watch_speed, of a team of two and more: what a cache line takes from one thread to the next; 0: not known */
    uint64_t alone_ns, alone_clock_ns;          /* as the policy has them, where it looks */
    uint64_t looks, slower_ppm;     /* with watch_speed: how often it was timed when a timed run began or had ended; how much longer than full_ns it took then, in millionths, all together */
    uint64_t awaited_ns;            /* the same: how long slow processors were waited for */
    uint64_t laid_pages;            /* of written_pages, those that are restored between the last step and the region */
    uint64_t functions_redirected, functions_skipped;
    _Atomic uint64_t heap_releases; /* not 0: captured blocks were freed or grown */
    _Atomic uint64_t asked;         /* PLAN_VERIFY: a bit for each enum plan_ask that the region called */
    uint64_t compared_bytes, different_bytes;
    uint64_t renamed_pointers;      /* to blocks that the region allocated, into libraries, or to equal constants: where these lie now */
    uint64_t made_blocks;           /* that the region allocated, which were compared */
    uint64_t spilled_count;         /* struct plan_difference from plan->bytes on, in the plan's file: those found first */
    uint64_t difference_count;      /* entries of differences: those found later */
    struct plan_rates rates;
    uint64_t character_bytes;       /* that PLAN_CHARACTER wrote */
    uint64_t sample_count;
    _Atomic uint32_t sampling;      /* 1: samples_ns are extrapolated times of shots (while it runs: a shot is being run) */
    uint32_t locale_missing;        /* 1: the program's locale is not installed here, and the C library's default is used */
    uint32_t warmups;               /* untimed runs of the whole region before the first timed one */
    _Atomic uint32_t held;          /* 1: the launcher waits for the end of a process before this one; nothing is measured until it clears this */
    uint64_t sample_real_ns;        /* what the shots really took */
    uint64_t sample_iterations, sample_run;     /* of the loops: iterations that there are, and those that were timed, in all shots together */
    uint64_t marked_ns;             /* of the monotonic clock: when the last phase ended; the launcher's request at first */
    uint64_t phases_ns[PLAN_PHASE_COUNT];
    char refusal[160];              /* why it was replayed whole although the plan asks for shots */
    char message[256];
    char missing[160];              /* a file that the region opens, which is not there and may have been in the program; or "" */
    char places[512];               /* of threads of a process that hangs: "thread 0 in omp_set_lock, called by work.omp_outlined; .." */
    uint64_t samples_ns[PLAN_SAMPLES];          /* wall time of each timed repetition */
    uint64_t cpu_ns[PLAN_SAMPLES];              /* CPU time of the thread that enters the region, in the same repetition */
    struct plan_step_samples steps[PLAN_STEPS_MAX];
    uint32_t switches[PLAN_SAMPLES];            /* how often the kernel took a processor away from any thread meanwhile; 0 also where all threads together
                                       waited less than a hundredth of the time for one. With more threads than processors: 1 if all threads together did not have
                                       all processors, but for a twenty-fifth of the time */
    uint32_t switches_tell;         /* 0: with more threads than processors all timed regions of the process looked disturbed each time, as where threads sleep while they wait */
    uint64_t waits_ns[PLAN_SAMPLES];            /* of those with `switches`, as long as these cost them at most: how long all threads together waited for a processor; with more threads
                                       than processors, what they lacked of all processors' time (of 0.1 s and more, pcere_crowd_is_disturbed); 0: not known */
    uint32_t works_ns[PLAN_SAMPLES];            /* what the known work took just before or just after, on the slowest of the team's processors; 0: it was not timed */
    struct plan_difference differences[PLAN_DIFFERENCES];
};

struct replay_plan {
    char magic[8];
    uint32_t version;
    uint32_t path;                  /* enum pcere_path */
    uint64_t bytes;                 /* of the whole file */
    uint64_t pages_bytes;           /* of the pages file */
    uint64_t page_bytes;            /* size of a page */
    uint64_t stack_pointer;
    uint64_t unit_id;               /* of the unit that holds the region; 0: any */
    uint64_t strings;               /* offset; the file ends in a NUL */
    uint32_t region;                /* name, offset in the strings */
    int32_t schedule_kind, schedule_chunk;  /* as omp_set_schedule takes them; kind 0: leave it */
    int32_t max_active_levels, dynamic;     /* 0 and -1: leave it */
    int32_t proc_bind;              /* the region's clause, as __kmpc_push_proc_bind takes it; -1: none. A step's as well */
    uint32_t binds;                 /* 1: such clauses count, as in the program; 0: there they had no places to go to, or the user wants something else */
    uint32_t locale;                /* as struct store_codelet has it, offset in the strings */
    uint32_t directory;             /* working directory of the capture, offset in the strings */
    uint32_t image;                 /* that holds the region, in `images` */
    uint32_t does_io;               /* 1: the region was seen to read or write, or nobody saw its end */
    uint32_t reads_opened;          /* as struct store_codelet has it */
    uint32_t filler;                /* descriptor of a memory file of PLAN_FILLERS requests (struct plan_filler); 0: nobody fills caches */
    uint32_t done;                  /* descriptor that the process closes when its result is there, some milliseconds before its memory is given back; 0: none */
    uint32_t parent;                /* the launcher's process, with which the codelet's ends; 0: it goes on alone */
    uint32_t foreign_allocator;     /* 1: sizes do not stand in front of captured heap blocks */
    uint32_t huge_pages;            /* 1: the kernel gives huge pages to all memory that does not say otherwise */
    uint64_t stack_limit;           /* the launcher's, of stacks (RLIMIT_STACK); RLIM_INFINITY: none. The process may have begun with another one (launcher/spawn.c) */
    uint64_t environment;           /* captured value of environ, or 0 */
    uint64_t ended_ns;              /* as struct store_codelet has it */
    uint32_t made_in_place;         /* 1: the same blocks are to be had at the same addresses, since one thread allocates in both */
    uint32_t allocates;             /* 1: the region, or a step, was seen to */
    uint64_t made_address, made_bytes;      /* PLAN_VERIFY: where the region allocated, as include/pcere/fresh_blocks.h has it; what no copy of `expected` has there is zero */
    uint64_t float_control;         /* as struct store_setting has it */
    uint64_t pointer_guard;         /* likewise */
    uint32_t global_thread;         /* the OpenMP runtime's number of the entering thread, in the captured process */
    uint32_t level_count;
    struct plan_level levels[PLAN_LEVELS_MAX];  /* outermost first */
    uint32_t teams, team;           /* of the league around, and the number of the one that the region lies in; 1 (or 0), 0: there is none, or it is of one team */
    uint32_t greedy;                /* 1: static schedules without a chunk give each but the last as much as fits (KMP_SCHEDULE=static,greedy), not all about the same */
    uint32_t places_ours;           /* 1: the program ran without places of its user's */
    int32_t thread_limit, reserved; /* as struct store_setting has it */
    struct plan_policy policy;
    _Atomic uint32_t turn;          /* enum plan_turn: what a process that stays waits for */
    struct plan_table words;        /* uint64_t */
    struct plan_table mappings;     /* struct plan_mapping, ascending */
    struct plan_table aliases;      /* struct plan_alias: no copy has a page there */
    struct plan_table before;       /* struct plan_copy: memory at the region's start */
    struct plan_table expected;     /* struct plan_copy: memory after it, what it allocated included; only for PLAN_VERIFY */
    struct plan_table ignored;      /* struct plan_range: not compared */
    struct plan_table changed;      /* struct plan_range: whole pages of `before` that are known to have other content after the region */
    struct plan_table zeroed;       /* struct plan_range: cleared after restoring, e.g. locks of the original's critical constructs */
    struct plan_table images;       /* struct plan_image */
    struct plan_table threads;      /* struct plan_thread */
    struct plan_table pointers;     /* struct plan_pointer */
    struct plan_table locks;        /* struct plan_lock */
    struct plan_table signals;      /* struct plan_signal */
    struct plan_table keys;         /* struct plan_key */
    struct plan_table relocations;  /* struct plan_relocation */
    struct plan_table descriptors;  /* struct plan_descriptor */
    struct plan_table streams;      /* struct plan_stream */
    struct plan_table contents;     /* struct plan_copy: `address` is an offset in a file */
    struct plan_table randoms;      /* struct plan_random */
    struct plan_table externals;    /* struct plan_external, ascending: those that captured memory may point to */
    struct plan_table steps;        /* struct plan_step, in their order: what precedes the region */
    struct plan_table step_words;   /* uint64_t */
    struct plan_table step_copies;  /* struct plan_copy */
    struct plan_table step_moves;   /* struct plan_copy: what is not there before a step, or the region, where the one before it has run, the region before the first step;
                                       as captures say */
    struct plan_moves region_moves[2];
    uint32_t moves_known;           /* 1: these are there; 0: which they are is to be learnt by walks */
    uint32_t unused;
    struct plan_result result;
};

#endif
