/* store/pack.c - one file of a store: which files go into it, in which order, and the frame behind them that covers every byte. */
#include "core/faults.h"
#include "core/files.h"
#include "core/text.h"
#include "store/directory.h"
#include "store/pack_format.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

struct packer {
    const struct store *store;
    struct archive *archive;
    struct file_stage stage;         /* the file under way */
    XXH64_state_t *hash;             /* of what was written */
    uint64_t written_bytes;
    char *prefix;                    /* "cg.A.pcere": every name in the archive begins with it and a slash */
    struct pack_trailer trailer;
    enum pcere_status status;        /* first failure of writing, which the archive library only passes on */
    struct pcere_error error;
};

/* ---- bytes to the file --------------------------------------------------------------------------------------------------- */

static enum pcere_status bytes_put(struct packer *packer, const void *data, size_t bytes)
{
    if (!packer->status)
        packer->status = file_write_all(packer->stage.descriptor, -1, data, bytes, packer->stage.name, "pack.write", &packer->error);
    if (!packer->status) {
        XXH64_update(packer->hash, data, bytes);
        packer->written_bytes += bytes;
    }
    return packer->status;
}

static la_ssize_t on_write(struct archive *archive, void *context, const void *data, size_t bytes)
{
    if (bytes_put(context, data, bytes)) {
        archive_set_error(archive, EIO, "cannot write");
        return -1;
    }
    return (la_ssize_t)bytes;
}

static enum pcere_status fail_archive(struct packer *packer, struct pcere_error *error)
{
    if (packer->status) {
        if (error)
            *error = packer->error;
        return packer->status;
    }
    const char *why = packer->archive ? archive_error_string(packer->archive) : NULL;
    return pcere_fail(error, PCERE_SYSTEM, 0, NULL, "cannot pack '%s': %.200s", packer->prefix, why ? why : "out of memory");
}

static enum pcere_status archive_begin(struct packer *packer, struct pcere_error *error)
{
    packer->archive = archive_write_new();
    /* Names are bytes, as the store has them: the archive library would read them by a locale, which the command does not set. */
    if (!packer->archive || archive_write_set_format_pax_restricted(packer->archive) != ARCHIVE_OK ||
        archive_write_set_format_option(packer->archive, "pax", "hdrcharset", "BINARY") != ARCHIVE_OK ||
        archive_write_add_filter_zstd(packer->archive) != ARCHIVE_OK ||
        archive_write_set_bytes_in_last_block(packer->archive, 1) != ARCHIVE_OK ||
        archive_write_open(packer->archive, packer, NULL, on_write, NULL) != ARCHIVE_OK)
        return fail_archive(packer, error);
    return PCERE_OK;
}

/* ---- one file ------------------------------------------------------------------------------------------------------------ */

static enum pcere_status fail_changed(const char *name, struct pcere_error *error)
{
    return pcere_fail(error, PCERE_DATA, 0, "see that no one writes the store meanwhile", "'%s' changed while it was packed", name);
}

static enum pcere_status content_add(struct packer *packer, int descriptor, const char *name, uint64_t bytes, struct pcere_error *error)
{
    size_t chunk_bytes = bytes && bytes < PACK_CHUNK_BYTES ? (size_t)bytes : PACK_CHUNK_BYTES;
    char *chunk = malloc(chunk_bytes);
    enum pcere_status status = chunk ? PCERE_OK : pcere_fail_memory(error, name);
    while (!status && bytes) {
        ssize_t got = read(descriptor, chunk, bytes < chunk_bytes ? (size_t)bytes : chunk_bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot read '%s'", name);
        else if (got == 0)
            status = fail_changed(name, error);
        else if (archive_write_data(packer->archive, chunk, (size_t)got) != got)
            status = fail_archive(packer, error);
        bytes -= got > 0 ? (uint64_t)got : 0;
    }
    free(chunk);
    return status;
}

static enum pcere_status header_add(struct packer *packer, const char *name, const struct stat *about, struct pcere_error *error)
{
    struct archive_entry *entry = archive_entry_new();
    struct text path = {0};
    text_addf(&path, "%s/%s", packer->prefix, name);
    enum pcere_status status = !entry || path.failed ? pcere_fail_memory(error, name) : PCERE_OK;
    if (!status) {
        archive_entry_copy_pathname(entry, path.data);
        archive_entry_set_size(entry, about->st_size);
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_perm(entry, 0600);
        archive_entry_set_mtime(entry, about->st_mtim.tv_sec, 0);
        if (archive_write_header(packer->archive, entry) != ARCHIVE_OK)
            status = fail_archive(packer, error);
    }
    text_done(&path);
    archive_entry_free(entry);
    return status;
}

static enum pcere_status file_add(struct packer *packer, const char *name, struct pcere_error *error)
{
    struct stat about;
    int descriptor = openat(store_directory(packer->store), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return pcere_fail(error, errno == ENOENT ? PCERE_DATA : PCERE_SYSTEM, errno, NULL, "cannot read '%s'", name);
    /* Samples are appended under this lock. */
    while (flock(descriptor, LOCK_SH) != 0 && errno == EINTR) {}
    enum pcere_status status = PCERE_OK;
    if (fstat(descriptor, &about) != 0)
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot read '%s'", name);
    else if (!S_ISREG(about.st_mode))
        status = pcere_fail(error, PCERE_DATA, 0, NULL, "'%s' is not a regular file", name);
    if (!status)
        status = header_add(packer, name, &about, error);
    if (!status)
        status = content_add(packer, descriptor, name, (uint64_t)about.st_size, error);
    close(descriptor);
    if (!status) {
        packer->trailer.files++;
        packer->trailer.unpacked_bytes += (uint64_t)about.st_size;
    }
    return status;
}

static enum pcere_status file_addf(struct packer *packer, struct pcere_error *error, const char *format, const char *name)
{
    struct text path = {0};
    text_addf(&path, format, name);
    enum pcere_status status = path.failed ? pcere_fail_memory(error, name) : file_add(packer, path.data, error);
    text_done(&path);
    return status;
}

/* ---- all of them --------------------------------------------------------------------------------------------------------- */

static enum pcere_status characters_add(struct packer *packer, struct pcere_error *error)
{
    char **names;
    size_t count;
    enum pcere_status status = store_character_names(packer->store, &names, &count, error);
    if (status)
        return status;
    for (size_t i = 0; i < count && !status; i++)
        status = file_addf(packer, error, "codelets/%s", names[i]);
    store_codelet_names_free(names, count);
    return status;
}

static enum pcere_status files_add(struct packer *packer, struct pcere_error *error)
{
    const struct store *store = packer->store;
    char **codelets;
    size_t count;
    enum pcere_status status = file_add(packer, "manifest.json", error);
    if (!status)
        status = file_add(packer, "samples.jsonl", error);
    if (!status && store_has_invocations(store))
        status = file_add(packer, "invocations.json", error);
    if (!status && store_has_program(store))
        status = file_add(packer, "program", error);
    for (size_t i = 0; i < store_library_count(store) && !status; i++)
        status = file_addf(packer, error, "libraries/%s", store_library(store, i)->name);
    if (!status)
        status = store_codelet_names(store, &codelets, &count, error);
    if (status)
        return status;
    for (size_t i = 0; i < count && !status; i++)
        status = file_addf(packer, error, "codelets/%s.codelet", codelets[i]);
    store_codelet_names_free(codelets, count);
    if (!status)
        status = characters_add(packer, error);
    return status ? status : file_add(packer, "pages", error);
}

static enum pcere_status trailer_add(struct packer *packer, struct pcere_error *error)
{
    struct pack_trailer *trailer = &packer->trailer;
    trailer->skippable = PACK_SKIPPABLE;
    trailer->frame_bytes = sizeof *trailer - offsetof(struct pack_trailer, magic);
    memcpy(trailer->magic, PACK_MAGIC, sizeof trailer->magic);
    trailer->version = PACK_VERSION;
    trailer->archive_bytes = packer->written_bytes;
    if (!bytes_put(packer, trailer, offsetof(struct pack_trailer, check))) {
        trailer->check = XXH64_digest(packer->hash);
        bytes_put(packer, &trailer->check, sizeof trailer->check);
    }
    return packer->status ? fail_archive(packer, error) : PCERE_OK;
}

static enum pcere_status pack_write(struct packer *packer, struct pcere_error *error)
{
    packer->hash = XXH64_createState();
    if (!packer->hash)
        return pcere_fail_memory(error, "a packed store");
    XXH64_reset(packer->hash, 0);
    enum pcere_status status = archive_begin(packer, error);
    if (!status)
        status = files_add(packer, error);
    if (!status && archive_write_close(packer->archive) != ARCHIVE_OK)
        status = fail_archive(packer, error);
    archive_write_free(packer->archive);
    packer->archive = NULL;
    if (!status)
        status = trailer_add(packer, error);
    XXH64_freeState(packer->hash);
    return status;
}

/* A store that is being written is not there yet. The lock is held until *ret_lock is closed. */
static enum pcere_status store_lock(const struct store *store, int *ret_lock, struct pcere_error *error)
{
    int lock = openat(store_directory(store), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(lock);
        return pcere_fail(error, PCERE_USAGE, 0, "wait until it has ended", "'%s' is being written by a capture", store_path(store));
    }
    *ret_lock = lock;
    return PCERE_OK;
}

static enum pcere_status prefix_make(const struct store *store, char **ret_prefix, struct pcere_error *error)
{
    char *path = realpath(store_path(store), NULL);
    const char *name = path ? basename(path) : NULL;
    enum pcere_status status = PCERE_OK;
    if (!path)
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot read '%s'", store_path(store));
    else if (!codelet_name_valid(name))
        status = pcere_fail(error, PCERE_USAGE, 0, "rename the store", "a store called '%.200s' cannot be packed", name);
    else if (!(*ret_prefix = strdup(name)))
        status = pcere_fail_memory(error, "a name");
    free(path);
    return status;
}

enum pcere_status store_pack(struct store *store, const char *file, bool force, struct store_pack *ret_pack, struct pcere_error *error)
{
    struct packer packer = {.store = store};
    struct stat about;
    int lock = -1;
    if (lstat(file, &about) == 0 && !(force && S_ISREG(about.st_mode)))
        return pcere_fail(error, PCERE_USAGE, 0, S_ISREG(about.st_mode) ? "replace it with --force, or choose another name with -o"
                                                                        : "choose another name with -o", "'%s' exists", file);
    enum pcere_status status = store_lock(store, &lock, error);
    if (!status)
        status = store_check(store, error);
    if (!status)
        status = prefix_make(store, &packer.prefix, error);
    if (!status)
        status = file_stage(AT_FDCWD, file, "pack.create", &packer.stage, error);
    if (!status)
        status = file_publish(AT_FDCWD, file, &packer.stage, true, "pack.create", pack_write(&packer, error), error);
    if (lock >= 0)
        close(lock);
    free(packer.prefix);
    if (!status)
        *ret_pack = (struct store_pack){packer.written_bytes, packer.trailer.unpacked_bytes, packer.trailer.files};
    return status;
}
