/* platform/probe/translation.c - how many pages a core reads from in turn before their addresses must be looked up in tables in memory, and what a look-up costs. */
#include "probe.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 64, PAGES_FEW = 32, PAGES_MOST = 16384, READS = 100000, ROUNDS = 4, SIZES_MOST = 32 };

/* A line of each page, in order, none waits for the one before: each in another set of the nearest cache. */
static double read_ns(const char *memory, size_t step, size_t pages)
{
    double best = 0, sum = 0;
    size_t passes = READS / pages + 1;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = probe_now_ns();
        for (size_t pass = 0; pass < passes; pass++)
            for (size_t i = 0; i < pages; i++)
                sum += *(const double *)(const void *)(memory + i * step);
        double took = (double)(probe_now_ns() - start) / (double)(passes * pages);
        best = !round || took < best ? took : best;
    }
    probe_keep(&sum);
    return best;
}

void probe_translation(const struct probe *probe)
{
    size_t step = (size_t)sysconf(_SC_PAGESIZE) + LINE_BYTES, most = probe->bytes / step < PAGES_MOST ? probe->bytes / step : PAGES_MOST;
    probe_pin(probe->cpus[0]);
    char *memory = probe_memory(probe->bytes + LINE_BYTES);
    memset(memory, 0, probe->bytes);
    for (unsigned i = 0; i < probe->repeats; i++) {
        double pages[SIZES_MOST], times[SIZES_MOST];
        size_t count = 0;
        for (size_t next = PAGES_FEW; next <= most && count < SIZES_MOST; next += next / 3) {
            pages[count] = (double)next;
            times[count++] = read_ns(memory, step, next);
        }
        if (count < 2 || times[count - 1] < 1.5 * times[0])
            probe_refuse("reading from %zu pages costs no more than from %d", most, (int)PAGES_FEW);
        double middle = (times[0] + times[count - 1]) / 2;
        size_t at = count - 1;               /* the last size that is on the near side of it */
        while (at && times[at - 1] > middle)
            at--;
        double part = at ? (middle - times[at - 1]) / (times[at] - times[at - 1]) : 0;
        if (strcmp(probe->kind, "reach") == 0)
            probe_print(at ? pages[at - 1] * pow(pages[at] / pages[at - 1], part) : pages[0]);
        else
            probe_print(times[count - 1] - times[0]);
    }
}
