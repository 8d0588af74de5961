/* platform/mca.c - see mca.h. */
#include "platform/mca.h"

#include "core/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *const references[MCA_REFERENCES] = {
    "addsd %xmm1, %xmm0\n",
    "addpd %xmm8, %xmm0\naddpd %xmm8, %xmm1\naddpd %xmm8, %xmm2\naddpd %xmm8, %xmm3\n"
    "addpd %xmm8, %xmm4\naddpd %xmm8, %xmm5\naddpd %xmm8, %xmm6\naddpd %xmm8, %xmm7\n",
};

static void code_add(struct text *input, const char *kind, size_t number, const char *code)
{
    text_addf(input, "# LLVM-MCA-BEGIN %s%zu\n", kind, number);
    for (const char *line = code; *line; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");
        /* A move that processors do not execute ends a chain in the models of Zen: a shuffle that changes nothing does not. */
        if (length > 8 && (!strncmp(line, "movapd\t%xmm", 11) || !strncmp(line, "movaps\t%xmm", 11)) && memchr(line, '(', length) == NULL)
            text_addf(input, "pshufd\t$228, %.*s\n", (int)length - 7, line + 7);
        else
            text_addf(input, "%.*s\n", (int)length, line);
        if (!line[length])
            break;
    }
    text_addf(input, "# LLVM-MCA-END %s%zu\n", kind, number);
}

void mca_input_add(struct text *input, const char *const *codes, size_t count)
{
    for (size_t i = 0; i < MCA_REFERENCES; i++)
        code_add(input, "r", i, references[i]);
    for (size_t i = 0; i < count; i++)
        code_add(input, "c", i, *codes[i] ? codes[i] : "nop\n");
}

enum pcere_status mca_output_read(const char *output, size_t bytes, struct mca_estimate *ret_references, struct mca_estimate *ret_estimates, size_t count,
                                  struct pcere_error *error)
{
    json_t *object = json_loadb(output, bytes, JSON_ALLOW_NUL, NULL);
    const json_t *regions = json_object_get(object, "CodeRegions");
    size_t found = 0;
    memset(ret_references, 0, MCA_REFERENCES * sizeof *ret_references);
    memset(ret_estimates, 0, count * sizeof *ret_estimates);
    for (size_t i = 0; i < json_array_size(regions); i++) {
        const json_t *region = json_array_get(regions, i), *summary = json_object_get(region, "SummaryView");
        const char *name = json_string_value(json_object_get(region, "Name"));
        double passes = json_number_value(json_object_get(summary, "Iterations"));
        size_t number = name && *name ? strtoull(name + 1, NULL, 10) : SIZE_MAX;
        const struct mca_estimate estimate = {
            .cycles = json_number_value(json_object_get(summary, "TotalCycles")) / (passes > 0 ? passes : 1),
            .bound_cycles = json_number_value(json_object_get(summary, "BlockRThroughput")),
            .uops = json_number_value(json_object_get(summary, "TotaluOps")) / (passes > 0 ? passes : 1),
        };
        if (!(estimate.cycles > 0 && estimate.cycles < 1e9 && estimate.bound_cycles >= 0 && estimate.bound_cycles < 1e9))
            continue;
        if (name && *name == 'r' && number < MCA_REFERENCES)
            ret_references[number] = estimate, found++;
        else if (name && *name == 'c' && number < count)
            ret_estimates[number] = estimate;
    }
    json_decref(object);
    return found == MCA_REFERENCES ? PCERE_OK
                                   : pcere_fail(error, PCERE_REFUSED, 0, "install LLVM 19's tools (package llvm-19)", "llvm-mca gave no estimate of the simplest code");
}
