/* cli/looking.c - see looking.h. */
#include "cli/looking.h"

#include "cli/replay_options.h"
#include "replay-rt/launcher/together.h"

#include <stdlib.h>

/* *ret_large: bytes of bitcode that were too many, or 0. PCERE_NO: noted. */
static enum pcere_status look(struct cli *cli, struct store *store, uint64_t bytes_most, uint64_t *ret_large, struct pcere_error *error)
{
    struct pcere_error failure = {0};
    struct store_limit *limits = NULL;
    size_t count = 0;
    char *libraries = NULL;
    enum pcere_status status = replay_library_directory(&libraries, &failure);
    if (!status)
        status = together_find(store, getenv("PATH"), libraries, bytes_most, &limits, &count, ret_large, &failure);
    free(libraries);
    if (status) {
        cli_note(cli, "the program's files were not looked at together, so memory that one of them sizes by the number of threads is not known to regions in another: %s", failure.message);
        return pcere_fail(error, PCERE_NO, 0, NULL, "%s", failure.message);
    }
    status = store_limits_write(store, limits, count, !*ret_large, error);
    store_limits_free(limits, count);
    return status;
}

enum pcere_status looking_behind(struct cli *cli, struct store *store, struct pcere_error *error)
{
    uint64_t large = 0;
    struct pcere_error failure = {0};
    enum pcere_status status = look(cli, store, TOGETHER_QUICK_BYTES, &large, &failure);
    if (!status && large)
        cli_note(cli, "files with %.3g MiB of bitcode are looked at together before the first replay with another number of threads than the capture's: what one of them sizes by the number of threads is not "
                 "known to regions in another until then", (double)large / (1 << 20));
    if (status == PCERE_NO)
        return PCERE_OK;
    if (status)
        *error = failure;
    return status;
}

enum pcere_status looking_before(struct cli *cli, struct store *store, const uint32_t *threads, size_t count, struct pcere_error *error)
{
    const struct store_manifest *manifest = store_manifest(store);
    uint64_t large = 0;
    bool others = false;
    for (size_t i = 0; i < count; i++)
        others |= threads[i] != manifest->threads;
    if (!others || manifest->looked_together)
        return PCERE_OK;
    cli_progress(cli, "the program's files are looked at together");
    struct pcere_error failure = {0};
    enum pcere_status status = look(cli, store, TOGETHER_BYTES_MOST, &large, &failure);
    cli_progress(cli, NULL);
    if (large)
        cli_note(cli, "files with %.3g MiB of bitcode were not looked at together, which would take too long: memory that one of them sizes by the number of threads is not known to regions in "
                 "another, which may crash or differ with other threads than the capture's; pcere capture --threads captures with others", (double)large / (1 << 20));
    if (status == PCERE_SYSTEM)
        cli_note(cli, "that regions hold for the capture's threads only is not kept in the store, and found out again next time: %s", failure.message);
    else if (status && status != PCERE_NO)
        return pcere_fail(error, status, 0, NULL, "%s", failure.message);
    return PCERE_OK;
}
