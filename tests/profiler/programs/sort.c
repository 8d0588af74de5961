/* Merge sort by tasks, in masked. */
#include <stdio.h>
#include <string.h>

enum { COUNT = 20000, LEAST = 200 };
static int data[COUNT], scratch[COUNT];

static void sort(int *items, int *room, int count)
{
    if (count <= LEAST) {
        for (int i = 1; i < count; i++)
            for (int j = i; j > 0 && items[j] < items[j - 1]; j--) {
                int item = items[j];
                items[j] = items[j - 1];
                items[j - 1] = item;
            }
        return;
    }
    int half = count / 2;
    #pragma omp task
    sort(items, room, half);
    #pragma omp task
    sort(items + half, room + half, count - half);
    #pragma omp taskwait
    for (int i = 0, a = 0, b = half; i < count; i++)
        room[i] = b == count || (a < half && items[a] <= items[b]) ? items[a++] : items[b++];
    memcpy(items, room, (size_t)count * sizeof *items);
}

int main(void)
{
    unsigned state = 1;
    for (int i = 0; i < COUNT; i++)
        data[i] = (int)((state = state * 1103515245u + 12345u) >> 8 & 0xffff);
    #pragma omp parallel
    #pragma omp masked
    sort(data, scratch, COUNT);
    for (int i = 1; i < COUNT; i++)
        if (data[i] < data[i - 1])
            return 1;
    puts("sorted");
    return 0;
}
