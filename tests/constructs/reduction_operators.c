/* reduction_operators.c - every predefined reduction. */
#include "check.h"

enum { COUNT = 257 };

int main(void)
{
    int sum = 5, difference = 5, lowest = 1000, highest = -1000;
    unsigned all = ~0u, any = 0, odd = 0;
    double product = 1;
    int every = 1, some = 0;
    int values[COUNT];
    for (int i = 0; i < COUNT; i++)
        values[i] = (i * 37) % 101;
#pragma omp parallel for reduction(+ : sum) reduction(- : difference) reduction(* : product) reduction(min : lowest) reduction(max : highest) \
    reduction(& : all) reduction(| : any) reduction(^ : odd) reduction(&& : every) reduction(|| : some)
    for (int i = 0; i < COUNT; i++) {
        sum += values[i];
        difference -= 1;
        product *= i % 2 ? 2.0 : 0.5;
        lowest = values[i] < lowest ? values[i] : lowest;
        highest = values[i] > highest ? values[i] : highest;
        all &= ~(1u << (i % 3));
        any |= 1u << (i % 5);
        odd ^= (unsigned)i;
        every = every && values[i] >= 0;
        some = some || values[i] == 100;
    }
    int wanted = 5;
    unsigned wanted_odd = 0;
    for (int i = 0; i < COUNT; i++) {
        wanted += values[i];
        wanted_odd ^= (unsigned)i;
    }
    CHECK(sum == wanted && product == 0.5 && lowest == 0 && highest == 100);
    CHECK(all == ~7u && any == 31u && odd == wanted_odd && every == 1 && some == 1);
    CHECK(difference == 5 - COUNT || difference == 5 + COUNT);
    return 0;
}
