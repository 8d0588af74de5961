/* capture-rt/target/target.h - what the parts of the library inside the user's process know of each other.
 *
 * The state lies in pages of their own that the kernel wipes in a forked child (MADV_WIPEONFORK): there `active` reads 0, and every
 * probe returns at once, whichever way the child was made. Nothing here allocates from the program's heap, prints, exits, or
 * changes errno on the way of a probe.
 */
#ifndef PCERE_CAPTURE_TARGET_H
#define PCERE_CAPTURE_TARGET_H

#include "capture-rt/protocol.h"
#include "include/pcere/rt_abi.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>

#define TARGET_EXPORT __attribute__((visibility("default")))
#define TARGET_DEPTH_MAX 64u

#define TARGET_CONTEXTS 4

struct target_choice {              /* of choice.c: what was thought of an invocation before it began */
    uint64_t keys[TARGET_CONTEXTS];
    uint32_t region, magnitude;
    bool made;                      /* false: nothing was */
    bool light;                     /* its region is: nothing had to be */
    bool known, sure;               /* how long it takes was foretold: magnitude; by what was right lately */
    bool near;                      /* soon after a stop */
    bool settled;                   /* others of its kind came before */
    enum capture_purse purse;       /* which a stop is paid from */
};

struct target_costs {               /* of a thread so far; of the process its CPU time, and in memory, ever and now (0: not read) */
    uint64_t cpu_ns, faults, switches, sleeps, resident_most_bytes, resident_bytes;
};

struct target_alarm { uint64_t left_ns, interval_ns; };     /* to the next handler; between two. 0: none */
struct target_alarms {              /* of the program's timers by kind, as they were when the last stop was over */
    uint64_t real_ns, cpu_ns;       /* the time then; processor time of the process */
    struct target_alarm real[CAPTURE_TIMER_KINDS], cpu[CAPTURE_TIMER_KINDS];
};

#define TARGET_TIMERS_MAX 32u
struct target_timer {
    int number;
    enum capture_timer kind;
    bool cpu, handled;              /* counts processor time; a handler runs when it expires */
    uint64_t left_ns, interval_ns;
    uint64_t set_ns;                /* what it was put off to */
};

struct target_timers {
    uint32_t count, late_count;
    bool put_off;                   /* a captured invocation is open: `late` are */
    bool waited_for;                /* until they expired all the same: never again */
    uint64_t put_off_cpu_ns;        /* when: processor time */
    struct target_alarms alarms;
    struct target_timer items[TARGET_TIMERS_MAX], late[TARGET_TIMERS_MAX];
};

struct target_open {                /* a region that a thread began and has not ended */
    const struct pcere_site *site;
    uintptr_t stack_pointer;        /* of the program, just before the begin probe was called */
    uint64_t place;                 /* which thread of which teams began it: see target_nesting_place */
    struct capture_record record;
    struct target_costs before;
    uint64_t stall_before_ns;       /* of all stops until then: later ones are no part of its time */
    uint64_t stops_before;          /* of all stops, when it began */
    struct target_choice choice;
    bool nested, captured;
    bool probed;                    /* its probes are timed: they take long, and outside regions */
    bool sampled;                   /* they are short, and timed for many others as well */
    uint32_t alarmed;               /* as in struct capture_message, */
    bool alarmed_rarely;
    bool forgotten;                 /* it is not to be captured after all: for that, or since it is of no use */
    struct target_alarms alarms;    /* as of the stop before it, if it is captured */
    uint64_t captured_as;           /* its number for the tracer: that of the planned invocation that it stands for, else its own */
};

#define TARGET_FRAME_BYTES 4096u        /* of a function's frame: what is spilled lies lowest */
#define TARGET_STACK_MOST (UINT64_C(1) << 32)
struct target_frame {               /* of the function that a captured region was begun in last */
    const struct target_open *open; /* whose; NULL: unknown */
    size_t bytes;                   /* from its stack pointer on */
    uint32_t word_count;
    uint64_t words[CAPTURE_FRAME_WORDS];
    char copy[TARGET_FRAME_BYTES];
};

/* A thread's switches and processor time, looked at now and then beside short regions, which cannot bear it: so a processor that was lost in one of them shows behind it. */
struct target_look { uint64_t at_ns, cpu_ns, switches, sleeps, stops; };

struct target_thread {
    uintptr_t thread_pointer;
    struct target_look look;
    uint32_t depth;                 /* open regions */
    uint32_t depth_beyond;          /* begun when `open` was full */
    struct target_open open[TARGET_DEPTH_MAX];
};

struct target_state {
    uint32_t active;                /* 0: probes do nothing */
    uint32_t runtime_started;
    uintptr_t initial_thread;       /* its thread pointer */
    struct capture_log *log;
    struct capture_record *records;
    int socket;                     /* -1: nobody to stop for */
    bool tracking_sent;
    pthread_mutex_t stopping;       /* log->stop, the socket and captures_open belong to its owner */
    uint64_t stop_cpu_ns;           /* what the last stop took the tracer */
    uint32_t captures_open;         /* captured invocations that have not ended */
    struct target_timers timers;
    pthread_mutex_t choosing;       /* contexts and histories in the log */
    uint64_t attached_ns;
    uint64_t begin_cost_ns, near_cost_ns, end_cost_ns;  /* of recent stops; near: soon after another one; 0: none yet */
    uint64_t stopped_ns;            /* when the last one was over */
    uint64_t waiting_ns;            /* spent in invocations that were worth a stop, but were let pass to wait for others */
    uint64_t light_ns;              /* regions that took less so far are neither learnt about nor stopped at by themselves */
    uint64_t least_ns, least_at_ns; /* nor beside others, if they took less than this; when that was found out */
    uint64_t gathering_ns;          /* passed in regions that wait for others' stops, since the last stop that was made for itself */
    struct target_frame frame;
    pthread_mutex_t claiming;       /* threads[thread_count] */
    uint32_t thread_count;
    struct target_thread threads[CAPTURE_THREADS_MAX];
};

extern struct target_state *target_state;   /* never NULL; an inert one before the constructor and without a tracer */

static inline uintptr_t target_thread_pointer(void)
{
    uintptr_t pointer;
    __asm__("movq %%fs:0, %0" : "=r"(pointer));
    return pointer;
}

static inline uint64_t target_pointer_guard(void)   /* of the GNU C library */
{
    uintptr_t guard;
    __asm__("movq %%fs:0x30, %0" : "=r"(guard));
    return guard;
}

static inline uint64_t target_float_control(void)    /* of this thread, as struct capture_stop has it */
{
    uint32_t vectors;
    uint16_t old;
    __asm__("stmxcsr %0\n\tfnstcw %1" : "=m"(vectors), "=m"(old));
    return (uint64_t)old << 32 | vectors;
}

/* Of a function, as data. */
#define TARGET_ADDRESS(function) target_address_of((void (*)(void))(function))
static inline const void *target_address_of(void (*function)(void))
{
    const void *address;
    memcpy(&address, &function, sizeof address);
    return address;
}

uint64_t target_clock_ns(void);     /* CLOCK_MONOTONIC */

/* probes.c: a region of a unit without probes begins, entered by code whose stack pointer this is; its end is __pcere_region_end of the same site.
 * False: it is not followed, and has no end. */
bool target_plain_begin(struct target_state *state, struct pcere_site *site, uintptr_t stack_pointer);

/* sites.c: the region of a site: its index in log->regions, or TARGET_REGION_NONE, if it is not followed. */
#define TARGET_REGION_NONE UINT32_MAX
uint32_t target_site_region(struct capture_log *log, struct pcere_site *site);
/* The site of a region without probes, made when it is first seen; its name is the one that the plugin would have given, if `source` (";file;function;
 * line;column;;", may be NULL) tells. `version`: of the other plugin whose probe stands before it, or 0. NULL: there is no room for more. */
struct pcere_site *target_plain_site(struct target_state *state, const void *code, const char *source, uint32_t version);

/* fork.c: the probe was here just before, so that this thread's next entry of a region is followed already. */
enum { TARGET_FORK_DUE = 1, TARGET_FORK_FRAME = 2 /* and target_frame_compare before it */ };
extern __thread uint32_t target_fork_due __attribute__((visibility("hidden")));     /* 0: the next fork of this thread is of a region without probes */
extern __thread uint32_t target_fork_version __attribute__((visibility("hidden")));  /* of the plugin whose probe was here just before, where it is not ours; else 0 */
typedef void target_microtask(int32_t *global_number, int32_t *number, ...);
typedef void target_fork_call(void *ident, int32_t argc, target_microtask *microtask, ...);
target_fork_call *target_fork_next(void);       /* the OpenMP runtime's own, or NULL */
/* Look for it: among what all of the process see, or, with an address in it, what a library that was loaded for itself brought along. False: it is not there. */
bool target_fork_find(const void *caller);
/* Of the runtime that was found, else as this library sees it; `own`: what this library puts before it, or NULL. */
void *target_runtime_symbol(const char *name, const void *own);

/* beside.c: `fork` is where regions are entered: does GCC's runtime stand before that one? */
void target_beside_find(const void *fork);
/* `found`, or, where that is GCC's and regions are entered in the one behind it, that one's function of this name. */
void *target_beside_pass(const char *name, void *found);
/* GCC's function, where it stands first and the calling object means it; NULL: it means the one in which regions are entered. */
void *target_beside_other(const char *name, const void *caller);

/* attach.c: an OpenMP runtime was not there when the library woke up: is it now, where `caller` is? Nothing, if it was found before. */
void target_inactive_note(void);    /* a region is entered where the library is not active: perhaps in a forked process */
void target_runtime_attach(const void *caller);

/* nesting.c: the calling thread's open regions. NULL: there are more threads than states. */
struct target_thread *target_thread_own(struct target_state *state);
/* How the calling thread is counted in the teams around it: equal in no two threads that one initial thread leads to. *ret_levels: parallel regions
 * around; `ret_team` (may be NULL): the same of the thread that began the innermost of them. */
uint64_t target_nesting_place(uint32_t *ret_levels, uint64_t *ret_team);
/* The region whose team the thread is in, as in struct capture_record. */
uint32_t target_nesting_parent(const struct target_state *state, const struct target_thread *thread, uint32_t levels, uint64_t team);

/* stop.c: tell the tracer, and wait until it has read the process. Between enter and leave; `words` lie in log->stop already. False: no
 * more stops, and nothing was entered. `begins`: a captured invocation, which is not to be told of a second one beside it. */
bool target_stop_enter(struct target_state *state, bool begins);
bool target_stop(struct target_state *state, struct capture_message *message);     /* false: the invocation is not captured */
void target_stop_leave(struct target_state *state);

/* timers.c: the program's timers stand still; they go on, those of processor time put off if an invocation is captured from here; no captured invocation is open any
 * more; the kinds (a bit of enum capture_timer each) of those of which handlers ran since: *ret_rarely: not in each so long a time. */
void target_timers_stop(struct target_timers *timers);
void target_timers_go(struct target_timers *timers, bool captured);
void target_timers_resume(struct target_timers *timers);
uint32_t target_timers_ran(const struct target_alarms *before, bool *ret_rarely);

/* choice.c, in a choosing run. An invocation begins: is it worth a stop? It was stopped for: what that took. It ended: is its codelet worth
 * keeping; and, before its record is written, learn from it. */
bool target_choice_begin(struct target_state *state, struct target_choice *choice, struct capture_record *record, uintptr_t stack_pointer);
void target_choice_paid(struct target_state *state, const struct target_choice *choice, bool begins);
bool target_choice_keep(struct target_state *state, const struct target_choice *choice, uint64_t time_ns);
void target_choice_end(struct target_state *state, const struct target_choice *choice, struct capture_record *record, bool captured, bool kept);

/* runtime.c: find what the OpenMP runtime answers; else all below do nothing, and know nothing. */
void target_runtime_resolve(void);
/* Start it by an empty region; note each thread's thread pointer in log->stop.threads. Both restore the clauses
 * that may have been pushed for the region to come: the number of threads (0: none) and the binding (-1: none). */
void target_runtime_start(const struct target_state *state, int32_t num_threads, int32_t proc_bind);
void target_runtime_threads(struct target_state *state, int32_t num_threads, int32_t proc_bind);
int target_runtime_max_threads(void);   /* 0 without a runtime that can be asked */
int target_runtime_asked(void);         /* omp_get_max_threads(), whatever the limit on threads: what the next team is asked to have; 0 likewise */
void target_runtime_settings(struct capture_stop *stop);
int target_runtime_level(void);         /* 0 outside parallel regions */
uint32_t target_runtime_teams(void);    /* of the league around, which is no parallel region; 1 outside */
int target_runtime_number(int level);   /* the calling thread's in the team of that level, or of its ancestor there */
int target_runtime_team(int level);     /* size of that team */
const void *target_runtime_address(void);   /* somewhere in its text, or NULL */
void target_runtime_each(void (*visit)(uint32_t thread), int32_t num_threads, int32_t proc_bind);   /* on each thread of a team */

/* copies.c: threads' copies of threadprivate variables lie in memory of the program's, behind a table (include/pcere/threadprivate.h). Find what
 * calls are forwarded to; at a stop: no thread is in the region's team; this one is, by that number; where nothing lies yet, and stop.copies_bytes. */
void target_copies_resolve(void);
void target_copies_forget(void);
void target_copies_note(int32_t thread, uint32_t number);
bool target_copies_unused(uint64_t *ret_start, uint64_t *ret_end);      /* false: nobody ever had a copy */

/* modules.c: which libraries of the user have thread-local variables; make the calling thread's. */
void target_modules_find(void);
void target_modules_touch(void);
/* Once, in the initial thread: where the dynamic linker counts. At a stop: those words of all libraries, for the log. */
void target_modules_resolve(void);
void target_modules_fill(struct capture_stop *stop);

/* reserve.c: addresses for what is not the program's, zeroed; they may be touched from `start` to `usable`. Who takes them sees to it that one thread at a time asks. */
struct target_room { char *start, *usable, *end; };
/* So many bytes, or a fourth, or a fourth of that, but no fewer than `bytes_least`. False: there are none, or a limit forbids it. */
bool target_room_take(struct target_room *room, size_t bytes, size_t bytes_least);
/* Let it be touched up to `end`. False: it ends before, or a limit forbids it. */
bool target_room_use(struct target_room *room, const char *end);
extern size_t target_reserved_bytes;                            /* all of these, and the log: what the program has less of under a limit of addresses than by itself */
extern size_t target_usable_bytes;                              /* of these: what it has less of under a limit of data */

/* Whose a block is: asked at every call of malloc and free, so it takes no call of its own. */
extern struct target_whose {
    uintptr_t arena_start, arena_bytes;     /* 0 bytes: there is none yet */
    uintptr_t fresh_start, fresh_bytes;
    uint32_t fresh_depth;                   /* captured regions that run */
} target_whose;
static inline bool target_arena_owns(const void *block) { return (uintptr_t)block - target_whose.arena_start < target_whose.arena_bytes; }
static inline bool target_fresh_owns(const void *block) { return (uintptr_t)block - target_whose.fresh_start < target_whose.fresh_bytes; }
static inline bool target_fresh_is_open(void) { return __atomic_load_n(&target_whose.fresh_depth, __ATOMIC_RELAXED) > 0; }

/* arena.c: memory for the OpenMP runtime, and what else is not the program's, apart from its heap. */
bool target_arena_open(void);                                   /* once; again it does nothing */
void target_arena_range(uint64_t *ret_start, uint64_t *ret_end);
void *target_arena_allocate(size_t bytes, size_t alignment);    /* NULL: full */
void target_arena_free(void *block);
size_t target_arena_bytes(const void *block);                   /* usable ones */

/* fresh.c: blocks that the program allocates and frees inside a captured region. */
void target_fresh_reserve(void);
void target_fresh_ranges(uint64_t ret_ranges[4]);               /* two ranges that are never the program's: start, end, start, end */
void target_fresh_open(void);                                   /* a captured region begins; all else below does nothing before */
bool target_fresh_close(void);                                  /* the end of the one opened last was read, or will not be; true: it allocated or freed blocks */
uint64_t target_fresh_large_pages(void);                        /* as struct capture_stop has it */
void target_fresh_trim(void);                                   /* its end is about to be read: large blocks that it freed take no memory any more */
void *target_fresh_allocate(size_t bytes, size_t alignment);    /* zeroed; NULL: no, or full */
bool target_fresh_is_new(const void *block);                    /* of the region that runs now */
size_t target_fresh_bytes(const void *block);                   /* usable ones */
void target_fresh_free(void *block);
bool target_fresh_free_later(void *block);                      /* false: free it now */

/* next_allocator.c: what allocates when the program runs by itself. */
struct target_allocator {
    void *(*malloc)(size_t bytes);
    void *(*calloc)(size_t count, size_t bytes);
    void *(*realloc)(void *block, size_t bytes);
    void *(*memalign)(size_t alignment, size_t bytes);
    void (*free)(void *block);
    size_t (*usable)(void *block);
};
extern struct target_allocator target_next;
const void *target_object_of(const void *address);              /* where the loaded object begins that it is of; NULL: of none */
bool target_allocator_is_ours(void);                            /* false: the executable has one of its own, and allocator.c is not asked */
bool target_allocator_is_foreign(void);                         /* not the C library's: sizes do not stand in front of its blocks */

/* allocator.c. The calling thread is, by +1, and is no longer, by -1, in a call by which the program has the runtime allocate. */
void target_allocator_separate(uintptr_t text_low, uintptr_t text_high);
void target_allocator_separated(uintptr_t *ret_text_low, uintptr_t *ret_text_high);       /* as it was set; before that, nothing is in it */
void target_allocator_for_program(int change);
/* divert.c: from now on the object around this address has malloc and the like from allocator.c, whoever defines them first; false: it asks for none. */
bool target_allocator_divert(const void *inside);
/* operators.c: where the program's allocator is a library with operators new and delete of its own, all loaded objects' lead through fresh.c. */
void target_operators_divert(void);
bool target_allocator_runtime(const void *address);             /* does it lie in the text of a runtime that is kept apart? */

/* keys.c, at a stop: which keys of pthread_key_create there are; then, in each thread of the team, what the calling one keeps. */
void target_keys_begin(struct capture_stop *stop);
void target_keys_note(struct capture_stop *stop, uint32_t thread);

/* threads.c, locks.c, openmp_memory.c: find the functions that calls are forwarded to. Before main: dlsym in a captured region would free what an
 * earlier failure of the dynamic linker left in the program's heap. */
void target_threads_resolve(void);
/* Who made threads so far, but for the OpenMP runtime. */
void target_threads_fill(struct capture_stop *stop);
void target_locks_resolve(void);
void target_openmp_memory_resolve(void);
/* Note in log->locks which locks are held, and by whom. The clauses as above. Not `alone`: other threads are at work, and will set free what
 * they hold, so that this thread's own locks count alone; of these, only nested ones can be told. */
void target_locks_probe(struct target_state *state, bool alone, int32_t num_threads, int32_t proc_bind);

/* locale.c: in which locale the calling thread reads and writes (stop.locale). */
void target_locale_fill(struct capture_stop *stop);

/* symbols.c: what only the process knows of its shared objects: which form of a function is in use (log->stop.indirect); and, from what they
 * import, the state of random numbers that the C library keeps (log->stop.randoms), which can be asked while no other thread draws any: `alone`.
 * At a stop; stop.ranges is filled. */
void target_symbols_fill(struct capture_stop *stop, bool alone);

/* frame.c: keep the frame of the function that begins a captured region, at the end of the begin probe; note what is another thing in it at the fork; fill
 * the log's stop with that at the region's end (NULL: with none). */
void target_frame_keep(struct target_state *state, const struct target_open *open);
void target_frame_compare(void) __attribute__((visibility("hidden")));
void target_frame_tell(struct target_state *state, const struct target_open *open);

#endif
