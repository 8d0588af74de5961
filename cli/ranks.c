/* cli/ranks.c - processes that mpirun or srun started beside each other: which of them this is, and what it calls its files. */
#include "cli/cli.h"

#include "core/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long number_of(const char *name)
{
    const char *word = getenv(name);
    return word ? strtoul(word, NULL, 10) : 0;
}

/* Slurm numbers the only process of a batch job as well: there a step of several tasks counts. */
bool cli_has_siblings(void)
{
    return number_of("OMPI_COMM_WORLD_SIZE") > 1 || number_of("PMI_SIZE") > 1 || number_of("SLURM_STEP_NUM_TASKS") > 1;
}

/* Number of this process among them; NULL: it is alone. */
static const char *rank_word(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    size_t count = sizeof names / sizeof *names - (number_of("SLURM_STEP_NUM_TASKS") > 1 ? 0 : 1);
    for (size_t i = 0; i < count; i++) {
        const char *word = getenv(names[i]);
        if (word && *word && strspn(word, "0123456789") == strlen(word))
            return word;
    }
    return NULL;
}

/* Is the rank a number in it, put there by a script? Then no other process has that name. */
static bool names_rank(const char *output, const char *rank)
{
    size_t length = strlen(rank);
    for (const char *at = output; (at = strstr(at, rank)); at++)
        if ((at == output || !isdigit((unsigned char)at[-1])) && !isdigit((unsigned char)at[length]))
            return true;
    return false;
}

enum pcere_status cli_rank_output(const char *output, const char *program, const char *suffix, char **ret_path, struct pcere_error *error)
{
    const char *rank = rank_word(), *mark = output ? strstr(output, "%r") : NULL, *slash = strrchr(program, '/');
    struct text path = {0};
    char hint[128];
    snprintf(hint, sizeof hint, "%%r stands for the rank: -o NAME.%%r%s; without -o each process has one of its own, too", suffix);
    if (output && !mark && rank && cli_has_siblings() && !names_rank(output, rank))
        return pcere_fail(error, PCERE_USAGE, 0, hint, "several processes cannot write '%.300s'", output);
    if (mark)
        text_addf(&path, "%.*s%s%s", (int)(mark - output), output, rank ? rank : "0", mark + 2);
    else if (output)
        text_add(&path, output);
    else
        text_addf(&path, "%s%s%s%s", slash ? slash + 1 : program, rank ? "." : "", rank ? rank : "", suffix);
    char *taken = text_take(&path);
    if (!taken)
        return pcere_fail_memory(error, "a path");
    *ret_path = taken;
    return PCERE_OK;
}
