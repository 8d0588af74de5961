/* cli/verb_compare.c - pcere compare: two profiles by label, or profiles against references by their dissimilarity. */
#include "analysis/difference.h"
#include "analysis/epd.h"
#include "analysis/profile_part.h"
#include "cli/compare_text.h"
#include "cli/profile_files.h"
#include "cli/verbs.h"
#include "core/json.h"

#include <stdlib.h>
#include <string.h>

struct compare_words {
    const char *by, *event, *epd, *floor;
    uint64_t top, bins;
    bool csv;
};

/* ---- by label ------------------------------------------------------------------------------------------------------------------- */

static enum pcere_status times_add(struct profile_files *files, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < files->count && status == PCERE_OK; i++)
        status = profile_active_time_add(files->profiles[i], error);
    return status;
}

/* `sides[1]` is empty where one side is looked at alone. */
static enum pcere_status sides_compare(struct cli *cli, const struct compare_words *words, struct profile_files sides[2], struct pcere_error *error)
{
    enum difference_by by = words->by ? difference_by_find(words->by) : DIFFERENCE_BY_CONSTRUCT;
    struct compare_view view = {.files = sides, .only = words->event, .by = by, .csv = words->csv};
    bool alone = !sides[1].count;
    size_t event;
    if (by == DIFFERENCE_BY_COUNT)
        return pcere_fail(error, PCERE_USAGE, 0, "construct, thread, core or node", "--by: there is no '%.60s'", words->by);
    enum pcere_status status = times_add(&sides[0], error);
    if (status == PCERE_OK)
        status = times_add(&sides[1], error);
    if (status == PCERE_OK && words->event)
        status = profile_event_require(sides[0].profiles[0], words->event, &event, error);
    if (status == PCERE_OK && words->event && !alone)
        status = profile_event_require(sides[1].profiles[0], words->event, &event, error);
    if (status != PCERE_OK)
        return status;
    struct difference difference;
    struct difference_side a = {sides[0].profiles, (const char *const *)sides[0].names, sides[0].count};
    struct difference_side b = alone ? a : (struct difference_side){sides[1].profiles, (const char *const *)sides[1].names, sides[1].count};
    status = difference_make(&a, &b, by, words->csv ? SIZE_MAX : words->top ? words->top : 10, &difference, error);
    if (status != PCERE_OK)
        return status;
    struct pcere_error other = {0};
    if (profile_same_run(a.profiles[0]->runs, a.names[0], b.profiles[0]->runs, b.names[0], &other) != PCERE_OK)
        view.differs = other.message;
    if (view.differs && difference.event_count && !difference.events[0].matched && difference.only_a && difference.only_b) {
        difference_done(&difference);
        return pcere_fail(error, PCERE_DATA, 0, "compare profiles of one program; those of two builds need the constructs' ids: compile both with the plugin, from the same folder, and profile them with this pcere", "no XU has a partner: %.700s", other.message);
    }
    if (alone && cli->json)
        status = sums_document_add(cli->document, &view, &difference, error);
    else if (alone)
        sums_print(&view, &difference, stdout);
    else if (cli->json)
        status = compare_document_add(cli->document, &view, &difference, error);
    else
        compare_print(&view, &difference, stdout);
    difference_done(&difference);
    return status;
}

static enum pcere_status compare_two(struct cli *cli, const struct compare_words *words, struct pcere_error *error)
{
    if (!cli->operand_count || cli->operand_count > 2)
        return pcere_fail(error, PCERE_USAGE, 0, "pcere compare A.pcx B.pcx; repeats of one side are joined by commas: A1.pcx,A2.pcx",
                          "two sides are compared, not %zu", cli->operand_count);
    if (cli->operand_count == 1 && words->top)
        return pcere_fail(error, PCERE_USAGE, 0, "pcere compare A.pcx B.pcx", "--top: one side alone does not change");
    struct profile_files sides[2] = {0};
    enum pcere_status status = profile_files_read_list(cli->operands[0], &sides[0], error);
    if (status == PCERE_OK && cli->operand_count == 2)
        status = profile_files_read_list(cli->operands[1], &sides[1], error);
    if (status == PCERE_OK)
        status = sides_compare(cli, words, sides, error);
    profile_files_done(&sides[0]);
    profile_files_done(&sides[1]);
    return status;
}

/* ---- by dissimilarity ----------------------------------------------------------------------------------------------------------- */

static enum pcere_status profiles_judge(struct cli *cli, const struct compare_words *words, const struct profile_files *references,
                                        const struct profile_files *profiles, const struct epd_calibration *calibration, struct pcere_error *error)
{
    const char *const *names = (const char *const *)references->names;
    struct epd_result *results = calloc(profiles->count, sizeof *results);
    enum pcere_status status = results ? PCERE_OK : pcere_fail_memory(error, "the results");
    for (size_t i = 0; i < profiles->count && status == PCERE_OK; i++) {
        cli_progress(cli, profiles->names[i]);
        status = epd_evaluate(profiles->profiles[i], profiles->names[i], references->profiles, names, references->count, calibration, &results[i], error);
    }
    cli_progress(cli, NULL);
    if (status == PCERE_OK && cli->json)
        status = epd_document_add(cli->document, references, profiles, calibration, results, error);
    else if (status == PCERE_OK)
        epd_print(profiles, calibration, results, words->csv, stdout);
    for (size_t i = 0; results && i < profiles->count; i++)
        epd_result_done(&results[i]);
    free(results);
    return status;
}

static enum pcere_status compare_epd(struct cli *cli, const struct compare_words *words, struct pcere_error *error)
{
    struct epd_options options = {.bins = (uint32_t)words->bins};
    char *end = NULL;
    if (words->floor && (!((options.floor = strtod(words->floor, &end)) > 0) || *end || options.floor > 1))
        return pcere_fail(error, PCERE_USAGE, 0, "--floor 0.001", "--floor: '%.40s' is no number above 0 and at most 1", words->floor);
    if (!cli->operand_count)
        return pcere_fail(error, PCERE_USAGE, 0, "pcere compare --epd REF1.pcx,REF2.pcx,REF3.pcx FILE...", "no profile is named that is to be judged");
    struct profile_files references = {0}, profiles = {0};
    struct epd_calibration calibration = {0};
    enum pcere_status status = profile_files_read_list(words->epd, &references, error);
    if (status == PCERE_OK)
        status = profile_files_read(cli->operands, cli->operand_count, &profiles, error);
    cli_progress(cli, "calibrating");
    if (status == PCERE_OK)
        status = epd_calibrate(references.profiles, (const char *const *)references.names, references.count, &options, &calibration, error);
    if (status == PCERE_OK)
        status = profiles_judge(cli, words, &references, &profiles, &calibration, error);
    epd_calibration_done(&calibration);
    profile_files_done(&references);
    profile_files_done(&profiles);
    return status;
}

static enum pcere_status compare_run(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct compare_words *words = raw;
    if (words->csv && cli->json)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "--json and --csv exclude each other");
    if (words->epd && (words->by || words->event || words->top))
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "--by, --event and --top are not for --epd");
    if (!words->epd && (words->bins || words->floor))
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "--bins and --floor are for --epd");
    return words->epd ? compare_epd(cli, words, error) : compare_two(cli, words, error);
}

static const struct cli_option options_list[] = {
    {"by", 0, CLI_TEXT, offsetof(struct compare_words, by), "WHAT", "Sums by construct (the default), thread, core or node.", 0, 0},
    {"event", 0, CLI_TEXT, offsetof(struct compare_words, event), "NAME", "This event alone.", 0, 0},
    {"top", 0, CLI_NUMBER, offsetof(struct compare_words, top), "N", "List the N XUs of each event that changed most (10).", 1, 1000000},
    {"csv", 0, CLI_FLAG, offsetof(struct compare_words, csv), NULL, "CSV: a line for each XU and event that changed; with --epd a line for each profile.", 0, 0},
    {"epd", 0, CLI_TEXT, offsetof(struct compare_words, epd), "FILES",
     "Judge the named profiles against these references, joined by commas: runs that counted events at the same time. Three repeats are a good number.", 0, 0},
    {"bins", 0, CLI_NUMBER, offsetof(struct compare_words, bins), "N", "With --epd: intervals of each event's range (20).", 1, EPD_BINS_MOST},
    {"floor", 0, CLI_TEXT, offsetof(struct compare_words, floor), "X", "With --epd: distances below X intervals count like X (0.001).", 0, 0},
};

const struct cli_verb cli_verb_compare = {
    .name = "compare",
    .summary = "hold two profiles against each other by label, or profiles against references by dissimilarity",
    .synopsis = "A [B]  |  --epd REF,REF... FILE...",
    .description =
        "Two sides, each a profile or repeats of one joined by commas: sums of each event and of the active time, the execution units (XUs) that changed most, matched by label, and sums by construct, thread, "
        "core or NUMA node. Builds may differ: where lines were moved, or one has no -g, labels are matched by the ids that the plugin gave constructs, and that is said. The confidence that an XU changed comes from repeats: how rarely chance would put all of one side's counts below the other's; four repeats on each side are needed "
        "for 95 %. Counts that are the same in each run are sure with one. With many XUs chance moves some: how many is said.\n\n"
        "One side alone: its sums by construct, thread, core or NUMA node.\n\n"
        "With --epd: how far the distribution of XUs over each pair of events lies from the references (execution profile dissimilarity). 1 is as far as references are from each other. "
        "Pairs in which the references do not differ at all cannot be such a ratio: they are left out and counted, and a second number has all pairs, where distances below --floor count "
        "like it.",
    .examples = "pcere compare cg.S.pcx --by core\npcere compare before.pcx after.pcx --event instructions\npcere compare a1.pcx,a2.pcx,a3.pcx,a4.pcx b1.pcx,b2.pcx,b3.pcx,b4.pcx --by thread\n"
                "pcere compare --epd ref1.pcx,ref2.pcx,ref3.pcx lgl.pcx bc.pcx ctc.pcx hem.pcx\n",
    .options = options_list, .option_count = sizeof options_list / sizeof *options_list, .options_bytes = sizeof(struct compare_words),
    .operands = CLI_OPERANDS_ANY,
    .run = compare_run,
};
