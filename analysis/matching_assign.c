/* analysis/matching_assign.c - see matching.h: the pairs of least distance, by shortest augmenting paths (H. W. Kuhn 1955, J. Munkres 1957; in the
 * form with potentials and one row at a time), in blocks. */
#include "analysis/matching.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct assign {
    const struct matching_side *a, *b;
    size_t dimensions;
    uint32_t *partner_of_a;
    double *row_price, *column_price, *nearest;         /* of one block; [0] is nobody */
    size_t *row_of_column, *way;
    bool *used;
    double *costs;                                      /* [row][column] */
};

#define ORDER_WEIGHT 1e-7      /* a pair out of the order of labels counts like this part of the whole range at most */

static double distance(const struct assign *assign, uint32_t x, uint32_t y)
{
    double sum = 0;
    for (size_t k = 0; k < assign->dimensions; k++) {
        double difference = assign->a->values[k][x] - assign->b->values[k][y];
        sum += difference * difference;
    }
    double place = (double)x / (double)assign->a->count - (double)y / (double)assign->b->count;
    return sqrt(sum) + ORDER_WEIGHT * place * place;
}

/* Rows are not more than columns. */
static void block_solve(struct assign *assign, size_t rows, size_t columns)
{
    memset(assign->row_price, 0, (rows + 1) * sizeof(double));
    memset(assign->column_price, 0, (columns + 1) * sizeof(double));
    memset(assign->row_of_column, 0, (columns + 1) * sizeof(size_t));
    for (size_t row = 1; row <= rows; row++) {
        size_t column = 0;
        assign->row_of_column[0] = row;
        for (size_t j = 0; j <= columns; j++) {
            assign->nearest[j] = DBL_MAX;
            assign->used[j] = false;
        }
        do {
            assign->used[column] = true;
            size_t from = assign->row_of_column[column], next = 0;
            double least = DBL_MAX;
            for (size_t j = 1; j <= columns; j++) {
                if (assign->used[j])
                    continue;
                double cost = assign->costs[(from - 1) * columns + j - 1] - assign->row_price[from] - assign->column_price[j];
                if (cost < assign->nearest[j]) {
                    assign->nearest[j] = cost;
                    assign->way[j] = column;
                }
                if (assign->nearest[j] < least) {
                    least = assign->nearest[j];
                    next = j;
                }
            }
            for (size_t j = 0; j <= columns; j++) {
                if (assign->used[j]) {
                    assign->row_price[assign->row_of_column[j]] += least;
                    assign->column_price[j] -= least;
                } else {
                    assign->nearest[j] -= least;
                }
            }
            column = next;
        } while (assign->row_of_column[column]);
        while (column) {
            size_t before = assign->way[column];
            assign->row_of_column[column] = assign->row_of_column[before];
            column = before;
        }
    }
}

static void block_match(struct assign *assign, const uint32_t *x, size_t x_count, const uint32_t *y, size_t y_count)
{
    bool turned = x_count > y_count;
    size_t rows = turned ? y_count : x_count, columns = turned ? x_count : y_count;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            assign->costs[i * columns + j] = turned ? distance(assign, x[j], y[i]) : distance(assign, x[i], y[j]);
    block_solve(assign, rows, columns);
    for (size_t j = 1; j <= columns; j++)
        if (assign->row_of_column[j]) {
            size_t i = assign->row_of_column[j] - 1;
            assign->partner_of_a[turned ? x[j - 1] : x[i]] = turned ? y[i] : y[j - 1];
        }
}

struct by_value { const double *values; };

static int by_value_compare(const void *a, const void *b, void *context)
{
    const struct by_value *by = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (by->values[x] != by->values[y])
        return by->values[x] < by->values[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

static double spread(const double *values, const uint32_t *list, size_t count)
{
    double least = DBL_MAX, most = -DBL_MAX;
    for (size_t i = 0; i < count; i++) {
        least = values[list[i]] < least ? values[list[i]] : least;
        most = values[list[i]] > most ? values[list[i]] : most;
    }
    return count ? most - least : 0;
}

/* Both lists are halved at the same share of their order along the widest dimension, so that in one dimension with equally many on both sides
 * nothing is lost. */
static void blocks_match(struct assign *assign, uint32_t *x, size_t x_count, uint32_t *y, size_t y_count)
{
    if (!x_count || !y_count)
        return;
    if (x_count <= COMBINE_BLOCK && y_count <= COMBINE_BLOCK) {
        block_match(assign, x, x_count, y, y_count);
        return;
    }
    size_t widest = 0;
    double most = -1;
    for (size_t k = 0; k < assign->dimensions; k++) {
        double width = spread(assign->a->values[k], x, x_count) + spread(assign->b->values[k], y, y_count);
        if (width > most) {
            most = width;
            widest = k;
        }
    }
    qsort_r(x, x_count, sizeof *x, by_value_compare, &(struct by_value){assign->a->values[widest]});
    qsort_r(y, y_count, sizeof *y, by_value_compare, &(struct by_value){assign->b->values[widest]});
    size_t x_half = x_count / 2, y_half = x_count == y_count ? x_half : y_count / 2;
    blocks_match(assign, x, x_half, y, y_half);
    blocks_match(assign, x + x_half, x_count - x_half, y + y_half, y_count - y_half);
}

enum pcere_status matching_assign(const struct matching_side *a, const struct matching_side *b, size_t dimensions, uint32_t *partner_of_a,
                                  struct pcere_error *error)
{
    size_t most = COMBINE_BLOCK + 1;
    struct assign assign = {
        .a = a, .b = b, .dimensions = dimensions, .partner_of_a = partner_of_a, .row_price = malloc(most * sizeof(double)),
        .column_price = malloc(most * sizeof(double)), .nearest = malloc(most * sizeof(double)), .row_of_column = malloc(most * sizeof(size_t)),
        .way = malloc(most * sizeof(size_t)), .used = malloc(most * sizeof(bool)), .costs = malloc(most * most * sizeof(double)),
    };
    uint32_t *x = malloc(a->count * sizeof *x + 1), *y = malloc(b->count * sizeof *y + 1);
    enum pcere_status status = PCERE_OK;
    if (!assign.row_price || !assign.column_price || !assign.nearest || !assign.row_of_column || !assign.way || !assign.used || !assign.costs || !x || !y) {
        status = pcere_fail_memory(error, "an assignment");
    } else {
        for (size_t i = 0; i < a->count; i++) {
            x[i] = (uint32_t)i;
            partner_of_a[i] = UINT32_MAX;
        }
        for (size_t i = 0; i < b->count; i++)
            y[i] = (uint32_t)i;
        blocks_match(&assign, x, a->count, y, b->count);
    }
    void *const parts[] = {assign.row_price, assign.column_price, assign.nearest, assign.row_of_column, assign.way, assign.used, assign.costs, x, y};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        free(parts[i]);
    return status;
}
