/* libc_inside.c - what else regions call of the C library: sorting with a callback, text to numbers and back, classes of characters, searching, errno, variable arguments. */
#include "check.h"
#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { COUNT = 60 };
static int sorted[COUNT][20], lengths[COUNT];
static double numbers[COUNT];
static char words[COUNT][40];

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static int add(int count, ...)
{
    va_list list;
    int sum = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++)
        sum += va_arg(list, int);
    va_end(list);
    return sum;
}

int main(void)
{
    CHECK(setlocale(LC_ALL, "C"));
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for
        for (int i = 0; i < COUNT; i++) {
            char text[64], *rest, *state;
            for (int j = 0; j < 20; j++)
                sorted[i][j] = (j * 7 + i) % 20;
            qsort(sorted[i], 20, sizeof(int), compare);
            int key = 11, *found = bsearch(&key, sorted[i], 20, sizeof(int), compare);
            snprintf(text, sizeof text, "%d.25 word-%d,other", i, i);
            numbers[i] = strtod(text, &rest);
            char *word = strtok_r(rest, " ,", &state);
            for (char *at = word; *at; at++)
                *at = (char)toupper((unsigned char)*at);
            strcpy(words[i], word);
            char *copy = strdup(strchr(words[i], '-'));
            lengths[i] = (int)strlen(copy) + (found ? (int)(found - sorted[i]) : -1000);
            free(copy);
            errno = 0;
            CHECK(strtol("99999999999999999999", NULL, 10) > 0 && errno == ERANGE && add(3, i, 1, 2) == i + 3);
            numbers[i] += floor(pow(2, 3)) + (isalpha((unsigned char)words[i][0]) ? 1 : 0);
        }
    }
    CHECK(numbers[5] == 5.25 + 9 && strcmp(words[42], "WORD-42") == 0 && lengths[42] == 3 + 11 && sorted[9][19] == 19);
    return 0;
}
