/* tests/fuzz/fuzz_store.h - an empty store in the temporary directory: x.pcere, for fuzzers of its single files.
 */
#ifndef PCERE_TESTS_FUZZ_STORE_H
#define PCERE_TESTS_FUZZ_STORE_H

#include "store/store.h"
#include "tests/fuzz/fuzz.h"

static inline struct store *fuzz_store(void)
{
    static struct store *store;
    char path[100];
    if (store)
        return store;
    struct store_writer *writer;
    struct store_manifest manifest = {.complete = true};
    snprintf(path, sizeof path, "%s/x.pcere", fuzz_folder_get());
    FUZZ_EXPECT(store_writer_open(path, false, 4096, 1, &writer, NULL) == PCERE_OK);
    FUZZ_EXPECT(store_writer_manifest(writer, &manifest, NULL) == PCERE_OK);
    store_writer_close(writer);
    FUZZ_EXPECT(store_open(path, &store, NULL) == PCERE_OK);
    return store;
}

#endif
