/* cli/pipeline.h - running llvm-mca, LLVM's model of processors' pipelines, on code of which the model wants to know what it takes.
 */
#ifndef PCERE_CLI_PIPELINE_H
#define PCERE_CLI_PIPELINE_H

#include "core/error.h"
#include "platform/mca.h"

struct pipeline {
    struct mca_estimate references[MCA_REFERENCES];
    struct mca_estimate *estimates;  /* one for each code; NULL: there is no tool, or it does not know the processor */
    char *reason;                    /* why not */
};

/* `processor`: as LLVM calls it, or "native"; NULL: nobody knows. `isa`: of the machine; the codes are x86-64 assembly. Fails only if memory or disk is full. */
enum pcere_status pipeline_run(const char *processor, const char *isa, const char *const *codes, size_t count, struct pipeline *ret_pipeline,
                               struct pcere_error *error);
void pipeline_done(struct pipeline *pipeline);

#endif
