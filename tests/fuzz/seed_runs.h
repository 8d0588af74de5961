/* tests/fuzz/seed_runs.h - seeds of what is known of runs: a profile, a trace of ours, Chrome's JSON, a graph.
 */
#ifndef PCERE_TESTS_FUZZ_SEED_RUNS_H
#define PCERE_TESTS_FUZZ_SEED_RUNS_H

/* FOLDER/profile, trace, chrome and dot, each with a file `seed`; ends the process where that fails. */
void seed_runs_make(const char *folder);

#endif
