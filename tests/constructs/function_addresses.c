/* function_addresses.c - functions of this file, of another one and of a shared library, told apart by their addresses, and left behind in memory. */
#include "check.h"
#include "function_addresses.h"

static int half(int x) { return x / 2; }
static int negate(int x) { return -x; }
static const function own[2] = {half, negate};
struct job { function run, next; int value; };

int main(void)
{
    enum { JOBS = 300 };
    struct job jobs[JOBS];
    for (int i = 0; i < JOBS; i++)
        jobs[i] = (struct job){i % 4 == 0 ? half : i % 4 == 1 ? negate : i % 4 == 2 ? of_other_file : of_library, NULL, i};
    for (int step = 0; step < 4; step++) {
#pragma omp parallel for
        for (int i = 0; i < JOBS; i++) {
            struct job *job = &jobs[i];
            job->value = job->run(job->value);
            if (job->run == half)
                job->next = negate;
            else if (job->run == own[1])
                job->next = of_other_file;
            else if (job->run == of_other_file)
                job->next = chosen_by_other_file(job->value);
            else if (is_of_library(job->run))
                job->next = own[0];
            CHECK(job->next);
        }
        for (int i = 0; i < JOBS; i++) {
            jobs[i].run = jobs[i].next;
            jobs[i].next = NULL;
        }
    }
    for (int i = 0; i < JOBS; i++)
        CHECK(jobs[i].run == (i % 4 == 0 ? half : i % 4 == 1 ? negate : i % 4 == 2 ? of_other_file : of_library));
    return 0;
}
