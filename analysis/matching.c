/* analysis/matching.c - see matching.h: the strategies that need no counts, CTC and LGL. */
#include "analysis/matching.h"

#include <stdlib.h>
#include <string.h>

/* ---- CTC ----------------------------------------------------------------------------------------------------------------------- */

struct started { uint32_t type, row; uint64_t start_ns; };

static int started_compare(const void *a, const void *b)
{
    const struct started *x = a, *y = b;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int rows_of_first_compare(const void *a, const void *b, void *first)
{
    const uint32_t *rows = first;
    uint32_t x = rows[*(const uint32_t *)a], y = rows[*(const uint32_t *)b];
    return x < y ? -1 : x > y;
}

enum pcere_status matching_order(const struct matching_input *input, struct matching *matching, struct pcere_error *error)
{
    size_t count = matching->count;
    uint32_t *order = malloc(count * sizeof *order + 1), *scratch = malloc(count * sizeof *scratch + 1);
    if (!order || !scratch) {
        free(order);
        free(scratch);
        return pcere_fail_memory(error, "a matching");
    }
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, count, sizeof *order, rows_of_first_compare, matching->rows[0]);
    for (size_t p = 0; p < input->profile_count; p++) {
        for (size_t i = 0; i < count; i++)
            scratch[i] = matching->rows[p][order[i]];
        memcpy(matching->rows[p], scratch, count * sizeof *scratch);
    }
    free(order);
    free(scratch);
    return PCERE_OK;
}

/* How many XUs of each type all profiles have. */
static enum pcere_status common_count(const struct matching_input *input, size_t **ret_common, struct pcere_error *error)
{
    size_t *common = malloc((input->type_count + 1) * sizeof *common), *own = malloc((input->type_count + 1) * sizeof *own);
    if (!common || !own) {
        free(common);
        free(own);
        return pcere_fail_memory(error, "the types of XUs");
    }
    for (size_t p = 0; p < input->profile_count; p++) {
        memset(own, 0, input->type_count * sizeof *own);
        for (size_t i = 0; i < input->profiles[p]->count; i++)
            own[input->types[p][i]]++;
        for (size_t type = 0; type < input->type_count; type++)
            common[type] = p && common[type] < own[type] ? common[type] : own[type];
    }
    free(own);
    *ret_common = common;
    return PCERE_OK;
}

static size_t chronological(const struct matching_input *input, size_t p, const size_t *common, struct started *list, uint32_t *rows)
{
    const struct profile *profile = input->profiles[p];
    for (size_t i = 0; i < profile->count; i++)
        list[i] = (struct started){.type = input->types[p][i], .row = (uint32_t)i, .start_ns = profile->start_ns[i]};
    qsort(list, profile->count, sizeof *list, started_compare);
    size_t taken = 0, of_type = 0;
    for (size_t i = 0; i < profile->count; i++) {
        of_type = i && list[i].type == list[i - 1].type ? of_type + 1 : 0;
        if (of_type < common[list[i].type])
            rows[taken++] = list[i].row;
    }
    return taken;
}

enum pcere_status matching_ctc(const struct matching_input *input, struct matching *matching, struct pcere_error *error)
{
    size_t most = 0, *common = NULL;
    for (size_t p = 0; p < input->profile_count; p++)
        most = input->profiles[p]->count > most ? input->profiles[p]->count : most;
    struct started *list = malloc(most * sizeof *list + 1);
    if (!list)
        return pcere_fail_memory(error, "the order of starts");
    enum pcere_status status = common_count(input, &common, error);
    if (status == PCERE_OK) {
        for (size_t p = 0; p < input->profile_count; p++)
            matching->count = chronological(input, p, common, list, matching->rows[p]);
        free(common);
        status = matching_order(input, matching, error);
    }
    free(list);
    return status;
}

/* ---- LGL ----------------------------------------------------------------------------------------------------------------------- */

static int labels_compare(const struct profile *a, size_t x, const struct profile *b, size_t y)
{
    const struct profile_label *p = &a->labels[x], *q = &b->labels[y];
    if (p->high == q->high && p->low == q->low)
        return 0;
    if (a->text_at && b->text_at)
        return profile_label_compare(a->texts + a->text_at[x], b->texts + b->text_at[y]);
    return p->high != q->high ? (p->high < q->high ? -1 : 1) : (p->low < q->low ? -1 : 1);
}

void matching_join(struct matching *matching, size_t p, size_t next_count, matching_order_fn *order, const void *context)
{
    size_t kept = 0;
    for (size_t i = 0, at = 0; i < matching->count && at < next_count;) {
        int side = order(context, matching->rows[0][i], at);
        if (side > 0) {
            at++;
            continue;
        }
        if (side == 0) {
            for (size_t before = 0; before < p; before++)
                matching->rows[before][kept] = matching->rows[before][i];
            matching->rows[p][kept++] = (uint32_t)at++;
        }
        i++;
    }
    matching->count = kept;
}

struct label_sides { const struct profile *first, *next; };

static int labels_order(const void *context, uint32_t first_row, size_t at)
{
    const struct label_sides *sides = context;
    return labels_compare(sides->first, first_row, sides->next, at);
}

enum pcere_status matching_lgl(const struct matching_input *input, struct matching *matching, struct pcere_error *error)
{
    for (size_t p = 1; p < input->profile_count; p++)
        if (!input->profiles[p]->text_at != !input->profiles[0]->text_at)
            return pcere_fail(error, PCERE_DATA, 0, "profile the program again by the same version of pcere",
                              "of %.100s and %.100s only one has the texts of its labels", input->names[0], input->names[p]);
    matching->count = input->profiles[0]->count;
    for (size_t i = 0; i < matching->count; i++)
        matching->rows[0][i] = (uint32_t)i;
    for (size_t p = 1; p < input->profile_count; p++)
        matching_join(matching, p, input->profiles[p]->count, labels_order, &(struct label_sides){input->profiles[0], input->profiles[p]});
    return PCERE_OK;
}
