/* tests/fuzz/fuzz_profile.c - profiles whose length and checksum are right; what is read is whole, in order where it says so, and the same when it is written and read again. */
#include "analysis/profile.h"
#include "analysis/profile_format.h"
#include "core/json.h"
#include "tests/fuzz/fuzz.h"

#include <xxhash.h>

static void same(const struct profile *a, const struct profile *b)
{
    char left[33], right[33];
    FUZZ_EXPECT(a->count == b->count && a->event_count == b->event_count && a->run_count == b->run_count && a->construct_count == b->construct_count);
    for (size_t i = 0; i < a->count; i++) {
        FUZZ_EXPECT(strcmp(profile_label_text(a, i, left), profile_label_text(b, i, right)) == 0);
        FUZZ_EXPECT(a->start_ns[i] == b->start_ns[i] && a->kinds[i] == b->kinds[i] && a->cpu[i] == b->cpu[i]);
        for (size_t event = 0; event < a->event_count; event++)
            FUZZ_EXPECT(a->counts[event][i] == b->counts[event][i]);
    }
}

static void use(struct profile *profile)
{
    struct pcere_error error = {0};
    struct profile *again;
    void *data;
    size_t bytes;
    FUZZ_EXPECT(profile_encode(profile, &data, &bytes, &error) == PCERE_OK);
    FUZZ_EXPECT(profile_decode(data, bytes, "again", &again, &error) == PCERE_OK);
    same(profile, again);
    free(data);
    FUZZ_EXPECT(profile_sort(again, &error) == PCERE_OK && profile_check(again, "sorted", &error) == PCERE_OK);
    for (size_t i = 1; i < again->count; i++)
        FUZZ_EXPECT(profile_row_compare(again, i - 1, i) <= 0);
    profile_free(again);
    profile_free(profile);
}

static void judge(enum pcere_status status, const struct pcere_error *error, struct profile *profile)
{
    FUZZ_EXPECT(status == PCERE_OK || ((status == PCERE_DATA || status == PCERE_SYSTEM) && *error->message));
    if (status == PCERE_OK)
        use(profile);
}

static void document_read(const char *text, size_t size)
{
    struct pcere_error error = {0};
    struct profile *profile = NULL;
    json_t *document;
    enum pcere_status status = json_parse(text, size, "fuzz", &document, &error);
    FUZZ_EXPECT(status == PCERE_OK || *error.message);
    if (status != PCERE_OK)
        return;
    status = profile_json_read(document, "fuzz", &profile, &error);
    json_decref(document);
    judge(status, &error, profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pcere_error error = {0};
    struct profile *profile = NULL;
    if (size && data[0] == '{') {
        document_read((const char *)data, size);
        return 0;
    }
    judge(profile_decode(data, size, "fuzz", &profile, &error), &error, profile);
    struct profile_header header;
    if (size < sizeof header + sizeof(uint64_t))
        return 0;
    char *right = malloc(size);
    if (!right)
        abort();
    memcpy(right, data, size);
    memcpy(&header, right, sizeof header);
    header.file_bytes = size;
    memcpy(right, &header, sizeof header);
    uint64_t check = XXH64(right, size - sizeof check, 0);
    memcpy(right + size - sizeof check, &check, sizeof check);
    profile = NULL;
    judge(profile_decode(right, size, "fuzz", &profile, &error), &error, profile);
    free(right);
    return 0;
}
