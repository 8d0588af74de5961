// cpp_library_new.cpp - operators new and delete that the program has in a library without bitcode alone, as those of libc++abi.
#include "check.h"
#include <stdint.h>

struct alignas(64) wide { double values[8]; };
struct node { node *next; int value; };
static node *kept[64];
static long total;

int main()
{
    for (int step = 0; step < 3; step++) {
#pragma omp parallel for reduction(+ : total) schedule(static)
        for (int i = 0; i < 64; i++) {
            kept[i] = new node{kept[i], i + step};
            int *row = new int[100];
            for (int k = 0; k < 100; k++)
                row[k] = k;
            wide *aligned = new wide;
            CHECK(reinterpret_cast<uintptr_t>(aligned) % 64 == 0);
            aligned->values[7] = row[99];
            total += static_cast<long>(aligned->values[7]) + kept[i]->value;
            delete aligned;
            delete[] row;
        }
    }
    long expected = 0;
    for (int step = 0; step < 3; step++)
        for (int i = 0; i < 64; i++)
            expected += 99 + i + step;
    CHECK(total == expected);
    for (int i = 0; i < 64; i++)
        while (node *first = kept[i]) {
            kept[i] = first->next;
            delete first;
        }
    return 0;
}
