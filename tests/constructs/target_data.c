/* target_data.c - target constructs without a device: data regions, enter and exit, update, a mapper, is_device_ptr, allocators, parallel regions inside. */
#include "check.h"
#include <omp.h>

enum { COUNT = 600 };
struct vector { int length; long *cells; };
#pragma omp declare mapper(struct vector v) map(v, v.cells[0 : v.length])
#pragma omp declare target
long scale = 3;
long scaled(long x);
long scaled(long x) { return scale * x; }
#pragma omp end declare target
static long values[COUNT], others[COUNT];

int main(void)
{
    struct vector vector = {COUNT, malloc(COUNT * sizeof(long))};
    long *device = malloc(COUNT * sizeof *device);
    CHECK(vector.cells && device && omp_is_initial_device());
#pragma omp target enter data map(to : others)
    for (int step = 1; step <= 2; step++) {
        long sum = 0;
#pragma omp target data map(tofrom : values)
        {
#pragma omp target teams distribute parallel for map(tofrom : vector)
            for (int i = 0; i < COUNT; i++)
                vector.cells[i] = scaled(i) * step;
#pragma omp target is_device_ptr(device)
#pragma omp parallel for
            for (int i = 0; i < COUNT; i++)
                device[i] = others[i] + i;
#pragma omp target update to(scale)
#pragma omp target parallel for simd map(tofrom : sum) reduction(+ : sum) uses_allocators(omp_default_mem_alloc) depend(inout : values) if (step > 0)
            for (int i = 0; i < COUNT; i++) {
                values[i] += vector.cells[i] + device[i];
                sum += values[i];
            }
#pragma omp target teams distribute map(tofrom : others)
            for (int i = 0; i < COUNT; i++)
                others[i]++;
        }
        CHECK(sum > 0);
    }
#pragma omp target exit data map(from : others)
    for (int i = 0; i < COUNT; i++)
        CHECK(values[i] == 3L * i + i + 6L * i + i + 1 && others[i] == 2);
    free(device);
    free(vector.cells);
    return 0;
}
