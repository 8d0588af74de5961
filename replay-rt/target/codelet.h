/* replay-rt/target/codelet.h - the parts of a codelet's process and how they work on each other.
 *
 * Everything here runs beside captured memory that lies at its old addresses. Nothing of this process may be inside those ranges;
 * what was captured is only reached through the region, pcere_memory_*, and pcere_threads_*. All names begin with pcere_, since the
 * program's own functions are linked into the same executable.
 */
#ifndef PCERE_REPLAY_TARGET_CODELET_H
#define PCERE_REPLAY_TARGET_CODELET_H

#include "include/pcere/codelet_abi.h"
#include "replay-rt/export/reclaim.h"
#include "replay-rt/protocol.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* What one of the system's clocks says. */
static inline uint64_t pcere_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- plan.c: the two files ------------------------------------------------------------------------------------------------ */

struct codelet {
    struct replay_plan *plan;
    unsigned char *pages;             /* private view of the pages file: what restored memory looks like */
    int plan_fd, pages_fd, filler_fd, done_fd;    /* filler_fd: of cool.c, done_fd: what the launcher waits for; or -1 */
};

#define PLAN_TABLE(codelet, name, type) ((const type *)pcere_plan_table((codelet)->plan, &(codelet)->plan->name))

/* Map both files and check all tables against their sizes. False: the files are not a plan and its pages. */
bool pcere_plan_open(const char *plan_path, const char *pages_path, struct codelet *ret_codelet);
const void *pcere_plan_table(const struct replay_plan *plan, const struct plan_table *table);
/* The first of the ranges, which ascend, that reaches beyond the address; `count`: none does. */
size_t pcere_plan_range_from(const struct plan_range *ranges, size_t count, uint64_t address);
const char *pcere_plan_string(const struct replay_plan *plan, uint32_t offset);
void pcere_plan_progress(struct codelet *codelet);
/* What was done since the last call belongs to this phase. */
void pcere_plan_phase(struct codelet *codelet, enum plan_phase phase);

/* While the launcher waits for the process before this one to give its memory back, which takes milliseconds: to be called before anything that is timed, or
 * takes much memory. What was done since the last mark belongs to `phase`. */
void pcere_plan_await(struct codelet *codelet, enum plan_phase phase);

/* The result is there: true where the plan wants the process to stay, once the launcher has put another policy into it; that is to be measured next. */
bool pcere_plan_stay(struct codelet *codelet);

/* Put state and message into the result and end the process; a plan that is NULL just ends it. */
_Noreturn void pcere_plan_end(struct codelet *codelet, enum plan_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- standby.c ------------------------------------------------------------------------------------------------------------ */

/* `arguments`: main's, of a process that stands by. Returns when plan and pages are there, under the numbers of protocol.h; ends the process where none come. */
void pcere_standby_wait(char **arguments);
/* Did this process stand by? What was done by then is not to be done again. */
bool pcere_standby_was(void);

/* ---- startup.c ------------------------------------------------------------------------------------------------------------ */

/* Copy what the kernel laid on the first stack, and make all loaded objects refer to the copy, so that the stack up to `stack_end` can be given
 * up. `argv`: as main had it. False: no memory. To be called by the only thread. */
bool pcere_startup_keep(char **argv, uint64_t stack_end);

/* Stacks, the first one's and those of threads that the region begins, have the plan's limit. */
void pcere_startup_stacks(const struct codelet *codelet);

/* ---- team.c: the OpenMP team --------------------------------------------------------------------------------------------- */

typedef void team_fn(void *context, uint32_t thread, uint32_t threads);

/* Note which processors the process has: before the OpenMP runtime binds its threads. */
void pcere_processors_find(void);
/* Run on every processor of the process, by as many threads that end with it; where memory has several nodes, or a team of `team` threads has as many
 * as there are processors, by that: pages lie near the thread that touches them first. */
void pcere_processors_run(team_fn *run, void *context, uint32_t team);
/* Has the process one for each of so many threads? */
bool pcere_processors_suffice(uint32_t threads);
/* A new thread would begin where this one works, and wait for it: with such attributes it does not run there. False: there is no other processor. */
bool pcere_processors_others(pthread_attr_t *attributes);
/* How many processors so many threads have; as many as threads if nobody knows. */
uint32_t pcere_processors_of(uint32_t threads);
/* The calling thread may run on each of them again. */
void pcere_processors_any(void);

/* As pcere_team_run; threads that the OpenMP runtime makes for it begin on processors that this one does not have. */
void pcere_workers_begin(team_fn *run, void *context);
/* Run on every thread of a team, as `#pragma omp parallel` does. */
void pcere_team_run(team_fn *run, void *context);
/* Run nothing on them: the team is awake then. */
void pcere_team_wake(void);
/* The runtime's hidden helpers, which run target tasks: made by a task that does nothing, in tens of milliseconds, where they are not there. */
void pcere_team_help(void);
/* Median time of that. */
uint64_t pcere_team_fork_ns(void);
/* All teams from now on, and what pcere_team_bind_next comes before, are bound as a proc_bind clause says; -1: none. */
void pcere_team_bind(int32_t proc_bind);
void pcere_team_bind_next(void);
/* How many threads the next team of the calling thread has, whatever pcere_settings_threads said. */
void pcere_team_size_next(uint32_t threads);
/* The same with a num_threads clause. */
void pcere_team_run_of(uint32_t threads, team_fn *run, void *context);
/* The calling thread's number in the OpenMP runtime's own tables. */
uint32_t pcere_team_runtime_number(void);

/* ---- levels.c -------------------------------------------------------------------------------------------------------------- */

/* Call `go_on`, which never returns, where the captured thread was: inside the plan's levels, with its number in each. It may be on another
 * thread than the caller's. Captured memory is mapped already: stacks of new threads lie elsewhere then. */
void pcere_levels_enter(struct codelet *codelet, void (*go_on)(void *context), void *context);

/* ---- league.c -------------------------------------------------------------------------------------------------------------- */

/* From now on the region is told that it lies in the plan's league. */
void pcere_league_enter(const struct codelet *codelet);

/* ---- waits.c ----------------------------------------------------------------------------------------------------------------- */

/* Once in each thread of the team. */
void pcere_waits_watch_thread(void);
/* What each of these threads ran, and how long it was ready to run and had no processor, so far. */
enum { WATCHED_MOST = 64 };
struct team_waits { uint32_t count; uint64_t ran_ns[WATCHED_MOST], waited_ns[WATCHED_MOST]; };
/* False: the kernel does not say. */
bool pcere_waits_so_far(struct team_waits *ret_waits);
/* How long all threads together waited between the two. */
uint64_t pcere_waits_between(const struct team_waits *before, const struct team_waits *after);
/* What a run of `wall_ns` lost where several waited for `sum_ns` together, and one of them for `longest_ns`: all of it while that is little, since the others wait for the one that waits; where it is
 * much they wait at the same time, and it is what that one waited. */
uint64_t pcere_waits_at_once(uint64_t sum_ns, uint64_t longest_ns, uint64_t wall_ns);
/* The same of what the threads waited between the two. */
uint64_t pcere_waits_lost(const struct team_waits *before, const struct team_waits *after, uint64_t wall_ns);
/* What of that somebody else can have had, in a run of `wall_ns` in which all threads of the process used `cpu_ns`: no more than these left over. Threads of teams inside the region are not watched, and what
 * the others wait for them is the region's own. */
uint64_t pcere_waits_foreign_most(uint64_t lost_ns, uint64_t wall_ns, uint64_t cpu_ns);
/* What a run of `wall_ns` lost whose `count` threads take what is left to do: others work while one waits, also while all do, so that it is what all of them waited, by their number; of that, what somebody
 * else can have had, as above. */
uint64_t pcere_waits_shared(const struct team_waits *before, const struct team_waits *after, uint32_t count, uint64_t wall_ns, uint64_t cpu_ns);
/* How long at least somebody else had processors that one of the threads waited for, all processors together, and the one that lacked longest; processors[count]: the one that each thread is bound to. */
uint64_t pcere_waits_foreign_ns(const struct team_waits *before, const struct team_waits *after, const int *processors, uint64_t *ret_longest_ns);
/* The same from `before` to now. False: not known, or a thread may use several processors; outputs are untouched. */
bool pcere_waits_for_others(const struct team_waits *before, uint64_t *ret_ns, uint64_t *ret_longest_ns);

/* ---- speed.c: processors that somebody else slows down ------------------------------------------------------------------------- */

/* What the known work takes a single thread, if the plan wants to know; before there is a team. */
void pcere_speed_look(struct codelet *codelet);
/* What it takes the team at full speed; on the thread that enters the region. */
void pcere_speed_begin(struct codelet *codelet);
/* Wait until all processors of the team are at full speed, as long as the plan allows. Their team is awake then. */
void pcere_speed_await(void);
/* What the known work took on the slowest of them just before (pcere_speed_await) or takes now; 0: it is not timed. */
uint32_t pcere_speed_after(void);
/* Is that slow, and may another run be at full speed, since more waiting is allowed? */
bool pcere_speed_is_slow(uint32_t work_ns);
bool pcere_speed_may_wait(void);

/* ---- repeats.c: whether a timed run was disturbed, and whether there were enough --------------------------------------------------- */

/* Of a run of `wall_ns` with more threads than processors, in which all threads of the process together used `cpu_ns`: was some processor not theirs, or idle?
 * *ret_lost_ns: for how long, all processors together. In a run of 0.1 s and more what the threads waited since `waits` (NULL: not known) tells these two apart: then it is what the run lost by those that were not
 * theirs, and it was disturbed where that is much (*ret_tells: that is known). */
bool pcere_crowd_is_disturbed(uint32_t threads, uint64_t wall_ns, uint64_t cpu_ns, const struct team_waits *waits, uint64_t *ret_lost_ns, bool *ret_tells);
/* Has each region that is timed before this one a run at full speed? */
bool pcere_steps_are_fast(const struct codelet *codelet);
/* With several threads: have all regions that are timed, but for those that weigh next to nothing beside the others, a run that nothing disturbed, or two that
 * agree, or as many as that is worth? */
bool pcere_repeats_settle(const struct codelet *codelet);
/* Did each of the last runs, in order, take clearly less than the one before? Then caches are not full yet. */
bool pcere_repeats_fall(const uint64_t *times_ns, uint64_t count);
/* After the first timed walk: did all that it timed take no more than the plan expects? */
bool pcere_walk_is_fast(const struct codelet *codelet);
/* Did the first timed walk take clearly longer than another one? Then caches that are larger than what it uses were not as in the program yet: it counts as a warm-up, its times go. */
bool pcere_walk_first_drop(struct codelet *codelet);
/* When all is timed: runs, or walks, at the beginning that took clearly longer than the second half of them were warm-ups as well. */
void pcere_slow_begin_drop(struct codelet *codelet);

/* ---- pagemap.c --------------------------------------------------------------------------------------------------------------- */

enum page_state {
    PAGE_UNKNOWN,                     /* the kernel does not say */
    PAGE_ABSENT,                      /* never touched */
    PAGE_OF_FILE,                     /* of a mapped file, as the file has it */
    PAGE_OWN,                         /* this process's own: of no file, or written */
};

/* Answers are read in batches and kept until the next refresh. One thread at a time. */
enum page_state pcere_pagemap_state(uint64_t address, uint64_t page_bytes);
/* Of an address that may be anywhere, for which a batch would be read in vain: asked each time. */
enum page_state pcere_pagemap_state_alone(uint64_t address, uint64_t page_bytes);
void pcere_pagemap_refresh(void);
/* The first pages from `from` to `end`, which follow each other and are not absent (unknown ones count); there may be more behind them. False: all are absent. Kept as above. */
bool pcere_pagemap_run(uint64_t from, uint64_t end, uint64_t page_bytes, struct plan_range *ret_run);
/* Pages so far that were not there when they were needed: faults, and what ahead.c filled in. Only differences mean anything. */
uint64_t pcere_faults_so_far(void);
/* Of these pages, ascending, the kernel's answer says little: what is at several addresses may have been written at another one. They are own ones. Borrowed. */
void pcere_pagemap_share(const struct plan_range *ranges, size_t count);

/* ---- memory.c: captured ranges, restored and compared --------------------------------------------------------------------- */

struct page_move { uint64_t address, source, zero; };

/* Copy `bytes` of captured content to where it belongs. What was read for that leaves the caches again: they are the region's. */
void pcere_page_move(const struct codelet *codelet, const struct page_move *move, uint64_t bytes);
/* ... of several such by one thread: wait until all that was read has left. */
void pcere_pages_moved(void);

struct memory {
    struct codelet *codelet;
    const struct plan_mapping *mappings;
    const struct plan_copy *copies;
    uint64_t *first_page;             /* running number of each copy's first page; one more entry: the number of pages */
    struct plan_range *gaps;          /* absent at the region's start */
    size_t gap_count;
    struct plan_range *originals, *shared;    /* memory at several addresses: as one of them has it; all of them. Ascending */
    size_t original_count, shared_count;
    unsigned char *dirty;             /* a byte per page, filled by learning */
    bool lazy;                        /* captured pages are private mappings of the pages file: those that are never written are never copied */
    struct page_move *written;        /* learned: what a run writes */
    size_t written_count;
    struct plan_range *dropped;       /* learned: gaps, or parts of them, that a run touches */
    size_t drop_count;
    struct plan_range *adjusted;      /* words that this process had to change: not compared */
    size_t adjusted_count, adjusted_capacity;
    bool learned, guarded;            /* guarded: the capture's protections are in force */
    bool shadowed;                    /* pages that are known to change were filled into a hypervisor's page tables, if it has any */
};

/* Map every captured range writable, at its address; ends the process with PLAN_COLLIDED if one is taken. */
void pcere_memory_map(struct codelet *codelet, struct memory *ret_memory);
/* Before the first run, on all processors: map every captured page, and make this process's own, as in the original, those that are known to change and what
 * lies between them; all of them where nothing is known. Needed where no run comes before the first timed one, which must not pay for it. */
void pcere_memory_populate(struct memory *memory);
/* Captured pages that are the process's own by now, though pcere_memory_populate did not make them so. */
uint64_t pcere_memory_made_own(const struct memory *memory);
/* Before the first run, where an untimed one comes first: make those captured pages this process's own that are known to change. That run would do it, but
 * one page at a time. */
void pcere_memory_prepare(struct memory *memory);
/* By all threads: copy all pages, or the learned ones, and make absent again what was absent. */
void pcere_memory_restore(struct memory *memory);
/* After a run from restored memory: find what it wrote. Again after another run: what that wrote. */
void pcere_memory_learn(struct memory *memory);
/* Find which absent pages were touched; what was found before stays. Then make them absent again. */
void pcere_memory_learn_drops(struct memory *memory);
void pcere_memory_drop(struct memory *memory);
/* Protection of the mapping that holds the address; 0 where there is none. */
uint32_t pcere_memory_protection(const struct memory *memory, uint64_t address);
/* The first copy that ends behind the address; the number of copies: none does. */
uint64_t pcere_memory_copy_from(const struct memory *memory, uint64_t address);
/* Change captured memory for good: later restoring keeps it, comparing leaves it out. False: there is no such page. */
bool pcere_memory_adjust(struct memory *memory, uint64_t address, const void *bytes, size_t count);
/* What restored memory has at an address: NULL if it is absent or all zero there. Borrowed. */
const unsigned char *pcere_memory_pristine(const struct memory *memory, uint64_t address);
/* settings.c: what decides how many threads a team gets, as the program had it. On the thread that will enter the region. */
void pcere_settings_team(const struct codelet *codelet);
/* How many threads teams of the calling thread, and of the threads of these, get from now on. */
void pcere_settings_threads(uint32_t threads);
/* The rest: environment, signal handlers and schedule. After the memory was restored once. */
void pcere_settings_apply(const struct memory *memory);
/* locale.c: the program's locale. On the same thread, once its environment is there. */
void pcere_locale_apply(const struct codelet *codelet);
bool pcere_memory_is_mapped(const struct memory *memory, uint64_t address);
/* The protections of the capture. */
void pcere_memory_protect(struct memory *memory);

/* The copy that holds the address, or NULL. */
const struct plan_copy *pcere_memory_copy(const struct memory *memory, uint64_t address);

/* ---- aliases.c: memory at several addresses ---------------------------------------------------------------------------------- */

/* Where it is. */
void pcere_aliases_find(struct memory *memory);
/* Everything else is mapped: make it one memory at all of its addresses, as the capture has it. */
void pcere_aliases_map(const struct memory *memory);
/* Is what lies there that of another address? */
bool pcere_aliases_hold(const struct memory *memory, uint64_t address);

/* ---- shadow.c: a hypervisor's page tables ------------------------------------------------------------------------------------- */

enum { SHADOW_RANGES = 128 };

/* Pages of one mapping that this process has of its own, to be filled in at one go. All zero but for `page_bytes`: empty. */
struct shadow_span {
    struct plan_range ranges[SHADOW_RANGES];      /* ascending */
    size_t count;
    uint64_t bytes, page_bytes;
    const struct plan_mapping *mapping;
};

/* Pages from `start` to `end` are the process's own now, were not used yet, and may be read and written, and so may all others between them and those that were added
 * before. Where first uses are cheap (told once, by time), nothing happens. */
void pcere_shadow_add(struct shadow_span *span, const struct plan_mapping *mapping, uint64_t start, uint64_t end);
/* Whatever was added: its first uses cost no more than others. Nobody may write there meanwhile. The span is empty again. */
void pcere_shadow_fill(struct shadow_span *span);
/* Nobody keeps such tables here, as the first pages told. False: not known yet, or they are kept. */
bool pcere_shadow_is_cheap(void);

/* ---- ahead.c ---------------------------------------------------------------------------------------------------------------- */

/* From now on the first touch of captured pages that are known to change is a signal, which makes several of them the process's own: those that follow, if
 * touches do. Where the kernel does not allow that, nothing changes. For regions that hand no memory to the kernel, before any run. */
void pcere_ahead_begin(const struct memory *memory);
/* From the signal handler of SIGBUS: false if the fault at this address is somebody else's. */
bool pcere_ahead_serve(uint64_t address);
/* From that of SIGSEGV: true if a page is written that another thread fills in, or did a moment ago (which may only be read meanwhile): it is to be touched again. */
bool pcere_ahead_waits(uint64_t address);
/* How many pages it has filled in so far, but for those that the kernel counts as faults. */
uint64_t pcere_ahead_filled(void);

/* ---- cool.c: caches -------------------------------------------------------------------------------------------------------- */

/* By all threads: no line of captured memory is in any cache. In the last one is other memory, of which as large a part was written as of the pages that this process has touched
 * (learned: as the learning run wrote). */
void pcere_memory_cool(struct memory *memory);
/* By all threads: each has read so much other memory since, all the same. */
void pcere_caches_displace(uint64_t bytes);

/* ---- compare.c ------------------------------------------------------------------------------------------------------------ */

void pcere_memory_compare(struct memory *memory);
/* A state that no memory holds (PLAN_STATE_LOCK, ..): `address` as in struct plan_difference. */
void pcere_state_compare(struct memory *memory, uint32_t state, uint64_t address, uint64_t expected, uint64_t found, uint32_t bytes);
/* Bytes of this process against what the original had at `captured`. `thread_local_of`: 1 + number of the thread whose variable it is; 0: it is none. */
void pcere_bytes_compare(struct memory *memory, uint64_t captured, const void *found, uint64_t bytes, uint32_t thread_local_of);
/* A word, at a multiple of its size, that the original had behind the region. False: only zeros were, up to *ret_after. */
bool pcere_expected_word(const struct memory *memory, uint64_t address, uint64_t *ret_word, uint64_t *ret_after);

/* ---- made.c, made_compare.c: what the region allocates ------------------------------------------------------------------------------ */

/* Where the plan says that the region allocates: from now on, what it does so lies in a room of its own, as in the capture. When all libraries are there, and before
 * pcere_overlay_prepare. */
void pcere_made_begin(const struct codelet *codelet);
/* Who allocates by that name then; NULL: whoever does else. */
void *pcere_made_symbol(const char *name);
/* Blocks of both lie at the same addresses: where words are the same and lead into one, it is a pair as well. */
bool pcere_made_in_place(void);
/* The region runs, and what it allocates is served. */
bool pcere_made_serves(void);
bool pcere_made_owns(const void *block);
size_t pcere_made_usable(const void *block);
void pcere_made_free(void *block);
void *pcere_made_grow(void *block, size_t bytes);

/* Each block in the room, freed ones included, by its address and the size word in front of it. */
typedef void made_visit_fn(uint64_t address, size_t word);
void pcere_made_visit(made_visit_fn *visit);
/* Were freed blocks used again? Then pointers that dangle may lead to others. */
bool pcere_made_again(void);

/* It frees a captured block. */
void pcere_made_release(const void *block, size_t bytes);

/* After the region: `word`, by its captured address, leads to `captured` in the original, and to `here`. */
enum made_pair {
    MADE_UNKNOWN,                     /* one of them is in no block that is known */
    MADE_ALIKE,                       /* these blocks are a pair: pcere_made_compare compares what they hold */
    MADE_OTHER,                       /* they are of other sizes, or it leads to another place in them, or one of them is another's */
};
enum made_pair pcere_made_pair(const struct memory *memory, uint64_t word, uint64_t captured, uint64_t here);
/* A pair of blocks at the same address are no pair: what stands in front of them (their size, and whether they are free) is compared, too. */
void pcere_made_differ(uint64_t address);
/* Of a word of a block that the region allocated: an address in one of the two processes, or in both, but for its low bytes, which are the same and make it none. */
bool pcere_made_leftover(const struct memory *memory, uint64_t address, uint64_t expected, uint64_t found);
/* Behind all other comparisons. */
void pcere_made_compare(struct memory *memory);

/* ---- reclaim.c, export/reclaim.c: heap memory of a timed region ---------------------------------------------------------------------------- */

/* Where the plan says that the region allocates: from now on the program's own code gets again what it freed of captured blocks. When all libraries are there, and before
 * pcere_overlay_prepare. */
void pcere_reclaim_begin(const struct codelet *codelet);
/* As pcere_made_symbol. */
void *pcere_reclaim_symbol(const char *name);

/* ---- images.c: the executable and the shared objects with what was rebuilt of libraries ------------------------------------ */

/* Find their tables; ends the process with PLAN_COLLIDED if one does not lie where it was linked for. While the process has its first stack. */
void pcere_images_open(struct codelet *codelet);
size_t pcere_images_count(void);
/* Does one of those shared objects begin there? */
bool pcere_images_are_at(const struct codelet *codelet, const void *base);
/* Its tables: empty ones if it was not loaded when the region began. Borrowed. */
const struct codelet_image *pcere_image(size_t index);
/* Tell the unwinder of the machine code in captured memory, which runs where there is no bitcode: exceptions go through it. Once, when the memory is there. */
void pcere_images_unwind(struct codelet *codelet, const struct memory *memory);
/* The dynamic linker's number of its thread-local variables, or 0. */
uint64_t pcere_image_module(size_t index);

/* ---- constants.c: string literals and the like, of which each rebuilt unit has its own ------------------------------------------ */

/* For pcere_constants_are_alike: take the images' tables. */
void pcere_constants_open(struct codelet *codelet);
/* Does `here` lead into one of a rebuilt unit, and `captured` into read-only captured memory, where the same stands as far as that constant goes? */
bool pcere_constants_are_alike(const struct memory *memory, uint64_t captured, uint64_t here);

/* ---- overlay.c: new code beneath old addresses ------------------------------------------------------------------------------ */

/* Look up the library symbols that the overlay needs. To be called while the process has its first stack: the dynamic linker's
 * messages refer to the program's arguments there. */
void pcere_overlay_prepare(struct codelet *codelet);

/* Old function addresses jump to rebuilt functions, old global offset tables point to the new libraries, locks of old critical
 * constructs are free. Once, after the first restoring. */
void pcere_overlay_apply(struct memory *memory);

/* ---- externals.c: functions and constants of shared libraries ---------------------------------------------------------------- */

/* As pcere_overlay_prepare, and called by it. */
void pcere_externals_prepare(struct codelet *codelet);
/* Where the capture had a function of a library, a jump to where it is now; where it had a constant, a copy. Once. Ends the process with
 * PLAN_COLLIDED if such a place is taken. */
void pcere_externals_apply(struct memory *memory);
/* A signal: did the thread go where the capture had code of a library, of which this process has the same build? Then it goes on in that. */
bool pcere_externals_serve(int number, void *context);
/* Is the captured pointer one to a function of a library, and the other one to another function of one? */
bool pcere_externals_differ(const struct codelet *codelet, uint64_t captured, uint64_t own);
/* The same for data: did it want to read, or write, what lies there? Then it may now. Any thread, from a signal. */
bool pcere_externals_serve_data(uint64_t address);

/* ---- runtime_text.c -------------------------------------------------------------------------------------------------------- */

/* Is it the OpenMP runtime's, code or data? */
bool pcere_runtime_holds(const void *address);

/* ---- identity.c -------------------------------------------------------------------------------------------------------------- */

/* On each thread of the team: from now on it is told who it was in the capture, while the region runs. */
void pcere_identity_take(const struct codelet *codelet, uint32_t number);
/* Is that who a thread of the team was in the capture? */
bool pcere_identity_holds(const struct codelet *codelet, uint64_t thread);
/* The stack of a thread that works for the one which enters the region: of this process, or a captured one. Behind the region nothing is there any more. */
bool pcere_stack_of_team(uint64_t address);
bool pcere_stack_of_captured_team(const struct codelet *codelet, uint64_t address);

/* ---- asks.c: what has another answer each time ---------------------------------------------------------------------------------- */

/* From now on, note there what is asked; NULL: no longer. */
void pcere_asks_watch(_Atomic uint64_t *ret_asked);

/* ---- random.c: random numbers of the C library ------------------------------------------------------------------------------ */

/* Before a run: the generators as they were. */
void pcere_random_restore(const struct memory *memory);
/* After one: against what the original had. */
void pcere_random_compare(struct memory *memory);

/* ---- threads.c: thread-local variables and locks ---------------------------------------------------------------------------- */

struct thread_state;

/* Remember what each thread's variables hold now: the program's initial image. */
struct thread_state *pcere_threads_new(struct memory *memory, uint32_t threads);
/* The team has more threads now: remember what theirs hold. */
void pcere_threads_grow(struct thread_state *state, uint32_t threads);
/* Captured words that lead to a captured thread's variable lead to that of this process's thread with the same number, for good: in memory, in what is restored, and in what
 * the original had afterwards. Before the capture's protections are in force, and again when the team has more threads. */
void pcere_threads_point(struct thread_state *state);
/* Before a run: captured variables by thread number (initial ones for threads that the capture did not have), locks made anew. */
void pcere_threads_restore(struct thread_state *state);
void pcere_threads_compare(struct thread_state *state);
/* Arguments of a region that the calling thread enters: those that are the captured addresses of its thread-local variables (copyin passes them) become
 * its own. malloc'ed; the plan's own where there are none to change. */
const uint64_t *pcere_threads_words(const struct thread_state *state, const uint64_t *words, uint64_t count);

/* keys.c: before the OpenMP runtime starts, keys with the captured numbers; once it has its own; before a run, what the team's threads keep. */
void pcere_keys_make(struct codelet *codelet);
void pcere_keys_release(const struct codelet *codelet);
void pcere_keys_restore(struct codelet *codelet);

/* threadprivate.c: lists that the OpenMP runtime takes each thread's copy from; each thread of the team gets its captured one, whose memory was
 * restored, or one with the variable's first value; captured ones against those after the original's invocation. */
void pcere_threadprivate_make(struct codelet *codelet);
void pcere_threadprivate_restore(struct memory *memory);
void pcere_threadprivate_compare(struct memory *memory, uint32_t threads);

/* ---- files.c, streams.c, guard.c: what the program had open ------------------------------------------------------------------- */

/* What the descriptors of the capture will need; called once, before any other of these. */
void pcere_files_begin(const struct codelet *codelet);
/* A descriptor of this runtime, out of the way of those that the program had and will get: another number for it, the old one is closed. -1
 * stays -1. */
int pcere_descriptor_raise(int descriptor);
/* Before the first run: open what the program had open, go to its working directory. From then on its standard output goes nowhere, and so
 * do its messages if the region was seen to write. */
void pcere_files_open(struct codelet *codelet);
/* Before each run: every descriptor as it was captured, and no others. */
void pcere_files_restore(struct codelet *codelet);
/* Where messages of this runtime go. */
extern int pcere_messages;

/* Once, before pcere_overlay_apply: the captured streams work with this process's C library. The standard ones come back to their old
 * addresses; ends the process with PLAN_COLLIDED if one is taken. */
void pcere_streams_adopt(struct memory *memory);
/* Before that, while the process has its first stack: where the C++ library has what its streams lead to. */
void pcere_streams_prepare(void);
/* Is a block of this process a stream of the C library? Then these parts of it, by their offsets, ascending, are that library's own, and not compared: the next in its list of streams,
 * whether other threads may use it. How many; 0: it is none. */
size_t pcere_stream_parts(const void *block, size_t bytes, struct plan_range ret_parts[2]);
/* Before each run: the standard streams, whose structures are not among captured memory. */
void pcere_streams_restore(void);

/* From now on, in all threads: reading what cannot be had ends the process with PLAN_UNREPEATABLE; files that the region opens for writing
 * are copies of its own, which it finds again by their names; what would change the user's files, or reach out of the process, ends it. `lost`:
 * numbers and words of descriptors that cannot be read, or (`whole`) not be used at all. */
struct lost_descriptor { int number; bool whole; char what[256]; };
void pcere_guard_begin(struct codelet *codelet, const struct lost_descriptor *lost, size_t lost_count);
/* Before each run: forget the copies. */
void pcere_guard_restore(void);
/* The region opened a file that is not there: it may end in whatever way for that. */
bool pcere_guard_missed(void);
/* Behind each run: had the program such a file? Where it must have, since the region read from what it opened, and found nothing to open now, the end; where it may have, the result says which. */
void pcere_guard_judge(void);
_Noreturn void pcere_guard_missed_end(void);
/* A system call was stopped: do it in another way. False: it was not stopped by the guard. */
bool pcere_guard_serve(void *siginfo, void *context);

/* ---- chain.c: the regions before this one ------------------------------------------------------------------------------------- */

struct chain;

/* The plan's steps; NULL if there are none. After the overlay was applied. `may_continue`: what any of the regions finds in arrays decides neither where
 * it goes nor what it reads, as far as is known. */
struct chain *pcere_chain_new(struct memory *memory, bool may_continue);
/* What is to be laid out is known from the plan: no walk has to find it out. */
bool pcere_chain_is_known(const struct chain *chain);
typedef void chain_step_fn(void *context, size_t step);
/* Which pages to lay out before a step, the first two times must find out. The second one learns only what the region itself leaves to the first step, if what
 * steps write does not depend on chance. */
enum chain_learning { CHAIN_KNOWS, CHAIN_LEARNS_START, CHAIN_LEARNS };
/* Lay out memory as each step had it and call `run` for it, then lay out memory as the region had it. */
void pcere_chain_walk(struct chain *chain, enum chain_learning learning, chain_step_fn *run, void *context);
/* Behind a walk, and at the end of all: lay out the first step's memory, and run that step alone. */
void pcere_chain_walk_first(struct chain *chain, chain_step_fn *run, void *context);

/* ---- rates.c ---------------------------------------------------------------------------------------------------------------- */

/* How fast memory is restored behind `run`, and what this process copies, into result.rates. Memory is as at the region's start then. */
void pcere_rates_measure(struct memory *memory, void (*run)(void *context), void *context);

/* ---- frames.c ------------------------------------------------------------------------------------------------------------- */

/* Take so many page frames from the kernel, and keep them, so that those which were given back last serve nobody. */
void pcere_frames_use_up(uint64_t bytes);

/* ---- run.c ---------------------------------------------------------------------------------------------------------------- */

/* Everything from mapping to the last sample. */
_Noreturn void pcere_codelet_run(struct codelet *codelet);

/* ---- heap.c, program_heap.c, openmp_heap.c, crash.c ------------------------------------------------------------------------------ */

/* From now on free() leaves blocks inside these ranges alone, and realloc() copies them; *releases is not 0 once there was either. `foreign`: no sizes stand in front
 * of them. */
void pcere_heap_protect(const struct plan_mapping *mappings, size_t count, bool foreign, _Atomic uint64_t *releases);

/* The region begins, or is over: an allocator of the program's own serves only in between (program_heap.c). */
void pcere_heap_enter(bool running);
bool pcere_heap_in_region(void);

/* For this runtime itself, also while the region runs: never a block of the region's. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);

/* Who allocates for the program's own code by that name (made.c, reclaim.c); NULL: whoever does else. */
void *pcere_heap_symbol(const char *name);

/* What free(), realloc() and malloc_usable_size() do with captured blocks and the C library's. */
void pcere_heap_release(void *block);
void *pcere_heap_grow(void *block, size_t bytes);
size_t pcere_heap_usable(void *block);
/* posix_memalign(), by another function of that kind. */
int pcere_heap_posix_memalign(void *(*memalign_by)(size_t alignment, size_t bytes), void **ret_block, size_t alignment, size_t bytes);
/* Bytes from there to the end of the captured memory around it; 0: it is this process's. */
size_t pcere_heap_captured(const void *block);
void pcere_heap_openmp(void);         /* find what the OpenMP runtime's functions of that kind are forwarded to */

/* grown.c. Large blocks of this memory move by their pages, in codelets that are timed. */
void pcere_grown_begin(const struct memory *memory);
/* A captured block of `known` bytes as one of `bytes`, more than these; its captured memory is as at the region's start then. NULL: it has to be copied. */
void *pcere_grown_make(const void *block, size_t known, size_t bytes);
/* realloc() and free() of such a block; false: it is none. *ret_block: NULL where there is no memory. */
bool pcere_grown_again(void *block, size_t bytes, void **ret_block);
bool pcere_grown_free(void *block);
/* A run begins: nobody has those of the last one any more. */
void pcere_grown_run(void);
/* Whole pages of captured memory, to where memory of this process is mapped: moved, or copied. */
void pcere_grown_move(uint64_t from, uint64_t end, uint64_t to);

/* mappings.c, called by pcere_heap_protect(): the region's madvise(), munmap() and mremap() treat these as what they were in the program. */
void pcere_mappings_protect(const struct plan_mapping *mappings, size_t count);
/* Which of these holds the address; NULL: none. */
const struct plan_mapping *pcere_mapping_at(uint64_t address);
/* Did the region drop or unmap captured memory in this process? Then pages that are absent may have lost their content. */
bool pcere_mappings_replaced(void);
/* May the region have changed how this is protected? */
bool pcere_mapping_changes_protection(const struct plan_mapping *mapping);
/* The region is over: what it protected can be read and written. False: it protected nothing. */
bool pcere_mappings_open(void);

/* malloc and the like of a codelet whose program has an allocator in its executable. */
void *pcere_served_malloc(size_t bytes);
void *pcere_served_calloc(size_t count, size_t bytes);
void *pcere_served_realloc(void *block, size_t bytes);
void pcere_served_free(void *block);
void *pcere_served_memalign(size_t alignment, size_t bytes);
void *pcere_served_aligned_alloc(size_t alignment, size_t bytes);
int pcere_served_posix_memalign(void **ret_block, size_t alignment, size_t bytes);
size_t pcere_served_malloc_usable_size(void *block);

/* From now on a fatal signal is recorded in the plan, prints a backtrace (pcere_messages), and ends the process. */
void pcere_crash_watch(struct codelet *codelet);
/* The same for the calling thread's signal stack: once in each thread. */
void pcere_crash_watch_thread(void);

#endif
