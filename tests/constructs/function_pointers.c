/* function_pointers.c - tables of pointers to functions: static, of libc and libm, in heap blocks, of functions never called otherwise. */
#include "check.h"
#include <math.h>

typedef double (*function)(double);
static double half(double x) { return x / 2; }
static double negate(double x) { return -x; }
static const function constant_table[3] = {half, negate, fabs};
static function changing = half;
struct node { struct node *next; function apply; };

int main(void)
{
    double values[300] = {0};
    struct node *list = NULL;
    for (int i = 0; i < 4; i++) {
        struct node *node = malloc(sizeof *node);
        CHECK(node);
        *node = (struct node){list, i < 3 ? constant_table[i] : sqrt};
        list = node;
    }
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for
        for (int i = 0; i < 300; i++) {
            double x = i + 1;
            for (const struct node *node = list; node; node = node->next)
                x = node->apply(x);
            values[i] = changing(x) + constant_table[i % 3](2);
        }
        changing = negate;
    }
    for (int i = 0; i < 300; i++)
        CHECK(fabs(values[i] - (sqrt(i + 1) / 2 + (i % 3 == 0 ? 1 : i % 3 == 1 ? -2 : 2))) < 1e-12);
    while (list) {
        struct node *next = list->next;
        free(list);
        list = next;
    }
    return 0;
}
