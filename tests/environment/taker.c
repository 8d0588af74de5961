/* environment-taker: a preloaded library that takes the ranges named in TAKEN ("START-END,...", hexadecimal) before the program starts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

__attribute__((constructor)) static void take(void)
{
    const char *at = getenv("TAKEN");
    unsigned long start, end;
    for (int used = 0; at && sscanf(at, "%lx-%lx%n", &start, &end, &used) == 2; at += used + (at[used] == ','))
        mmap((void *)start, end - start, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}
