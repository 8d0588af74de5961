/* cli/program_stage.c - the program of a store, found again or copied out of it. */
#include "cli/program_stage.h"
#include "core/files.h"
#include "core/host.h"
#include "core/json.h"
#include "core/text.h"
#include "replay-rt/launcher/link_libraries.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* This process's environment with what the program saw of OpenMP when it was captured. */
static struct environment environment_merge(char *const *captured)
{
    struct environment merged = environment_copy(environ);
    for (size_t i = 0; captured && captured[i]; i++)
        environment_set(&merged, "%s", captured[i]);
    return merged;
}

static enum pcere_status program_copy(const char *stored, struct program_stage *stage, struct pcere_error *error)
{
    enum pcere_status status = cli_directory_new(&stage->directory, error);
    if (status != PCERE_OK)
        return status;
    struct text path = {0};
    text_addf(&path, "%s/program", stage->directory);
    stage->program = text_take(&path);
    if (!stage->program)
        return pcere_fail_memory(error, "a path");
    status = file_copy(stored, AT_FDCWD, stage->program, NULL, error);
    if (status == PCERE_OK && chmod(stage->program, 0700) != 0)
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot make '%s' executable", stage->program);
    return status;
}

/* The copy finds the libraries that it had beside itself. */
static enum pcere_status libraries_link(const struct store *store, struct program_stage *stage, struct pcere_error *error)
{
    char *path = realpath(store_path(store), NULL);
    struct text prefix = {0};
    text_addf(&prefix, "%s/libraries", path ? path : "");
    enum pcere_status status = !path || prefix.failed ? pcere_fail_memory(error, "a path")
                                                      : link_libraries_choose(store, stage->directory, prefix.data, error);
    free(path);
    text_done(&prefix);
    return status;
}

static enum pcere_status program_choose(struct cli *cli, const struct store_manifest *manifest, struct program_stage *stage, struct pcere_error *error)
{
    char *stored;
    uint64_t stored_hash, stored_bytes, hash, bytes;
    enum pcere_status status = store_file(cli->store, "program", &stored, error);
    if (status != PCERE_OK)
        return status;
    status = file_hash(AT_FDCWD, stored, &stored_hash, &stored_bytes, error);
    if (status == PCERE_OK && manifest->program_file && file_hash(AT_FDCWD, manifest->program_file, &hash, &bytes, NULL) == PCERE_OK &&
        hash == stored_hash && bytes == stored_bytes && access(manifest->program_file, X_OK) == 0) {
        stage->program = strdup(manifest->program_file);
        if (!stage->program)
            status = pcere_fail_memory(error, "a path");
    } else if (status == PCERE_OK) {
        cli_note(cli, "'%s' is gone or has changed since its capture: the copy in the store runs instead", manifest->program);
        status = program_copy(stored, stage, error);
        if (status == PCERE_OK)
            status = libraries_link(cli->store, stage, error);
    }
    free(stored);
    return status;
}

static void library_path_put(struct program_stage *stage)
{
    const char *others = environment_get(stage->environment.list, "LD_LIBRARY_PATH");
    environment_set(&stage->environment, "LD_LIBRARY_PATH=%s%s%s", stage->directory, others ? ":" : "", others ? others : "");
}

enum pcere_status program_stage_enter(struct cli *cli, struct program_stage *stage, struct pcere_error *error)
{
    const struct store_manifest *manifest = store_manifest(cli->store);
    enum pcere_status status = cli_file_find("libpcere-capture.so", &stage->library, error);
    if (status == PCERE_OK)
        status = program_choose(cli, manifest, stage, error);
    if (status == PCERE_OK)
        status = host_name(&stage->host_name, error);
    json_t *host = NULL;
    if (status == PCERE_OK)
        status = host_describe(&host, error);
    if (status != PCERE_OK)
        return status;
    stage->host = json_dumps(host, JSON_COMPACT);
    json_decref(host);
    stage->environment = environment_merge(manifest->environment);
    if (stage->directory)
        library_path_put(stage);
    if (stage->environment.failed || !stage->host)
        return pcere_fail_memory(error, "the environment");
    stage->home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (stage->home >= 0 && manifest->working_directory && chdir(manifest->working_directory) != 0)
        cli_note(cli, "'%s', where the program was captured, cannot be entered: it runs here", manifest->working_directory);
    return PCERE_OK;
}

static void stage_home(const struct program_stage *stage)
{
    if (stage->home >= 0 && fchdir(stage->home) != 0)
        return;                      /* the store was opened before; nothing else depends on where we are */
}

void program_stage_leave(struct program_stage *stage)
{
    if (stage->home >= 0) {
        stage_home(stage);
        close(stage->home);
    }
    if (stage->directory)
        cli_directory_remove(stage->directory);
    free(stage->program);
    free(stage->directory);
    environment_done(&stage->environment);
    free(stage->library);
    free(stage->host_name);
    free(stage->host);
}
