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
    CU_ASSERT_EQUAL(codelet_end(log, &codelet, &error), PCERE_OK);
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
    CU_ASSERT_EQUAL(codelet_end(log, &codelet, &error), PCERE_OK);
    CU_ASSERT_EQUAL(codelet.ignored_count, CAPTURE_FRAME_WORDS);
    store_codelet_done(&codelet);
    free(log);
}

static const struct unit_test tests[] = {
    {"words that the calling function wrote are those of the region's own end", words_of_the_frame},
    {"a count beyond the list is not believed", more_words_than_there_are},
};

UNIT_MAIN("tracer: codelet", tests)
