// linker_names.c - names that linkers define (a table of what units put into one section, the ends of code and data), and a file taken in by assembly.
#include "check.h"
#include <string.h>

struct kernel { const char *name; long (*run)(long); long called; };
#define KERNEL(function) static struct kernel kernel_##function __attribute__((section("kernels"), used, aligned(8))) = {#function, function, 0}
extern struct kernel __start_kernels[], __stop_kernels[];
extern char etext, edata, end, __executable_start;
__asm__(".section .rodata\n.globl taken_in\ntaken_in:\n.incbin \"" __FILE__ "\"\n.globl taken_in_end\ntaken_in_end:\n.byte 0\n.previous\n");
extern const char taken_in[], taken_in_end[];

static long twice(long value) { return 2 * value; }
static long square(long value) { return value * value; }
KERNEL(twice);
KERNEL(square);

static struct kernel *kernel_find(const char *name)
{
    for (struct kernel *kernel = __start_kernels; kernel < __stop_kernels; kernel++)
        if (!strcmp(kernel->name, name))
            return kernel;
    return NULL;
}

static int is_data(const void *address) { return (const char *)address >= &etext && (const char *)address < &end; }

static long total, letters, zeros[100];

int main(void)
{
    const char *const first = taken_in;
    for (int step = 0; step < 3; step++) {
#pragma omp parallel for reduction(+ : total, letters)
        for (long i = 0; i < 1000; i++) {
            struct kernel *kernel = kernel_find(i % 2 ? "twice" : "square");
            CHECK(kernel && is_data(kernel) && is_data(&zeros[i % 100]) && !is_data(&i) && (const char *)kernel < &edata);
            CHECK(&__executable_start < first && taken_in == first && taken_in[0] == '/');
            total += kernel->run(i);
            letters += taken_in[i % (taken_in_end - taken_in)] == 'e';
#pragma omp atomic
            kernel->called++;
        }
    }
    CHECK(kernel_twice.called == 1500 && kernel_square.called == 1500 && letters > 0);
    CHECK(total == 3 * (2 * 250000l + 166167000l));
    return 0;
}
