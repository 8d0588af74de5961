/* tests/programs/check_memory.c - does a store hold, byte by byte, the memory that memory.c told of? check_memory STORE LOG
 *
 * A line "INVOCATION pair HERE THERE" (background.c) asks whether the word here equals the word there, or is one ahead.
 * Prints "checked N objects of M invocations" and how many differ. Status 0: none differs, and at least one was checked.
 */
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash(const unsigned char *data, size_t bytes)
{
    uint64_t result = 0xcbf29ce484222325u, word;
    size_t i = 0;
    for (; i + 8 <= bytes; i += 8) {
        memcpy(&word, data + i, 8);
        result = (result ^ word) * 0x100000001b3u;
        result ^= result >> 31;
    }
    for (; i < bytes; i++)
        result = (result ^ data[i]) * 0x100000001b3u;
    return result;
}

static bool overlay(struct store *store, const struct store_run *runs, size_t count, uint64_t page, uint64_t address,
                    unsigned char *data, uint64_t bytes)
{
    unsigned char *content = malloc(page);
    for (size_t i = 0; i < count; i++)
        for (uint64_t j = 0; j < runs[i].count; j++) {
            uint64_t at = runs[i].address + j * page;
            if (at + page <= address || at >= address + bytes)
                continue;
            struct pcere_error error;
            if (runs[i].page == STORE_PAGE_ZERO)
                memset(content, 0, page);
            else if (store_pages_read(store, runs[i].page + j, 1, content, &error) != PCERE_OK) {
                printf("%s\n", error.message);
                free(content);
                return false;
            }
            uint64_t low = at > address ? at : address, high = at + page < address + bytes ? at + page : address + bytes;
            memcpy(data + (low - address), content + (low - at), high - low);
        }
    free(content);
    return true;
}

static uint64_t word_at(struct store *store, const struct store_codelet *codelet, uint64_t page, uint64_t address)
{
    uint64_t word = 0;
    if (!overlay(store, codelet->before, codelet->before_count, page, address, (unsigned char *)&word, sizeof word))
        exit(1);
    return word;
}

int main(int argc, char **argv)
{
    struct store *store;
    struct pcere_error error;
    if (argc != 3 || store_open(argv[1], &store, &error) != PCERE_OK) {
        printf("cannot open the store: %s\n", error.message);
        return 2;
    }
    const struct store_manifest *manifest = store_manifest(store);
    FILE *log = fopen(argv[2], "r");
    if (!log)
        return 2;
    char line[512], when[16], name[64];
    uint64_t invocation, address, bytes, expected, loaded = 0, objects = 0, invocations = 0, different = 0;
    struct store_codelet codelet = {0};
    bool have = false;
    while (fgets(line, sizeof line, log)) {
        uint64_t there = 0;
        bool pair = sscanf(line, "%" SCNu64 " pair %" SCNx64 " %" SCNx64, &invocation, &address, &there) == 3;
        if (!pair && sscanf(line, "%" SCNu64 " %15s %63[^0] %" SCNx64 " %" SCNu64 " %" SCNx64, &invocation, when, name, &address, &bytes, &expected) != 6)
            return 2;
        if (invocation != loaded) {
            store_codelet_done(&codelet);
            codelet = (struct store_codelet){0};
            loaded = invocation;
            have = false;
            for (size_t i = 0; i < manifest->region_count; i++)
                for (size_t j = 0; j < manifest->regions[i].class_count; j++) {
                    const struct store_class *class = &manifest->regions[i].classes[j];
                    if (class->codelet && class->representative == invocation)
                        have = store_codelet_load(store, class->codelet, &codelet, &error) == PCERE_OK;
                }
            invocations += have;
        }
        if (have && pair) {
            uint64_t ahead = word_at(store, &codelet, manifest->page_size, address) -
                             word_at(store, &codelet, manifest->page_size, there);
            objects++;
            different += ahead > 1;
            if (ahead > 1)
                printf("invocation %" PRIu64 ": here is %" PRId64 " ahead\n", invocation, (int64_t)ahead);
        }
        if (!have || pair || (strcmp(when, "end") == 0 && !codelet.has_after))
            continue;
        unsigned char *data = calloc(1, bytes);
        if (!overlay(store, codelet.before, codelet.before_count, manifest->page_size, address, data, bytes))
            return 1;
        if (strcmp(when, "end") == 0 &&
            !overlay(store, codelet.after, codelet.after_count, manifest->page_size, address, data, bytes))
            return 1;
        objects++;
        if (hash(data, bytes) != expected) {
            different++;
            printf("invocation %" PRIu64 " %s: '%s' at %" PRIx64 " differs\n", invocation, when, name, address);
        }
        free(data);
    }
    store_codelet_done(&codelet);
    fclose(log);
    store_close(store);
    printf("checked %" PRIu64 " objects of %" PRIu64 " invocations, %" PRIu64 " differ\n", objects, invocations, different);
    return different || !objects;
}
