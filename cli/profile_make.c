/* cli/profile_make.c - from the execution units of a run on this machine to its profile, of a program or of a codelet. */
#include "cli/profile_run.h"
#include "core/host.h"
#include "profiler/host/unit_profile.h"

#include <stdlib.h>

static enum pcere_status iterations_judge(const struct profile_request *request, const struct units *units, struct pcere_error *error)
{
    bool ranges = false;
    for (size_t i = 0; i < units->count; i++)
        ranges = ranges || units->list[i].iterations > 1;
    if (!(request->wanted & TRACE_WANT_ITERATIONS) || units->iterations || !ranges)
        return PCERE_OK;
    return pcere_fail(error, PCERE_DATA, 0, "compile it with PCERE_COUNT=iterations in the environment, and -fpass-plugin=$(pcere version --plugin)",
                      "the program was not compiled to tell the iterations of its loops");
}

enum pcere_status profile_make(const struct profile_request *request, const struct units *units, const struct unit_profile_run *about, struct profile **ret_profile,
                               struct pcere_error *error)
{
    struct unit_profile_run run = *about;
    char *host = NULL;
    uint32_t *nodes = NULL;
    enum pcere_status status = iterations_judge(request, units, error);
    if (status == PCERE_OK)
        status = host_name(&host, error);
    if (status == PCERE_OK)
        status = host_cpu_nodes(&nodes, &run.node_count, error);
    run.host = host;
    run.nodes = nodes;
    if (status == PCERE_OK)
        status = unit_profile_make(units, request->rules, &run, ret_profile, error);
    free(nodes);
    free(host);
    return status;
}
