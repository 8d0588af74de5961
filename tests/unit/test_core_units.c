/* tests/unit/test_core_units.c - quantities for people, thread lists, growing text. */
#include "core/text.h"
#include "core/units.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

static void test_times(void)
{
    static const struct { uint64_t ns; const char *text; } cases[] = {
        {0, "0 ns"}, {812, "812 ns"}, {999, "999 ns"}, {1000, "1.00 us"}, {9994, "9.99 us"}, {9996, "10.0 us"}, {18400000, "18.4 ms"},
        {999499999, "999 ms"}, {999500000, "1.00 s"}, {2050000000, "2.05 s"}, {171000000000, "171 s"}, {3600000000000, "3600 s"},
    };
    char text[UNITS_TEXT_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CU_ASSERT_STRING_EQUAL(units_format_ns(cases[i].ns, text), cases[i].text);
    CU_ASSERT_STRING_EQUAL(units_format_ns(UINT64_MAX, text), "18446744074 s");
}

static void test_sizes(void)
{
    static const struct { uint64_t bytes; const char *text; } cases[] = {
        {0, "0 B"}, {1023, "1023 B"}, {1024, "1.00 KiB"}, {1288490189, "1.20 GiB"}, {97622425, "93.1 MiB"}, {1048575, "1.00 MiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    char text[UNITS_TEXT_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CU_ASSERT_STRING_EQUAL(units_format_bytes(cases[i].bytes, text), cases[i].text);
}

static void test_thread_lists(void)
{
    unsigned *threads;
    size_t count;
    CU_ASSERT_EQUAL_FATAL(units_parse_threads("--threads", "1,2,4,8", &threads, &count, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(count, 4);
    CU_ASSERT_EQUAL(threads[3], 8);
    free(threads);
    CU_ASSERT_EQUAL_FATAL(units_parse_threads("--threads", "16,2,16,007", &threads, &count, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(count, 3);
    CU_ASSERT_EQUAL(threads[0], 16);
    CU_ASSERT_EQUAL(threads[2], 7);
    free(threads);
}

static void test_bad_thread_lists(void)
{
    static const struct { const char *text, *says; } cases[] = {
        {"", "is empty"}, {"0", "0 in '0' is not"}, {"1,0", "0 in '1,0'"}, {"x", "'x' is not a number"}, {"1,,2", "'1,,2' has an empty item"},
        {",", "has an empty item"}, {"1,", "'1,' has an empty item"}, {"1 2", "'1 2' is not a number"}, {"-1", "'-1' is not"},
        {"+1", "'+1' is not"}, {"0x4", "'0x4' is not"}, {"1,2a", "'2a' is not"}, {"65537", "65537 is more than 65536"},
        {"99999999999999999999999", "is more than 65536"}, {"4294967297", "is more than 65536"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned *threads = NULL;
        size_t count = 77;
        struct pcere_error error = {0};
        CU_ASSERT_EQUAL(units_parse_threads("--threads", cases[i].text, &threads, &count, &error), PCERE_USAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "--threads: "));
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, cases[i].says));
        CU_ASSERT_TRUE(threads == NULL && count == 77);
    }
}

static void test_counts(void)
{
    uint64_t value = 5;
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL(units_parse_count("--repeat", "10", 1, 100, &value, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(value, 10);
    CU_ASSERT_EQUAL(units_parse_count("--repeat", "18446744073709551615", 0, UINT64_MAX, &value, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(value, UINT64_MAX);
    static const char *const bad[] = {"", "0", "101", "1 ", "-1", "18446744073709551616", "1e1", "9999999999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT_EQUAL(units_parse_count("--repeat", bad[i], 1, 100, &value, &error), PCERE_USAGE);
    CU_ASSERT_STRING_EQUAL(error.message, "--repeat: '9999999999999999999999999' is not a whole number from 1 to 100");
    CU_ASSERT_EQUAL(value, UINT64_MAX);
}

static void test_text(void)
{
    struct text text = {0};
    for (int i = 0; i < 1000; i++)
        text_addf(&text, "%d,", i);
    text_add_bytes(&text, "a\0b", 3);
    CU_ASSERT_EQUAL(text.length, 10 + 180 + 2700 + 1000 + 3);
    CU_ASSERT_EQUAL(text.data[text.length], 0);
    char *taken = text_take(&text);
    CU_ASSERT_EQUAL(strncmp(taken, "0,1,2,", 6), 0);
    CU_ASSERT_PTR_NULL(text.data);
    free(taken);
    taken = text_take(&text);
    CU_ASSERT_STRING_EQUAL(taken, "");
    free(taken);
}

static void test_text_without_memory(void)
{
    struct text text = {0};
    text_add(&text, "x");
    text_add_bytes(&text, NULL, SIZE_MAX);
    CU_ASSERT_TRUE(text.failed);
    text_add(&text, "y");
    CU_ASSERT_PTR_NULL(text_take(&text));
    CU_ASSERT_FALSE(text.failed);
}

static void test_ratios(void)
{
    static const struct { const char *text; double ratio; } good[] = {{"1%", 0.01}, {"0.5%", 0.005}, {"0.01", 0.01}, {".25", 0.25}, {"99.9%", 0.999}};
    static const char *const bad[] = {"", "%", "1", "0", "0%", "100%", "-1%", "1 %", "1%%", "1,5%", "0x1p-3", "nan", ".", "1.2.3%", "1e-2", "00000000000000001%"};
    double ratio;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CU_ASSERT_EQUAL(units_parse_ratio("--precision", good[i].text, &ratio, NULL), PCERE_OK);
        CU_ASSERT_DOUBLE_EQUAL(ratio, good[i].ratio, 1e-12);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct pcere_error error = {0};
        CU_ASSERT_EQUAL(units_parse_ratio("--precision", bad[i], &ratio, &error), PCERE_USAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "--precision"));
    }
}

static void test_spans(void)
{
    static const struct { const char *text; uint64_t ns; } good[] = {
        {"10s", 10000000000}, {"500ms", 500000000}, {"2m", 120000000000}, {"1.5", 1500000000}, {"1min", 60000000000}, {"2h", 7200000000000}, {"1ms", 1000000}};
    static const char *const bad[] = {"", "s", "0", "0s", "0.1ms", "-3s", "3 s", "3us", "10S", "1e9", "99999999999h", "inf"};
    uint64_t ns;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CU_ASSERT_EQUAL(units_parse_time("--budget", good[i].text, &ns, NULL), PCERE_OK);
        CU_ASSERT_EQUAL(ns, good[i].ns);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct pcere_error error = {0};
        CU_ASSERT_EQUAL(units_parse_time("--budget", bad[i], &ns, &error), PCERE_USAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "--budget"));
    }
}

static const struct unit_test tests[] = {
    {"a ratio is read with and without a percent sign", test_ratios},
    {"a time is read in its unit", test_spans},
    {"times have three digits and the right unit", test_times},
    {"sizes have three digits and the right unit", test_sizes},
    {"a list of thread counts is read in order, each once", test_thread_lists},
    {"a bad list of thread counts says what is wrong", test_bad_thread_lists},
    {"a count is read within its range only", test_counts},
    {"text grows and is handed over", test_text},
    {"text remembers that memory ran out", test_text_without_memory},
};

UNIT_MAIN("core: units and text", tests)
