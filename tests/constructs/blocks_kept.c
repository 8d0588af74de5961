/* blocks_kept.c - what a region allocates in each way that there is, and leaves to the program: a tree of blocks that lead to each other, into themselves and to their ends. */
#define _GNU_SOURCE
#include "check.h"
#include <malloc.h>
#include <stdint.h>
#include <string.h>

struct node { struct node *next; double value; char tag; };
struct kept { void *block[8]; char *inside, *end, *freed, *text, *line; double *grown; int *moved; size_t usable; struct kept *self; struct node *list; };

static struct kept *kept;
static double *rows[64];
static struct __attribute__((packed)) { char kind; double *data; } packed[64];
static int *old;

static struct kept *keep(int step)
{
    struct kept *made = calloc(1, sizeof *made);
    for (size_t i = 0; i < 5; i++)
        made->block[i] = memset(aligned_alloc(64u << i, 1024u << i), (int)i, 500);
    CHECK(posix_memalign(&made->block[5], 4096, 5000) == 0);
    memset(made->block[5], 5, 5000);
    made->block[6] = memset(memalign(32, 7), 6, 7);
    made->block[7] = memset(valloc(100), 7, 100);
    made->inside = (char *)made->block[5] + 777;
    made->end = (char *)made->block[5] + 5000;
    made->freed = malloc(1000);
    made->freed[step] = 1;
    free(made->freed);
    made->text = strdup("a text that the C library allocates");
    CHECK(asprintf(&made->line, "%d and %s", step, made->text) > 0);
    for (size_t i = 1; i < 2000; i++) {
        made->grown = realloc(made->grown, i * sizeof *made->grown);
        made->grown[i - 1] = (double)i;
    }
    made->moved = realloc(old, 4000);
    old = NULL;
    made->usable = malloc_usable_size(made->block[7]);
    made->self = made;
    for (int i = 0; i < 100; i++) {
        struct node *node = malloc(sizeof *node);
        *node = (struct node){made->list, i * 0.5 + step, 'a'};
        made->list = node;
    }
    return made;
}

int main(void)
{
    for (int step = 0; step < 3; step++) {
        old = malloc(400);
        for (int i = 0; i < 100; i++)
            old[i] = i + step;
#pragma omp parallel
        {
#pragma omp single
            {
                free(kept);
                kept = keep(step);
            }
#pragma omp for
            for (int i = 0; i < 64; i++) {
                free(rows[i]);
                packed[i].data = rows[i] = malloc((size_t)(i + 1) * 100 * sizeof **rows);
                for (int j = 0; j < (i + 1) * 100; j++)
                    rows[i][j] = i * j + step;
            }
        }
    }
    CHECK(kept->self == kept && kept->inside[0] == 5 && kept->grown[1998] == 1999 && kept->moved[99] == 101 && kept->usable >= 100);
    CHECK(!strcmp(kept->line, "2 and a text that the C library allocates") && kept->list->next->value == 51 && rows[63][6399] == 63 * 6399 + 2);
    return 0;
}
