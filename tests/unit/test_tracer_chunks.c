/* tests/unit/test_tracer_chunks.c - what is worth tracking, on snapshots made by hand; and what a fault of tracking costs here. */
#include "capture-rt/tracer/snapshot_chunks.h"
#include "capture-rt/tracer/tracking_cost.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096u
#define CHUNK_PAGES (SNAPSHOT_CHUNK_BYTES / PAGE)
#define BASE (UINT64_C(1) << 30)
#define CHUNKS 4u

struct fixture { struct snapshotter snapshotter; uint64_t next_page; };

static struct fixture fixture_of(uint64_t fault_ns)
{
    struct fixture f = {.snapshotter = {.page_bytes = PAGE, .fault_ns = fault_ns}};
    chunks_begin(&f.snapshotter);
    return f;
}

static void fixture_done(struct fixture *f)
{
    run_list_done(&f->snapshotter.last);
    run_list_done(&f->snapshotter.spare);
    free(f->snapshotter.chunks);
    free(f->snapshotter.spans);
}

/* A snapshot of four chunks in which `written` pages of chunk `at` changed; what is not tracked is read whole. Then the program runs again for a while. */
static void step(struct fixture *f, uint64_t at, uint64_t written, bool all)
{
    struct snapshotter *s = &f->snapshotter;
    bool first = s->last.count == 0, due;
    run_list_done(&s->spare);
    s->spare = s->last;
    s->last = (struct run_list){0};
    s->spans = realloc(s->spans, CHUNKS * sizeof *s->spans);
    s->span_count = 0;
    for (uint64_t chunk = 0; chunk < CHUNKS; chunk++) {
        uint64_t address = BASE + chunk * SNAPSHOT_CHUNK_BYTES, changed = first ? CHUNK_PAGES : chunk == at ? written : 0;
        for (uint64_t page = 0; page < CHUNK_PAGES; page++) {
            uint64_t number = page < changed ? f->next_page++ : s->spare.runs[0].page;
            for (size_t i = 0; page >= changed && i < s->spare.count; i++)
                if (s->spare.runs[i].address <= address + page * PAGE && address + page * PAGE < s->spare.runs[i].address + s->spare.runs[i].count * PAGE)
                    number = s->spare.runs[i].page + (address + page * PAGE - s->spare.runs[i].address) / PAGE;
            CU_ASSERT_TRUE(run_list_add(&s->last, (struct store_run){address + page * PAGE, number, 1}, PAGE));
        }
        chunks_due_until(s, address, address + SNAPSHOT_CHUNK_BYTES, &due);
        uint64_t read = due && !first ? changed : CHUNK_PAGES;
        if (read)
            s->spans[s->span_count++] = (struct snapshot_span){.address = address, .pages = read};
    }
    chunks_taken(s, all);
    s->repeated = !first;
    snapshotter_learn(s);
}

static bool is_due(const struct fixture *f, uint64_t chunk)
{
    bool due = false;
    uint64_t start = BASE + chunk * SNAPSHOT_CHUNK_BYTES;
    chunks_due_until(&f->snapshotter, start, start + PAGE, &due);
    return due;
}

static uint64_t restless_chunks(const struct fixture *f)
{
    return snapshotter_restless_bytes(&f->snapshotter) / SNAPSHOT_CHUNK_BYTES;
}

/* All is tracked but what was half rewritten, one of the last two times. */
static void cheap_faults(void)
{
    struct fixture f = fixture_of(900);
    CU_ASSERT_FALSE(snapshotter_spares_faults(&f.snapshotter));
    step(&f, 0, 0, true);
    CU_ASSERT_EQUAL(restless_chunks(&f), 0);
    step(&f, 1, CHUNK_PAGES / 2 - 1, true);
    CU_ASSERT_EQUAL(restless_chunks(&f), 0);
    step(&f, 1, CHUNK_PAGES / 2, true);
    CU_ASSERT_EQUAL(restless_chunks(&f), 1);
    step(&f, 2, 5, true);
    CU_ASSERT_EQUAL(restless_chunks(&f), 1);
    step(&f, 2, 5, true);
    CU_ASSERT_EQUAL(restless_chunks(&f), 0);
    fixture_done(&f);
}

/* Nothing is tracked before it was read unchanged for as long as half of its faults would take; a tenth that is rewritten makes it restless again. */
static void dear_faults(void)
{
    struct fixture f = fixture_of(13600);
    CU_ASSERT_TRUE(snapshotter_spares_faults(&f.snapshotter));
    CU_ASSERT_EQUAL(f.snapshotter.calm_least, 13600 / (2 * TRACKING_READ_NS));
    CU_ASSERT_FALSE(is_due(&f, 0));
    step(&f, 0, 0, false);
    CU_ASSERT_EQUAL(restless_chunks(&f), CHUNKS);
    for (unsigned i = 0; i < f.snapshotter.calm_least; i++) {
        CU_ASSERT_FALSE(is_due(&f, 0));
        step(&f, 1, CHUNK_PAGES / 10, false);
    }
    CU_ASSERT_TRUE(is_due(&f, 0));
    CU_ASSERT_FALSE(is_due(&f, 1));
    CU_ASSERT_EQUAL(restless_chunks(&f), 1);
    step(&f, 0, CHUNK_PAGES / 10, false);       /* by its faults, now that it is tracked */
    CU_ASSERT_TRUE(is_due(&f, 0));              /* what is tracked stays so until it is released */
    CU_ASSERT_EQUAL(restless_chunks(&f), 2);
    snapshotter_release(&f.snapshotter, &(struct map_list){.count = 0}, false);
    CU_ASSERT_FALSE(is_due(&f, 0));
    CU_ASSERT_TRUE(is_due(&f, 2));
    fixture_done(&f);
}

/* For an interval in which little is written, all is tracked; released, it is as before. */
static void all_for_a_while(void)
{
    struct fixture f = fixture_of(13600);
    step(&f, 0, 0, true);
    CU_ASSERT_TRUE(is_due(&f, 0));
    CU_ASSERT_TRUE(is_due(&f, 1000));           /* of what nothing is known yet */
    snapshotter_release(&f.snapshotter, &(struct map_list){.count = 0}, false);
    CU_ASSERT_FALSE(is_due(&f, 0));
    CU_ASSERT_FALSE(is_due(&f, 1000));
    fixture_done(&f);
}

/* What is alike is one stretch, and what is unknown is passed in one step, however long it is. */
static void stretches(void)
{
    struct fixture f = fixture_of(13600);
    bool due;
    step(&f, 0, 0, false);
    for (unsigned i = 0; i < f.snapshotter.calm_least; i++)
        step(&f, 2, CHUNK_PAGES, false);
    uint64_t end = UINT64_C(1) << 46;
    CU_ASSERT_EQUAL(chunks_due_until(&f.snapshotter, PAGE, end, &due), BASE);
    CU_ASSERT_FALSE(due);
    CU_ASSERT_EQUAL(chunks_due_until(&f.snapshotter, BASE, end, &due), BASE + 2 * SNAPSHOT_CHUNK_BYTES);
    CU_ASSERT_TRUE(due);
    CU_ASSERT_EQUAL(chunks_due_until(&f.snapshotter, BASE + 2 * SNAPSHOT_CHUNK_BYTES, end, &due), BASE + 3 * SNAPSHOT_CHUNK_BYTES);
    CU_ASSERT_FALSE(due);
    CU_ASSERT_EQUAL(chunks_due_until(&f.snapshotter, BASE + 3 * SNAPSHOT_CHUNK_BYTES + PAGE, BASE + 3 * SNAPSHOT_CHUNK_BYTES + 2 * PAGE, &due), BASE + 3 * SNAPSHOT_CHUNK_BYTES + 2 * PAGE);
    CU_ASSERT_TRUE(due);
    CU_ASSERT_EQUAL(chunks_due_until(&f.snapshotter, BASE + 4 * SNAPSHOT_CHUNK_BYTES, end, &due), end);
    CU_ASSERT_FALSE(due);
    fixture_done(&f);
}

static bool is_tracked(const struct fixture *f, uint64_t chunk)
{
    bool tracked = false;
    uint64_t start = BASE + chunk * SNAPSHOT_CHUNK_BYTES;
    CU_ASSERT_EQUAL(chunks_tracked_until(&f->snapshotter, start, start + PAGE, &tracked), start + PAGE);
    return tracked;
}

/* What a snapshot finds is told by what was tracked until then, not by what will be: its writers had faults only there. */
static void tracked_until_now(void)
{
    struct fixture f = fixture_of(13600);
    step(&f, 0, 0, false);
    CU_ASSERT_FALSE(is_tracked(&f, 0));
    for (unsigned i = 0; i < f.snapshotter.calm_least; i++)
        step(&f, 1, CHUNK_PAGES, false);
    CU_ASSERT_TRUE(is_due(&f, 0));
    CU_ASSERT_FALSE(is_tracked(&f, 0));
    step(&f, 1, CHUNK_PAGES, false);
    CU_ASSERT_TRUE(is_tracked(&f, 0));
    CU_ASSERT_FALSE(is_tracked(&f, 1));
    CU_ASSERT_FALSE(is_tracked(&f, 1000));
    step(&f, 1, CHUNK_PAGES, true);
    CU_ASSERT_TRUE(is_tracked(&f, 1));
    CU_ASSERT_TRUE(is_tracked(&f, 1000));
    fixture_done(&f);
}

/* No processor takes a page fault in 50 ns. */
static void cost_here(void)
{
    uint64_t fault_ns = tracking_fault_ns((uint64_t)sysconf(_SC_PAGESIZE));
    if (!fault_ns) {
        puts("skipped: this kernel does not track writes");
        return;
    }
    CU_ASSERT_TRUE(fault_ns > 50 && fault_ns < 1000000);
}

static const struct unit_test tests[] = {
    {"where faults are cheap, all is tracked but what is usually rewritten", cheap_faults},
    {"where faults are dear, nothing is tracked before it was calm for a while", dear_faults},
    {"all is tracked for a while, and released", all_for_a_while},
    {"chunks that are alike are one stretch", stretches},
    {"writers had faults where it was tracked before the snapshot", tracked_until_now},
    {"a fault of tracking takes the time of a page fault", cost_here},
};

UNIT_MAIN("tracer: chunks", tests)
