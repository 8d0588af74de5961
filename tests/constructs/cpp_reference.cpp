// cpp_reference.cpp - references captured, made private, reduced over, and kept inside objects.
#include "check.h"
#include <array>

struct view {
    std::array<int, 400> &cells;
    const int &offset;
};

static void add(int &total, const int (&values)[400], view where, int &&moved)
{
    int &alias = total;
    int &start = moved;
#pragma omp parallel for reduction(+ : alias) firstprivate(start)
    for (int i = 0; i < 400; i++) {
        alias += values[i] + start;
        where.cells[static_cast<std::size_t>(i)] = values[i] + where.offset;
    }
}

int main()
{
    int values[400], total = 0, offset = 3;
    std::array<int, 400> cells{};
    for (int i = 0; i < 400; i++)
        values[i] = i;
    add(total, values, view{cells, offset}, 2);
    offset = 4;
    add(total, values, view{cells, offset}, 0);
    CHECK(total == 2 * 79800 + 800 && cells[399] == 403);
    return 0;
}
