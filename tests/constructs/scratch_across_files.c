/* scratch_across_files.c - arrays with a part for each thread: one file knows how many there are, another one allocates, a third has the regions. More
 * threads than when it was captured write beyond them. */
#include "scratch_across_files.h"
#include "check.h"

int main(void)
{
    settings_read();
    double *parts = calloc((size_t)thread_count() * PAD, sizeof *parts), sum = 0;
    struct counters counters = {0, calloc((size_t)workers, 64)};
    char *marks = bytes_per_thread(thread_count(), PAD);
    CHECK(parts && counters.of_threads && marks);
    for (int step = 0; step < 2; step++) {
        sum_in_parts(parts);
        count_steps(&counters);
        mark_parts(marks);
    }
    long steps = 0;
    for (int i = 0; i < workers; i++) {
        steps += counters.of_threads[i * 8];
        CHECK(marks[i * PAD] == 2);
        for (int j = 0; j < PAD; j++)
            sum += parts[i * PAD + j];
    }
    CHECK(sum == (double)WORK * (WORK - 1) && steps == 2 * WORK && counters.steps == 2);
    free(parts);
    free(counters.of_threads);
    free(marks);
    return 0;
}
