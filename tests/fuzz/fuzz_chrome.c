/* tests/fuzz/fuzz_chrome.c - Chrome's trace format: any text. What is read has begins before ends, and threads and strings that are there. */
#include "tests/fuzz/fuzz.h"
#include "trace/chrome.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[100];
    struct timeline timeline = {0};
    struct pcere_error error = {0};
    snprintf(path, sizeof path, "%s/chrome.json", fuzz_folder_get());
    fuzz_write(path, data, size);
    enum pcere_status status = chrome_read(path, 0, &timeline, &error);
    FUZZ_EXPECT(status == PCERE_OK || (status == PCERE_DATA && *error.message));
    if (status == PCERE_OK) {
        timeline_roles_find(&timeline);
        FUZZ_EXPECT(timeline_pair(&timeline, &error) == PCERE_OK);
        for (size_t i = 0; i < timeline.span_count; i++) {
            const struct span *span = &timeline.spans[i];
            FUZZ_EXPECT(span->begin_ns <= span->end_ns && span->thread < timeline.thread_count && span->name < timeline.string_count && span->place < timeline.string_count);
        }
        for (size_t i = 0; i < timeline.thread_count; i++)
            FUZZ_EXPECT(timeline.threads[i].process < timeline.process_count);
    }
    struct timeline parts = {0};
    FUZZ_EXPECT(chrome_read(path, 64, &parts, &error) == status);
    FUZZ_EXPECT(status != PCERE_OK || (parts.cut == timeline.cut && parts.thread_count == timeline.thread_count && parts.string_count == timeline.string_count));
    timeline_done(&parts);
    timeline_done(&timeline);
    return 0;
}
