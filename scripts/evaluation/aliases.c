/* aliases.c - does a load wait for a store to another page, only since both lie equally far from the beginning of theirs?
 *
 *   clang-19 -O2 scripts/evaluation/aliases.c -o aliases && ./aliases 0 && ./aliases 16
 *
 * A matrix times a vector, c[i] += a[i] * b[i][j], which reads a[i] behind a store to c[i] each time, on one thread. In each of 48 lines c and a lie on other pages, chosen at random, c 16 bytes behind its page's
 * beginning and a as many more as the argument says. Printed: ns an element, the least of 60. On Zen 4, with 0 and
 * 4096: 0.80 mostly, 1.00 to 1.62 on some pairs of pages, about one in ten; with 8, 16 and 64 always 0.80 (docs/results/signature.md).
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define ROWS 64
#define COLUMNS 2048
#define PLACED_BYTES 8192
#define PAGE_BITS 12

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double *place(uintptr_t base, size_t bytes, size_t offset)
{
    const uintptr_t page = (uintptr_t)(random() & 0xfffff) << PAGE_BITS;
    char *memory = mmap((void *)(base + page), bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return (double *)(memory + offset);
}

__attribute__((noinline)) static void multiply(const double *a, const double *b, double *c)
{
    for (long i = 0; i < ROWS; i++)
        for (long j = 0; j < COLUMNS; j++)
            c[i] = c[i] + a[i] * b[i * COLUMNS + j];
}

int main(int argc, char **argv)
{
    const size_t apart = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    if (apart + 16 + ROWS * sizeof(double) > PLACED_BYTES) {
        fprintf(stderr, "aliases: at most %zu bytes\n", PLACED_BYTES - 16 - ROWS * sizeof(double));
        return 2;
    }
    srandom((unsigned)time(NULL));
    double *b = place(0x500000000000, sizeof(double) * ROWS * COLUMNS, 0);
    for (int pair = 0; pair < 48; pair++) {
        double *c = place(0x400000000000, PLACED_BYTES, 16), *a = place(0x410000000000, PLACED_BYTES, 16 + apart), least_ns = 1e30;
        for (int turn = 0; turn < 60; turn++) {
            double begin_ns = now_ns();
            multiply(a, b, c);
            double took_ns = now_ns() - begin_ns;
            least_ns = took_ns < least_ns ? took_ns : least_ns;
        }
        printf("%.2f\n", least_ns / ROWS / COLUMNS);
        munmap((char *)c - 16, PLACED_BYTES);
        munmap((char *)a - 16 - apart, PLACED_BYTES);
    }
    return 0;
}
