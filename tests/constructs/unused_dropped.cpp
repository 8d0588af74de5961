// unused_dropped.cpp - a program whose linker drops sections that nobody uses: static variables, static objects of functions, streams.
#include "check.h"
#include <iostream>
#include <map>
#include <string>

static int used, counts[16];
int never_used[100];
int never_called() { return never_used[3] + used; }

static const std::map<std::string, int> &names()
{
    static const std::map<std::string, int> table = {{"one", 1}, {"two", 2}, {"three", 3}};
    return table;
}

int main()
{
    static long total;
    int known = (int)names().size();
#pragma omp parallel for reduction(+ : total)
    for (int i = 0; i < 1600; i++) {
        auto found = names().find(i % 2 ? "two" : "three");
        total += found->second * known;
#pragma omp atomic
        counts[i % 16]++;
    }
    used = counts[7];
#pragma omp parallel
#pragma omp single
    std::cout << "total " << total << '\n';
    CHECK(total == 12000 && used == 100);
    return 0;
}
