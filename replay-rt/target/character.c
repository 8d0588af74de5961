/* replay-rt/target/character.c - where a counting codelet's counts are, thread by thread, and a predictor of its branches.
 *
 * Linked into a codelet only where its code counts: nothing else refers to what is called from that code.
 */
#include "replay-rt/target/character.h"

#include "include/pcere/character_abi.h"
#include "replay-rt/target/codelet.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HASH_FACTOR 0x9e3779b97f4a7c15ull
#define NEAR_LINES 32               /* steps up to 2 KiB are seen by prefetchers */
#define EARLY_LINES 128             /* after a jump, in which prefetchers catch up: most of the way in some 80, where it was measured */
enum { PAGES_RECENT = 8 };          /* fewer than any processor knows the addresses of */
enum { CHOICES = 1 << 8 };           /* of a block's selects that they are foretold by */
enum { HISTORY_BITS = 16, LOOP_BITS = 12, TRIPS_MOST = 256, TABLES = 3, TABLE_BITS = 13 };

/* A branch that goes one way so many times, then the other way once, and again: processors learn how often. */
struct counted_loop { uint16_t run, trips; uint8_t way, sure; };

/* What came after a longer history, kept with part of a hash of it (Seznec and Michaud 2006, TAGE): how sure that it is taken, at least 0, or not; has it been of use? */
struct counted_tagged { uint16_t tag; int8_t way; uint8_t useful; };
static const uint32_t table_branches[TABLES] = {32, 64, 128};

struct counted_thread {
    uint64_t clock;                  /* the code's own (character_abi.h) */
    uint64_t jumped[2];              /* on it, by the last jump that nothing could foresee: [read, written] */
    struct counted_thread *next;
    struct character_record counts;
    struct reuse *reuse, *page_reuse;
    uint64_t line;                   /* used last */
    uint32_t recent[PAGES_RECENT];   /* pages, the lowest 32 bits: no look-up of an address leaves the core for them; in a ring */
    uint32_t recent_at;
    uint64_t *words[CHARACTER_UNITS_MOST];  /* by the unit's slot - 1; NULL: not yet used */
    uint64_t history[2];                    /* of the last 128 branches; the latest one in the lowest bit of the first */
    uint8_t taken[1 << HISTORY_BITS];       /* 0, 1: not; 2, 3: taken */
    struct counted_tagged tables[TABLES][1 << TABLE_BITS];
    struct counted_loop loops[1 << LOOP_BITS];
    uint8_t chosen[1 << HISTORY_BITS];      /* of selects, likewise */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct counted_thread *threads;
static struct character_unit *units[CHARACTER_UNITS_MOST];
static uint64_t unit_count;
static uint32_t follow_shift, team_threads;
static _Thread_local struct counted_thread *own;

static void *pages_new(uint64_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        _exit(3);                    /* inside the user's code nobody can be told; the launcher sees that nothing came */
    return pages;
}

static uint64_t words_bytes(const struct character_unit *unit)
{
    return (1 + (1 + CHARACTER_SELECT_WORDS) * unit->blocks + CHARACTER_SITE_WORDS * unit->sites) * sizeof(uint64_t);
}

static __attribute__((noinline)) uint64_t *words_new(struct character_unit *unit)
{
    pthread_mutex_lock(&lock);
    if (!own) {
        own = pages_new(sizeof *own);
        own->reuse = pcere_reuse_new(follow_shift, team_threads == 1);
        own->page_reuse = pcere_reuse_new(0, true);
        own->next = threads;
        threads = own;
        if (!own->reuse || !own->page_reuse)
            _exit(3);
    }
    if (!unit->slot) {
        if (unit_count == CHARACTER_UNITS_MOST)
            _exit(3);
        units[unit_count] = unit;
        unit->slot = ++unit_count;
    }
    pthread_mutex_unlock(&lock);
    uint64_t *words = pages_new(words_bytes(unit));
    words[0] = (uint64_t)own;
    return own->words[unit->slot - 1] = words;
}

uint64_t *__pcere_character_thread(struct character_unit *unit)
{
    uint64_t *words = own && unit->slot ? own->words[unit->slot - 1] : NULL;
    return words ? words : words_new(unit);
}

static void page_use(struct counted_thread *thread, uint64_t page)
{
    uint32_t same = 0;
    for (uint32_t i = 0; i < PAGES_RECENT; i++)
        same |= thread->recent[i] == (uint32_t)page;
    if (same)
        return;
    thread->recent[thread->recent_at++ % PAGES_RECENT] = (uint32_t)page;
    pcere_reuse_page(thread->page_reuse, page, &thread->counts);
}

/* Whether it is near is known of each line, not only of those that are followed. Returns that. */
static uint32_t line_use(struct counted_thread *thread, uint64_t line, bool store, enum character_kind kind)
{
    thread->line = line;
    thread->counts.moves++;
    page_use(thread, line / (CHARACTER_PAGE_BYTES / CHARACTER_LINE_BYTES));
    uint32_t ways = pcere_reuse_place(thread->reuse, line);
    if (!((line * HASH_FACTOR) >> 40 & ((1u << follow_shift) - 1)))
        pcere_reuse_touch(thread->reuse, line, ways, store, kind, &thread->counts);
    return ways;
}

/* A step as long as the last one is foreseen, however long it is. */
static void jump_use(struct counted_thread *thread, bool store, bool foreseen, uint64_t now)
{
    uint64_t gap = foreseen ? 0 : now - thread->jumped[store];
    if (!foreseen)
        thread->jumped[store] = now;
    thread->counts.jumps[store][pcere_reuse_bin(gap, CHARACTER_GAPS)]++;
}

void __pcere_character_access(uint64_t *words, uint64_t *site, uint64_t address, uint32_t store, uint32_t left)
{
    uint64_t line = address / CHARACTER_LINE_BYTES;
    struct counted_thread *thread = (struct counted_thread *)words[0];
    int64_t step = (int64_t)(line - site[0]);
    bool near = step >= -NEAR_LINES && step <= NEAR_LINES;
    bool again = step == (int64_t)site[1], regular = near && (again || (step >= -2 && step <= 2));
    site[0] = line;
    site[1] = (uint64_t)step;
    site[2] = regular ? site[2] + (uint64_t)(step < 0 ? -step : step) : 0;
    if (thread->line == line && !store)
        return;
    uint32_t ways = line_use(thread, line, store, !regular ? CHARACTER_IRREGULAR : site[2] < EARLY_LINES ? CHARACTER_EARLY : CHARACTER_REGULAR);
    if (!regular && ways == CHARACTER_WAYS)
        jump_use(thread, store, again, thread->clock - left);
}

void __pcere_character_range(uint64_t *words, uint64_t *site, uint64_t address, uint64_t bytes, uint32_t store)
{
    (void)site;
    for (uint64_t line = address / CHARACTER_LINE_BYTES; bytes && line <= (address + bytes - 1) / CHARACTER_LINE_BYTES; line++)
        line_use((struct counted_thread *)words[0], line, store, CHARACTER_REGULAR);
}

static void loop_learn(struct counted_loop *loop, bool taken)
{
    if (taken == loop->way) {
        loop->run = (uint16_t)(loop->run + (loop->run <= TRIPS_MOST));
        return;
    }
    if (!loop->run)
        loop->way = taken;           /* twice the other way: that is the usual one */
    bool again = loop->run && loop->run == loop->trips && loop->run <= TRIPS_MOST;
    loop->sure = (uint8_t)(again ? (loop->sure < 3 ? loop->sure + 1 : 3) : 0);
    loop->trips = loop->run;
    loop->run = 0;
}

static uint64_t history_hash(const struct counted_thread *thread, uint64_t block, uint32_t branches)
{
    uint64_t low = branches < 64 ? thread->history[0] & ((UINT64_C(1) << branches) - 1) : thread->history[0], high = branches > 64 ? thread->history[1] : 0;
    uint64_t mixed = (low ^ (block + 1) * HASH_FACTOR) * HASH_FACTOR;
    return (mixed ^ mixed >> 29 ^ high) * HASH_FACTOR;
}

/* The entries of the tables for a branch, and the one with the longest history that knows it; TABLES: none does. */
static uint32_t tables_find(struct counted_thread *thread, uint64_t block, struct counted_tagged **entries, uint16_t *tags)
{
    uint32_t found = TABLES;
    for (uint32_t i = 0; i < TABLES; i++) {
        uint64_t hash = history_hash(thread, block, table_branches[i]);
        entries[i] = &thread->tables[i][hash >> (64 - TABLE_BITS)];
        tags[i] = (uint16_t)(hash >> 32 | 1);
        if (entries[i]->tag == tags[i])
            found = i;
    }
    return found;
}

static void tables_learn(struct counted_tagged *const *entries, const uint16_t *tags, uint32_t found, bool taken, bool wrong, bool other_wrong)
{
    if (found < TABLES) {
        struct counted_tagged *entry = entries[found];
        entry->way = (int8_t)(taken ? entry->way + (entry->way < 3) : entry->way - (entry->way > -4));
        if (wrong != other_wrong)
            entry->useful = (uint8_t)(wrong ? entry->useful - (entry->useful > 0) : entry->useful + (entry->useful < 3));
    }
    for (uint32_t i = found < TABLES ? found + 1 : 0; wrong && i < TABLES; i++) {
        if (!entries[i]->useful) {
            *entries[i] = (struct counted_tagged){.tag = tags[i], .way = taken ? 0 : -1};
            break;
        }
        entries[i]->useful--;
    }
}

void __pcere_character_branch(uint64_t *words, uint64_t block, uint32_t taken, uint32_t cycles)
{
    struct counted_thread *thread = (struct counted_thread *)words[0];
    struct counted_tagged *entries[TABLES];
    uint16_t tags[TABLES];
    uint32_t at = ((uint32_t)thread->history[0] ^ (uint32_t)(block * HASH_FACTOR >> 48)) & ((1u << HISTORY_BITS) - 1), found = tables_find(thread, block, entries, tags);
    uint8_t state = thread->taken[at];
    struct counted_loop *loop = &thread->loops[block & ((1u << LOOP_BITS) - 1)];
    bool way = taken != 0, plain = state >= 2, known = found < TABLES && (entries[found]->useful || entries[found]->way > 0 || entries[found]->way < -1);
    bool guess = known ? entries[found]->way >= 0 : plain;
    bool wrong = (loop->sure > 1 ? (loop->run < loop->trips) == loop->way : guess) != way;
    thread->counts.branches++;
    thread->counts.mispredicted += wrong;
    thread->counts.resolving_cycles += wrong ? cycles : 0;
    tables_learn(entries, tags, found, way, guess != way, plain != way);
    loop_learn(loop, way);
    thread->taken[at] = way ? (state < 3 ? state + 1 : 3) : (state ? state - 1 : 0);
    thread->history[1] = thread->history[1] << 1 | thread->history[0] >> 63;
    thread->history[0] = thread->history[0] << 1 | way;
}

/* Of what its block's selects chose last: what they are made of only the assembly tells, so that branches know nothing of them. */
void __pcere_character_select(uint64_t *words, uint64_t *select, uint64_t number, uint32_t way, uint32_t cycles)
{
    struct counted_thread *thread = (struct counted_thread *)words[0];
    uint8_t *state = &thread->chosen[((number + 1) * HASH_FACTOR >> (64 - HISTORY_BITS)) ^ (select[2] & (CHOICES - 1))];
    bool wrong = (*state >= 2) != (way != 0);
    select[0] += wrong;
    select[1] += wrong ? cycles : 0;
    select[2] = select[2] << 1 | (way != 0);
    *state = way ? (*state < 3 ? *state + 1 : 3) : (*state ? *state - 1 : 0);
}

void pcere_character_begin(uint32_t shift, uint32_t team)
{
    follow_shift = shift;
    team_threads = team;
    for (struct counted_thread *thread = threads; thread; thread = thread->next) {
        thread->counts = (struct character_record){0};
        for (uint64_t i = 0; i < unit_count; i++)
            if (thread->words[i])
                memset(thread->words[i] + 1, 0, (1 + CHARACTER_SELECT_WORDS) * units[i]->blocks * sizeof(uint64_t));
    }
}

struct writing { int file; uint64_t at; bool failed; };

static void put(struct writing *writing, const void *data, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes && !writing->failed;) {
        ssize_t wrote = pwrite(writing->file, (const char *)data + done, bytes - done, (off_t)(writing->at + done));
        writing->failed = wrote <= 0;
        done += wrote > 0 ? (uint64_t)wrote : 0;
    }
    writing->at += bytes;
}

void pcere_character_write(struct codelet *codelet)
{
    static const uint64_t zeros[512];
    struct writing writing = {.file = codelet->plan_fd, .at = codelet->plan->bytes};
    struct character_file header = {CHARACTER_MAGIC, follow_shift, 0, unit_count};
    for (struct counted_thread *thread = threads; thread; thread = thread->next)
        header.threads++;
    put(&writing, &header, sizeof header);
    for (uint64_t i = 0; i < unit_count; i++)
        put(&writing, (uint64_t[]){units[i]->unit_id, units[i]->blocks}, 2 * sizeof(uint64_t));
    for (struct counted_thread *thread = threads; thread; thread = thread->next) {
        pcere_reuse_sum(&thread->counts);
        put(&writing, &thread->counts, sizeof thread->counts);
        for (uint64_t i = 0; i < unit_count; i++)
            for (uint64_t done = 0, all = (1 + CHARACTER_SELECT_WORDS) * units[i]->blocks; done < all; done += 512) {
                uint64_t count = all - done < 512 ? all - done : 512;
                put(&writing, thread->words[i] ? thread->words[i] + 1 + done : zeros, count * sizeof(uint64_t));
            }
    }
    if (writing.failed)
        pcere_plan_end(codelet, PLAN_FAILED, "cannot write down what the region did");
    codelet->plan->result.character_bytes = writing.at - codelet->plan->bytes;
}
