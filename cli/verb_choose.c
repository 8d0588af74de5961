/* cli/verb_choose.c - pcere choose: of several algorithms the one that a machine's model finds fastest, and how right that is where they were replayed. */
#include "cli/prediction.h"
#include "cli/verbs.h"
#include "core/json.h"
#include "core/units.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

struct choose_words { const char *arch; struct cli_threads threads; };

struct cell { uint64_t time_ns, low_ns, high_ns, replayed_ns; };     /* of all regions of one algorithm; replayed_ns 0: not replayed */

struct matrix {                      /* P(A_i, C_j): algorithms, thread counts */
    char **names;
    struct cell *cells;              /* [algorithm * thread_count + thread] */
    size_t algorithm_count, thread_count;
    uint32_t *threads;
    char *arch;
    struct pcere_error damage;       /* the first store's whose samples have a damaged line */
};

struct choice { size_t best, replayed_best; bool judged; double regret_ratio; };     /* judged: all algorithms were replayed with these threads */

static void matrix_done(struct matrix *matrix)
{
    for (size_t i = 0; i < matrix->algorithm_count; i++)
        free(matrix->names[i]);
    free(matrix->names);
    free(matrix->cells);
    free(matrix->threads);
    free(matrix->arch);
}

static const struct cell *cell_of(const struct matrix *matrix, size_t algorithm, size_t thread)
{
    return &matrix->cells[algorithm * matrix->thread_count + thread];
}

/* What replays say of the regions; 0 where they do not say all. */
static uint64_t regions_replayed_ns(const struct prediction *prediction, uint32_t threads)
{
    struct predict_request request = prediction->request;
    struct predict_result result;
    request.model = NULL;
    request.threads = &threads;
    request.thread_count = 1;
    if (predict_run(&request, &result, NULL) != PCERE_OK)
        return 0;
    uint64_t time_ns = result.points[0].time_ns - result.serial_ns;
    predict_result_done(&result);
    return time_ns;
}

static enum pcere_status algorithm_add(struct cli *cli, const struct choose_words *words, const char *path, struct matrix *matrix, struct pcere_error *error)
{
    struct prediction prediction = {0};
    const struct prediction_words wanted = {.arch = words->arch, .threads = words->threads.counts, .thread_count = words->threads.count, .model = true};
    enum pcere_status status = store_open(path, &cli->store, error);
    if (status)
        return status;
    size_t operands = cli->operand_count;
    cli->operand_count = 0;           /* they name stores here, not regions */
    status = prediction_prepare(cli, &wanted, &prediction, error);
    if (!status)
        status = prediction_make(&prediction, error);
    cli->operand_count = operands;
    if (!status && !matrix->cells) {
        matrix->thread_count = prediction.result.point_count;
        matrix->cells = calloc(operands * matrix->thread_count + 1, sizeof *matrix->cells);
        matrix->threads = calloc(matrix->thread_count + 1, sizeof *matrix->threads);
        matrix->names = calloc(operands + 1, sizeof *matrix->names);
        matrix->arch = strdup(prediction.arch);
        if (!matrix->cells || !matrix->threads || !matrix->names || !matrix->arch)
            status = pcere_fail_memory(error, "times");
    }
    for (size_t t = 0; !status && t < matrix->thread_count; t++) {
        const struct predict_point *point = &prediction.result.points[t];
        uint64_t serial_ns = prediction.result.serial_ns, low_ns = 0, high_ns = 0;
        for (size_t i = 0; i < point->region_count; i++) {       /* they err together */
            low_ns += point->regions[i].low_ns;
            high_ns += point->regions[i].high_ns;
        }
        matrix->threads[t] = point->threads;
        matrix->cells[matrix->algorithm_count * matrix->thread_count + t] = (struct cell){
            point->time_ns - serial_ns, low_ns, high_ns,
            prediction.here ? regions_replayed_ns(&prediction, point->threads) : 0};
    }
    if (!status && !(matrix->names[matrix->algorithm_count] = strdup(path)))
        status = pcere_fail_memory(error, "a name");
    matrix->algorithm_count += !status;
    prediction_done(&prediction);
    struct pcere_error damage;
    if (!status && !matrix->damage.status && store_samples_whole(cli->store, &damage) != PCERE_OK)
        pcere_fail(&matrix->damage, damage.status, 0, damage.hint, "'%.100s': %s", path, damage.message);
    store_close(cli->store);
    cli->store = NULL;
    return status;
}

static struct choice choose(const struct matrix *matrix, size_t thread)
{
    struct choice choice = {.judged = true};
    for (size_t i = 0; i < matrix->algorithm_count; i++) {
        const struct cell *cell = cell_of(matrix, i, thread);
        if (cell->time_ns < cell_of(matrix, choice.best, thread)->time_ns)
            choice.best = i;
        if (cell->replayed_ns < cell_of(matrix, choice.replayed_best, thread)->replayed_ns)
            choice.replayed_best = i;
        choice.judged &= cell->replayed_ns > 0;
    }
    if (choice.judged)
        choice.regret_ratio = (double)cell_of(matrix, choice.best, thread)->replayed_ns / (double)cell_of(matrix, choice.replayed_best, thread)->replayed_ns - 1;
    return choice;
}

static void matrix_print(const struct matrix *matrix)
{
    static const char *const headings[] = {"algorithm", ">threads", "by model", ">replayed", ""};
    struct cli_table *table = cli_table_new(sizeof headings / sizeof *headings, headings);
    printf("on %s, without the parts outside regions\n\n", matrix->arch);
    for (size_t t = 0; table && t < matrix->thread_count; t++) {
        struct choice choice = choose(matrix, t);
        for (size_t i = 0; i < matrix->algorithm_count; i++) {
            const struct cell *cell = cell_of(matrix, i, t);
            char threads[24], time[CLI_TEXT_MOST], replayed[UNITS_TEXT_BYTES] = "-", note[CLI_TEXT_MOST] = "", regret[CLI_TEXT_MOST];
            snprintf(threads, sizeof threads, "%u", matrix->threads[t]);
            if (cell->replayed_ns)
                units_format_ns(cell->replayed_ns, replayed);
            if (i == choice.best && choice.judged)
                snprintf(note, sizeof note, "chosen, regret %s", cli_ratio_text(regret, choice.regret_ratio));
            else
                snprintf(note, sizeof note, "%s", i == choice.best ? "chosen" : choice.judged && i == choice.replayed_best ? "fastest replay" : "");
            const char *cells[] = {matrix->names[i], threads, cli_interval_text(time, cell->time_ns, cell->low_ns, cell->high_ns), replayed, note};
            cli_table_row(table, cells);
        }
    }
    cli_table_print(table, stdout);
    cli_table_free(table);
}

static enum pcere_status matrix_document(json_t *document, const struct matrix *matrix, struct pcere_error *error)
{
    bool failed = false;
    json_t *choices = json_array();
    for (size_t t = 0; t < matrix->thread_count; t++) {
        struct choice choice = choose(matrix, t);
        json_t *value = json_object(), *times = json_array();
        for (size_t i = 0; i < matrix->algorithm_count; i++) {
            const struct cell *cell = cell_of(matrix, i, t);
            json_t *time = json_object();
            json_put(time, "algorithm", json_from_string(matrix->names[i]), &failed);
            json_put(time, "time_ns", json_from_u64(cell->time_ns), &failed);
            json_put(time, "low_ns", json_from_u64(cell->low_ns), &failed);
            json_put(time, "high_ns", json_from_u64(cell->high_ns), &failed);
            json_put(time, "replayed_ns", cell->replayed_ns ? json_from_u64(cell->replayed_ns) : json_null(), &failed);
            failed |= json_array_append_new(times, time) != 0;
        }
        json_put(value, "threads", json_from_u64(matrix->threads[t]), &failed);
        json_put(value, "best", json_from_string(matrix->names[choice.best]), &failed);
        json_put(value, "replayed_best", choice.judged ? json_from_string(matrix->names[choice.replayed_best]) : json_null(), &failed);
        json_put(value, "regret_ratio", choice.judged ? json_from_double(choice.regret_ratio) : json_null(), &failed);
        json_put(value, "times", times, &failed);
        failed |= json_array_append_new(choices, value) != 0;
    }
    json_put(document, "arch", json_from_string(matrix->arch), &failed);
    json_put(document, "basis", json_string("model"), &failed);
    json_put(document, "choices", choices, &failed);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}

static enum pcere_status choose_verb(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct choose_words *words = raw;
    struct matrix matrix = {0};
    if (cli->operand_count < 2)
        return pcere_fail(error, PCERE_USAGE, 0, "capture a program for each algorithm, and name their stores: pcere choose rows.pcere columns.pcere",
                          "there is nothing to choose from");
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < cli->operand_count && !status; i++)
        status = algorithm_add(cli, words, cli->operands[i], &matrix, error);
    if (!status && cli->json)
        status = matrix_document(cli->document, &matrix, error);
    else if (!status)
        matrix_print(&matrix);
    if (!status && matrix.damage.status) {
        *error = matrix.damage;
        status = PCERE_DATA;
    }
    matrix_done(&matrix);
    return status;
}

static const struct cli_option options[] = {
    {"arch", 0, CLI_TEXT, offsetof(struct choose_words, arch), "NAME", "The machine to choose for: a name that 'pcere platform list' knows, or a file; this one if not given.", 0, 0},
    {"threads", 0, CLI_THREADS, offsetof(struct choose_words, threads), "LIST", "Thread counts; 1, 2, 4 and 8 as far as there are cores, if not given.", 0, 0},
};

const struct cli_verb cli_verb_choose = {
    .name = "choose",
    .summary = "of several algorithms the fastest on a machine, by its model",
    .synopsis = "STORE STORE...",
    .description =
        "Each store holds a program that solves the same problem in another way. The model of the machine (pcere predict --arch) says how long the regions of each take at "
        "each number of threads, and the one that takes least is chosen. The parts outside regions do not count.\n\n"
        "Where all of them were replayed on this machine with as many threads, the choice is judged: its regret is how much longer the chosen one takes than the fastest, by replays.",
    .examples = "pcere choose rows.pcere columns.pcere --threads 1,2\npcere choose ijk.pcere ikj.pcere tiled.pcere --arch sandybridge\n",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct choose_words),
    .operands = CLI_OPERANDS_ANY,
    .run = choose_verb,
};
