/* Knapsack by branch and bound. The bound that cuts is the greedy one of the start, not the best found so far, so that every run visits the same nodes. */
#include <stdio.h>

enum { ITEMS = 18, CAPACITY = 60, TASK_DEPTH = 9 };
static int weight[ITEMS], value[ITEMS], best, least;

static int bound(int item, int room)
{
    int sum = 0;
    for (; item < ITEMS && room > 0; item++) {
        sum += room >= weight[item] ? value[item] : value[item] * room / weight[item] + 1;
        room -= weight[item];
    }
    return sum;
}

static void branch(int item, int room, int got)
{
    if (room < 0)
        return;
    if (item == ITEMS) {
        #pragma omp critical
        best = got > best ? got : best;
        return;
    }
    if (got + bound(item, room) < least)
        return;
    #pragma omp task if(item < TASK_DEPTH)
    branch(item + 1, room - weight[item], got + value[item]);
    #pragma omp task if(item < TASK_DEPTH)
    branch(item + 1, room, got);
    #pragma omp taskwait
}

int main(void)
{
    for (int i = 0; i < ITEMS; i++) {
        weight[i] = 5 + i * 7 % 11;
        value[i] = 60 - 2 * i + i * 5 % 3;
    }
    int room = CAPACITY;
    for (int i = 0; i < ITEMS; i++)
        if (weight[i] <= room) {
            room -= weight[i];
            least += value[i];
        }
    #pragma omp parallel
    #pragma omp single
    branch(0, CAPACITY, 0);
    printf("%d of at least %d\n", best, least);
    return best < least;
}
