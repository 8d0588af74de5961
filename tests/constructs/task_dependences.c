/* task_dependences.c - (inoutset: not clang 16) in, out, inout, mutexinoutset, inoutset, an iterator, depobj, taskwait depend. */
#include "check.h"
#include <omp.h>

enum { COUNT = 20 };
static int chain, sum, set[2], read_sum, values[COUNT], log_of[COUNT];

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < COUNT; i++) {
#pragma omp task depend(inout : chain) firstprivate(i)
            {
                log_of[i] = chain;
                chain = chain * 2 % 1009 + i;
            }
#pragma omp task depend(out : values[i]) firstprivate(i)
            values[i] = i * i;
#pragma omp task depend(in : values[i]) depend(mutexinoutset : sum) firstprivate(i)
            sum += values[i];
        }
#if __clang_major__ > 16
#define TOGETHER inoutset
#else
#define TOGETHER inout
#endif
#pragma omp task depend(TOGETHER : set)
        set[0] = 3;
#pragma omp task depend(TOGETHER : set)
        set[1] = 4;
#pragma omp task depend(in : set) depend(iterator(int i = 0 : COUNT), in : values[i])
        read_sum = set[0] * set[1] + values[COUNT - 1];
#pragma omp taskwait depend(in : chain)
        CHECK(log_of[0] == 0 && log_of[1] == 0);
        omp_depend_t object;
#pragma omp depobj(object) depend(inout : chain)
#pragma omp task depend(depobj : object)
        chain += 5000;
#pragma omp taskwait
#pragma omp depobj(object) destroy
    }
    int wanted = 0, last = 0;
    for (int i = 0; i < COUNT; i++) {
        CHECK(log_of[i] == last);
        last = last * 2 % 1009 + i;
        wanted += i * i;
    }
    CHECK(chain == last + 5000 && sum == wanted && read_sum == 12 + 19 * 19);
    return 0;
}
