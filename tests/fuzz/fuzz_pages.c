/* tests/fuzz/fuzz_pages.c - files of pages with right checksums in the header and in as many blocks as follow each other. */
#include "store/page_file.h"
#include "tests/fuzz/fuzz.h"

#include <xxhash.h>

#define PAGE_BYTES 512u
#define STORE_ID 42u

static void make_checks_right(uint8_t *file, size_t size)
{
    struct pages_header *first = (struct pages_header *)file;
    memcpy(first->magic, PAGES_MAGIC, 8);
    first->version = STORE_SCHEMA_VERSION;
    first->page_bytes = PAGE_BYTES;
    first->store_id = STORE_ID;
    first->check = XXH64(first, offsetof(struct pages_header, check), 0);
    for (size_t at = sizeof *first; size - at >= sizeof(struct block_header);) {
        struct block_header header;
        memcpy(&header, file + at, sizeof header);
        size_t hashes = header.pages * sizeof(struct page_hash), left = size - at - sizeof header;
        memcpy(header.magic, BLOCK_MAGIC, 8);
        if (header.pages > STORE_BLOCK_PAGES || hashes > left || header.stored_bytes > left - hashes)
            break;
        header.body_check = XXH64(file + at + sizeof header, hashes + header.stored_bytes, 0);
        header.check = XXH64(&header, offsetof(struct block_header, check), 0);
        memcpy(file + at, &header, sizeof header);
        at += sizeof header + hashes + header.stored_bytes;
    }
}

static void read_one(int directory, bool complete, size_t size)
{
    static unsigned char out[300 * PAGE_BYTES];
    struct manifest_files files = {.store_id = STORE_ID, .pages_bytes = complete ? size : sizeof(struct pages_header)};
    struct page_file *file;
    struct pcere_error error = {0};
    enum pcere_status status = page_file_open(directory, &files, PAGE_BYTES, complete, &file, &error);
    if (status) {
        FUZZ_EXPECT(status == PCERE_DATA && *error.message);
        return;
    }
    uint64_t count = page_file_count(file);
    for (uint64_t at = 0; at < count && at < 64; at++) {
        uint64_t many = count - at > 299 ? 299 : count - at;
        status = page_file_read(file, at, many, out, &error);
        FUZZ_EXPECT(status == PCERE_OK || (status == PCERE_DATA && *error.message));
    }
    FUZZ_EXPECT(page_file_read(file, count, 1, out, &error) == PCERE_DATA);
    status = page_file_check(file, &error);
    FUZZ_EXPECT(status == PCERE_OK || (status == PCERE_DATA && *error.message));
    page_file_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int directory = -1;
    char path[100];
    if (size < sizeof(struct pages_header))
        return 0;
    if (directory < 0)
        directory = open(fuzz_folder_get(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof path, "%s/pages", fuzz_folder_get());
    uint8_t *file = malloc(size);
    memcpy(file, data, size);
    make_checks_right(file, size);
    fuzz_write(path, file, size);
    read_one(directory, false, size);
    read_one(directory, true, size);
    free(file);
    return 0;
}
