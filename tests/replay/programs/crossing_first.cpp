// A library with a region that calls the program, another library and itself, and throws.
#include "crossing.h"

thread_local int firstCalls;
static thread_local double last, beforeLast;
static double table[64];

double Square::area() const { return side * side; }
static double half(double x) { return x / 2; }
static double quarter(double x) { last = x; return x / 4; }
Callback firstChoose(int i) { return i % 2 ? half : quarter; }

double firstChecked(double x)
{
    if (x < 0)
        throw std::runtime_error("below zero");
    return x;
}

double firstSum(int n, const Shape *const *shapes, Callback call)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static)
    for (int i = 0; i < n; i++) {
        firstCalls++;
        beforeLast = last;
        last = i;
        table[i % 64] += secondTwice(shapes[i % 2]->area());
        sum += call(table[i % 64]) + beforeLast + firstChoose(i)(i);
        try {
            sum += firstChecked(i % 5 ? i : -1);
        } catch (const std::exception &) {
            sum += 1;
        }
        __atomic_fetch_add(&programSeen, 1, __ATOMIC_RELAXED);
    }
    return sum;
}
