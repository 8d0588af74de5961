/* cli/verb_regions.c - pcere regions: what a store holds, as the manifest says; also the table that ends a capture. */
#include "cli/capture_table.h"
#include "cli/spread.h"
#include "cli/verbs.h"
#include "store/store.h"

#include <stdlib.h>

static void regions_print(const struct cli *cli, const struct spread *spread)
{
    const struct store_manifest *manifest = spread->manifest;
    printf("%s: %s\n\n", store_path(cli->store), manifest->program);
    capture_table_print(manifest, stdout);
    spread_print(spread, stdout);
    if (!manifest->complete)
        printf("\nThe capture was cut short: what is listed is whole, later invocations are missing.\n");
}

static enum pcere_status regions_run(struct cli *cli, void *options, struct pcere_error *error)
{
    (void)options;
    const struct store_manifest *manifest = store_manifest(cli->store);
    struct spread spread = {0};
    enum pcere_status status = spread_load(cli->store, &spread, error);
    if (status == PCERE_OK && cli->json)
        status = capture_document_add(cli->document, manifest, error);
    if (status == PCERE_OK && cli->json)
        status = spread_document_add(cli->document, &spread, error);
    if (status == PCERE_OK && !cli->json)
        regions_print(cli, &spread);
    spread_done(&spread);
    return status;
}

const struct cli_verb cli_verb_regions = {
    .name = "regions",
    .summary = "what was captured: regions, their times, shares, classes, and reasons where something was not",
    .synopsis = "[STORE]",
    .description = "Lists the regions of a store with the time that each took inside the program (in vivo), its share of the whole run, how many "
                   "classes its invocations form and how many of them were captured.\n\nA class stands for invocations that perform alike; its "
                   "representative is the invocation whose memory is in the store. A class that weighs too little is not captured: its in-vivo "
                   "time is used as it is.\n\nWhat a region was seen to read and write is noted. A region that reads from a pipe, a socket or a terminal is "
                   "not kept: what came from there is not in the capture.\n\nRegions of which nine in ten invocations take less than 2 us are marked: from each of their times, what "
                   "reading the clock adds is taken off, and off the time outside regions what the rest of their probes takes, as told from one in 64.",
    .examples = "pcere regions\npcere regions cg.A.pcere --json\n",
    .operands = CLI_OPERANDS_STORE,
    .needs = CLI_NEEDS_STORE,
    .run = regions_run,
};
