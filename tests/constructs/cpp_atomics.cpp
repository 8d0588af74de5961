// cpp_atomics.cpp - what C++ has itself for threads, inside a region: atomics, mutexes with guards, call_once, shared pointers; range-based loops over containers.
#include "check.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

static std::mutex names_lock;
static std::once_flag once;
static std::atomic<long> total{0};
static std::atomic<int> most{0};

struct node {
    int value;
    std::shared_ptr<node> next;
};

int main()
{
    std::vector<double> values(500);
    std::iota(values.begin(), values.end(), 1.0);
    std::map<int, std::string> names;
    int made = 0;
    auto chain = std::make_shared<node>(node{1, nullptr});
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for
        for (double &value : values) {
            value *= 2;
            total.fetch_add(static_cast<long>(value), std::memory_order_relaxed);
            int candidate = static_cast<int>(value), seen = most.load();
            while (candidate > seen && !most.compare_exchange_weak(seen, candidate)) {
            }
            std::call_once(once, [&] { made++; });
            if (candidate % 100 == 0) {
                std::lock_guard<std::mutex> guard(names_lock);
                names[candidate] = std::to_string(candidate);
            }
        }
#pragma omp parallel
#pragma omp single
        {
            std::shared_ptr<node> kept = chain;
            chain = std::make_shared<node>(node{kept->value + 1, kept});
            kept.reset();
        }
    }
    CHECK(total == 2L * 125250 + 4L * 125250 && most == 2000 && made == 1 && names.size() == 20 && names.at(2000) == "2000");
    CHECK(chain->value == 3 && chain->next->next->value == 1 && chain->next.use_count() == 1);
    return 0;
}
