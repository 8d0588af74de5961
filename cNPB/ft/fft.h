/*
 * Fourier transforms of BLOCK lines at once, by Stockham's method, which needs no bit reversal: passes of radix 4
 * and, if the length is not a power of 4, a last one of radix 2. A pass reads one buffer and writes another.
 * The buffers hold point after point, and a point's values of all lines side by side, real parts and imaginary
 * parts apart: so the innermost loop of every pass is the same operation on BLOCK neighbours.
 */
#ifndef FT_FFT_H
#define FT_FFT_H

#include "params.h"

#include <stddef.h>

enum { BLOCK = 8 }; /* lines: two cache lines of complex numbers, so that strided copies waste nothing */

struct complex {
    double re, im;
};

/* One point of BLOCK lines. */
struct points {
    double re[BLOCK], im[BLOCK];
};

enum direction {
    FORWARD,
    INVERSE, /* without the division by the number of points */
};

/* root[j] = exp(-2 pi i j / LONGEST); set by fft_init. */
static struct complex root[LONGEST];

static inline struct complex add(struct complex a, struct complex b)
{
    return (struct complex){a.re + b.re, a.im + b.im};
}

static inline struct complex subtract(struct complex a, struct complex b)
{
    return (struct complex){a.re - b.re, a.im - b.im};
}

static inline struct complex multiply(struct complex a, struct complex b)
{
    return (struct complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static inline struct complex times_minus_i(struct complex a)
{
    return (struct complex){a.im, -a.re};
}

static inline struct complex get(const struct points *x, int line)
{
    return (struct complex){x->re[line], x->im[line]};
}

static inline void put(struct points *y, int line, struct complex value)
{
    y->re[line] = value.re;
    y->im[line] = value.im;
}

/*
 * Cuts each of the stride interleaved transforms of length n in x into four of length n / 4 in y. Without simd
 * compilers unroll the loop over lines, and then find no vectors.
 */
static inline void pass_of_radix_4(int n, int stride, const struct points x[restrict], struct points y[restrict])
{
    const int quarter = n / 4 * stride, step = LONGEST / n;

    for (int p = 0; p < n / 4; p++) {
        const struct complex w1 = root[step * p], w2 = root[2 * step * p], w3 = root[3 * step * p];

        for (int q = 0; q < stride; q++) {
            const struct points *from = &x[p * stride + q];
            struct points *to = &y[4 * p * stride + q];

#pragma omp simd
            for (int line = 0; line < BLOCK; line++) {
                const struct complex a = get(from, line), b = get(from + quarter, line);
                const struct complex c = get(from + 2 * quarter, line), d = get(from + 3 * quarter, line);
                const struct complex ac = add(a, c), bd = add(b, d);
                const struct complex a_c = subtract(a, c), b_d = times_minus_i(subtract(b, d));

                put(to, line, add(ac, bd));
                put(to + stride, line, multiply(w1, add(a_c, b_d)));
                put(to + 2 * stride, line, multiply(w2, subtract(ac, bd)));
                put(to + 3 * stride, line, multiply(w3, subtract(a_c, b_d)));
            }
        }
    }
}

/* The last pass, of transforms of length 2: all roots are 1. */
static inline void last_pass_of_radix_2(int stride, const struct points x[restrict], struct points y[restrict])
{
    for (int q = 0; q < stride; q++) {
        for (int line = 0; line < BLOCK; line++) {
            const struct complex a = get(&x[q], line), b = get(&x[q + stride], line);

            put(&y[q], line, add(a, b));
            put(&y[q + stride], line, subtract(a, b));
        }
    }
}

/*
 * Transforms BLOCK lines of n points of x, a power of 2, and stores them in y, which may be x. The points of a
 * line are along apart, the lines across. An inverse transform is a forward one of numbers whose real and
 * imaginary parts are exchanged, before and after.
 */
static inline void transform(enum direction direction, int n, const struct complex *x, struct complex *y,
                             size_t along, size_t across)
{
    struct points buffer[2][LONGEST];
    struct points *from = buffer[0], *to = buffer[1], *swap;
    int length = n, stride = 1;

    for (int p = 0; p < n; p++) {
        double *re = direction == FORWARD ? from[p].re : from[p].im;
        double *im = direction == FORWARD ? from[p].im : from[p].re;

        for (size_t line = 0; line < BLOCK; line++) {
            re[line] = x[(size_t)p * along + line * across].re;
            im[line] = x[(size_t)p * along + line * across].im;
        }
    }

    for (; length >= 4; length /= 4, stride *= 4) {
        pass_of_radix_4(length, stride, from, to);
        swap = from, from = to, to = swap;
    }
    if (length == 2) {
        last_pass_of_radix_2(stride, from, to);
        from = to;
    }

    for (int p = 0; p < n; p++) {
        const double *re = direction == FORWARD ? from[p].re : from[p].im;
        const double *im = direction == FORWARD ? from[p].im : from[p].re;

        for (size_t line = 0; line < BLOCK; line++) {
            y[(size_t)p * along + line * across].re = re[line];
            y[(size_t)p * along + line * across].im = im[line];
        }
    }
}

#endif
