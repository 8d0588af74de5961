/* platform/mca.c - see mca.h. */
#include "platform/mca.h"

#include "core/json.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct { const char *kind, *code; unsigned instructions; } references[] = {
    [MCA_CHAIN] = {NULL, "addsd %xmm1, %xmm0\n", 1},
    [MCA_SIDE_BY_SIDE] = {NULL, "addpd %xmm8, %xmm0\naddpd %xmm8, %xmm1\naddpd %xmm8, %xmm2\naddpd %xmm8, %xmm3\n"
                                "addpd %xmm8, %xmm4\naddpd %xmm8, %xmm5\naddpd %xmm8, %xmm6\naddpd %xmm8, %xmm7\n", 8},
    [MCA_MAXIMUM_CHAIN] = {NULL, "maxsd %xmm1, %xmm0\n", 1},
    [MCA_LOAD] = {"load", "movq (%rdi), %rax\nmovq 8(%rdi), %rcx\nmovq 64(%rdi), %rdx\nmovq 72(%rdi), %r8\nmovq 128(%rdi), %r9\nmovq 136(%rdi), %r10\n", 6},
    [MCA_LOAD_VECTOR] = {"load-vector", "movupd (%rdi), %xmm0\nmovupd 16(%rdi), %xmm1\nmovupd 64(%rdi), %xmm2\n"
                                        "movupd 80(%rdi), %xmm3\nmovupd 128(%rdi), %xmm4\nmovupd 144(%rdi), %xmm5\n", 6},
    [MCA_STORE] = {"store", "movq %rax, (%rdi)\nmovq %rax, 8(%rdi)\nmovq %rax, 16(%rdi)\nmovq %rax, 24(%rdi)\nmovq %rax, 32(%rdi)\nmovq %rax, 40(%rdi)\n", 6},
    [MCA_STORE_VECTOR] = {"store-vector", "movupd %xmm0, (%rdi)\nmovupd %xmm0, 16(%rdi)\nmovupd %xmm0, 32(%rdi)\n"
                                          "movupd %xmm0, 48(%rdi)\nmovupd %xmm0, 64(%rdi)\nmovupd %xmm0, 80(%rdi)\n", 6},
    [MCA_STREAM] = {"stream", "movupd (%rdi), %xmm0\nmovupd 16(%rdi), %xmm1\nmovupd 1088(%rdi), %xmm2\n"
                              "movupd 1104(%rdi), %xmm3\nmovupd %xmm4, 2176(%rdi)\nmovupd %xmm5, 2192(%rdi)\n", 6},
    [MCA_UPDATE] = {"update", "incl (%rdi)\nincl 64(%rdi)\nincl 128(%rdi)\nincl 192(%rdi)\nincl 256(%rdi)\nincl 320(%rdi)\nincl 384(%rdi)\nincl 448(%rdi)\n", 8},
    [MCA_PAIR_CHAIN] = {"pair-chain", "mulsd (%rdi), %xmm0\naddsd 8(%rdi), %xmm0\nmulsd (%rdi), %xmm0\naddsd 8(%rdi), %xmm0\n", 4},
};
_Static_assert(sizeof references / sizeof *references == MCA_REFERENCES, "one each");

const char *mca_reference_kind(enum mca_reference reference) { return references[reference].kind; }
unsigned mca_reference_instructions(enum mca_reference reference) { return references[reference].instructions; }

enum { VARIANT_BYTES_MOST = 2000 };        /* long codes wait for many things: what one of them takes tells little, and simulating it takes long */
enum variant { AS_IS, MOVES_TWICE, MAXIMA };
static const char variant_names[] = {'c', 'm', 'x'};

/* Of an addition or subtraction of numbers: where its three letters stand; NULL: it is none. */
static const char *addition_at(const char *line)
{
    const char *at = *line == 'v' ? line + 1 : line;
    bool adds = (!strncmp(at, "add", 3) || !strncmp(at, "sub", 3)) && (at[3] == 's' || at[3] == 'p') && (at[4] == 'd' || at[4] == 's') && (at[5] == '\t' || at[5] == ' ');
    return adds ? at : NULL;
}

/* A move that processors do not execute ends a chain in the models of Zen: a shuffle that changes nothing does not. */
static bool is_move(const char *line, size_t length)
{
    return length > 8 && (!strncmp(line, "movapd\t%xmm", 11) || !strncmp(line, "movaps\t%xmm", 11)) && memchr(line, '(', length) == NULL;
}

static void line_add(struct text *input, const char *line, size_t length, enum variant variant)
{
    const char *addition = variant == MAXIMA ? addition_at(line) : NULL;
    if (is_move(line, length)) {
        const char *to = memrchr(line, '%', length);
        text_addf(input, "pshufd\t$228, %.*s\n", (int)length - 7, line + 7);
        if (variant == MOVES_TWICE)
            text_addf(input, "pshufd\t$228, %.*s, %.*s\n", (int)(line + length - to), to, (int)(line + length - to), to);
    } else if (addition)
        text_addf(input, "%.*smax%.*s\n", (int)(addition - line), line, (int)(line + length - addition - 3), addition + 3);
    else
        text_addf(input, "%.*s\n", (int)length, line);
}

static void code_add(struct text *input, char kind, size_t number, const char *code, enum variant variant)
{
    text_addf(input, "# LLVM-MCA-BEGIN %c%zu\n", kind, number);
    for (const char *line = code; *line;) {
        size_t length = strcspn(line, "\n");
        line_add(input, line, length, variant);
        line += length + (line[length] == '\n');
    }
    text_addf(input, "# LLVM-MCA-END %c%zu\n", kind, number);
}

void mca_input_add(struct text *input, const char *const *codes, size_t count)
{
    for (size_t i = 0; i < MCA_REFERENCES; i++)
        code_add(input, 'r', i, references[i].code, AS_IS);
    for (size_t i = 0; i < count; i++) {
        bool moves = false, adds = false, is_short = strlen(codes[i]) <= VARIANT_BYTES_MOST;
        for (const char *line = codes[i]; *line;) {
            size_t length = strcspn(line, "\n");
            moves |= is_move(line, length);
            adds |= is_short && addition_at(line) != NULL;
            line += length + (line[length] == '\n');
        }
        code_add(input, variant_names[AS_IS], i, *codes[i] ? codes[i] : "nop\n", AS_IS);
        if (moves)
            code_add(input, variant_names[MOVES_TWICE], i, codes[i], MOVES_TWICE);
        if (adds)
            code_add(input, variant_names[MAXIMA], i, codes[i], MAXIMA);
    }
}

enum pcere_status mca_output_read(const char *output, size_t bytes, struct mca_estimate *ret_references, struct mca_estimate *ret_estimates, size_t count,
                                  struct pcere_error *error)
{
    json_t *object = json_loadb(output, bytes, JSON_ALLOW_NUL, NULL);
    const json_t *regions = json_object_get(object, "CodeRegions");
    size_t found = 0, others = 0;
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
        others += name && (*name == 'm' || *name == 'x');
    }
    /* The tool answers in any order: what differs is known when all are read. */
    for (size_t i = 0; others && i < json_array_size(regions); i++) {
        const json_t *region = json_array_get(regions, i), *summary = json_object_get(region, "SummaryView");
        const char *name = json_string_value(json_object_get(region, "Name"));
        size_t number = name && (*name == 'm' || *name == 'x') ? strtoull(name + 1, NULL, 10) : SIZE_MAX;
        double passes = json_number_value(json_object_get(summary, "Iterations")), cycles = json_number_value(json_object_get(summary, "TotalCycles"));
        if (number >= count || !(ret_estimates[number].cycles > 0) || !(passes > 0) || !(cycles > 0))
            continue;
        double differs = *name == 'm' ? cycles / passes - ret_estimates[number].cycles : ret_estimates[number].cycles - cycles / passes;
        *(*name == 'm' ? &ret_estimates[number].moves_cycles : &ret_estimates[number].additions_cycles) = differs > 0 ? differs : 0;
    }
    json_decref(object);
    return found == MCA_REFERENCES ? PCERE_OK
                                   : pcere_fail(error, PCERE_REFUSED, 0, "install LLVM 19's tools (package llvm-19)", "llvm-mca gave no estimate of the simplest code");
}
