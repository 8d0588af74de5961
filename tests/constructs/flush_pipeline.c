/* flush_pipeline.c - a pipeline through shared flags on which threads spin, as in LU's solver. */
#include "check.h"
#include <omp.h>
#include <sched.h>

enum { ROWS = 40, COLUMNS = 64 };
static long grid[ROWS][COLUMNS];
static int row_done[1024];

int main(void)
{
    for (int step = 0; step < 2; step++) {
#pragma omp parallel
        {
            int me = omp_get_thread_num(), count = omp_get_num_threads();
            int low = COLUMNS * me / count, high = COLUMNS * (me + 1) / count;
            row_done[me] = 0;
#pragma omp barrier
            for (int row = 0; row < ROWS; row++) {
                if (me > 0)
                    for (int done = 0; done <= row;) {
#pragma omp flush
#pragma omp atomic read
                        done = row_done[me - 1];
                        if (done <= row)
                            sched_yield();
                    }
#pragma omp flush
                for (int column = low; column < high; column++)
                    grid[row][column] = (column ? grid[row][column - 1] : row) + 1;
#pragma omp flush
#pragma omp atomic write
                row_done[me] = row + 1;
            }
        }
        for (int row = 0; row < ROWS; row++)
            CHECK(grid[row][COLUMNS - 1] == row + COLUMNS);
    }
    return 0;
}
