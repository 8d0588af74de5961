/* equal_texts.c - text that is a variable's and, word for word, a literal's: the optimiser may keep one of the two. */
#include "check.h"
#include <string.h>

enum { COUNT = 1000 };
static const char name[] = "four";
static long values[COUNT];

__attribute__((noinline)) static long length(const char *text)
{
    __asm__ volatile("" : "+r"(text));
    return (long)strlen(text);
}

int main(void)
{
    for (int step = 0; step < 3; step++)
#pragma omp parallel for
        for (int i = 0; i < COUNT; i++)
            values[i] += length(name) + length("four");
    puts(values[0] == 24 && values[COUNT - 1] == 24 ? "PASS" : "FAIL");
    return values[COUNT / 2] != 24;
}
