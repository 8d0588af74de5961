/* replay-rt/launcher/export.c - the order of an export, and the directory that appears whole or not at all. */
#include "replay-rt/launcher/export.h"

#include "core/files.h"
#include "core/linked_program.h"
#include "replay-rt/launcher/export_work.h"
#include "replay-rt/launcher/layout.h"
#include "replay-rt/launcher/link_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The files that are the same in every export. */
#define EMBED(label, file) \
    __asm__(".pushsection .rodata\n" \
            ".globl pcere_export_" #label "\n.hidden pcere_export_" #label "\npcere_export_" #label ":\n" \
            ".incbin \"" PCERE_EXPORT_FOLDER "/" file "\"\n.byte 0\n.popsection\n"); \
    extern const char pcere_export_##label[]
EMBED(driver, "driver.c");
EMBED(program, "program.c");
EMBED(start, "start.c");
EMBED(memory, "memory.c");
EMBED(mappings, "mappings.c");
EMBED(support, "support.c");
EMBED(heap, "heap.c");
EMBED(reclaim, "reclaim.c");
EMBED(reclaim_header, "reclaim.h");
EMBED(libraries, "libraries.c");
EMBED(team, "team.c");
EMBED(state, "state.c");
EMBED(files, "files.c");
EMBED(check, "check.c");
EMBED(header, "codelet.h");
EMBED(place, "place.sed");

static const struct { const char *name, *content; } fixed_files[] = {
    {"driver.c", pcere_export_driver},   {"program.c", pcere_export_program}, {"start.c", pcere_export_start},    {"memory.c", pcere_export_memory},
    {"mappings.c", pcere_export_mappings}, {"support.c", pcere_export_support}, {"team.c", pcere_export_team},      {"state.c", pcere_export_state},
    {"files.c", pcere_export_files},     {"check.c", pcere_export_check},     {"codelet.h", pcere_export_header}, {"place.sed", pcere_export_place},
    {"libraries.c", pcere_export_libraries}, {"heap.c", pcere_export_heap},   {"reclaim.c", pcere_export_reclaim},   {"reclaim.h", pcere_export_reclaim_header},
};

/* ---- lists of names -------------------------------------------------------------------------------------------------------- */

bool names_add(struct names *names, const char *name, size_t length)
{
    if (!array_reserve(&names->items, &names->capacity, names->count + 1, sizeof *names->items)
        || !(names->items[names->count] = strndup(name, length)))
        return false;
    names->count++;
    return true;
}

static int name_order(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

void names_sort(struct names *names)
{
    if (names->count)
        qsort(names->items, names->count, sizeof *names->items, name_order);
}

const char *names_find(const struct names *names, const char *name)
{
    char *const *found = names->count ? bsearch(&name, names->items, names->count, sizeof *names->items, name_order) : NULL;
    return found ? *found : NULL;
}

bool names_have(const struct names *names, const char *name)
{
    return names_find(names, name);
}

void names_done(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
    *names = (struct names){0};
}

/* ---- what the parts call ----------------------------------------------------------------------------------------------------- */

enum pcere_status export_limit(struct export_work *work, struct pcere_error *error, const char *format, ...)
{
    struct export_report *report = &work->report;
    char *sentence = NULL, **grown = realloc(report->limits, (report->limit_count + 1) * sizeof *grown);
    if (!grown)
        return pcere_fail_memory(error, "a remark");
    report->limits = grown;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&sentence, format, arguments);
    va_end(arguments);
    if (length < 0)
        return pcere_fail_memory(error, "a remark");
    report->limits[report->limit_count++] = sentence;
    return PCERE_OK;
}

enum pcere_status export_text(const struct export_work *work, const char *name, struct text *text, struct pcere_error *error)
{
    enum pcere_status status = text->failed ? pcere_fail_memory(error, name)
                                            : file_replace(work->folder, name, text->data ? text->data : "", text->length, false,
                                                           EXPORT_FAULT, error);
    text_done(text);
    *text = (struct text){0};
    return status;
}

/* ---- what the region needs ----------------------------------------------------------------------------------------------------- */

static enum pcere_status base_choose(struct export_work *work, struct pcere_error *error)
{
    const struct store_codelet *codelet = &work->codelet;
    const struct loaded_image *home = work->home;
    uint64_t low = 0, high = 0;
    struct store_range *taken = calloc(codelet->mapping_count + 1, sizeof *taken);
    if (!taken)
        return pcere_fail_memory(error, "captured ranges");
    for (size_t i = 0; i < codelet->mapping_count; i++)
        taken[i] = (struct store_range){codelet->mappings[i].start, codelet->mappings[i].end - codelet->mappings[i].start};
    elf_file_near_span(home->elf, &low, &high);
    enum pcere_status status = layout_choose(taken, codelet->mapping_count, low + home->bias, high + home->bias,
                                             !work->image && !elf_file_is_pie(home->elf), &work->base, error);
    work->report.base = work->base;
    free(taken);
    return status;
}

static enum pcere_status codelet_open(struct export_work *work, struct pcere_error *error)
{
    static const struct plan_policy policy = {.task = PLAN_VERIFY};
    struct store *store = work->session.store;
    const struct images *images = &work->session.images;
    enum pcere_status status = store_codelet_load(store, work->target->class->codelet, &work->codelet, error);
    if (!status)
        status = images_check(images, &work->codelet, error);
    if (!status) {
        work->image = images_of_region(images, &work->codelet);
        work->home = &images->items[work->image];
        status = codelet_memory_new(store, &work->session.pool, &work->codelet, images, work->codelet.has_after, &work->memory, error);
    }
    if (!status)
        status = plan_file_new(&work->codelet, store_manifest(store), &work->session.pool, &work->memory, images, &policy, NULL, &work->plan, error);
    return status;
}

/* Not that of a C library that was linked in. */
static bool has_allocator(const struct elf_file *program)
{
    struct linked_program linked;
    const struct elf_symbol *symbols;
    size_t count = elf_file_symbols(program, &symbols);
    bool is_linked = linked_program_find(program, &linked);
    for (size_t i = 0; i < count; i++)
        if (symbols[i].kind == PCERE_SYMBOL_FUNCTION && !strcmp(symbols[i].name, "malloc") && !(is_linked && linked_program_owns(&linked, &symbols[i])))
            return true;
    return false;
}

bool export_reclaims(const struct export_work *work)
{
    const char *const *needed;
    size_t count = elf_file_needed(work->session.program, &needed);
    bool other = store_manifest(work->session.store)->foreign_allocator || has_allocator(work->session.program);
    for (size_t i = 0; i < count; i++)
        other |= strstr(needed[i], "malloc") != NULL;
    return work->codelet.made_count && !other;
}

/* What replaying this codelet needs beyond the region and its memory, and this driver does not have. */
static enum pcere_status limits_find(struct export_work *work, struct pcere_error *error)
{
    const struct store_codelet *codelet = &work->codelet;
    enum pcere_status status = PCERE_OK;
    if (!codelet->has_after)
        status = export_limit(work, error, "the capture does not hold the memory behind the region: make check cannot compare");
    const char *sized = work->target->region->thread_sized;
    char holds[STORE_HOLDS_BYTES];
    if (!status && sized)
        status = export_limit(work, error, "it holds for %s, as in the capture: %s", store_region_holds(holds, work->target->region, store_codelet_captured_team(codelet)), sized);
    if (!status && codelet->num_threads)
        status = export_limit(work, error, "the construct asks for %d thread%s (num_threads); here THREADS decides", abs(codelet->num_threads), abs(codelet->num_threads) == 1 ? "" : "s");
    if (!status && codelet->does_io && codelet->has_after)
        status = export_limit(work, error, "the region reads or writes: what it prints is dropped, and files that it opens itself for writing are written");
    if (!status && codelet->reads_opened)
        status = export_limit(work, error, "the region reads files that it opens itself, which are not in here: they have to be where the program had them, as they were");
    if (!status && codelet->setting.teams > 1)
        status = export_limit(work, error, "the region lies in team %u of a league of %u, and here there is no league: its questions are answered otherwise, and loops "
                                           "whose iterations are those of all teams (distribute parallel do, by flang) fail", codelet->setting.team, codelet->setting.teams);
    if (!status && codelet->setting.thread_limit > 0 && codelet->setting.thread_limit < INT32_MAX)
        status = export_limit(work, error, "where the region starts there may be %d thread%s (thread_limit, OMP_THREAD_LIMIT), and here as many as are asked for: omp_get_thread_limit() "
                                           "answers otherwise", codelet->setting.thread_limit, codelet->setting.thread_limit == 1 ? "" : "s");
    if (!status && codelet->key_count)
        status = export_limit(work, error, "the program keeps values by pthread_setspecific or tss_set, which threads here do not have");
    if (!status && work->session.build.apart)
        status = export_limit(work, error, "the program was optimised by the linker (-flto), and here each file is compiled by itself: functions of other files are called, not inlined, which can take longer");
    const char *const *needed;
    size_t count = elf_file_needed(work->session.program, &needed);
    for (size_t i = 0; !status && i < count; i++)
        if (strstr(needed[i], "malloc"))
            status = export_limit(work, error, "the program has an allocator of its own (%s); heap.c frees blocks with the C library's", needed[i]);
    if (!status && has_allocator(work->session.program))
        status = export_limit(work, error, "the program's executable has an allocator of its own, which here serves the OpenMP runtime as well: make check finds other "
                                           "heap contents than the program had");
    return status;
}

/* ---- the directory ------------------------------------------------------------------------------------------------------------- */

static bool is_export(const char *directory)
{
    char *path = NULL;
    void *text = NULL;
    size_t bytes = 0;
    bool found = asprintf(&path, "%s/region.h", directory) >= 0 && !file_read(AT_FDCWD, path, 64u << 20, &text, &bytes, NULL)
                 && strstr(text, "pcere export");
    free(path);
    free(text);
    return found;
}

static enum pcere_status directory_check(const char *directory, bool force, struct pcere_error *error)
{
    struct stat status;
    if (lstat(directory, &status))
        return PCERE_OK;
    if (!force)
        return pcere_fail(error, PCERE_USAGE, 0, "--force replaces an earlier export", "'%s' exists already", directory);
    if (!S_ISDIR(status.st_mode) || !is_export(directory))
        return pcere_fail(error, PCERE_USAGE, 0, "choose another place, or remove it yourself", "'%s' is no earlier export, and is not replaced",
                          directory);
    return PCERE_OK;
}

static enum pcere_status fixed_write(const struct export_work *work, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; !status && i < sizeof fixed_files / sizeof *fixed_files; i++)
        status = file_replace(work->folder, fixed_files[i].name, fixed_files[i].content, strlen(fixed_files[i].content), false,
                              EXPORT_FAULT, error);
    return status;
}

static enum pcere_status libraries_copy(const struct export_work *work, struct pcere_error *error)
{
    const struct store *store = work->session.store;
    bool made = false;
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; !status && i < store_library_count(store); i++) {
        char *name = NULL, *path = NULL;
        if (export_library_is_memory(work, store_library(store, i)->name))
            continue;
        if (!made)
            status = directory_make(work->folder, "libraries", error);
        made = true;
        if (status)
            break;
        if (asprintf(&name, "libraries/%s", store_library(store, i)->name) < 0)
            return pcere_fail_memory(error, "a path");
        status = store_file(store, name, &path, error);
        if (!status)
            status = file_copy(path, work->folder, name, EXPORT_FAULT, error);
        free(path);
        free(name);
    }
    return status;
}

static enum pcere_status directory_publish(const char *partial, const char *directory, bool force, struct pcere_error *error)
{
    enum pcere_status status = directory_check(directory, force, error);
    if (!status && force)
        status = tree_remove(AT_FDCWD, directory, error);
    if (!status && rename(partial, directory))
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot rename '%s' to '%s'", partial, directory);
    return status;
}

static enum pcere_status directory_write(struct export_work *work, const char *directory, bool force, struct pcere_error *error)
{
    char *partial = NULL;
    size_t length = strlen(directory);
    while (length > 1 && directory[length - 1] == '/')
        length--;
    if (asprintf(&partial, "%.*s.%ld.partial", (int)length, directory, (long)getpid()) < 0)
        return pcere_fail_memory(error, "a path");
    enum pcere_status status = tree_remove(AT_FDCWD, partial, error);
    if (!status && mkdir(partial, 0700))
        status = pcere_fail(error, errno == ENOENT || errno == ENOTDIR ? PCERE_USAGE : PCERE_SYSTEM, errno, NULL, "cannot make a directory '%.*s'",
                            (int)length, directory);
    if (!status && (work->folder = open(partial, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot open '%s'", partial);
    work->folder_path = partial;
    if (!status)
        status = export_units_write(work, error);
    if (!status)
        status = export_memory_write(work, error);
    if (!status)
        status = export_images_write(work, error);
    if (!status)
        status = export_code_write(work, error);
    if (!status)
        status = export_state_write(work, error);
    if (!status)
        status = export_guide_write(work, error);
    if (!status)
        status = fixed_write(work, error);
    if (!status)
        status = libraries_copy(work, error);
    if (!status)
        status = directory_publish(partial, directory, force, error);
    if (work->folder >= 0)
        close(work->folder);
    if (status)
        tree_remove(AT_FDCWD, partial, NULL);
    free(partial);
    return status;
}

static void work_done(struct export_work *work)
{
    for (size_t i = 0; i < work->chosen_count; i++) {
        names_done(&work->chosen[i].variables);
        names_done(&work->chosen[i].taken);
        free(work->chosen[i].uses);
        free(work->chosen[i].uses_text);
    }
    for (size_t i = 0; i < work->object_count; i++) {
        names_done(&work->objects[i].defined);
        names_done(&work->objects[i].undefined);
    }
    for (size_t i = 0; i < work->other_count; i++)
        free(work->others[i].name);
    for (size_t i = 0; i < work->link_count; i++)
        free(work->links[i].name);
    free(work->links);
    names_done(&work->reached);
    free(work->chosen);
    free(work->objects);
    free(work->others);
    free(work->microtask);
    plan_file_done(&work->plan);
    codelet_memory_done(&work->memory);
    store_codelet_done(&work->codelet);
    replay_session_close(&work->session);
}

enum pcere_status export_run(struct store *store, const struct replay_target *target, const struct replay_options *options,
                             const char *directory, bool force, struct export_report *ret_report, struct pcere_error *error)
{
    struct replay_options built = *options;
    built.unit_objects = true;
    struct export_work work = {.target = target, .options = &built, .folder = -1, .plan = {.fd = -1}, .session = {.pool = {.fd = -1}}};
    enum pcere_status status = directory_check(directory, force, error);
    if (!status)
        status = replay_session_open(store, &built, &work.session, error);
    if (!status)
        status = codelet_open(&work, error);
    if (!status)
        status = base_choose(&work, error);
    if (!status)
        status = limits_find(&work, error);
    if (!status)
        status = directory_write(&work, directory, force, error);
    work_done(&work);
    if (status)
        export_report_done(&work.report);
    else
        *ret_report = work.report;
    return status;
}

void export_report_done(struct export_report *report)
{
    for (size_t i = 0; i < report->unit_count; i++) {
        free(report->units[i].file);
        free(report->units[i].source);
        free(report->units[i].flags);
    }
    for (size_t i = 0; i < report->limit_count; i++)
        free(report->limits[i]);
    free(report->units);
    free(report->limits);
    *report = (struct export_report){0};
}
