/* tests/unit/test_predictor_amdahl.c - the formulas of PCERE, section V-A, against values computed by hand. */
#include "predictor/amdahl.h"

#include "unit.h"

#include <math.h>
#include <string.h>

static void law(void)
{
    CU_ASSERT_EQUAL(amdahl_time(100, 0.2, 1), 100);
    CU_ASSERT_DOUBLE_EQUAL(amdahl_time(100, 0.2, 4), 40, 1e-12);      /* 20 + 80 / 4 */
    CU_ASSERT_DOUBLE_EQUAL(amdahl_time(100, 0, 8), 12.5, 1e-12);
    CU_ASSERT_EQUAL(amdahl_time(100, 1, 64), 100);
}

static void fit(void)
{
    double serial = -1, one = -1;
    CU_ASSERT_EQUAL(amdahl_fit(1, 100, 4, 40, &serial, &one, NULL), PCERE_OK);
    CU_ASSERT_DOUBLE_EQUAL(serial, 0.2, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(one, 100, 1e-12);
    CU_ASSERT_EQUAL(amdahl_fit(2, 60, 8, 30, &serial, &one, NULL), PCERE_OK);   /* 20 + 80 / n */
    CU_ASSERT_DOUBLE_EQUAL(serial, 0.2, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(one, 100, 1e-12);
    for (uint32_t n = 2; n < 64; n++) {
        CU_ASSERT_EQUAL(amdahl_fit(n, amdahl_time(7e9, 0.031, n), 1, 7e9, &serial, NULL, NULL), PCERE_OK);
        CU_ASSERT_DOUBLE_EQUAL(serial, 0.031, 1e-9);
    }
    CU_ASSERT_EQUAL(amdahl_fit(1, 100, 2, 120, &serial, NULL, NULL), PCERE_OK);
    CU_ASSERT_DOUBLE_EQUAL(serial, 1.4, 1e-12);                       /* slower with more threads */
    CU_ASSERT_EQUAL(amdahl_fit(1, 100, 2, 45, &serial, NULL, NULL), PCERE_OK);
    CU_ASSERT_DOUBLE_EQUAL(serial, -0.1, 1e-12);                      /* better than perfect */
}

static void fit_refusals(void)
{
    double serial = 99, one = 99;
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL(amdahl_fit(4, 100, 4, 40, &serial, &one, &error), PCERE_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.hint, "different thread counts"));
    CU_ASSERT_EQUAL(amdahl_fit(0, 100, 4, 40, &serial, &one, &error), PCERE_USAGE);
    CU_ASSERT_EQUAL(amdahl_fit(1, 0, 4, 40, &serial, &one, &error), PCERE_DATA);
    CU_ASSERT_EQUAL(amdahl_fit(1, NAN, 4, 40, &serial, &one, &error), PCERE_DATA);
    CU_ASSERT_EQUAL(amdahl_fit(8, 1, 2, 1e9, &serial, &one, &error), PCERE_OK);   /* odd, but a positive T(1) */
    CU_ASSERT_EQUAL(amdahl_fit(2, 1, 4, 1e9, &serial, &one, &error), PCERE_DATA); /* T(1) below 0 */
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "2 and 4 threads"));
}

static void weights(void)
{
    CU_ASSERT_EQUAL(amdahl_class_weight(400, 40000, 100), 400);
    CU_ASSERT_EQUAL(amdahl_class_weight(400, 40000, 102), 400);       /* within the scatter of one timing */
    CU_ASSERT_EQUAL(amdahl_class_weight(400, 40000, 98), 400);
    CU_ASSERT_EQUAL(amdahl_class_weight(400, 40000, 80), 500);        /* members differ by degree */
    CU_ASSERT_EQUAL(amdahl_class_weight(10, 5500, 1000), 5.5);        /* 100, 200, ... 1000, the longest represents */
    CU_ASSERT_EQUAL(amdahl_class_weight(10, 5500, 0), 10);
    CU_ASSERT_EQUAL(amdahl_class_weight(1, 7, 7), 1);
}

static void ratios(void)
{
    CU_ASSERT_EQUAL(amdahl_acceleration(50e9, 2e9), 25);
    CU_ASSERT_EQUAL(amdahl_acceleration(50e9, 0), 0);
    CU_ASSERT_DOUBLE_EQUAL(amdahl_error_ratio(98, 100), 0.02, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(amdahl_error_ratio(103, 100), 0.03, 1e-15);
    CU_ASSERT_EQUAL(amdahl_error_ratio(1, 0), 0);
}

static const struct unit_test tests[] = {
    {"Amdahl's law gives the time on n threads", law},
    {"two measurements give the serial fraction", fit},
    {"measurements that give no serial fraction are refused", fit_refusals},
    {"a class counts its members, or its time over the representative's", weights},
    {"acceleration and error are the paper's ratios", ratios},
};

UNIT_MAIN("predictor amdahl", tests)
