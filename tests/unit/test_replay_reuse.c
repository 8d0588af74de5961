/* tests/unit/test_replay_reuse.c - what a counting codelet says of uses of its memory, against lists that are searched from their beginning. */
#include "replay-rt/target/reuse.c"
#include "unit.h"

enum { LINES = 400, USES = 150000 };

struct plain {                        /* lines in the order of their last use, the latest first */
    uint64_t order[LINES];
    uint32_t count;
    bool dirty[LINES][CHARACTER_OCTAVES];
    struct character_record record;
};

static uint64_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* A bin begins at 2^k (1 + q / 4) - 1 lines. */
static uint32_t bin_expected(uint64_t distance)
{
    uint32_t bin = 0;
    for (uint32_t k = 0; k < 40; k++)
        for (uint32_t q = 0; q < 4; q++)
            if ((double)distance >= (double)(UINT64_C(1) << k) * (1 + q / 4.0) - 1)
                bin = 4 * k + q;
    return bin;
}

static void plain_use(struct plain *plain, uint64_t line, bool store, enum character_kind kind)
{
    uint32_t at = 0, ways = 0;
    for (; at < plain->count && plain->order[at] != line; at++)
        ways += plain->order[at] % CHARACTER_PLACES == line % CHARACTER_PLACES;
    if (at == plain->count) {
        plain->record.cold[store][kind]++;
        plain->count++;
    } else {
        uint64_t least = CHARACTER_WAYS * CHARACTER_PLACES, distance = ways < CHARACTER_WAYS ? ways * CHARACTER_PLACES : at < least ? least : at;
        plain->record.uses[store][kind][bin_expected(distance)]++;
        for (uint32_t k = 0; k < CHARACTER_OCTAVES && UINT64_C(1) << k <= distance; k++) {
            plain->record.writebacks[k] += plain->dirty[line][k];
            plain->dirty[line][k] = false;
        }
    }
    memmove(plain->order + 1, plain->order, at * sizeof *plain->order);
    plain->order[0] = line;
    for (uint32_t k = 0; k < CHARACTER_OCTAVES && store; k++)
        plain->dirty[line][k] = true;
}

static void any_order_is_followed(void)
{
    static struct plain plain;
    static struct character_record record;
    struct reuse *reuse = pcere_reuse_new(0, true);
    uint64_t state = 7;
    CU_ASSERT_FATAL(reuse != NULL);
    for (uint32_t i = 0; i < USES; i++) {     /* more than there are times before these are renumbered; half of it near, half of one place */
        uint64_t line = random_next(&state) % (i % 3 ? 40 : LINES);
        line = i / 4096 % 2 ? line / 8 * 8 % LINES : line;
        bool store = random_next(&state) % 3 == 0;
        enum character_kind kind = (enum character_kind)(random_next(&state) % CHARACTER_KINDS);
        plain_use(&plain, line, store, kind);
        pcere_reuse_touch(reuse, line, pcere_reuse_place(reuse, line), store, kind, &record);
    }
    pcere_reuse_sum(&record);
    CU_ASSERT(memcmp(record.uses, plain.record.uses, sizeof record.uses) == 0);
    CU_ASSERT(memcmp(record.cold, plain.record.cold, sizeof record.cold) == 0);
    CU_ASSERT(memcmp(record.writebacks, plain.record.writebacks, sizeof record.writebacks) == 0);
    CU_ASSERT(record.writebacks[0] > 0);
}

/* More lines than there is room for at first, round and round: each comes again after all the others. */
static void rooms_grow(void)
{
    enum { MANY = 3 * LINES_FIRST, ROUNDS = 4 };
    static struct character_record record;
    struct reuse *reuse = pcere_reuse_new(0, true);
    CU_ASSERT_FATAL(reuse != NULL);
    for (uint64_t i = 0; i < (uint64_t)MANY * ROUNDS; i++)
        pcere_reuse_touch(reuse, 5000000 + i % MANY, pcere_reuse_place(reuse, 5000000 + i % MANY), true, CHARACTER_REGULAR, &record);
    pcere_reuse_sum(&record);
    CU_ASSERT_EQUAL(record.cold[1][CHARACTER_REGULAR], MANY);
    CU_ASSERT_EQUAL(record.uses[1][CHARACTER_REGULAR][bin_expected(MANY - 1)], (ROUNDS - 1) * MANY);
    CU_ASSERT_EQUAL(record.writebacks[0], (ROUNDS - 1) * MANY);
    CU_ASSERT_EQUAL(record.writebacks[15], (ROUNDS - 1) * MANY);
    CU_ASSERT_EQUAL(record.writebacks[16], 0);
}

static void use_once(struct reuse *reuse, bool store, struct character_record *record)
{
    pcere_reuse_touch(reuse, 77, pcere_reuse_place(reuse, 77), store, CHARACTER_REGULAR, record);
}

static uint64_t foreign_count(const struct character_record *record)
{
    uint64_t count = 0;
    for (uint32_t bin = 0; bin < CHARACTER_BINS; bin++)
        count += record->foreign[0][bin] + record->foreign[1][bin];
    return count;
}

static void lines_of_others_are_told(void)
{
    static struct character_record one, other;
    struct reuse *first = pcere_reuse_new(0, false), *second = pcere_reuse_new(0, false);
    CU_ASSERT_FATAL(first && second);
    use_once(first, true, &one);
    use_once(second, false, &other);          /* new to it */
    use_once(first, false, &one);             /* its own */
    CU_ASSERT_EQUAL(foreign_count(&one) + foreign_count(&other), 0);
    use_once(second, true, &other);
    use_once(first, false, &one);
    CU_ASSERT_EQUAL(foreign_count(&one), 1);
    use_once(first, true, &one);              /* it was told once */
    use_once(second, true, &other);
    use_once(second, true, &other);
    CU_ASSERT_EQUAL(foreign_count(&one), 1);
    CU_ASSERT_EQUAL(foreign_count(&other), 1);
}

static const struct unit_test tests[] = {
    {"uses in any order have the distances, and lines the write-backs, of lists that are searched", any_order_is_followed},
    {"more lines than there is room for at first keep their distances", rooms_grow},
    {"a line that another thread wrote is told once, and to no one who wrote it", lines_of_others_are_told},
};

UNIT_MAIN("replay.reuse", tests)
