#include "capture-rt/tracer/log.h"

#include "capture-rt/tracer/child.h"
#include "capture-rt/tracer/libraries.h"
#include "capture-rt/tracer/plain.h"

#include "core/elf_file.h"
#include "core/environment.h"
#include "core/linked_program.h"
#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORDS_MOST ((size_t)4 << 20)
#define RECORDS_LIMITED_LEAST ((size_t)256 << 10)   /* under a limit of addresses, which the program keeps as well: a 32nd of it, or so many */
#define PROBE_NS_MOST 2000u

#define LOADER_FAILED 127               /* the dynamic linker's status, if it cannot load all that a program needs */

int descriptor_raise(int descriptor)
{
    struct rlimit limit;
    int least = 900;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 1000)
        least = limit.rlim_cur > 64 ? (int)limit.rlim_cur - 16 : 3;
    return fcntl(descriptor, F_DUPFD_CLOEXEC, least);
}

void descriptors_make_room(void)
{
    int low = open("/dev/null", O_RDONLY | O_CLOEXEC), high = low >= 0 ? descriptor_raise(low) : -1;
    if (high >= 0)
        close(high);
    if (low >= 0)
        close(low);
}

/* Inside, a statically linked program does not know what of it is the runtime's. */
static void linked_note(const char *program, struct capture_log *log)
{
    struct elf_file *file;
    struct linked_program linked;
    if (elf_file_open(program, &file, NULL) != PCERE_OK)
        return;
    log->helpers = elf_file_imports(file, "__kmpc_omp_target_task_alloc");
    if (linked_program_find(file, &linked))
        log->linked = (struct capture_linked){linked.text.address, linked.text.address + linked.text.bytes, linked.openmp.address,
                                              linked.openmp.address + linked.openmp.bytes};
    elf_file_close(file);
}

static size_t records_most(const struct capture_options *options)
{
    struct rlimit limit;
    if (options->records_most)
        return options->records_most;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return RECORDS_MOST;
    size_t share = limit.rlim_cur / 32 / sizeof(struct capture_record);
    return share < RECORDS_LIMITED_LEAST ? RECORDS_LIMITED_LEAST : share < RECORDS_MOST ? share : RECORDS_MOST;
}

enum pcere_status shared_log_open(const struct capture_options *options, enum capture_mode mode, struct shared_log *ret_log,
                                  struct pcere_error *error)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t records = records_most(options);
    size_t copies = (sizeof(struct capture_log) + page - 1) / page * page;
    size_t offset = copies + ((size_t)CAPTURE_COPY_SLOTS * CAPTURE_COPY_BYTES + page - 1) / page * page;
    size_t bytes = offset + (records * sizeof(struct capture_record) + page - 1) / page * page;
    if (strlen(options->library) >= sizeof ret_log->log->library)
        return pcere_fail(error, PCERE_USAGE, ENAMETOOLONG, NULL, "the path of the capture library is too long");
    int low = memfd_create("pcere-log", MFD_CLOEXEC);
    int descriptor = low >= 0 ? descriptor_raise(low) : -1;
    if (low >= 0)
        close(low);
    struct capture_log *log = MAP_FAILED;
    if (descriptor >= 0 && ftruncate(descriptor, (off_t)bytes) == 0)
        log = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (log == MAP_FAILED) {
        bool forbidden = errno == EPERM || errno == ENOSYS;
        enum pcere_status status = pcere_fail(error, forbidden ? PCERE_REFUSED : PCERE_SYSTEM, errno,
                                              forbidden ? "permit memfd_create in the container; 'pcere check' tells what else is missing" : NULL,
                                              "cannot make the shared log");
        if (descriptor >= 0)
            close(descriptor);
        return status;
    }
    log->magic = CAPTURE_MAGIC;
    log->version = CAPTURE_VERSION;
    log->mode = mode;
    log->log_bytes = bytes;
    log->copies_offset = copies;
    log->records_offset = offset;
    log->records_max = records;
    log->places_ours = child_sets_places(options);
    strcpy(log->library, options->library);
    linked_note(options->program, log);
    *ret_log = (struct shared_log){.descriptor = descriptor, .log = log, .bytes = bytes};
    return PCERE_OK;
}

void shared_log_close(struct shared_log *log)
{
    if (!log->log)
        return;
    munmap(log->log, log->bytes);
    free(log->room);
    close(log->descriptor);
    *log = (struct shared_log){.descriptor = -1};
}

/* ---- the program ----------------------------------------------------------------------------------------------------------- */

static bool is_script(const char *path)
{
    char start[2] = "";
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    bool script = descriptor >= 0 && read(descriptor, start, 2) == 2 && memcmp(start, "#!", 2) == 0;
    if (descriptor >= 0)
        close(descriptor);
    return script;
}

const char *capture_started_program(char *const *arguments)
{
    for (size_t i = 0; arguments && arguments[i]; i++) {
        struct elf_file *file;
        const struct elf_unit *units;
        if (access(arguments[i], X_OK) != 0 || elf_file_open(arguments[i], &file, NULL) != PCERE_OK)
            continue;
        bool carries = elf_file_units(file, &units) > 0;
        elf_file_close(file);
        if (carries)
            return arguments[i];
    }
    return NULL;
}

static enum pcere_status fail_without_units(const struct capture_options *options, struct pcere_error *error)
{
    char hint[512];
    const char *started = capture_started_program(options->arguments), *name = strrchr(options->program, '/');
    if (started)
        snprintf(hint, sizeof hint, "capture what it starts, the command between the two: %s ... pcere capture %s ...", name ? name + 1 : options->program, started);
    return pcere_fail(error, PCERE_DATA, 0, started ? hint : "compile it with: clang -O3 -g -fopenmp -fpass-plugin=PCEREPass.so x.c",
                      "'%s' has no .pcere.bc section: it was not built with the plugin, or lost it (llvm-strip takes it away, GNU's strip does not)", options->program);
}

enum pcere_status program_check(const struct capture_options *options, struct pcere_error *error)
{
    const char *program = options->program;
    struct stat facts;
    if (stat(program, &facts) != 0)
        return pcere_fail(error, PCERE_USAGE, errno, "give the program's path; PATH is not searched", "cannot run '%s'", program);
    if (!S_ISREG(facts.st_mode))
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "cannot run '%s': it is no file", program);
    if (access(program, X_OK) != 0)
        return pcere_fail(error, PCERE_USAGE, errno, "chmod +x makes a file executable", "cannot run '%s'", program);
    if (is_script(program))
        return pcere_fail(error, PCERE_DATA, 0, "give the executable that the script starts, with its arguments",
                          "'%s' is a script, not a program that was compiled with the plugin", program);
    if (access(options->library, R_OK) != 0)
        return pcere_fail(error, PCERE_REFUSED, errno, "reinstall PCERE", "cannot read its capture library '%s'", options->library);

    struct elf_file *file;
    enum pcere_status status = elf_file_open(program, &file, error);
    if (status != PCERE_OK)
        return status;
    const struct elf_unit *units;
    struct linked_program linked;
    uint32_t version;
    if (elf_file_units(file, &units) == 0 && !libraries_may_hold_regions(file))
        status = elf_file_other_units(file, &version) ? elf_fail_other_version(file, error) : fail_without_units(options, error);
    else if (elf_file_is_static(file) && !linked_program_find(file, &linked))
        status = pcere_fail(error, PCERE_REFUSED, 0, "end the command that links it with $(pcere version --static) and do not strip it, or link it without -static",
                            "'%s' is statically linked: no capture library can be brought into it, and it does not have one in itself", program);
    else if (facts.st_mode & (S_ISUID | S_ISGID))
        status = pcere_fail(error, PCERE_REFUSED, 0, "take the set-user-ID bits off a copy of it",
                            "'%s' runs with another user's rights: no capture library can be brought into it", program);
    elf_file_close(file);
    return status;
}

/* ---- what it left ---------------------------------------------------------------------------------------------------------- */

static char *text_of(const char *text, size_t bytes)
{
    return strndup(text, strnlen(text, bytes - 1));
}

/* Room for as many threads as there are processors: for how many that is. NULL: no memory. */
static char *sized_of(const struct capture_region_entry *entry)
{
    cpu_set_t permitted;
    struct text text = {0};
    char *sized = text_of(entry->thread_sized, sizeof entry->thread_sized);
    if (!sized || strncmp(sized, PCERE_THREADS_ROOM, sizeof PCERE_THREADS_ROOM - 1) != 0 || sched_getaffinity(0, sizeof permitted, &permitted))
        return sized;
    int count = CPU_COUNT(&permitted);
    text_addf(&text, PCERE_THREADS_ROOM_FOR "%d processor%s%s", count, count == 1 ? "" : "s", sized + sizeof PCERE_THREADS_ROOM - 1);
    free(sized);
    return text_take(&text);
}

/* Its entering thread's share tells it, or what all threads of its team had on average. */
static uint64_t probed_of(const struct capture_region_entry *entry, uint32_t threads)
{
    uint64_t each_ns = entry->probed_ns / threads;
    return each_ns > entry->probed_own_ns ? each_ns : entry->probed_own_ns;
}

static enum pcere_status regions_read(const struct capture_log *log, struct capture_run *run, struct pcere_error *error)
{
    uint32_t count = __atomic_load_n(&log->region_count, __ATOMIC_ACQUIRE);
    if (count > CAPTURE_REGIONS_MAX)
        return pcere_fail(error, PCERE_DATA, 0, "the program seems to overwrite memory that is not its own",
                          "the log that the program left is damaged");
    run->regions = calloc(count ? count : 1, sizeof *run->regions);
    if (!run->regions)
        return pcere_fail_memory(error, "the regions");
    run->region_count = count;
    for (uint32_t i = 0; i < count; i++) {
        const struct capture_region_entry *entry = &log->regions[i];
        const struct capture_counts *counts = &log->counts[i];
        struct capture_region *region = &run->regions[i];
        *region = (struct capture_region){
            .name = text_of(entry->name, sizeof entry->name), .function = text_of(entry->function, sizeof entry->function),
            .file = text_of(entry->file, sizeof entry->file), .line = entry->line, .invocations = counts->invocations,
            .time_ns = counts->time_ns, .nested_ns = counts->nested_ns, .unfinished = entry->unfinished, .nested = counts->nested, .foreign = counts->foreign,
            .probed_ns = probed_of(entry, run->threads), .shares = entry->site_flags & PCERE_SITE_SHARES,
            .plain = entry->plain, .plugin_version = entry->plugin_version, .code = entry->code};
        if (entry->object[0])
            region->object = text_of(entry->object, sizeof entry->object);
        if (entry->thread_sized[0])
            region->thread_sized = sized_of(entry);
        if (!region->name || !region->function || !region->file || (entry->thread_sized[0] && !region->thread_sized) ||
            (entry->object[0] && !region->object))
            return pcere_fail_memory(error, "the regions");
    }
    return PCERE_OK;
}

static int number_order(const void *left, const void *right)
{
    const struct capture_invocation *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

/* Pages of the log by dozens: each would cost a fault of its own. A kernel that cannot (before 5.14) gives them one by one. */
static void records_prepare(const struct shared_log *shared, size_t count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (count * sizeof(struct capture_record) + page - 1) / page * page;
    madvise((char *)shared->log + shared->log->records_offset, bytes, MADV_POPULATE_READ);
}

/* What lies in it is of no meaning. NULL: no memory. */
static struct capture_invocation *room_take(struct shared_log *shared, size_t count)
{
    struct capture_invocation *room = shared->room_count >= count ? shared->room : NULL, *fits;
    size_t bytes = (count ? count : 1) * sizeof *room;
    if (!room)
        return malloc(bytes);
    shared->room = NULL;
    shared->room_count = 0;
    return (fits = realloc(room, bytes)) ? fits : room;
}

/* Records are in the order in which invocations ended; each region's are gathered into a slice of one array, as they are numbered. */
static enum pcere_status invocations_read(struct shared_log *shared, struct capture_run *run, struct pcere_error *error)
{
    const struct capture_log *log = shared->log;
    const struct capture_record *records = (const void *)((const char *)log + log->records_offset);
    uint64_t attempted = log->record_count;
    size_t count = attempted < log->records_max ? attempted : log->records_max;
    run->dropped = attempted - count;
    run->invocations = room_take(shared, count);
    if (!run->invocations)
        return pcere_fail_memory(error, "the invocations");
    records_prepare(shared, count);
    for (size_t i = 0; i < count; i++)
        if (records[i].region < run->region_count)
            run->regions[records[i].region].list_count++;
    size_t next = 0;
    for (size_t i = 0; i < run->region_count; i++) {
        run->regions[i].list = run->invocations + next;
        next += run->regions[i].list_count;
        run->regions[i].list_count = 0;
    }
    run->invocation_count = next;
    for (size_t i = 0; i < count; i++) {
        const struct capture_record *record = &records[i];
        if (record->region >= run->region_count)
            continue;
        struct capture_region *region = &run->regions[record->region];
        region->list[region->list_count++] = (struct capture_invocation){
            .region = record->region, .begin_ns = record->begin_ns, .end_ns = record->end_ns < record->begin_ns ? 0 : record->end_ns,
            .number = record->invocation, .words_hash = record->words_hash, .cpu_ns = record->cpu_ns, .faults = record->faults,
            .switches = record->switches, .team = record->team, .caller = record->caller, .path = record->path, .nested = record->parent != 0,
            .parent = record->parent && record->parent <= run->region_count ? record->parent - 1 : SIZE_MAX,
            .measured_cpu = record->flags & CAPTURE_RECORD_CPU, .stopped = record->flags & CAPTURE_RECORD_STOPPED,
            .near = record->flags & CAPTURE_RECORD_NEAR, .fresh = record->flags & CAPTURE_RECORD_FRESH,
            .all_fresh = record->flags & CAPTURE_RECORD_ALL_FRESH, .expected = record->expected};
    }
    for (size_t i = 0; i < run->region_count; i++) {
        const struct capture_region *region = &run->regions[i];
        bool sorted = true;
        for (size_t j = 1; j < region->list_count && sorted; j++)
            sorted = region->list[j - 1].number < region->list[j].number;
        if (!sorted)
            qsort(region->list, region->list_count, sizeof *region->list, number_order);
    }
    /* The program may have ended inside a region: it was begun, and nothing more was said of it. */
    for (size_t i = 0; i < run->region_count && run->dropped == 0; i++) {
        struct capture_region *region = &run->regions[i];
        if (region->invocations > region->list_count)
            region->unfinished += region->invocations - region->list_count;
    }
    return PCERE_OK;
}

static int begin_order(const void *left, const void *right)
{
    const struct capture_invocation *const *a = left, *const *b = right;
    return ((*a)->begin_ns > (*b)->begin_ns) - ((*a)->begin_ns < (*b)->begin_ns);
}

/* Where several threads are in regions at once, the program spends its time in the one that began first: each region's share of the run is
 * what no earlier one covers. */
static enum pcere_status overlaps_remove(struct capture_run *run, struct pcere_error *error)
{
    bool alone = true;
    size_t count = 0;
    for (size_t i = 0; i < run->region_count; i++)
        alone &= run->regions[i].foreign == 0;
    if (alone)
        return PCERE_OK;
    const struct capture_invocation **order = calloc(run->invocation_count + 1, sizeof(const struct capture_invocation *));
    if (!order)
        return pcere_fail_memory(error, "the invocations");
    for (size_t i = 0; i < run->invocation_count; i++)
        if (!run->invocations[i].nested && run->invocations[i].end_ns)
            order[count++] = &run->invocations[i];
    qsort(order, count, sizeof *order, begin_order);
    uint64_t covered_ns = 0;
    for (size_t i = 0; i < count; i++) {
        struct capture_region *region = &run->regions[order[i]->region];
        uint64_t begin_ns = order[i]->begin_ns, end_ns = order[i]->end_ns;
        uint64_t free_ns = begin_ns > covered_ns ? begin_ns : covered_ns < end_ns ? covered_ns : end_ns;
        uint64_t taken_ns = free_ns - begin_ns;
        region->overlap_ns += taken_ns;
        region->time_ns -= taken_ns < region->time_ns ? taken_ns : region->time_ns;
        covered_ns = end_ns > covered_ns ? end_ns : covered_ns;
    }
    free(order);
    return PCERE_OK;
}

static uint64_t serial_of(const struct capture_run *run)
{
    uint64_t regions_ns = 0;
    for (size_t i = 0; i < run->region_count; i++)
        regions_ns += run->regions[i].time_ns;
    return run->wall_ns > regions_ns ? run->wall_ns - regions_ns : 0;
}

enum pcere_status shared_log_read(struct shared_log *log, struct child *child, const struct capture_options *options,
                                  struct capture_run *ret_run, struct pcere_error *error)
{
    struct capture_run run = {
        .wall_ns = child->end_ns - child->start_ns, .peak_bytes = child->peak_bytes, .waited_ns = child->waited_ns, .program_status = child->status,
        .threads = options->threads ? options->threads : 1, .randomized = child->randomized, .image_bias = log->log->image_bias,
        .runtime_separate = log->log->runtime_separate, .blocks_moved = log->log->blocks_moved,
        .forked = log->log->forked != CAPTURE_FORKED_NONE, .forked_regions = log->log->forked == CAPTURE_FORKED_ENTERED,
        .probe_ns = log->log->probe_ns < PROBE_NS_MOST ? log->log->probe_ns : 0};
    if (log->log->attached != CAPTURE_VERSION && WIFEXITED(child->status) && WEXITSTATUS(child->status) == LOADER_FAILED)
        return pcere_fail(error, PCERE_NO, 0, "run it by itself: a library may be missing, or memory too little (ulimit -v, ulimit -d)",
                          "'%s' did not start (status %d)", options->program, LOADER_FAILED);
    if (log->log->attached != CAPTURE_VERSION && WIFSIGNALED(child->status))
        return pcere_fail(error, PCERE_NO, 0, NULL, "'%s' was killed by signal %d (%s) before it began", options->program, WTERMSIG(child->status),
                          strsignal(WTERMSIG(child->status)));
    bool is_static = log->log->linked.text_high > 0;
    if (log->log->attached != CAPTURE_VERSION)
        return pcere_fail(error, PCERE_REFUSED, 0, is_static ? "it may have that of another version: link it again, with $(pcere version --static) at the end of the command"
                                                             : "programs that gain rights when they start cannot be captured",
                          "the capture library did not come to life inside '%s'", options->program);
    enum pcere_status status = regions_read(log->log, &run, error);
    if (status == PCERE_OK)
        status = plain_regions_name(&run, options->program, error);
    if (status == PCERE_OK)
        status = invocations_read(log, &run, error);
    if (status == PCERE_OK)
        status = overlaps_remove(&run, error);
    if (status != PCERE_OK) {
        capture_run_done(&run);
        return status;
    }
    run.waited_ns -= log->log->stall_waited_ns < run.waited_ns ? log->log->stall_waited_ns : run.waited_ns;
    run.wall_ns -= log->log->stall_ns < run.wall_ns ? log->log->stall_ns : run.wall_ns;
    run.probing_ns = log->log->probing_ns < run.wall_ns ? log->log->probing_ns : run.wall_ns;
    run.wall_ns -= run.probing_ns;
    run.as_run_ns = run.wall_ns;
    run.serial_ns = serial_of(&run);
    run.environment = child->environment;
    child->environment = NULL;
    *ret_run = run;
    return PCERE_OK;
}

void capture_run_done(struct capture_run *run)
{
    for (size_t i = 0; i < run->region_count; i++) {
        free(run->regions[i].name);
        free(run->regions[i].function);
        free(run->regions[i].file);
        free(run->regions[i].thread_sized);
        free(run->regions[i].object);
    }
    environment_list_free(run->environment);
    free(run->regions);
    free(run->invocations);
    *run = (struct capture_run){0};
}
