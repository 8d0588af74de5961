/* cli/sums_text.c - see compare_text.h: sums over the XUs of one side, by construct, thread, processor or NUMA node, as text, CSV and JSON. */
#include "cli/compare_text.h"
#include "core/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_shown(const struct compare_view *view, const struct difference *difference, size_t event)
{
    return !view->only || strcmp(view->only, difference->events[event].name) == 0;
}

static void csv_print(const struct compare_view *view, const struct difference *difference, FILE *out)
{
    fprintf(out, "%s,xus", difference_by_name(view->by));
    for (size_t i = 0; i < difference->event_count; i++)
        if (is_shown(view, difference, i)) {
            fputc(',', out);
            profile_csv_field(difference->events[i].name, out);
        }
    for (size_t k = 0; k < difference->group_count; k++) {
        fputc('\n', out);
        profile_csv_field(difference->groups[k].name, out);
        fprintf(out, ",%.17g", difference->groups[k].a_xus);
        for (size_t i = 0; i < difference->event_count; i++)
            if (is_shown(view, difference, i))
                fprintf(out, ",%.17g", difference->groups[k].a_sums[i]);
    }
    fputc('\n', out);
}

static void row_print(struct cli_table *table, const struct compare_view *view, const struct difference *difference, const char *name, double xus, const double *sums)
{
    const char **cells = calloc(difference->event_count + 2, sizeof *cells);
    char (*texts)[CLI_TEXT_MOST] = calloc(difference->event_count + 1, sizeof *texts);
    size_t used = 0;
    for (size_t i = 0; cells && texts && i < difference->event_count; i++)
        if (is_shown(view, difference, i))
            cells[2 + used++] = compare_value_text(texts[1 + i], sums ? sums[i] : difference->events[i].a_sum, difference->events[i].unit);
    if (cells && texts) {
        cells[0] = name;
        cells[1] = compare_value_text(texts[0], xus, "1");
        cli_table_row(table, cells);
    }
    free(cells);
    free(texts);
}

void sums_print(const struct compare_view *view, const struct difference *difference, FILE *out)
{
    if (view->csv) {
        csv_print(view, difference, out);
        return;
    }
    const char **headings = calloc(difference->event_count + 2, sizeof *headings);
    char (*names)[CLI_TEXT_MOST] = calloc(difference->event_count + 1, sizeof *names);
    struct cli_table *table = NULL;
    size_t used = 2;
    double xus = 0;
    for (size_t i = 0; headings && names && i < difference->event_count; i++)
        if (is_shown(view, difference, i)) {
            snprintf(names[i], sizeof names[i], ">%s", difference->events[i].name);
            headings[used++] = names[i];
        }
    if (headings && names) {
        headings[0] = difference_by_name(view->by);
        headings[1] = ">XUs";
        table = cli_table_new(used, headings);
    }
    for (size_t k = 0; table && k < difference->group_count; k++) {
        row_print(table, view, difference, difference->groups[k].name, difference->groups[k].a_xus, difference->groups[k].a_sums);
        xus += difference->groups[k].a_xus;
    }
    if (table && difference->group_count > 1)
        row_print(table, view, difference, "all", xus, NULL);
    if (table)
        cli_table_print(table, out);
    cli_table_free(table);
    free(headings);
    free(names);
}

enum pcere_status sums_document_add(json_t *document, const struct compare_view *view, const struct difference *difference, struct pcere_error *error)
{
    bool failed = false;
    json_t *files = json_array(), *events = json_array(), *groups = json_array();
    for (size_t i = 0; i < view->files->count; i++)
        failed |= json_array_append_new(files, json_from_string(view->files->names[i])) != 0;
    for (size_t i = 0; i < difference->event_count; i++) {
        if (!is_shown(view, difference, i))
            continue;
        json_t *event = json_object();
        json_put(event, "event", json_from_string(difference->events[i].name), &failed);
        json_put(event, "unit", json_from_string(difference->events[i].unit), &failed);
        json_put(event, "sum", json_real(difference->events[i].a_sum), &failed);
        failed |= json_array_append_new(events, event) != 0;
    }
    for (size_t k = 0; k < difference->group_count; k++) {
        const struct difference_group *group = &difference->groups[k];
        json_t *object = json_object(), *sums = json_object();
        json_put(object, difference_by_name(view->by), json_from_string(group->name), &failed);
        json_put(object, "xus", json_real(group->a_xus), &failed);
        for (size_t i = 0; i < difference->event_count; i++)
            if (is_shown(view, difference, i))
                json_put(sums, difference->events[i].name, json_real(group->a_sums[i]), &failed);
        json_put(object, "sums", sums, &failed);
        failed |= json_array_append_new(groups, object) != 0;
    }
    json_put(document, "a", files, &failed);
    json_put(document, "events", events, &failed);
    json_put(document, "by", json_from_string(difference_by_name(view->by)), &failed);
    json_put(document, "groups", groups, &failed);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}
