/* cli/check_machine.c - what the machine has to offer: cores, memory, disk, clock, huge pages.
 */
#include "cli/check.h"
#include "core/host.h"
#include "core/units.h"
#include "platform/frequency.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { DISK_LEAST_MB = 512, MEMORY_LEAST_MB = 256, CLOCK_CALLS = 20000 };
static const double clock_cost_most_ns = 500;

static bool line_read(const char *path, char *line, size_t size)
{
    FILE *in = fopen(path, "re");
    bool read = in && fgets(line, (int)size, in);
    if (in)
        fclose(in);
    if (read)
        line[strcspn(line, "\n")] = '\0';
    return read;
}

static void probe_cores(struct check_result *result)
{
    cpu_set_t set;
    int permitted = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (permitted < 2)
        check_bad(result, 0, "replays with more threads than cores say little about time", "1 of %ld processors may be used", online);
    else
        check_good(result, "%d of %ld processors may be used", permitted, online);
}

static void probe_memory(struct check_result *result)
{
    uint64_t available_bytes = host_memory_available_bytes();
    char text[UNITS_TEXT_BYTES];
    units_format_bytes(available_bytes, text);
    if (available_bytes < (uint64_t)MEMORY_LEAST_MB << 20)
        check_bad(result, 0, "close other programs; capture holds pages until they are compressed", "%s are available", text);
    else
        check_good(result, "%s are available", text);
}

static void probe_disk(struct check_result *result)
{
    struct statvfs status;
    if (statvfs(".", &status) != 0) {
        check_bad(result, errno, "change to another directory", "cannot ask the current directory");
        return;
    }
    char text[UNITS_TEXT_BYTES];
    uint64_t free_bytes = (uint64_t)status.f_bavail * status.f_frsize;
    units_format_bytes(free_bytes, text);
    if (access(".", W_OK) != 0)
        check_bad(result, errno, "change to another directory, or use -o", "the current directory cannot be written");
    else if (free_bytes < DISK_LEAST_MB * 1000000ull)
        check_bad(result, 0, "free some space, or use -o on another disk", "%s are free in the current directory", text);
    else
        check_good(result, "%s are free in the current directory", text);
}

static void probe_clock(struct check_result *result)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < CLOCK_CALLS; i++)
        clock_gettime(CLOCK_MONOTONIC, &now);
    double cost_ns = ((double)(now.tv_sec - begin.tv_sec) * 1e9 + (double)(now.tv_nsec - begin.tv_nsec)) / (double)CLOCK_CALLS;
    char source[64] = "unknown";
    line_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source);
    if (cost_ns > clock_cost_most_ns)
        check_bad(result, 0, "regions of a few microseconds are not timed well with this clock source", "%s, %.0f ns a reading", source, cost_ns);
    else
        check_good(result, "%s, %.0f ns a reading", source, cost_ns);
}

static void probe_frequency(struct check_result *result)
{
    struct frequency frequency;
    char text[FREQUENCY_TEXT_BYTES];
    frequency_read("", &frequency);
    frequency_text(&frequency, text);
    if (frequency.follows_load)
        check_bad(result, 0, "the clock rises only when there has been work for a while, so that short replays are slow: cpupower frequency-set -g performance", "%s", text);
    else
        check_good(result, "%s", text);
}

static void probe_huge_pages(struct check_result *result)
{
    char mode[128];
    if (line_read("/sys/kernel/mm/transparent_hugepage/enabled", mode, sizeof mode))
        check_good(result, "%s", mode);
    else
        check_bad(result, 0, "none is needed", "not offered by this kernel");
}

const struct check_probe check_machine_probes[] = {
    {"cores", false, probe_cores},
    {"memory", false, probe_memory},
    {"disk", true, probe_disk},
    {"clock", false, probe_clock},
    {"frequency", false, probe_frequency},
    {"huge-pages", false, probe_huge_pages},
    {NULL, false, NULL},
};
