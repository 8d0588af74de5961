/* store/store.c - reading a store: finding it, its manifest, its files, and the check of everything. */
#include "core/files.h"
#include "store/directory.h"
#include "store/page_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STORE_SUFFIX ".pcere"
#define CODELET_SUFFIX ".codelet"

struct store {
    char *path;
    int directory;
    struct store_manifest manifest;
    struct manifest_files files;
    struct page_file *pages;
    struct samples_damage samples_damage;
};

int store_directory(const struct store *store)
{
    return store->directory;
}

struct samples_damage *store_samples_damage(struct store *store)
{
    return &store->samples_damage;
}

enum pcere_status store_samples_whole(const struct store *store, struct pcere_error *error)
{
    const struct samples_damage *damage = &store->samples_damage;
    char more[48] = "";
    if (!damage->lines)
        return PCERE_OK;
    if (damage->lines > 1)
        snprintf(more, sizeof more, ", and %zu more line%s", damage->lines - 1, damage->lines == 2 ? " is damaged" : "s are");
    return pcere_fail(error, PCERE_DATA, 0, damage->lines > 1 ? "the other lines hold: delete the damaged ones, and measure again what they held"
                                                              : "the other lines hold: delete this one, and measure again what it held",
                      "%s%s", damage->first.message, more);
}

bool store_has_program(const struct store *store)
{
    return store->files.has_program;
}

const char *store_path(const struct store *store)
{
    return store->path;
}

uint64_t store_identity(const struct store *store)
{
    return store->files.store_id;
}

const struct store_manifest *store_manifest(const struct store *store)
{
    return &store->manifest;
}

/* ---- opening ------------------------------------------------------------------------------------------------------------- */

static bool ends_in(const char *name, const char *suffix)
{
    size_t length = strlen(name), suffix_length = strlen(suffix);
    return length > suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

void store_codelet_names_free(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

/* Names in a directory that end in `suffix`, sorted. */
static enum pcere_status names_list(int directory, const char *path, const char *suffix, char ***ret_names, size_t *ret_count,
                                    struct pcere_error *error)
{
    int descriptor = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = descriptor < 0 ? NULL : fdopendir(descriptor);
    if (!listing) {
        enum pcere_status status = pcere_fail(error, errno == ENOENT || errno == ENOTDIR ? PCERE_DATA : PCERE_SYSTEM, errno, NULL,
                                              "cannot read the directory '%s'", path);
        if (descriptor >= 0)
            close(descriptor);
        return status;
    }
    char **names = NULL;
    size_t count = 0, capacity = 0;
    bool failed = false;
    for (struct dirent *entry; !failed && (entry = readdir(listing));)
        if (ends_in(entry->d_name, suffix)) {
            failed = !array_reserve(&names, &capacity, count + 1, sizeof *names) || !(names[count] = strdup(entry->d_name));
            count += !failed;
        }
    closedir(listing);
    if (failed) {
        store_codelet_names_free(names, count);
        return pcere_fail_memory(error, "a directory's names");
    }
    if (count)
        qsort(names, count, sizeof *names, compare_names);
    *ret_names = names;
    *ret_count = count;
    return PCERE_OK;
}

static enum pcere_status find_only(char **ret_path, struct pcere_error *error)
{
    char **names;
    size_t count;
    enum pcere_status status = names_list(AT_FDCWD, ".", STORE_SUFFIX, &names, &count, error);
    if (status)
        return status;
    if (count == 1) {
        *ret_path = names[0];
        free(names);
        return PCERE_OK;
    }
    struct text list = {0};
    for (size_t i = 0; i < count; i++)
        text_addf(&list, "%s%s", i ? ", " : "", names[i]);
    status = count ? pcere_fail(error, PCERE_USAGE, 0, "name the one that you mean", "there are %zu stores here: %.400s", count,
                                list.data ? list.data : "")
                   : pcere_fail(error, PCERE_DATA, 0, "make one with: pcere capture PROGRAM", "there is no store in this directory");
    text_done(&list);
    store_codelet_names_free(names, count);
    return status;
}

static enum pcere_status read_manifest(struct store *store, struct pcere_error *error)
{
    void *text;
    size_t bytes;
    enum pcere_status status = file_read(store->directory, "manifest.json", STORE_MANIFEST_BYTES_MOST, &text, &bytes, error);
    if (status) {
        if (error && error->errnum == ENOENT)
            pcere_fail(error, PCERE_DATA, 0, "capture the program again, or name another store",
                       "'%s' is not a PCERE store: it has no manifest.json", store->path);
        return status;
    }
    status = manifest_decode(text, bytes, &store->manifest, &store->files, error);
    free(text);
    uint64_t page_size = store->manifest.page_size;
    if (!status && (page_size < STORE_PAGE_BYTES_LEAST || page_size > STORE_PAGE_BYTES_MOST || (page_size & (page_size - 1))))
        status = pcere_fail(error, PCERE_DATA, 0, STORE_HINT_DAMAGED, "manifest.json: a page size of %llu bytes is not supported",
                            (unsigned long long)page_size);
    return status;
}

/* What is missing or damaged, whoever found it, is to be had again. */
static enum pcere_status told(enum pcere_status status, struct pcere_error *error)
{
    if (status == PCERE_DATA && error && !error->hint[0])
        snprintf(error->hint, sizeof error->hint, "%s", STORE_HINT_DAMAGED);
    return status;
}

enum pcere_status store_open(const char *path, struct store **ret_store, struct pcere_error *error)
{
    struct store *store = calloc(1, sizeof *store);
    if (!store)
        return pcere_fail_memory(error, "a store");
    store->directory = -1;
    enum pcere_status status = PCERE_OK;
    if (!path)
        status = find_only(&store->path, error);
    else if (!(store->path = strdup(path)))
        status = pcere_fail_memory(error, "a store");
    if (!status && (store->directory = open(store->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        status = pcere_fail(error, errno == ENOENT || errno == ENOTDIR ? PCERE_DATA : PCERE_SYSTEM, errno,
                            errno == ENOTDIR ? "a packed store is made a store again by: pcere unpack FILE"
                                             : "make one with: pcere capture PROGRAM", "cannot open the store '%s'", store->path);
    if (!status)
        status = read_manifest(store, error);
    if (!status)
        status = page_file_open(store->directory, &store->files, store->manifest.page_size, store->manifest.complete, &store->pages,
                                error);
    if (status) {
        store_close(store);
        return told(status, error);
    }
    *ret_store = store;
    return PCERE_OK;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    page_file_close(store->pages);
    store_manifest_done(&store->manifest);
    manifest_files_done(&store->files);
    if (store->directory >= 0)
        close(store->directory);
    free(store->path);
    free(store);
}

/* ---- files --------------------------------------------------------------------------------------------------------------- */

static enum pcere_status check_program(const struct store *store, struct pcere_error *error)
{
    uint64_t hash, bytes;
    if (!store->files.has_program)
        return pcere_fail(error, PCERE_DATA, 0, "capture the program again",
                          "the store '%s' has no copy of its program: its capture was ended early", store->path);
    enum pcere_status status = file_hash(store->directory, "program", &hash, &bytes, error);
    if (!status && (hash != store->files.program_hash || bytes != store->files.program_bytes))
        status = pcere_fail(error, PCERE_DATA, 0, STORE_HINT_DAMAGED, "the store's copy of the program is damaged");
    return told(status, error);
}

#define LIBRARIES "libraries/"

static enum pcere_status check_library(const struct store *store, const char *name, struct pcere_error *error)
{
    uint64_t hash, bytes;
    char *path;
    const struct manifest_library *library = NULL;
    for (size_t i = 0; i < store->files.library_count && !library; i++)
        if (strcmp(store->files.libraries[i].about.name, name) == 0)
            library = &store->files.libraries[i];
    if (!library)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "the store has no library '%s'", name);
    if (asprintf(&path, LIBRARIES "%s", name) < 0)
        return pcere_fail_memory(error, "a path");
    enum pcere_status status = file_hash(store->directory, path, &hash, &bytes, error);
    free(path);
    if (!status && (hash != library->hash || bytes != library->bytes))
        status = pcere_fail(error, PCERE_DATA, 0, STORE_HINT_DAMAGED, "the store's copy of '%s' is damaged", name);
    return told(status, error);
}

size_t store_library_count(const struct store *store)
{
    return store->files.library_count;
}

const struct store_library *store_library(const struct store *store, size_t index)
{
    return &store->files.libraries[index].about;
}

enum pcere_status store_unwritable_tell(const struct store *store, enum pcere_status status, struct pcere_error *error)
{
    if (status && error && (error->errnum == EACCES || error->errnum == EROFS))
        return pcere_fail(error, PCERE_SYSTEM, error->errnum, "codelets are built in it, and their times kept: copy it (cp -r), and name the copy", "the store '%s' cannot be written", store->path);
    return status;
}

static enum pcere_status build_make(const struct store *store, struct pcere_error *error)
{
    struct pcere_error failure = {0};
    enum pcere_status status = store_unwritable_tell(store, directory_make(store->directory, "build", &failure), &failure);
    if (status && failure.errnum == EEXIST)
        return pcere_fail(error, PCERE_DATA, 0, "remove it: codelets are built anew", "the store's 'build' is no directory");
    if (status && error)
        *error = failure;
    return status;
}

enum pcere_status store_file(const struct store *store, const char *name, char **ret_path, struct pcere_error *error)
{
    enum pcere_status status;
    if (strcmp(name, "program") == 0)
        status = check_program(store, error);
    else if (strncmp(name, LIBRARIES, strlen(LIBRARIES)) == 0)
        status = check_library(store, name + strlen(LIBRARIES), error);
    else if (strcmp(name, "build") == 0)
        status = build_make(store, error);
    else
        status = pcere_fail(error, PCERE_USAGE, 0, NULL, "a store has no file '%s' for others", name);
    char *path;
    if (!status && asprintf(&path, "%s/%s", store->path, name) < 0)
        status = pcere_fail_memory(error, "a path");
    if (!status)
        *ret_path = path;
    return status;
}

enum pcere_status store_codelet_load(struct store *store, const char *name, struct store_codelet *ret_codelet,
                                     struct pcere_error *error)
{
    char *path;
    void *data;
    size_t bytes;
    if (!codelet_name_valid(name))
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "'%s' is not the name of a codelet", name);
    if (asprintf(&path, "codelets/%s" CODELET_SUFFIX, name) < 0)
        return pcere_fail_memory(error, "a codelet");
    enum pcere_status status = file_read(store->directory, path, STORE_CODELET_BYTES_MOST, &data, &bytes, error);
    free(path);
    if (status)
        return told(status, error);
    status = codelet_decode(data, bytes, name, store->files.store_id, store->manifest.page_size, page_file_count(store->pages),
                            ret_codelet, error);
    free(data);
    return told(status, error);
}

enum pcere_status store_pages_read(struct store *store, uint64_t first, uint64_t count, void *out, struct pcere_error *error)
{
    return told(page_file_read(store->pages, first, count, out, error), error);
}

/* ---- check --------------------------------------------------------------------------------------------------------------- */

static enum pcere_status check_codelet(struct store *store, const char *name, struct pcere_error *error)
{
    struct store_codelet codelet;
    enum pcere_status status = store_codelet_load(store, name, &codelet, error);
    if (!status)
        store_codelet_done(&codelet);
    return status;
}

enum pcere_status store_codelet_names(const struct store *store, char ***ret_names, size_t *ret_count, struct pcere_error *error)
{
    enum pcere_status status = names_list(store->directory, "codelets", CODELET_SUFFIX, ret_names, ret_count, error);
    for (size_t i = 0; !status && i < *ret_count; i++)
        (*ret_names)[i][strlen((*ret_names)[i]) - strlen(CODELET_SUFFIX)] = 0;
    return status;
}

enum pcere_status store_character_names(const struct store *store, char ***ret_names, size_t *ret_count, struct pcere_error *error)
{
    return names_list(store->directory, "codelets", ".character", ret_names, ret_count, error);
}

/* Those that are there, and those that should be. */
static enum pcere_status check_codelets(struct store *store, struct pcere_error *error)
{
    char **names;
    size_t count;
    enum pcere_status status = store_codelet_names(store, &names, &count, error);
    if (status)
        return status;
    for (size_t i = 0; i < count && !status; i++)
        status = check_codelet(store, names[i], error);
    store_codelet_names_free(names, count);
    for (size_t i = 0; i < store->files.codelet_count && !status; i++)
        status = check_codelet(store, store->files.codelets[i], error);
    for (size_t i = 0; i < store->manifest.region_count; i++)
        for (size_t j = 0; j < store->manifest.regions[i].class_count && !status; j++)
            if (store->manifest.regions[i].classes[j].codelet)
                status = check_codelet(store, store->manifest.regions[i].classes[j].codelet, error);
    return status;
}

enum pcere_status store_check(struct store *store, struct pcere_error *error)
{
    struct store_sample *samples;
    size_t count;
    enum pcere_status status = store->files.has_program ? check_program(store, error) : PCERE_OK;
    for (size_t i = 0; i < store->files.library_count && !status; i++)
        status = check_library(store, store->files.libraries[i].about.name, error);
    if (!status)
        status = page_file_check(store->pages, error);
    if (!status)
        status = check_codelets(store, error);
    if (!status)
        status = store_samples_load(store, &samples, &count, error);
    if (!status) {
        store_samples_free(samples, count);
        status = store_samples_whole(store, error);
    }
    if (!status) {
        struct store_series *series;
        status = store_invocations_load(store, &series, &count, error);
        if (!status)
            store_series_free(series, count);
    }
    return told(status, error);
}

/* ---- what is found out later --------------------------------------------------------------------------------------------------------- */

/* What keeps a region from more numbers of threads, or from worse than another way or an uneven one, is told before what keeps it from fewer. */
static int limit_rank(const struct store_region *region)
{
    bool mild = store_region_turns(region) || store_region_pieces(region);
    return !region->thread_sized ? 0 : mild ? 1 : store_region_is_exact(region) ? 3 : 2;
}

/* Of a region that the store has. */
static enum pcere_status limit_take(struct store_region *region, const struct store_limit *limit, size_t *added, struct pcere_error *error)
{
    const struct store_region found = {.thread_sized = limit->reason};
    if (limit_rank(region) >= limit_rank(&found))
        return PCERE_OK;
    char *reason = strdup(limit->reason);
    if (!reason)
        return pcere_fail_memory(error, "the limits of regions");
    free(region->thread_sized);
    region->thread_sized = reason;
    ++*added;
    return PCERE_OK;
}

/* Of one that the program enters only with more threads than the capture had. */
static enum pcere_status not_entered_take(struct store_manifest *manifest, const struct store_limit *limit, size_t *added, struct pcere_error *error)
{
    bool known = store_limit_enters(limit) <= manifest->threads;
    for (size_t i = 0; i < manifest->region_count; i++)
        known = known || strcmp(manifest->regions[i].name, limit->region) == 0;
    for (size_t i = 0; i < manifest->not_entered_count; i++)
        known = known || strcmp(manifest->not_entered[i].region, limit->region) == 0;
    if (known)
        return PCERE_OK;
    struct store_limit *grown = realloc(manifest->not_entered, (manifest->not_entered_count + 1) * sizeof *grown), taken = {strdup(limit->region), strdup(limit->reason)};
    if (grown)
        manifest->not_entered = grown;
    if (!grown || !taken.region || !taken.reason) {
        free(taken.region);
        free(taken.reason);
        return pcere_fail_memory(error, "the limits of regions");
    }
    grown[manifest->not_entered_count++] = taken;
    ++*added;
    return PCERE_OK;
}

enum pcere_status store_limits_write(struct store *store, const struct store_limit *limits, size_t count, bool all, struct pcere_error *error)
{
    struct store_manifest *manifest = &store->manifest;
    size_t added = all && !manifest->looked_together, bytes = 0;
    enum pcere_status status = PCERE_OK;
    manifest->looked_together |= all;
    for (size_t i = 0; !status && i < count; i++)
        if (store_limit_enters(&limits[i]))
            status = not_entered_take(manifest, &limits[i], &added, error);
        else
            for (size_t j = 0; !status && j < manifest->region_count; j++)
                if (strcmp(manifest->regions[j].name, limits[i].region) == 0)
                    status = limit_take(&manifest->regions[j], &limits[i], &added, error);
    if (status || !added)
        return status;
    char *text = NULL;
    status = manifest_encode(manifest, &store->files, &text, &bytes, error);
    if (!status)
        status = file_replace(store->directory, "manifest.json", text, bytes, true, "manifest.write", error);
    free(text);
    return status;
}

void store_limits_free(struct store_limit *limits, size_t count)
{
    for (size_t i = 0; limits && i < count; i++) {
        free(limits[i].region);
        free(limits[i].reason);
    }
    free(limits);
}
