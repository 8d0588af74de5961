#include "core/faults.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAULT_MOST 8
#define FAULT_KILL (-1)

struct fault {
    char name[48];
    unsigned long from;
    bool forever;
    int errnum;              /* or FAULT_KILL */
    atomic_ulong passed;
};

static struct fault armed[FAULT_MOST];
static atomic_uint armed_count;

static const struct { const char *name; int errnum; } fault_errors[] = {
    {"ENOSPC", ENOSPC}, {"EIO", EIO}, {"ENOMEM", ENOMEM}, {"EINTR", EINTR}, {"EACCES", EACCES}, {"EMFILE", EMFILE},
    {"KILL", FAULT_KILL},
};

int fault_point(const char *name)
{
    unsigned count = atomic_load_explicit(&armed_count, memory_order_relaxed);
    for (unsigned i = 0; i < count; i++) {
        struct fault *fault = &armed[i];
        if (strcmp(fault->name, name) != 0)
            continue;
        unsigned long passed = atomic_fetch_add(&fault->passed, 1) + 1;
        if (passed < fault->from || (passed > fault->from && !fault->forever))
            continue;
        if (fault->errnum == FAULT_KILL)
            kill(getpid(), SIGKILL);
        return fault->errnum;
    }
    return 0;
}

/* One "NAME[:N[+]][:ERRNO]", cut at the colons in place. */
static bool fault_parse(char *word, struct fault *fault)
{
    char *rest = word;
    const char *name = strsep(&rest, ":");
    if (!*name || strlen(name) >= sizeof fault->name)
        return false;
    memcpy(fault->name, name, strlen(name) + 1);
    fault->from = 1;
    fault->errnum = EIO;
    if (rest && *rest >= '0' && *rest <= '9') {
        char *end;
        errno = 0;
        fault->from = strtoul(rest, &end, 10);
        fault->forever = *end == '+';
        end += fault->forever;
        if (errno || !fault->from || (*end && *end != ':'))
            return false;
        rest = *end ? end + 1 : NULL;
    }
    if (!rest)
        return true;
    for (size_t i = 0; i < sizeof fault_errors / sizeof *fault_errors; i++)
        if (strcmp(rest, fault_errors[i].name) == 0) {
            fault->errnum = fault_errors[i].errnum;
            return true;
        }
    return false;
}

enum pcere_status fault_arm(const char *words, struct pcere_error *error)
{
    struct fault parsed[FAULT_MOST] = {0};
    unsigned count = 0;
    char *copy = strdup(words), *rest = copy;
    if (!copy)
        return pcere_fail_memory(error, "the armed faults");
    for (char *word; (word = strsep(&rest, ","));)
        if (count == FAULT_MOST || !fault_parse(word, &parsed[count++])) {
            free(copy);
            return pcere_fail(error, PCERE_USAGE, 0, "write NAME[:N[+]][:ERRNO], for example pages.write:3:ENOSPC",
                              "'%s' does not name faults", words);
        }
    free(copy);
    fault_disarm();
    for (unsigned i = 0; i < count; i++) {
        memcpy(armed[i].name, parsed[i].name, sizeof armed[i].name);
        armed[i].from = parsed[i].from;
        armed[i].forever = parsed[i].forever;
        armed[i].errnum = parsed[i].errnum;
        atomic_store(&armed[i].passed, 0);
    }
    atomic_store(&armed_count, count);
    return PCERE_OK;
}

void fault_disarm(void)
{
    atomic_store(&armed_count, 0);
}
