/* platform/probe/functions.c - how often a core calls a function of the C library in a second, when no call waits for the one before. */
#include "probe.h"

#include <math.h>
#include <string.h>

enum { VALUES = 1024, CALLS = 20000 };

static double pow_of(double x) { return pow(x, 1.7); }
static double atan2_of(double x) { return atan2(x, 0.7); }
static double fmod_of(double x) { return fmod(x, 0.3); }

static const struct { const char *kind; double (*call)(double); double low, high; } functions[] = {
    {"log", log, 0.001, 1}, {"log2", log2, 0.1, 3}, {"log10", log10, 0.1, 3}, {"exp", exp, -3, 3}, {"pow", pow_of, 0.1, 4}, {"sin", sin, 0, 6}, {"cos", cos, 0, 6},
    {"tan", tan, 0, 1}, {"atan", atan, 0, 3}, {"atan2", atan2_of, 0, 3}, {"cbrt", cbrt, 0.1, 4}, {"fmod", fmod_of, 0, 3}, {"floor", floor, 0, 9},
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
            for (int k = 0; k < CALLS; k++)
                sum += functions[which].call(values[k % VALUES]);
            double rate = (double)CALLS / ((double)(probe_now_ns() - start) / 1e9);
            fastest = rate > fastest ? rate : fastest;
        }
        if (i >= 2)
            probe_print(fastest);
    }
    probe_keep(&sum);
}
