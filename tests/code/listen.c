/* tests/code/listen.c - a runtime that prints what the probes say, for probes.sh. */
#include "include/pcere/rt_abi.h"

#include <stdarg.h>
#include <stdio.h>

#define PCERE_RT_CALL(name, result, parameters) __attribute__((visibility("default"))) result name parameters;
#include "include/pcere/rt_abi.inc"
#undef PCERE_RT_CALL

void __pcere_region_begin(struct pcere_site *site, int32_t path, int32_t num_threads, int32_t proc_bind, int32_t argc, ...)
{
    fprintf(stderr, "begin %s function=%s line=%u path=%d num_threads=%d proc_bind=%d words=%d", site->region, site->function,
            site->line, path, num_threads, proc_bind, argc);
    va_list words;
    va_start(words, argc);
    for (int32_t i = 0; i < argc; i++) {
        uint64_t word = va_arg(words, uint64_t) & UINT32_MAX; /* an int leaves the upper half of its word as it was */
        if (word < 4096)
            fprintf(stderr, " %llu", (unsigned long long)word);
        else
            fprintf(stderr, " *");
    }
    va_end(words);
    fputc('\n', stderr);
}

void __pcere_region_end(struct pcere_site *site)
{
    fprintf(stderr, "end %s\n", site->region);
}
