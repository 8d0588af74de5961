/* tests/unit/test_trace_metrics.c - metrics on runs whose values are worked out by hand, and the paper's tables. */
#include "tests/unit/unit.h"
#include "trace/metrics.h"
#include "trace/pop.h"

#include <math.h>
#include <stdlib.h>

static struct timeline timeline;

static uint32_t thread_make(unsigned process, unsigned tid)
{
    uint32_t p = 0, t = 0, s = 0;
    timeline_string(&timeline, "", 0, &s);
    CU_ASSERT_FATAL(timeline_process(&timeline, process, &p) && timeline_thread(&timeline, p, tid, &t));
    timeline.processes[p].role = process;
    return t;
}

static void span_make(unsigned process, unsigned tid, enum span_kind kind, enum span_part part, int64_t begin_ns, int64_t end_ns, uint32_t task)
{
    struct span span = {.begin_ns = begin_ns, .end_ns = end_ns, .thread = thread_make(process, tid), .kind = (uint8_t)kind, .part = (uint8_t)part, .task = task, .tag = task};
    CU_ASSERT_TRUE(timeline_span(&timeline, &span));
}

static struct run_metrics measure(void)
{
    struct run_metrics metrics;
    struct pcere_error error;
    CU_ASSERT_EQUAL_FATAL(timeline_pair(&timeline, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(metrics_run(&timeline, &metrics, &error), PCERE_OK);
    return metrics;
}

#define NEAR(a, b) CU_ASSERT_DOUBLE_EQUAL(a, b, 1e-12)

/* Figure 4.12: the computation time of a thread is the sum of its tasks, its parallel time goes from the first task's begin to the last one's end. */
static void test_computation(void)
{
    span_make(0, 0, SPAN_RUNTIME, SPAN_WHOLE, 0, 1000, TIMELINE_NONE);
    span_make(1, 1, SPAN_TASK, SPAN_WHOLE, 100, 300, 1);
    span_make(1, 1, SPAN_TASK, SPAN_WHOLE, 400, 500, 2);       /* t_c 300, t_par 400 */
    span_make(1, 2, SPAN_TASK, SPAN_WHOLE, 200, 300, 3);
    span_make(1, 2, SPAN_TASK, SPAN_WHOLE, 350, 400, 4);       /* 150, 200 */
    span_make(2, 1, SPAN_TASK, SPAN_WHOLE, 600, 900, 5);
    span_make(2, 1, SPAN_TASK, SPAN_WHOLE, 950, 1000, 6);      /* 350, 400 */
    struct run_metrics metrics = measure();
    const double *values = metrics.values;
    NEAR(values[METRIC_WORKER_PROCESSES], 2);
    NEAR(values[METRIC_THREADS], 4);
    NEAR(values[METRIC_TASKS], 6);
    NEAR(values[METRIC_TOTAL_TIME], 1000);
    NEAR(values[METRIC_PARALLEL_TIME], 1000);
    NEAR(values[METRIC_COMPUTATION_TIME], 80);
    NEAR(values[METRIC_COMPUTATION_BALANCE], 800.0 / 3 / 350);
    NEAR(values[METRIC_COMPUTATION_EFFICIENCY], 350.0 / 400);
    NEAR(values[METRIC_COMPUTATION_PARALLEL], 800.0 / 3 / 350 * 350 / 400);
    CU_ASSERT_TRUE(isnan(values[METRIC_COMMUNICATION_PARALLEL]));
    /* Some thread of process 1 computes in 350 of 400, one of process 2 in 350 of 400; any of both in 700. */
    NEAR(values[METRIC_PROCESS_BALANCE], 1);
    NEAR(values[METRIC_PROCESS_COMMUNICATION], 350.0 / 400);
    NEAR(values[METRIC_SERIAL], 1 - 700.0 / 1000);
    timeline_done(&timeline);
}

/* Random runs of up to 40 threads in 6 processes, against counting each nanosecond. */
static void test_processes_at_random(void)
{
    enum { PROCESSES = 6, TIMES = 400 };
    srand(11);
    for (int round = 0; round < 200; round++) {
        bool busy[PROCESSES + 1][TIMES] = {{false}};             /* the last: of any process */
        span_make(0, 0, SPAN_RUNTIME, SPAN_WHOLE, 0, TIMES, TIMELINE_NONE);
        for (int i = rand() % 200 + 1, threads = rand() % 40 + 1; i > 0; i--) {
            int thread = rand() % threads, process = 1 + thread % (PROCESSES - 1), begin = rand() % (TIMES - 20), end = begin + 1 + rand() % 20;
            span_make((unsigned)process, (unsigned)thread, rand() % 4 ? SPAN_TASK : SPAN_EXECUTE, SPAN_WHOLE, begin, end, (uint32_t)i);
            for (int t = begin; t < end && timeline.spans[timeline.span_count - 1].kind == SPAN_TASK; t++)
                busy[process][t] = busy[PROCESSES][t] = true;
        }
        int count = 0, sum = 0, most = 0, any = 0;
        for (int process = 1; process <= PROCESSES; process++) {
            int here = 0;
            for (int t = 0; t < TIMES; t++)
                here += busy[process][t];
            any = process == PROCESSES ? here : any;
            if (process < PROCESSES && here) {
                count++;
                sum += here;
                most = here > most ? here : most;
            }
        }
        struct run_metrics metrics = measure();
        if (any) {
            NEAR(metrics.values[METRIC_SERIAL], 1 - (double)any / (double)TIMES);
            NEAR(metrics.values[METRIC_PROCESS_BALANCE], (double)sum / count / most);
        }
        timeline_done(&timeline);
    }
}

/* Figure 4.13: communication overlaps; each interval from a begin to its end counts, where they overlap once. */
static void test_communication(void)
{
    span_make(1, 1, SPAN_SUBMIT, SPAN_BEGIN, 0, 10, 1);
    span_make(1, 1, SPAN_FORWARD, SPAN_BEGIN, 20, 30, 2);
    span_make(1, 1, SPAN_SUBMIT, SPAN_END, 40, 50, 1);         /* [0, 50] */
    span_make(1, 1, SPAN_FORWARD, SPAN_END, 60, 70, 2);        /* [20, 70] */
    span_make(1, 1, SPAN_RETRIEVE, SPAN_BEGIN, 90, 95, 3);
    span_make(1, 1, SPAN_RETRIEVE, SPAN_END, 95, 100, 3);      /* 80 of 100 */
    span_make(1, 2, SPAN_SUBMIT, SPAN_BEGIN, 100, 101, 4);
    span_make(1, 2, SPAN_SUBMIT, SPAN_END, 139, 140, 4);       /* 40 of 40 */
    struct run_metrics metrics = measure();
    NEAR(metrics.values[METRIC_COMMUNICATION_BALANCE], 60.0 / 80);
    NEAR(metrics.values[METRIC_COMMUNICATION_EFFICIENCY], 1);
    NEAR(metrics.values[METRIC_COMMUNICATION_PARALLEL], 60.0 / 80);
    CU_ASSERT_TRUE(isnan(metrics.values[METRIC_COMPUTATION_BALANCE]));
    timeline_done(&timeline);
}

/* Runs made so that the two factors of a row are those of tables 5.3 and 5.5: the product must be the table's, to its four places. */
static void test_products_of_the_tables(void)
{
    static const double rows[][3] = {
        {0.9867, 0.8657, 0.8542}, {0.9303, 0.9217, 0.8575}, {0.8244, 0.9666, 0.7969},       /* computation, SGEMM */
        {0.9960, 0.2838, 0.2827}, {0.9899, 0.3227, 0.3194}, {0.9467, 0.1308, 0.1238},       /* communication */
        {0.9865, 0.9319, 0.9193}, {0.9843, 0.9704, 0.9552}, {0.9464, 0.9719, 0.9198},       /* processes */
        {0.9769, 0.8843, 0.8639}, {0.9151, 0.8336, 0.7628}, {0.9905, 0.2486, 0.2462},       /* SPOTRF */
        {0.8959, 0.2614, 0.2342}, {0.9933, 0.9555, 0.9491}, {0.9490, 0.9757, 0.9259},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t longest = 1000000000, other = (int64_t)((2 * rows[i][0] - 1) * 1e9), parallel = (int64_t)(1e9 / rows[i][1]);
        for (unsigned process = 1; process <= 2; process++) {
            int64_t busy = process == 1 ? longest : other;
            span_make(process, 1, SPAN_TASK, SPAN_WHOLE, 0, busy / 2, process);
            span_make(process, 1, SPAN_TASK, SPAN_WHOLE, parallel - (busy - busy / 2), parallel, process + 2);
            span_make(process, 2, SPAN_SUBMIT, SPAN_WHOLE, 0, busy / 2, process);
            span_make(process, 2, SPAN_SUBMIT, SPAN_WHOLE, parallel - (busy - busy / 2), parallel, process + 2);
        }
        struct run_metrics metrics = measure();
        for (int k = METRIC_COMPUTATION_BALANCE; k <= METRIC_PROCESS_BALANCE; k += 3) {
            CU_ASSERT_DOUBLE_EQUAL(metrics.values[k], rows[i][0], 1e-8);
            CU_ASSERT_DOUBLE_EQUAL(metrics.values[k + 1], rows[i][1], 1e-8);
            CU_ASSERT_DOUBLE_EQUAL(metrics.values[k + 2], rows[i][2], 1.01e-4);     /* factors and product were rounded */
        }
        timeline_done(&timeline);
    }
}

static void test_task_rows(void)
{
    uint32_t place;
    span_make(1, 1, SPAN_TASK, SPAN_WHOLE, 0, 100, 7);
    span_make(1, 1, SPAN_TASK, SPAN_WHOLE, 100, 400, 8);
    span_make(1, 2, SPAN_SUBMIT, SPAN_WHOLE, 0, 100, 7);
    span_make(0, 1, SPAN_EXECUTE, SPAN_WHOLE, 0, 120, 7);
    CU_ASSERT_TRUE(timeline_string(&timeline, "a.c:1:2", 7, &place));
    timeline.spans[3].place = place;                    /* the head knows where task 7 is */
    timeline.spans[1].place = place;
    struct pcere_error error;
    struct task_metrics *rows;
    size_t count;
    uint64_t all_ns;
    CU_ASSERT_EQUAL_FATAL(timeline_pair(&timeline, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(metrics_tasks(&timeline, &rows, &count, &all_ns, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(count, 2);
    CU_ASSERT_EQUAL(all_ns, 500);
    CU_ASSERT_EQUAL(rows[0].kind, SPAN_TASK);
    CU_ASSERT_EQUAL(rows[0].place, place);
    CU_ASSERT_EQUAL(rows[0].count, 2);
    CU_ASSERT_EQUAL(rows[0].sum_ns, 400);
    CU_ASSERT_EQUAL(rows[0].most_ns, 300);
    CU_ASSERT_EQUAL(rows[0].least_ns, 100);
    CU_ASSERT_EQUAL(rows[1].kind, SPAN_SUBMIT);
    CU_ASSERT_EQUAL(rows[1].place, place);
    char text[METRICS_TIME_BYTES];
    CU_ASSERT_STRING_EQUAL(metrics_time_text(text, 44056591000000u), "12:14:16:591");
    free(rows);
    timeline_done(&timeline);
}

static void task_make(int64_t created_ns, int64_t begin_ns, int64_t end_ns)
{
    static struct timeline_task list[4];
    timeline.tasks = list;
    list[timeline.task_count++] = (struct timeline_task){.id = timeline.task_count + 1, .created_ns = created_ns, .begin_ns = begin_ns, .end_ns = end_ns,
                                                         .flags = TASK_BEGUN | TASK_ENDED};
}

static void test_hierarchy_adds_up(void)
{
    /* thread 1 waits in a barrier 100..1000, while: a task is ready 100..200, one runs and another is blocked 200..500, one runs 500..800, nothing 800..1000 */
    span_make(0, 0, SPAN_SERIAL, SPAN_WHOLE, 0, 50, TIMELINE_NONE);
    span_make(0, 0, SPAN_IMPLICIT, SPAN_WHOLE, 50, 200, TIMELINE_NONE);
    span_make(0, 0, SPAN_TASK, SPAN_WHOLE, 200, 500, 0);
    span_make(0, 0, SPAN_TASK, SPAN_WHOLE, 500, 800, 1);
    span_make(0, 0, SPAN_BARRIER, SPAN_WHOLE, 800, 1000, TIMELINE_NONE);
    span_make(0, 0, SPAN_SERIAL, SPAN_WHOLE, 1000, 1100, TIMELINE_NONE);
    span_make(0, 1, SPAN_CHUNK, SPAN_WHOLE, 60, 100, TIMELINE_NONE);
    span_make(0, 1, SPAN_BARRIER, SPAN_WHOLE, 100, 1000, TIMELINE_NONE);
    task_make(100, 200, 500);
    task_make(100, 500, 800);
    struct pcere_error error;
    struct pop pop;
    uint32_t from[] = {0}, to[] = {1};
    struct graph_node nodes[] = {{.id = 1}, {.id = 2}};
    uint64_t work[] = {300, 300};
    struct graph graph = {.count = 2, .edge_count = 1, .from = from, .to = to, .nodes = nodes, .work_ns = work};
    CU_ASSERT_EQUAL_FATAL(timeline_pair(&timeline, &error), PCERE_OK);
    CU_ASSERT_TRUE(pop_has(&timeline));
    CU_ASSERT_EQUAL_FATAL(pop_make(&timeline, &graph, &pop, &error), PCERE_OK);
    CU_ASSERT_EQUAL(pop.threads, 2);
    CU_ASSERT_EQUAL(pop.parts_ns[POP_USEFUL], 640);
    CU_ASSERT_EQUAL(pop.parts_ns[POP_BODY], 150);
    CU_ASSERT_EQUAL(pop.parts_ns[POP_SERIAL_USEFUL], 150);
    CU_ASSERT_EQUAL(pop.parts_ns[POP_SERIALISATION], 160);
    CU_ASSERT_EQUAL(pop.parts_ns[POP_SCHEDULING], 100);
    CU_ASSERT_EQUAL(pop.parts_ns[POP_DEPENDENCES], 300);
    CU_ASSERT_EQUAL(pop.parts_ns[POP_LOAD_BALANCE], 200 + 500);
    uint64_t sum_ns = 0;
    for (int i = 0; i < POP_PARTS; i++)
        sum_ns += pop.parts_ns[i];
    CU_ASSERT_EQUAL(sum_ns, pop.wall_ns * pop.threads);
    timeline.tasks = NULL;
    timeline_done(&timeline);
}

static const struct unit_test tests[] = {
    {"computation and parallel time as figure 4.12 has them", test_computation},
    {"processes of many threads, at random", test_processes_at_random},
    {"communication as figure 4.13 has it", test_communication},
    {"factors and products of tables 5.3 and 5.5", test_products_of_the_tables},
    {"rows of tasks by place and type", test_task_rows},
    {"the hierarchy's parts add up to wall time x threads", test_hierarchy_adds_up},
};
UNIT_MAIN("trace metrics", tests)
