/* cli/verb_rm.c - pcere rm: stores that are no longer wanted. */
#include "cli/verbs.h"
#include "core/json.h"
#include "core/units.h"
#include "store/store.h"

struct rm_words {
    bool cache;
};

static enum pcere_status one_add(json_t *list, const char *path, uint64_t bytes, struct pcere_error *error)
{
    bool failed = false;
    json_t *entry = json_object();
    json_put(entry, "store", json_from_string(path), &failed);
    json_put(entry, "bytes", json_from_u64(bytes), &failed);
    if (json_array_append_new(list, entry) != 0)
        failed = true;
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}

static enum pcere_status rm_run(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct rm_words *words = raw;
    if (!cli->operand_count)
        return pcere_fail(error, PCERE_USAGE, 0, "'pcere rm --help' shows how it is called", "no store is named");
    json_t *list = json_array();
    bool failed = false;
    if (cli->json)
        json_put(cli->document, words->cache ? "emptied" : "removed", json_incref(list), &failed);
    enum pcere_status status = failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
    for (size_t i = 0; i < cli->operand_count && status == PCERE_OK; i++) {
        uint64_t bytes;
        char text[UNITS_TEXT_BYTES];
        status = store_remove(cli->operands[i], words->cache, &bytes, error);
        if (status == PCERE_OK)
            status = one_add(list, cli->operands[i], bytes, error);
        if (status == PCERE_OK && !cli->json)
            printf("%s: %s%s\n", cli->operands[i], units_format_bytes(bytes, text), words->cache ? " of rebuilt codelets and pages" : "");
    }
    json_decref(list);
    return status;
}

static const struct cli_option options[] = {
    {"cache", 0, CLI_FLAG, offsetof(struct rm_words, cache), NULL,
     "Remove rebuilt codelets and decompressed pages only: the next replay makes them again. Captured memory and samples stay.", 0, 0},
};

const struct cli_verb cli_verb_rm = {
    .name = "rm",
    .summary = "remove stores",
    .synopsis = "STORE...",
    .description = "Removes stores with everything that was captured and measured, and tells what they occupied. A directory that is not a store, or that holds "
                   "a file which PCERE did not write, is refused, and nothing in it is touched. So is a store that a capture is writing, and a link.",
    .examples = "pcere rm cg.A.pcere\npcere rm --cache *.pcere\n",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct rm_words),
    .operands = CLI_OPERANDS_ANY,
    .run = rm_run,
};
