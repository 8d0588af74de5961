/* store/unpack.c - a store out of one file that anybody may have made: nothing is believed but what was checked.
 *
 * First the frame at the file's end, which covers every byte; then each name against the few that a store has; then, in a directory
 * that is no store yet, everything that store_check knows.
 */
#include "core/faults.h"
#include "core/files.h"
#include "store/directory.h"
#include "store/character.h"
#include "store/pack_format.h"
#include "store/staging.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <xxhash.h>

struct unpacker {
    const char *file;
    int descriptor;                  /* of the packed store */
    uint64_t left_bytes;             /* of the archive, not read yet */
    struct pack_trailer trailer;
    struct archive *archive;
    char *prefix;                    /* of the first name, without its slash */
    struct staging staging;
    uint32_t files;
    uint64_t unpacked_bytes;
    size_t chunk_bytes;              /* PACK_CHUNK_BYTES, or those of a smaller file */
    char *chunk;
    char *input;                     /* as large: what the archive library reads from */
};

static enum pcere_status fail_damaged(const struct unpacker *unpacker, const char *what, struct pcere_error *error)
{
    return pcere_fail(error, PCERE_DATA, 0, PACK_HINT_DAMAGED, "the packed store '%.200s' is damaged: %.200s", unpacker->file, what);
}

/* ---- the file as a whole ------------------------------------------------------------------------------------------------- */

static enum pcere_status file_open(struct unpacker *unpacker, uint64_t *ret_bytes, struct pcere_error *error)
{
    struct stat about;
    unpacker->descriptor = open(unpacker->file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (unpacker->descriptor < 0 || fstat(unpacker->descriptor, &about) != 0)
        return pcere_fail(error, errno == ENOENT || errno == ENOTDIR ? PCERE_DATA : PCERE_SYSTEM, errno, "make one with: pcere pack",
                          "cannot read '%s'", unpacker->file);
    if (!S_ISREG(about.st_mode))
        return pcere_fail(error, PCERE_DATA, 0, "name a file that 'pcere pack' made", "'%s' is not a packed store", unpacker->file);
    *ret_bytes = (uint64_t)about.st_size;
    return PCERE_OK;
}

/* Up to `bytes` at the position; what is missing is PCERE_DATA. */
static enum pcere_status bytes_get(const struct unpacker *unpacker, void *data, size_t bytes, struct pcere_error *error)
{
    char *at = data;
    while (bytes) {
        ssize_t got = read(unpacker->descriptor, at, bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot read '%s'", unpacker->file);
        if (got == 0)
            return fail_damaged(unpacker, "it became shorter while it was read", error);
        at += got;
        bytes -= (size_t)got;
    }
    return PCERE_OK;
}

static enum pcere_status check_read(const struct unpacker *unpacker, uint64_t bytes, uint64_t *ret_check, struct pcere_error *error)
{
    XXH64_state_t *state = XXH64_createState();
    if (!state)
        return pcere_fail_memory(error, "a packed store");
    XXH64_reset(state, 0);
    enum pcere_status status = PCERE_OK;
    while (bytes && !status) {
        size_t want = bytes < unpacker->chunk_bytes ? (size_t)bytes : unpacker->chunk_bytes;
        status = bytes_get(unpacker, unpacker->chunk, want, error);
        if (!status)
            XXH64_update(state, unpacker->chunk, want);
        bytes -= want;
    }
    *ret_check = XXH64_digest(state);
    XXH64_freeState(state);
    return status;
}

/* A file without the frame at its end is no packed store, or was cut. */
static enum pcere_status trailer_check(struct unpacker *unpacker, uint64_t bytes, struct pcere_error *error)
{
    static const unsigned char zstd_magic[4] = {0x28, 0xb5, 0x2f, 0xfd};
    struct pack_trailer *trailer = &unpacker->trailer;
    unsigned char head[4] = {0};
    uint64_t check = 0;
    if (bytes >= sizeof head && pread(unpacker->descriptor, head, sizeof head, 0) != (ssize_t)sizeof head)
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot read '%s'", unpacker->file);
    if (memcmp(head, zstd_magic, sizeof head) != 0)
        return pcere_fail(error, PCERE_DATA, 0, "name a file that 'pcere pack' made", "'%s' is not a packed store", unpacker->file);
    if (bytes < sizeof *trailer || lseek(unpacker->descriptor, (off_t)(bytes - sizeof *trailer), SEEK_SET) < 0)
        return fail_damaged(unpacker, "its end is missing", error);
    enum pcere_status status = bytes_get(unpacker, trailer, sizeof *trailer, error);
    if (status)
        return status;
    if (trailer->skippable != PACK_SKIPPABLE || memcmp(trailer->magic, PACK_MAGIC, sizeof trailer->magic) != 0)
        return fail_damaged(unpacker, "its end is missing", error);
    if (trailer->version != PACK_VERSION)
        return pcere_fail(error, PCERE_DATA, 0, "unpack it with the PCERE that packed it",
                          "'%s' was packed by another version of PCERE (%u, this one reads %u)", unpacker->file, trailer->version, PACK_VERSION);
    if (trailer->archive_bytes != bytes - sizeof *trailer || trailer->frame_bytes != sizeof *trailer - offsetof(struct pack_trailer, magic))
        return fail_damaged(unpacker, "it has another size than it says", error);
    lseek(unpacker->descriptor, 0, SEEK_SET);
    status = check_read(unpacker, bytes - sizeof trailer->check, &check, error);
    lseek(unpacker->descriptor, 0, SEEK_SET);
    unpacker->left_bytes = trailer->archive_bytes;
    if (!status && check != trailer->check)
        status = fail_damaged(unpacker, "its checksum does not match", error);
    return status;
}

/* Before anything is written. */
static enum pcere_status room_check(const struct unpacker *unpacker, struct pcere_error *error)
{
    const struct pack_trailer *trailer = &unpacker->trailer;
    struct statvfs disk;
    if (trailer->files > PACK_FILES_MOST || trailer->unpacked_bytes > PACK_BYTES_MOST)
        return fail_damaged(unpacker, "it says to hold more than any store", error);
    if (fstatvfs(unpacker->staging.parent, &disk) == 0 && disk.f_frsize &&
        trailer->unpacked_bytes / disk.f_frsize + trailer->files > disk.f_bavail)
        return pcere_fail(error, PCERE_SYSTEM, ENOSPC, "free some space, or choose another place with -o",
                          "unpacking '%s' takes %" PRIu64 " MB", unpacker->file, trailer->unpacked_bytes / 1000000 + 1);
    return PCERE_OK;
}

/* ---- the archive --------------------------------------------------------------------------------------------------------- */

static la_ssize_t on_read(struct archive *archive, void *context, const void **ret_data)
{
    struct unpacker *unpacker = context;
    size_t want = unpacker->left_bytes < unpacker->chunk_bytes ? (size_t)unpacker->left_bytes : unpacker->chunk_bytes;
    struct pcere_error error;
    if (bytes_get(unpacker, unpacker->input, want, &error)) {
        archive_set_error(archive, EIO, "%s", error.message);
        return -1;
    }
    unpacker->left_bytes -= want;
    *ret_data = unpacker->input;
    return (la_ssize_t)want;
}

static enum pcere_status fail_archive(const struct unpacker *unpacker, struct pcere_error *error)
{
    const char *why = archive_error_string(unpacker->archive);
    return fail_damaged(unpacker, why ? why : "it does not decompress", error);
}

static enum pcere_status archive_begin(struct unpacker *unpacker, struct pcere_error *error)
{
    unpacker->archive = archive_read_new();
    if (!unpacker->archive || archive_read_support_filter_zstd(unpacker->archive) != ARCHIVE_OK ||
        archive_read_support_format_tar(unpacker->archive) != ARCHIVE_OK)
        return pcere_fail_memory(error, "a packed store");
    return archive_read_open(unpacker->archive, unpacker, NULL, on_read, NULL) == ARCHIVE_OK ? PCERE_OK : fail_archive(unpacker, error);
}

static bool has_form(const char *name, const char *folder, const char *suffix)
{
    size_t folder_length = strlen(folder), suffix_length = strlen(suffix), length = strlen(name);
    if (length <= folder_length + suffix_length || strncmp(name, folder, folder_length) != 0 ||
        strcmp(name + length - suffix_length, suffix) != 0)
        return false;
    return strlen(name + folder_length) <= 208 && codelet_name_valid(name + folder_length);
}

/* Limits of what stands in a store; 0: no such file does. */
static uint64_t name_bytes_most(const char *name)
{
    if (strcmp(name, "manifest.json") == 0)
        return STORE_MANIFEST_BYTES_MOST;
    if (strcmp(name, "samples.jsonl") == 0)
        return STORE_SAMPLES_BYTES_MOST;
    if (strcmp(name, "invocations.json") == 0)
        return STORE_INVOCATIONS_BYTES_MOST;
    if (has_form(name, "codelets/", ".codelet"))
        return STORE_CODELET_BYTES_MOST;
    if (has_form(name, "codelets/", ".character"))
        return CHARACTER_FILE_BYTES_MOST;
    if (strcmp(name, "pages") == 0 || strcmp(name, "program") == 0 || has_form(name, "libraries/", ""))
        return PACK_BYTES_MOST;
    return 0;
}

/* "PREFIX/NAME", the same prefix for all. *ret_name points into the path. */
static enum pcere_status path_split(struct unpacker *unpacker, const char *path, const char **ret_name, struct pcere_error *error)
{
    const char *slash = path ? strchr(path, '/') : NULL;
    if (!slash)
        return fail_damaged(unpacker, "a name in it is none of a store's", error);
    char *prefix = strndup(path, (size_t)(slash - path));
    if (!prefix)
        return pcere_fail_memory(error, "a name");
    bool good = codelet_name_valid(prefix) && (!unpacker->prefix || strcmp(prefix, unpacker->prefix) == 0);
    for (const char *c = prefix; *c; c++)
        good = good && (unsigned char)*c >= ' ' && *c != 0x7f;
    if (!good || unpacker->prefix)
        free(prefix);
    else
        unpacker->prefix = prefix;
    *ret_name = slash + 1;
    return good ? PCERE_OK : fail_damaged(unpacker, "a name in it is none of a store's", error);
}

static enum pcere_status entry_check(struct unpacker *unpacker, struct archive_entry *entry, const char **ret_name,
                                     struct pcere_error *error)
{
    const char *path = archive_entry_pathname(entry);
    enum pcere_status status = path_split(unpacker, path, ret_name, error);
    if (status)
        return status;
    uint64_t most = name_bytes_most(*ret_name);
    if (!most)
        return fail_damaged(unpacker, "a name in it is none of a store's", error);
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) || archive_entry_symlink(entry))
        return fail_damaged(unpacker, "it holds what is no regular file", error);
    if (!archive_entry_size_is_set(entry) || archive_entry_size(entry) < 0 || (uint64_t)archive_entry_size(entry) > most)
        return fail_damaged(unpacker, "a file in it is larger than such files are", error);
    uint64_t bytes = (uint64_t)archive_entry_size(entry);
    if (unpacker->files >= unpacker->trailer.files || bytes > unpacker->trailer.unpacked_bytes - unpacker->unpacked_bytes)
        return fail_damaged(unpacker, "it holds more than it says", error);
    unpacker->files++;
    unpacker->unpacked_bytes += bytes;
    return PCERE_OK;
}

static enum pcere_status content_write(struct unpacker *unpacker, int descriptor, const char *name, uint64_t bytes,
                                       struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    while (bytes && !status) {
        la_ssize_t got = archive_read_data(unpacker->archive, unpacker->chunk, unpacker->chunk_bytes);
        if (got < 0)
            return fail_archive(unpacker, error);
        if (got == 0 || (uint64_t)got > bytes)
            return fail_damaged(unpacker, "a file in it has another size than it says", error);
        status = file_write_all(descriptor, -1, unpacker->chunk, (size_t)got, name, "unpack.write", error);
        bytes -= (uint64_t)got;
    }
    return status;
}

static enum pcere_status folder_make(struct unpacker *unpacker, const char *name, struct pcere_error *error)
{
    const char *slash = strchr(name, '/');
    if (!slash)
        return PCERE_OK;
    char folder[16];
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - name), name);
    return directory_make(unpacker->staging.directory, folder, error);
}

static enum pcere_status entry_write(struct unpacker *unpacker, struct archive_entry *entry, struct pcere_error *error)
{
    const char *name = NULL;
    enum pcere_status status = entry_check(unpacker, entry, &name, error);
    if (!status)
        status = folder_make(unpacker, name, error);
    if (status)
        return status;
    int errnum = fault_point("unpack.create");
    int descriptor = errnum ? -1 : openat(unpacker->staging.directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor < 0) {
        errnum = errnum ? errnum : errno;
        return errnum == EEXIST ? fail_damaged(unpacker, "it holds a file twice", error)
                                : pcere_fail(error, PCERE_SYSTEM, errnum, NULL, "cannot create '%s'", name);
    }
    status = content_write(unpacker, descriptor, name, (uint64_t)archive_entry_size(entry), error);
    if (!status && ((errnum = fault_point("unpack.sync")) || (fsync(descriptor) != 0 && (errnum = errno))))
        status = pcere_fail(error, PCERE_SYSTEM, errnum, NULL, "cannot sync '%s'", name);
    if (close(descriptor) != 0 && !status)
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot write '%s'", name);
    return status;
}

/* The first entry's name tells what the store is called, so the directory is made when it is known. */
static enum pcere_status entries_write(struct unpacker *unpacker, const char *path, bool force, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    struct archive_entry *entry;
    int got;
    while (!status && (got = archive_read_next_header(unpacker->archive, &entry)) != ARCHIVE_EOF) {
        const char *name;
        if (got != ARCHIVE_OK)
            return fail_archive(unpacker, error);
        if (!unpacker->prefix) {
            status = path_split(unpacker, archive_entry_pathname(entry), &name, error);
            if (!status)
                status = staging_open(path ? path : unpacker->prefix, force, &unpacker->staging, error);
            if (!status)
                status = room_check(unpacker, error);
            if (!status)
                status = directory_make(unpacker->staging.directory, "codelets", error);
        }
        if (!status)
            status = entry_write(unpacker, entry, error);
    }
    if (!status && (unpacker->files != unpacker->trailer.files || unpacker->unpacked_bytes != unpacker->trailer.unpacked_bytes))
        status = fail_damaged(unpacker, "it holds less than it says", error);
    return status;
}

/* ---- the store ----------------------------------------------------------------------------------------------------------- */

static enum pcere_status content_check(const struct unpacker *unpacker, struct pcere_error *error)
{
    struct store *store;
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", unpacker->staging.directory);
    if (faccessat(unpacker->staging.directory, "manifest.json", F_OK, 0) != 0)
        return fail_damaged(unpacker, "it has no manifest.json", error);
    enum pcere_status status = store_open(path, &store, error);
    if (status)
        return status;
    status = store_check(store, error);
    store_close(store);
    return status;
}

static enum pcere_status unpack(struct unpacker *unpacker, const char *path, bool force, struct pcere_error *error)
{
    uint64_t bytes = 0;
    enum pcere_status status = file_open(unpacker, &bytes, error);
    if (status)
        return status;
    unpacker->chunk_bytes = bytes && bytes < PACK_CHUNK_BYTES ? (size_t)bytes : PACK_CHUNK_BYTES;
    unpacker->chunk = malloc(unpacker->chunk_bytes);
    unpacker->input = malloc(unpacker->chunk_bytes);
    if (!unpacker->chunk || !unpacker->input)
        status = pcere_fail_memory(error, "a packed store");
    if (!status)
        status = trailer_check(unpacker, bytes, error);
    if (!status)
        status = archive_begin(unpacker, error);
    if (!status)
        status = entries_write(unpacker, path, force, error);
    if (!status)
        status = content_check(unpacker, error);
    if (!status)
        status = directory_sync(unpacker->staging.directory, ".", error);
    return status ? status : staging_publish(&unpacker->staging, error);
}

enum pcere_status store_unpack(const char *file, const char *path, bool force, char **ret_path, struct store_pack *ret_pack,
                               struct pcere_error *error)
{
    struct unpacker unpacker = {.file = file, .descriptor = -1, .staging = {.parent = -1, .directory = -1}};
    enum pcere_status status = unpack(&unpacker, path, force, error);
    char *name = status ? NULL : strdup(path ? path : unpacker.prefix);
    if (!status && !name)
        status = pcere_fail_memory(error, "a path");
    if (status && !unpacker.staging.published)
        staging_abandon(&unpacker.staging);
    archive_read_free(unpacker.archive);
    if (unpacker.descriptor >= 0)
        close(unpacker.descriptor);
    staging_done(&unpacker.staging);
    free(unpacker.prefix);
    free(unpacker.chunk);
    free(unpacker.input);
    if (status)
        return status;
    *ret_path = name;
    *ret_pack = (struct store_pack){unpacker.trailer.archive_bytes + sizeof unpacker.trailer, unpacker.unpacked_bytes, unpacker.files};
    return PCERE_OK;
}
