// cpp_class.cpp - regions in member functions, over members and a static member; private objects are constructed and destroyed.
#include "check.h"
#include <atomic>
#include <vector>

static std::atomic<int> alive;

struct probe {
    int tag = 1;
    probe() { alive++; }
    probe(const probe &other) : tag(other.tag) { alive++; }
    ~probe() { alive--; }
};

class field {
    std::vector<double> cells;
    double factor;
    static long updates;

public:
    field(std::size_t count, double f) : cells(count, 1.0), factor(f) {}
    void update()
    {
#pragma omp parallel for
        for (std::size_t i = 0; i < cells.size(); i++) {
            cells[i] = cells[i] * factor + static_cast<double>(i);
#pragma omp atomic
            updates++;
        }
    }
    double sum() const
    {
        double total = 0;
        probe p;
        p.tag = 5;
#pragma omp parallel for reduction(+ : total) firstprivate(p)
        for (std::size_t i = 0; i < cells.size(); i++)
            total += cells[i] + (p.tag - 5);
        return total;
    }
    static long count() { return updates; }
};
long field::updates = 0;

int main()
{
    field f(500, 2);
    f.update();
    f.update();
    CHECK(f.sum() == 500 * 4 + 3 * 124750.0);
    CHECK(field::count() == 1000 && alive == 0);
    return 0;
}
