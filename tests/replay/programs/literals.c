/* literals.c - regions that store pointers to constants without a name: strings, one the tail of another, empty, wide; the others ask for threads. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { COUNT = 64 };
static const char *kinds[COUNT], *tails[COUNT], *empties[COUNT], **block;
static const wchar_t *wide[COUNT];

static void alike(int odd)
{
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++) {
        kinds[i] = (i + odd) % 2 ? "$1$" : "$apr1$";
        tails[i] = i % 3 ? "a tail" : "this has a tail";
        empties[i] = i % 3 ? "" : "\0behind";
        wide[i] = i % 3 ? L"one" : L"other";
        block[i] = kinds[i] + 1;
    }
}

static void other_kind(void)
{
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++)
        kinds[i] = omp_get_num_threads() == 1 ? "$1$" : "$apr1$";
}

/* What the program has there begins like the replay's. */
static void longer(void)
{
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++)
        kinds[i] = omp_get_num_threads() == 1 ? "begins" : "begins alike";
}

static void other_wide(void)
{
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++)
        wide[i] = omp_get_num_threads() == 1 ? L"one" : L"other";
}

static size_t length(void)
{
    size_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < COUNT; i++)
        sum += strlen(kinds[i]) + strlen(block[i]) + strlen(tails[i]) + strlen(empties[i]) + wcslen(wide[i]);
    return sum;
}

int main(void)
{
    size_t sum = 0;
    block = malloc(COUNT * sizeof *block);
    for (int step = 0; step < 3; step++) {
        alike(step);
        sum = length();
    }
    other_kind();
    longer();
    other_wide();
    puts(sum == 1330 ? "PASS" : "FAIL");
    return 0;
}
