/* tests/counts/print.c - preloaded: what the initial thread has counted when the program ends, one line an event, and its blocks where they are counted. */
#include "include/pcere/counts.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

enum { MOST = 64 };
static pcere_counts_fn *images[MOST];
static const struct pcere_counted_unit *units[MOST];
static size_t image_count, unit_count, forgotten;

void __pcere_counts_register(pcere_counts_fn *here)
{
    for (size_t i = 0; i < image_count; i++)
        if (images[i] == here)
            return;
    if (image_count == MOST)
        abort();
    images[image_count++] = here;
}

void __pcere_counts_forget(pcere_counts_fn *here)
{
    Dl_info whose, executable;
    if (dladdr((void *)here, &whose) && dladdr((void *)getauxval(AT_PHDR), &executable) && whose.dli_fbase == executable.dli_fbase)
        return;
    for (size_t i = 0; i < image_count; i++)
        if (images[i] == here) {
            images[i] = images[--image_count];
            forgotten++;
        }
}

void __pcere_blocks_register(const struct pcere_counted_unit *unit)
{
    if (unit_count == MOST)
        abort();
    units[unit_count++] = unit;
}

void __pcere_blocks_forget(const struct pcere_counted_unit *unit)
{
    (void)unit;
}

static void unit_print(const struct pcere_counted_unit *unit)
{
    const uint64_t *counters = unit->counters();
    uint64_t instructions = 0;
    for (uint32_t i = 0; i < unit->block_count; i++) {
        const struct pcere_counted_block *block = &unit->blocks[i];
        if (block->function >= unit->function_count || block->counter >= unit->counter_count)
            abort();
        instructions += counters[block->counter] * block->instructions;
        if (getenv("PRINT_BLOCKS"))
            fprintf(stderr, "%s %u %llu\n", unit->functions[block->function], block->block, (unsigned long long)counters[block->counter]);
    }
    fprintf(stderr, "by blocks %llu\n", (unsigned long long)instructions);
}

__attribute__((destructor)) static void end(void)
{
    static const char *const names[] = {
#define PCERE_COUNT(number, name, text, unit, words) [number] = text,
#include "include/pcere/counts.inc"
#undef PCERE_COUNT
    };
    for (size_t event = 0; event < PCERE_COUNT_END; event++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < image_count; i++)
            sum += images[i]()[event];
        fprintf(stderr, "%s %llu\n", names[event], (unsigned long long)sum);
    }
    fprintf(stderr, "images %zu, gone %zu\n", image_count, forgotten);
    for (size_t i = 0; i < unit_count; i++)
        unit_print(units[i]);
}
