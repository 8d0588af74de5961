/* cli/pipeline.c - see pipeline.h. */
#include "cli/pipeline.h"

#include "cli/cli.h"
#include "core/files.h"
#include "core/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { TIMEOUT_S = 300 };
#define OUTPUT_BYTES_MOST (256u << 20)

/* LLVM 19 gives a Zen 5 the pipeline of a Zen 4, which begins six instructions a cycle and not eight. */
static bool is_wider_than_known(void)
{
    char *output = NULL;
    int status;
    char *arguments[] = {(char *)(uintptr_t)"llvm-mca-19", (char *)(uintptr_t)"--version", NULL};
    const struct cli_process process = {.arguments = arguments, .timeout_s = TIMEOUT_S};
    bool wider = cli_process_run(&process, &output, &status, NULL) == PCERE_OK && strstr(output, "Host CPU: znver5");
    free(output);
    return wider;
}

static enum pcere_status tool_run(const char *processor, const char *input, const char *output, char **ret_reason)
{
    char cpu[80], *said = NULL;
    int status = 0;
    struct pcere_error failure;
    snprintf(cpu, sizeof cpu, "-mcpu=%.60s", processor);
    bool wide = strcmp(processor, "znver5") == 0 || (strcmp(processor, "native") == 0 && is_wider_than_known());
    const char *words[] = {"llvm-mca-19", "-mtriple=x86_64-linux-gnu", cpu, "-iterations=100", "-json", "-all-views=false", "-summary-view",
                           "-skip-unsupported-instructions=any", "-o", output, input, wide ? "-dispatch=8" : NULL, NULL};
    const struct cli_process process = {.arguments = (char *const *)(uintptr_t)words, .timeout_s = TIMEOUT_S};
    enum pcere_status ran = cli_process_run(&process, &said, &status, &failure);
    if (ran)
        *ret_reason = strdup("llvm-mca-19 cannot be run (package llvm-19)");
    else if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        struct text text = {0};
        text_addf(&text, "llvm-mca: %.*s", (int)strcspn(said, "\n"), said);
        *ret_reason = text_take(&text);
        ran = PCERE_REFUSED;
    }
    free(said);
    return ran;
}

static enum pcere_status estimates_make(const char *processor, const char *folder, const char *const *codes, size_t count, struct pipeline *pipeline,
                                        struct pcere_error *error)
{
    struct text text = {0}, input = {0}, output = {0};
    void *answer = NULL;
    size_t bytes = 0;
    struct pcere_error failure;
    mca_input_add(&text, codes, count);
    text_addf(&input, "%s/codes.s", folder);
    text_addf(&output, "%s/codes.json", folder);
    struct mca_estimate *estimates = calloc(count + 1, sizeof *estimates);
    enum pcere_status status = !estimates || text.failed || input.failed || output.failed ? pcere_fail_memory(error, "assembly") : PCERE_OK;
    if (!status)
        status = file_replace(AT_FDCWD, input.data, text.data, text.length, false, NULL, error);
    if (!status && tool_run(processor, input.data, output.data, &pipeline->reason) == PCERE_OK) {
        enum pcere_status read = file_read(AT_FDCWD, output.data, OUTPUT_BYTES_MOST, &answer, &bytes, &failure);
        if (!read)
            read = mca_output_read(answer, bytes, pipeline->references, estimates, count, &failure);
        if (!read) {
            pipeline->estimates = estimates;
            estimates = NULL;
        } else
            pipeline->reason = strdup(failure.message);
    }
    free(estimates);
    free(answer);
    text_done(&text);
    text_done(&input);
    text_done(&output);
    return status;
}

enum pcere_status pipeline_run(const char *processor, const char *isa, const char *const *codes, size_t count, struct pipeline *ret_pipeline,
                               struct pcere_error *error)
{
    struct pipeline pipeline = {0};
    char *folder = NULL;
    enum pcere_status status = PCERE_OK;
    if (!processor || strcmp(isa, "x86-64") != 0)
        pipeline.reason = strdup(processor ? "the code is of another instruction set than the machine's" : "its signature does not say what LLVM calls the processor");
    else if (!(status = cli_directory_new(&folder, error))) {
        status = estimates_make(processor, folder, codes, count, &pipeline, error);
        cli_directory_remove(folder);
    }
    free(folder);
    if (status)
        pipeline_done(&pipeline);
    else
        *ret_pipeline = pipeline;
    return status;
}

void pipeline_done(struct pipeline *pipeline)
{
    free(pipeline->estimates);
    free(pipeline->reason);
    *pipeline = (struct pipeline){0};
}
