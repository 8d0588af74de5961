/* atomic_compare.c - compare and swap in all of its forms: equal and smaller and larger, with capture of the old value or the outcome, weak, fail, hint. */
#include "check.h"
#include <omp.h>

enum { COUNT = 1000 };
static int lowest, highest, slots[COUNT], swapped, lost;
static long counter;

static void count_up(void)
{
    long expected, seen;
#pragma omp atomic read
    expected = counter;
    for (int done = 0; !done; expected = done ? expected : seen) {
        long wanted = expected + 1;
#pragma omp atomic compare capture seq_cst fail(relaxed) hint(omp_sync_hint_contended)
        { done = counter == expected; if (done) { counter = wanted; } else { seen = counter; } }
    }
}

int main(void)
{
    for (int step = 1; step <= 2; step++) {
        lowest = COUNT;
        highest = -1;
#pragma omp parallel for
        for (int i = 0; i < COUNT; i++) {
            int value = i * 7 % COUNT, old, won;
#pragma omp atomic compare acq_rel fail(acquire)
            lowest = value < lowest ? value : lowest;
#pragma omp atomic compare
            if (value > highest) { highest = value; }
#pragma omp atomic compare capture
            { old = slots[i]; if (slots[i] == step - 1) { slots[i] = step; } }
            CHECK(old == step - 1);
#pragma omp atomic compare capture release fail(relaxed)
            { won = slots[i] == 99; if (won) { slots[i] = 0; } }
#pragma omp atomic
            lost += !won;
#pragma omp atomic
            swapped += old == step - 1;
            count_up();
        }
        CHECK(lowest == 0 && highest == COUNT - 1);
    }
    CHECK(swapped == 2 * COUNT && lost == 2 * COUNT && counter == 2 * COUNT);
    return 0;
}
