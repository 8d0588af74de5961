/* tests/fuzz/fuzz_pack.c - packed stores: any bytes as the file, and any bytes as the archive inside a file whose frame is right. Whatever
 * they are, nothing appears but a whole store or nothing.
 */
#include "core/files.h"
#include "store/pack_format.h"
#include "tests/fuzz/fuzz.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <xxhash.h>
#include <zstd.h>

static size_t names_count(const char *folder)
{
    size_t count = 0;
    DIR *listing = opendir(folder);
    FUZZ_EXPECT(listing != NULL);
    while (readdir(listing))
        count++;
    closedir(listing);
    return count - 2;
}

static void check_one(const void *data, size_t bytes)
{
    const char *folder = fuzz_folder_get();
    char file[100], made[100];
    snprintf(file, sizeof file, "%s/packed", folder);
    snprintf(made, sizeof made, "%s/made.pcere", folder);
    fuzz_write(file, data, bytes);
    char *path = NULL;
    struct store_pack sizes;
    struct pcere_error error = {0};
    enum pcere_status status = store_unpack(file, made, false, &path, &sizes, &error);
    FUZZ_EXPECT(names_count(folder) == (status ? 1 : 2));
    if (status) {
        FUZZ_EXPECT((status == PCERE_DATA || status == PCERE_SYSTEM) && *error.message);
        return;
    }
    uint64_t removed;
    FUZZ_EXPECT(strcmp(path, made) == 0);
    FUZZ_EXPECT(store_remove(made, false, &removed, &error) == PCERE_OK);
    free(path);
}

/* What the archive says that it holds, so that more than its first lie is reached. */
static void claims_count(const void *data, size_t bytes, struct pack_trailer *trailer)
{
    struct archive *archive = archive_read_new();
    struct archive_entry *entry;
    archive_read_support_format_tar(archive);
    if (archive_read_open_memory(archive, data, bytes) == ARCHIVE_OK)
        while (trailer->files < 1000 && archive_read_next_header(archive, &entry) == ARCHIVE_OK) {
            trailer->files++;
            trailer->unpacked_bytes += (uint64_t)archive_entry_size(entry) & (((uint64_t)1 << 26) - 1);
        }
    archive_read_free(archive);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pack_trailer trailer = {PACK_SKIPPABLE, sizeof trailer - offsetof(struct pack_trailer, magic), PACK_MAGIC, PACK_VERSION, 0, 0, 0, 0};
    check_one(data, size);
    size_t bound = ZSTD_compressBound(size);
    unsigned char *file = malloc(bound + sizeof trailer);
    if (!file)
        return 0;
    size_t bytes = ZSTD_compress(file, bound, data, size, 1);
    FUZZ_EXPECT(!ZSTD_isError(bytes));
    claims_count(data, size, &trailer);
    trailer.archive_bytes = bytes;
    memcpy(file + bytes, &trailer, sizeof trailer);
    trailer.check = XXH64(file, bytes + offsetof(struct pack_trailer, check), 0);
    memcpy(file + bytes, &trailer, sizeof trailer);
    check_one(file, bytes + sizeof trailer);
    free(file);
    return 0;
}
