// cpp_static_local.cpp - a static local that is initialised by the first thread to come, inside a region; one that was before.
#include "check.h"
#include <string>
#include <vector>

static int made;

static const std::vector<int> &table()
{
    static const std::vector<int> values = [] {
        made++;
        std::vector<int> v(100);
        for (int i = 0; i < 100; i++)
            v[static_cast<std::size_t>(i)] = i * i;
        return v;
    }();
    return values;
}

static const std::string &name(int n)
{
    static std::string text = "a name that is too long for the short form " + std::to_string(n);
    return text;
}

int main()
{
    long sum = 0;
    name(5);
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 100; i++)
            sum += table()[static_cast<std::size_t>(i)] + (name(i).back() == '5');
    }
    CHECK(made == 1 && sum == 2 * (328350 + 100));
    return 0;
}
