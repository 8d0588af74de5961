/* predictor/amdahl.c - see amdahl.h. */
#include "predictor/amdahl.h"

#include <assert.h>
#include <math.h>

double amdahl_time(double time_one_ns, double serial_ratio, uint32_t threads)
{
    assert(threads > 0);
    return time_one_ns * (serial_ratio + (1 - serial_ratio) / (double)threads);
}

enum pcere_status amdahl_fit(uint32_t threads_a, double time_a_ns, uint32_t threads_b, double time_b_ns, double *ret_serial_ratio,
                             double *ret_time_one_ns, struct pcere_error *error)
{
    if (threads_a == 0 || threads_b == 0 || threads_a == threads_b)
        return pcere_fail(error, PCERE_USAGE, 0, "measure at two different thread counts",
                          "no serial fraction follows from measurements at %u and %u threads", threads_a, threads_b);
    if (!(time_a_ns > 0 && time_b_ns > 0 && isfinite(time_a_ns) && isfinite(time_b_ns)))
        return pcere_fail(error, PCERE_DATA, 0, NULL, "no serial fraction follows from times that are not positive");
    /* T(n) = serial + parallel / n: two equations, linear in both */
    double inverse_a = 1.0 / threads_a, inverse_b = 1.0 / threads_b;
    double parallel_ns = (time_a_ns - time_b_ns) / (inverse_a - inverse_b);
    double serial_ns = time_a_ns - parallel_ns * inverse_a;
    double time_one_ns = serial_ns + parallel_ns;
    if (!(time_one_ns > 0))
        return pcere_fail(error, PCERE_DATA, 0, "measure again on a quieter machine",
                          "the times at %u and %u threads imply no positive time at one thread", threads_a, threads_b);
    if (ret_serial_ratio)
        *ret_serial_ratio = serial_ns / time_one_ns;
    if (ret_time_one_ns)
        *ret_time_one_ns = time_one_ns;
    return PCERE_OK;
}

double amdahl_class_weight(uint64_t members, uint64_t time_ns, uint64_t representative_ns)
{
    double count = (double)members;
    if (representative_ns == 0)
        return count;
    double scaled = (double)time_ns / (double)representative_ns;
    return fabs(scaled - count) <= AMDAHL_ALIKE_RATIO * count ? count : scaled;
}

double amdahl_kept_time(double time_ns, uint64_t invocations, double scaling, const struct amdahl_forks *forks)
{
    double work_ns = fmax(time_ns - (double)invocations * forks->in_vivo_ns, 0);
    return (double)invocations * forks->vitro_ns + work_ns * scaling;
}

double amdahl_class_time(uint64_t members, uint64_t time_ns, uint64_t representative_ns, double vitro_ns, const struct amdahl_forks *forks)
{
    double weight = amdahl_class_weight(members, time_ns, representative_ns);
    double own_ns = (double)representative_ns - forks->in_vivo_ns, own_vitro_ns = vitro_ns - forks->vitro_ns;
    if (fabs(weight - (double)members) < 1e-9 || own_ns <= 0 || own_vitro_ns <= 0)
        return vitro_ns * weight;
    return amdahl_kept_time((double)time_ns, members, own_vitro_ns / own_ns, forks);
}

double amdahl_acceleration(double real_ns, double cost_ns)
{
    return cost_ns > 0 ? real_ns / cost_ns : 0;
}

double amdahl_error_ratio(double predicted_ns, double real_ns)
{
    return real_ns > 0 ? fabs(predicted_ns - real_ns) / real_ns : 0;
}
