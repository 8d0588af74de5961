/* scripts/evaluation/tiles.c gemm|potrf SIZE BLOCK - a matrix product, or a Cholesky factorisation, of tiles in single precision: a task with dependences for each tile. With -DDEVICES each
 * task is a target region on one of the devices, by its tile. Prints the seconds that it took, and a sum.
 */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef DEVICES
#pragma omp declare target
#endif

static void gemm(const float *a, const float *b, float *c, int n, float sign)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                c[i * n + j] += sign * a[i * n + k] * b[k * n + j];
}

static void gemm_transposed(const float *a, const float *b, float *c, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[j * n + k];
            c[i * n + j] -= sum;
        }
}

static void potrf(float *a, int n)
{
    for (int k = 0; k < n; k++) {
        a[k * n + k] = sqrtf(a[k * n + k]);
        for (int i = k + 1; i < n; i++)
            a[i * n + k] /= a[k * n + k];
        for (int j = k + 1; j < n; j++)
            for (int i = j; i < n; i++)
                a[i * n + j] -= a[i * n + k] * a[j * n + k];
    }
}

static void trsm(const float *l, float *b, int n)
{
    for (int r = 0; r < n; r++)
        for (int j = 0; j < n; j++) {
            float sum = b[r * n + j];
            for (int k = 0; k < j; k++)
                sum -= b[r * n + k] * l[j * n + k];
            b[r * n + j] = sum / l[j * n + j];
        }
}

#ifdef DEVICES
#pragma omp end declare target
#endif

static float *tile(int block)
{
    float *one = malloc((size_t)block * (size_t)block * sizeof *one);
    if (!one)
        abort();
    return one;
}

#define PRAGMA(text) _Pragma(#text)
#ifdef DEVICES
#define TASK_3(where, in_1, in_2, out) PRAGMA(omp target nowait device(where) map(to: in_1[:m], in_2[:m]) map(tofrom: out[:m]) depend(in: in_1[0], in_2[0]) depend(inout: out[0]))
#define TASK_2(where, in_1, out) PRAGMA(omp target nowait device(where) map(to: in_1[:m]) map(tofrom: out[:m]) depend(in: in_1[0]) depend(inout: out[0]))
#define TASK_1(where, out) PRAGMA(omp target nowait device(where) map(tofrom: out[:m]) depend(inout: out[0]))
#else
#define TASK_3(where, in_1, in_2, out) PRAGMA(omp task depend(in: in_1[0], in_2[0]) depend(inout: out[0]))
#define TASK_2(where, in_1, out) PRAGMA(omp task depend(in: in_1[0]) depend(inout: out[0]))
#define TASK_1(where, out) PRAGMA(omp task depend(inout: out[0]))
#endif

static void product(float **as, float **bs, float **cs, int tiles, int n)
{
    int devices = omp_get_num_devices(), m = n * n;
    (void)devices, (void)m;
    for (int i = 0; i < tiles; i++)
        for (int j = 0; j < tiles; j++)
            for (int k = 0; k < tiles; k++) {
                float *a = as[i * tiles + k], *b = bs[k * tiles + j], *c = cs[i * tiles + j];
                TASK_3((i + j) % devices, a, b, c)
                gemm(a, b, c, n, 1);
            }
}

static void factor(float **as, int tiles, int n)
{
    int devices = omp_get_num_devices(), m = n * n;
    (void)devices, (void)m;
    for (int k = 0; k < tiles; k++) {
        float *d = as[k * tiles + k];
        TASK_1(k % devices, d)
        potrf(d, n);
        for (int i = k + 1; i < tiles; i++) {
            float *b = as[i * tiles + k];
            TASK_2(i % devices, d, b)
            trsm(d, b, n);
        }
        for (int i = k + 1; i < tiles; i++)
            for (int j = k + 1; j <= i; j++) {
                float *a = as[i * tiles + k], *b = as[j * tiles + k], *c = as[i * tiles + j];
                TASK_3((i + j) % devices, a, b, c)
                gemm_transposed(a, b, c, n);
            }
    }
}

int main(int argc, char **argv)
{
    int size = argc > 2 ? atoi(argv[2]) : 256, n = argc > 3 ? atoi(argv[3]) : 32, tiles = size / n, product_wanted = argc < 2 || strcmp(argv[1], "gemm") == 0;
    size_t count = (size_t)tiles * (size_t)tiles;
    float **a = malloc(count * sizeof *a), **b = malloc(count * sizeof *b), **c = malloc(count * sizeof *c);
    for (size_t t = 0; t < count; t++) {
        a[t] = tile(n), b[t] = tile(n), c[t] = tile(n);
        for (int x = 0; x < n * n; x++) {
            int row = (int)(t / (size_t)tiles) * n + x / n, column = (int)(t % (size_t)tiles) * n + x % n;
            a[t][x] = row == column ? (float)size : 1.0f / (float)(1 + (row + column) % 17);
            b[t][x] = 1.0f / (float)(1 + (row * 3 + column) % 13);
            c[t][x] = 0;
        }
    }
    double sum = 0;
    int here = 0;
    #pragma omp parallel reduction(+: here)       /* threads are there when time begins to count */
    here++;
    double begin = omp_get_wtime();
    #pragma omp parallel
    #pragma omp single
    if (product_wanted)
        product(a, b, c, tiles, n);
    else
        factor(a, tiles, n);
    printf("seconds %.6f\n", omp_get_wtime() - begin);
    float **result = product_wanted ? c : a;
    for (size_t t = 0; t < count; t++)
        for (int x = 0; x < n * n; x++)
            sum += result[t][x];
    printf("sum %.6g\n", sum);
    return 0;
}
