/* analysis/profile.h - a profile: the execution units (XUs) of one run with their counts, or what several runs were combined to.
 *
 * R. Neill, A. Drebes and A. Pop, "Accurate and Complete Hardware Profiling for OpenMP" (IWOMP 2017), section 2. An XU is an executed task
 * instance or an executed range of iterations, and the sum of its parts if it was suspended or moved. XUs lie in columns: about 60 bytes
 * each, the text of the label, and 8 bytes a count. Files are as docs/format/profile.md defines them. Times are in ns since the run began.
 */
#ifndef PCERE_ANALYSIS_PROFILE_H
#define PCERE_ANALYSIS_PROFILE_H

#include "core/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PROFILE_XUS_MOST ((size_t)1 << 28)
#define PROFILE_EVENTS_MOST 4096u
#define PROFILE_RUNS_MOST 4096u
#define PROFILE_CONSTRUCTS_MOST ((size_t)1 << 20)
#define PROFILE_LABEL_BYTES_MOST 65535u        /* of a label's text, without its NUL */
#define PROFILE_NO_CPU UINT32_MAX              /* not known, or on several */

enum profile_kind {                            /* what sort of XU; profile_kind_name spells it */
    PROFILE_TASK,
    PROFILE_STATIC_RANGE,                      /* of a loop with schedule(static): a thread's range, or one of its chunks */
    PROFILE_DYNAMIC_CHUNK,                     /* of a loop with schedule(dynamic), (guided) or the like */
    PROFILE_SECTION,
    PROFILE_SINGLE,
    PROFILE_MASKED,
    PROFILE_TASKLOOP_CHUNK,
    PROFILE_REGION,                            /* what a thread does in a parallel region outside of all others */
    PROFILE_OTHER,
    PROFILE_ITERATION,                         /* of a worksharing loop, alone: profile_run.iterations */
    PROFILE_KIND_COUNT,
};

struct profile_event {
    char *name;                                /* "instructions" */
    char *unit;                                /* of a count: "1", "bytes", "ns" */
    char *backend;                             /* "pmu", "sw", "ir", "time", or "cache" with the caches: "cache 32768/8/64 1048576/16/64" */
    uint32_t run;                              /* of profile.runs: whose counts these are */
    bool exact;                                /* the same in every run with the same schedule: ir */
};

struct profile_construct {                     /* of the source; with the kind it is an XU's type */
    uint64_t id;                               /* stable over runs, builds and address spaces */
    char *name;                                /* "conj_grad@cg.c:405", unique in a profile */
};

struct profile_name {                          /* of a construct, as labels have it */
    char *name;                                /* "cg.c:405", "pcere:0123456789abcdef" */
    uint64_t id;                               /* the plugin's, the same in every build; 0: it gave none. Two constructs of one line are two entries */
};

struct profile_run {                           /* what a profile must share with others to be combined with them, and what else is known */
    char *program;                             /* path */
    char *build_id;                            /* hexadecimal digits, or "" where there is none */
    char *region;                              /* a codelet's, or NULL: the whole program */
    char **arguments;                          /* without the program */
    size_t argument_count;
    char **settings;                           /* "OMP_SCHEDULE=dynamic": every OMP_ and KMP_ variable, affinity; sorted */
    size_t setting_count;
    char *host;                                /* name */
    uint32_t threads;                          /* most in a team */
    bool iterations;                           /* labels are iteration-exact: the same for every schedule and number of threads */
    uint32_t level;                            /* 0 to 3: how much the measuring saw (docs/format/profile.md) */
    char **blind;                              /* what it could not see, a sentence each */
    size_t blind_count;
    uint64_t wall_ns;
    uint64_t xus;                              /* of that run */
};

struct profile_dropped {                       /* XUs that could not be combined */
    uint32_t run, construct;
    enum profile_kind kind;
    uint64_t xus;
};

struct profile_label { uint64_t high, low; };  /* XXH3 (128 bits, seed 0) of the label's text */

struct profile_segments {                      /* optional: the parts of XUs in time, in order of their begin on each thread */
    size_t count, capacity;
    uint32_t *xu;                              /* row */
    uint32_t *thread;
    uint64_t *begin_ns, *active_ns;
    uint64_t **counts;                         /* [event][segment]: they sum up to the XU's */
};

struct profile {
    struct profile_run *runs;                  /* at least one; several: a combined profile */
    size_t run_count;
    struct profile_event *events;
    size_t event_count;
    struct profile_construct *constructs;
    size_t construct_count;
    struct profile_name *names;                /* every name that occurs in labels, in strcmp's order, then of ids; none: an older file */
    size_t name_count;
    uint32_t *nodes;                           /* [cpu] the NUMA node of a processor; NULL: not known */
    size_t node_count;
    char *strategy;                            /* that it was combined by, or NULL */
    struct profile_dropped *dropped;
    size_t dropped_count;

    size_t count, capacity;                    /* XUs; room in the columns. All columns have `count` rows */
    struct profile_label *labels;
    uint64_t *text_at;                         /* offset in `texts` of the label, NUL-terminated; NULL: only hashes are known */
    char *texts;
    size_t texts_bytes, texts_capacity;
    uint8_t *kinds;                            /* enum profile_kind */
    uint32_t *construct;                       /* of `constructs` */
    uint32_t *thread;                          /* that began it: number in its team */
    uint32_t *cpu;                             /* where it ran, or PROFILE_NO_CPU */
    uint64_t *start_ns;
    uint64_t *active_ns;                       /* sum of its parts */
    uint64_t **counts;                         /* [event][row] */
    uint64_t **low, **high;                    /* [event]: NULL, or least and largest count over the runs that had this event */
    uint32_t **sources;                        /* NULL, or [run][row]: which row of that run's profile was combined to this one */
    struct profile_segments segments;
    bool in_label_order;                       /* as profile_sort makes it */
};

/* An empty profile; profile_free accepts NULL and frees everything that it holds. NULL: no memory. */
struct profile *profile_new(void);
void profile_free(struct profile *profile);

/* "task", "static range", ... ; and back, PROFILE_KIND_COUNT for another word. */
const char *profile_kind_name(enum profile_kind kind);
enum profile_kind profile_kind_find(const char *name);

/* Add to the tables; strings are copied. Events come before the first XU. *ret_index may be NULL. PCERE_USAGE: beyond the limits above, an
 * event's name twice, an event after an XU. PCERE_SYSTEM: no memory. */
enum pcere_status profile_add_run(struct profile *profile, const struct profile_run *run, uint32_t *ret_index, struct pcere_error *error);
enum pcere_status profile_add_event(struct profile *profile, const struct profile_event *event, uint32_t *ret_index, struct pcere_error *error);
enum pcere_status profile_add_construct(struct profile *profile, uint64_t id, const char *name, uint32_t *ret_index, struct pcere_error *error);
/* In their order. PCERE_USAGE: not in order, or twice; a name that is empty or has a '@'. */
enum pcere_status profile_add_name(struct profile *profile, const char *name, uint64_t id, struct pcere_error *error);
enum pcere_status profile_names_copy(struct profile *profile, const struct profile *from, struct pcere_error *error);
/* Another sentence about what a run could not see. */
enum pcere_status profile_add_blind(struct profile *profile, uint32_t run, const char *sentence, struct pcere_error *error);
enum pcere_status profile_add_dropped(struct profile *profile, const struct profile_dropped *dropped, struct pcere_error *error);

struct profile_xu {                            /* one row, to add */
    const char *label;                         /* text, or NULL: then the hash below. All XUs of a profile alike */
    struct profile_label hash;                 /* ignored with a text */
    enum profile_kind kind;
    uint32_t construct, thread, cpu;
    uint64_t start_ns, active_ns;
    const uint64_t *counts;                    /* [event_count]; NULL: zeros */
};

/* Add one XU. Amortised constant time; profile_reserve makes room for `count` in all. PCERE_USAGE: a label that is empty, too long or of the other
 * sort; a construct or kind that does not exist. PCERE_SYSTEM: no memory; nothing was added. */
enum pcere_status profile_add_xu(struct profile *profile, const struct profile_xu *xu, struct pcere_error *error);
enum pcere_status profile_reserve(struct profile *profile, size_t count, struct pcere_error *error);

struct profile_segment { uint32_t xu, thread; uint64_t begin_ns, active_ns; const uint64_t *counts; };
enum pcere_status profile_add_segment(struct profile *profile, const struct profile_segment *segment, struct pcere_error *error);

/* Columns for least and largest count of an event, filled with the counts. */
enum pcere_status profile_add_interval(struct profile *profile, uint32_t event, struct pcere_error *error);
/* Columns for sources, one a run, not set yet. */
enum pcere_status profile_add_sources(struct profile *profile, struct pcere_error *error);

/* The label's text, or 32 hexadecimal digits of its hash. Returns the text itself or `digits`. */
const char *profile_label_text(const struct profile *profile, size_t row, char digits[33]);
struct profile_label profile_label_hash(const char *text);
/* Order of labels: numbers in them by value, all else by bytes. Hashes by value. Less than, equal to or greater than 0. */
int profile_label_compare(const char *a, const char *b);
int profile_row_compare(const struct profile *profile, size_t a, size_t b);

/* Put all rows in the order of labels, equal ones by start. Nothing to do where they are already. */
enum pcere_status profile_sort(struct profile *profile, struct pcere_error *error);

/* Row of an event by its name, or event_count. */
size_t profile_event_find(const struct profile *profile, const char *name);

/* Everything that the comments above promise holds, else PCERE_DATA and the first that does not. Linear time. */
enum pcere_status profile_check(const struct profile *profile, const char *where, struct pcere_error *error);

/* Runs of one program with one input and the same settings: what may be combined. PCERE_DATA says what differs: `a_name` and `b_name` are for
 * the sentence. Hosts may differ; where labels are iteration-exact, schedules and numbers of threads, too. */
enum pcere_status profile_same_run(const struct profile_run *a, const char *a_name, const struct profile_run *b, const char *b_name,
                                   struct pcere_error *error);
/* Events that both have are of the same back end, and of the same model. PCERE_DATA says which is not. */
enum pcere_status profile_same_events(const struct profile *a, const char *a_name, const struct profile *b, const char *b_name, struct pcere_error *error);

/* ---- files ----------------------------------------------------------------------------------------------------------------- */

/* Write as PATH.tmp, then rename; mode 0600. `force`: replace an existing file, else PCERE_USAGE. */
enum pcere_status profile_write(const struct profile *profile, const char *path, bool force, struct pcere_error *error);

/* Read a file of either sort. What is read is hostile: every length and number is checked, memory is in proportion to the file's bytes (at most
 * 16 times), and to the labels' texts, of which a file may name 8 GiB. PCERE_USAGE: there is no such file. PCERE_DATA: damaged, cut, of another version, no profile. */
enum pcere_status profile_read(const char *path, struct profile **ret_profile, struct pcere_error *error);

/* The same between memory and memory. *ret_data is malloc'ed. `where` is for messages. */
enum pcere_status profile_encode(const struct profile *profile, void **ret_data, size_t *ret_bytes, struct pcere_error *error);
enum pcere_status profile_decode(const void *data, size_t bytes, const char *where, struct profile **ret_profile, struct pcere_error *error);

/* ---- JSON ------------------------------------------------------------------------------------------------------------------ */

/* Everything but the rows: "runs", "events", "constructs", "names" if there are any, "nodes", "strategy", "dropped". New reference. */
enum pcere_status profile_describe(const struct profile *profile, json_t **ret_object, struct pcere_error *error);
/* And back into an empty profile. */
enum pcere_status profile_describe_read(struct profile *profile, const json_t *object, const char *where, struct pcere_error *error);

/* Write one document, row by row: the keys of `head` (schema, version, host; not changed), those of profile_describe, and
 * "xus": [{"label", "type", "construct", "thread", "cpu", "start_ns", "active_ns", "counts": {EVENT: n}, "low": {}, "high": {}}].
 * PCERE_SYSTEM: `file` did not take it all. */
enum pcere_status profile_json_write(const struct profile *profile, const json_t *head, FILE *file, const char *name, struct pcere_error *error);
enum pcere_status profile_json_read(const json_t *document, const char *where, struct profile **ret_profile, struct pcere_error *error);

/* One line a row: label,type,construct,thread,cpu,start_ns,active_ns and the events, after a heading. Fields with commas or quotes are quoted
 * (RFC 4180). */
void profile_csv_field(const char *field, FILE *file);                  /* one field, quoted where it must be */
enum pcere_status profile_csv_write(const struct profile *profile, FILE *file, const char *name, struct pcere_error *error);

#endif
