/*
 * How CG's matrix is made: the sum of NA weighted outer products x x^T of sparse random vectors, whose
 * weights fall geometrically from 1 to RCOND, plus (RCOND - SHIFT) on the diagonal. Serial, and not timed.
 */
#include "npb.h"
#include "params.h"
#include "makea.h"
#include "randlc.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

/* One sparse vector: NONZER random elements and one that is set. */
struct sparse_vector {
    int length;
    int index[NONZER + 1];
    double value[NONZER + 1];
};

/* The terms of all outer products, before those that meet in one place are added up. */
static int arow[NZ];
static int acol[NZ];
static double aelt[NZ];

/* One row, dense, while it is being summed. */
static double row_value[NA];
static bool row_has[NA];
static int row_columns[NA];

static int find(const struct sparse_vector *x, int index)
{
    for (int k = 0; k < x->length; k++)
        if (x->index[k] == index)
            return k;
    return -1;
}

/* NONZER random values at random different places. */
static void sprnvc(struct sparse_vector *x, uint64_t *tran)
{
    int range = 1;

    while (range < NA)
        range *= 2;

    x->length = 0;
    while (x->length < NONZER) {
        double value = randlc(tran, RANDLC_A);
        int index = (int)(range * randlc(tran, RANDLC_A));

        if (index < NA && find(x, index) < 0) {
            x->index[x->length] = index;
            x->value[x->length] = value;
            x->length++;
        }
    }
}

/* Element index becomes value, whether it was there or not. */
static void vecset(struct sparse_vector *x, int index, double value)
{
    int k = find(x, index);

    if (k < 0) {
        k = x->length++;
        x->index[k] = index;
    }
    x->value[k] = value;
}

/* Writes all terms to arow, acol, aelt and returns how many there are. */
static int generate(uint64_t *tran)
{
    const double ratio = pow(RCOND, 1.0 / NA);
    double weight = 1.0;
    int terms = 0;

    for (int i = 0; i < NA; i++) {
        struct sparse_vector x;

        sprnvc(&x, tran);
        vecset(&x, i, 0.5);
        assert(terms + x.length * x.length <= NZ);
        for (int col = 0; col < x.length; col++) {
            double scale = weight * x.value[col];

            for (int row = 0; row < x.length; row++) {
                arow[terms] = x.index[row];
                acol[terms] = x.index[col];
                aelt[terms] = x.value[row] * scale;
                terms++;
            }
        }
        weight *= ratio;
    }

    assert(terms + NA <= NZ);
    for (int i = 0; i < NA; i++) {
        arow[terms] = i;
        acol[terms] = i;
        aelt[terms] = RCOND - SHIFT;
        terms++;
    }
    return terms;
}

/* Sorts the terms by row: a counting sort that keeps their order within a row. */
static void sort_by_row(int terms, int rowstr[], int colidx[], double a[])
{
    for (int j = 0; j <= NA; j++)
        rowstr[j] = 0;
    for (int term = 0; term < terms; term++)
        rowstr[arow[term] + 1]++;
    for (int j = 0; j < NA; j++)
        rowstr[j + 1] += rowstr[j];

    for (int term = 0; term < terms; term++) {
        int k = rowstr[arow[term]]++;

        colidx[k] = acol[term];
        a[k] = aelt[term];
    }

    /* Each start has moved to its row's end, which is the next row's start. */
    for (int j = NA; j > 0; j--)
        rowstr[j] = rowstr[j - 1];
    rowstr[0] = 0;
}

/* Adds up, row by row, the terms of the same column, and closes the gaps. Returns the nonzeros left. */
static int merge_duplicates(int rowstr[], int colidx[], double a[])
{
    int begin = 0, nonzeros = 0;

    for (int j = 0; j < NA; j++) {
        int end = rowstr[j + 1], columns = 0;

        for (int k = begin; k < end; k++) {
            int i = colidx[k];

            if (!row_has[i]) {
                row_has[i] = true;
                row_value[i] = 0.0;
                row_columns[columns++] = i;
            }
            row_value[i] += a[k];
        }
        for (int c = 0; c < columns; c++) {
            int i = row_columns[c];

            row_has[i] = false;
            if (row_value[i] != 0.0) {
                colidx[nonzeros] = i;
                a[nonzeros] = row_value[i];
                nonzeros++;
            }
        }
        begin = end;
        rowstr[j + 1] = nonzeros;
    }
    return nonzeros;
}

int makea(int rowstr[], int colidx[], double a[], uint64_t *tran)
{
    int terms = generate(tran);

    sort_by_row(terms, rowstr, colidx, a);
    return merge_duplicates(rowstr, colidx, a);
}
