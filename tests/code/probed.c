/* tests/code/probed.c - each way into a region once; probes.sh knows the lines. */
#include <stdio.h>

static int total;

static void twice(int n)
{
#pragma omp parallel for num_threads(n) proc_bind(close)
    for (int i = 0; i < n; i++) {
#pragma omp atomic
        total += i;
    }
    _Pragma("omp parallel") { _Pragma("omp atomic") total += 0; } _Pragma("omp parallel") { _Pragma("omp atomic") total += 0; }
}

static int choose(int n, int by_value)
{
    int sum = 0;
#pragma omp parallel for if (n > 2) reduction(+ : sum) firstprivate(by_value)
    for (int i = 0; i < n; i++)
        sum += i * by_value;
    return sum;
}

int main(void)
{
    twice(2);
    total += choose(2, 7) + choose(4, 9);
    printf("%d\n", total);
    return total == 1 + 7 + 54 ? 0 : 1;
}
