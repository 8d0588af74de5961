/* An unbalanced tree: how many children a node has follows from its hash; each node's children are a taskgroup. */
#include <stdint.h>
#include <stdio.h>

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static long visit(uint64_t hash, int depth)
{
    long counts[4] = {0}, sum = 1;
    int children = depth < 3 ? 4 : depth < 14 ? (int)(hash % 100 < 32) * 3 : 0;
    #pragma omp taskgroup
    for (int i = 0; i < children; i++) {
        #pragma omp task shared(counts) firstprivate(i)
        counts[i] = visit(mix(hash + (unsigned)i + 1), depth + 1);
    }
    for (int i = 0; i < children; i++)
        sum += counts[i];
    return sum;
}

int main(void)
{
    long count = 0;
    #pragma omp parallel
    #pragma omp single nowait
    count = visit(42, 0);
    printf("%ld nodes\n", count);
    return count < 85;
}
