/* collapse.c - nested loops as one: collapse(3), rectangular and triangular. */
#include "check.h"

static int box[7][11][13], triangle[40][40];

int main(void)
{
#pragma omp parallel for collapse(3) schedule(static)
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 11; j++)
            for (int k = 0; k < 13; k++)
                box[i][j][k] = i * 10000 + j * 100 + k;
#pragma omp parallel for collapse(2) schedule(dynamic, 4)
    for (int i = 0; i < 40; i++)
        for (int j = i; j < 40; j++)
            triangle[i][j] = i + j;
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 11; j++)
            for (int k = 0; k < 13; k++)
                CHECK(box[i][j][k] == i * 10000 + j * 100 + k);
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < 40; j++)
            CHECK(triangle[i][j] == (j >= i ? i + j : 0));
    return 0;
}
