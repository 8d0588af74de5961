// vectors.cpp - what a thread writes under its number, inside the containers of C++.
#include <array>
#include <cstdio>
#include <memory>
#include <omp.h>
#include <vector>

namespace flow {
int steps;
struct base { virtual ~base() = default; double level = 0; };
struct cell : base { std::vector<double> moments = std::vector<double>(4); std::array<int, 3> owner{}; };
template <class Real> struct field {
    std::vector<cell> cells = std::vector<cell>(6);
    std::vector<Real> values = std::vector<Real>(10);
    std::unique_ptr<Real[]> scratch = std::make_unique<Real[]>(10);
    void advance()
    {
#pragma omp parallel
        {
            int thread = omp_get_thread_num(), threads = omp_get_num_threads();
            for (int i = thread; i < 6; i += threads) {
                cells[i].moments[2] = thread;
                cells[i].owner[1] = thread;
                cells[i].level = thread;
            }
            for (int i = thread; i < 10; i += threads)
                values[i] = scratch[i] = Real(thread);
#pragma omp single
            steps = threads;
        }
    }
};
}

int main()
{
    flow::field<double> field;
    auto heap = std::make_unique<flow::field<float>>();
    field.advance();
    heap->advance();
    std::puts(field.values.size() == heap->values.size() ? "PASS" : "FAIL");
}
