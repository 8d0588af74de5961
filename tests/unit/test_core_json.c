/* tests/unit/test_core_json.c - typed reading of JSON, strings that are not UTF-8, the description of this machine. */
#include "core/host.h"
#include "core/json.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static json_t *parse(const char *text)
{
    json_t *value = NULL;
    CU_ASSERT_EQUAL_FATAL(json_parse(text, strlen(text), "a test", &value, NULL), PCERE_OK);
    return value;
}

static void test_typed_reading(void)
{
    json_t *object = parse("{\"n\": 7, \"i\": -3, \"b\": true, \"s\": \"x\", \"z\": null, \"a\": [1], \"o\": {}, \"h\": \"00000000000000ff\"}");
    struct pcere_error error = {0};
    struct json_reader reader = {.where = "a test", .error = &error};
    CU_ASSERT_EQUAL(json_read_u64(&reader, object, "n", 7), 7);
    CU_ASSERT_EQUAL(json_read_i64(&reader, object, "i", -3, 0), -3);
    CU_ASSERT_TRUE(json_read_bool(&reader, object, "b"));
    char *string = json_read_string(&reader, object, "s", false);
    CU_ASSERT_STRING_EQUAL(string, "x");
    free(string);
    CU_ASSERT_PTR_NULL(json_read_string(&reader, object, "z", true));
    CU_ASSERT_EQUAL(json_array_size(json_read_array(&reader, object, "a")), 1);
    CU_ASSERT_PTR_NOT_NULL(json_read_object(&reader, object, "o"));
    CU_ASSERT_EQUAL(json_read_hex64(&reader, object, "h"), 255);
    CU_ASSERT_EQUAL(reader.status, PCERE_OK);
    json_decref(object);
}

static void test_wrong_types_name_the_key(void)
{
    json_t *object = parse("{\"n\": 8, \"m\": -1, \"s\": 5, \"h\": \"00000000000000FF\", \"r\": 1.5, \"x\": {\"hex\": \"6100\"}}");
    for (int i = 0; i < 9; i++) {
        static const char *const keys[] = {"n", "m", "s", "h", "r", "x", "none", "none", "n"};
        struct pcere_error error = {0};
        struct json_reader reader = {.where = "the file", .error = &error};
        bool empty = true;
        if (i == 2 || i == 5)
            empty = !json_read_string(&reader, object, keys[i], true);
        else if (i == 3)
            empty = !json_read_hex64(&reader, object, keys[i]);
        else if (i == 7)
            empty = !json_read_array(&reader, object, keys[i]);
        else if (i == 8)
            empty = !json_read_bool(&reader, object, keys[i]);
        else
            empty = !json_read_u64(&reader, object, keys[i], 7);
        CU_ASSERT_TRUE(empty);
        char expected[40];
        snprintf(expected, sizeof expected, "the file: \"%s\" is not ", keys[i]);
        CU_ASSERT_EQUAL(reader.status, PCERE_DATA);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, expected));
    }
    json_decref(object);
}

static void test_first_failure_is_kept(void)
{
    json_t *object = parse("{}");
    struct pcere_error error = {0};
    struct json_reader reader = {.where = "f", .error = &error};
    json_read_u64(&reader, object, "first", 1);
    json_read_bool(&reader, object, "second");
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "first"));
    json_decref(object);
}

static void test_any_string_comes_back(void)
{
    static const char *const strings[] = {"", "plain", "\xff\x80 raw", "quote\" \n back\\slash", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        bool failed = false;
        json_t *object = json_object();
        json_put(object, "k", json_from_string(strings[i]), &failed);
        CU_ASSERT_FALSE(failed);
        char *text = json_dumps(object, 0);
        json_decref(object);
        object = parse(text);
        free(text);
        struct json_reader reader = {.where = "f"};
        char *back = json_read_string(&reader, object, "k", false);
        CU_ASSERT_PTR_NOT_NULL_FATAL(back);
        CU_ASSERT_STRING_EQUAL(back, strings[i]);
        free(back);
        json_decref(object);
    }
    CU_ASSERT_PTR_NULL(json_from_u64(UINT64_MAX));
}

static void test_bad_json_says_where(void)
{
    json_t *value;
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL(json_parse("{\n\"a\": ]", 8, "manifest.json", &value, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "manifest.json is not valid JSON: line 2"));
    CU_ASSERT_EQUAL(json_parse("{\"a\":1,\"a\":2}", 13, "f", &value, &error), PCERE_DATA);
}

static void test_full_disk_is_an_error(void)
{
    json_t *object = parse("{\"a\": 1}");
    struct pcere_error error = {0};
    FILE *full = fopen("/dev/full", "w"), *good = fopen("/dev/null", "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(full);
    CU_ASSERT_EQUAL(json_write(object, full, "standard output", &error), PCERE_SYSTEM);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "standard output"));
    CU_ASSERT_EQUAL(json_write(object, good, "standard output", &error), PCERE_OK);
    fclose(full);
    fclose(good);
    json_decref(object);
}

static void test_host_name(void)
{
    char *name;
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL_FATAL(host_name(&name, &error), PCERE_OK);
    CU_ASSERT_TRUE(strlen(name) > 0 && strlen(name) < HOST_NAME_BYTES);
    CU_ASSERT_EQUAL(strcspn(name, " /\n\t"), strlen(name));
    free(name);
    CU_ASSERT_EQUAL(host_set_name("sandybridge", NULL), PCERE_OK);
    CU_ASSERT_EQUAL(host_set_name("two words", &error), PCERE_USAGE);
    CU_ASSERT_EQUAL(host_set_name("../up", &error), PCERE_USAGE);
    CU_ASSERT_EQUAL(host_set_name("a123456789012345678901234567890123456789012345678901234567890123", &error), PCERE_USAGE);
    CU_ASSERT_EQUAL_FATAL(host_name(&name, NULL), PCERE_OK);
    CU_ASSERT_STRING_EQUAL(name, "sandybridge");
    free(name);
    CU_ASSERT_EQUAL(host_set_name(NULL, NULL), PCERE_OK);
}

static void test_host_description(void)
{
    json_t *host;
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL(host_set_name("here", NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(host_describe(&host, &error), PCERE_OK);
    struct json_reader reader = {.where = "host", .error = &error};
    uint64_t cores = json_read_u64(&reader, host, "cores", 65536), threads = json_read_u64(&reader, host, "threads", 65536);
    CU_ASSERT_TRUE(cores >= 1 && threads >= cores);
    CU_ASSERT_EQUAL(threads, (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    CU_ASSERT_TRUE(json_read_u64(&reader, host, "memory_bytes", INT64_MAX) > 1000000);
    CU_ASSERT_EQUAL(json_read_u64(&reader, host, "page_size_bytes", INT64_MAX), (uint64_t)sysconf(_SC_PAGESIZE));
    CU_ASSERT_PTR_NOT_NULL(json_read_array(&reader, host, "caches"));
    char *name = json_read_string(&reader, host, "name", false);
    CU_ASSERT_EQUAL_FATAL(reader.status, PCERE_OK);
    CU_ASSERT_STRING_EQUAL(name, "here");
    free(name);
    json_decref(host);
    CU_ASSERT_EQUAL(host_set_name("", NULL), PCERE_OK);
}

static const struct unit_test tests[] = {
    {"values are read by their type", test_typed_reading},
    {"a wrong type names the file and the key", test_wrong_types_name_the_key},
    {"the first failure is kept", test_first_failure_is_kept},
    {"any string comes back, UTF-8 or not", test_any_string_comes_back},
    {"bad JSON says where", test_bad_json_says_where},
    {"output that does not fit on a disk is an error", test_full_disk_is_an_error},
    {"a machine has a name of one word, which can be given", test_host_name},
    {"a machine is described", test_host_description},
};

UNIT_MAIN("core: json and host", tests)
