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
    "\"effective_bytes\":{\"value\":30000,\"low\":null,\"high\":null},\"streams_ratio\":{\"value\":0.6,\"low\":null,\"high\":null},\"restart_ns\":{\"value\":2.5,\"low\":2,\"high\":3},"
    "\"overlap_read_ratio\":{\"value\":0.9,\"low\":0.8,\"high\":0.95},\"overlap_write_ratio\":{\"value\":0.7,\"low\":null,\"high\":null},"
    "\"bandwidths\":[{\"threads\":1,\"read_bytes_per_s\":{\"value\":1e11,\"low\":null,\"high\":null},\"write_bytes_per_s\":null,\"triad_bytes_per_s\":{\"value\":9e10,\"low\":null,\"high\":null}}]},"
    "{\"level\":0,\"bytes\":1000000000,\"line_bytes\":64,\"ways\":0,\"shared_by\":4,\"latency_ns\":{\"value\":80,\"low\":70,\"high\":95},"
    "\"bandwidths\":[{\"threads\":1,\"read_bytes_per_s\":{\"value\":1e10,\"low\":null,\"high\":null},\"write_bytes_per_s\":null,\"triad_bytes_per_s\":null},"
    "{\"threads\":2,\"read_bytes_per_s\":{\"value\":1.5e10,\"low\":null,\"high\":null},\"write_bytes_per_s\":null,\"triad_bytes_per_s\":null,"
    "\"latency_ns\":{\"value\":88,\"low\":85,\"high\":91}}]}],"
    "\"pairs\":[{\"relation\":\"l2\",\"cpus\":[0,1],\"line_ns\":{\"value\":20,\"low\":null,\"high\":null},"
    "\"read\":{\"alpha_ns\":20,\"beta_ns_per_byte\":0.01,\"r2\":0.99,\"worst_residual_ratio\":0.1,"
    "\"pieces\":[{\"from_bytes\":64,\"to_bytes\":1024,\"alpha_ns\":20,\"beta_ns_per_byte\":0.01}],"
    "\"points\":[{\"bytes\":64,\"time_ns\":{\"value\":21,\"low\":20,\"high\":22}}]},"
    "\"write\":{\"alpha_ns\":1,\"beta_ns_per_byte\":0.02,\"r2\":null,\"worst_residual_ratio\":null,\"pieces\":[],\"points\":[]}}],"
    "\"arithmetic\":[{\"kind\":\"fma\",\"bits\":256,\"flops_per_s\":{\"value\":3.2e10,\"low\":null,\"high\":null}},"
    "{\"kind\":\"fma\",\"bits\":64,\"flops_per_s\":{\"value\":8e9,\"low\":null,\"high\":null}},{\"kind\":\"fma-chain\",\"bits\":64,\"flops_per_s\":{\"value\":1e9,\"low\":null,\"high\":null}}],"
    "\"pipeline\":[{\"kind\":\"load\",\"value\":{\"value\":3,\"low\":2.9,\"high\":3.1}},{\"kind\":\"window\",\"value\":{\"value\":192,\"low\":null,\"high\":null}}],"
    "\"overheads\":[{\"construct\":\"barrier\",\"threads\":2,\"time_ns\":{\"value\":-3,\"low\":-9,\"high\":4}}],"
    "\"clocks\":[{\"threads\":1,\"hz\":{\"value\":2e9,\"low\":1.9e9,\"high\":2.1e9},\"sustained_hz\":{\"value\":1.8e9,\"low\":null,\"high\":null},\"load_s\":2.5}],\"sources\":[\"a data sheet\"]}";

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
    if (!strstr(error.message, names))
        fprintf(stderr, "'%s' does not say '%s'\n", error.message, names);
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
    CU_ASSERT_DOUBLE_EQUAL(second.levels[1].bandwidths[1].latency_ns.high, 91, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(second.pairs[0].read.pieces[0].beta_ns_per_byte, 0.01, 1e-12);
    CU_ASSERT_EQUAL(second.pairs[0].read.points[0].bytes, 64);
    CU_ASSERT_TRUE(isnan(second.pairs[0].write.r2));
    CU_ASSERT_DOUBLE_EQUAL(second.overheads[0].time_ns.value, -3, 1e-12);
    CU_ASSERT_STRING_EQUAL(second.sources[0], "a data sheet");
    free(text);
    signature_done(&first);
    signature_done(&second);
}

/* What is replaced, by what, and what the message says then. */
struct change { const char *from, *to, *says; };

static void all_refused(const struct change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        refused(changes[i].from, changes[i].to, changes[i].says);
}
#define ALL_REFUSED(changes) all_refused(changes, sizeof(changes) / sizeof *(changes))

static void machine_absurd(void)
{
    static const struct change changes[] = {
        {"\"name\":\"box\"", "\"name\":\"../box\"", ": name is none"},
        {"\"name\":\"box\"", "\"name\":\"\"", ": name is none"},
        {"\"name\":\"box\"", "\"name\":\"a box\"", ": name is none"},
        {"\"sockets\":1", "\"sockets\":1000000", ": sockets times"},
        {"\"threads_per_core\":2", "\"threads_per_core\":1048576", ": sockets times"},
        {"\"frequency_hz\":2e9", "\"frequency_hz\":2.0", ": frequency_hz is none"},
        {"\"frequency_hz\":2e9", "\"frequency_hz\":-2e9", "\"frequency_hz\""},
        {"\"vector_bits\":256", "\"vector_bits\":200", ": vector_bits is no power of two"},
        {"\"page_bytes\":4096", "\"page_bytes\":4095", ": page_bytes is no power of two"},
        {"\"page_bytes\":4096", "\"page_bytes\":0", ": page_bytes is no power of two"},
        {"[\"a data sheet\"]", "[]", ": sources are empty"},
    };
    ALL_REFUSED(changes);
}

static void levels_absurd(void)
{
    static const struct change changes[] = {
        {"{\"level\":0,\"bytes\":1000000000", "{\"level\":2,\"bytes\":1000000000", ": levels[1].level is out of order"},
        {"{\"level\":1,\"bytes\":32768", "{\"level\":0,\"bytes\":32768", ": levels[0].level is out of order"},
        {"\"bytes\":32768", "\"bytes\":0", ": levels[0].bytes is zero"},
        {"\"line_bytes\":64,\"ways\":8", "\"line_bytes\":63,\"ways\":8", ": levels[0].line_bytes is no power of two"},
        {"\"ways\":8", "\"ways\":800", ": levels[0].ways times the line"},
        {"\"shared_by\":2", "\"shared_by\":0", ": levels[0].shared_by is zero"},
        {"\"shared_by\":4", "\"shared_by\":5", ": levels[1].shared_by is zero, or more"},
        {"\"shared_by\":4", "\"shared_by\":1", ": levels[1].shared_by is less than"},
        {"{\"value\":80,\"low\":70,", "{\"value\":-80,\"low\":null,", ": levels[1].latency_ns is not above zero"},
        {"{\"value\":80,\"low\":70,", "{\"value\":80,\"low\":-70,", ": levels[1].latency_ns has an interval that begins below zero"},
        {"{\"value\":80,\"low\":70,\"high\":95}", "{\"value\":0.5,\"low\":null,\"high\":null}", ": levels[1].latency_ns is below that of a nearer"},
        {"{\"value\":1.5,\"low\":1.4,", "{\"value\":1.5,\"low\":1.55,", ": levels[0].latency_ns lies outside"},
        {"{\"value\":88,\"low\":85,", "{\"value\":-88,\"low\":null,", ": levels[1].bandwidths[1].latency_ns is not above zero"},
        {"{\"value\":88,\"low\":85,", "{\"value\":88,\"low\":89,", ": levels[1].bandwidths[1].latency_ns lies outside"},
        {"{\"value\":88,\"low\":85,", "{\"value\":8,\"low\":5,", ": levels[1].bandwidths[1].latency_ns is far below"},
        {"\"effective_bytes\":{\"value\":30000", "\"effective_bytes\":{\"value\":0", ": levels[0].effective_bytes is not above zero"},
        {"\"effective_bytes\":{\"value\":30000", "\"effective_bytes\":{\"value\":3000000", ": levels[0].effective_bytes is far more"},
        {"\"restart_ns\":{\"value\":2.5", "\"restart_ns\":{\"value\":-2.5", ": levels[0].restart_ns is not above zero"},
        {"\"restart_ns\":{\"value\":2.5", "\"restart_ns\":{\"value\":9", ": levels[0].restart_ns lies outside"},
        {"\"streams_ratio\":{\"value\":0.6", "\"streams_ratio\":{\"value\":1.6", ": levels[0].streams_ratio is no share"},
        {"\"streams_ratio\":{\"value\":0.6", "\"streams_ratio\":{\"value\":-0.6", ": levels[0].streams_ratio is no share"},
        {"\"overlap_read_ratio\":{\"value\":0.9", "\"overlap_read_ratio\":{\"value\":1.1", ": levels[0].overlap_read_ratio is no share"},
        {"\"overlap_read_ratio\":{\"value\":0.9,\"low\":0.8", "\"overlap_read_ratio\":{\"value\":0.9,\"low\":0.91", ": levels[0].overlap_read_ratio lies outside"},
        {"\"overlap_write_ratio\":{\"value\":0.7", "\"overlap_write_ratio\":{\"value\":0", ": levels[0].overlap_write_ratio is no share"},
        {"{\"value\":1e11,", "{\"value\":-1e11,", ": levels[0].bandwidths[0].read_bytes_per_s is not above zero"},
        {"{\"value\":9e10,", "{\"value\":0,", ": levels[0].bandwidths[0].triad_bytes_per_s is not above zero"},
        {"{\"value\":1e11,", "{\"value\":1e9,", ": levels[1].bandwidths[0].read_bytes_per_s is more than that of a nearer"},
        {"\"threads\":2,\"read", "\"threads\":1,\"read", ": levels[1].bandwidths[1].threads is not above"},
        {"\"threads\":2,\"read", "\"threads\":5,\"read", ": levels[1].bandwidths[1].threads is more than"},
        {"{\"value\":1.5e10,", "{\"value\":9e10,", ": levels[1].bandwidths[1].read_bytes_per_s is far more than in proportion"},
    };
    ALL_REFUSED(changes);
}

static void pairs_absurd(void)
{
    static const struct change changes[] = {
        {"\"relation\":\"l2\"", "\"relation\":\"l9\"", ": pairs[0].relation"},
        {"\"cpus\":[0,1]", "\"cpus\":[1,1]", ": pairs[0].cpus is one processor"},
        {"\"overheads\":", "\"translation\":{\"reach_pages\":{\"value\":-5,\"low\":null,\"high\":null},\"miss_ns\":null},\"overheads\":", ": translation.reach_pages is not above zero"},
        {"\"overheads\":", "\"translation\":{\"reach_pages\":null,\"miss_ns\":{\"value\":0,\"low\":null,\"high\":null}},\"overheads\":", ": translation.miss_ns is not above zero"},
        {"\"line_ns\":{\"value\":20", "\"line_ns\":{\"value\":-20", ": pairs[0].line_ns is not above zero"},
        {"\"alpha_ns\":20,\"beta_ns_per_byte\":0.01,\"r2\"", "\"alpha_ns\":-20,\"beta_ns_per_byte\":0.01,\"r2\"", ": pairs[0].read.alpha_ns is below zero"},
        {"\"beta_ns_per_byte\":0.02", "\"beta_ns_per_byte\":-0.02", ": pairs[0].write.beta_ns_per_byte is below zero"},
        {"\"r2\":0.99", "\"r2\":1.99", "\"r2\""},
        {"\"from_bytes\":64,\"to_bytes\":1024", "\"from_bytes\":6400,\"to_bytes\":1024", ": pairs[0].read.pieces[0].from_bytes is out of order"},
        {"\"to_bytes\":1024,\"alpha_ns\":20", "\"to_bytes\":1024,\"alpha_ns\":-1", ": pairs[0].read.pieces[0].alpha_ns is below zero"},
        {"\"time_ns\":{\"value\":21", "\"time_ns\":{\"value\":-21", ": pairs[0].read.points[0].time_ns is not above zero"},
        {"{\"bytes\":64,\"time_ns\"", "{\"bytes\":0,\"time_ns\"", ": pairs[0].read.points[0].bytes is zero"},
    };
    ALL_REFUSED(changes);
}

static void costs_absurd(void)
{
    static const struct change changes[] = {
        {"\"value\":3.2e10", "\"value\":0", ": arithmetic[0].flops_per_s is not above zero"},
        {"\"bits\":256", "\"bits\":250", ": arithmetic[0].bits is no power of two"},
        {"{\"value\":1e9,", "{\"value\":1e11,", ": arithmetic[2].flops_per_s is far more than without waiting"},
        {"{\"value\":3,\"low\":2.9", "{\"value\":-3,\"low\":null", ": pipeline[0].value is not above zero"},
        {"{\"value\":3,\"low\":2.9,\"high\":3.1}", "{\"value\":300,\"low\":null,\"high\":null}", ": pipeline[0].value is more than any core"},
        {"{\"value\":192,", "{\"value\":1e9,", ": pipeline[1].value is more than any core"},
        {"\"construct\":\"barrier\",\"threads\":2", "\"construct\":\"barrier\",\"threads\":0", ": overheads[0].threads is zero"},
        {"{\"value\":-3,\"low\":-9", "{\"value\":-3e7,\"low\":-3e8", ": overheads[0].time_ns is far below zero"},
        {"{\"value\":-3,\"low\":-9", "{\"value\":-3,\"low\":-2", ": overheads[0].time_ns lies outside"},
        {"\"clocks\":[{\"threads\":1", "\"clocks\":[{\"threads\":7", ": clocks[0].threads is zero, more"},
        {"{\"value\":2e9,\"low\":1.9e9,", "{\"value\":-2e9,\"low\":-3e9,", ": clocks[0].hz is not above zero"},
        {"{\"value\":1.8e9,", "{\"value\":18,", ": clocks[0].sustained_hz is none"},
        {"{\"value\":2e9,\"low\":1.9e9,\"high\":2.1e9}", "{\"value\":2e15,\"low\":null,\"high\":null}", ": clocks[0].hz is none"},
    };
    ALL_REFUSED(changes);
}

static void malformed(void)
{
    static const struct change changes[] = {
        {"pcere.platform/1", "pcere.platform/9", "pcere.platform/9"},
        {"\"sockets\":1", "\"sockets\":0", "\"sockets\""},
        {"\"sockets\":1", "\"sockets\":\"one\"", "\"sockets\""},
        {"\"basis\":\"published\"", "\"basis\":\"guessed\"", "\"basis\""},
        {"\"name\":\"box\",", "", "\"name\""},
        {"\"sources\":[\"a data sheet\"]}", "\"sources\":[\"a data", "line 1"},
        {"\"fma\":true", "\"fma\":1", "\"fma\""},
        {"\"ways\":0", "\"ways\":\"none\"", "levels[1]: \"ways\""},
        {"{\"value\":80,", "{\"value\":\"slow\",", "levels[1]: latency_ns: \"value\""},
        {"{\"value\":1.5e10,", "{\"worth\":1.5e10,", "levels[1]: bandwidths[1]: read_bytes_per_s: \"value\""},
        {"\"effective_bytes\":{", "\"effective_bytes\":7,\"other\":{", "levels[0]: effective_bytes: \"value\""},
        {"\"streams_ratio\":{\"value\":0.6", "\"streams_ratio\":{\"value\":true", "levels[0]: streams_ratio: \"value\""},
        {"\"overlap_write_ratio\":{\"value\":0.7,\"low\":null", "\"overlap_write_ratio\":{\"value\":0.7,\"low\":\"\"", "levels[0]: overlap_write_ratio: \"low\""},
        {"\"cpus\":[0,1]", "\"cpus\":[0]", "pairs[0]: \"cpus\""},
        {"\"cpus\":[0,1]", "\"cpus\":[0,-1]", "pairs[0]: \"cpus\""},
        {"\"alpha_ns\":1,", "", "pairs[0]: write: \"alpha_ns\""},
        {"\"to_bytes\":1024,", "", "pairs[0]: read: pieces[0]: \"to_bytes\""},
        {"{\"bytes\":64,", "{", "pairs[0]: read: points[0]: \"bytes\""},
        {"\"value\":3.2e10", "\"value\":null", "arithmetic[0]: flops_per_s: \"value\""},
        {"{\"kind\":\"window\",", "{", "pipeline[1]: \"kind\""},
        {"\"construct\":\"barrier\"", "\"construct\":5", "overheads[0]: \"construct\""},
        {"\"hz\":{\"value\":2e9", "\"hz\":{\"value\":{}", "clocks[0]: hz: \"value\""},
        {"\"load_s\":2.5", "\"load\":2.5", "clocks[0]: \"load_s\""},
        {"\"a data sheet\"", "7", "sources"},
    };
    ALL_REFUSED(changes);
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
    {"a machine as a whole that cannot be is refused, naming the field", machine_absurd},
    {"so are levels of memory that cannot be", levels_absurd},
    {"so are pairs of processors", pairs_absurd},
    {"so are rates, overheads and clocks", costs_absurd},
    {"what is no signature is refused", malformed},
    {"a level's bandwidth is that of the nearest count of threads below", bandwidth_by_threads},
};
UNIT_MAIN("platform signature", tests)
