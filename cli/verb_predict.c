/* cli/verb_predict.c - pcere predict: the whole program's time at other thread counts, out of its replays. */
#include "cli/interrupt.h"
#include "cli/measure_store.h"
#include "cli/own_spread.h"
#include "cli/prediction.h"
#include "cli/verbs.h"
#include "core/host.h"
#include "core/units.h"
#include "predictor/replays.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNSEEN_RATIO 0.02         /* of a prediction: less by shots that were not compared is not worth a line */

struct predict_words {
    struct cli_threads threads;
    const char *arch, *flags, *settings;
    bool measure, model, measured_serial;
    uint64_t repeat;
};

static void point_row(struct cli_table *table, const struct prediction *prediction, const struct predict_point *point, const char *threads)
{
    uint64_t one_ns = prediction_at_one_ns(&prediction->result);
    char time[CLI_TEXT_MOST], real[UNITS_TEXT_BYTES] = "-", error[CLI_TEXT_MOST] = "-", acceleration[CLI_TEXT_MOST] = "-", speedup[CLI_TEXT_MOST] = "-";
    if (one_ns && point->time_ns)
        snprintf(speedup, sizeof speedup, "%.2f", (double)one_ns / (double)point->time_ns);
    if (point->has_real) {
        units_format_ns(point->real_ns, real);
        cli_ratio_text(error, point->error_ratio);
    }
    if (point->has_acceleration)
        snprintf(acceleration, sizeof acceleration, point->has_real ? "%.3g" : "%.3g ~", point->acceleration);
    const char *cells[] = {threads, cli_interval_text(time, point->time_ns, point->low_ns, point->high_ns), speedup, real, error, acceleration};
    cli_table_row(table, cells);
}

/* All thread counts that were asked for, in that order. */
static void points_print(const struct prediction *prediction, bool *marked)
{
    bool estimated = false;
    static const char *const headings[] = {">threads", "predicted", ">speed-up", ">real", ">error", ">acceleration"};
    struct cli_table *table = cli_table_new(sizeof headings / sizeof *headings, headings);
    const struct predict_result *result = &prediction->result;
    for (size_t i = 0, next = 0; table && i < prediction->request.thread_count; i++) {
        char threads[CLI_TEXT_MOST];
        cli_thread_count_text(threads, prediction->threads[i], prediction_processors(prediction), marked);
        const char *absent[] = {threads, "not replayed", "-", "-", "-", "-"};
        if (next < result->point_count && result->points[next].threads == prediction->threads[i])
            point_row(table, prediction, &result->points[next++], threads);
        else
            cli_table_row(table, absent);
    }
    cli_table_print(table, stdout);
    cli_table_free(table);
    for (size_t i = 0; i < result->point_count; i++)
        estimated |= result->points[i].has_acceleration && !result->points[i].has_real;
    if (estimated)
        puts("~ the predicted time over the cost of replays, since no real run is known; --measure finds out");
}

#define KEPT_TOLD_RATIO 0.05

static void region_row(struct cli_table *table, const struct prediction *prediction, const struct predict_point *point,
                       const struct predict_region *region)
{
    char threads[24], time[CLI_TEXT_MOST], real[UNITS_TEXT_BYTES] = "-", error[CLI_TEXT_MOST] = "-", share[CLI_TEXT_MOST];
    snprintf(threads, sizeof threads, "%u", point->threads);
    uint64_t real_ns = prediction_region_real_ns(prediction, region->name, point->threads);
    if (real_ns) {
        units_format_ns(real_ns, real);
        snprintf(error, sizeof error, "%+.1f %%", 100 * ((double)region->time_ns / (double)real_ns - 1));
    }
    const char *basis = region->basis == PREDICT_REPLAY ? "" : region->basis == PREDICT_SAMPLE ? "sampled" : region->basis == PREDICT_MODEL ? "by model" :
                        region->basis == PREDICT_SCALED ? "not replayed: scaled as what was" : "not replayed: as in the capture's run";
    char mixed[CLI_TEXT_MOST + 64], part[CLI_TEXT_MOST];
    double kept_ratio = region->time_ns ? (double)region->in_vivo_ns / (double)region->time_ns : 0;
    if (kept_ratio >= KEPT_TOLD_RATIO && kept_ratio < 1) {
        snprintf(mixed, sizeof mixed, "%s%s%s of it not replayed", basis, *basis ? ", " : "", cli_ratio_text(part, kept_ratio));
        basis = mixed;
    }
    const char *cells[] = {region->name, threads, cli_interval_text(time, region->time_ns, region->low_ns, region->high_ns),
                           cli_ratio_text(share, point->time_ns ? (double)region->time_ns / (double)point->time_ns : 0), real, error, basis};
    cli_table_row(table, cells);
}

/* Regions under one percent everywhere are left out and counted. */
static void regions_print(const struct prediction *prediction)
{
    static const char *const headings[] = {"~region", ">threads", "in vitro", ">share", ">in vivo", ">difference", ""};
    struct cli_table *table = cli_table_new(sizeof headings / sizeof *headings, headings);
    const struct predict_result *result = &prediction->result;
    size_t small = 0, nested = 0;
    putchar('\n');
    for (size_t i = 0; table && i < prediction->manifest->region_count; i++) {
        bool shown = false, inside = result->point_count > 0;
        for (size_t j = 0; j < result->point_count; j++)
            inside = inside && result->points[j].regions[i].basis == PREDICT_NESTED;
        for (size_t j = 0; j < result->point_count; j++)
            shown = shown || result->points[j].regions[i].time_ns * 100 >= result->points[j].time_ns;
        small += !shown && !inside;
        nested += !shown && inside;
        for (size_t j = 0; shown && j < result->point_count; j++)
            region_row(table, prediction, &result->points[j], &result->points[j].regions[i]);
    }
    cli_table_print(table, stdout);
    cli_table_free(table);
    if (nested)
        printf("%zu region%s inside others: %s time is in theirs\n", nested, nested == 1 ? " runs" : "s run", nested == 1 ? "its" : "their");
    if (small)
        printf("%zu region%s under 1 %% of the time %s not listed\n", small, small == 1 ? "" : "s", small == 1 ? "is" : "are");
}

static void foreign_print(const struct prediction *prediction)
{
    char *captured_on = host_described_name(prediction->manifest->host);
    bool serial = prediction->result.serial_basis == PREDICT_IN_VIVO;
    printf("\nThe program was captured on another machine (%s): %swhat was not replayed on %s keeps that machine's time.\n",
           captured_on ? captured_on : "without a name", serial ? "the part outside regions and " : "", prediction->arch);
    free(captured_on);
}

/* What stands behind a time that was computed. */
static void model_print(const struct prediction *prediction)
{
    const struct modelling *modelling = &prediction->modelling;
    putchar('\n');
    modelling_print(modelling);
    printf("\n%s: %s\n", modelling->signature.title, modelling->signature.basis == PLATFORM_MEASURED ? "its signature was measured" : "its signature is of published figures");
    if (!modelling->signature.pinned)
        puts("Its threads could not be pinned when it was measured: what it says is wide, and so are the intervals here.");
    if (!modelling->has_pipeline)
        printf("Without a model of its pipelines (%s): operations against rates.\n", modelling->pipeline_reason ? modelling->pipeline_reason : "unknown");
    if (modelling->is_here)
        return;
    if (modelling->calibrated)
        printf("%zu of %zu times are calibrated by replays here. ", modelling->calibrated, modelling->class_count);
    else
        printf("Nothing is calibrated: %s. ", modelling->has_own ? "no region was replayed here" : "this machine has no signature (pcere platform discover)");
    printf("What was not captured is taken to run %.3g times as long as here.\n", modelling->kept_ratio);
}

static void serials_print(const struct prediction *prediction)
{
    printf("\noutside regions");
    for (size_t i = 0; i < prediction->result.point_count; i++) {
        const struct predict_point *point = &prediction->result.points[i];
        char serial[UNITS_TEXT_BYTES];
        printf("%s %s with %u thread%s%s", i ? "," : "", units_format_ns(point->serial_ns, serial), point->threads, point->threads == 1 ? "" : "s",
               point->serial_basis == PREDICT_RUN ? " (real runs)" : "");
    }
    putchar('\n');
}

/* What is measured, computed and missing, as parts of the time. */
static void parts_print(const struct prediction *prediction)
{
    static const char *const names[PREDICT_BASES] = {
        [PREDICT_REPLAY] = "replayed", [PREDICT_SAMPLE] = "sampled", [PREDICT_MODEL] = "by model", [PREDICT_SCALED] = "scaled as what was replayed",
        [PREDICT_IN_VIVO] = "as in the capture's run", [PREDICT_RUN] = "by real runs",
    };
    for (size_t i = 0; i < prediction->result.point_count; i++) {
        const struct predict_point *point = &prediction->result.points[i];
        char share[CLI_TEXT_MOST];
        double whole = point->time_ns ? (double)point->time_ns : 1;
        printf("with %u thread%s: ", point->threads, point->threads == 1 ? "" : "s");
        for (size_t b = 0; b < PREDICT_BASES; b++)
            if (names[b] && point->parts_ns[b])
                printf("%s %s, ", cli_ratio_text(share, (double)point->parts_ns[b] / whole), names[b]);
        printf("%s outside regions", cli_ratio_text(share, (double)point->serial_ns / whole));
        if (point->start_ns)
            printf(", %s until the team has begun, once", cli_ratio_text(share, (double)point->start_ns / whole));
        if (point->clock_ns)
            printf(", %s since the clock falls by a factor of %.3g under lasting load (half of what it may cost)", cli_ratio_text(share, (double)point->clock_ns / whole), point->clock_falls);
        putchar('\n');
    }
}

/* What every region costs beside its work, which the model adds where nothing was replayed. */
static void forks_print(const struct prediction *prediction)
{
    size_t known = 0;
    for (size_t i = 0; i < prediction->result.point_count; i++) {
        const uint32_t threads = prediction->result.points[i].threads;
        const uint64_t fork_ns = prediction_fork_ns(prediction, threads);
        char time[UNITS_TEXT_BYTES];
        if (fork_ns)
            printf("%s %s with %u thread%s", known++ ? "," : "fork and join take", units_format_ns(fork_ns, time), threads, threads == 1 ? "" : "s");
    }
    if (known)
        puts(": each invocation that was not replayed has them");
}

/* Those that no replay will ever measure at these threads. */
static void thread_sized_print(const struct prediction *prediction, const struct predict_point *point)
{
    for (size_t r = 0; r < point->region_count; r++) {
        const struct store_region *region = &prediction->manifest->regions[r];
        char name[REGION_NAME_BYTES];
        bool missing = false;
        for (size_t c = 0; c < point->regions[r].class_count; c++)
            missing |= point->regions[r].classes[c].missing;
        if (missing && !store_region_may_have(region, prediction->manifest->threads, point->threads))
            printf("%s cannot run with %u thread%s, since it uses %s: pcere capture --threads %u\n", cli_region_name(name, prediction->manifest, region->name), point->threads,
                   point->threads == 1 ? "" : "s", region->thread_sized, point->threads);
    }
}

/* Codelets that have no replay at thread counts at which others have one. */
static void missing_print(const struct prediction *prediction)
{
    enum { NAMED = 3 };
    for (size_t i = 0; i < prediction->result.point_count; i++) {
        const struct predict_point *point = &prediction->result.points[i];
        char share[CLI_TEXT_MOST], name[REGION_NAME_BYTES];
        size_t named = 0;
        if (!point->missing_count)
            continue;
        printf("MISSING with %u thread%s: %zu codelet%s not replayed (", point->threads, point->threads == 1 ? "" : "s", point->missing_count, point->missing_count == 1 ? " was" : "s were");
        for (size_t r = 0; r < point->region_count; r++)
            for (size_t c = 0; c < point->regions[r].class_count; c++)
                if (point->regions[r].classes[c].missing && named++ < NAMED)
                    printf("%s%s #%llu", named > 1 ? ", " : "", cli_region_name(name, prediction->manifest, point->regions[r].name), (unsigned long long)point->regions[r].classes[c].representative);
        printf("%s). %s %s of the time %s; pcere replay%s%s --threads %u measures %s, or says why not\n", named > NAMED ? ", ..." : "",
               point->missing_count == 1 ? "Its" : "Their", cli_ratio_text(share, point->time_ns ? (double)point->missing_ns / (double)point->time_ns : 0),
               point->threads == prediction->manifest->threads ? "are those of the capture's run" : "are computed from the capture's run", prediction->request.store_name ? " " : "",
               prediction->request.store_name ? prediction->request.store_name : "", point->threads, point->missing_count == 1 ? "it" : "them");
        thread_sized_print(prediction, point);
    }
}

#define GUESSED_RATIO 0.1

/* Of what no codelet stands for, the time of regions that no capture can have; *ret_most: the one that takes most of it. */
static uint64_t never_captured_ns(const struct prediction *prediction, const struct predict_point *point, const struct store_region **ret_most)
{
    uint64_t all_ns = 0, most_ns = 0;
    for (size_t r = 0; r < point->region_count; r++) {
        const struct store_region *region = &prediction->manifest->regions[r];
        uint64_t own_ns = store_region_is_beyond_capture(region) ? point->regions[r].in_vivo_ns : 0;
        all_ns += own_ns;
        if (own_ns <= most_ns)
            continue;
        most_ns = own_ns;
        *ret_most = region;
    }
    return all_ns;
}

/* Much that no codelet stands for, at other thread counts than the capture's: a number that nothing holds. */
static void guessed_print(const struct prediction *prediction)
{
    for (size_t i = 0; i < prediction->result.point_count; i++) {
        const struct predict_point *point = &prediction->result.points[i];
        uint64_t guessed_ns = point->parts_ns[PREDICT_SCALED] + point->parts_ns[PREDICT_IN_VIVO];
        guessed_ns -= point->missing_ns < guessed_ns ? point->missing_ns : guessed_ns;
        char share[CLI_TEXT_MOST], low[UNITS_TEXT_BYTES], high[UNITS_TEXT_BYTES], name[REGION_NAME_BYTES];
        if (prediction->by_model || point->threads == prediction->manifest->threads || (double)guessed_ns <= GUESSED_RATIO * (double)point->time_ns)
            continue;
        const struct store_region *most = NULL;
        uint64_t never_ns = never_captured_ns(prediction, point, &most), rest_ns = guessed_ns - (never_ns < guessed_ns ? never_ns : guessed_ns);
        printf("GUESSED with %u thread%s: %s of the time, for which no replay counts (pcere regions says what was not captured). Take the interval, %s to %s, not the number; ",
               point->threads, point->threads == 1 ? "" : "s", cli_ratio_text(share, (double)guessed_ns / (double)point->time_ns), units_format_ns(point->low_ns, low),
               units_format_ns(point->high_ns, high));
        if (most)
            printf("%s cannot be had: %s%s", cli_region_name(name, prediction->manifest, most->name), most->reason, rest_ns > never_ns ? "; " : "\n");
        if (!most || rest_ns > never_ns)
            puts("a capture with nothing else running, or with --all-classes, may have the rest");
    }
}

#define TOLD_RATIO 0.01

/* Regions for which the number of threads changes nothing. */
static void teams_print(const struct prediction *prediction)
{
    for (size_t r = 0; r < prediction->manifest->region_count; r++) {
        const struct store_region *region = &prediction->manifest->regions[r];
        uint32_t team = store_region_team(region, prediction->manifest->threads);
        char name[REGION_NAME_BYTES];
        if (team && (double)region->time_ns >= TOLD_RATIO * (double)prediction->manifest->wall_ns)
            printf("%s runs with %u thread%s at any number of threads, as the program asks (num_threads, omp_set_num_threads)\n",
                   cli_region_name(name, prediction->manifest, region->name), team, team == 1 ? "" : "s");
    }
}

/* Where other work had the processors while replays or real runs were timed. */
static void busy_print(const struct prediction *prediction)
{
    for (size_t i = 0; i < prediction->result.point_count; i++) {
        const struct predict_point *point = &prediction->result.points[i];
        char share[CLI_TEXT_MOST];
        if (point->preempted_ratio >= PREDICT_BUSY_RATIO)
            printf("BUSY with %u thread%s: while replays were timed, other work had a processor of theirs for %s of the time. That is left out as far as it is known, so that runs beside such work "
                   "take longer than the interval says; replay again with nothing else running\n", point->threads, point->threads == 1 ? "" : "s", cli_ratio_text(share, point->preempted_ratio));
        if (point->real_waited_ratio >= PREDICT_BUSY_RATIO)
            printf("BUSY with %u thread%s: real runs waited for a processor, which other work had, for %s of their time. A prediction is of a machine without such work; measure again with nothing else "
                   "running\n", point->threads, point->threads == 1 ? "" : "s", cli_ratio_text(share, point->real_waited_ratio));
    }
}

/* Real runs are longer than the program for what their probes take inside regions; replays have none. */
static void stretched_print(const struct prediction *prediction)
{
    const struct store_region *most;
    double ratio = prediction_stretched_ratio(prediction, &most);
    bool real = false;
    char name[REGION_NAME_BYTES];
    for (size_t i = 0; i < prediction->result.point_count; i++)
        real |= prediction->result.points[i].has_real;
    if (!real || !most || ratio <= STORE_STRETCHED_RATIO)
        return;
    printf("STRETCHED: real runs take longer than the program by itself for probes of regions inside %s, as the capture's did by %.0f %% at least. Real times and errors are of such runs, "
           "replays have no probes: compare with the program's own clock\n", cli_region_name(name, prediction->manifest, most->name), 100 * ratio);
}

/* Where a program sets its number of threads itself, it does not run with those that are asked for. */
static void fixed_print(const struct prediction *prediction)
{
    unsigned own = prediction->manifest->threads;
    for (size_t i = 0; i < prediction->result.point_count; i++) {
        const struct predict_point *point = &prediction->result.points[i];
        char name[REGION_NAME_BYTES], others[CLI_TEXT_MOST] = "";
        if (!point->fixed_count)
            continue;
        if (point->fixed_count > 1)
            snprintf(others, sizeof others, " and %zu more region%s", point->fixed_count - 1, point->fixed_count == 2 ? "" : "s");
        printf("FIXED with %u thread%s: in real runs %s%s had %u thread%s all the same, as in the capture: the program sets the number itself (num_threads, omp_set_num_threads). Real times and errors are not of %u "
               "thread%s, predictions are; where an argument of the program says how many, compare with a run that has another\n", point->threads, point->threads == 1 ? "" : "s",
               cli_region_name(name, prediction->manifest, point->fixed_most), others, own, own == 1 ? "" : "s", point->threads, point->threads == 1 ? "" : "s");
    }
}

#define APART_FACTOR 2

/* Where replays and runs met processors that lay differently far apart. */
static void apart_print(const struct prediction *prediction)
{
    for (size_t i = 0; i < prediction->result.point_count; i++) {
        uint32_t threads = prediction->result.points[i].threads;
        uint64_t low_ns, high_ns;
        replays_lines(&prediction->request, threads, &low_ns, &high_ns);
        if (high_ns >= APART_FACTOR * low_ns && low_ns)
            printf("APART with %u threads: a cache line took %llu to %llu ns from one thread to the next, from one replay or real run to another. The processors of this machine do not always lie equally far apart "
                   "(a virtual one's may be moved), and what threads hand to each other takes as much longer: line_ns of pcere replay --json says which replay met what\n",
                   threads, (unsigned long long)low_ns, (unsigned long long)high_ns);
    }
}

static void absent_print(const struct prediction *prediction)
{
    for (size_t i = 0; i < prediction->result.absent_count; i++) {
        const struct predict_absent *absent = &prediction->result.absent[i];
        printf("MISSING with %u thread%s: all, since %s; %s\n", absent->threads, absent->threads == 1 ? "" : "s", absent->why.message, absent->why.hint);
    }
}

/* Codelets that do not do what their classes did. */
static void alien_print(const struct prediction *prediction)
{
    for (size_t i = 0; i < prediction->result.point_count; i++) {
        const struct predict_point *point = &prediction->result.points[i];
        for (size_t r = 0; r < point->region_count; r++)
            for (size_t c = 0; c < point->regions[r].class_count; c++) {
                const struct predict_class *class = &point->regions[r].classes[c];
                char name[REGION_NAME_BYTES];
                if (fabs(class->alien_ratio) > 0)
                    printf("%s #%llu with %u thread%s: its replay does not count, since it took %+.0f %% against what it stands for at the capture's thread count\n", cli_region_name(name, prediction->manifest, point->regions[r].name),
                           (unsigned long long)class->representative, point->threads, point->threads == 1 ? "" : "s", 100 * class->alien_ratio);
            }
    }
}

/* Shots that nobody held against the program's own time: iterations that none of them met may be unlike the others. */
static void unseen_print(const struct prediction *prediction)
{
    for (size_t i = 0; i < prediction->result.point_count; i++) {
        const struct predict_point *point = &prediction->result.points[i];
        uint64_t unseen_ns = 0, most_ns = 0;
        const char *most = NULL;
        for (size_t r = 0; r < point->region_count; r++)
            for (size_t c = 0; c < point->regions[r].class_count; c++) {
                const struct predict_class *class = &point->regions[r].classes[c];
                uint64_t time_ns = class->unseen ? class->time_ns : 0;
                unseen_ns += time_ns;
                most = time_ns > most_ns ? point->regions[r].name : most;
                most_ns = time_ns > most_ns ? time_ns : most_ns;
            }
        char name[REGION_NAME_BYTES];
        if (most && (double)unseen_ns > UNSEEN_RATIO * (double)point->time_ns)
            printf("NOT COMPARED with %u thread%s: %.1f %% of the time is by shots (most in %s) that were never held against the program's own time, so that iterations which none of them met may be unlike the others; "
                   "replay with %u thread%s, too, where it was captured, or with --sample off\n", point->threads, point->threads == 1 ? "" : "s", 100 * (double)unseen_ns / (double)point->time_ns,
                   cli_region_name(name, prediction->manifest, most), prediction->manifest->threads, prediction->manifest->threads == 1 ? "" : "s");
    }
}

/* Real runs at other thread counts may say that the serial part is not the same there. */
static void serial_change_print(const struct prediction *prediction)
{
    for (size_t i = 0; i < prediction->result.point_count; i++) {
        const struct predict_point *point = &prediction->result.points[i];
        char there[UNITS_TEXT_BYTES];
        if (point->serial_change_ratio < 0 || point->serial_change_ratio > 0)
            printf("real runs with %u thread%s spent %s outside regions, %+.0f %% against %u thread%s: the interval has both, --measured-serial takes theirs\n", point->threads,
                   point->threads == 1 ? "" : "s", units_format_ns(point->real_serial_ns, there), 100 * point->serial_change_ratio, prediction->manifest->threads,
                   prediction->manifest->threads == 1 ? "" : "s");
    }
}

/* With these threads the program enters regions of which the capture knows nothing. */
static void strange_print(const struct prediction *prediction)
{
    uint32_t captured = prediction->manifest->threads;
    for (size_t i = 0; i < prediction->result.point_count; i++) {
        const struct predict_point *point = &prediction->result.points[i];
        char there[UNITS_TEXT_BYTES], count[CLI_TEXT_MOST] = "a region", name[REGION_NAME_BYTES], hint[CLI_TEXT_MOST] = "runs of it are not all alike";
        if (!point->strange_ns)
            continue;
        if (point->strange_count > 1)
            snprintf(count, sizeof count, "%zu regions", point->strange_count);
        if (point->threads != captured)
            snprintf(hint, sizeof hint, "it goes another way than with %u: pcere capture --threads %u", captured, point->threads);
        printf("real runs with %u thread%s spent %s in %s that the capture did not enter (%s%s)%s; %s\n", point->threads, point->threads == 1 ? "" : "s",
               units_format_ns(point->strange_ns, there), count, point->strange_count > 1 ? "most of it in " : "", cli_region_name(name, prediction->manifest, point->strange_most),
               prediction->request.measured_serial ? "" : ": the interval has both, --measured-serial adds it", hint);
    }
}

/* As its code says, where no real run has told: */
static void not_entered_print(const struct prediction *prediction)
{
    const struct store_limit *first = NULL;
    size_t count = 0;
    uint32_t threads = 0;
    char name[REGION_NAME_BYTES], others[CLI_TEXT_MOST] = "";
    for (size_t i = 0; i < prediction->result.point_count; i++) {
        if (prediction->result.points[i].strange_ns)
            return;
        if (prediction->result.points[i].threads > threads)
            threads = prediction->result.points[i].threads;
    }
    for (size_t i = 0; i < prediction->manifest->not_entered_count; i++) {
        const struct store_limit *one = &prediction->manifest->not_entered[i];
        count += store_limit_enters(one) <= threads;
        if (store_limit_enters(one) <= threads && (!first || store_limit_enters(one) < store_limit_enters(first)))
            first = one;
    }
    if (!first)
        return;
    if (count > 1)
        snprintf(others, sizeof others, ", and %zu more region%s", count - 1, count == 2 ? "" : "s");
    printf("NOT IN HERE: %s is %s%s. What the capture's %u thread%s did in place of it counts with any number: pcere capture --threads %u, or --measure finds out\n",
           cli_region_name(name, prediction->manifest, first->region), first->reason, others, prediction->manifest->threads, prediction->manifest->threads == 1 ? "" : "s", threads);
}

/* Did the program really run with each number of threads other than the capture's? */
static bool serial_checked(const struct prediction *prediction)
{
    bool checked = true;
    for (size_t i = 0; i < prediction->result.point_count; i++)
        checked = checked && (prediction->result.points[i].threads == prediction->manifest->threads || prediction->result.points[i].real_serial_ns);
    return checked;
}

/* How near a prediction can come to one run at all. */
static void noise_print(const struct prediction *prediction)
{
    const struct predict_result *result = &prediction->result;
    char then[UNITS_TEXT_BYTES], now[UNITS_TEXT_BYTES];
    if (result->drift_ns)
        printf("the captured run took %s, stops left out; runs now take %s (%+.1f %%)\n", units_format_ns(prediction->manifest->wall_ns, then),
               units_format_ns(result->drift_ns, now), 100 * result->drift_ratio);
    for (size_t i = 0; i < prediction->result.point_count; i++) {
        const struct predict_point *point = &prediction->result.points[i];
        char spread[CLI_TEXT_MOST], pair[CLI_TEXT_MOST];
        if (point->real_count > 1)
            printf("with %u thread%s, %zu runs of the same program lie %s apart, two in a row differ by %s%s\n", point->threads, point->threads == 1 ? "" : "s", point->real_count,
                   cli_ratio_text(spread, point->real_spread_ratio), cli_ratio_text(pair, point->real_pair_ratio), point->error_ratio <= point->real_spread_ratio ? ": the prediction is as near as these are to each other" : "");
    }
}

enum { PROCESSES_TELL = 3 };

/* A run is one process: what processes of a codelet differ by, runs may, too, whatever is assumed of them. */
static void processes_print(const struct prediction *prediction)
{
    for (size_t i = 0; i < prediction->result.point_count; i++) {
        struct own_spread spread;
        char ratio[CLI_TEXT_MOST];
        uint32_t threads = prediction->result.points[i].threads;
        if (own_spread_find(&prediction->request, threads, &spread, NULL) == PCERE_OK && spread.processes >= PROCESSES_TELL && spread.process_ratio > prediction->result.run_ratio)
            printf("with %u thread%s, processes of one codelet differ by %s (standard deviation, %zu processes), and runs may: a goal below that cannot be told from this machine's own doing\n",
                   threads, threads == 1 ? "" : "s", cli_ratio_text(ratio, spread.process_ratio), spread.processes);
    }
}

enum { MEMBERS_LISTED = 8 };
#define MEMBERS_NOISE_RATIO 0.05

/* Classes that do not hold at these threads: of many only the first are listed. */
static void members_print(const struct prediction *prediction)
{
    size_t found = 0;
    for (size_t i = 0; i < prediction->result.point_count; i++) {
        const struct predict_point *point = &prediction->result.points[i];
        for (size_t r = 0; r < point->region_count; r++)
            for (size_t c = 0; c < point->regions[r].class_count; c++) {
                const struct predict_class *class = &point->regions[r].classes[c];
                char name[REGION_NAME_BYTES];
                if (class->members_ratio > 0 && fabs(class->members_ratio - 1) >= MEMBERS_NOISE_RATIO && found++ < MEMBERS_LISTED)
                    printf("%s #%llu stands for others with %u thread%s no more: %s they %s %.2f times what it says; the interval has both\n",
                           cli_region_name(name, prediction->manifest, point->regions[r].name), (unsigned long long)class->representative, point->threads, point->threads == 1 ? "" : "s",
                           class->check == PREDICT_CHECKED_BY_RUNS ? "in real runs" : "if they scale as the classes between which they lie,",
                           class->check == PREDICT_CHECKED_BY_RUNS ? "took" : "take", class->members_ratio);
            }
    }
    if (found > MEMBERS_LISTED)
        printf("... and %zu more of these, which --json has\n", found - MEMBERS_LISTED);
}

static void law_print(const struct prediction *prediction)
{
    struct prediction_law law;
    char share[CLI_TEXT_MOST];
    if (!prediction_law(prediction, &law)) {
        if (prediction->result.point_count == 1)
            puts("one thread count tells of no speed-up: replay with others, too");
        return;
    }
    if (law.serial_ratio > 1)
        printf("by Amdahl's law through %u and %u threads: more threads do not pay\n", law.threads[0], law.threads[1]);
    else if (law.serial_ratio <= 0)
        printf("by Amdahl's law through %u and %u threads: nothing is serial\n", law.threads[0], law.threads[1]);
    else
        printf("by Amdahl's law through %u and %u threads: %s of the time at one thread is serial, no number of threads gives more than %.3g times its speed\n", law.threads[0],
               law.threads[1], cli_ratio_text(share, law.serial_ratio), 1 / law.serial_ratio);
}

static void prediction_print(const struct prediction *prediction)
{
    char serial[UNITS_TEXT_BYTES];
    bool marked = false;
    printf("%s on %s%s%s\n\n", prediction->manifest->program, prediction->arch, prediction->here ? " (this machine)" : "", prediction->by_model ? ", by model" : "");
    points_print(prediction, &marked);
    if (prediction->request.measured_serial)
        serials_print(prediction);
    else
        printf("\noutside regions %s at any number of threads%s\n", units_format_ns(prediction->result.serial_ns, serial), serial_checked(prediction) ? "" : ", as is assumed; --measure finds out");
    serial_change_print(prediction);
    strange_print(prediction);
    not_entered_print(prediction);
    law_print(prediction);
    char spread[CLI_TEXT_MOST];
    cli_ratio_text(spread, prediction->result.run_ratio);
    if (prediction->result.run_count)
        printf("runs of the program differ by %s (standard deviation, %zu runs and what is assumed)\n", spread, prediction->result.run_count);
    else
        printf("runs of the program are assumed to differ by %s; --measure with several runs finds out\n", spread);
    noise_print(prediction);
    if (!prediction->by_model)
        processes_print(prediction);
    regions_print(prediction);
    parts_print(prediction);
    if (prediction->result.point_count > 1 || prediction->result.points[0].threads > 1)
        forks_print(prediction);
    missing_print(prediction);
    absent_print(prediction);
    alien_print(prediction);
    unseen_print(prediction);
    teams_print(prediction);
    guessed_print(prediction);
    busy_print(prediction);
    stretched_print(prediction);
    fixed_print(prediction);
    apart_print(prediction);
    members_print(prediction);
    if (prediction->by_model)
        model_print(prediction);
    else if (prediction->result.foreign)
        foreign_print(prediction);
    if (prediction->here)
        cli_thread_mark_print(marked, stdout);
    else if (marked)
        printf("* more threads than the %u that the cores of %s run at once, which the model does not know: not faster than that, at best\n",
               prediction_processors(prediction), prediction->arch);
}

static enum pcere_status measure_predicted(struct cli *cli, const struct prediction *prediction, uint64_t repeat, struct pcere_error *error)
{
    size_t count = prediction->result.point_count;
    unsigned *threads = calloc(count + 1, sizeof *threads);
    if (!threads)
        return pcere_fail_memory(error, "the thread counts");
    for (size_t i = 0; i < count; i++)
        threads[i] = prediction->result.points[i].threads;
    enum pcere_status status = measure_store(cli, threads, count, repeat, error);
    free(threads);
    return status;
}

/* What can be said of this machine without replays. */
static void model_hint(struct pcere_error *error)
{
    size_t length = strlen(error->hint);
    snprintf(error->hint + length, sizeof error->hint - length, "%swithout replays, --model computes it from the machine's signature (pcere platform discover)", length ? "; " : "");
}

static enum pcere_status predict_verb(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct predict_words *words = raw;
    const struct prediction_words wanted = {
        .arch = words->arch, .flags = words->flags, .settings = words->settings, .threads = words->threads.counts, .thread_count = words->threads.count,
        .measured_serial = words->measured_serial, .model = words->model};
    struct prediction prediction = {0};
    enum pcere_status status = prediction_prepare(cli, &wanted, &prediction, error);
    if (status == PCERE_OK && words->measure && !prediction.here)
        status = pcere_fail(error, PCERE_USAGE, 0, "run this on that machine, or leave --measure out", "--measure runs the program here, and this is not '%s'",
                            prediction.arch);
    /* First without real runs: it is no use to measure what cannot be predicted. */
    if (status == PCERE_OK)
        status = prediction_make(&prediction, error);
    if (status == PCERE_DATA && prediction.here && !words->model)
        model_hint(error);
    if (status == PCERE_OK && words->measure) {
        interrupt_remember("\npcere predict: ends the program, or at once if asked again\n");
        status = measure_predicted(cli, &prediction, words->repeat, error);
        if (status == PCERE_OK)
            status = prediction_reload(cli, &prediction, error);
        if (status == PCERE_OK)
            status = prediction_make(&prediction, error);
    }
    if (status == PCERE_OK && cli->json)
        status = prediction_document_add(cli->document, &prediction, error);
    else if (status == PCERE_OK)
        prediction_print(&prediction);
    prediction_done(&prediction);
    return status;
}

static const struct cli_option options[] = {
    {"arch", 0, CLI_TEXT, offsetof(struct predict_words, arch), "NAME",
     "The machine whose replays count: its name in the samples, or host for this one (host).", 0, 0},
    {"model", 0, CLI_FLAG, offsetof(struct predict_words, model), NULL,
     "Compute from the machine's signature what codelets take there, in place of replays; where there are no replays, this is what is done.", 0, 0},
    {"threads", 0, CLI_THREADS, offsetof(struct predict_words, threads), "LIST", "Thread counts; all that were replayed if not given.", 0, 0},
    {"measure", 0, CLI_FLAG, offsetof(struct predict_words, measure), NULL,
     "Run the program with each thread count, and put real time, error and acceleration beside the prediction.", 0, 0},
    {"repeat", 0, CLI_NUMBER, offsetof(struct predict_words, repeat), "N",
     "Real runs for each thread count with --measure; if not given, as many as fit into three seconds, one to five.", 1, 10000},
    {"measured-serial", 0, CLI_FLAG, offsetof(struct predict_words, measured_serial), NULL,
     "Take the time outside regions from real runs (--measure) with that number of threads, or in proportion between two such, and not from the capture's one run.", 0, 0},
    {"flags", 0, CLI_TEXT, offsetof(struct predict_words, flags), "FLAGS", "Use the replays that were made with these compiler flags.", 0, 0},
    {"settings", 0, CLI_TEXT, offsetof(struct predict_words, settings), "WORDS",
     "Use the replays that were made with these OpenMP settings, as samples name them: \"bind=close\".", 0, 0},
};

const struct cli_verb cli_verb_predict = {
    .name = "predict",
    .summary = "the whole program's time at each number of threads, out of its replays",
    .synopsis = "[STORE]",
    .description =
        "Adds up the serial part, measured once, and for each class of each region the replayed time of its representative times the number of "
        "invocations that it stands for. What was not captured keeps its time from the capture's run; at other thread counts it scales as the replayed regions do, with fork and join for each invocation. It is marked. With more than one thread comes, once, how late a new team's threads begin, as replays measured it.\n\n"
        "Every prediction comes with a 95 % interval, in which one real run should lie: it has what differs between repetitions and processes, what the warm-up left, what runs of "
        "the program differ by, and what thread counts other than the capture's leave open. Error is |predicted - real| / real. Acceleration is the real time of the whole program over the "
        "wall time of all replays at that number of threads, restoring and warm-up included, building not.\n\n"
        "Samples carry the name of the machine that measured them. To predict another machine, replay the store there and predict with --arch and "
        "that machine's name. A name is given by PCERE_HOST or by the file /etc/pcere/host; else it is made from the processor's.\n\n"
        "Interrupted (ctrl-C, SIGTERM) while the program runs (--measure), it ends the program, keeps the runs that were made before, and ends with exit status 130 (143).",
    .examples = "pcere predict\npcere predict --threads 1,2,4 --measure\npcere predict --arch sandybridge\n",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct predict_words),
    .operands = CLI_OPERANDS_STORE,
    .needs = CLI_NEEDS_STORE,
    .run = predict_verb,
};
