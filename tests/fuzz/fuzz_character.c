/* tests/fuzz/fuzz_character.c - what a codelet does, as JSON whose last key is a right checksum; what is read is written and read again. */
#include "store/character.h"
#include "store/directory.h"
#include "tests/fuzz/fuzz_store.h"

static void load(struct store *store)
{
    struct store_character character, again;
    struct pcere_error error = {0};
    enum pcere_status status = store_character_load(store, "x", 2, &character, &error);
    FUZZ_EXPECT(status == PCERE_OK || ((status == PCERE_DATA || status == PCERE_SYSTEM) && *error.message));
    if (status != PCERE_OK)
        return;
    FUZZ_EXPECT(character.threads == 2);
    FUZZ_EXPECT(store_character_write(store, "x", &character, &error) == PCERE_OK);
    FUZZ_EXPECT(store_character_load(store, "x", 2, &again, &error) == PCERE_OK);
    FUZZ_EXPECT(again.team == character.team && again.code_count == character.code_count && again.call_count == character.call_count);
    store_character_done(&again);
    store_character_done(&character);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store *store = fuzz_store();
    const char *body = (const char *)data, *old = memmem(data, size, ",\"check\"", 8);
    struct text file = {0};
    char path[120];
    text_add_bytes(&file, body, old ? (size_t)(old - body) : size);
    check_add(&file, ",", "}\n");
    if (file.failed)
        abort();
    snprintf(path, sizeof path, "%s/x.pcere/codelets/x.2.character", fuzz_folder_get());
    fuzz_write(path, file.data, file.length);
    text_done(&file);
    load(store);
    return 0;
}
