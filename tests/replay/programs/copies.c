/* copies.c - threads that have no copies yet of threadprivate variables, which the region asks for. */
#include <omp.h>
#include <stdio.h>
static int offset = 5, steps[3] = {1, 2, 3};
static double zeros[100];
#pragma omp threadprivate(offset, steps, zeros)
static long most[3];
static void find(void)
{
#pragma omp parallel
    {
        if (omp_get_thread_num()) {
            int mine = offset;
#pragma omp critical
            {
                most[0] = mine > most[0] ? mine : most[0];
                most[1] = steps[1] > most[1] ? steps[1] : most[1];
                most[2] = (long)zeros[7] > most[2] ? (long)zeros[7] : most[2];
            }
            offset += 1000;
            steps[1] += 50;
            zeros[7] += 3;
        }
    }
}
int main(void)
{
    offset = 100; steps[1] = 77; zeros[7] = 9;
    find();
    printf("%ld %ld %ld\n", most[0], most[1], most[2]);
    return most[0] == 5 && most[1] == 2 && most[2] == 0 ? 0 : 1;
}
