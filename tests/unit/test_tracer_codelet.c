/* What is not compared: known when the program stands still at the region's end, although it may be at its next stop when the codelet is finished. */
#include "capture-rt/protocol.h"
#include "capture-rt/tracer/codelet.h"
#include "capture-rt/tracer/libraries.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

#define WORD UINT64_C(0x7000)

static bool holds(const struct store_codelet *codelet, uint64_t address)
{
    for (size_t i = 0; i < codelet->ignored_count; i++)
        if (address - codelet->ignored[i].address < codelet->ignored[i].bytes)
            return true;
    return false;
}

static void words_of_the_frame(void)
{
    struct pcere_error error = {0};
    struct capture_log *log = calloc(1, sizeof *log);
    struct capture_thread *threads = calloc(CAPTURE_THREADS_MAX, sizeof *threads);
    struct store_codelet codelet = {0};
    struct libraries libraries = {0};
    struct elf_file *elf;
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    CU_ASSERT_PTR_NOT_NULL_FATAL(threads);
    CU_ASSERT_EQUAL_FATAL(elf_file_open("/proc/self/exe", &elf, &error), PCERE_OK);
    log->stop.frame_words[0] = WORD;
    log->stop.frame_word_count = 1;
    CU_ASSERT_EQUAL(codelet_end(log, 0, &codelet, &error), PCERE_OK);
    log->stop.frame_words[0] = 2 * WORD;        /* the next stop */
    CU_ASSERT_EQUAL(codelet_finish(log, threads, elf, &libraries, 0, &codelet, &error), PCERE_OK);
    CU_ASSERT_TRUE(holds(&codelet, WORD));
    CU_ASSERT_TRUE(holds(&codelet, WORD + 7));
    CU_ASSERT_FALSE(holds(&codelet, WORD + 8));
    CU_ASSERT_FALSE(holds(&codelet, 2 * WORD));
    store_codelet_done(&codelet);
    elf_file_close(elf);
    free(threads);
    free(log);
}

static void more_words_than_there_are(void)
{
    struct pcere_error error = {0};
    struct capture_log *log = calloc(1, sizeof *log);
    struct store_codelet codelet = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    log->stop.frame_word_count = UINT32_MAX;
    for (uint32_t i = 0; i < CAPTURE_FRAME_WORDS; i++)
        log->stop.frame_words[i] = WORD + 16 * i;
    CU_ASSERT_EQUAL(codelet_end(log, 0, &codelet, &error), PCERE_OK);
    CU_ASSERT_EQUAL(codelet.ignored_count, CAPTURE_FRAME_WORDS);
    store_codelet_done(&codelet);
    free(log);
}

/* Made or destroyed since the invocation began, at stop 70000. */
static void locks_of_the_region(void)
{
    static const struct { uint64_t stop; uint32_t state; bool inside; } cases[] = {
        {69999, CAPTURE_LOCK_LIVE, false}, {70000, CAPTURE_LOCK_LIVE, true}, {70001, CAPTURE_LOCK_DELETED, true}, {70002, CAPTURE_LOCK_LIVE, false}, {3, CAPTURE_LOCK_LIVE, false}};
    struct pcere_error error = {0};
    struct capture_log *log = calloc(1, sizeof *log);
    struct store_codelet codelet = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    log->stops = 70002;
    log->lock_blocks[0] = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        log->locks[i] = (struct capture_lock){.address = WORD + 64 * i, .state = cases[i].state, .kind = i % 2, .turn = (uint16_t)cases[i].stop};
    CU_ASSERT_EQUAL(codelet_end(log, 70000, &codelet, &error), PCERE_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CU_ASSERT_EQUAL(holds(&codelet, WORD + 64 * i), cases[i].inside);
        CU_ASSERT_EQUAL(holds(&codelet, WORD + 64 * i + 8), cases[i].inside && i % 2);
    }
    store_codelet_done(&codelet);
    free(log);
}

static const struct unit_test tests[] = {
    {"locks that a region makes or destroys are not compared", locks_of_the_region},
    {"words that the calling function wrote are those of the region's own end", words_of_the_frame},
    {"a count beyond the list is not believed", more_words_than_there_are},
};

UNIT_MAIN("tracer: codelet", tests)
