/* Regions that look whether their team is as large as somebody asked for before them: some do nothing with another one. */
#include <omp.h>
#include <stdio.h>

enum { N = 20000 };
static double data[N];

struct settings { int threads; };

static void body(int me, int team)
{
    for (int i = me; i < N; i += team)
        data[i] += 1;
}

/* ---- all of the work, or nothing ------------------------------------------------------------------------------------------------------- */

static void all_or_nothing(const struct settings *settings)
{
    int wanted = settings->threads;
#pragma omp parallel
    {
        if (omp_get_num_threads() == wanted) {
#pragma omp for
            for (int i = 0; i < N; i++)
                data[i] += 1;
        }
    }
}

static void leaves_early(const struct settings *settings)
{
    int error = 0;
#pragma omp parallel reduction(+ : error)
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        if (team != settings->threads) {
            error = -58;
            goto end;
        }
        body(me, team);
    end:;
    }
    if (error)
        puts("FAIL: another team");
}

/* ---- of any number ----------------------------------------------------------------------------------------------------------------------- */

static void warns(const struct settings *settings)
{
#pragma omp parallel
    {
#pragma omp single
        if (omp_get_num_threads() != settings->threads)
            puts("another team");
#pragma omp for
        for (int i = 0; i < N; i++)
            data[i] += 1;
    }
}

static void corrects(const struct settings *settings)
{
    int threads = settings->threads;
#pragma omp parallel
    {
#pragma omp single
        if (omp_get_num_threads() != threads)
            threads = omp_get_num_threads();
        body(omp_get_thread_num(), omp_get_num_threads());
    }
}

int main(void)
{
    struct settings settings = {omp_get_max_threads()};
    for (int step = 0; step < 3; step++) {
        all_or_nothing(&settings);
        leaves_early(&settings);
        warns(&settings);
        corrects(&settings);
    }
    puts(data[0] == 12 && data[N - 1] == 12 ? "PASS" : "FAIL");
    return 0;
}
