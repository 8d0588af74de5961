/* Parts of the work, and of memory, that were made before the region for as many threads as there were; and some that any team may run. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000, PARTS_MOST = 64, LINE = 8 };
static int low[PARTS_MOST + 1], high[PARTS_MOST], heads[PARTS_MOST], ends[PARTS_MOST], own_low[PARTS_MOST], count_of_threads, scratch_share;
static unsigned seeds[PARTS_MOST];
static double data[N], sums[PARTS_MOST][LINE], *piece[PARTS_MOST], scratch[PARTS_MOST * LINE], arena[PARTS_MOST * LINE], room_for_all[PARTS_MOST * LINE];

struct part { int first, last; double sum; };
static struct part *parts;
struct room { int count; double *at; };
static struct room rooms[PARTS_MOST];

static void by_a_table(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        for (int i = low[me]; i < high[me]; i++)
            data[i] += 1;
    }
}

static void from_one_to_the_next(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        for (int i = low[me]; i < low[me + 1]; i++)
            data[i] += 1;
    }
}

static void by_parts_that_were_made(void)
{
#pragma omp parallel
    {
        struct part *part = &parts[omp_get_thread_num()];
        for (int i = part->first; i < part->last; i++)
            part->sum += data[i];
    }
}

static void in_turn(void)
{
#pragma omp parallel
    for (int i = omp_get_thread_num(); i < N; i += count_of_threads)
        data[i] += 1;
}

/* These only compute. */
__attribute__((noinline)) static double value(int i)
{
    return (double)(i * 7 % 11);
}

static double sum_in_turn(void)
{
    double sum = 0;
#pragma omp parallel reduction(+ : sum)
    for (int i = omp_get_thread_num(); i < N; i += count_of_threads)
        sum += value(i);
    return sum;
}

static double sum_of_a_part(int threads)
{
    double sum = 0;
    int part = (N + threads - 1) / threads;
#pragma omp parallel reduction(+ : sum)
    {
        int first = omp_get_thread_num() * part, last = first + part < N ? first + part : N;
        for (int i = first; i < last; i++)
            sum += value(i);
    }
    return sum;
}

static double sum_of_draws(int draws, int threads)
{
    int own = draws / threads;
    long found = 0;
#pragma omp parallel reduction(+ : found)
    {
        unsigned seed = 7u + (unsigned)omp_get_thread_num();
        for (int i = 0; i < own; i++) {
            seed = seed * 1664525u + 1013904223u;
            found += seed >> 31;
        }
    }
    return (double)found;
}

static double sum_by_the_team(void)
{
    double sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        int team = omp_get_num_threads(), me = omp_get_thread_num(), last = (int)((long)N * (me + 1) / team);
        for (int i = me; i < N; i += team)
            sum += value(i);
        for (int i = (int)((long)N * me / team); i < last; i++)
            sum += value(i);
    }
    return sum / 2;
}

/* From one on, as many as there are: each sees all. */
static double sum_of_all(void)
{
    double sum = 0;
#pragma omp parallel reduction(max : sum)
    {
        double own = 0;
        for (int k = omp_get_thread_num(), last = k + count_of_threads; k < last; k++)
            for (int i = low[k % count_of_threads]; i < high[k % count_of_threads]; i++)
                own += value(i);
        sum = own;
    }
    return sum;
}

static void by_remainders(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        for (int i = 0; i < N; i++)
            if (i % count_of_threads == me)
                data[i] += 1;
    }
}

static void pointers_of_a_table(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        piece[omp_get_thread_num()][i % LINE] += i;
}

static void rooms_of_one_size(void)
{
#pragma omp parallel
    {
        struct room *own = &rooms[omp_get_thread_num()];
        for (int i = 0; i < own->count; i++)
            own->at[i] += i;
    }
}

static void divided_scratch(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        scratch[omp_get_thread_num() * scratch_share + i % 4] += i;
}

static void sums_that_begin_with_zero(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        sums[omp_get_thread_num()][0] += i;
}

static void draws(void)
{
#pragma omp parallel
    {
        unsigned seed = seeds[omp_get_thread_num()];
#pragma omp for
        for (int i = 0; i < N; i++) {
            seed = seed * 1103515245u + 12345u;
            data[i] += seed % 2 ? 0 : 0.0;
        }
        seeds[omp_get_thread_num()] = seed;
    }
}

static void parts_for_any_team(void)
{
#pragma omp parallel for schedule(dynamic)
    for (int t = 0; t < count_of_threads; t++)
        for (int i = low[t]; i < high[t]; i++)
            data[i] += 1;
}

static void helps_others(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        for (int k = 0; k < count_of_threads; k++) {
            int of = (me + k) % count_of_threads, i;
            for (;;) {
#pragma omp atomic capture
                i = heads[of]++;
                if (i >= ends[of])
                    break;
                data[i] += 1;
            }
        }
    }
}

static void sets_its_own(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        own_low[me] = N * me / team;
#pragma omp barrier
        int last = me + 1 < team ? own_low[me + 1] : N;
        for (int i = own_low[me]; i < last; i++)
            data[i] += 1;
    }
}

int main(int argc, char **argv)
{
    int threads = omp_get_max_threads(), count = argv[argc] ? 1 : LINE;
    double wanted = 0, sum = 0;
    if (threads > PARTS_MOST - 1 || !(parts = calloc((size_t)threads, sizeof *parts)))
        return 1;
    count_of_threads = threads;
    scratch_share = PARTS_MOST * LINE / threads;
    for (int t = 0; t < threads; t++) {
        low[t] = (int)((long)N * t / threads);
        high[t] = (int)((long)N * (t + 1) / threads);
        heads[t] = low[t];
        ends[t] = high[t];
        own_low[t] = low[t];
        seeds[t] = 17u + (unsigned)t;
        piece[t] = arena + t * LINE;
        rooms[t].count = count;
        rooms[t].at = room_for_all + t * LINE;
        sums[t][0] = 0;
        parts[t] = (struct part){low[t], high[t], 0};
    }
    low[threads] = N;
    for (int step = 0; step < 2; step++) {
        by_a_table();
        from_one_to_the_next();
        by_parts_that_were_made();
        in_turn();
        by_remainders();
        pointers_of_a_table();
        rooms_of_one_size();
        divided_scratch();
        sums_that_begin_with_zero();
        draws();
        parts_for_any_team();
        sets_its_own();
    }
    helps_others();
    double once = sum_by_the_team(), drawn = sum_of_draws(N, threads);
    if (sum_in_turn() != once || sum_of_a_part(threads) != once || sum_of_all() != once || drawn < 1 || drawn >= N)
        return 1;
    for (int i = 0; i < N; i++)
        sum += data[i];
    wanted = 13.0 * N;
    return puts(sum == wanted ? "PASS" : "FAIL") < 0;
}
