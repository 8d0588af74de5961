/* platform/probe/functions.c - how often a core calls a function of the C library in a second, when no call waits for the one before. */
#include "probe.h"

#include <math.h>
#include <string.h>

enum { VALUES = 1024, CALLS = 20000 };

/* Called by name, as programs do: through the table of a library's functions. */
#define CALLS_OF(NAME, CALL)                                                                                                               \
    static double run_##NAME(const double *values)                                                                                         \
    {                                                                                                                                      \
        double sum = 0;                                                                                                                    \
        for (int k = 0; k < CALLS; k++) {                                                                                                  \
            double x = values[k % VALUES];                                                                                                 \
            sum += CALL;                                                                                                                   \
        }                                                                                                                                  \
        return sum;                                                                                                                        \
    }

CALLS_OF(log, log(x)) CALLS_OF(log2, log2(x)) CALLS_OF(log10, log10(x)) CALLS_OF(exp, exp(x)) CALLS_OF(pow, pow(x, 1.7)) CALLS_OF(sin, sin(x)) CALLS_OF(cos, cos(x))
CALLS_OF(tan, tan(x)) CALLS_OF(atan, atan(x)) CALLS_OF(atan2, atan2(x, 0.7)) CALLS_OF(cbrt, cbrt(x)) CALLS_OF(fmod, fmod(x, 0.3)) CALLS_OF(floor, floor(x))

static const struct { const char *kind; double (*run)(const double *values); double low, high; } functions[] = {
    {"log", run_log, 0.001, 1}, {"log2", run_log2, 0.1, 3}, {"log10", run_log10, 0.1, 3}, {"exp", run_exp, -3, 3}, {"pow", run_pow, 0.1, 4}, {"sin", run_sin, 0, 6},
    {"cos", run_cos, 0, 6}, {"tan", run_tan, 0, 1}, {"atan", run_atan, 0, 3}, {"atan2", run_atan2, 0, 3}, {"cbrt", run_cbrt, 0.1, 4}, {"fmod", run_fmod, 0, 3},
    {"floor", run_floor, 0, 9},
};

void probe_function(const struct probe *probe)
{
    double values[VALUES], sum = 0;
    size_t which = 0;
    uint64_t state = 1;
    probe_pin(probe->cpus[0]);
    while (which < sizeof functions / sizeof *functions && strcmp(functions[which].kind, probe->kind) != 0)
        which++;
    if (which == sizeof functions / sizeof *functions)
        probe_refuse("'%s' is no function that is measured", probe->kind);
    for (int i = 0; i < VALUES; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        values[i] = functions[which].low + (functions[which].high - functions[which].low) * (double)(state >> 11) * 0x1p-53;
    }
    for (unsigned i = 0; i < probe->repeats + 2; i++) {      /* the first two let the processor choose its clock */
        double fastest = 0;
        for (int round = 0; round < 5; round++) {
            uint64_t start = probe_now_ns();
            sum += functions[which].run(values);
            double rate = (double)CALLS / ((double)(probe_now_ns() - start) / 1e9);
            fastest = rate > fastest ? rate : fastest;
        }
        if (i >= 2)
            probe_print(fastest);
    }
    probe_keep(&sum);
}
