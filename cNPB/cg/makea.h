/* The random sparse symmetric positive definite matrix of CG, shifted. */
#ifndef CG_MAKEA_H
#define CG_MAKEA_H

#include <stdint.h>

/*
 * Fills rowstr[NA + 1], colidx[NZ] and a[NZ]: row j holds the columns colidx[k] and values a[k] for
 * rowstr[j] <= k < rowstr[j + 1], each column once, in the order of their first appearance.
 * Takes its random numbers from tran on. Returns the number of nonzeros.
 */
int makea(int rowstr[], int colidx[], double a[], uint64_t *tran);

#endif
