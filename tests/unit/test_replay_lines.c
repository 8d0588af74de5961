/* tests/unit/test_replay_lines.c - lines that leave the caches: by the way that the processor has for many of them, each one that is named, and nothing of what they hold is lost. */
#if defined(__x86_64__)
#include "replay-rt/target/machine_x86_64.c"
#else
#include "replay-rt/target/machine_aarch64.c"
#endif
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINES = 64, ROUNDS = 4001 };

static _Alignas(4096) unsigned char lines[LINES * LINE_BYTES];

/* The kernel's own reading of the processor. */
static bool kernel_names(const char *flag)
{
    char line[8192];
    bool found = false;
    FILE *file = fopen("/proc/cpuinfo", "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    while (!found && fgets(line, sizeof line, file))
        if (!strncmp(line, "flags", 5))
            for (char *rest = line, *word; !found && (word = strtok_r(rest, " \t\n", &rest));)
                found = !strcmp(word, flag);
    fclose(file);
    return found;
}

static void lines_leave_together_where_the_processor_can(void)
{
#if defined(__x86_64__)
    CU_ASSERT_EQUAL(pcere_lines_leave_together(), kernel_names("clflushopt"));
    CU_ASSERT_EQUAL(pcere_lines_leave_together(), kernel_names("clflushopt"));
#else
    CU_ASSERT_TRUE(pcere_lines_leave_together());
#endif
}

static void what_lines_hold_stays(void)
{
    for (size_t i = 0; i < sizeof lines; i++)
        lines[i] = (unsigned char)(i * 7 + i / 251);
    pcere_lines_leave(lines, sizeof lines);
    pcere_lines_leave(lines + 1, 1);
    pcere_lines_leave(lines + 5, 0);
    pcere_lines_left();
    bool same = true;
    for (size_t i = 0; i < sizeof lines; i++)
        same &= lines[i] == (unsigned char)(i * 7 + i / 251);
    CU_ASSERT_TRUE(same);
}

#if defined(__x86_64__)
static int order(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Ticks that reading one line takes, in the median, where the range was told to leave before each. */
static uint64_t read_ticks(size_t line, const unsigned char *start, uint64_t bytes)
{
    static uint64_t ticks[ROUNDS];
    volatile unsigned char *at = lines + line * LINE_BYTES;
    for (size_t i = 0; i < ROUNDS; i++) {
        (void)*at;
        pcere_lines_leave(start, bytes);
        pcere_lines_left();
        __builtin_ia32_lfence();
        uint64_t begin = __builtin_ia32_rdtsc();
        __builtin_ia32_lfence();
        (void)*at;
        __builtin_ia32_lfence();
        ticks[i] = __builtin_ia32_rdtsc() - begin;
    }
    qsort(ticks, ROUNDS, sizeof *ticks, order);
    return ticks[ROUNDS / 2];
}

/* Five lines, of the outer two a byte each. */
static void every_line_of_a_range_leaves(void)
{
    uint64_t present = read_ticks(40, lines, 0);
    for (size_t line = 8; line < 13; line++)
        CU_ASSERT(2 * read_ticks(line, lines + 9 * LINE_BYTES - 1, 3 * LINE_BYTES + 2) > 3 * present);
}
#endif

static const struct unit_test tests[] = {
    {"lines leave in any order where the kernel says that the processor can", lines_leave_together_where_the_processor_can},
    {"what lines hold stays", what_lines_hold_stays},
#if defined(__x86_64__)
    {"every line of a range leaves", every_line_of_a_range_leaves},
#endif
};

UNIT_MAIN("replay: lines", tests)
