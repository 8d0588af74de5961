#include "capture-rt/tracer/libraries.h"

#include "core/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool begins_with_any(const char *name, const char *const *prefixes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static bool every_machine_has_it(const char *name)
{
    static const char *const prefixes[] = {"ld-linux", "ld-", "libc.so", "libc-", "libm.so", "libm-", "libmvec.so", "libnss_", "libgcc_s.so",
                                           "libstdc++.so", "libomp.so", "libomp-", "libiomp5", "libgomp", "libarcher", "libomptarget", "libpcere-"};
    static const char *const whole[] = {"libpthread", "libdl", "librt", "libutil", "libresolv", "libanl"};    /* not libutils, librtmp */
    if (begins_with_any(name, prefixes, sizeof prefixes / sizeof *prefixes))
        return true;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (strcspn(name, ".-") == strlen(whole[i]) && strncmp(name, whole[i], strlen(whole[i])) == 0)
            return true;
    return false;
}

static bool is_of_the_system(const char *path)
{
    static const char *const folders[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"};
    return begins_with_any(path, folders, sizeof folders / sizeof *folders);
}

/* FFTW's plans lead to its code, and what they are made by is kept in it: wherever its threads come from, it is needed. Abseil's tables have their order by the address of a variable of
 * its own, which has a name. What leads into modules that the C library loads for iconv_open it disguises. */
static bool is_needed_always(const char *path)
{
    static const char *const prefixes[] = {"libfftw3", "libabsl_hash"};
    return begins_with_any(base_name(path), prefixes, sizeof prefixes / sizeof *prefixes) || strstr(path, "/gconv/");
}

/* What they keep a replay's own have as well: libatomic what it found of the processor, and locks that nobody holds between calls; libraries of linear algebra their
 * buffers, and threads, if they may have some; unwinders what they found of code. Captured they would do worse, since they are made for this processor, this number of threads,
 * and the code of this process. */
static bool is_never_needed(const char *name)
{
    static const char *const prefixes[] = {"libatomic.so", "libopenblas", "libblas", "liblapack", "libblis", "libmkl_", "libatlas", "libunwind.so"};
    return begins_with_any(name, prefixes, sizeof prefixes / sizeof *prefixes);
}

static bool begins_with_name(const char *file, const char *name)
{
    size_t length = names_length(name);
    return length && strncmp(file, name, length) == 0;
}

static bool is_named(const char *names, const char *file)
{
    for (const char *name = names_first(names); name; name = names_next(name))
        if (begins_with_name(file, name))
            return true;
    return false;
}

enum pcere_status libraries_names_check(const char *names, struct pcere_error *error)
{
    for (const char *at = names; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char name[80];
        snprintf(name, sizeof name, "%.*s", (int)(strcspn(at, ",") < sizeof name ? strcspn(at, ",") : sizeof name - 1), at);
        if (!*name || strchr(name, '/'))
            return pcere_fail(error, PCERE_USAGE, 0, "give what the names of their files begin with, such as libopenblas,libgsl", "'%s' is no name of a library", name);
        if (every_machine_has_it(name))
            return pcere_fail(error, PCERE_USAGE, 0, "leave it out: a replay has a runtime of its own",
                              "'%s' is a runtime of C, C++ or OpenMP, which cannot be captured", name);
    }
    return PCERE_OK;
}

static size_t units_of(const struct elf_file *elf)
{
    const struct elf_unit *units;
    return elf_file_units(elf, &units);
}

/* A codelet allocates for itself: what an allocator notes inside a region is no result. */
static bool is_allocator(const struct elf_file *elf)
{
    const struct elf_symbol *symbols;
    size_t count = elf_file_symbols(elf, &symbols);
    for (size_t i = 0; i < count; i++)
        if (symbols[i].kind == PCERE_SYMBOL_FUNCTION && !symbols[i].local && strcmp(symbols[i].name, "malloc") == 0)
            return true;
    return false;
}

bool library_is_rebuilt(const char *path, const char **ret_reason)
{
    struct elf_file *elf;
    if (elf_file_open(path, &elf, NULL) != PCERE_OK) {
        *ret_reason = "its code lies in a shared library that cannot be read any more";
        return false;
    }
    bool rebuilt = units_of(elf) > 0 && !every_machine_has_it(base_name(path));
    elf_file_close(elf);
    if (!rebuilt)
        *ret_reason = "its code lies in a shared library that carries no bitcode";
    return rebuilt;
}

/* Where the system has a library of that name; false: nowhere. */
static bool system_path(const char *name, char *path, size_t path_bytes)
{
    static const char *const folders[] = {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        int length = snprintf(path, path_bytes, "%s/%s", folders[i], name);
        if (length > 0 && (size_t)length < path_bytes && access(path, R_OK) == 0)
            return true;
    }
    return false;
}

/* Interpreters load modules themselves, or have it done by a library of the system's (libpython). */
static bool system_library_loads(const char *path)
{
    struct elf_file *elf;
    if (elf_file_open(path, &elf, NULL) != PCERE_OK)
        return false;
    bool loads = elf_file_imports(elf, "dlopen");
    elf_file_close(elf);
    return loads;
}

bool libraries_may_hold_regions(const struct elf_file *program)
{
    const char *const *needed;
    char path[512];
    size_t count = elf_file_needed(program, &needed);
    if (elf_file_imports(program, "dlopen"))
        return true;
    for (size_t i = 0; i < count; i++)
        if (!every_machine_has_it(base_name(needed[i])) && (!system_path(needed[i], path, sizeof path) || system_library_loads(path)))
            return true;
    return false;
}

/* ---- the user's, at a stop --------------------------------------------------------------------------------------------------- */

/* The path of the file that is mapped at an address, in the text of /proc/PID/maps; NULL: none, or its name is gone. */
static char *mapped_path(const char *maps, uint64_t address)
{
    for (const char *line = maps; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        uint64_t start, end;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) != 2 || address < start || address >= end)
            continue;
        size_t length = strcspn(line, "\n");
        const char *path = memchr(line, '/', length);
        return path ? strndup(path, length - (size_t)(path - line)) : NULL;
    }
    return NULL;
}

/* What was looked at before, at this address, is not opened again. */
static struct library_image *image_known(struct libraries *libraries, const char *path, uint64_t low)
{
    for (size_t i = 0; i < libraries->image_count; i++)
        if (libraries->images[i].low == low && strcmp(libraries->images[i].path, path) == 0)
            return &libraries->images[i];
    return NULL;
}

/* What its link-time addresses lie away from where it was loaded. */
static uint64_t bias_of(const struct elf_file *elf, uint64_t loaded)
{
    uint64_t low = 0, high = 0;
    elf_file_span(elf, &low, &high);
    return (loaded & ~(uint64_t)4095) - low;
}

/* Names that the program or a library needs: what is loaded later and bears none of them a codelet does not have. */
static enum pcere_status needed_add(struct libraries *libraries, const struct elf_file *elf, struct pcere_error *error)
{
    const char *const *names;
    size_t count = elf_file_needed(elf, &names);
    if (!array_reserve(&libraries->needed, &libraries->needed_capacity, libraries->needed_count + count, sizeof *libraries->needed))
        return pcere_fail_memory(error, "the list of libraries");
    for (size_t i = 0; i < count; i++)
        if (!(libraries->needed[libraries->needed_count++] = strdup(names[i])))
            return pcere_fail_memory(error, "the list of libraries");
    return PCERE_OK;
}

static bool is_needed(const struct libraries *libraries, const struct elf_file *elf, const char *path)
{
    const char *name = elf_file_soname(elf) ? elf_file_soname(elf) : base_name(path);
    for (size_t i = 0; i < libraries->needed_count; i++)
        if (libraries->needed[i] && strcmp(base_name(libraries->needed[i]), name) == 0)
            return true;
    return false;
}

static enum pcere_status image_see(struct libraries *libraries, char *path /* moved */, const struct capture_range *range,
                                   struct pcere_error *error)
{
    struct library_image *image = image_known(libraries, path, range->start);
    if (!image) {
        struct library_image new = {.path = path, .low = range->start, .high = range->end, .named = is_named(libraries->names, base_name(path))};
        if (!array_reserve(&libraries->images, &libraries->image_capacity, libraries->image_count + 1, sizeof new)) {
            free(path);
            return pcere_fail_memory(error, "the list of libraries");
        }
        if (!every_machine_has_it(base_name(path)) && elf_file_open(path, &new.elf, NULL) == PCERE_OK) {
            bool allocator = is_allocator(new.elf);
            bool foreign = (is_of_the_system(path) && !is_needed_always(path) && !new.named) || allocator;
            bool absent = is_of_the_system(path) && !is_needed(libraries, new.elf, path);
            new.bias = bias_of(new.elf, range->start);
            new.absent = absent;
            enum pcere_status status = absent ? PCERE_OK : needed_add(libraries, new.elf, error);
            if (!foreign || units_of(new.elf) > 0) {
                new.number = ++libraries->users;
            } else {
                new.watched = !allocator && !is_never_needed(base_name(path)) && !leads_has_threads(new.elf);
                new.may_thread = elf_file_imports(new.elf, "pthread_create") || elf_file_imports(new.elf, "_ZNSt6thread15_M_start_thread");
                if (status == PCERE_OK && new.watched)
                    status = leads_watch(&libraries->leads, new.elf, range->start, range->end, new.bias, absent, error);
                elf_file_close(new.elf);
                new.elf = NULL;
            }
            if (status != PCERE_OK) {
                elf_file_close(new.elf);
                free(path);
                return status;
            }
        }
        image = &libraries->images[libraries->image_count++];
        *image = new;
    } else {
        free(path);
    }
    image->present = true;
    image->tls_module = range->tls_module;
    return PCERE_OK;
}

enum pcere_status libraries_look(struct libraries *libraries, const char *maps, const struct capture_stop *stop, struct pcere_error *error)
{
    enum pcere_status status = libraries->needed_count || !libraries->program ? PCERE_OK : needed_add(libraries, libraries->program, error);
    for (size_t i = 0; i < libraries->image_count; i++)
        libraries->images[i].present = false;
    for (uint32_t i = 0; status == PCERE_OK && i < stop->range_count && i < CAPTURE_RANGES_MAX; i++) {
        const struct capture_range range = stop->ranges[i];
        char *path = range.kind == CAPTURE_RANGE_OBJECT && range.start < range.end ? mapped_path(maps, range.start) : NULL;
        if (path)
            status = image_see(libraries, path, &range, error);
    }
    return status;
}

static bool names(const struct elf_file *elf, const char *name)
{
    const char *const *needed;
    size_t count = elf_file_needed(elf, &needed);
    for (size_t i = 0; i < count; i++)
        if (strcmp(base_name(needed[i]), name) == 0)     /* by its path, where it has no soname and was linked so */
            return true;
    return false;
}

static bool names_captured(const struct libraries *libraries, const struct elf_file *elf)
{
    for (size_t i = 0; i < libraries->image_count; i++) {
        const struct library_image *image = &libraries->images[i];
        const char *soname = image->elf && image->present ? elf_file_soname(image->elf) : NULL;
        if (image->elf && image->present && names(elf, soname ? soname : base_name(image->path)))
            return true;
    }
    return false;
}

/* The store lists captured libraries as they were loaded, and codelets refer to them by their place there: no codelet has done so yet. */
static void images_number(struct libraries *libraries)
{
    uint32_t number = 0;
    for (size_t i = 0; i < libraries->image_count; i++)
        if (libraries->images[i].elf)
            libraries->images[i].number = ++number;
}

static bool made_threads(const struct library_image *image, const struct capture_stop *stop)
{
    if (stop->maker_count > CAPTURE_MAKERS_MAX)
        return image->may_thread;
    for (uint32_t i = 0; i < stop->maker_count; i++)
        if (stop->makers[i] >= image->low && stop->makers[i] < image->high)
            return true;
    return false;
}

void libraries_leave_threads(struct libraries *libraries, const struct capture_stop *stop)
{
    for (size_t i = 0; i < libraries->image_count; i++) {
        struct library_image *image = &libraries->images[i];
        if (!image->watched || image->elf || !made_threads(image, stop))
            continue;
        image->watched = false;
        leads_drop(&libraries->leads, image->low);
    }
}

/* What needs a captured library is captured, too: a replay that had it anew would load the captured one for it as well, whose constructors call functions
 * by names that lead to captured code before that is there. */
bool libraries_follow(struct libraries *libraries)
{
    bool found = false;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < libraries->image_count; i++) {
            struct library_image *image = &libraries->images[i];
            struct elf_file *elf = NULL;
            if (image->elf || !image->present || !image->watched)
                continue;
            bool led_to = leads_found(&libraries->leads, image->low);
            if ((!led_to && !libraries->users) || elf_file_open(image->path, &elf, NULL) != PCERE_OK)
                continue;                /* or it has gone: a replay takes what it has */
            if (!led_to && !names_captured(libraries, elf)) {
                elf_file_close(elf);
                continue;
            }
            leads_drop(&libraries->leads, image->low);
            image->elf = elf;
            image->bias = bias_of(elf, image->low);
            libraries->users++;
            more = found = true;
        }
    }
    images_number(libraries);
    return found;
}

char *libraries_tell_unseen(const struct libraries *libraries)
{
    for (const char *name = names_first(libraries->names); name; name = names_next(name)) {
        bool seen = strcspn(name, ",") == 0;
        for (size_t i = 0; !seen && i < libraries->image_count; i++)
            seen = begins_with_name(base_name(libraries->images[i].path), name);
        struct text text = {0};
        if (!seen)
            text_addf(&text, "no library of the program has a name that begins with '%.*s'", (int)names_length(name), name);
        if (!seen)
            return text_take(&text);
    }
    return NULL;
}

/* As --capture-library takes it: up to ".so", which versions follow. */
static void name_add(struct text *names, const char *path)
{
    const char *name = base_name(path), *end = strstr(name, ".so");
    text_addf(names, "%s%.*s", names->length ? "," : "", (int)(end ? (size_t)(end - name) : strlen(name)), name);
}

/* Those that turned out to be needed when a codelet was there already: their number, and `ret_names`. */
static size_t late_add(const struct libraries *libraries, struct text *ret_names)
{
    size_t count = 0;
    for (size_t i = 0; i < libraries->image_count; i++)
        if (!libraries->images[i].elf && leads_found(&libraries->leads, libraries->images[i].low)) {
            name_add(ret_names, libraries->images[i].path);
            count++;
        }
    return count;
}

char *libraries_late_names(const struct libraries *libraries)
{
    struct text all = {0};
    for (const char *name = names_first(libraries->names); name; name = names_next(name))
        text_addf(&all, "%s%.*s", all.length ? "," : "", (int)names_length(name), name);
    if (late_add(libraries, &all))
        return text_take(&all);
    text_done(&all);
    return NULL;
}

char *libraries_tell_late(const struct libraries *libraries, bool runs_again)
{
    char *all = libraries_late_names(libraries);
    if (!all)
        return NULL;
    struct text late = {0}, text = {0};
    bool one = late_add(libraries, &late) == 1;
    text_addf(&text, runs_again ? "%s %s needed for codelets after the first one only, and all codelets have the same libraries; it runs again, with %s captured from the "
                                  "start, as --capture-library %s does at once"
                                : "%s %s needed for codelets after the first one only, and not captured: these may crash or differ in replays, unless %s captured from the "
                                  "start, by --capture-library %s",
              late.data ? late.data : "", one ? "is" : "are", runs_again ? one ? "it" : "them" : one ? "it is" : "they are", all);
    text_done(&late);
    free(all);
    return text_take(&text);
}

bool libraries_loaded_module(const struct libraries *libraries)
{
    for (size_t i = 0; i < libraries->image_count; i++)
        if (libraries->images[i].elf && libraries->images[i].present && libraries->images[i].absent)
            return true;
    return false;
}

const struct library_image *libraries_image_at(const struct libraries *libraries, uint64_t address)
{
    for (size_t i = 0; i < libraries->image_count; i++) {
        const struct library_image *image = &libraries->images[i];
        if (image->elf && image->present && address >= image->low && address < image->high)
            return image;
    }
    return NULL;
}

/* ---- all of them, while the process runs ----------------------------------------------------------------------------------- */

/* The path of a line of /proc/PID/maps that maps code of a file other than the program; NULL: it is none. */
static char *code_path(char *line, const struct map_facts *facts)
{
    uint64_t start, end;
    char permissions[8];
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &start, &end, permissions) != 3 || permissions[2] != 'x' ||
        (start < facts->image_high && end > facts->image_low))
        return NULL;
    char *path = strchr(line, '/');
    if (!path || strncmp(path, "/memfd:", 7) == 0 || strncmp(path, "/dev/", 5) == 0)
        return NULL;
    return path;
}

static bool path_add(struct libraries *libraries, const char *path)
{
    for (size_t i = 0; i < libraries->count; i++)
        if (strcmp(libraries->paths[i], path) == 0)
            return true;
    if (!array_reserve(&libraries->paths, &libraries->capacity, libraries->count + 1, sizeof *libraries->paths))
        return false;
    libraries->paths[libraries->count] = strdup(path);
    return libraries->paths[libraries->count] && ++libraries->count;
}

void libraries_see(struct libraries *libraries, const char *maps, const struct map_facts *facts)
{
    char *lines = strdup(maps), *rest = lines;
    libraries->failed |= !lines;
    for (char *line; lines && (line = strsep(&rest, "\n"));) {
        const char *library = code_path(line, facts);
        if (library && !every_machine_has_it(base_name(library)) && !path_add(libraries, library))
            libraries->failed = true;
    }
    free(lines);
}

void libraries_done(struct libraries *libraries)
{
    for (size_t i = 0; i < libraries->count; i++)
        free(libraries->paths[i]);
    free(libraries->paths);
    for (size_t i = 0; i < libraries->image_count; i++) {
        free(libraries->images[i].path);
        elf_file_close(libraries->images[i].elf);
    }
    free(libraries->images);
    for (size_t i = 0; i < libraries->needed_count; i++)
        free(libraries->needed[i]);
    free(libraries->needed);
    leads_done(&libraries->leads);
    *libraries = (struct libraries){0};
}

/* ---- to the store ---------------------------------------------------------------------------------------------------------- */

struct library {
    struct elf_file *elf;            /* NULL: it is none, or gone */
    const char *path, *name;
    bool wanted;                     /* the program needs it, itself or through others: it was there from the start */
    bool used;                       /* wanted, the user's, or needed by one of the user's */
};

/* What the program names, and what these name. */
static void wanted_mark(struct library *list, size_t count, const struct elf_file *program)
{
    for (bool found = true; found;) {
        found = false;
        for (size_t i = 0; i < count; i++) {
            bool wanted = names(program, list[i].name), used = list[i].used;
            for (size_t j = 0; j < count; j++)
                if (list[j].elf && names(list[j].elf, list[i].name)) {
                    wanted |= list[j].wanted;
                    used |= list[j].used;
                }
            used |= wanted;
            found |= (wanted && !list[i].wanted) || (used && !list[i].used);
            list[i].wanted |= wanted;
            list[i].used |= used;
        }
    }
}

static const struct library *library_of(const struct library *list, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].path, path) == 0)
            return &list[i];
    return NULL;
}

static bool images_list(const struct libraries *libraries, const struct library *list, size_t count, char *const *stored,
                        struct store_manifest *manifest)
{
    bool good = true;
    manifest->images = calloc(libraries->image_count + 1, sizeof *manifest->images);
    for (size_t i = 0; manifest->images && i < libraries->image_count; i++) {
        const struct library_image *image = &libraries->images[i];
        if (!image->elf)
            continue;
        const struct library *library = library_of(list, count, image->path);
        const char *name = library ? stored[library - list] : NULL;
        struct store_image *to = &manifest->images[manifest->image_count++];
        *to = (struct store_image){name ? strdup(name) : NULL, image->bias, library && library->wanted};
        if (!to->library)
            good = false;
    }
    return good && manifest->images != NULL;
}

bool libraries_store(const struct libraries *libraries, const struct elf_file *program, struct store_writer *writer,
                     struct store_manifest *manifest)
{
    struct library *list = calloc(libraries->count + 1, sizeof *list);
    char **stored = calloc(libraries->count + 1, sizeof *stored);
    bool good = list && stored && !libraries->failed;
    size_t count = list && stored ? libraries->count : 0;
    for (size_t i = 0; i < count; i++) {
        const char *path = libraries->paths[i];
        list[i] = (struct library){.path = path, .name = base_name(path)};
        if (elf_file_open(path, &list[i].elf, NULL) == PCERE_OK && elf_file_soname(list[i].elf))
            list[i].name = elf_file_soname(list[i].elf);
        good &= list[i].elf || !strstr(path, " (deleted)");
        for (size_t j = 0; j < libraries->image_count; j++)
            list[i].used |= libraries->images[j].elf && strcmp(libraries->images[j].path, path) == 0;
    }
    wanted_mark(list, count, program);
    for (size_t i = 0; i < count; i++) {
        if (list[i].used && store_writer_library(writer, list[i].name, list[i].path, &stored[i], NULL) != PCERE_OK)
            good = false;
        elf_file_close(list[i].elf);
    }
    if (count && !images_list(libraries, list, count, stored, manifest))
        good = false;
    for (size_t i = 0; i < count; i++)
        free(stored[i]);
    free(stored);
    free(list);
    return good;
}
