/* statics_inline.h - one region in two units: it has one name, and in each unit its own variables and size. */
static long weights[SIZE];
static int rounds_inline = SEED;

static inline long weigh(void)
{
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < SIZE; i++) {
        weights[i] += i % 7 + rounds_inline;
        sum += weights[i];
    }
    rounds_inline++;
    return sum;
}
