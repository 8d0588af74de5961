/* cli/verbs.h - the verbs, one file each (verb_NAME.c); main.c puts them in order. */
#ifndef PCERE_CLI_VERBS_H
#define PCERE_CLI_VERBS_H

#include "cli/cli.h"

extern const struct cli_verb cli_verb_check;
extern const struct cli_verb cli_verb_capture;
extern const struct cli_verb cli_verb_regions;
extern const struct cli_verb cli_verb_run;
extern const struct cli_verb cli_verb_replay;
extern const struct cli_verb cli_verb_verify;
extern const struct cli_verb cli_verb_predict;
extern const struct cli_verb cli_verb_tune;
extern const struct cli_verb cli_verb_profile;
extern const struct cli_verb cli_verb_combine;
extern const struct cli_verb cli_verb_compare;
extern const struct cli_verb cli_verb_trace;
extern const struct cli_verb cli_verb_merge;
extern const struct cli_verb cli_verb_timeline;
extern const struct cli_verb cli_verb_metrics;
extern const struct cli_verb cli_verb_graph;
extern const struct cli_verb cli_verb_platform;
extern const struct cli_verb cli_verb_choose;
extern const struct cli_verb cli_verb_report;
extern const struct cli_verb cli_verb_export;
extern const struct cli_verb cli_verb_pack;
extern const struct cli_verb cli_verb_unpack;
extern const struct cli_verb cli_verb_rm;
extern const struct cli_verb cli_verb_help;
extern const struct cli_verb cli_verb_version;

#endif
