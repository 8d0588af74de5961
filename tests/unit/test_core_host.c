/* tests/unit/test_core_host.c - a machine's name, its description and its processor's instruction sets. */
#include "core/host.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

static void test_a_given_name_is_in_name_and_description(void)
{
    char *name = NULL;
    json_t *host = NULL;
    CU_ASSERT_EQUAL_FATAL(host_set_name("sandybridge", NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(host_name(&name, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(host_describe(&host, NULL), PCERE_OK);
    char *text = json_dumps(host, JSON_COMPACT), *described = host_described_name(text);
    CU_ASSERT_STRING_EQUAL(name, "sandybridge");
    CU_ASSERT_STRING_EQUAL(described, "sandybridge");
    json_decref(host);
    free(text);
    free(name);
    free(described);
    CU_ASSERT_EQUAL(host_set_name(NULL, NULL), PCERE_OK);
}

static void test_descriptions_without_a_name_have_none(void)
{
    static const char *const bad[] = {NULL, "", "{", "[]", "{}", "{\"name\": 3}", "{\"name\": null}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT_PTR_NULL(host_described_name(bad[i]));
}

static void test_the_processor_tells_its_instruction_sets(void)
{
    char *features = NULL;
    CU_ASSERT_EQUAL_FATAL(host_cpu_features(&features, NULL), PCERE_OK);
    CU_ASSERT_TRUE(strlen(features) > 10);
#ifdef __x86_64__
    CU_ASSERT_PTR_NOT_NULL(strstr(features, "sse2"));
#endif
    free(features);
}

static const struct unit_test tests[] = {
    {"a given name is this machine's, and stands in its description", test_a_given_name_is_in_name_and_description},
    {"descriptions without a name have none, whatever they are", test_descriptions_without_a_name_have_none},
    {"the processor tells its instruction sets", test_the_processor_tells_its_instruction_sets},
};

UNIT_MAIN("core: the machine", tests)
