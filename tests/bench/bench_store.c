/* tests/bench/bench_store.c - how fast the store takes pages and gives them back. Run by scripts/bench-store.
 *
 *   bench_store DIRECTORY MIB
 *
 * Pages are of the kind that real dumps hold: half of them compress about 3:1, half hardly. Every rate is bytes of pages over wall time,
 * the best of three; one caller unless said otherwise.
 */
#include "core/files.h"
#include "core/units.h"
#include "store/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE_BYTES ((size_t)4096)
#define BATCH_PAGES ((size_t)64)
#define ROUNDS 3

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void must(enum pcere_status status, const struct pcere_error *error)
{
    if (!status)
        return;
    fprintf(stderr, "bench_store: %s\n", error->message);
    exit((int)status);
}

static unsigned char *make_pages(size_t count, unsigned round)
{
    unsigned char *data = mmap(NULL, count * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        abort();
    madvise(data, count * PAGE_BYTES, MADV_HUGEPAGE);
    uint64_t state = 0x9e3779b97f4a7c15ull * (round + 1);
    for (size_t i = 0; i < count; i++)
        for (size_t at = 0; at < PAGE_BYTES; at += 8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            uint64_t word = i % 2 || at % 32 == 0 ? state : i;
            memcpy(data + i * PAGE_BYTES + at, &word, sizeof word);
        }
    return data;
}

/* Batches as a tracer reads them; */
static double add_all(struct store_writer *writer, const unsigned char *data, size_t count, uint64_t *pages)
{
    struct pcere_error error;
    double start = now_s();
    for (size_t at = 0; at < count; at += BATCH_PAGES)
        must(store_writer_pages(writer, data + at * PAGE_BYTES, count - at < BATCH_PAGES ? count - at : BATCH_PAGES, pages + at, &error),
             &error);
    return now_s() - start;
}

static void keep_best(double *best, double seconds)
{
    if (!*best || seconds < *best)
        *best = seconds;
}

static void print_rate(const char *what, size_t count, double seconds)
{
    printf("%-46s %6.2f GB/s\n", what, (double)(count * PAGE_BYTES) / seconds * 1e-9);
}

int main(int argc, char **argv)
{
    struct pcere_error error = {0};
    uint64_t mib = 512;
    if (argc != 3 || units_parse_count("MIB", argv[2], 1, 65536, &mib, &error)) {
        fprintf(stderr, "usage: bench_store DIRECTORY MIB\n%s\n", error.message);
        return 2;
    }
    size_t count = (size_t)(mib << 20) / PAGE_BYTES;
    char path[4096];
    snprintf(path, sizeof path, "%s/bench.pcere", argv[1]);
    double fresh = 0, known = 0, zero = 0, drained = 0, read_all = 0, check = 0, sync = 0;
    uint64_t stored = 0, *pages = calloc(count, sizeof *pages);
    unsigned char *zeros = make_pages(count, 0), *out = make_pages(count, 0);
    memset(zeros, 0, count * PAGE_BYTES);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct store_writer *writer;
        struct store *store;
        unsigned char *data = make_pages(count, round);
        char *name;
        must(store_writer_open(path, true, PAGE_BYTES, 2, &writer, &error), &error);
        must(store_writer_reserve(writer, count * PAGE_BYTES, NULL, &error), &error);
        double start = now_s();
        keep_best(&fresh, add_all(writer, data, count, pages));
        struct store_codelet codelet = {.region = (char[]){"bench"}, .invocation = round};
        must(store_writer_codelet(writer, &codelet, &name, &stored, &error), &error);
        keep_best(&drained, now_s() - start);
        free(name);
        keep_best(&known, add_all(writer, data, count, pages));
        keep_best(&zero, add_all(writer, zeros, count, pages));
        struct store_manifest manifest = {.complete = true};
        start = now_s();
        must(store_writer_manifest(writer, &manifest, &error), &error);
        keep_best(&sync, now_s() - start);
        store_writer_close(writer);
        must(store_open(path, &store, &error), &error);
        start = now_s();
        must(store_pages_read(store, 0, count, out, &error), &error);
        keep_best(&read_all, now_s() - start);
        if (memcmp(out, data, count * PAGE_BYTES) != 0) {
            fprintf(stderr, "bench_store: pages came back changed\n");
            return 1;
        }
        start = now_s();
        must(store_check(store, &error), &error);
        keep_best(&check, now_s() - start);
        store_close(store);
        munmap(data, count * PAGE_BYTES);
    }
    must(tree_remove(AT_FDCWD, path, &error), &error);
    char text[UNITS_TEXT_BYTES];
    printf("%llu MiB of pages, stored in %s\n", (unsigned long long)mib, units_format_bytes(stored, text));
    print_rate("writer, all new (caller's time)", count, fresh);
    print_rate("writer, all known", count, known);
    print_rate("writer, all zero", count, zero);
    print_rate("writer, all new, until written (2 workers)", count, drained);
    printf("%-46s %6.3f s\n", "last manifest: all synced to the disk", sync);
    print_rate("reader (all threads)", count, read_all);
    print_rate("check (all threads)", count, check);
    free(pages);
    return 0;
}
