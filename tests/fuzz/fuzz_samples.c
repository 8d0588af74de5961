/* tests/fuzz/fuzz_samples.c - samples.jsonl whose lines end in right checksums; what is read is appended and read again. */
#include "store/directory.h"
#include "tests/fuzz/fuzz_store.h"

static void load(struct store *store)
{
    struct store_sample *samples;
    size_t count;
    struct pcere_error error = {0};
    enum pcere_status status = store_samples_load(store, &samples, &count, &error);
    FUZZ_EXPECT(!status || (status == PCERE_DATA && *error.message));
    if (status)
        return;
    for (size_t i = 0; i < count && i < 2; i++)
        FUZZ_EXPECT(store_sample_append(store, &samples[i], &error) == PCERE_OK);
    size_t before = count;
    store_samples_free(samples, count);
    if (!before)
        return;
    FUZZ_EXPECT(store_samples_load(store, &samples, &count, &error) == PCERE_OK);
    FUZZ_EXPECT(count == before + (before < 2 ? before : 2));
    store_samples_free(samples, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store *store = fuzz_store();
    struct text file = {0};
    char path[120];
    snprintf(path, sizeof path, "%s/x.pcere/samples.jsonl", fuzz_folder_get());
    const char *at = (const char *)data, *end = at + size;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        const char *check = memmem(at, (size_t)(stop - at), ",\"check\"", 8);
        struct text line = {0};
        text_add_bytes(&line, at, (size_t)((newline && check ? check : stop) - at));
        if (newline && check)
            check_add(&line, ",", "}\n");
        else if (newline)
            text_add(&line, "\n");
        if (line.data)
            text_add_bytes(&file, line.data, line.length);
        text_done(&line);
        at = newline ? newline + 1 : end;
    }
    fuzz_write(path, file.data ? file.data : "", file.length);
    text_done(&file);
    load(store);
    return 0;
}
