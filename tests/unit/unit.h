/* tests/unit/unit.h - one way to run CUnit suites: a table of named sentences, a summary line, a non-zero status on failure. */
#ifndef PCERE_TESTS_UNIT_H
#define PCERE_TESTS_UNIT_H

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>

struct unit_test {
    const char *sentence;      /* "a truncated pages file is refused" */
    void (*run)(void);
};

static inline int unit_main(const char *suite_name, const struct unit_test *tests, size_t count)
{
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 2;
    CU_pSuite suite = CU_add_suite(suite_name, NULL, NULL);
    for (size_t i = 0; suite && i < count; i++)
        if (!CU_add_test(suite, tests[i].sentence, tests[i].run))
            suite = NULL;
    if (!suite) {
        CU_cleanup_registry();
        return 2;
    }
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures() + CU_get_number_of_tests_failed();
    unsigned ran = CU_get_number_of_tests_run();
    CU_cleanup_registry();
    return failed || ran != count;
}

#define UNIT_MAIN(name, tests) \
    int main(void) { return unit_main(name, tests, sizeof(tests) / sizeof((tests)[0])); }

#endif
