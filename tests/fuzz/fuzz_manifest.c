/* tests/fuzz/fuzz_manifest.c - manifests: any text whose last key is a right checksum; what is read is written and read again. */
#include "store/directory.h"
#include "tests/fuzz/fuzz.h"

static void check_one(const char *text, size_t bytes)
{
    struct store_manifest manifest, again;
    struct manifest_files files, files_again;
    struct pcere_error error = {0};
    enum pcere_status status = manifest_decode(text, bytes, &manifest, &files, &error);
    if (status) {
        FUZZ_EXPECT((status == PCERE_DATA || status == PCERE_SYSTEM) && *error.message);
        return;
    }
    char *written;
    size_t written_bytes;
    FUZZ_EXPECT(manifest_encode(&manifest, &files, &written, &written_bytes, &error) == PCERE_OK);
    FUZZ_EXPECT(manifest_decode(written, written_bytes, &again, &files_again, &error) == PCERE_OK);
    FUZZ_EXPECT(again.region_count == manifest.region_count && again.not_entered_count == manifest.not_entered_count && strcmp(again.program, manifest.program) == 0);
    free(written);
    store_manifest_done(&manifest);
    store_manifest_done(&again);
    manifest_files_done(&files);
    manifest_files_done(&files_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_one((const char *)data, size);
    const char *body = (const char *)data, *old = memmem(data, size, ",\n  \"check\"", 11);
    struct text text = {0};
    text_add_bytes(&text, body, old ? (size_t)(old - body) : size);
    check_add(&text, ",\n  ", "\n}\n");
    if (!text.failed)
        check_one(text.data, text.length);
    text_done(&text);
    return 0;
}
