// cpp_threadprivate.cpp - threadprivate objects that are made as their threads come: constructors with arguments, an initialiser that calls,
// memory of their own, copyin by assignment, and what earlier regions left in each thread's object.
#include "check.h"
#include <omp.h>
#include <vector>

struct tally {
    std::vector<long> seen;
    long start;
    explicit tally(long first) : seen(8, first), start(first) {}
    tally(const tally &other) = default;
    tally &operator=(const tally &other) { seen = other.seen; start = other.start + 1000; return *this; }
    ~tally() { start = -1; }
    void add(long value) { seen[static_cast<std::size_t>(value & 7)] += value; }
    long sum() const { long all = start; for (long one : seen) all += one; return all; }
};
static long first_value() { return 7; }
static tally mine(3);
#pragma omp threadprivate(mine)
static std::vector<long> list = {1, 2, 3};
#pragma omp threadprivate(list)
static long plain = first_value();
#pragma omp threadprivate(plain)
static long total;

int main()
{
    for (int step = 0; step < 3; step++) {
#pragma omp parallel reduction(+ : total)
        {
#pragma omp for
            for (int i = 0; i < 240; i++) {
                mine.add(i);
                list[static_cast<std::size_t>(i % 3)]++;
                plain++;
            }
            total += list.size() == 3;
        }
    }
    long sum = 0, added = 0, counted = 0, teams = 0;
#pragma omp parallel reduction(+ : sum, added, counted, teams)
    {
        sum += mine.sum() - 27;
        added += plain - 7;
        for (long one : list)
            counted += one;
        counted -= 6;
        teams++;
    }
    CHECK(sum == 3 * 239 * 120 && added == 720 && counted == 720);
    CHECK(total == 3 * teams);
    mine = tally(5);
    plain = 40;
    long copied = 0;
#pragma omp parallel copyin(mine, plain) reduction(+ : copied)
    {
        mine.add(1);
        copied += mine.sum() == 45 + 1000 + 1 + (omp_get_thread_num() ? 1000 : 0);
        copied += plain == 40;
    }
    CHECK(copied == 2 * teams);
    return 0;
}
