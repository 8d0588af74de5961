/* cli/measure_store.h - real runs of a store's program, kept in the store beside its replays.
 */
#ifndef PCERE_CLI_MEASURE_STORE_H
#define PCERE_CLI_MEASURE_STORE_H

#include "cli/cli.h"

/* What to do about a run that did something else than the captured one. */
#define MEASURE_ELSE_HINT "give it what it was given when it was captured: on its standard input, in files, in the environment"

/* Run cli->store's program with each thread count, in its working directory and with the OpenMP environment that it was captured with, and
 * append the times: a "run" sample for the whole program and one for each region, and at other thread counts than the capture's a "members" sample for
 * each class of several members (predictor/members.h). `repeat` runs for each thread count; 0: as many
 * as fit into three seconds, at most five. The program is the one that was captured, byte for byte: the stored copy runs if it has
 * changed or is gone. PCERE_NO: it failed, or did something else: it entered no region, and was done in a small part of the captured run's time; such a run is not kept. */
enum pcere_status measure_store(struct cli *cli, const unsigned *threads, size_t thread_count, uint64_t repeat, struct pcere_error *error);

/* OpenMP settings other than those of the capture; zero: none. */
struct measure_settings {
    const char *text;                /* as samples name them: "schedule=... bind=..."; NULL: "" */
    const char *schedule, *bind;     /* OMP_SCHEDULE and OMP_PROC_BIND; NULL: as they were */
};

/* measure_store with such settings, which the samples then bear; classes are not judged. */
enum pcere_status measure_store_set(struct cli *cli, const struct measure_settings *settings, unsigned threads, uint64_t repeat, struct pcere_error *error);

struct capture_run;
struct store;

/* Append a run that this machine made: a line for the whole program, and one for each region (its invocations together). `settings`: "" for the
 * original's. line_ns: how far the processors lay apart (cli/lines.h), or 0. */
enum pcere_status measure_store_append(const struct store *store, const char *host_name, const char *host, const char *settings, const struct capture_run *run, uint64_t line_ns,
                                       struct pcere_error *error);

/* Did each thread of the program have a processor, but for what other work took? Else threads wait for each other's. */
bool measure_processors_suffice(const struct capture_run *run);

#endif
