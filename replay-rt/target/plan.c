/* replay-rt/target/plan.c - the plan and the pages as the codelet sees them.
 *
 * The launcher wrote both; all offsets are checked all the same, since a plan may also come from an exported directory.
 */
#include "replay-rt/target/codelet.h"
#include "include/pcere/bisect.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HELD_NS 5000000000u      /* a launcher that is no more would never say that it is over */
#define HELD_STEP_NS 20000

static void *file_map(const char *path, int open_flags, int map_flags, uint64_t *ret_bytes, int *ret_descriptor)
{
    int descriptor = open(path, open_flags | O_CLOEXEC);
    if (descriptor < 0)
        return NULL;
    struct stat status;
    void *data = MAP_FAILED;
    if (!fstat(descriptor, &status) && status.st_size >= 0) {
        *ret_bytes = (uint64_t)status.st_size;
        size_t length = status.st_size ? (size_t)status.st_size : 1;
        data = mmap(NULL, length, PROT_READ | PROT_WRITE, map_flags, descriptor, 0);
    }
    if (data == MAP_FAILED) {
        close(descriptor);
        return NULL;
    }
    *ret_descriptor = descriptor;
    return data;
}

static bool table_fits(const struct replay_plan *plan, const struct plan_table *table, size_t entry_bytes)
{
    return table->offset <= plan->bytes && table->offset % 8 == 0
           && table->count <= (plan->bytes - table->offset) / entry_bytes;
}

static bool copies_in_order(const struct codelet *codelet, const struct plan_copy *copies, uint64_t count)
{
    const struct replay_plan *plan = codelet->plan;
    uint64_t floor = 0;
    for (uint64_t i = 0; i < count; i++) {
        const struct plan_copy *copy = &copies[i];
        if (copy->address < floor || copy->pages > (UINT64_MAX - copy->address) / plan->page_bytes)
            return false;
        floor = copy->address + copy->pages * plan->page_bytes;
        if ((copy->address | copy->source) % plan->page_bytes || copy->source > plan->pages_bytes
            || copy->pages > (plan->pages_bytes - copy->source) / plan->page_bytes)
            return false;
    }
    return true;
}

static bool copies_fit(const struct codelet *codelet, const struct plan_table *table)
{
    return table_fits(codelet->plan, table, sizeof(struct plan_copy))
           && copies_in_order(codelet, pcere_plan_table(codelet->plan, table), table->count);
}

static bool pointers_fit(const struct codelet *codelet)
{
    const struct replay_plan *plan = codelet->plan;
    const struct plan_pointer *pointers = pcere_plan_table(plan, &plan->pointers);
    if (!table_fits(plan, &plan->pointers, sizeof *pointers))
        return false;
    for (uint64_t i = 0; i < plan->pointers.count; i++)
        if (plan->pages_bytes < sizeof(uint64_t) || pointers[i].source > plan->pages_bytes - sizeof(uint64_t) || (pointers[i].source | pointers[i].address) % sizeof(uint64_t))
            return false;
    return true;
}

static bool contents_fit(const struct codelet *codelet)
{
    const struct replay_plan *plan = codelet->plan;
    const struct plan_copy *contents = pcere_plan_table(plan, &plan->contents);
    const struct plan_descriptor *descriptors = pcere_plan_table(plan, &plan->descriptors);
    if (!table_fits(plan, &plan->contents, sizeof *contents))
        return false;
    for (uint64_t i = 0; i < plan->contents.count; i++)
        if (contents[i].source > plan->pages_bytes || contents[i].pages > (plan->pages_bytes - contents[i].source) / plan->page_bytes)
            return false;
    for (uint64_t i = 0; i < plan->descriptors.count; i++)
        if (descriptors[i].content_first > plan->contents.count
            || descriptors[i].content_count > plan->contents.count - descriptors[i].content_first)
            return false;
    return true;
}

static bool moves_fit(const struct codelet *codelet, const struct plan_moves moves[2])
{
    const struct plan_table *table = &codelet->plan->step_moves;
    const struct plan_copy *copies = pcere_plan_table(codelet->plan, table);
    for (unsigned i = 0; i < 2; i++)
        if (moves[i].first > table->count || moves[i].count > table->count - moves[i].first || !copies_in_order(codelet, copies + moves[i].first, moves[i].count))
            return false;
    return true;
}

static bool steps_fit(const struct codelet *codelet)
{
    const struct replay_plan *plan = codelet->plan;
    const struct plan_step *steps = pcere_plan_table(plan, &plan->steps);
    if (plan->steps.count > PLAN_STEPS_MAX || !table_fits(plan, &plan->steps, sizeof *steps)
        || !table_fits(plan, &plan->step_words, sizeof(uint64_t)) || !table_fits(plan, &plan->step_copies, sizeof(struct plan_copy))
        || !table_fits(plan, &plan->step_moves, sizeof(struct plan_copy)) || !moves_fit(codelet, plan->region_moves))
        return false;
    const struct plan_copy *copies = pcere_plan_table(plan, &plan->step_copies);
    for (uint64_t i = 0; i < plan->steps.count; i++) {
        const struct plan_step *step = &steps[i];
        if (step->image >= plan->images.count || step->word_first > plan->step_words.count || step->word_count > plan->step_words.count - step->word_first
            || step->copy_first > plan->step_copies.count || step->copy_count > plan->step_copies.count - step->copy_first
            || !copies_in_order(codelet, copies + step->copy_first, step->copy_count)
            || !moves_fit(codelet, step->moves))
            return false;
    }
    return true;
}

static bool plan_is_sound(const struct codelet *codelet, uint64_t plan_bytes, uint64_t pages_bytes)
{
    const struct replay_plan *plan = codelet->plan;
    return plan_bytes >= sizeof *plan && !memcmp(plan->magic, PLAN_MAGIC, sizeof plan->magic) && plan->version == PLAN_VERSION
           && plan->bytes == plan_bytes && plan->pages_bytes <= pages_bytes && plan->page_bytes >= 4096
           && !(plan->page_bytes & (plan->page_bytes - 1)) && plan->strings < plan->bytes
           && ((const char *)plan)[plan->bytes - 1] == '\0' && plan->region < plan->bytes - plan->strings
           && plan->level_count <= PLAN_LEVELS_MAX && (!plan->team || plan->team < plan->teams)
           && table_fits(plan, &plan->words, sizeof(uint64_t)) && table_fits(plan, &plan->mappings, sizeof(struct plan_mapping))
           && table_fits(plan, &plan->aliases, sizeof(struct plan_alias)) && copies_fit(codelet, &plan->before) && copies_fit(codelet, &plan->expected)
           && table_fits(plan, &plan->ignored, sizeof(struct plan_range))
           && table_fits(plan, &plan->changed, sizeof(struct plan_range)) && table_fits(plan, &plan->zeroed, sizeof(struct plan_range))
           && table_fits(plan, &plan->images, sizeof(struct plan_image)) && table_fits(plan, &plan->threads, sizeof(struct plan_thread))
           && pointers_fit(codelet) && table_fits(plan, &plan->locks, sizeof(struct plan_lock))
           && table_fits(plan, &plan->signals, sizeof(struct plan_signal)) && table_fits(plan, &plan->keys, sizeof(struct plan_key))
           && table_fits(plan, &plan->relocations, sizeof(struct plan_relocation))
           && table_fits(plan, &plan->randoms, sizeof(struct plan_random))
           && table_fits(plan, &plan->externals, sizeof(struct plan_external))
           && table_fits(plan, &plan->streams, sizeof(struct plan_stream))
           && table_fits(plan, &plan->descriptors, sizeof(struct plan_descriptor)) && contents_fit(codelet) && steps_fit(codelet);
}

/* The region finds the descriptors that its program had, and no others: ours would have their numbers. */
static void inherited_close(const char *path)
{
    int number, end = 0;
    if (sscanf(path, "/proc/self/fd/%d%n", &number, &end) == 1 && !path[end])
        close(number);
}

bool pcere_plan_open(const char *plan_path, const char *pages_path, struct codelet *ret_codelet)
{
    uint64_t plan_bytes = 0, pages_bytes = 0;
    struct codelet codelet = {.plan_fd = -1, .pages_fd = -1, .filler_fd = -1, .done_fd = -1};
    codelet.plan = file_map(plan_path, O_RDWR, MAP_SHARED, &plan_bytes, &codelet.plan_fd);
    codelet.pages = file_map(pages_path, O_RDONLY, MAP_PRIVATE | MAP_NORESERVE, &pages_bytes, &codelet.pages_fd);
    if (!codelet.plan || !codelet.pages || !plan_is_sound(&codelet, plan_bytes, pages_bytes))
        return false;
    inherited_close(plan_path);
    inherited_close(pages_path);
    pcere_files_begin(&codelet);
    codelet.plan_fd = pcere_descriptor_raise(codelet.plan_fd);
    codelet.pages_fd = pcere_descriptor_raise(codelet.pages_fd);
    if (codelet.plan->filler)
        codelet.filler_fd = pcere_descriptor_raise((int)codelet.plan->filler);
    if (codelet.plan->done)
        codelet.done_fd = pcere_descriptor_raise((int)codelet.plan->done);
    *ret_codelet = codelet;
    return true;
}

const void *pcere_plan_table(const struct replay_plan *plan, const struct plan_table *table)
{
    return (const char *)plan + table->offset;
}

size_t pcere_plan_range_from(const struct plan_range *ranges, size_t count, uint64_t address)
{
    BISECT(low, 0, count, i, ranges[i].address + ranges[i].bytes <= address);
    return low;
}

const char *pcere_plan_string(const struct replay_plan *plan, uint32_t offset)
{
    return offset < plan->bytes - plan->strings ? (const char *)plan + plan->strings + offset : "";
}

void pcere_plan_progress(struct codelet *codelet)
{
    atomic_fetch_add(&codelet->plan->result.progress, 1);
}

void pcere_plan_phase(struct codelet *codelet, enum plan_phase phase)
{
    struct plan_result *result = &codelet->plan->result;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    result->phases_ns[phase] += now_ns - result->marked_ns;
    result->marked_ns = now_ns;
}

void pcere_plan_await(struct codelet *codelet, enum plan_phase phase)
{
    struct plan_result *result = &codelet->plan->result;
    if (!atomic_load(&result->held))
        return;
    pcere_plan_phase(codelet, phase);
    for (uint64_t start_ns = result->marked_ns; atomic_load(&result->held) && pcere_clock_ns(CLOCK_MONOTONIC) - start_ns < HELD_NS;)
        nanosleep(&(struct timespec){.tv_nsec = HELD_STEP_NS}, NULL);
    pcere_plan_phase(codelet, PLAN_PHASE_END);
}

bool pcere_plan_stay(struct codelet *codelet)
{
    struct replay_plan *plan = codelet->plan;
    if (!plan->policy.stays || codelet->done_fd < 0)
        return false;
    atomic_store(&plan->result.state, PLAN_DONE);
    if (write(codelet->done_fd, "", 1) != 1)
        return false;
    uint32_t turn;
    while ((turn = atomic_load(&plan->turn)) == PLAN_TURN_WAIT)
        syscall(SYS_futex, &plan->turn, FUTEX_WAIT, PLAN_TURN_WAIT, NULL, NULL, 0);
    if (turn != PLAN_TURN_ON)
        return false;
    atomic_store(&plan->turn, PLAN_TURN_WAIT);
    atomic_store(&plan->result.state, PLAN_RUNNING);
    return true;
}

_Noreturn void pcere_plan_end(struct codelet *codelet, enum plan_state state, const char *format, ...)
{
    struct plan_result *result = &codelet->plan->result;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->message, sizeof result->message, format, arguments);
    va_end(arguments);
    atomic_store(&result->state, state);
    if (codelet->done_fd >= 0) {
        pcere_processors_any();       /* memory is given back by any that has nothing to do */
        close(codelet->done_fd);
    }
    _exit(state == PLAN_DONE ? 0 : 1);
}
