/* tests/sampling/programs/throwing_tasks.cpp - tasks that may throw, since each makes a vector of its own: what one writes decides nothing elsewhere.
 * Behind each such call stands code that ends the program, and that no run gets to. */
#include <cstdio>
#include <vector>

enum { COUNT = 8192 };
static double results[COUNT];

static void solve(int first, int last)
{
    if (last - first == 1) {
        std::vector<double> own(64 + first % 7);
        double sum = first;
        for (int k = 0; k < 30; k++)
            for (double &x : own)
                x = x * 0.5 + sum, sum += x * 1e-3;
        results[first] = sum;
        return;
    }
    int middle = first + (last - first) / 2;
#pragma omp task
    solve(first, middle);
#pragma omp task
    solve(middle, last);
#pragma omp taskwait
}
int main()
{
    for (int step = 0; step < 3; step++) {
#pragma omp parallel
#pragma omp single
        solve(0, COUNT);
    }
    std::puts(results[77] > 0 ? "PASS" : "FAIL");
}
