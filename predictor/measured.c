/* predictor/measured.c - see measured.h. */
#include "predictor/measured.h"

static bool is_interrupted(const struct store_sample *sample, size_t i)
{
    return sample->switches && sample->switches[i] > 0;
}

/* One thread. */
static double value_corrected(const struct store_sample *sample, size_t i, size_t *corrected)
{
    double wall_ns = (double)sample->samples_ns[i];
    double cpu_ns = sample->cpu_ns ? (double)sample->cpu_ns[i] : 0;
    if (!is_interrupted(sample, i) || cpu_ns <= 0 || wall_ns <= MEASURED_PREEMPTED_RATIO * cpu_ns)
        return wall_ns;
    ++*corrected;
    return cpu_ns;
}

size_t measured_values(const struct store_sample *sample, double *values, size_t *ret_corrected, size_t *ret_left_out)
{
    size_t interrupted = 0, corrected = 0, count = 0;
    for (size_t i = 0; i < sample->sample_count; i++)
        interrupted += is_interrupted(sample, i);
    bool drop = sample->threads > 1 && sample->sample_count - interrupted >= MEASURED_LEAST;
    for (size_t i = 0; i < sample->sample_count; i++)
        if (!drop || !is_interrupted(sample, i))
            values[count++] = sample->threads == 1 ? value_corrected(sample, i, &corrected) : (double)sample->samples_ns[i];
    if (ret_corrected)
        *ret_corrected = corrected;
    if (ret_left_out)
        *ret_left_out = sample->sample_count - count;
    return count;
}
