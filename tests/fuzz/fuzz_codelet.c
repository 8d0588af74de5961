/* tests/fuzz/fuzz_codelet.c - codelets with a right checksum and length; what is read is written and gives the same bytes. */
#include "store/format.h"
#include "tests/fuzz/fuzz.h"

#include <xxhash.h>

#define PAGES 1000u
#define PAGE_BYTES 512u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store_codelet codelet;
    struct codelet_header header;
    struct pcere_error error = {0};
    if (size < sizeof header + 16)
        return 0;
    uint8_t *file = malloc(size);
    memcpy(file, data, size);
    memcpy(&header, file, sizeof header);
    memcpy(header.magic, CODELET_MAGIC, sizeof header.magic);
    header.version = CODELET_VERSION;
    header.page_bytes = PAGE_BYTES;
    header.file_bytes = size;
    memcpy(file, &header, sizeof header);
    uint64_t check = XXH64(file, size - 8, 0);
    memcpy(file + size - 8, &check, 8);
    char name[201] = "";
    if (header.counts[PART_NAME] <= 200 && header.counts[PART_NAME] <= size - sizeof header)
        memcpy(name, file + sizeof header, header.counts[PART_NAME]);
    enum pcere_status status = codelet_decode(file, size, name, header.store_id, PAGE_BYTES, PAGES, &codelet, &error);
    if (status)
        FUZZ_EXPECT((status == PCERE_DATA || status == PCERE_SYSTEM) && *error.message);
    else {
        void *written;
        size_t bytes;
        struct store_codelet again;
        FUZZ_EXPECT(codelet_encode(&codelet, name, header.store_id, PAGE_BYTES, PAGES, &written, &bytes, &error) == PCERE_OK);
        FUZZ_EXPECT(codelet_decode(written, bytes, name, header.store_id, PAGE_BYTES, PAGES, &again, &error) == PCERE_OK);
        FUZZ_EXPECT(bytes == size && again.before_count == codelet.before_count && again.stream_count == codelet.stream_count && again.invocation == codelet.invocation);
        store_codelet_done(&again);
        store_codelet_done(&codelet);
        free(written);
    }
    free(file);
    return 0;
}
