#include "capture-rt/tracer/codelet.h"

#include "core/linked_program.h"
#include "core/text.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define THREAD_SLACK_BYTES 8192u
#define GIVEN_STACK_BYTES (1u << 20)     /* taken to be the region's, below its frame, of a stack amid other memory */
#define LOCK_BYTES 8u            /* omp_lock_t and omp_nest_lock_t */
#define CRITICAL_BYTES 32u       /* kmp_critical_name */

void range_list_add(struct range_list *list, uint64_t start, uint64_t end)
{
    if (start >= end)
        return;
    if (!array_reserve(&list->ranges, &list->capacity, list->count + 1, sizeof *list->ranges)) {
        list->failed = true;
        return;
    }
    list->ranges[list->count++] = (struct store_range){start, end - start};
}

static int range_compare(const void *left, const void *right)
{
    const struct store_range *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

void range_list_normalise(struct range_list *list)
{
    size_t kept = 0;
    if (list->count)
        qsort(list->ranges, list->count, sizeof *list->ranges, range_compare);
    for (size_t i = 0; i < list->count; i++) {
        struct store_range *last = kept ? &list->ranges[kept - 1] : NULL, range = list->ranges[i];
        if (last && range.address <= last->address + last->bytes) {
            uint64_t end = range.address + range.bytes;
            if (end > last->address + last->bytes)
                last->bytes = end - last->address;
        } else
            list->ranges[kept++] = range;
    }
    list->count = kept;
}

/* ---- threads --------------------------------------------------------------------------------------------------------------- */

static bool word_read(pid_t pid, uint64_t address, uint64_t *ret_word)
{
    struct iovec local = {ret_word, sizeof *ret_word}, remote = {(void *)(uintptr_t)address, sizeof *ret_word};
    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)sizeof *ret_word;
}

/* The GNU C library keeps each thread's TLS blocks in a vector: its address is the second word at the thread pointer.
 *
 *   vector - 16: how many | vector: generation | vector + 16 m: block of module m, or -1: it has none yet             */
static uint64_t tls_block(pid_t pid, uint64_t thread_pointer, uint32_t module)
{
    uint64_t vector, modules, block;
    if (!word_read(pid, thread_pointer + sizeof(uint64_t), &vector) || !word_read(pid, vector - 16, &modules) || module > modules ||
        !word_read(pid, vector + (uint64_t)module * 16, &block) || block == UINT64_MAX)
        return 0;
    return block;
}

static void library_thread_add(const struct capture_log *log, const struct library_image *image, uint32_t number, pid_t pid,
                               struct store_codelet *codelet)
{
    uint64_t bytes = image->elf && image->present && image->tls_module ? elf_file_tls_bytes(image->elf) : 0;
    const struct capture_thread *thread = &log->stop.threads[number];
    uint64_t block = bytes && thread->present ? tls_block(pid, thread->thread_pointer, image->tls_module) : 0;
    if (block)
        codelet->threads[codelet->thread_count++] =
            (struct store_thread){.number = number, .image = image->number, .tls_address = block, .tls_bytes = bytes};
}

static enum pcere_status threads_fill(const struct capture_log *log, const struct elf_file *elf, const struct libraries *libraries,
                                      pid_t pid, struct store_codelet *codelet, struct pcere_error *error)
{
    uint64_t offset = elf_file_tls_offset(elf), bytes = elf_file_tls_bytes(elf);
    size_t count = 1;
    for (size_t i = 1; i < CAPTURE_THREADS_MAX; i++)
        if (log->stop.threads[i].present)
            count = i + 1;
    codelet->threads = calloc(count * (2 + libraries->image_count) + 1, sizeof *codelet->threads);
    if (!codelet->threads)
        return pcere_fail_memory(error, "the threads");
    codelet->thread_count = count;
    for (size_t i = 0; i < count; i++) {
        uint64_t pointer = log->stop.threads[i].thread_pointer;
        bool there = log->stop.threads[i].present && bytes > 0 && pointer > offset;
        codelet->threads[i] = (struct store_thread){.number = (uint32_t)i, .tls_address = there ? pointer - offset : 0,
                                                    .tls_bytes = there ? bytes : 0};
    }
    for (size_t i = 0; i < libraries->image_count; i++)
        for (size_t j = 0; j < count; j++)
            library_thread_add(log, &libraries->images[i], (uint32_t)j, pid, codelet);
    for (size_t i = 0; i < count; i++)
        if (log->stop.threads[i].present)
            codelet->threads[codelet->thread_count++] =
                (struct store_thread){.number = (uint32_t)i, .image = STORE_THREAD_SELF, .tls_address = log->stop.threads[i].thread_pointer};
    uint64_t copies = log->copies_low, copies_bytes = log->stop.copies_bytes;
    if (copies && copies_bytes && copies < log->copies_high && copies_bytes <= log->copies_high - copies)
        codelet->threads[codelet->thread_count++] =
            (struct store_thread){.image = STORE_THREAD_COPIES, .tls_address = copies, .tls_bytes = copies_bytes};
    return PCERE_OK;
}

/* ---- locks ----------------------------------------------------------------------------------------------------------------- */

/* A lock whose memory was given up without omp_destroy_lock would be written over by a replay: its word tells. The runtime's direct
 * locks keep a tag in the lowest byte, indirect ones (even numbers) never change. */
static bool lock_lives(pid_t pid, const struct capture_lock *lock)
{
    uint32_t word = 0;
    struct iovec local = {&word, sizeof word}, remote = {(void *)(uintptr_t)lock->address, sizeof word};
    if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)sizeof word)
        return false;
    return lock->initial & 1 ? (word & 0xff) == (lock->initial & 0xff) : word == lock->initial;
}

static int lock_compare(const void *left, const void *right)
{
    const struct store_lock *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

/* The next slot from there on in a block of slots that was ever used; CAPTURE_LOCK_SLOTS: there is none. */
static size_t lock_next(const struct capture_log *log, size_t slot)
{
    for (size_t block = slot / CAPTURE_LOCK_BLOCK; slot < CAPTURE_LOCK_SLOTS; block = slot / CAPTURE_LOCK_BLOCK) {
        if (log->lock_blocks[block / 64] >> block % 64 & 1)
            return slot;
        slot = (block + 1) * CAPTURE_LOCK_BLOCK;
    }
    return CAPTURE_LOCK_SLOTS;
}

static enum pcere_status locks_fill(const struct capture_log *log, pid_t pid, struct store_codelet *codelet, struct pcere_error *error)
{
    size_t capacity = 0;
    for (size_t i = lock_next(log, 0); log->locks_live > 0 && i < CAPTURE_LOCK_SLOTS; i = lock_next(log, i + 1)) {
        struct capture_lock lock = log->locks[i];
        if (lock.state != CAPTURE_LOCK_LIVE || !lock_lives(pid, &lock))
            continue;
        if (!array_reserve(&codelet->locks, &capacity, codelet->lock_count + 1, sizeof *codelet->locks))
            return pcere_fail_memory(error, "the locks");
        codelet->locks[codelet->lock_count++] = (struct store_lock){
            .address = lock.address, .kind = lock.kind ? STORE_LOCK_NESTED : STORE_LOCK_SIMPLE, .hint = lock.hint,
            .held = lock.held == CAPTURE_LOCK_UNKNOWN ? 0 : lock.held, .owner = lock.owner, .held_after = STORE_LOCK_GONE};
    }
    if (codelet->lock_count)
        qsort(codelet->locks, codelet->lock_count, sizeof *codelet->locks, lock_compare);
    return PCERE_OK;
}

static void locks_after(const struct capture_log *log, struct store_codelet *codelet)
{
    for (size_t i = lock_next(log, 0); codelet->lock_count && i < CAPTURE_LOCK_SLOTS; i = lock_next(log, i + 1)) {
        struct capture_lock lock = log->locks[i];
        const struct store_lock key = {.address = lock.address};
        struct store_lock *known = lock.state != CAPTURE_LOCK_LIVE || lock.held == CAPTURE_LOCK_UNKNOWN
                                       ? NULL : bsearch(&key, codelet->locks, codelet->lock_count, sizeof key, lock_compare);
        if (known) {
            known->held_after = lock.held;
            known->owner_after = lock.owner;
        }
    }
}

/* What locks hold that the region made or destroyed is the runtime's: places in its tables, which others used before. False: no memory. */
static bool locks_ignore(const struct capture_log *log, uint16_t begin, struct store_codelet *codelet)
{
    static const uint64_t bytes[] = {8, 16};      /* omp_lock_t, omp_nest_lock_t */
    uint16_t span = (uint16_t)(log->stops - begin);
    struct range_list list = {.ranges = codelet->ignored, .count = codelet->ignored_count, .capacity = codelet->ignored_count};
    for (size_t i = lock_next(log, 0); i < CAPTURE_LOCK_SLOTS; i = lock_next(log, i + 1)) {
        struct capture_lock lock = log->locks[i];
        if (lock.state == CAPTURE_LOCK_FREE || (uint16_t)(lock.turn - begin) >= span || lock.address > UINT64_MAX - bytes[1])
            continue;
        range_list_add(&list, lock.address, lock.address + bytes[lock.kind != 0]);
    }
    codelet->ignored = list.ranges;
    codelet->ignored_count = list.count;
    return !list.failed;
}

/* ---- random numbers -------------------------------------------------------------------------------------------------------- */

_Static_assert(CAPTURE_RANDOM_BYTES == STORE_RANDOM_BYTES && (int)CAPTURE_RANDOM_TABLE == (int)STORE_RANDOM_TABLE &&
               (int)CAPTURE_RANDOM_48 == (int)STORE_RANDOM_48 && (int)CAPTURE_RANDOM_VARIABLES == (int)STORE_RANDOM_VARIABLES, "generators are alike");

static bool random_is_sound(const struct capture_random *random)
{
    return random->kind >= CAPTURE_RANDOM_TABLE && random->kind <= CAPTURE_RANDOM_VARIABLES && random->bytes <= CAPTURE_RANDOM_BYTES;
}

static uint32_t random_count(const struct capture_stop *stop)
{
    const uint32_t most = sizeof stop->randoms / sizeof *stop->randoms;
    return stop->random_count < most ? stop->random_count : most;
}

static enum pcere_status randoms_fill(const struct capture_stop *stop, struct store_codelet *codelet, struct pcere_error *error)
{
    uint32_t count = random_count(stop);
    codelet->randoms = calloc(count ? count : 1, sizeof *codelet->randoms);
    if (!codelet->randoms)
        return pcere_fail_memory(error, "random numbers");
    for (uint32_t i = 0; i < count; i++) {
        const struct capture_random random = stop->randoms[i];
        if (!random_is_sound(&random))
            continue;
        struct store_random *to = &codelet->randoms[codelet->random_count++];
        *to = (struct store_random){.address = random.address, .kind = random.kind, .bytes = random.bytes};
        memcpy(to->before, random.state, random.bytes);
    }
    return PCERE_OK;
}

static void randoms_after(const struct capture_stop *stop, struct store_codelet *codelet)
{
    for (uint32_t i = 0; i < random_count(stop); i++) {
        const struct capture_random random = stop->randoms[i];
        for (size_t j = 0; random_is_sound(&random) && j < codelet->random_count; j++) {
            struct store_random *to = &codelet->randoms[j];
            if (to->kind != random.kind || to->kind == STORE_RANDOM_VARIABLES || to->address != random.address || to->bytes != random.bytes)
                continue;
            memcpy(to->after, random.state, random.bytes);
            to->known_after = 1;
        }
    }
}

/* ---- what threads keep -------------------------------------------------------------------------------------------------------- */

_Static_assert(CAPTURE_KEY_MADE == STORE_KEY_MADE && CAPTURE_KEY_RUNTIME == STORE_KEY_RUNTIME, "kept as they are");

static const struct store_mapping *mapping_of(const struct store_codelet *codelet, uint64_t address)
{
    for (size_t i = 0; i < codelet->mapping_count; i++)
        if (address >= codelet->mappings[i].start && address < codelet->mappings[i].end)
            return &codelet->mappings[i];
    return NULL;
}

static bool row_tells_of_key(const struct capture_key *row)
{
    return row->thread == CAPTURE_KEY_MAKER || row->thread == CAPTURE_KEY_PLACE || row->thread == CAPTURE_KEY_HOLDER;
}

enum key_owner { KEY_OWN, KEY_HELD, KEY_FOREIGN };

/* A library that is not captured makes its key anew in a replay, and keeps there what it keeps then. Neither its code nor its data are the program's; who makes a key by a last
 * call, as routines of pthread_once do, is not seen, but where it put it is. What it made for an object of the program's (std::pmr::synchronized_pool_resource) captured memory holds, wherever;
 * but it holds what a library put into blocks of its own as well. */
static enum key_owner key_owner(const struct capture_stop *stop, uint32_t count, uint32_t key, const struct store_codelet *codelet)
{
    enum key_owner owner = KEY_OWN;
    for (uint32_t i = 0; i < count; i++) {
        const struct capture_key *row = &stop->keys[i];
        if (row->key != key || !row_tells_of_key(row))
            continue;
        const struct store_mapping *mapping = mapping_of(codelet, row->value);
        if (mapping && (row->thread == CAPTURE_KEY_MAKER || (row->thread == CAPTURE_KEY_PLACE && (mapping->role == STORE_ROLE_IMAGE || mapping->role == STORE_ROLE_LIBRARY))))
            return KEY_OWN;
        if (row->thread == CAPTURE_KEY_HOLDER)
            owner = mapping ? KEY_HELD : owner;
        else
            owner = owner == KEY_HELD ? KEY_HELD : KEY_FOREIGN;
    }
    return owner;
}

/* Keys of the runtime matter where the program has some. */
static enum pcere_status keys_fill(const struct capture_stop *stop, struct store_codelet *codelet, struct pcere_error *error)
{
    uint32_t count = stop->key_count;
    bool made = false;
    if (count > CAPTURE_KEY_ROWS)
        return pcere_fail(error, PCERE_DATA, 0, NULL, "its threads keep %u values by pthread_setspecific, more than the %u that can be captured", count, CAPTURE_KEY_ROWS);
    codelet->keys = calloc(count ? count : 1, sizeof *codelet->keys);
    if (!codelet->keys)
        return pcere_fail_memory(error, "thread-specific values");
    for (uint32_t i = 0; i < count; i++) {
        const struct capture_key row = stop->keys[i];
        if (row.key >= CAPTURE_KEYS_MAX)
            return pcere_fail(error, PCERE_DATA, 0, NULL, "a thread-specific key has number %u", row.key);
        enum key_owner owner = row.thread == CAPTURE_KEY_RUNTIME ? KEY_OWN : key_owner(stop, count, row.key, codelet);
        if (row_tells_of_key(&row) || owner == KEY_FOREIGN)
            continue;
        bool held = owner == KEY_HELD && row.thread == CAPTURE_KEY_MADE;
        codelet->keys[codelet->key_count++] = (struct store_key){row.key, held ? STORE_KEY_HELD : row.thread, row.value};
        made |= row.thread != CAPTURE_KEY_RUNTIME;
    }
    if (!made)
        codelet->key_count = 0;
    return PCERE_OK;
}

/* ---- a codelet ------------------------------------------------------------------------------------------------------------- */

static enum pcere_status words_fill(const struct capture_log *log, const struct capture_message *message,
                                    struct store_codelet *codelet, struct pcere_error *error)
{
    if (message->word_count > CAPTURE_WORDS_MAX)
        return pcere_fail(error, PCERE_DATA, 0, NULL, "the region takes %u arguments, more than the %u that can be captured",
                          message->word_count, CAPTURE_WORDS_MAX);
    codelet->words = calloc(message->word_count ? message->word_count : 1, sizeof *codelet->words);
    if (!codelet->words)
        return pcere_fail_memory(error, "the arguments");
    memcpy(codelet->words, log->stop.words, message->word_count * sizeof *codelet->words);
    codelet->word_count = message->word_count;
    return PCERE_OK;
}

static enum pcere_status mappings_fill(const struct map_list *maps, struct store_codelet *codelet, struct pcere_error *error)
{
    codelet->mappings = calloc(maps->count ? maps->count : 1, sizeof *codelet->mappings);
    if (!codelet->mappings)
        return pcere_fail_memory(error, "the mappings");
    for (size_t i = 0; i < maps->count; i++)
        codelet->mappings[i] = maps->entries[i].mapping;
    codelet->mapping_count = maps->count;
    return maps_aliases(maps, &codelet->aliases, &codelet->alias_count, error);
}

static enum pcere_status settings_fill(const struct capture_stop *stop, struct store_codelet *codelet, struct pcere_error *error)
{
    uint32_t count = stop->signal_count < CAPTURE_SIGNALS_MAX ? stop->signal_count : CAPTURE_SIGNALS_MAX;
    uint32_t levels = stop->level_count;
    _Static_assert(STORE_LEVELS_MAX == CAPTURE_LEVELS_MAX, "levels are alike");
    if (levels > CAPTURE_LEVELS_MAX)
        return pcere_fail(error, PCERE_DATA, 0, NULL, "the region lies in %u others, more than the %u that can be captured", levels,
                          CAPTURE_LEVELS_MAX);
    codelet->setting = (struct store_setting){
        .schedule_kind = stop->schedule_kind, .schedule_chunk = stop->schedule_chunk, .max_active_levels = stop->max_active_levels,
        .dynamic = stop->dynamic, .environment = stop->environment, .float_control = stop->float_control, .level_count = levels, .global_thread = stop->global_thread,
        .teams = stop->teams, .team = stop->team, .thread_limit = stop->thread_limit};
    for (uint32_t i = 0; i < levels; i++)
        codelet->setting.levels[i] = (struct store_level){stop->levels[i].team, stop->levels[i].number};
    codelet->locale = strndup(stop->locale, strnlen(stop->locale, sizeof stop->locale));
    if (!codelet->locale)
        return pcere_fail_memory(error, "the locale");
    codelet->signals = calloc(count ? count : 1, sizeof *codelet->signals);
    if (!codelet->signals)
        return pcere_fail_memory(error, "the signals");
    for (uint32_t i = 0; i < count; i++) {
        const struct capture_signal *signal = &stop->signals[i];
        if (signal->handler && signal->number >= 1 && signal->number <= 64)
            codelet->signals[codelet->signal_count++] = (struct store_signal){signal->handler, signal->mask, signal->number, signal->flags};
    }
    return PCERE_OK;
}

/* Hostile: `count` may be more than there is room for. */
static bool words_ignore(struct store_codelet *codelet, const uint64_t *words, uint32_t count, uint32_t most)
{
    struct range_list list = {.ranges = codelet->ignored, .count = codelet->ignored_count, .capacity = codelet->ignored_count};
    for (uint32_t i = 0; i < count && i < most; i++)
        range_list_add(&list, words[i], words[i] + sizeof *words);
    codelet->ignored = list.ranges;
    codelet->ignored_count = list.count;
    return !list.failed;
}

/* Teams of a league have no more threads than processors together, whatever limit their construct has (KMP_TEAMS_THREAD_LIMIT, which would be another number, is not looked at). */
static uint32_t team_of(const struct capture_message *message, uint32_t teams)
{
    uint32_t threads = message->max_threads > 0 ? (uint32_t)message->max_threads : 1;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t share = teams > 1 && processors > 0 ? (uint32_t)processors / teams : threads;
    return share >= threads ? threads : share ? share : 1;
}

enum pcere_status codelet_begin(const struct capture_log *log, const struct capture_message *message, const struct elf_file *elf,
                                const struct libraries *libraries, const struct map_list *maps, pid_t pid, struct store_codelet *codelet, struct pcere_error *error)
{
    codelet->invocation = message->invocation;
    codelet->unit_id = message->unit_id;
    codelet->path = (uint32_t)message->path;
    codelet->num_threads = message->num_threads;
    codelet->proc_bind = message->proc_bind;
    codelet->capture_threads = team_of(message, log->stop.teams);
    codelet->stack_pointer = message->stack_pointer;
    enum pcere_status status = words_fill(log, message, codelet, error);
    if (status == PCERE_OK)
        status = settings_fill(&log->stop, codelet, error);
    if (status == PCERE_OK)
        status = mappings_fill(maps, codelet, error);
    if (status == PCERE_OK)
        status = threads_fill(log, elf, libraries, pid, codelet, error);
    if (status == PCERE_OK)
        status = locks_fill(log, pid, codelet, error);
    if (status == PCERE_OK)
        status = randoms_fill(&log->stop, codelet, error);
    if (status == PCERE_OK && libraries_loaded_module(libraries))
        codelet->setting.pointer_guard = log->stop.pointer_guard;
    if (status == PCERE_OK)
        status = keys_fill(&log->stop, codelet, error);
    if (status == PCERE_OK && !words_ignore(codelet, log->stop.linker_words, log->stop.linker_word_count, CAPTURE_LINKER_WORDS_MAX))
        status = pcere_fail_memory(error, "the words that are not compared");
    return status;
}

enum pcere_status codelet_end(const struct capture_log *log, uint64_t begin_stops, struct store_codelet *codelet, struct pcere_error *error)
{
    const struct capture_stop *stop = &log->stop;
    locks_after(log, codelet);
    if (!locks_ignore(log, (uint16_t)begin_stops, codelet))
        return pcere_fail_memory(error, "the words that are not compared");
    randoms_after(stop, codelet);
    return words_ignore(codelet, stop->frame_words, stop->frame_word_count, CAPTURE_FRAME_WORDS) ? PCERE_OK : pcere_fail_memory(error, "the words that are not compared");
}

/* ---- what is not compared -------------------------------------------------------------------------------------------------- */

/*   entering and initial thread:  [stack] libraries' TLS .. | executable's TLS | thread control block ..
 *   others of its team:           mapping: stack .. libraries' TLS .. | executable's TLS | thread control block ..
 * Libraries' TLS lies as far below the thread pointer in every thread. */
static void threads_ignore(const struct capture_log *log, const struct capture_thread *threads, const struct elf_file *elf,
                           const struct store_codelet *codelet, struct range_list *list)
{
    uint64_t offset = elf_file_tls_offset(elf), bytes = elf_file_tls_bytes(elf);
    uint64_t below = log->tls_low && log->tls_low < log->initial_thread ? log->initial_thread - log->tls_low : 0;
    size_t count = 0;                   /* of threads: what follows are their blocks of libraries */
    while (count < codelet->thread_count && codelet->threads[count].image == 0)
        count++;
    for (size_t i = 0; i <= count; i++) {
        bool last = i == count;
        uint64_t pointer = last ? log->initial_thread : threads[i].present ? threads[i].thread_pointer : 0;
        const struct store_mapping *mapping = mapping_of(codelet, pointer);
        if (!mapping)
            continue;
        uint64_t block = pointer - offset, low = mapping->start, high = mapping->end;
        if (i == 0 || last) {
            low = below > offset && pointer - below > low ? pointer - below : block;
            high = pointer + log->control_bytes < high ? pointer + log->control_bytes : high;
        }
        range_list_add(list, low, bytes ? block : pointer);
        range_list_add(list, bytes ? block + bytes : pointer, high);
    }
}

/* The stack of one of the runtime's threads, or NULL. glibc puts a thread's control block at the top of its stack's mapping: where it does not lie there, the
 * thread is gone, or its stack was made in some other way. */
static const struct store_mapping *runtime_stack(const struct capture_log *log, const struct store_codelet *codelet, uint64_t pointer)
{
    const struct store_mapping *mapping = mapping_of(codelet, pointer);
    return mapping && mapping->role == STORE_ROLE_ANONYMOUS && mapping->end - pointer <= log->control_bytes + THREAD_SLACK_BYTES ? mapping : NULL;
}

/* Of the runtime's threads, in the team-to-be or not. */
static void runtime_threads_ignore(const struct capture_log *log, uint64_t entering, const struct elf_file *elf,
                                   const struct store_codelet *codelet, struct range_list *list)
{
    uint64_t offset = elf_file_tls_offset(elf), bytes = elf_file_tls_bytes(elf);
    for (uint64_t i = 0; i < log->runtime_thread_count && i < CAPTURE_THREADS_MAX; i++) {
        uint64_t pointer = log->runtime_threads[i];
        const struct store_mapping *mapping = pointer == entering ? NULL : runtime_stack(log, codelet, pointer);
        if (!mapping)
            continue;
        range_list_add(list, mapping->start, bytes ? pointer - offset : pointer);
        range_list_add(list, bytes ? pointer - offset + bytes : pointer, mapping->end);
    }
}

/* A thread may have been given a stack amid other memory of the program. */
static uint64_t dead_stack_low(const struct store_codelet *codelet, const struct store_mapping *stack)
{
    bool own = stack->role == STORE_ROLE_STACK || stack->role == STORE_ROLE_ANONYMOUS;
    return own || codelet->stack_pointer - stack->start < GIVEN_STACK_BYTES ? stack->start : codelet->stack_pointer - GIVEN_STACK_BYTES;
}

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

/* The C++ library's table of who waits for an atomic, a barrier or a semaphore: which entry serves a word is told by its address, and what is in it says nothing
 * of the program. */
#define WAITERS "_ZZNSt8__detail18__waiter_pool_base6_S_forEPKvE3__w"

/* What compilers count executions in, for coverage and for profiles. They may do that only after the bitcode was taken: code that is made from it does not count then. */
static bool counts_executions(const char *name)
{
    static const char *const beginnings[] = {"__llvm_gcov_ctr", "__profc_", "__profd_", "__profbm_", "__profvp_", "__llvm_prf_vnodes"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
            return true;
    return !strcmp(name, "CurrentVNode");       /* of compiler-rt: the next of __llvm_prf_vnodes */
}

bool codelet_counts_executions(const struct elf_file *elf)
{
    const struct elf_symbol *symbols;
    for (size_t count = elf_file_symbols(elf, &symbols), i = 0; i < count; i++)
        if (symbols[i].kind == PCERE_SYMBOL_VARIABLE && counts_executions(symbols[i].name))
            return true;
    for (size_t count = elf_file_tables(elf, &symbols), i = 0; i < count; i++)
        if (symbols[i].kind == PCERE_SYMBOL_VARIABLE && counts_executions(symbols[i].name))
            return true;
    return false;
}

static void symbols_ignore(const struct elf_symbol *symbols, size_t count, uint64_t bias, struct range_list *list)
{
    for (size_t i = 0; i < count; i++) {
        const struct elf_symbol *symbol = &symbols[i];
        bool cache = ends_with(symbol->name, ".cache.") /* of clang */ || (!symbol->local && ends_with(symbol->name, ".cache")) /* of flang */;
        bool library = strncmp(symbol->name, ".gomp_critical_user_", 20) == 0 || strcmp(symbol->name, WAITERS) == 0
                       || counts_executions(symbol->name);
        if (symbol->kind == PCERE_SYMBOL_VARIABLE && symbol->size < (1u << 20) && (cache || library))
            range_list_add(list, bias + symbol->address, bias + symbol->address + symbol->size);
    }
}

static void range_add_without(struct range_list *list, uint64_t bias, struct elf_range range, const struct elf_symbol *symbols, size_t count)
{
    struct range_list kept = {0};
    uint64_t at = range.address, end = range.address + range.bytes;
    for (size_t i = 0; i < count; i++)
        if (symbols[i].kind == PCERE_SYMBOL_VARIABLE && symbols[i].address < end && symbols[i].address + symbols[i].size > at)
            range_list_add(&kept, symbols[i].address, symbols[i].address + symbols[i].size);
    range_list_normalise(&kept);
    for (size_t i = 0; i < kept.count; i++) {
        range_list_add(list, bias + at, bias + kept.ranges[i].address);
        at = kept.ranges[i].address + kept.ranges[i].bytes;
    }
    range_list_add(list, bias + at, bias + end);
    list->failed |= kept.failed;
    free(kept.ranges);
}

static void block_ignore(const struct linked_program *linked, uint64_t block, struct range_list *list)
{
    const struct elf_range parts[] = {linked->tdata, linked->tbss};
    for (size_t i = 0; block && i < sizeof parts / sizeof *parts; i++)
        range_list_add(list, block + parts[i].address, block + parts[i].address + parts[i].bytes);
}

/* What a statically linked program's C library, OpenMP runtime and capture object keep in its image: a replay has its own. */
static void runtimes_ignore(const struct capture_log *log, const struct elf_file *elf, const struct store_codelet *codelet, struct range_list *list)
{
    struct linked_program linked;
    const struct elf_symbol *symbols;
    if (!linked_program_find(elf, &linked))
        return;
    size_t count = elf_file_tables(elf, &symbols);
    range_add_without(list, log->image_bias, linked.data, symbols, count);
    range_add_without(list, log->image_bias, linked.bss, symbols, count);
    range_list_add(list, log->image_bias + linked.frames.address, log->image_bias + linked.frames.address + linked.frames.bytes);
    for (size_t i = 0; i < codelet->thread_count && codelet->threads[i].image == 0; i++)
        block_ignore(&linked, codelet->threads[i].tls_address, list);
    uint64_t offset = elf_file_tls_offset(elf);
    block_ignore(&linked, log->initial_thread - offset, list);
    for (uint64_t i = 0; i < log->runtime_thread_count && i < CAPTURE_THREADS_MAX; i++)
        if (runtime_stack(log, codelet, log->runtime_threads[i]))
            block_ignore(&linked, log->runtime_threads[i] - offset, list);
}

static bool list_holds(const struct range_list *list, uint64_t address)
{
    for (size_t i = 0; i < list->count; i++)
        if (address - list->ranges[i].address < list->ranges[i].bytes)
            return true;
    return false;
}

/* Locks of critical constructs that no symbol tells, in stripped programs: `named` is what symbols tell of. */
static bool criticals_add(const struct capture_log *log, const struct range_list *named, struct store_codelet *codelet)
{
    size_t capacity = codelet->lock_count;
    for (size_t i = 0; i < CAPTURE_CRITICALS; i++) {
        uint64_t address = __atomic_load_n(&log->criticals[i], __ATOMIC_RELAXED);
        const struct store_mapping *mapping = address ? mapping_of(codelet, address) : NULL;
        if (!mapping || (mapping->role != STORE_ROLE_IMAGE && mapping->role != STORE_ROLE_LIBRARY) || list_holds(named, address))
            continue;
        if (!array_reserve(&codelet->locks, &capacity, codelet->lock_count + 1, sizeof *codelet->locks))
            return false;
        codelet->locks[codelet->lock_count++] = (struct store_lock){.address = address, .kind = STORE_LOCK_CRITICAL, .held_after = STORE_LOCK_GONE};
    }
    if (codelet->lock_count)
        qsort(codelet->locks, codelet->lock_count, sizeof *codelet->locks, lock_compare);
    return true;
}

enum pcere_status codelet_finish(const struct capture_log *log, const struct capture_thread *threads, const struct elf_file *elf,
                                 const struct libraries *libraries, uint64_t end_stack_pointer, struct store_codelet *codelet, struct pcere_error *error)
{
    struct range_list list = {0};
    const struct elf_symbol *symbols;
    size_t count = elf_file_symbols(elf, &symbols);
    symbols_ignore(symbols, count, log->image_bias, &list);
    count = elf_file_tables(elf, &symbols);
    symbols_ignore(symbols, count, log->image_bias, &list);
    for (size_t i = 0; i < libraries->image_count; i++) {
        const struct library_image *image = &libraries->images[i];
        const struct store_mapping *mapping = mapping_of(codelet, image->low);
        if (!image->elf || !mapping || mapping->role != STORE_ROLE_LIBRARY)
            continue;
        count = elf_file_symbols(image->elf, &symbols);
        symbols_ignore(symbols, count, image->bias, &list);
        count = elf_file_tables(image->elf, &symbols);
        symbols_ignore(symbols, count, image->bias, &list);
    }
    list.failed |= !criticals_add(log, &list, codelet);
    threads_ignore(log, threads, elf, codelet, &list);
    runtimes_ignore(log, elf, codelet, &list);
    runtime_threads_ignore(log, threads[0].thread_pointer, elf, codelet, &list);
    range_list_add(&list, log->plt_low, log->plt_high);
    for (size_t i = 0; i < codelet->ignored_count; i++)
        range_list_add(&list, codelet->ignored[i].address, codelet->ignored[i].address + codelet->ignored[i].bytes);
    range_list_add(&list, log->copies_low, log->copies_high);
    const struct store_mapping *stack = mapping_of(codelet, codelet->stack_pointer);
    if (stack)
        range_list_add(&list, dead_stack_low(codelet, stack), end_stack_pointer > codelet->stack_pointer && end_stack_pointer < stack->end
                                                ? end_stack_pointer : codelet->stack_pointer);
    for (uint32_t i = 0; i < log->site_count && i < CAPTURE_SITES_MAX; i++) {
        uint64_t cookie = log->sites[i] + offsetof(struct pcere_site, cookie);
        range_list_add(&list, cookie, cookie + sizeof(void *));
    }
    for (size_t i = 0; i < codelet->lock_count; i++)
        range_list_add(&list, codelet->locks[i].address, codelet->locks[i].address + (codelet->locks[i].kind == STORE_LOCK_CRITICAL ? CRITICAL_BYTES : LOCK_BYTES));
    if (list.failed) {
        free(list.ranges);
        return pcere_fail_memory(error, "the ranges that are not compared");
    }
    range_list_normalise(&list);
    free(codelet->ignored);
    codelet->ignored = list.ranges;
    codelet->ignored_count = list.count;
    return PCERE_OK;
}
