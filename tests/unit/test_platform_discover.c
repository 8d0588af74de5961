/* tests/unit/test_platform_discover.c - lines through transfers, machines that are not here, and discovery from recorded answers. */
#include "platform/discover.h"
#include "platform/hockney.h"
#include "platform/topology.h"
#include "tests/unit/unit.h"

#include <hwloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Hockney ------------------------------------------------------------------------------------------------------------- */

static void line_exact(void)
{
    const uint64_t bytes[] = {64, 1024, 65536, 1048576};
    double times[4];
    for (int i = 0; i < 4; i++)
        times[i] = 50 + 0.25 * (double)bytes[i];
    struct hockney_line line = hockney_fit(bytes, times, 4);
    CU_ASSERT_DOUBLE_EQUAL(line.alpha_ns, 50, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(line.beta_ns_per_byte, 0.25, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(line.r2, 1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(line.worst_residual_ratio, 0, 1e-9);
}

/* By hand: t = 2 at 1 byte, 3 at 2 bytes, weights 1/4 and 1/9: two points, so the line passes through both. */
static void line_by_hand(void)
{
    struct hockney_line line = hockney_fit((const uint64_t[]){1, 2}, (const double[]){2, 3}, 2);
    CU_ASSERT_DOUBLE_EQUAL(line.alpha_ns, 1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(line.beta_ns_per_byte, 1, 1e-9);
}

static void line_edges(void)
{
    struct hockney_line one = hockney_fit((const uint64_t[]){100}, (const double[]){50}, 1);
    CU_ASSERT_DOUBLE_EQUAL(one.alpha_ns, 0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(one.beta_ns_per_byte, 0.5, 1e-12);
    /* it would cross zero below zero: alpha stays 0 */
    struct hockney_line steep = hockney_fit((const uint64_t[]){100, 200}, (const double[]){10, 100}, 2);
    CU_ASSERT_DOUBLE_EQUAL(steep.alpha_ns, 0, 1e-12);
    CU_ASSERT(steep.beta_ns_per_byte > 0);
    /* it would fall: beta stays 0 */
    struct hockney_line falling = hockney_fit((const uint64_t[]){100, 200}, (const double[]){100, 10}, 2);
    CU_ASSERT_DOUBLE_EQUAL(falling.beta_ns_per_byte, 0, 1e-12);
    CU_ASSERT(falling.alpha_ns > 0);
    struct hockney_line same = hockney_fit((const uint64_t[]){100, 100}, (const double[]){50, 50}, 2);
    CU_ASSERT_DOUBLE_EQUAL(same.beta_ns_per_byte, 0.5, 1e-9);
}

static void pieces(void)
{
    struct platform_point points[6];
    const uint64_t bytes[] = {64, 1024, 16384, 65536, 262144, 1048576};
    for (int i = 0; i < 6; i++) {
        double time = bytes[i] <= 32768 ? 10 + 0.1 * (double)bytes[i] : 100 + 0.5 * (double)bytes[i];
        points[i] = (struct platform_point){bytes[i], {time, time, time}};
    }
    struct platform_transfer transfer = {.points = points, .point_count = 6};
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL_FATAL(hockney_pieces(&transfer, (const uint64_t[]){32768}, 1, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(transfer.piece_count, 2);
    CU_ASSERT_EQUAL(transfer.pieces[0].to_bytes, 16384);
    CU_ASSERT_DOUBLE_EQUAL(transfer.pieces[0].beta_ns_per_byte, 0.1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(transfer.pieces[1].alpha_ns, 100, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(hockney_time_ns(&transfer, 1024), 10 + 102.4, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(hockney_time_ns(&transfer, 131072), 100 + 65536, 1e-6);
    CU_ASSERT(transfer.worst_residual_ratio > 0.2);      /* one line does not do */
    free(transfer.pieces);
}

/* ---- topology ------------------------------------------------------------------------------------------------------------ */

/* What hwloc tells of a machine that is not here. */
static char *machine_xml(const char *description)
{
    hwloc_topology_t machine;
    char *text = NULL, *copy;
    int length = 0;
    CU_ASSERT_FATAL(hwloc_topology_init(&machine) == 0);
    CU_ASSERT_FATAL(hwloc_topology_set_synthetic(machine, description) == 0);
    CU_ASSERT_FATAL(hwloc_topology_load(machine) == 0);
    CU_ASSERT_FATAL(hwloc_topology_export_xmlbuffer(machine, &text, &length, 0) == 0);
    copy = strdup(text);
    hwloc_free_xmlbuffer(machine, text);
    hwloc_topology_destroy(machine);
    return copy;
}

#define TWO_SOCKETS "pack:2 [numa(memory=8GB)] l3:1(size=20971520) l2:4(size=262144) l1d:1(size=32768) core:1 pu:2"

static void two_sockets(void)
{
    struct topology topology = {0};
    struct pcere_error error = {0};
    char *xml = machine_xml(TWO_SOCKETS);
    CU_ASSERT_EQUAL_FATAL(topology_read(xml, 2, &topology, &error), PCERE_OK);
    free(xml);
    CU_ASSERT_EQUAL(topology.sockets, 2);
    CU_ASSERT_EQUAL(topology.cores_per_socket, 4);
    CU_ASSERT_EQUAL(topology.threads_per_core, 2);
    CU_ASSERT_EQUAL(topology.numa_nodes, 2);
    CU_ASSERT_EQUAL_FATAL(topology.cache_count, 3);
    CU_ASSERT_EQUAL(topology.caches[0].level, 1);
    CU_ASSERT_EQUAL(topology.caches[0].shared_by, 2);
    CU_ASSERT_EQUAL(topology.caches[2].bytes, 20u << 20);
    CU_ASSERT_EQUAL(topology.caches[2].shared_by, 8);
    CU_ASSERT_EQUAL(topology.cpu_count, 16);
    CU_ASSERT_EQUAL(topology.core_count, 8);
    CU_ASSERT_EQUAL(topology.cpus[0], 0);
    CU_ASSERT_EQUAL(topology.cpus[1], 2);         /* the next core, not the core's second thread */
    CU_ASSERT_EQUAL(topology.cpus[8], 1);
    unsigned core = 0, l3 = 0, machine = 0;
    for (size_t i = 0; i < topology.pair_count; i++) {
        const struct topology_pair *pair = &topology.pairs[i];
        core += strcmp(pair->relation, "core") == 0;
        l3 += strcmp(pair->relation, "l3") == 0;
        machine += strcmp(pair->relation, "machine") == 0;
        if (strcmp(pair->relation, "core") == 0)
            CU_ASSERT_EQUAL(pair->cpus[0] / 2, pair->cpus[1] / 2);
        if (strcmp(pair->relation, "machine") == 0)
            CU_ASSERT_NOT_EQUAL(pair->cpus[0] / 8, pair->cpus[1] / 8);
    }
    CU_ASSERT_EQUAL(core, 2);
    CU_ASSERT_EQUAL(l3, 2);
    CU_ASSERT_EQUAL(machine, 2);
    CU_ASSERT_EQUAL(topology.pair_count, 6);
    topology_done(&topology);
}

static void divided_package(void)
{
    static const char *const expected[] = {"l3", "numa", "package"};
    struct topology topology = {0};
    struct pcere_error error = {0};
    char *xml = machine_xml("pack:1 group:2 [numa(memory=8GB)] l3:2(size=8388608) l2:2(size=524288) core:1 pu:1");
    CU_ASSERT_EQUAL_FATAL(topology_read(xml, 1, &topology, &error), PCERE_OK);
    free(xml);
    CU_ASSERT_EQUAL(topology.numa_nodes, 2);
    CU_ASSERT_EQUAL_FATAL(topology.pair_count, 3);
    for (size_t i = 0; i < topology.pair_count; i++)
        CU_ASSERT_STRING_EQUAL(topology.pairs[i].relation, expected[i]);
    CU_ASSERT_EQUAL(topology.pairs[1].cpus[1], 2);      /* another cache, the same memory */
    CU_ASSERT_EQUAL(topology.pairs[2].cpus[1], 4);      /* the other half of the package */
    topology_done(&topology);
}

static void this_machine(void)
{
    struct topology topology = {0};
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL_FATAL(topology_read(NULL, 1, &topology, &error), PCERE_OK);
    CU_ASSERT(topology.cpu_count >= 1 && topology.core_count >= 1 && topology.core_count <= topology.cpu_count);
    CU_ASSERT(topology.sockets * topology.cores_per_socket * topology.threads_per_core >= topology.cpu_count || topology.cpu_count == 1);
    topology_done(&topology);
    CU_ASSERT_EQUAL(topology_read("<no topology>", 1, &topology, &error), PCERE_DATA);
    CU_ASSERT(error.message[0] && error.hint[0]);
}

/* ---- discovery from recorded answers --------------------------------------------------------------------------------------- */

struct recorded { unsigned calls, pinned_calls, disturbed, sustains; bool may_pin, silent; };      /* disturbed: latencies of so many calls are absurd */

static unsigned long value_of(const char *const *words, const char *key)
{
    for (; *words; words++)
        if (strncmp(*words, key, strlen(key)) == 0)
            return strtoul(*words + strlen(key), NULL, 10);
    return 0;
}

static bool has(const char *const *words, const char *word)
{
    for (; *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

/* A machine of 1 ns for each doubling of the memory above 4 KiB, without vectors of 512 bits. */
static enum pcere_status answer(void *context, const char *const *words, const char *const *environment, char **ret_output, int *ret_exit,
                                struct pcere_error *error)
{
    struct recorded *recorded = context;
    bool pinned = !has(words, "pinned=0");
    (void)error;
    recorded->calls++;
    recorded->pinned_calls += pinned;
    CU_ASSERT(strncmp(environment[0], "OMP_PLACES=", 11) == 0);
    *ret_output = NULL;
    *ret_exit = (pinned && !recorded->may_pin) || recorded->silent || value_of(words, "bits=") == 512 ? 3 : 0;
    double value = 2e9;
    if (strcmp(words[0], "latency") == 0)
        value = recorded->disturbed && recorded->disturbed-- ? 1e6 / log2((double)value_of(words, "bytes=")) : log2((double)value_of(words, "bytes=") / 4096);
    else if (strcmp(words[0], "bandwidth") == 0)
        value = 1e16 / (double)value_of(words, "bytes=");
    else if (strcmp(words[0], "overlap") == 0)
        value = 0.5;
    else if (strcmp(words[0], "capacity") == 0)
        value = (double)value_of(words, "bytes=");
    else if (strcmp(words[0], "pipeline") == 0)
        value = has(words, "kind=refill") || has(words, "refill") ? 17 : has(words, "kind=window") || has(words, "window") ? 192 : 3;
    else if (strcmp(words[0], "pair") == 0)
        value = 30 + 0.5 * (double)value_of(words, "bytes=");
    else if (strcmp(words[0], "overhead") == 0)
        value = 123;
    else if (strcmp(words[0], "sustain") == 0) {
        CU_ASSERT_EQUAL(value_of(words, "load="), 300);
        recorded->sustains++;
        value = strchr(words[1], ',') ? 1.6e9 : 1.99e9;
    }
    char *output = NULL;
    CU_ASSERT_FATAL(asprintf(&output, "%.9g\n%.9g\n%.9g\nnan\n", value * 0.98, value, value * 1.01) > 0);
    *ret_output = output;
    return PCERE_OK;
}

static enum pcere_status discover(struct recorded *recorded, struct platform_signature *signature, struct discover_summary *summary, struct pcere_error *error)
{
    struct topology topology = {0};
    char *xml = machine_xml(TWO_SOCKETS);
    CU_ASSERT_EQUAL_FATAL(topology_read(xml, 1, &topology, error), PCERE_OK);
    free(xml);
    const struct discover_options options = {.topology = &topology, .name = "box", .title = "a box", .isa = "x86-64", .source = "recorded",
                                             .clock_source = "clock: recorded", .load_ms = 300, .page_bytes = 4096, .quick = true, .run = answer, .context = recorded};
    enum pcere_status status = platform_discover(&options, signature, summary, error);
    topology_done(&topology);
    return status;
}

static void discovered(void)
{
    struct recorded recorded = {.may_pin = true};
    struct platform_signature signature = {0};
    struct discover_summary summary = {0};
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL_FATAL(discover(&recorded, &signature, &summary, &error), PCERE_OK);
    CU_ASSERT_EQUAL(recorded.calls, summary.experiments + 1);      /* one to find out about pinning */
    CU_ASSERT_EQUAL(recorded.pinned_calls, recorded.calls);
    CU_ASSERT_EQUAL(summary.rounds, 1);
    CU_ASSERT_EQUAL(summary.refused, 3);                           /* add, fma, divide of 512 bits */
    CU_ASSERT_EQUAL(signature_check(&signature, "box", &error), PCERE_OK);
    CU_ASSERT_TRUE(signature.pinned);
    CU_ASSERT_EQUAL(signature.vector_bits, 256);
    CU_ASSERT_TRUE(signature.fma);
    CU_ASSERT_EQUAL_FATAL(signature.level_count, 4);
    CU_ASSERT_DOUBLE_EQUAL(signature.levels[0].latency_ns.value, 2, 1e-6);      /* 16 KiB */
    CU_ASSERT_DOUBLE_EQUAL(signature.levels[0].latency_ns.low, 1.96, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(signature.levels[0].latency_ns.high, 2.02, 1e-6);
    CU_ASSERT_EQUAL_FATAL(signature.levels[0].bandwidth_count, 6);              /* 1, 2, 3, 4, 6 and 8 threads */
    CU_ASSERT_FALSE(quantity_known(&signature.levels[0].bandwidths[0].latency_ns));      /* it is the level's */
    CU_ASSERT_TRUE(quantity_known(&signature.levels[3].bandwidths[5].latency_ns));
    CU_ASSERT_EQUAL(signature.pair_count, 3);
    CU_ASSERT_DOUBLE_EQUAL(signature.pairs[0].read.alpha_ns, 30, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(signature.pairs[0].read.beta_ns_per_byte, 0.5, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(signature.frequency_hz, 2e9, 1);
    CU_ASSERT_STRING_EQUAL(signature.sources[1], "clock: recorded");
    CU_ASSERT_EQUAL_FATAL(signature.clock_count, 2);
    CU_ASSERT_DOUBLE_EQUAL(signature.clocks[1].sustained_hz.value, 1.6e9, 1);
    CU_ASSERT_DOUBLE_EQUAL(signature.clocks[1].load_s, 0.3, 1e-9);
    double load_s, alone = 2 / 1.99, all = 1.25, part = 3.0 / (signature.clocks[1].threads - 1);
    CU_ASSERT_DOUBLE_EQUAL(signature_clock_falls(&signature, 1, &load_s), 1, 1e-9);              /* within noise */
    CU_ASSERT_DOUBLE_EQUAL(load_s, 0.3, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(signature_clock_falls(&signature, signature.clocks[1].threads, NULL), all, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(signature_clock_falls(&signature, 1000, NULL), all, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(signature_clock_falls(&signature, 4, NULL), alone + part * (all - alone), 1e-9);
    signature.clocks[0].sustained_hz = signature.clocks[1].sustained_hz = quantity_unknown;
    CU_ASSERT_DOUBLE_EQUAL(signature_clock_falls(&signature, 4, NULL), 1, 1e-9);
    size_t known = 0;
    for (size_t i = 0; i < signature.pipeline_count; i++) {
        const struct platform_pipeline *one = &signature.pipeline[i];
        double value = strcmp(one->kind, "refill") == 0 ? 17 : strcmp(one->kind, "window") == 0 ? 192 : 3;
        CU_ASSERT_DOUBLE_EQUAL(one->value.value, value, 1e-6);
        known += value > 3;
    }
    CU_ASSERT_EQUAL(known, 2);
    signature_done(&signature);
}

static void unpinned(void)
{
    struct recorded recorded = {.may_pin = false};
    struct platform_signature signature = {0};
    struct discover_summary summary = {0};
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL_FATAL(discover(&recorded, &signature, &summary, &error), PCERE_OK);
    CU_ASSERT_EQUAL(recorded.pinned_calls, 1);
    CU_ASSERT_FALSE(signature.pinned);
    CU_ASSERT_DOUBLE_EQUAL(signature.levels[0].latency_ns.low, 1.96 / 1.25, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(signature.levels[0].latency_ns.high, 2.02 * 1.25, 1e-6);
    signature_done(&signature);
}

/* Four levels: the first round is wrong throughout; of two rounds the median lies between, of three it is right. */
static void disturbed(void)
{
    struct recorded recorded = {.may_pin = true, .disturbed = 4};
    struct platform_signature signature = {0};
    struct discover_summary summary = {0};
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL_FATAL(discover(&recorded, &signature, &summary, &error), PCERE_OK);
    CU_ASSERT_EQUAL(summary.rounds, 3);
    CU_ASSERT_EQUAL(recorded.sustains, 2);                         /* with one thread and with all, once */
    CU_ASSERT_EQUAL(signature_check(&signature, "box", &error), PCERE_OK);
    CU_ASSERT_DOUBLE_EQUAL(signature.levels[0].latency_ns.value, 2.02, 1e-6);
    signature_done(&signature);
}

static void silent(void)
{
    struct recorded recorded = {.may_pin = true, .silent = true};
    struct platform_signature signature = {0};
    struct discover_summary summary = {0};
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL(discover(&recorded, &signature, &summary, &error), PCERE_REFUSED);
    CU_ASSERT_PTR_NULL(signature.name);
}

static const struct unit_test tests[] = {
    {"points on a line give the line", line_exact},
    {"two points give the line through them", line_by_hand},
    {"neither coefficient becomes negative", line_edges},
    {"sizes on either side of a cache's capacity have lines of their own", pieces},
    {"a machine of two sockets is described, and its kinds of pairs are found", two_sockets},
    {"parts of a package with memory of their own are a kind of pair", divided_package},
    {"this machine has processors, and what is no topology is refused", this_machine},
    {"answers of probes become a signature", discovered},
    {"where nothing can be pinned that is said, and intervals widen", unpinned},
    {"a quick discovery goes on while what it found cannot be true", disturbed},
    {"probes that give no numbers give no signature", silent},
};
UNIT_MAIN("platform discovery", tests)
