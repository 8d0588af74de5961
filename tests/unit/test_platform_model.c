/* tests/unit/test_platform_model.c - times by the model, on a machine whose numbers are round. */
#include "platform/core.h"
#include "platform/model.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

#define KNOWN(v) {(v), (v), (v)}
#define PASSED(by, v) {.threads = (by), .read = KNOWN(v), .write = KNOWN(v), .triad = KNOWN(v)}

/* 1 GHz; L1 of 512 lines, L2 of 16384, memory; 64 B/ns, 32 B/ns, and 8 B/ns, of which two threads have no more. */
static struct platform_bandwidth near[] = {PASSED(1, 64e9), PASSED(2, 128e9)};
static struct platform_bandwidth middle[] = {PASSED(1, 32e9), PASSED(2, 64e9)};
static struct platform_bandwidth far[] = {PASSED(1, 8e9), PASSED(2, 8e9)};
static struct platform_level levels[] = {
    {.level = 1, .bytes = 512 * 64, .line_bytes = 64, .shared_by = 1, .latency_ns = KNOWN(2), .bandwidths = near, .bandwidth_count = 2},
    {.level = 2, .bytes = 16384 * 64, .line_bytes = 64, .shared_by = 1, .latency_ns = KNOWN(10), .bandwidths = middle, .bandwidth_count = 2},
    {.level = 0, .bytes = 1ull << 34, .line_bytes = 64, .shared_by = 2, .latency_ns = KNOWN(100), .bandwidths = far, .bandwidth_count = 2},
};
static struct platform_overhead overheads[] = {{(char *)(uintptr_t)"parallel", 1, KNOWN(100)}, {(char *)(uintptr_t)"parallel", 2, KNOWN(100)}};
static const struct platform_signature machine = {.frequency_hz = 1e9, .sockets = 1, .cores_per_socket = 2, .threads_per_core = 1, .levels = levels, .level_count = 3,
                                                  .overheads = overheads, .overhead_count = 2};

/* One loop of ten instructions, run `passes` times by each thread, and reads at one distance. */
struct work { struct store_character character; struct character_code code; uint64_t counts[2]; struct character_thread threads[2]; };

static void work_make(struct work *work, uint32_t team, uint64_t passes, unsigned octave, double lines)
{
    *work = (struct work){.code = {.text = (char *)(uintptr_t)"nop\n", .instructions = 10, .loop = true, .counts = work->counts}, .counts = {passes, passes}};
    work->character = (struct store_character){.threads = team, .team = team, .warm = true, .line_bytes = 64, .codes = &work->code, .code_count = 1,
                                               .per_thread = work->threads};
    for (uint32_t t = 0; t < team; t++)
        work->threads[t].reuse.uses[0][1][4 * octave] = lines;
}

static struct model_time model(const struct work *work, const struct mca_estimate *estimate)
{
    static const struct mca_estimate references[MCA_REFERENCES] = {{1, 1, 1, 0, 0}, {1, 1, 1, 0, 0}};
    const struct model_core core = {references, estimate};
    struct model_time time;
    model_codelet(&machine, &work->character, estimate ? &core : NULL, &time);
    return time;
}

static const struct mca_estimate four_cycles = {4, 4, 10, 0, 0};

static void near_data_costs_the_core_only(void)
{
    struct work work;
    work_make(&work, 1, 1000000, 5, 1000000);     /* 32 lines apart: in the nearest cache */
    struct model_time time = model(&work, &four_cycles);
    CU_ASSERT_DOUBLE_EQUAL(time.time_ns.value, 4e6 + 100, 1);
    CU_ASSERT_DOUBLE_EQUAL(time.parts.transfer_ns, 0, 1e-9);
    CU_ASSERT_TRUE(time.time_ns.low < time.time_ns.value && time.time_ns.value < time.time_ns.high);
}

static void far_data_costs_its_transfer(void)
{
    struct work work;
    work_make(&work, 1, 1000, 12, 1000000);       /* 4096 lines apart: second cache, 2 ns a line */
    struct model_time time = model(&work, &four_cycles);
    CU_ASSERT_DOUBLE_EQUAL(time.parts.transfer_ns, 2e6, 1);
    CU_ASSERT_DOUBLE_EQUAL(time.level_lines[1], 1e6, 1);
    work_make(&work, 1, 1000, 20, 1000000);       /* a million lines apart: memory, 8 ns a line */
    time = model(&work, &four_cycles);
    CU_ASSERT_DOUBLE_EQUAL(time.parts.transfer_ns, 8e6, 1);
    CU_ASSERT_TRUE(time.time_ns.value >= 8e6);
}

static void memory_is_shared_caches_are_not(void)
{
    struct work one, two;
    work_make(&one, 1, 0, 20, 1000000);
    work_make(&two, 2, 0, 20, 500000);            /* the same work on two threads */
    CU_ASSERT_DOUBLE_EQUAL(model(&two, &four_cycles).parts.transfer_ns, model(&one, &four_cycles).parts.transfer_ns, 1);
    work_make(&one, 1, 0, 12, 1000000);
    work_make(&two, 2, 0, 12, 500000);
    CU_ASSERT_DOUBLE_EQUAL(model(&two, &four_cycles).parts.transfer_ns, model(&one, &four_cycles).parts.transfer_ns / 2, 1);
}

static void the_slowest_thread_counts(void)
{
    struct work work;
    work_make(&work, 2, 1000, 5, 0);
    work.counts[1] = 3000;
    CU_ASSERT_DOUBLE_EQUAL(model(&work, &four_cycles).time_ns.value, 12000 + 100, 1);
}

static void without_a_pipeline_it_is_less_sure(void)
{
    struct work work;
    work_make(&work, 1, 1000000, 5, 0);
    struct model_time with = model(&work, &four_cycles), without = model(&work, NULL);
    CU_ASSERT_TRUE(without.time_ns.high / without.time_ns.low > 1.5 * with.time_ns.high / with.time_ns.low);
    CU_ASSERT_TRUE(without.parts.core_ns > 0);
}

static void output_of_the_tool_is_read(void)
{
    static const char output[] = "{\"CodeRegions\": ["
                                 "{\"Name\": \"r0\", \"SummaryView\": {\"Iterations\": 100, \"TotalCycles\": 300, \"BlockRThroughput\": 0.5, \"TotaluOps\": 100}},"
                                 "{\"Name\": \"r1\", \"SummaryView\": {\"Iterations\": 100, \"TotalCycles\": 400, \"BlockRThroughput\": 4, \"TotaluOps\": 800}},"
                                 "{\"Name\": \"m1\", \"SummaryView\": {\"Iterations\": 100, \"TotalCycles\": 800}}, {\"Name\": \"x1\", \"SummaryView\": {\"Iterations\": 50, \"TotalCycles\": 250}},"
                                 "{\"Name\": \"c1\", \"SummaryView\": {\"Iterations\": 100, \"TotalCycles\": 700, \"BlockRThroughput\": 2, \"TotaluOps\": 100}},"
                                 "{\"Name\": \"c9\", \"SummaryView\": {\"Iterations\": 100, \"TotalCycles\": 700}}, {\"Name\": 3}, {}";
    struct text whole = {0};
    text_add(&whole, output);
    for (int i = 2; i < MCA_REFERENCES; i++)
        text_addf(&whole, ",{\"Name\": \"r%d\", \"SummaryView\": {\"Iterations\": 100, \"TotalCycles\": 300, \"BlockRThroughput\": 2, \"TotaluOps\": 600}}", i);
    text_add(&whole, "]}");
    struct mca_estimate references[MCA_REFERENCES], estimates[2];
    CU_ASSERT_EQUAL_FATAL(mca_output_read(whole.data, whole.length, references, estimates, 2, NULL), PCERE_OK);
    CU_ASSERT_DOUBLE_EQUAL(references[MCA_CHAIN].cycles, 3, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(estimates[1].cycles, 7, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(estimates[1].bound_cycles, 2, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(estimates[1].moves_cycles, 1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(estimates[1].additions_cycles, 2, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(estimates[0].cycles, 0, 1e-9);
    CU_ASSERT_EQUAL(mca_output_read(output, strlen(output), references, estimates, 2, NULL), PCERE_REFUSED);      /* cut off */
    CU_ASSERT_EQUAL(mca_output_read("{}", 2, references, estimates, 2, NULL), PCERE_REFUSED);
    CU_ASSERT_EQUAL(mca_output_read("nonsense", 8, references, estimates, 2, NULL), PCERE_REFUSED);
    text_done(&whole);
}

static void moves_do_not_end_chains(void)
{
    struct text input = {0};
    const char *codes[] = {"movapd\t%xmm2, %xmm3\nmovapd\t(%rax), %xmm4\n"};
    mca_input_add(&input, codes, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(input.data, "pshufd\t$228, %xmm2, %xmm3\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(input.data, "movapd\t(%rax), %xmm4\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(input.data, "# LLVM-MCA-BEGIN c0\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(input.data, "# LLVM-MCA-BEGIN m0\npshufd\t$228, %xmm2, %xmm3\npshufd\t$228, %xmm3, %xmm3\n"));
    CU_ASSERT_PTR_NULL(strstr(input.data, "# LLVM-MCA-BEGIN x0\n"));
    text_done(&input);
}

/* Of which all rates are known: llvm-mca's processor stores once a cycle, this machine twice; its additions wait two cycles, not three. */
static struct platform_pipeline rates[] = {
    {(char *)(uintptr_t)"load", KNOWN(2)}, {(char *)(uintptr_t)"load-vector", KNOWN(2)}, {(char *)(uintptr_t)"store", KNOWN(2)}, {(char *)(uintptr_t)"store-vector", KNOWN(2)},
    {(char *)(uintptr_t)"stream", KNOWN(3)}, {(char *)(uintptr_t)"update", KNOWN(1)}, {(char *)(uintptr_t)"pair-chain", KNOWN(1.0 / 3)}, {(char *)(uintptr_t)"window", KNOWN(100)},
};
static struct platform_arithmetic chains[] = {{(char *)(uintptr_t)"add-chain", 64, KNOWN(0.5e9)}, {(char *)(uintptr_t)"add", 128, KNOWN(4e9)}};
static const struct platform_signature known_machine = {.frequency_hz = 1e9, .sockets = 1, .cores_per_socket = 1, .threads_per_core = 1, .pipeline = rates, .pipeline_count = 8,
                                                        .arithmetic = chains, .arithmetic_count = 2};
static const struct mca_estimate known_references[MCA_REFERENCES] = {
    [MCA_CHAIN] = {3, 1, 1, 0, 0}, [MCA_SIDE_BY_SIDE] = {4, 4, 8, 0, 0}, [MCA_MAXIMUM_CHAIN] = {1, 1, 1, 0, 0}, [MCA_LOAD] = {3, 3, 6, 0, 0},
    [MCA_LOAD_VECTOR] = {3, 3, 6, 0, 0}, [MCA_STORE] = {6, 6, 6, 0, 0}, [MCA_STORE_VECTOR] = {6, 6, 6, 0, 0}, [MCA_STREAM] = {2, 2, 6, 0, 0},
    [MCA_UPDATE] = {8, 8, 16, 0, 0}, [MCA_PAIR_CHAIN] = {12, 2, 4, 0, 0},
};

static double core_ns(const char *text, uint64_t instructions, uint64_t passes, uint64_t entries, struct mca_estimate estimate)
{
    const struct character_code code = {.text = (char *)(uintptr_t)text, .instructions = instructions, .loop = true, .counts = &passes, .entries = &entries};
    const struct core_clock clock = core_clock_find(&known_machine, 1);
    struct core_waiting waiting = {0};
    return core_code_ns(&known_machine, &clock, &code, 0, known_references, &estimate, &waiting);
}

static void what_was_measured_corrects_stores(void)
{
    CU_ASSERT_DOUBLE_EQUAL(core_ns("movq\t%rax, (%rdi)\nmovq\t%rax, 8(%rdi)\n", 2, 1000, 0, (struct mca_estimate){2, 2, 2, 0, 0}), 1000, 1e-6);
    /* stores that take turns between two places do not share a cycle, those in pairs do */
    CU_ASSERT_DOUBLE_EQUAL(core_ns("movq\t%rax, (%rdi)\nmovq\t%rax, (%rsi)\n", 2, 1000, 0, (struct mca_estimate){2, 2, 2, 0, 0}), 2000, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(core_ns("movq\t%rax, (%rdi)\nmovq\t%rax, 8(%rdi)\nmovq\t%rax, (%rsi)\nmovq\t%rax, 8(%rsi)\n", 4, 1000, 0, (struct mca_estimate){4, 4, 4, 0, 0}),
                           2000, 1e-6);
    /* a division takes as long as the tool says, whatever is stored */
    CU_ASSERT_DOUBLE_EQUAL(core_ns("divsd\t%xmm0, %xmm1\nmovq\t%rax, (%rdi)\n", 2, 1000, 0, (struct mca_estimate){13, 13, 2, 0, 0}), 13000, 1e-6);
    /* what is compared is only read */
    CU_ASSERT_DOUBLE_EQUAL(core_ns("cmpq\t%rax, (%rdi)\ncmpq\t%rax, 8(%rdi)\n", 2, 1000, 0, (struct mca_estimate){1, 1, 2, 0, 0}), 1000, 1e-6);
}

static void chains_of_additions_are_those_of_the_machine(void)
{
    CU_ASSERT_DOUBLE_EQUAL(core_ns("addsd\t%xmm1, %xmm0\n", 1, 1000, 0, (struct mca_estimate){3, 1, 1, 0, 2}), 2000, 1e-6);
    /* with a multiplication for each addition nothing differs; a move between them costs nothing */
    CU_ASSERT_DOUBLE_EQUAL(core_ns("mulsd\t%xmm1, %xmm0\naddsd\t%xmm2, %xmm0\n", 2, 1000, 0, (struct mca_estimate){6, 1, 2, 0, 2}), 6000, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(core_ns("mulsd\t%xmm1, %xmm0\nmovapd\t%xmm0, %xmm2\n", 2, 1000, 0, (struct mca_estimate){4, 1, 2, 1, 0}), 3000, 1e-6);
}

static void short_loops_that_begin_anew_overlap(void)
{
    /* 50 instructions each time, and 100 of them are looked ahead: three loops at once */
    CU_ASSERT_DOUBLE_EQUAL(core_ns("addsd\t%xmm1, %xmm0\n", 1, 1000, 20, (struct mca_estimate){3, 0.25, 1, 0, 2}), 2000 / 3.0, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(core_ns("addsd\t%xmm1, %xmm0\n", 1, 1000, 20, (struct mca_estimate){3, 1, 1, 0, 2}), 1000, 1e-6);     /* but not less than units need */
}

static void streams_are_told_by_their_bases(void)
{
    CU_ASSERT_EQUAL(core_code_streams("movupd\t(%rax,%rbx), %xmm0\nmovupd\t16(%rax,%rbx), %xmm1\naddpd\t(%rcx,%rbx), %xmm0\nmovapd\t%xmm0, 16(%rsp)\nret\n"), 2);
    CU_ASSERT_EQUAL(core_code_streams("addq\t$1, %rax\n"), 0);
}

static void functions_take_what_was_measured(void)
{
    struct work work;
    uint64_t calls[2] = {1000, 0};
    struct character_call call = {.name = (char *)(uintptr_t)"log", .counts = calls};
    struct platform_arithmetic rate = {(char *)(uintptr_t)"log", 64, KNOWN(2e8)};
    struct platform_signature measured = machine;
    struct model_time time;
    work_make(&work, 1, 1000, 5, 0);
    work.character.calls = &call;
    work.character.call_count = 1;
    CU_ASSERT_DOUBLE_EQUAL(model(&work, NULL).parts.call_ns, 24000, 1e-6);      /* cycles by the table */
    measured.arithmetic = &rate;
    measured.arithmetic_count = 1;
    model_codelet(&measured, &work.character, NULL, &time);
    CU_ASSERT_DOUBLE_EQUAL(time.parts.call_ns, 5000, 1e-6);
}

static void wide_signatures_make_wide_times(void)
{
    struct work work;
    struct platform_clock clock = {.threads = 1, .hz = {1e9, 0.7e9, 1.4e9}};
    struct platform_signature wide = machine;
    struct model_time narrow, time;
    work_make(&work, 1, 1000000, 5, 1000000);
    narrow = model(&work, NULL);
    wide.clocks = &clock;
    wide.clock_count = 1;
    model_codelet(&wide, &work.character, NULL, &time);
    CU_ASSERT_DOUBLE_EQUAL(time.time_ns.value, narrow.time_ns.value, 1e-6);
    CU_ASSERT_TRUE(time.time_ns.low < narrow.time_ns.low && time.time_ns.high > narrow.time_ns.high);
    CU_ASSERT_DOUBLE_EQUAL(quantity_doubt(&(struct quantity){10, 5, 12}), 1 / 1.96, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(quantity_doubt(&(struct quantity){10, NAN, NAN}), 0, 1e-9);
}

/* Where prefetchers lose count of streams, little of the shorter of core and transfers vanishes. */
static void many_streams_do_not_overlap(void)
{
    static const char many[] = "movsd (%rax), %xmm0\nmovsd (%rbx), %xmm0\nmovsd (%rcx), %xmm0\nmovsd (%rdx), %xmm0\nmovsd (%rsi), %xmm0\nmovsd (%rdi), %xmm0\nmovsd (%rbp), %xmm0\n"
                               "movsd (%r8), %xmm0\nmovsd (%r9), %xmm0\nmovsd (%r10), %xmm0\nmovsd (%r11), %xmm0\nmovsd (%r12), %xmm0\nmovsd (%r13), %xmm0\nmovsd (%r14), %xmm0\nmovsd (%r15), %xmm0\n"
                               "movsd (%ebx), %xmm0\n";
    struct work work;
    struct platform_level lossy[3] = {levels[0], levels[1], levels[2]};
    struct platform_signature few = machine, lost = machine;
    struct model_time easy, hard;
    struct model_core core = {(const struct mca_estimate[MCA_REFERENCES]){{1, 1, 1, 0, 0}, {1, 1, 1, 0, 0}}, &four_cycles};
    few.levels = lost.levels = lossy;
    work_make(&work, 1, 1000000, 18, 500000);      /* 4 ms of work, and 4 ms of lines from memory */
    work.code.moved_bytes = 32;
    work.code.instructions = 100;                  /* so that the core looks ahead for 9 of the 100 ns that a line takes */
    model_codelet(&few, &work.character, &core, &easy);
    work.code.text = (char *)(uintptr_t)many;
    lossy[2].streams_ratio = (struct quantity)KNOWN(0.5);
    model_codelet(&lost, &work.character, &core, &hard);
    CU_ASSERT_DOUBLE_EQUAL(hard.parts.transfer_ns, 2 * easy.parts.transfer_ns, 1);
    CU_ASSERT_TRUE(easy.time_ns.value < 1.3 * easy.parts.transfer_ns);
    CU_ASSERT_TRUE(hard.time_ns.value > 1.35 * hard.parts.transfer_ns);
}

static void addresses_beyond_reach_are_looked_up(void)
{
    struct work work;
    struct platform_signature reaching = machine;
    struct model_time within, beyond;
    reaching.page_bytes = 4096;
    reaching.translation = (struct platform_translation){KNOWN(511), KNOWN(5)};
    work_make(&work, 1, 1000000, 5, 1000000);
    work.threads[0].reuse.pages[4 * 8] = 1000;     /* 255 pages apart */
    model_codelet(&reaching, &work.character, NULL, &within);
    CU_ASSERT_DOUBLE_EQUAL(within.parts.latency_ns, 0, 1e-9);
    work.threads[0].reuse.pages[4 * 9] = 1000;     /* 511 */
    model_codelet(&reaching, &work.character, NULL, &beyond);
    CU_ASSERT_DOUBLE_EQUAL(beyond.parts.latency_ns, 5000, 1e-9);
    reaching.page_bytes = 65536;                   /* of larger pages as many reach farther */
    model_codelet(&reaching, &work.character, NULL, &within);
    CU_ASSERT_DOUBLE_EQUAL(within.parts.latency_ns, 0, 1e-9);
}

/* Runs of 64 lines at 14 ns a line: 8 of them the transfer, and 100 / 64 the wait for what the run begins with. */
static void lines_soon_after_a_jump_wait_whatever_the_core_does(void)
{
    struct work work;
    struct platform_level slow[3] = {levels[0], levels[1], levels[2]};
    struct platform_signature machine_with = machine;
    struct model_time time;
    machine_with.levels = slow;
    slow[2].restart_ns = (struct quantity)KNOWN(14);
    for (uint64_t passes = 40000; passes <= 4000000; passes *= 10) {      /* 4 to 400 instructions to a line */
        work_make(&work, 1, passes, 18, 100000);
        model_codelet(&machine_with, &work.character, NULL, &time);
        CU_ASSERT_DOUBLE_EQUAL(time.parts.latency_ns, 0, 1e-6);
        work.threads[0].reuse.uses[0][2][4 * 18] = 25000;
        model_codelet(&machine_with, &work.character, NULL, &time);
        CU_ASSERT_DOUBLE_EQUAL(time.parts.latency_ns, 25000 * (14 - 8 - 100.0 / 64), 1);
    }
    slow[1].restart_ns = (struct quantity)KNOWN(10);        /* what the core needs for such a line: so long it waits for none, and 224 instructions of 10 ns / 20 hide the jump */
    model_codelet(&machine_with, &work.character, NULL, &time);
    CU_ASSERT_DOUBLE_EQUAL(time.parts.latency_ns, 25000 * (14 - 10), 1);
    slow[2].restart_ns = (struct quantity)KNOWN(9);
    model_codelet(&machine_with, &work.character, NULL, &time);
    CU_ASSERT_DOUBLE_EQUAL(time.parts.latency_ns, 0, 1e-6);
}

/* A core that works 224 instructions ahead waits for each jump alone where these are farther apart, and for ten at once where 22.4 lie between them; never for more than Little's law lets be on
 * their way, 6.25. What can be foreseen comes at that rate, and so does what is written. */
static void jumps_are_waited_for_together_within_the_window(void)
{
    static const struct mca_estimate one_cycle = {1, 1, 10, 0, 0};
    struct work work;
    double alone = 100 - 224 * 0.1;      /* ns, less what the core works on meanwhile */
    work_make(&work, 1, 400000, 18, 0);
    work.threads[0].reuse.uses[0][0][4 * 18] = 1000;
    CU_ASSERT_DOUBLE_EQUAL(model(&work, &one_cycle).parts.latency_ns, 1000 * alone / 6.25, 1);      /* not counted, as in older files */
    work.threads[0].reuse.jumps[0][4 * 9] = 1000;           /* 511 to 638 instructions */
    CU_ASSERT_DOUBLE_EQUAL(model(&work, &one_cycle).parts.latency_ns, 1000 * alone, 1);
    work.threads[0].reuse.jumps[0][4 * 9] = 500;
    work.threads[0].reuse.jumps[0][4 * 6] = 500;            /* 63 to 79: three at once */
    CU_ASSERT_DOUBLE_EQUAL(model(&work, &one_cycle).parts.latency_ns, 500 * alone + 500 * alone * 71 / 224, 1);
    work.threads[0].reuse.jumps[0][4 * 9] = 0;
    work.threads[0].reuse.jumps[0][0] = 500;
    CU_ASSERT_DOUBLE_EQUAL(model(&work, &one_cycle).parts.latency_ns, 500 * alone / 6.25 + 500 * alone * 71 / 224, 1);
    work.threads[0].reuse.jumps[0][0] = 0;
    work.threads[0].reuse.jumps[0][4 * 6] = 4000;           /* three of four come from a near level: those from memory are four times as far apart */
    CU_ASSERT_DOUBLE_EQUAL(model(&work, &one_cycle).parts.latency_ns, 1000 * alone, 1);
    work.threads[0].reuse.uses[1][0][4 * 18] = 1000;
    CU_ASSERT_DOUBLE_EQUAL(model(&work, &one_cycle).parts.latency_ns, 1000 * alone + 1000 * alone / 6.25, 1);
}

static void lines_of_another_thread_are_messages(void)
{
    struct work work;
    struct platform_signature machine_with = machine;
    struct platform_piece piece = {64, 4096, 20, 0.05};
    struct platform_pair pair = {.relation = (char *)(uintptr_t)"l3", .cpus = {0, 1}, .read = {.alpha_ns = 1, .beta_ns_per_byte = 1, .pieces = &piece, .piece_count = 1}};
    struct model_time time;
    work_make(&work, 2, 1000, 3, 1000);
    machine_with.pairs = &pair;
    machine_with.pair_count = 1;
    work.threads[0].reuse.foreign[0][4 * 3] = work.threads[1].reuse.foreign[0][4 * 3] = 10;
    work.threads[0].reuse.foreign[1][4 * 3] = work.threads[1].reuse.foreign[1][4 * 3] = 100;
    work.threads[0].reuse.foreign[1][4 * 20] = work.threads[1].reuse.foreign[1][4 * 20] = 1e6;      /* left the other's caches long ago */
    model_codelet(&machine_with, &work.character, NULL, &time);
    CU_ASSERT_DOUBLE_EQUAL(time.parts.latency_ns, 10 * 20 + 110 * 64 * 0.05, 1e-6);
    model_codelet(&machine, &work.character, NULL, &time);
    CU_ASSERT_DOUBLE_EQUAL(time.parts.latency_ns, 0, 1e-9);
}

/* A core that waits for its own results lets lines come meanwhile: of the fifth that is not hidden, as much of the time as it is busy. */
static void waiting_hides_transfers(void)
{
    static const struct mca_estimate busy = {8, 8, 10, 0, 0}, waits = {8, 2, 10, 0, 0};
    struct work work;
    work_make(&work, 1, 1000000, 12, 1000000);    /* 2 ns a line */
    double busy_ns = model(&work, &busy).time_ns.value, waits_ns = model(&work, &waits).time_ns.value;
    CU_ASSERT_DOUBLE_EQUAL(busy_ns, 8e6 + 0.2 * 2e6 + 100, 1);
    CU_ASSERT_DOUBLE_EQUAL(waits_ns, 8e6 + 0.25 * 0.2 * 2e6 + 100, 1);
}

/* What a signature has of a construct holds another one, which is not counted twice; each is counted as often as it is met, at one thread too. */
static void constructs_are_counted_as_often_as_they_are_met(void)
{
    static struct platform_overhead measured[] = {
        {(char *)(uintptr_t)"parallel", 1, KNOWN(100)}, {(char *)(uintptr_t)"for", 1, KNOWN(300)}, {(char *)(uintptr_t)"barrier", 1, KNOWN(40)},
        {(char *)(uintptr_t)"reduction", 1, KNOWN(130)}, {(char *)(uintptr_t)"single", 1, KNOWN(70)}, {(char *)(uintptr_t)"taskwait", 1, KNOWN(55)}, {(char *)(uintptr_t)"task", 1, KNOWN(60)},
    };
    static const struct { const char *call; double each_ns; } cases[] = {
        {"__kmpc_for_static_init_8u", 260}, {"__kmpc_barrier", 40}, {"__kmpc_reduce_nowait", 30}, {"__kmpc_single", 30}, {"__kmpc_omp_task", 60}, {"__kmpc_omp_task_alloc", 0},
        {"__kmpc_omp_taskwait", 0}, {"__kmpc_for_static_fini", 0},
    };
    struct platform_signature machine_with = machine;
    machine_with.overheads = measured;
    machine_with.overhead_count = sizeof measured / sizeof *measured;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct work work;
        uint64_t counts[2] = {500, 0};
        struct character_call call = {(char *)(uintptr_t)cases[i].call, counts};
        struct model_time time;
        work_make(&work, 1, 1000, 5, 0);
        work.character.calls = &call;
        work.character.call_count = 1;
        model_codelet(&machine_with, &work.character, NULL, &time);
        CU_ASSERT_DOUBLE_EQUAL(time.parts.overhead_ns, 100 + 500 * cases[i].each_ns, 1e-6);
    }
}

static void mispredicted_branches_cost_their_conditions(void)
{
    struct work work;
    work_make(&work, 1, 1000, 5, 0);
    work.threads[0].branches = 1000;
    work.threads[0].mispredicted = 100;
    CU_ASSERT_DOUBLE_EQUAL(model(&work, &four_cycles).parts.branch_ns, 100 * 15, 1e-6);
    work.threads[0].resolving_cycles = 700;
    CU_ASSERT_DOUBLE_EQUAL(model(&work, &four_cycles).parts.branch_ns, 100 * 15 + 700, 1e-6);
    struct platform_pipeline refill = {(char *)(uintptr_t)"refill", KNOWN(20)};
    struct platform_signature machine_with = machine;
    struct model_time time;
    machine_with.pipeline = &refill;
    machine_with.pipeline_count = 1;
    model_codelet(&machine_with, &work.character, NULL, &time);
    CU_ASSERT_DOUBLE_EQUAL(time.parts.branch_ns, 100 * 20 + 700, 1e-6);
}

static void ends_of_loops_that_wait_hide_in_the_waiting(void)
{
    static const struct mca_estimate waits = {8, 2, 10, 0, 0};
    struct work work;
    uint64_t entries[2] = {50, 50};
    work_make(&work, 1, 1000, 5, 0);
    work.code.entries = entries;
    work.threads[0].mispredicted = 100;
    CU_ASSERT_DOUBLE_EQUAL(model(&work, &waits).parts.branch_ns, 50 * 15, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(model(&work, &four_cycles).parts.branch_ns, 100 * 15, 1e-6);
}

static const struct unit_test tests[] = {
    {"what a loop waits for its own results hides transfers", waiting_hides_transfers},
    {"constructs are counted as often as they are met", constructs_are_counted_as_often_as_they_are_met},
    {"mispredicted branches cost a refill and what their conditions take", mispredicted_branches_cost_their_conditions},
    {"the ends of loops that wait for their results hide in the waiting", ends_of_loops_that_wait_hide_in_the_waiting},
    {"lines soon after a jump wait, whatever the core does meanwhile", lines_soon_after_a_jump_wait_whatever_the_core_does},
    {"jumps are waited for together within the window", jumps_are_waited_for_together_within_the_window},
    {"lines that another thread wrote come as messages", lines_of_another_thread_are_messages},
    {"rates of stores and loads that were measured correct the tool's", what_was_measured_corrects_stores},
    {"chains of additions take what they take on the machine", chains_of_additions_are_those_of_the_machine},
    {"short loops whose sums begin anew overlap", short_loops_that_begin_anew_overlap},
    {"streams are told by the registers that addresses begin with", streams_are_told_by_their_bases},
    {"data in the nearest cache costs nothing beside the core", near_data_costs_the_core_only},
    {"data farther away costs its transfer", far_data_costs_its_transfer},
    {"threads share memory's bandwidth, but not that of caches of their own", memory_is_shared_caches_are_not},
    {"a region takes as long as its slowest thread", the_slowest_thread_counts},
    {"without a model of the pipelines the interval is wider", without_a_pipeline_it_is_less_sure},
    {"functions of the C library take what was measured, else what a table says", functions_take_what_was_measured},
    {"where the signature is not sure, neither are times", wide_signatures_make_wide_times},
    {"many streams lose bandwidth, and what overlaps", many_streams_do_not_overlap},
    {"addresses of more pages than the core reaches are looked up", addresses_beyond_reach_are_looked_up},
    {"llvm-mca's answers are read, and what is none is refused", output_of_the_tool_is_read},
    {"a move between registers does not end a chain", moves_do_not_end_chains},
};
UNIT_MAIN("platform.model", tests)
