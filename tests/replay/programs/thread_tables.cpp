// thread_tables.cpp - a table of floating-point numbers, one of which is a count of threads; and counts that are divided as floating-point numbers.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <omp.h>
#include <vector>

enum { N = 40000 };

// What an interpreter of expressions keeps: constants, what is computed, and each thread's number.
struct Machine {
    std::vector<double> values = std::vector<double>(64);
    unsigned used = 16;

    // Small whole numbers have places of their own.
    __attribute__((noinline)) unsigned constant(double value)
    {
        if (value == static_cast<int>(value) && value >= -5 && value <= 9) {
            unsigned at = static_cast<unsigned>(value >= 0 ? value : 9 - value);
            values[at] = value;
            return at;
        }
        values[used] = value;
        return used++;
    }

    __attribute__((noinline)) unsigned word(const char *text)
    {
        return strcmp(text, "threads") == 0 ? constant(omp_get_max_threads()) : constant(atof(text));
    }
};

static std::vector<double> data;
static double share;

__attribute__((noinline)) static void size_said(Machine &machine, const char *words)
{
    data.assign(static_cast<size_t>(machine.values[machine.word(words)]), 1.0);
}

__attribute__((noinline)) static void computes(const Machine &machine, unsigned at)
{
#pragma omp parallel
    {
        Machine own = machine;
        own.values[0] = omp_get_thread_num();
#pragma omp for
        for (size_t i = 0; i < data.size(); i++)
            data[i] += own.values[at] * static_cast<double>(i);
    }
}

__attribute__((noinline)) static void smooths()
{
#pragma omp parallel for
    for (size_t i = 1; i < data.size() - 1; i++)
        data[i] = data[i] * 0.5 + 1;
}

// For as many threads as there were.
__attribute__((noinline)) static double by_a_rounded_share(int threads)
{
    double sum = 0;
    int part = static_cast<int>(std::ceil(static_cast<double>(N) / threads));
#pragma omp parallel reduction(+ : sum)
    {
        int first = omp_get_thread_num() * part, last = first + part < N ? first + part : N;
        for (int i = first; i < last; i++)
            sum += data[static_cast<size_t>(i)];
    }
    return sum;
}

__attribute__((noinline)) static double by_a_kept_share()
{
    double sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        int first = static_cast<int>(omp_get_thread_num() * share), last = static_cast<int>((omp_get_thread_num() + 1) * share);
        for (int i = first; i < last; i++)
            sum += data[static_cast<size_t>(i)];
    }
    return sum;
}

int main()
{
    Machine machine;
    size_said(machine, "40000");
    share = static_cast<double>(N) / omp_get_max_threads();
    double sum = 0;
    for (int step = 0; step < 3; step++) {
        computes(machine, machine.word("0.25"));
        smooths();
        sum += by_a_rounded_share(omp_get_max_threads()) + by_a_kept_share();
    }
    return std::puts(sum > 0 ? "PASS" : "FAIL") < 0;
}
