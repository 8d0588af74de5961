// thread_numbers.cpp - numbers that each thread set in one region, and that say in others how long a loop is or where it works; and the like of them that threads may begin with.
#include <cstdio>
#include <omp.h>

static int steps, own_steps, given_steps, copied, me, cursor, kept = 100;
static unsigned long seed, counted;
static double pace;
#pragma omp threadprivate(steps, own_steps, given_steps, copied, me, cursor, kept, seed, counted, pace)
static thread_local struct { long seen; int low, high; } part;
static double total, table[1000];

static void choose(int *where, int what) { *where = what; }

__attribute__((noinline)) static void set()
{
#pragma omp parallel
    {
        int number = omp_get_thread_num();
        steps = own_steps = copied = 1000;
        choose(&given_steps, 1000);
        me = number;
        cursor = 10 * number;
        kept = 100;
        seed = 17 + 3 * static_cast<unsigned long>(number);
        counted = static_cast<unsigned long>(number);
        pace = 0.5;
        part.low = 100 * (number % 10);
        part.high = part.low + 100;
    }
}

#define REGION(name, body)                              \
    __attribute__((noinline)) static void name()        \
    {                                                   \
        _Pragma("omp parallel reduction(+ : total)")    \
        { body }                                        \
    }
REGION(as_many_as_steps, for (int i = 0; i < steps; i++) total += table[i % 1000];)
REGION(as_many_as_given, for (int i = 0; i < given_steps; i++) total += table[i % 1000];)
REGION(from_low_to_high, for (int i = part.low; i < part.high; i++) total += table[i] += 1;)
REGION(by_its_number, table[(me + 1) * 7] += 1; total += 1;)
REGION(by_its_pace, for (double at = 0; at < pace; at += 0.001) total += table[static_cast<int>(at * 1000)];)
REGION(sets_it_first, own_steps = 2000; for (int i = 0; i < own_steps; i++) total += table[i % 1000];)
REGION(has_it_set, choose(&own_steps, 2000); for (int i = 0; i < own_steps; i++) total += table[i % 1000];)
REGION(moves_its_cursor, for (int i = 0; i < 1000; i++) { total += table[cursor]; cursor = cursor < 999 ? cursor + 1 : 0; })
REGION(as_it_begins, for (int i = 0; i < kept; i++) total += table[i];)
REGION(draws, for (int i = 0; i < 1000; i++) { seed = seed * 6364136223846793005ul + 1442695040888963407ul; total += table[(seed >> 33) % 1000]; })
REGION(counts, for (int i = 0; i < 1000; i++) { counted++; total += table[i]; })

__attribute__((noinline)) static void gets_a_copy()
{
#pragma omp parallel copyin(copied) reduction(+ : total)
    for (int i = 0; i < copied; i++)
        total += table[i];
}

__attribute__((noinline)) static void first_thread_alone()
{
#pragma omp parallel reduction(+ : total)
    {
#pragma omp masked
        for (int i = 0; i < steps; i++)
            total += table[i % 1000];
        total += 1;
    }
}

int main()
{
    for (double &one : table)
        one = 1;
    set();
    as_many_as_steps();
    as_many_as_given();
    from_low_to_high();
    by_its_number();
    by_its_pace();
    sets_it_first();
    has_it_set();
    moves_its_cursor();
    as_it_begins();
    draws();
    counts();
    gets_a_copy();
    first_thread_alone();
    return std::puts(total > 5000 ? "PASS" : "FAIL") < 0;
}
