/* platform/probe/probe.c - the words of the command line, and what all experiments share. */
#include "probe.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

void probe_print(double value)
{
    printf("%.9g\n", value);
    fflush(stdout);
}

void probe_refuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("pcere-probe: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(3);
}

uint64_t probe_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int pinning = 1;

void probe_pin(unsigned cpu)
{
    if (!pinning)
        return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        probe_refuse("processor %u may not be used: %s", cpu, strerror(errno));
}

void *probe_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        probe_refuse("no %zu bytes of memory: %s", bytes, strerror(errno));
    return memory;
}

static const struct {
    const char *name;
    void (*run)(const struct probe *probe);
} tasks[] = {
    {"latency", probe_latency}, {"bandwidth", probe_bandwidth}, {"pair", probe_pair},
    {"arithmetic", probe_arithmetic}, {"function", probe_function}, {"clock", probe_clock}, {"sustain", probe_sustain}, {"overhead", probe_overhead},
    {"overlap", probe_overlap}, {"capacity", probe_capacity}, {"pipeline", probe_pipeline},
    {"translation", probe_translation},
};

static unsigned long number_parse(const char *word, const char *text, unsigned long most)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (errno || end == text || *end || number > most) {
        fprintf(stderr, "pcere-probe: '%s' does not hold a number in its range\n", word);
        exit(2);
    }
    return number;
}

static void cpus_parse(struct probe *probe, char *word, char *list)
{
    char *rest = NULL;
    for (char *item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        if (probe->cpu_count == PROBE_CPUS_MOST) {
            fprintf(stderr, "pcere-probe: more than %d processors\n", PROBE_CPUS_MOST);
            exit(2);
        }
        probe->cpus[probe->cpu_count++] = (unsigned)number_parse(word, item, CPU_SETSIZE - 1);
    }
}

int main(int count, char **words)
{
    static struct probe probe = {.kind = "", .bits = 64, .repeats = 1, .load_ms = 1000};
    for (int i = 2; i < count; i++) {
        char *value = strchr(words[i], '=');
        size_t key = value ? (size_t)(value++ - words[i]) : 0;
        if (key == 4 && strncmp(words[i], "kind", 4) == 0)
            probe.kind = value;
        else if (key == 4 && strncmp(words[i], "cpus", 4) == 0)
            cpus_parse(&probe, words[i], value);
        else if (key == 6 && strncmp(words[i], "pinned", 6) == 0)
            pinning = number_parse(words[i], value, 1) != 0;
        else if (key == 5 && strncmp(words[i], "bytes", 5) == 0)
            probe.bytes = number_parse(words[i], value, SIZE_MAX / 4);
        else if (key == 4 && strncmp(words[i], "bits", 4) == 0)
            probe.bits = (unsigned)number_parse(words[i], value, 512);
        else if (key == 7 && strncmp(words[i], "repeats", 7) == 0)
            probe.repeats = (unsigned)number_parse(words[i], value, 1000000);
        else if (key == 4 && strncmp(words[i], "load", 4) == 0)
            probe.load_ms = (unsigned)number_parse(words[i], value, 60000);
        else {
            fprintf(stderr, "pcere-probe: '%s' is not KEY=VALUE with a key of a probe\n", words[i]);
            return 2;
        }
    }
    for (size_t i = 0; count > 1 && i < sizeof tasks / sizeof *tasks; i++)
        if (strcmp(tasks[i].name, words[1]) == 0) {
            if (!probe.cpu_count)
                probe_refuse("no processors are named");
            tasks[i].run(&probe);
            return 0;
        }
    fprintf(stderr, "usage: pcere-probe latency|bandwidth|pair|arithmetic|function|clock|sustain|overhead|overlap|capacity|pipeline|translation KEY=VALUE...\n");
    return 2;
}
