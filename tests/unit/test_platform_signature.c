/* tests/unit/test_platform_signature.c - signatures of machines: round trip, and what no machine can be. */
#include "core/json.h"
#include "platform/signature.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const sound =
    "{\"schema\":\"pcere.platform/1\",\"name\":\"box\",\"title\":\"a box\",\"basis\":\"published\",\"isa\":\"x86-64\",\"frequency_hz\":2e9,"
    "\"sockets\":1,\"cores_per_socket\":2,\"threads_per_core\":2,\"numa_nodes\":1,\"vector_bits\":256,\"fma\":true,\"page_bytes\":4096,\"pinned\":true,"
    "\"levels\":[{\"level\":1,\"bytes\":32768,\"line_bytes\":64,\"ways\":8,\"shared_by\":2,\"latency_ns\":{\"value\":1.5,\"low\":1.4,\"high\":1.6},"
    "\"bandwidths\":[{\"threads\":1,\"read_bytes_per_s\":{\"value\":1e11,\"low\":null,\"high\":null},\"write_bytes_per_s\":null,\"triad_bytes_per_s\":null}]},"
    "{\"level\":0,\"bytes\":1000000000,\"line_bytes\":64,\"ways\":0,\"shared_by\":4,\"latency_ns\":{\"value\":80,\"low\":70,\"high\":95},"
    "\"bandwidths\":[{\"threads\":1,\"read_bytes_per_s\":{\"value\":1e10,\"low\":null,\"high\":null},\"write_bytes_per_s\":null,\"triad_bytes_per_s\":null},"
    "{\"threads\":2,\"read_bytes_per_s\":{\"value\":1.5e10,\"low\":null,\"high\":null},\"write_bytes_per_s\":null,\"triad_bytes_per_s\":null}]}],"
    "\"pairs\":[{\"relation\":\"l2\",\"cpus\":[0,1],\"line_ns\":{\"value\":20,\"low\":null,\"high\":null},"
    "\"read\":{\"alpha_ns\":20,\"beta_ns_per_byte\":0.01,\"r2\":0.99,\"worst_residual_ratio\":0.1,"
    "\"pieces\":[{\"from_bytes\":64,\"to_bytes\":1024,\"alpha_ns\":20,\"beta_ns_per_byte\":0.01}],"
    "\"points\":[{\"bytes\":64,\"time_ns\":{\"value\":21,\"low\":20,\"high\":22}}]},"
    "\"write\":{\"alpha_ns\":1,\"beta_ns_per_byte\":0.02,\"r2\":null,\"worst_residual_ratio\":null,\"pieces\":[],\"points\":[]}}],"
    "\"arithmetic\":[{\"kind\":\"fma\",\"bits\":256,\"flops_per_s\":{\"value\":3.2e10,\"low\":null,\"high\":null}}],"
    "\"overheads\":[{\"construct\":\"barrier\",\"threads\":2,\"time_ns\":{\"value\":-3,\"low\":-9,\"high\":4}}],"
    "\"clocks\":[{\"threads\":1,\"hz\":{\"value\":2e9,\"low\":1.9e9,\"high\":2.1e9}}],\"sources\":[\"a data sheet\"]}";

static enum pcere_status read_text(const char *text, struct platform_signature *signature, struct pcere_error *error)
{
    return signature_read(text, strlen(text), "box.json", signature, error);
}

/* `sound` with the first `from` replaced, which must be there. */
static char *altered(const char *from, const char *to)
{
    const char *at = strstr(sound, from);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    char *text = NULL;
    CU_ASSERT_FATAL(asprintf(&text, "%.*s%s%s", (int)(at - sound), sound, to, at + strlen(from)) > 0);
    return text;
}

static void refused(const char *from, const char *to, const char *names)
{
    struct platform_signature signature = {0};
    struct pcere_error error = {0};
    char *text = altered(from, to);
    CU_ASSERT_EQUAL(read_text(text, &signature, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, names));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "box.json"));
    CU_ASSERT_PTR_NULL(signature.name);
    free(text);
}

static void round_trip(void)
{
    struct platform_signature first = {0}, second = {0};
    struct pcere_error error = {0};
    json_t *object = NULL;
    CU_ASSERT_EQUAL_FATAL(read_text(sound, &first, &error), PCERE_OK);
    CU_ASSERT_EQUAL(signature_threads(&first), 4);
    CU_ASSERT_EQUAL(signature_cores(&first), 2);
    CU_ASSERT_EQUAL_FATAL(signature_write(&first, &object, &error), PCERE_OK);
    char *text = json_dumps(object, 0);
    json_decref(object);
    CU_ASSERT_EQUAL_FATAL(read_text(text, &second, &error), PCERE_OK);
    CU_ASSERT_STRING_EQUAL(second.name, "box");
    CU_ASSERT_EQUAL(second.basis, PLATFORM_PUBLISHED);
    CU_ASSERT_EQUAL(second.level_count, 2);
    CU_ASSERT_DOUBLE_EQUAL(second.levels[0].latency_ns.high, 1.6, 1e-12);
    CU_ASSERT_TRUE(isnan(second.levels[0].bandwidths[0].read.low));
    CU_ASSERT_FALSE(quantity_known(&second.levels[0].bandwidths[0].write));
    CU_ASSERT_DOUBLE_EQUAL(second.pairs[0].read.pieces[0].beta_ns_per_byte, 0.01, 1e-12);
    CU_ASSERT_EQUAL(second.pairs[0].read.points[0].bytes, 64);
    CU_ASSERT_TRUE(isnan(second.pairs[0].write.r2));
    CU_ASSERT_DOUBLE_EQUAL(second.overheads[0].time_ns.value, -3, 1e-12);
    CU_ASSERT_STRING_EQUAL(second.sources[0], "a data sheet");
    free(text);
    signature_done(&first);
    signature_done(&second);
}

static void absurd(void)
{
    refused("\"latency_ns\":{\"value\":80,\"low\":70,\"high\":95}", "\"latency_ns\":{\"value\":-80,\"low\":null,\"high\":null}", "levels[1].latency_ns");
    refused("\"latency_ns\":{\"value\":80,\"low\":70,\"high\":95}", "\"latency_ns\":{\"value\":0.5,\"low\":null,\"high\":null}", "levels[1].latency_ns is below");
    refused("{\"value\":1e11,", "{\"value\":1e9,", "levels[1].bandwidths pass more");
    refused("\"threads\":2,\"read", "\"threads\":1,\"read", "levels[1].bandwidths are not in ascending order");
    refused("{\"value\":1.5,\"low\":1.4,", "{\"value\":1.5,\"low\":1.55,", "levels[0].latency_ns");
    refused("\"alpha_ns\":20,\"beta_ns_per_byte\":0.01,\"r2\"", "\"alpha_ns\":-20,\"beta_ns_per_byte\":0.01,\"r2\"", "pairs[0]");
    refused("\"value\":3.2e10", "\"value\":0", "arithmetic[0].flops_per_s");
    refused("{\"level\":0,\"bytes\":1000000000", "{\"level\":2,\"bytes\":1000000000", "levels[1].level");
}

static void malformed(void)
{
    refused("pcere.platform/1", "pcere.platform/9", "pcere.platform/9");
    refused("\"sockets\":1", "\"sockets\":0", "\"sockets\"");
    refused("\"sockets\":1", "\"sockets\":\"one\"", "\"sockets\"");
    refused("\"basis\":\"published\"", "\"basis\":\"guessed\"", "\"basis\"");
    refused("\"name\":\"box\",", "", "\"name\"");
    refused("\"sources\":[\"a data sheet\"]}", "\"sources\":[\"a data", "line 1");
    refused("\"fma\":true", "\"fma\":1", "\"fma\"");
    struct platform_signature signature = {0};
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL(read_text("[]", &signature, &error), PCERE_DATA);
    for (size_t length = 0; length < strlen(sound); length += 7)      /* cut anywhere: refused, and nothing leaks */
        CU_ASSERT_EQUAL(signature_read(sound, length, "cut", &signature, &error), PCERE_DATA);
}

static void bandwidth_by_threads(void)
{
    struct platform_signature signature = {0};
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL_FATAL(read_text(sound, &signature, &error), PCERE_OK);
    CU_ASSERT_EQUAL(level_bandwidth(&signature.levels[1], 1)->threads, 1);
    CU_ASSERT_EQUAL(level_bandwidth(&signature.levels[1], 64)->threads, 2);
    signature.levels[0].bandwidth_count = 0;
    CU_ASSERT_PTR_NULL(level_bandwidth(&signature.levels[0], 1));
    signature_done(&signature);
}

static const struct unit_test tests[] = {
    {"a signature that was written reads as it was", round_trip},
    {"what no machine can be is refused, naming the field", absurd},
    {"what is no signature is refused", malformed},
    {"a level's bandwidth is that of the nearest count of threads below", bandwidth_by_threads},
};
UNIT_MAIN("platform signature", tests)
