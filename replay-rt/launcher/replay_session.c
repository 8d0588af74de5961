/* replay-rt/launcher/replay_session.c - opens a store's program for replaying: build, layout, processes. */
#include "replay-rt/launcher/replay_session.h"

#include "core/host.h"
#include "core/text.h"
#include "replay-rt/launcher/layout.h"
#include "replay-rt/launcher/page_cost.h"
#include "replay-rt/launcher/patience.h"
#include "replay-rt/launcher/process.h"
#include "replay-rt/launcher/sampling.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 60000000000u
#define PATIENCE_RUNS 50u
#define PATIENCE_RUNS_COUNTED 2000u     /* code that follows each access to memory runs hundreds of times longer */
#define PATIENCE_REGION_NS 10000000000u
#define PATIENCE_REGION_RUNS 20u        /* of the original's code, by a processor of its own for each thread */

uint64_t replay_session_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void replay_words_take(const char *from, size_t bytes, char *to)
{
    memcpy(to, from, bytes);
    to[bytes - 1] = '\0';
    for (char *at = to; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
}

bool replay_session_stopped(const struct replay_session *session)
{
    return session->options->stop && session->options->stop();
}

struct extent {                       /* of all codelets of the store together */
    struct store_range *taken;        /* addresses */
    size_t taken_count, taken_capacity;
    uint64_t zero_pages, page_count;  /* most zero pages of one codelet; one more than the highest page number */
    struct page_places places;
    struct build_root *roots;         /* where their code begins; `rootless`: not known of one */
    size_t root_count, root_capacity;
    bool rootless;
    bool keys;                        /* of some thread-specific data */
};

static enum pcere_status root_add(struct extent *extent, const struct store_codelet *codelet, struct pcere_error *error)
{
    extent->keys |= codelet->key_count > 0;
    extent->rootless |= !codelet->unit_id || strchr(codelet->region, '\n');
    if (!array_reserve(&extent->roots, &extent->root_capacity, extent->root_count + 1, sizeof *extent->roots))
        return pcere_fail_memory(error, "captured regions");
    struct build_root *root = &extent->roots[extent->root_count++];
    *root = (struct build_root){codelet->unit_id, strdup(codelet->region)};
    return root->region ? PCERE_OK : pcere_fail_memory(error, "captured regions");
}

static int root_order(const void *left, const void *right)
{
    const struct build_root *a = left, *b = right;
    return a->unit_id != b->unit_id ? (a->unit_id > b->unit_id) - (a->unit_id < b->unit_id) : strcmp(a->region, b->region);
}

/* Ascending, each once. */
static void roots_sort(struct extent *extent)
{
    size_t kept = 0;
    if (extent->root_count)
        qsort(extent->roots, extent->root_count, sizeof *extent->roots, root_order);
    for (size_t i = 0; i < extent->root_count; i++)
        if (kept && !root_order(&extent->roots[kept - 1], &extent->roots[i]))
            free(extent->roots[i].region);
        else
            extent->roots[kept++] = extent->roots[i];
    extent->root_count = kept;
}

static void extent_done(struct extent *extent)
{
    for (size_t i = 0; i < extent->root_count; i++)
        free(extent->roots[i].region);
    free(extent->roots);
    page_places_done(&extent->places);
    free(extent->taken);
}

static enum pcere_status extent_add(struct extent *extent, const struct store_codelet *codelet, struct pcere_error *error)
{
    if (!array_reserve(&extent->taken, &extent->taken_capacity, extent->taken_count + codelet->mapping_count, sizeof *extent->taken))
        return pcere_fail_memory(error, "captured ranges");
    for (size_t i = 0; i < codelet->mapping_count; i++)
        extent->taken[extent->taken_count++] =
            (struct store_range){codelet->mappings[i].start, codelet->mappings[i].end - codelet->mappings[i].start};
    uint64_t zero_pages = 0;
    const struct store_run *lists[] = {codelet->before, codelet->after, codelet->contents, codelet->made};
    const size_t counts[] = {codelet->before_count, codelet->after_count, codelet->content_count, codelet->made_count};
    for (size_t list = 0; list < sizeof counts / sizeof *counts; list++)
        for (size_t i = 0; i < counts[list]; i++) {
            const struct store_run *run = &lists[list][i];
            if (run->page == STORE_PAGE_ZERO)
                zero_pages += run->count;
            else if (run->page + run->count > extent->page_count)
                extent->page_count = run->page + run->count;
        }
    if (zero_pages > extent->zero_pages)
        extent->zero_pages = zero_pages;
    return page_places_add(&extent->places, codelet) ? PCERE_OK : pcere_fail_memory(error, "captured pages");
}

static enum pcere_status extent_find(struct store *store, struct extent *extent, struct pcere_error *error)
{
    const struct store_manifest *manifest = store_manifest(store);
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; !status && i < manifest->region_count; i++)
        for (size_t j = 0; !status && j < manifest->regions[i].class_count; j++) {
            struct store_codelet codelet;
            const struct store_class *class = &manifest->regions[i].classes[j];
            if (!class->captured || !class->codelet || store_codelet_load(store, class->codelet, &codelet, NULL))
                continue;             /* damage is reported when its turn comes */
            status = extent_add(extent, &codelet, error);
            if (!status)
                status = root_add(extent, &codelet, error);
            store_codelet_done(&codelet);
        }
    if (!status)
        roots_sort(extent);
    return status;
}

static enum pcere_status range_take(struct extent *extent, uint64_t low, uint64_t high, struct pcere_error *error)
{
    if (!array_reserve(&extent->taken, &extent->taken_capacity, extent->taken_count + 1, sizeof *extent->taken))
        return pcere_fail_memory(error, "captured ranges");
    extent->taken[extent->taken_count++] = (struct store_range){low, high - low};
    return PCERE_OK;
}

static enum pcere_status images_lay_out(struct images *images, struct extent *extent, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t i = 1; !status && i < images->count; i++)
        if (images->items[i].elf)
            status = range_take(extent, images->items[i].low, images->items[i].high, error);
    struct loaded_image *program = &images->items[0];
    uint64_t low = 0, high = 0;
    elf_file_near_span(program->elf, &low, &high);
    if (!status)
        status = layout_choose(extent->taken, extent->taken_count, low + program->bias, high + program->bias, !elf_file_is_pie(program->elf),
                               &program->base, error);
    if (!status)
        status = range_take(extent, program->base - LAYOUT_MISSING_BYTES, program->base + LAYOUT_IMAGE_BYTES, error);
    for (size_t i = 1; !status && i < images->count; i++) {
        struct loaded_image *image = &images->items[i];
        if (!image->elf)
            continue;
        status = layout_choose_library(extent->taken, extent->taken_count, image->low, image->high, &image->base, error);
        if (!status)
            status = range_take(extent, image->base, image->base + LAYOUT_LIBRARY_BYTES, error);
    }
    return status;
}

/* One address for the whole store, so that one executable serves all its codelets. */
static enum pcere_status replay_session_build(struct replay_session *session, struct extent *extent, struct pcere_error *error)
{
    const struct replay_options *options = session->options;
    const struct build_options build = {
        .flags = options->flags,
        .character = options->character,
        .all_loops = options->all_loops && options->schedule,
        .unit_objects = options->unit_objects,
        .passes = options->passes,
        .pass_plugin = options->pass_plugin,
        .count = options->count,
        .compiler = options->compiler,
        .search_path = options->search_path,
        .library_directory = options->library_directory,
        .processor = &session->processor,
        .roots = extent->roots,
        .root_count = extent->rootless ? 0 : extent->root_count,
        .progress = options->building,
        .progress_context = options->progress_context,
    };
    uint64_t start_ns = replay_session_clock_ns();
    enum pcere_status status = images_lay_out(&session->images, extent, error);
    if (!status)
        status = build_codelets(session->store, &session->images, &build, &session->build, error);
    session->build_ns = replay_session_clock_ns() - start_ns;
    return status;
}

enum pcere_status replay_session_open(struct store *store, const struct replay_options *options, struct replay_session *ret_session,
                               struct pcere_error *error)
{
    struct replay_session session = {.store = store, .options = options, .pool = PAGE_POOL_NONE, .filler = filler_open(), .stayed.plan.fd = -1,
                                     .page_ns = page_cost_ns(store_manifest(store)->page_size)};
    struct extent extent = {0};
    enum pcere_status status = environment_check(options, error);
    if (!status)
        status = processor_find(options->target, options->sysroot, options->search_path, &session.processor, error);
    if (!status)
        status = images_open(store, &session.images, error);
    if (!status && store_manifest(store)->page_size != (uint64_t)sysconf(_SC_PAGESIZE))
        status = pcere_fail(error, PCERE_REFUSED, 0, "replay it on a machine with pages of that size", "the capture has pages of %llu bytes, this machine of %ld",
                            (unsigned long long)store_manifest(store)->page_size, sysconf(_SC_PAGESIZE));
    if (!status)
        session.program = session.images.items[0].elf;
    session.helpers = session.program && elf_file_imports(session.program, "__kmpc_omp_target_task_alloc");
    if (!status)
        status = extent_find(store, &extent, error);
    if (!status)
        status = replay_session_build(&session, &extent, error);
    if (!status)
        status = page_pool_new(store, &session.images, store_manifest(store)->page_size, extent.zero_pages, extent.page_count, &extent.places,
                               &session.pool, error);
    session.keys = extent.keys;
    extent_done(&extent);
    if (status)
        replay_session_close(&session);
    else
        *ret_session = session;
    return status;
}

void replay_session_close(struct replay_session *session)
{
    replay_stay_end(session);
    standby_end(&session->standby);
    process_ending_wait(&session->ending);
    filler_close(&session->filler);
    page_pool_keep(&session->pool);
    page_pool_done(&session->pool);
    build_done(&session->build);
    images_close(&session->images);
    processor_done(&session->processor);
    store_samples_free(session->samples, session->sample_count);
    store_series_free(session->series, session->series_count);
    free(session->wholes);
    free(session->host_name);
    free(session->host);
    *session = (struct replay_session){.pool = PAGE_POOL_NONE, .filler = FILLER_NONE, .stayed.plan.fd = -1};
}

enum pcere_status replay_session_compilers(const struct replay_session *session, struct replay_compiler **ret_compilers, size_t *ret_count,
                                           struct pcere_error *error)
{
    const struct build *build = &session->build;
    struct replay_compiler *compilers = calloc(build->origin_count + 1, sizeof *compilers);
    size_t count = 0;
    if (!compilers)
        return pcere_fail_memory(error, "the compilers");
    for (size_t i = 0; i < build->origin_count; i++) {
        const struct build_origin *unit = &build->origins[i];
        size_t at = 0;
        if (unit->unreached)
            continue;
        while (at < count && (compilers[at].written_by != unit->written_by || compilers[at].rebuilt_by != unit->rebuilt_by))
            at++;
        if (at == count)
            compilers[count++] = (struct replay_compiler){unit->written_by, unit->rebuilt_by, 0};
        compilers[at].units++;
    }
    *ret_compilers = compilers;
    *ret_count = count;
    return PCERE_OK;
}

uint32_t replay_team(const struct store_codelet *codelet, const struct store_manifest *manifest, uint32_t threads)
{
    uint32_t team = store_codelet_team(codelet, manifest->threads);
    return team ? team : threads;
}

uint32_t replay_asked_threads(const struct replay_session *session, const struct store_codelet *codelet)
{
    uint32_t captured = store_manifest(session->store)->threads;
    if (codelet->num_threads)
        return codelet->num_threads > 0 && (uint32_t)codelet->num_threads == captured ? captured : 0;
    bool sets = session->program && elf_file_imports(session->program, "omp_set_num_threads");
    return sets && !codelet->setting.level_count && codelet->capture_threads == captured ? captured : 0;
}

enum pcere_status replay_threads_check(const struct replay_target *target, const struct store_codelet *codelet, uint32_t threads,
                                       struct pcere_error *error)
{
    const struct store_region *region = target->region;
    uint32_t captured = store_codelet_captured_team(codelet);
    char holds[STORE_HOLDS_BYTES];
    if (store_region_takes(region, captured, threads))
        return PCERE_OK;
    return pcere_fail(error, PCERE_NO, 0, threads > captured ? "capture it with more threads: pcere capture --threads N" : "capture it with fewer threads: pcere capture --threads N",
                      "%s holds for %s, since it uses %s", region->name, store_region_holds(holds, region, captured), region->thread_sized);
}

bool replay_starts_take(struct replay_session *session, uint32_t threads)
{
    size_t at = 0;
    while (at < REPLAY_STARTS_KINDS && session->starts[at].threads && session->starts[at].threads != threads)
        at++;
    if (threads < 2 || at == REPLAY_STARTS_KINDS || session->starts[at].count == REPLAY_STARTS)
        return false;
    session->starts[at].threads = threads;
    session->starts[at].count++;
    return true;
}

bool replay_plan_take(struct replay_session *session, const struct codelet_memory *memory, const struct plan_steps *steps, uint32_t threads,
                      const struct plan_policy *policy, struct plan_file *ret_plan)
{
    if (!session->staying.child || session->stayed.memory != memory || session->stayed.steps != steps || session->stayed.threads > threads)
        return false;
    *ret_plan = session->stayed.plan;
    ret_plan->plan->policy = *policy;
    session->stayed.plan = (struct plan_file){.fd = -1};
    return true;
}

void replay_plan_leave(struct replay_session *session, const struct codelet_memory *memory, const struct plan_steps *steps, uint32_t threads,
                       struct plan_file *plan)
{
    if (!session->staying.child || session->staying.plan != plan->plan) {
        plan_file_done(plan);
        return;
    }
    plan_file_done(&session->stayed.plan);    /* of one that has ended */
    session->stayed.plan = *plan;
    session->stayed.memory = memory;
    session->stayed.steps = steps;
    session->stayed.threads = threads;
    *plan = (struct plan_file){.fd = -1};
}

void replay_stay_end(struct replay_session *session)
{
    process_release(&session->staying, &session->ending);
    plan_file_done(&session->stayed.plan);
    session->next_threads = 0;
}

/* From one step of the process to the next, and while the region's own code runs. */
static void patience_set(const struct replay_session *session, const struct store_codelet *codelet, uint32_t threads, struct process *process)
{
    const struct replay_options *options = session->options;
    uint64_t runs = options->character ? PATIENCE_RUNS_COUNTED : PATIENCE_RUNS, bytes = process->plan->plan->pages_bytes;
    uint64_t slower = codelet->capture_threads > threads && threads ? codelet->capture_threads / threads : 1;
    bool slow = options->character || options->count || session->watcher || session->processor.emulator || threads > (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    bool same = !slow && !(options->flags && *options->flags) && !options->passes;
    process->patience_ns = patience_choose(codelet->in_vivo_ns, slower, runs, bytes, PATIENCE_NS);
    process->region_patience_ns = patience_choose(codelet->in_vivo_ns, slower, same ? PATIENCE_REGION_RUNS : runs, bytes, slow ? PATIENCE_NS : PATIENCE_REGION_NS);
    if (options->patience_ns)
        process->region_patience_ns = options->patience_ns;
    process->sample_patience_ns = sampling_patience_ns(codelet, threads);
}

static bool may_stand_by(const struct replay_session *session)
{
    return !session->watcher && !session->processor.emulator && !session->options->keep_layout;
}

/* Does a processor have nothing to do while so many threads prepare a region? */
static bool processor_is_free(uint32_t threads)
{
    cpu_set_t permitted;
    return !sched_getaffinity(0, sizeof permitted, &permitted) && (uint32_t)CPU_COUNT(&permitted) > threads;
}

static struct standby_kind standby_kind_of(const struct replay_session *session)
{
    return (struct standby_kind){session->build.executable, session->options->diagnostics_fd, !session->keys, environment_places_ours(store_manifest(session->store), session->options)};
}

void replay_session_stand_by(struct replay_session *session, uint32_t threads)
{
    char **environment = NULL;
    const struct standby_kind kind = standby_kind_of(session);
    if (!may_stand_by(session) || environment_make(store_manifest(session->store), session->options, session->build.libraries, threads, &environment, NULL))
        return;
    standby_start(&session->standby, &kind, environment);
    environment_free(environment);
}

enum pcere_status replay_session_process(struct replay_session *session, const struct store_codelet *codelet,
                                         struct plan_file *plan, uint32_t threads, uint64_t *ret_wall_ns, struct pcere_error *error)
{
    char **environment = NULL;
    const struct store_manifest *manifest = store_manifest(session->store);
    enum pcere_status status = environment_make(manifest, session->options, session->build.libraries,
                                                replay_team(codelet, manifest, threads), &environment, error);
    if (!status && session->watcher && (status = environment_extend(&environment, session->watcher->environment, error)))
        environment_free(environment);
    if (status)
        return status;
    if (session->options->schedule)
        plan->plan->schedule_kind = 0;          /* OMP_SCHEDULE says it */
    plan->plan->binds = environment_binds(manifest, session->options);
    plan->plan->places_ours = environment_places_ours(manifest, session->options);
    for (char **variable = environment; *variable; variable++)
        plan->plan->greedy |= !strncmp(*variable, "KMP_SCHEDULE=", strlen("KMP_SCHEDULE=")) && strstr(*variable, "static,greedy");
    speed_tell(&session->speed, threads, session->cores, &plan->plan->policy);
    bool leaves = plan->plan->policy.task == PLAN_MEASURE && !plan->plan->does_io && !session->watcher && !session->processor.emulator;
    bool stands_by = leaves && may_stand_by(session);
    const struct standby_kind kind = standby_kind_of(session);
    struct process process = {
        .build = &session->build,
        .processor = &session->processor,
        .pages_fd = session->pool.fd,
        .filler_fd = session->filler.fd,
        .plan = plan,
        .environment = environment,
        .region = codelet->region,
        .externals = &session->pool.externals,
        .diagnostics_fd = session->options->diagnostics_fd,
        .keep_layout = session->options->keep_layout,
        .stop = session->options->stop,
        .watcher = session->watcher,
        .ending = leaves ? &session->ending : NULL,
        .standby = stands_by ? &session->standby : NULL,
        .standby_next = stands_by && session->more && processor_is_free(replay_team(codelet, manifest, threads)) ? &kind : NULL,
        .staying = &session->staying,
    };
    patience_set(session, codelet, threads, &process);
    bool goes_on = leaves && session->staying.child && session->staying.plan == plan->plan;
    plan->plan->policy.stays = leaves && session->next_threads >= threads;
    plan->plan->policy.threads = replay_team(codelet, manifest, threads);
    plan->plan->policy.inner_threads = store_codelet_team(codelet, manifest->threads) ? store_codelet_inner_team(codelet, manifest->threads, threads) : 0;
    if (plan->plan->policy.fill)
        filler_serve(&session->filler, plan->plan->policy.threads);
    if (!goes_on)
        process_release(&session->staying, &session->ending);
    if (!leaves)
        process_ending_wait(&session->ending);
    status = goes_on ? process_go_on(&process, ret_wall_ns, error) : process_run(&process, ret_wall_ns, error);
    if (status == PCERE_NO && goes_on && atomic_load(&plan->plan->result.state) != PLAN_RUNNING)
        status = process_run(&process, ret_wall_ns, error);     /* what it lacks it may have by itself; one that hung would hang again */
    if (!status)
        speed_learn(&session->speed, threads, &plan->plan->result);
    environment_free(environment);
    return status;
}
