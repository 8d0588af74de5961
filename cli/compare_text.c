/* cli/compare_text.c - see compare_text.h. */
#include "cli/compare_text.h"
#include "cli/cli.h"
#include "core/json.h"
#include "core/units.h"

#include <math.h>
#include <string.h>

static bool is_shown(const struct compare_view *view, const char *event)
{
    return !view->only || strcmp(view->only, event) == 0;
}

static char *number_text(char text[CLI_TEXT_MOST], double number)
{
    if (fabs(number) < 1e15 && number == floor(number))
        snprintf(text, CLI_TEXT_MOST, "%.0f", number);
    else
        snprintf(text, CLI_TEXT_MOST, "%.4g", number);
    return text;
}

char *compare_value_text(char text[CLI_TEXT_MOST], double value, const char *unit)
{
    char scaled[UNITS_TEXT_BYTES];
    if (strcmp(unit, "ns") == 0 && value < 1e18)
        snprintf(text, CLI_TEXT_MOST, "%s", units_format_ns((uint64_t)(value + 0.5), scaled));
    else if (strcmp(unit, "bytes") == 0 && value < 1e18)
        snprintf(text, CLI_TEXT_MOST, "%s", units_format_bytes((uint64_t)(value + 0.5), scaled));
    else
        number_text(text, value);
    return text;
}

static char *change_text(char text[CLI_TEXT_MOST], double a, double b)
{
    if (a > 0)
        snprintf(text, CLI_TEXT_MOST, "%+.1f %%", 100 * (b - a) / a);
    else
        snprintf(text, CLI_TEXT_MOST, "%s", b > 0 ? "new" : "");
    return text;
}

static char *confidence_text(char text[CLI_TEXT_MOST], double confidence)
{
    if (isnan(confidence))
        snprintf(text, CLI_TEXT_MOST, "?");
    else
        snprintf(text, CLI_TEXT_MOST, "%.1f %%", 100 * confidence);
    return text;
}

static json_t *number_json(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

/* ---- by label ------------------------------------------------------------------------------------------------------------------- */

static void events_print(const struct compare_view *view, const struct difference *difference, FILE *out)
{
    static const char *const headings[] = {"event", "unit", ">A", ">B", ">change", ">XUs", ">changed", ">sure"};
    struct cli_table *table = cli_table_new(sizeof headings / sizeof *headings, headings);
    for (size_t i = 0; table && i < difference->event_count; i++) {
        const struct difference_event *event = &difference->events[i];
        char a[CLI_TEXT_MOST], b[CLI_TEXT_MOST], change[CLI_TEXT_MOST], matched[24], changed[24], sure[24];
        if (!is_shown(view, event->name))
            continue;
        snprintf(matched, sizeof matched, "%zu", event->matched);
        snprintf(changed, sizeof changed, "%zu", event->changed);
        snprintf(sure, sizeof sure, isnan(event->expected_by_chance) ? "?" : "%zu", event->sure);
        cli_table_row(table, (const char *const[]){event->name, event->unit, compare_value_text(a, event->a_sum, event->unit), compare_value_text(b, event->b_sum, event->unit),
                                                   change_text(change, event->a_sum, event->b_sum), matched, changed, sure});
    }
    if (table)
        cli_table_print(table, out);
    cli_table_free(table);
    for (size_t i = 0; i < difference->event_count; i++)
        if (is_shown(view, difference->events[i].name) && difference->events[i].expected_by_chance >= 0.5)
            fprintf(out, "%s: of XUs that did not change, chance alone would make about %.0f sure\n", difference->events[i].name,
                    difference->events[i].expected_by_chance);
    for (size_t i = 0; i < difference->event_count; i++)
        if (is_shown(view, difference->events[i].name) && isnan(difference->events[i].expected_by_chance)) {
            fputs("?: counts that differ from run to run, and one run on each side: repeats, joined by commas, say how sure a change is\n", out);
            break;
        }
}

static void top_print(const struct compare_view *view, const struct difference_event *event, FILE *out)
{
    static const char *const headings[] = {"label", "construct", "type", ">A", ">B", ">change", ">confidence"};
    const struct profile *profile = view->files[0].profiles[0];
    struct cli_table *table = cli_table_new(sizeof headings / sizeof *headings, headings);
    for (size_t i = 0; table && i < event->top_count; i++) {
        const struct difference_xu *xu = &event->top[i];
        char digits[33], a[CLI_TEXT_MOST], b[CLI_TEXT_MOST], change[CLI_TEXT_MOST], confidence[CLI_TEXT_MOST];
        cli_table_row(table, (const char *const[]){profile_label_text(profile, xu->a_row, digits), profile->constructs[profile->construct[xu->a_row]].name,
                                                   profile_kind_name(profile->kinds[xu->a_row]), compare_value_text(a, xu->a, event->unit), compare_value_text(b, xu->b, event->unit),
                                                   change_text(change, xu->a, xu->b), confidence_text(confidence, xu->confidence)});
    }
    if (table && event->top_count) {
        fprintf(out, "\n%s, where it changed most:\n", event->name);
        cli_table_print(table, out);
    }
    cli_table_free(table);
}

static void groups_print(const struct compare_view *view, const struct difference *difference, FILE *out)
{
    for (size_t event = 0; event < difference->event_count; event++) {
        if (!is_shown(view, difference->events[event].name))
            continue;
        const char *const headings[] = {difference_by_name(view->by), ">XUs A", ">XUs B", ">A", ">B", ">change"};
        struct cli_table *table = cli_table_new(sizeof headings / sizeof *headings, headings);
        for (size_t i = 0; table && i < difference->group_count; i++) {
            const struct difference_group *group = &difference->groups[i];
            char a_xus[CLI_TEXT_MOST], b_xus[CLI_TEXT_MOST], a[CLI_TEXT_MOST], b[CLI_TEXT_MOST], change[CLI_TEXT_MOST];
            cli_table_row(table, (const char *const[]){group->name, number_text(a_xus, group->a_xus), number_text(b_xus, group->b_xus),
                                                       compare_value_text(a, group->a_sums[event], difference->events[event].unit),
                                                       compare_value_text(b, group->b_sums[event], difference->events[event].unit),
                                                       change_text(change, group->a_sums[event], group->b_sums[event])});
        }
        fprintf(out, "\n%s by %s:\n", difference->events[event].name, difference_by_name(view->by));
        if (table)
            cli_table_print(table, out);
        cli_table_free(table);
    }
}

static void csv_print(const struct compare_view *view, const struct difference *difference, FILE *out)
{
    const struct profile *profile = view->files[0].profiles[0];
    fputs("event,label,type,construct,a,b,confidence\n", out);
    for (size_t i = 0; i < difference->event_count; i++) {
        const struct difference_event *event = &difference->events[i];
        for (size_t k = 0; k < event->top_count && is_shown(view, event->name); k++) {
            const struct difference_xu *xu = &event->top[k];
            char digits[33];
            profile_csv_field(event->name, out);
            fputc(',', out);
            profile_csv_field(profile_label_text(profile, xu->a_row, digits), out);
            fprintf(out, ",%s,", profile_kind_name(profile->kinds[xu->a_row]));
            profile_csv_field(profile->constructs[profile->construct[xu->a_row]].name, out);
            fprintf(out, ",%.17g,%.17g,", xu->a, xu->b);
            if (!isnan(xu->confidence))
                fprintf(out, "%.6g", xu->confidence);
            fputc('\n', out);
        }
    }
}

static const char *untranslated(const struct profile_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        if (!files->profiles[i]->text_at || !files->profiles[i]->name_count)
            return files->names[i];
    return NULL;
}

/* How labels were matched, where that is not by their names in two runs of one build. */
static void matching_print(const struct compare_view *view, const struct difference *difference, FILE *out)
{
    const char *name = untranslated(&view->files[0]);
    name = name ? name : untranslated(&view->files[1]);
    if (difference->by_ids && difference->renamed)
        fprintf(out, "%zu construct%s another name in B (lines were moved, or one build has no -g): XUs are matched by the constructs' ids, names are A's\n\n",
                difference->renamed, difference->renamed == 1 ? " has" : "s have");
    else if (difference->by_ids)
        fputs("Other constructs are where some of A's were: XUs are matched by the constructs' ids, names are A's\n\n", out);
    else if (view->differs && name && (difference->only_a || difference->only_b))
        fprintf(out, "Labels are matched as they are: %s has no texts of labels, or no ids of their constructs\n\n", name);
}

void compare_print(const struct compare_view *view, const struct difference *difference, FILE *out)
{
    if (view->csv) {
        csv_print(view, difference, out);
        return;
    }
    if (view->differs)
        fprintf(out, "Not the same run: %s.\n\n", view->differs);
    matching_print(view, difference, out);
    events_print(view, difference, out);
    if (difference->only_a || difference->only_b)
        fprintf(out, "%zu XU%s only in A, %zu only in B\n", difference->only_a, difference->only_a == 1 ? " is" : "s are", difference->only_b);
    for (size_t i = 0; i < difference->event_count; i++)
        if (is_shown(view, difference->events[i].name))
            top_print(view, &difference->events[i], out);
    groups_print(view, difference, out);
}

static json_t *names_json(const struct profile_files *files, bool *failed)
{
    json_t *list = json_array();
    for (size_t i = 0; i < files->count; i++)
        if (json_array_append_new(list, json_from_string(files->names[i])) != 0)
            *failed = true;
    return list;
}

static json_t *event_json(const struct compare_view *view, const struct difference_event *event, bool *failed)
{
    const struct profile *profile = view->files[0].profiles[0];
    json_t *object = json_object(), *top = json_array();
    json_put(object, "event", json_from_string(event->name), failed);
    json_put(object, "unit", json_from_string(event->unit), failed);
    json_put(object, "a_sum", number_json(event->a_sum), failed);
    json_put(object, "b_sum", number_json(event->b_sum), failed);
    json_put(object, "matched", json_from_u64(event->matched), failed);
    json_put(object, "changed", json_from_u64(event->changed), failed);
    json_put(object, "sure", json_from_u64(event->sure), failed);
    json_put(object, "expected_by_chance", number_json(event->expected_by_chance), failed);
    for (size_t i = 0; i < event->top_count; i++) {
        const struct difference_xu *xu = &event->top[i];
        json_t *row = json_object();
        char digits[33];
        json_put(row, "label", json_from_string(profile_label_text(profile, xu->a_row, digits)), failed);
        json_put(row, "type", json_from_string(profile_kind_name(profile->kinds[xu->a_row])), failed);
        json_put(row, "construct", json_from_string(profile->constructs[profile->construct[xu->a_row]].name), failed);
        json_put(row, "a", number_json(xu->a), failed);
        json_put(row, "b", number_json(xu->b), failed);
        json_put(row, "confidence", number_json(xu->confidence), failed);
        if (json_array_append_new(top, row) != 0)
            *failed = true;
    }
    json_put(object, "top", top, failed);
    return object;
}

static json_t *group_json(const struct compare_view *view, const struct difference *difference, const struct difference_group *group, bool *failed)
{
    json_t *object = json_object(), *sums = json_object();
    json_put(object, difference_by_name(view->by), json_from_string(group->name), failed);
    json_put(object, "a_xus", number_json(group->a_xus), failed);
    json_put(object, "b_xus", number_json(group->b_xus), failed);
    for (size_t i = 0; i < difference->event_count; i++)
        if (is_shown(view, difference->events[i].name)) {
            json_t *pair = json_object();
            json_put(pair, "a", number_json(group->a_sums[i]), failed);
            json_put(pair, "b", number_json(group->b_sums[i]), failed);
            json_put(sums, difference->events[i].name, pair, failed);
        }
    json_put(object, "sums", sums, failed);
    return object;
}

enum pcere_status compare_document_add(json_t *document, const struct compare_view *view, const struct difference *difference, struct pcere_error *error)
{
    bool failed = false;
    json_t *events = json_array(), *groups = json_array();
    json_put(document, "a", names_json(&view->files[0], &failed), &failed);
    json_put(document, "b", names_json(&view->files[1], &failed), &failed);
    json_put(document, "differs", json_from_string(view->differs), &failed);
    json_put(document, "matched_by", json_from_string(difference->by_ids ? "ids" : "names"), &failed);
    json_put(document, "renamed", json_from_u64(difference->renamed), &failed);
    json_put(document, "only_a", json_from_u64(difference->only_a), &failed);
    json_put(document, "only_b", json_from_u64(difference->only_b), &failed);
    for (size_t i = 0; i < difference->event_count; i++)
        if (is_shown(view, difference->events[i].name) && json_array_append_new(events, event_json(view, &difference->events[i], &failed)) != 0)
            failed = true;
    for (size_t i = 0; i < difference->group_count; i++)
        if (json_array_append_new(groups, group_json(view, difference, &difference->groups[i], &failed)) != 0)
            failed = true;
    json_put(document, "events", events, &failed);
    json_put(document, "by", json_from_string(difference_by_name(view->by)), &failed);
    json_put(document, "groups", groups, &failed);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}

/* ---- by dissimilarity ----------------------------------------------------------------------------------------------------------- */

static const char *strategy_of(const struct profile *profile)
{
    return profile->strategy ? profile->strategy : "measured";
}

static char *epd_text(char text[CLI_TEXT_MOST], double epd)
{
    snprintf(text, CLI_TEXT_MOST, isnan(epd) ? "-" : "%.3g", epd);
    return text;
}

void epd_print(const struct profile_files *profiles, const struct epd_calibration *calibration, const struct epd_result *results, bool csv, FILE *out)
{
    static const char *const headings[] = {"profile", "strategy", ">EPD", ">pairs", ">EPD of all", ">pairs", ">same where references are", ">not"};
    struct cli_table *table = csv ? NULL : cli_table_new(sizeof headings / sizeof *headings, headings);
    if (csv)
        fputs("profile,strategy,epd,pairs,epd_floored,floored_pairs,zero_same,zero_other,missing\n", out);
    for (size_t i = 0; i < profiles->count; i++) {
        const struct epd_result *result = &results[i];
        const char *strategy = strategy_of(profiles->profiles[i]);
        char epd[CLI_TEXT_MOST], floored[CLI_TEXT_MOST], pairs[24], all[24], same[24], other[24];
        if (csv) {
            profile_csv_field(profiles->names[i], out);
            fprintf(out, ",%s,%.9g,%zu,%.9g,%zu,%zu,%zu,%zu\n", strategy, result->epd, result->pairs, result->floored, result->floored_pairs,
                    result->zero_same, result->zero_other, result->missing);
            continue;
        }
        snprintf(pairs, sizeof pairs, "%zu", result->pairs);
        snprintf(all, sizeof all, "%zu", result->floored_pairs);
        snprintf(same, sizeof same, "%zu", result->zero_same);
        snprintf(other, sizeof other, "%zu", result->zero_other);
        if (table)
            cli_table_row(table, (const char *const[]){profiles->names[i], strategy, epd_text(epd, result->epd), pairs, epd_text(floored, result->floored),
                                                       all, same, other});
    }
    if (table)
        cli_table_print(table, out);
    cli_table_free(table);
    if (!csv && calibration->zero)
        fprintf(out, "\nIn %zu of %zu pairs of events the references do not differ: no ratio can be formed there.\n", calibration->zero, calibration->pair_count);
    if (!csv && calibration->alone)
        fprintf(out, "\n%zu of %zu pairs of events are in one reference alone: they are not calibrated.\n", calibration->alone, calibration->pair_count);
}

static json_t *pairs_json(const struct epd_calibration *calibration, bool *failed)
{
    json_t *list = json_array();
    for (size_t i = 0; i < calibration->pair_count; i++) {
        const struct epd_pair *pair = &calibration->pairs[i];
        json_t *object = json_object();
        json_put(object, "x", json_from_string(pair->x), failed);
        json_put(object, "y", json_from_string(pair->y), failed);
        json_put(object, "references", json_from_u64(pair->references), failed);
        json_put(object, "calibration", number_json(pair->calibration), failed);
        if (json_array_append_new(list, object) != 0)
            *failed = true;
    }
    return list;
}

static json_t *result_json(const char *name, const struct profile *profile, const struct epd_calibration *calibration, const struct epd_result *result,
                           bool *failed)
{
    json_t *object = json_object(), *distances = json_array();
    for (size_t i = 0; i < calibration->pair_count; i++)
        if (json_array_append_new(distances, number_json(result->distances[i])) != 0)
            *failed = true;
    json_put(object, "file", json_from_string(name), failed);
    json_put(object, "strategy", json_from_string(profile->strategy), failed);
    json_put(object, "epd", number_json(result->epd), failed);
    json_put(object, "pairs", json_from_u64(result->pairs), failed);
    json_put(object, "epd_floored", number_json(result->floored), failed);
    json_put(object, "floored_pairs", json_from_u64(result->floored_pairs), failed);
    json_put(object, "zero_same", json_from_u64(result->zero_same), failed);
    json_put(object, "zero_other", json_from_u64(result->zero_other), failed);
    json_put(object, "missing", json_from_u64(result->missing), failed);
    json_put(object, "distances", distances, failed);
    return object;
}

enum pcere_status epd_document_add(json_t *document, const struct profile_files *references, const struct profile_files *profiles,
                                   const struct epd_calibration *calibration, const struct epd_result *results, struct pcere_error *error)
{
    bool failed = false;
    json_t *list = json_array();
    json_put(document, "references", names_json(references, &failed), &failed);
    json_put(document, "bins", json_from_u64(calibration->options.bins), &failed);
    json_put(document, "floor", json_real(calibration->options.floor), &failed);
    json_put(document, "pairs", pairs_json(calibration, &failed), &failed);
    json_put(document, "zero_pairs", json_from_u64(calibration->zero), &failed);
    json_put(document, "uncalibrated_pairs", json_from_u64(calibration->alone), &failed);
    for (size_t i = 0; i < profiles->count; i++)
        if (json_array_append_new(list, result_json(profiles->names[i], profiles->profiles[i], calibration, &results[i], &failed)) != 0)
            failed = true;
    json_put(document, "profiles", list, &failed);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}
