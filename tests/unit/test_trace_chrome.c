/* tests/unit/test_trace_chrome.c - Chrome's trace format: what is read of it, and what is refused. */
#include "tests/unit/unit.h"
#include "trace/chrome.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/pcere-chrome-XXXXXX";

static void put(const char *text, size_t bytes)
{
    static int file = -1;
    if (file < 0)
        CU_ASSERT_FATAL((file = mkstemp(path)) >= 0);
    CU_ASSERT_FATAL(ftruncate(file, 0) == 0 && pwrite(file, text, bytes, 0) == (ssize_t)bytes);
}

static enum pcere_status text_read(const char *text, struct timeline *timeline, struct pcere_error *error)
{
    *timeline = (struct timeline){0};
    *error = (struct pcere_error){0};
    put(text, strlen(text));
    return chrome_read(path, 0, timeline, error);
}

static void test_events_of_all_forms(void)
{
    struct timeline timeline;
    struct pcere_error error;
    CU_ASSERT_EQUAL_FATAL(text_read("\xef\xbb\xbf{\"displayTimeUnit\":\"ns\", \"other\":{\"a\":[1,{\"b\":\"}]\"}]},\n \"traceEvents\" : [\n"
        "{\"ph\":\"M\",\"pid\":3,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"Head Process\"}},\n"
        "{\"ph\":\"M\",\"pid\":9,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"worker_process_1\"}},\n"
        "{\"pid\":9,\"tid\":7,\"ph\":\"X\",\"ts\":1.5,\"dur\":2.0004,\"name\":\"Task 12\",\"args\":{\"task_id\":\"12\",\"source_location\":\"a\\\"b.c:1:2\"}},\n"
        "{\"args\":{\"mpi_tag\":5,\"origin\":0,\"destination\":2,\"deep\":[[{}]]},\"name\":\"Submit / Begin\",\"dur\":1e3,\"ts\":-2,\"ph\":\"X\",\"tid\":7,\"pid\":9},\n"
        "{\"pid\":3,\"tid\":1,\"ph\":\"B\",\"ts\":10,\"name\":\"Target Enter (Nowait)\"},{\"pid\":3,\"tid\":1,\"ph\":\"E\",\"ts\":12.25},\n"
        "{\"pid\":3,\"tid\":1,\"ph\":\"s\",\"ts\":1,\"id\":4}, {\"pid\":3,\"tid\":1,\"ph\":\"X\",\"ts\":true,\"dur\":1,\"name\":\"x\"}\n]}", &timeline, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(timeline.span_count, 3);
    CU_ASSERT_EQUAL(timeline.process_count, 2);
    CU_ASSERT_EQUAL(timeline.ignored, 1);
    CU_ASSERT_EQUAL(timeline.broken, 1);
    CU_ASSERT_FALSE(timeline.cut);
    const struct span *task = &timeline.spans[0], *submit = &timeline.spans[1], *enter = &timeline.spans[2];
    CU_ASSERT_EQUAL(task->kind, SPAN_TASK);
    CU_ASSERT_EQUAL(task->task, 12);
    CU_ASSERT_EQUAL(task->begin_ns, 1500);
    CU_ASSERT_EQUAL(task->end_ns, 3500);
    CU_ASSERT_STRING_EQUAL(timeline.strings[task->place], "a\\\"b.c:1:2");
    CU_ASSERT_EQUAL(submit->kind, SPAN_SUBMIT);
    CU_ASSERT_EQUAL(submit->part, SPAN_BEGIN);
    CU_ASSERT_EQUAL(submit->begin_ns, -2000);
    CU_ASSERT_EQUAL(submit->end_ns, 998000);
    CU_ASSERT_EQUAL(submit->tag, 5);
    CU_ASSERT_EQUAL(submit->destination, 2);
    CU_ASSERT_EQUAL(enter->kind, SPAN_TARGET_ENTER);
    CU_ASSERT_TRUE(enter->nowait);
    CU_ASSERT_EQUAL(enter->end_ns - enter->begin_ns, 2250);
    timeline_roles_find(&timeline);
    CU_ASSERT_EQUAL(timeline.processes[0].role, 0);
    CU_ASSERT_EQUAL(timeline.processes[1].role, 2);
    timeline_done(&timeline);
}

#define EVENT "{\"pid\":1,\"tid\":1,\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"x\"}"

static void test_cut_files_keep_what_is_whole(void)
{
    struct timeline timeline;
    struct pcere_error error;
    const char *const cut[] = {"[" EVENT ",{\"pid\":1,\"ti", "{\"traceEvents\":[" EVENT ",\n", "{\"traceEvents\":[" EVENT, "[" EVENT ",{\"name\":\"ab", "[" EVENT " nonsense",
                               "[" EVENT ", 17]"};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        CU_ASSERT_EQUAL(text_read(cut[i], &timeline, &error), PCERE_OK);
        CU_ASSERT_EQUAL(timeline.span_count, 1);
        CU_ASSERT_TRUE(timeline.cut);
        timeline_done(&timeline);
    }
    const char *const whole[] = {"[" EVENT "]", "[" EVENT ",\n", "[" EVENT, "{\"traceEvents\":[" EVENT "]", "[" EVENT ",]"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        CU_ASSERT_EQUAL(text_read(whole[i], &timeline, &error), PCERE_OK);
        CU_ASSERT_EQUAL(timeline.span_count, 1);
        CU_ASSERT_FALSE(timeline.cut);
        timeline_done(&timeline);
    }
}

static void test_foreign_files_are_refused(void)
{
    struct timeline timeline;
    struct pcere_error error;
    const char *const foreign[] = {"{}", "{\"a\":1}", "17", "{\"traceEvents\":{}}", "[]", "{\"traceEvents\":[]}", "{\"a\":\"", "[[[[", "\"traceEvents\""};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        CU_ASSERT_EQUAL(text_read(foreign[i], &timeline, &error), PCERE_DATA);
        CU_ASSERT_TRUE(error.message[0] != '\0');
        timeline_done(&timeline);
    }
    CU_ASSERT_EQUAL(chrome_read("/nonexistent/trace.json", 0, &timeline, &error), PCERE_USAGE);
    timeline_done(&timeline);
}

static int by_all(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct span));
}

/* Reading a file in parts of a few bytes gives what reading it at once does. */
static void parts_are_the_whole(void)
{
    struct timeline whole = {0};
    struct pcere_error error;
    enum pcere_status status = chrome_read(path, UINT64_MAX, &whole, &error);
    for (uint64_t bytes = 40; bytes < 260; bytes += 100) {
        struct timeline parts = {0};
        CU_ASSERT_EQUAL(chrome_read(path, bytes, &parts, &error), status);
        CU_ASSERT_EQUAL(parts.cut, whole.cut);
        CU_ASSERT_EQUAL(parts.broken, whole.broken);
        CU_ASSERT_EQUAL(parts.ignored, whole.ignored);
        CU_ASSERT_EQUAL(parts.unfinished, whole.unfinished);
        CU_ASSERT_EQUAL(parts.thread_count, whole.thread_count);
        CU_ASSERT_EQUAL(parts.string_count, whole.string_count);
        CU_ASSERT_EQUAL(parts.span_count, whole.span_count);
        if (parts.span_count == whole.span_count && whole.span_count) {
            qsort(parts.spans, parts.span_count, sizeof *parts.spans, by_all);
            qsort(whole.spans, whole.span_count, sizeof *whole.spans, by_all);
            CU_ASSERT_EQUAL(memcmp(parts.spans, whole.spans, whole.span_count * sizeof *whole.spans), 0);
        }
        timeline_done(&parts);
    }
    timeline_done(&whole);
}

static void test_parts_that_are_read_by_several_threads_are_the_whole(void)
{
    /* begins and ends in other parts; objects in arguments that look like events; an end without a begin */
    static const char *const pieces[] = {
        "{\"ph\":\"B\",\"pid\":1,\"tid\":1,\"ts\":%d,\"name\":\"Execute\"}", "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":%d}",
        "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":%d,\"dur\":0.5,\"name\":\"a \\\"},{\\\"\",\"args\":{\"source_location\":\"f.c:3\"}}",
        "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"Head %d\"}}",
        "{\"ph\":\"X\",\"pid\":2,\"tid\":2,\"ts\":%d,\"dur\":7,\"name\":\"Submit\",\"other\":[{},{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"pid\":77},{\"ph\":\"X\"}]}",
    };
    char text[8192];
    uint64_t state = 7;
    for (int round = 0; round < 60; round++) {
        int length = snprintf(text, sizeof text, "{\"traceEvents\":[");
        for (int i = 0; i < 30; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            length += snprintf(text + length, sizeof text - (size_t)length, "%s", i ? " ,\n " : "");
            length += snprintf(text + length, sizeof text - (size_t)length, pieces[(state >> 33) % 5], i * 10);
        }
        length += snprintf(text + length, sizeof text - (size_t)length, round % 3 ? "]}" : round % 2 ? "" : ", ?");
        for (int i = 0; round % 5 == 4 && i + 1 < length; i++)      /* damage inside of strings */
            if (text[i] == 'f' && text[i + 1] == '.')
                text[i] = '\0';
        put(text, (size_t)length);
        parts_are_the_whole();
    }
}

static void test_every_prefix_and_damage_ends_well(void)
{
    static const char text[] = "{\"traceEvents\":[" EVENT "," EVENT ",{\"pid\":2,\"args\":{\"task_id\":7,\"s\":\"\\\\\\\"\"},\"ph\":\"B\",\"ts\":-1.25e2,\"name\":\"Task 9\"}]}";
    char copy[sizeof text];
    struct timeline timeline = {0};
    struct pcere_error error;
    for (size_t length = 0; length < sizeof text - 1; length++) {
        put(text, length);
        timeline = (struct timeline){0};
        enum pcere_status status = chrome_read(path, 0, &timeline, &error);
        CU_ASSERT_TRUE(status == PCERE_OK || status == PCERE_DATA);
        CU_ASSERT_TRUE(timeline.span_count <= 3);
        timeline_done(&timeline);
        parts_are_the_whole();
    }
    for (size_t i = 0; i < sizeof text - 1; i++)
        for (const char *damage = "\"{}[],:\\\n0"; *damage; damage++) {
            memcpy(copy, text, sizeof text);
            copy[i] = *damage;
            put(copy, sizeof text - 1);
            timeline = (struct timeline){0};
            enum pcere_status status = chrome_read(path, 0, &timeline, &error);
            CU_ASSERT_TRUE(status == PCERE_OK || status == PCERE_DATA);
            timeline_done(&timeline);
            parts_are_the_whole();
        }
}

static void test_windows_move_over_long_files(void)
{
    enum { EVENTS = 120000 };
    char *text = malloc((size_t)EVENTS * 130), *at = text;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    at += sprintf(at, "[");
    for (int i = 0; i < EVENTS; i++)
        at += sprintf(at, "%s{\"name\":\"Task %d\",\"ph\":\"X\",\"ts\":%d.125,\"dur\":0.5,\"pid\":1,\"tid\":%d,\"args\":{\"source_location\":\"f.c:%d:1\"}}", i ? ",\n" : "", i, i, i % 3,
                      i % 7);
    at += sprintf(at, "]");
    put(text, (size_t)(at - text));
    struct timeline timeline = {0};
    struct pcere_error error;
    CU_ASSERT_EQUAL(chrome_read(path, 0, &timeline, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(timeline.span_count, EVENTS);
    for (size_t i = 0; i < EVENTS; i++) {
        char place[24];
        snprintf(place, sizeof place, "f.c:%zu:1", i % 7);
        if (timeline.spans[i].task != i || timeline.spans[i].begin_ns != (int64_t)i * 1000 + 125 || strcmp(timeline.strings[timeline.spans[i].place], place) != 0) {
            CU_FAIL("an event changed");
            break;
        }
    }
    timeline_done(&timeline);
    free(text);
}

static void test_begins_and_ends_are_paired(void)
{
    struct timeline timeline;
    struct pcere_error error;
    CU_ASSERT_EQUAL_FATAL(text_read("["
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":1,\"name\":\"Submit / Begin\",\"args\":{\"mpi_tag\":1}},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":12,\"dur\":1,\"name\":\"Forward / Begin\",\"args\":{\"mpi_tag\":2}},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":20,\"dur\":2,\"name\":\"Submit / End\",\"args\":{\"mpi_tag\":1}},"
        "{\"ph\":\"X\",\"pid\":2,\"tid\":1,\"ts\":20,\"dur\":2,\"name\":\"Forward / End\",\"args\":{\"mpi_tag\":2}}]", &timeline, &error), PCERE_OK);
    CU_ASSERT_EQUAL(timeline_pair(&timeline, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(timeline.span_count, 3);
    CU_ASSERT_EQUAL(timeline.spans[0].part, SPAN_WHOLE);
    CU_ASSERT_EQUAL(timeline.spans[0].end_ns, 22000);
    CU_ASSERT_EQUAL(timeline.spans[1].part, SPAN_BEGIN);
    CU_ASSERT_EQUAL(timeline.unfinished, 2);
    timeline_done(&timeline);
}

static void path_remove(void)
{
    unlink(path);
}

static const struct unit_test tests[] = {
    {"events of all forms are read", test_events_of_all_forms},
    {"of a file that is cut or damaged what is whole is kept", test_cut_files_keep_what_is_whole},
    {"foreign files are refused", test_foreign_files_are_refused},
    {"parts that are read by several threads are the whole", test_parts_that_are_read_by_several_threads_are_the_whole},
    {"every prefix and every damaged byte ends well", test_every_prefix_and_damage_ends_well},
    {"a file longer than the window is read whole", test_windows_move_over_long_files},
    {"begins and ends of one operation become one", test_begins_and_ends_are_paired},
};

int main(void)
{
    atexit(path_remove);
    return unit_main("trace chrome", tests, sizeof tests / sizeof *tests);
}
