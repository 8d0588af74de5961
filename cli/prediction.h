/* cli/prediction.h - one prediction out of a store's samples: which samples, at which thread counts, and the result as JSON.
 */
#ifndef PCERE_CLI_PREDICTION_H
#define PCERE_CLI_PREDICTION_H

#include "cli/cli.h"
#include "cli/modelling.h"
#include "predictor/predict.h"

struct prediction_words {            /* what to predict from; all borrowed */
    const char *arch;                /* name of the machine whose samples count; NULL or "host": this one */
    const char *flags, *settings;    /* of the replays; NULL: the original's */
    const unsigned *threads;         /* thread counts; thread_count 0: all at which every captured class was replayed */
    size_t thread_count;
    bool measured_serial;            /* what is outside regions as real runs have it */
    bool model;                      /* by the machine's model, whether it was replayed there or not */
};

struct prediction {
    const struct store_manifest *manifest;
    struct store_sample *samples;     /* of the store */
    size_t sample_count;
    double *clock_falls;              /* [thread_count], or NULL */
    struct store_series *series;      /* times of the store's invocations */
    size_t series_count;
    char *arch;                      /* host name that the samples must have */
    bool here;                       /* it is this machine */
    bool by_model;
    struct modelling modelling;      /* with by_model */
    struct predict_request request;
    uint32_t *threads;
    struct predict_result result;
};


/* Read the store's samples and settle machine and thread counts; nothing is predicted yet. `prediction` is zeroed at first, and
 * prediction_done it also after a failure. */
enum pcere_status prediction_prepare(struct cli *cli, const struct prediction_words *words, struct prediction *prediction, struct pcere_error *error);
void prediction_done(struct prediction *prediction);

/* Read the samples again, since more have come. */
enum pcere_status prediction_reload(const struct cli *cli, struct prediction *prediction, struct pcere_error *error);

/* Predict (again), into prediction->result. As predict_run with `partial`. */
enum pcere_status prediction_make(struct prediction *prediction, struct pcere_error *error);

/* Median of what real runs of that machine say of a region at these threads, ns; 0: nothing. */
uint64_t prediction_region_real_ns(const struct prediction *prediction, const char *region, uint32_t threads);

/* Hardware threads of the machine, of this one those that the process may use; UINT_MAX: unknown. */
unsigned prediction_processors(const struct prediction *prediction);

/* What a parallel region takes that does nothing, by the replays that count, ns: with so many threads it is added for each invocation that was not replayed. 0: unknown. */
uint64_t prediction_fork_ns(const struct prediction *prediction, uint32_t threads);

/* The predicted time at one thread; 0: it is not predicted there. */
uint64_t prediction_at_one_ns(const struct predict_result *result);

struct prediction_law {              /* Amdahl's law through two of the predicted times */
    uint32_t threads[2];             /* fewest and most that are predicted, without those beyond the machine's processors */
    double serial_ratio;             /* strictly serial; below 0: faster than perfect scaling, above 1: more threads are slower */
};
/* False: there are no two such thread counts. */
bool prediction_law(const struct prediction *prediction, struct prediction_law *ret_law);

/* By how much probes of regions inside others stretched the captured run, of what it took without them: at least, and real runs likewise. The region that it cost most goes to *ret_most; NULL: none. */
double prediction_stretched_ratio(const struct prediction *prediction, const struct store_region **ret_most);

/* Add the keys of schema pcere.predict/1. PCERE_SYSTEM: no memory. */
enum pcere_status prediction_document_add(json_t *document, const struct prediction *prediction, struct pcere_error *error);

#endif
