/* cli/modelling.h - times of a store's codelets by the model of a machine: characters found out where they are missing, llvm-mca run, replays here as calibration.
 */
#ifndef PCERE_CLI_MODELLING_H
#define PCERE_CLI_MODELLING_H

#include "cli/cli.h"
#include "platform/model.h"
#include "predictor/predict.h"
#include "replay-rt/launcher/replay.h"
#include "store/store.h"

struct modelled_class {              /* one codelet at one number of threads */
    const char *region;              /* borrowed */
    uint64_t representative;
    uint32_t threads;
    bool known;                      /* false: it could not be replayed, `reason` */
    char *reason;
    struct model_time time;          /* on the machine asked for */
    struct model_time here;          /* by this machine's signature; zeros if that is the same, or there is none */
    double replayed_ns;              /* here, with replayed_threads; 0: not replayed, or of no use */
    uint32_t replayed_threads;
    struct quantity predicted_ns;    /* the model's time, times replayed over modelled here */
};

struct modelling {
    struct platform_signature signature, own;
    bool is_here;                    /* the machine asked for is this one */
    bool has_own;                    /* this machine's signature is there, and another one was asked for */
    bool has_pipeline;               /* llvm-mca was there and knows the processor; else only operations count */
    char *pipeline_reason;           /* why not */
    struct modelled_class *classes;
    size_t class_count;
    size_t calibrated;               /* of them */
    double kept_ratio;               /* what keeps its time takes so many times as long as here */
};

struct modelling_words {
    const char *arch;                /* a name, a file; NULL or "host": this machine */
    const char *flags, *settings;    /* of the replays that calibrate */
    const uint32_t *threads;
    size_t thread_count;
    const struct store_sample *samples;
    size_t sample_count;
};

/* The machine that `arch` names, with this machine's own name for NULL and "host". PCERE_USAGE, PCERE_DATA: as architecture_read; with a hint to
 * `pcere platform discover` where it is this machine. */
enum pcere_status modelling_signature(const char *arch, struct platform_signature *ret_signature, bool *ret_is_here, struct pcere_error *error);

/* Everything for cli->store. A codelet that cannot be replayed has no time; the others have. modelling_done it in any case. */
enum pcere_status modelling_make(struct cli *cli, const struct modelling_words *words, struct modelling *modelling, struct pcere_error *error);
void modelling_done(struct modelling *modelling);

/* NULL: there is none. */
const struct modelled_class *modelling_find(const struct modelling *modelling, const char *region, uint64_t representative, uint32_t threads);
/* For predict_request: the context is a struct modelling. */
bool modelling_estimate(void *context, const char *region, uint64_t representative, uint32_t threads, struct predict_estimate *ret_estimate);

json_t *modelling_class_value(const struct modelled_class *class, bool *failed);
void modelling_print(const struct modelling *modelling);

#endif
