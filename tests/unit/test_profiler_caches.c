/* tests/unit/test_profiler_caches.c - the model of caches against cases worked by hand, and against stack distances over whole histories. */
#include "profiler/target/cache_model.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

struct fixture { struct cache_model model; uint64_t *storage, counts[CACHE_COUNTS]; struct trace_cache caches[2]; };

static void fixture_make(struct fixture *fixture, struct trace_cache first, struct trace_cache second)
{
    *fixture = (struct fixture){.caches = {first, second}};
    CU_ASSERT_TRUE_FATAL(trace_caches_sound(fixture->caches));
    fixture->storage = calloc(1, cache_model_bytes(fixture->caches));
    CU_ASSERT_PTR_NOT_NULL_FATAL(fixture->storage);
    cache_model_init(&fixture->model, fixture->caches, fixture->storage);
}

static void fixture_access(struct fixture *fixture, uint64_t address, uint64_t bytes, uint32_t what)
{
    cache_model_access(&fixture->model, address, bytes, what, fixture->counts);
}

static void expect(const struct fixture *fixture, uint64_t loads, uint64_t stores, uint64_t l1_loads, uint64_t l1_stores, uint64_t l2_loads, uint64_t l2_stores)
{
    const uint64_t wanted[CACHE_COUNTS] = {loads, stores, l1_loads, l1_stores, l2_loads, l2_stores};
    for (int i = 0; i < CACHE_COUNTS; i++)
        CU_ASSERT_EQUAL(fixture->counts[i], wanted[i]);
}

/* One set of two lines before one set of four: which line leaves can be followed on paper. */
static void least_recently_used(void)
{
    struct fixture f;
    fixture_make(&f, (struct trace_cache){128, 2, 64}, (struct trace_cache){256, 4, 64});
    for (uint64_t line = 0; line < 3; line++)           /* A B C: all new; A has left the first level */
        fixture_access(&f, line * 64, 8, PCERE_ACCESS_LOADS);
    expect(&f, 3, 0, 3, 0, 3, 0);
    fixture_access(&f, 64, 8, PCERE_ACCESS_LOADS);      /* B is there, and used last */
    expect(&f, 4, 0, 3, 0, 3, 0);
    fixture_access(&f, 0, 8, PCERE_ACCESS_STORES);      /* A is in the second level; C leaves the first, not B */
    expect(&f, 4, 1, 3, 1, 3, 0);
    fixture_access(&f, 64, 8, PCERE_ACCESS_LOADS);
    expect(&f, 5, 1, 3, 1, 3, 0);
    fixture_access(&f, 3 * 64, 8, PCERE_ACCESS_STORES); /* D and E are new everywhere: of A B C, the second level used B least recently (its hits were above) */
    fixture_access(&f, 4 * 64, 8, PCERE_ACCESS_STORES);
    expect(&f, 5, 3, 3, 3, 3, 2);
    fixture_access(&f, 2 * 64, 8, PCERE_ACCESS_LOADS);  /* C is still in the second level */
    expect(&f, 6, 3, 4, 3, 3, 2);
    fixture_access(&f, 64, 8, PCERE_ACCESS_LOADS);      /* B is in neither */
    expect(&f, 7, 3, 5, 3, 4, 2);
    free(f.storage);
}

static void what_an_access_touches(void)
{
    struct fixture f;
    fixture_make(&f, (struct trace_cache){4096, 4, 64}, (struct trace_cache){8192, 4, 64});
    fixture_access(&f, 60, 8, PCERE_ACCESS_LOADS);                              /* across the end of a line: one load, two lines */
    expect(&f, 1, 0, 2, 0, 2, 0);
    fixture_access(&f, 0, 128, PCERE_ACCESS_STORES);                            /* both are there */
    expect(&f, 1, 1, 2, 0, 2, 0);
    fixture_access(&f, 128, 8, PCERE_ACCESS_LOADS | PCERE_ACCESS_STORES);       /* an update: read first, so that the store hits */
    expect(&f, 2, 2, 3, 0, 3, 0);
    fixture_access(&f, 1 << 20, 0, PCERE_ACCESS_LOADS);                         /* a block of no bytes */
    expect(&f, 3, 2, 3, 0, 3, 0);
    fixture_access(&f, 256, 4, PCERE_ACCESS_LOADS | PCERE_ACCESS_GOES_ON);      /* one more element of a gather */
    expect(&f, 3, 2, 4, 0, 4, 0);
    fixture_access(&f, 1024, 1024, PCERE_ACCESS_STORES);                        /* a block that is filled */
    expect(&f, 3, 3, 4, 16, 4, 16);
    fixture_access(&f, UINT64_MAX - 7, 4096, PCERE_ACCESS_LOADS);               /* ends with the last address */
    expect(&f, 4, 3, 5, 16, 5, 16);
    free(f.storage);
}

/* A sweep over more than a level holds misses each time; one over less, once. */
static void sweeps(void)
{
    struct fixture f;
    fixture_make(&f, (struct trace_cache){32768, 8, 64}, (struct trace_cache){262144, 16, 64});
    for (int round = 0; round < 4; round++)
        for (uint64_t at = 0; at < 65536; at += 8)
            fixture_access(&f, 4096 + at, 8, PCERE_ACCESS_LOADS);
    expect(&f, 4 * 8192, 0, 4 * 1024, 0, 1024, 0);
    free(f.storage);
}

/* ---- against histories ------------------------------------------------------------------------------------------------------------ */

enum { HISTORY = 20000 };
struct history { uint64_t lines[HISTORY]; size_t count; };

/* A line is there if, since it was used last, fewer than `ways` other lines of its set were. */
static bool is_there(const struct history *history, uint64_t line, const struct trace_cache *cache)
{
    uint64_t sets = cache->bytes / cache->ways / cache->line_bytes, others[64];
    size_t count = 0;
    for (size_t i = history->count; i-- > 0;) {
        uint64_t other = history->lines[i];
        if (other == line)
            return true;
        if (other % sets != line % sets)
            continue;
        size_t known = 0;
        while (known < count && others[known] != other)
            known++;
        if (known == count)
            others[count++] = other;
        if (count == cache->ways)
            return false;
    }
    return false;
}

static void random_histories(void)
{
    static const struct trace_cache shapes[][2] = {
        {{64, 1, 64}, {64, 1, 64}}, {{256, 1, 64}, {512, 2, 64}}, {{512, 8, 64}, {2048, 4, 64}}, {{768, 3, 32}, {1280, 5, 32}}, {{2048, 2, 128}, {1024, 8, 128}},
        {{3072, 12, 64}, {4096, 1, 64}},
    };
    static struct history first, second;
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
        struct fixture f;
        uint64_t wanted[CACHE_COUNTS] = {0};
        fixture_make(&f, shapes[shape][0], shapes[shape][1]);
        first.count = second.count = 0;
        while (first.count < HISTORY / 2) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            uint64_t address = state >> 33 & (state & 1 ? 0x3ff : 0x1fff), bytes = 1 + (state >> 50 & 0xf);
            bool store = state >> 60 & 1;
            uint32_t line_bytes = f.caches[0].line_bytes;
            fixture_access(&f, address, bytes, store ? PCERE_ACCESS_STORES : PCERE_ACCESS_LOADS);
            wanted[CACHE_LOADS + store]++;
            for (uint64_t line = address / line_bytes; line <= (address + bytes - 1) / line_bytes; line++) {
                bool hit = is_there(&first, line, &f.caches[0]);
                first.lines[first.count++] = line;
                if (hit)
                    continue;
                wanted[CACHE_L1_LOAD_MISSES + store]++;
                wanted[CACHE_L2_LOAD_MISSES + store] += !is_there(&second, line, &f.caches[1]);
                second.lines[second.count++] = line;
            }
        }
        for (int i = 0; i < CACHE_COUNTS; i++)
            CU_ASSERT_EQUAL(f.counts[i], wanted[i]);
        CU_ASSERT_TRUE(wanted[CACHE_L2_LOAD_MISSES] > 0 && wanted[CACHE_L1_LOAD_MISSES] >= wanted[CACHE_L2_LOAD_MISSES]);
        free(f.storage);
    }
}

static void unsound_caches(void)
{
    static const struct trace_cache good = {32768, 8, 64}, bad[] = {{0, 8, 64}, {32768, 0, 64}, {32768, 8, 0}, {32768, 8, 48}, {32768, 7, 64}, {32768 * 3, 8, 64},
                                                                    {64, 8, 64}, {32768, 8, 8192}, {1ull << 40, 8, 64}, {64, 1, 4}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CU_ASSERT_FALSE(trace_caches_sound((const struct trace_cache[2]){good, bad[i]}));
        CU_ASSERT_FALSE(trace_caches_sound((const struct trace_cache[2]){bad[i], good}));
    }
    CU_ASSERT_FALSE(trace_caches_sound((const struct trace_cache[2]){good, {32768, 8, 32}}));
    CU_ASSERT_TRUE(trace_caches_sound((const struct trace_cache[2]){{49152, 12, 64}, {2097152, 16, 64}}));
}

static const struct unit_test tests[] = {
    {"the line that was used least recently leaves, on each level for itself", least_recently_used},
    {"an access touches the lines that its bytes lie in", what_an_access_touches},
    {"sweeps miss each time where they are longer than a level", sweeps},
    {"random accesses miss as their distances say", random_histories},
    {"caches that cannot be are told", unsound_caches},
};

UNIT_MAIN("profiler caches", tests)
