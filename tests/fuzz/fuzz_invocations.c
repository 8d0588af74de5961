/* tests/fuzz/fuzz_invocations.c - invocations.json that ends in a right checksum; what is read is written and read again. */
#include "store/directory.h"
#include "tests/fuzz/fuzz_store.h"

static bool same_numbers(const uint64_t *a, const uint64_t *b, size_t count)
{
    return memcmp(a, b, count * sizeof *a) == 0;
}

static void load(struct store *store)
{
    struct store_series *series, *again;
    size_t count, count_again;
    struct pcere_error error = {0};
    enum pcere_status status = store_invocations_load(store, &series, &count, &error);
    FUZZ_EXPECT(!status || (status == PCERE_DATA && *error.message));
    if (status)
        return;
    FUZZ_EXPECT(store_invocations_write(store, series, count, &error) == PCERE_OK);
    FUZZ_EXPECT(store_invocations_load(store, &again, &count_again, &error) == PCERE_OK);
    FUZZ_EXPECT(count == count_again);
    for (size_t i = 0; i < count; i++) {
        FUZZ_EXPECT(strcmp(series[i].region, again[i].region) == 0 && series[i].count == again[i].count);
        FUZZ_EXPECT(same_numbers(series[i].time_ns, again[i].time_ns, series[i].count));
        FUZZ_EXPECT(same_numbers(series[i].representative, again[i].representative, series[i].count));
    }
    store_series_free(series, count);
    store_series_free(again, count_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store *store = fuzz_store();
    struct text file = {0};
    char path[120];
    snprintf(path, sizeof path, "%s/x.pcere/invocations.json", fuzz_folder_get());
    const char *text = (const char *)data, *check = memmem(text, size, ",\"check\"", 8);
    text_add_bytes(&file, text, check ? (size_t)(check - text) : size);
    if (check)
        check_add(&file, ",", "}\n");
    fuzz_write(path, file.data ? file.data : "", file.length);
    text_done(&file);
    load(store);
    return 0;
}
