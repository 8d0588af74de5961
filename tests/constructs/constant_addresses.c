/* constant_addresses.c - constants that are told apart by their addresses: tables of functions, kinds of things. */
#include "check.h"

struct kind { const char *name; double (*change)(double); const struct kind *parent; };

static double twice(double x) { return 2 * x; }
static double half(double x) { return x / 2; }
const struct kind whole = {"whole", twice, NULL};
static const struct kind part = {"part", half, &whole}, piece = {"piece", twice, &part};
static const int first = 7, second = 7;

static struct thing { const struct kind *kind; const int *rank; double value; } things[90];

int main(void)
{
    const struct kind *const kinds[] = {&whole, &part, &piece};
    for (int i = 0; i < 90; i++)
        things[i] = (struct thing){kinds[i % 3], i % 2 ? &first : &second, i};
    int pieces = 0, parts = 0, firsts = 0;
#pragma omp parallel for reduction(+ : pieces, parts, firsts)
    for (int i = 0; i < 90; i++) {
        struct thing *thing = &things[i];
        thing->value = thing->kind->change(thing->value);
        pieces += thing->kind == &piece;
        for (const struct kind *kind = thing->kind; kind; kind = kind->parent)
            parts += kind == &part;
        firsts += thing->rank == &first;
        if (thing->kind == &part)
            thing->kind = &whole;
    }
    CHECK(pieces == 30 && parts == 60 && firsts == 45 && things[1].kind == &whole);
    return 0;
}
