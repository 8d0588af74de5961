/* trace/metrics.h - how well a run of tasks used its threads: the metrics of V. Pinho (UNICAMP 2023), section 4.5, with its names.
 *
 * Which times they are made of is in docs/METHOD.md, with equation numbers, and where the paper leaves a choice.
 */
#ifndef PCERE_TRACE_METRICS_H
#define PCERE_TRACE_METRICS_H

#include "trace/timeline.h"

enum metric {
    METRIC_WORKER_PROCESSES, METRIC_THREADS, METRIC_TASKS,                                      /* counts */
    METRIC_TOTAL_TIME, METRIC_PARALLEL_TIME,                                                    /* ns */
    METRIC_COMPUTATION_TIME,                                                                    /* percent */
    METRIC_COMPUTATION_BALANCE, METRIC_COMPUTATION_EFFICIENCY, METRIC_COMPUTATION_PARALLEL,     /* 0 to 1 */
    METRIC_COMMUNICATION_BALANCE, METRIC_COMMUNICATION_EFFICIENCY, METRIC_COMMUNICATION_PARALLEL,
    METRIC_PROCESS_BALANCE, METRIC_PROCESS_COMMUNICATION, METRIC_PROCESS_EFFICIENCY, METRIC_SERIAL,
    METRICS,
};

struct metric_description { const char *name, *unit, *equation; };      /* unit: "", "ns", "%", "ratio" */
extern const struct metric_description metric_descriptions[METRICS];

struct run_metrics { double values[METRICS]; };                         /* NaN: the run has nothing to make it of */

/* Time in which something goes on. */
struct metrics_busy { int64_t first_ns, last_ns, reach_ns; uint64_t busy_ns; bool any; };

/* Stretches come in the order of their begins; what overlaps counts once. */
static inline void metrics_busy_add(struct metrics_busy *busy, int64_t begin_ns, int64_t end_ns)
{
    if (!busy->any) {
        busy->first_ns = busy->reach_ns = busy->last_ns = begin_ns;
        busy->any = true;
    }
    if (end_ns > busy->reach_ns) {
        busy->busy_ns += (uint64_t)(end_ns - (begin_ns > busy->reach_ns ? begin_ns : busy->reach_ns));
        busy->reach_ns = end_ns;
    }
    busy->last_ns = busy->reach_ns;
}

struct metrics_sums {            /* what the metrics are made of; borrowed */
    const struct metrics_busy *computing, *communicating;        /* [thread]; those of no worker are empty */
    size_t thread_count;
    const struct metrics_busy *processes;                        /* computing of any of its threads */
    size_t process_count;
    struct metrics_busy all;     /* of any process */
    uint64_t workers, tasks;
    int64_t total_ns;
};

void metrics_make(const struct metrics_sums *sums, struct run_metrics *ret_metrics);

/* Of a timeline after timeline_roles_find and timeline_pair. PCERE_SYSTEM: no memory. */
enum pcere_status metrics_run(const struct timeline *timeline, struct run_metrics *ret_metrics, struct pcere_error *error);

/* Kinds of spans that these need. */
#define METRICS_SPANS (1u << SPAN_RUNTIME | 1u << SPAN_TASK | 1u << SPAN_CHUNK | 1u << SPAN_SUBMIT | 1u << SPAN_RETRIEVE | 1u << SPAN_FORWARD)

struct task_metrics {            /* section 4.5.2: of one type and place */
    uint32_t place;              /* of the timeline's strings */
    enum span_kind kind;         /* SPAN_TASK is the type "Execute"; SPAN_SUBMIT, SPAN_RETRIEVE, SPAN_FORWARD */
    uint64_t count, sum_ns, least_ns, most_ns;
};

/* Rows of all types and places, longest sum first; *ret_rows is malloc'ed. Percentages are of *ret_all_ns. PCERE_SYSTEM. */
enum pcere_status metrics_tasks(const struct timeline *timeline, struct task_metrics **ret_rows, size_t *ret_count, uint64_t *ret_all_ns,
                                struct pcere_error *error);
#define TASK_METRICS_SPANS (METRICS_SPANS | 1u << SPAN_TARGET | 1u << SPAN_EXECUTE)

/* "h:min:sec:ms". Returns `text`. */
enum { METRICS_TIME_BYTES = 48 };
char *metrics_time_text(char text[METRICS_TIME_BYTES], uint64_t time_ns);

#endif
