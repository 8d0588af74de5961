// thread_own.cpp - pointers that each thread set in one region, and follows in others; and the like of them that threads can do without.
#include <cstdio>
#include <cstdlib>
#include <vector>

static double *work, *lazy, *copied, *given, *mine;
#pragma omp threadprivate(work, lazy, copied, given)
static thread_local std::vector<double> scratch, pushed;
thread_local struct { long count; double *data; } pair;
static __thread double fixed[1000], *into = nullptr;
static double total;

static void fill(double **where) { *where = static_cast<double *>(calloc(1000, sizeof **where)); }

__attribute__((noinline)) static void make()
{
#pragma omp parallel
    {
        fill(&work);
        lazy = static_cast<double *>(calloc(1000, sizeof *lazy));
        copied = static_cast<double *>(calloc(1000, sizeof *copied));
        fill(&given);
        scratch.resize(1000);
        pushed.push_back(1);
        pair.count = 1000;
        pair.data = static_cast<double *>(calloc(1000, sizeof *pair.data));
        into = fixed;
    }
}

#define REGION(name, body)                                                  \
    __attribute__((noinline)) static void name()                            \
    {                                                                       \
        _Pragma("omp parallel for reduction(+ : total)")                    \
        for (std::size_t i = 0; i < 50000; i++) { body }                    \
    }
REGION(follows_work, total += work[i % 1000] += 1;)
REGION(follows_given, total += given[i % 1000] += 1;)
REGION(follows_scratch, total += scratch[i % 1000] += 1;)
REGION(follows_pair, total += pair.data[i % 1000] += 1;)
REGION(follows_into, total += into[i % 1000] += 1;)
REGION(looks_first, if (!lazy) fill(&lazy); total += lazy[i % 1000] += 1;)
REGION(pushes, pushed.push_back(1); total += pushed.back();)
REGION(loops, for (double one : pushed) { total += one; if (one > 0) break; })
REGION(has_no_pointer, total += fixed[i % 1000] += 1;)

__attribute__((noinline)) static void gets_a_copy()
{
#pragma omp parallel for reduction(+ : total) copyin(copied)
    for (std::size_t i = 0; i < 50000; i++)
        total += copied[i % 1000];
}

__attribute__((noinline)) static void makes_its_own()
{
#pragma omp parallel reduction(+ : total)
    {
        work = static_cast<double *>(calloc(1000, sizeof *work));
#pragma omp critical
        mine = work;
        for (std::size_t i = 0; i < 50000; i++)
            total += work[i % 1000];
        free(work);
    }
}

int main()
{
    make();
    follows_work();
    follows_given();
    follows_scratch();
    follows_pair();
    follows_into();
    looks_first();
    pushes();
    loops();
    has_no_pointer();
    gets_a_copy();
    makes_its_own();
    return std::puts(total > 50000 && mine ? "PASS" : "FAIL") < 0;
}
