/* cli/verb_pack.c - pcere pack: one file of a store, to be sent to another machine. */
#include "cli/verbs.h"
#include "core/json.h"
#include "core/text.h"
#include "core/units.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

struct pack_words {
    const char *output;
    bool force;
};

/* "dir/cg.A.pcere/" becomes "cg.A.pcere.tar.zst", here. */
static char *file_name(const struct store *store)
{
    const char *path = store_path(store);
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    const char *slash = memrchr(path, '/', length);
    const char *name = slash ? slash + 1 : path;
    struct text file = {0};
    text_addf(&file, "%.*s.tar.zst", (int)(path + length - name), name);
    return text_take(&file);
}

static enum pcere_status document_add(json_t *document, const struct store *store, const char *file, const struct store_pack *pack,
                                      struct pcere_error *error)
{
    bool failed = false;
    json_put(document, "store", json_from_string(store_path(store)), &failed);
    json_put(document, "file", json_from_string(file), &failed);
    json_put(document, "files", json_from_u64(pack->files), &failed);
    json_put(document, "packed_bytes", json_from_u64(pack->packed_bytes), &failed);
    json_put(document, "unpacked_bytes", json_from_u64(pack->unpacked_bytes), &failed);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}

static enum pcere_status pack_run(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct pack_words *words = raw;
    struct store_pack pack;
    char *own = words->output ? NULL : file_name(cli->store);
    const char *file = words->output ? words->output : own;
    if (!file)
        return pcere_fail_memory(error, "a name");
    cli_progress(cli, "packing");
    enum pcere_status status = store_pack(cli->store, file, words->force, &pack, error);
    cli_progress(cli, NULL);
    if (status == PCERE_OK && cli->json) {
        status = document_add(cli->document, cli->store, file, &pack, error);
    } else if (status == PCERE_OK) {
        char packed[UNITS_TEXT_BYTES];
        printf("%s: %s, %u files\n", file, units_format_bytes(pack.packed_bytes, packed), pack.files);
    }
    free(own);
    return status;
}

static const struct cli_option options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct pack_words, output), "FILE", "The file to write; STORE.tar.zst in the current directory if not given.", 0, 0},
    {"force", 0, CLI_FLAG, offsetof(struct pack_words, force), NULL, "Replace the file if it exists.", 0, 0},
};

const struct cli_verb cli_verb_pack = {
    .name = "pack",
    .summary = "make one file of a store, to send it to another machine",
    .synopsis = "[STORE]",
    .description =
        "Checks everything in the store and writes it as one compressed file (a tar archive under zstd, with a checksum over every byte), whole "
        "or not at all. Rebuilt codelets stay behind: they are built again where they are replayed.\n\n"
        "The file holds all that replays need of the program: its executable with the bitcode, the shared libraries that it brought, and the captured "
        "memory. Sources and build tree are not needed. Like a store it holds a process's memory with whatever secrets that had, and is readable by its "
        "owner only.",
    .examples = "pcere pack\npcere pack cg.A.pcere -o /tmp/cg.tar.zst\n# there:\npcere unpack cg.tar.zst\npcere replay --threads 1,2,4,8\n",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct pack_words),
    .operands = CLI_OPERANDS_STORE,
    .needs = CLI_NEEDS_STORE,
    .run = pack_run,
};
