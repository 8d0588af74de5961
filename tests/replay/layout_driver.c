/* tests/replay/layout_driver.c - verify a store while the kernel does not randomise addresses: the worst case for captured ranges.
 *
 *   replay_layout_driver STORE LIBRARY_DIRECTORY     a line per codelet that differs, exit 1 if any does
 */
#include "replay-rt/launcher/replay.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct store *store = NULL;
    struct replay_target *targets = NULL;
    struct verify_report report = {0};
    struct pcere_error error = {0};
    size_t count = 0, wrong = 0;
    if (argc != 3)
        return 2;
    const struct replay_options options = {.library_directory = argv[2], .diagnostics_fd = 2, .keep_layout = true};
    if (store_open(argv[1], &store, &error) || replay_select(store, NULL, 0, &targets, &count, &error)
        || verify_run(store, targets, count, &options, &report, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    for (size_t i = 0; i < report.result_count; i++) {
        const struct verify_result *result = &report.results[i];
        if (result->identical)
            continue;
        wrong++;
        printf("%s #%llu: %s, %llu bytes differ\n", result->target->region->name,
               (unsigned long long)result->target->class->representative, result->error.message,
               (unsigned long long)result->different_bytes);
    }
    printf("%zu of %zu identical\n", report.result_count - wrong, report.result_count);
    verify_report_done(&report);
    free(targets);
    store_close(store);
    return wrong || !count;
}
