/* cli/verb_unpack.c - pcere unpack: a store out of a packed one. */
#include "cli/verbs.h"
#include "core/json.h"
#include "core/units.h"
#include "store/store.h"

#include <stdlib.h>

struct unpack_words {
    const char *output;
    bool force;
};

static enum pcere_status document_add(json_t *document, const char *file, const struct store *store, const struct store_pack *pack,
                                      struct pcere_error *error)
{
    bool failed = false;
    json_put(document, "file", json_from_string(file), &failed);
    json_put(document, "store", json_from_string(store_path(store)), &failed);
    json_put(document, "program", json_from_string(store_manifest(store)->program), &failed);
    json_put(document, "files", json_from_u64(pack->files), &failed);
    json_put(document, "packed_bytes", json_from_u64(pack->packed_bytes), &failed);
    json_put(document, "unpacked_bytes", json_from_u64(pack->unpacked_bytes), &failed);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}

static enum pcere_status unpack_run(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct unpack_words *words = raw;
    struct store_pack pack;
    struct store *store = NULL;
    char *path = NULL;
    if (cli->operand_count != 1)
        return pcere_fail(error, PCERE_USAGE, 0, "'pcere unpack --help' shows how it is called",
                          cli->operand_count ? "one packed store at a time" : "no packed store is named");
    cli_progress(cli, "unpacking");
    enum pcere_status status = store_unpack(cli->operands[0], words->output, words->force, &path, &pack, error);
    cli_progress(cli, NULL);
    if (status == PCERE_OK)
        status = store_open(path, &store, error);
    if (status == PCERE_OK && cli->json) {
        status = document_add(cli->document, cli->operands[0], store, &pack, error);
    } else if (status == PCERE_OK) {
        char unpacked[UNITS_TEXT_BYTES];
        printf("%s: %s, %s, %u files\n", path, store_manifest(store)->program, units_format_bytes(pack.unpacked_bytes, unpacked), pack.files);
    }
    store_close(store);
    free(path);
    return status;
}

static const struct cli_option options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct unpack_words, output), "DIR", "The store to make; the packed store's own name in the current directory if not given.", 0, 0},
    {"force", 0, CLI_FLAG, offsetof(struct unpack_words, force), NULL, "Replace a store of that name.", 0, 0},
};

const struct cli_verb cli_verb_unpack = {
    .name = "unpack",
    .summary = "make a store of a packed one again",
    .synopsis = "FILE",
    .description =
        "Makes a store of a file that 'pcere pack' wrote. The whole file is checked before anything is written, and everything in it again before the store "
        "appears under its name. A file that was cut or changed gives exit status 4.\n\n"
        "The file may come from anywhere: nothing but a store's own files is made of it, all below the new directory. What it holds is a program, though, "
        "which replaying runs: replay only what you would run.",
    .examples = "pcere unpack cg.A.pcere.tar.zst\npcere unpack cg.A.pcere.tar.zst -o there.pcere\n",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct unpack_words),
    .operands = CLI_OPERANDS_ANY,
    .run = unpack_run,
};
