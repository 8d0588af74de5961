/* orphaned_other.c - orphaned worksharing for orphaned.c. */
static long shared_sum;
int fills_done;

void fill(int *values, int count, int step);
void fill(int *values, int count, int step)
{
#pragma omp for schedule(dynamic, 50)
    for (int i = 0; i < count; i++)
        values[i] = step * i;
#pragma omp single
    fills_done++;
}

long sum_of(const int *values, int count);
long sum_of(const int *values, int count)
{
#pragma omp single
    shared_sum = 0;
#pragma omp for reduction(+ : shared_sum)
    for (int i = 0; i < count; i++)
        shared_sum += values[i];
    return shared_sum;
}
