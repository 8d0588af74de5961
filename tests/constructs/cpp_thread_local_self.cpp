// cpp_thread_local_self.cpp - thread_local objects that keep addresses of themselves (lists, maps, hash tables, short strings), and pointers to thread-local variables on the heap.
#include "check.h"

#include <list>
#include <map>
#include <omp.h>
#include <string>
#include <unordered_map>

static thread_local std::unordered_map<int, long> squares;
static thread_local std::map<int, long> sorted;
static thread_local std::list<int> recent;
static thread_local std::string label = "short";
static thread_local long calls;
struct worker { long *calls; std::string *label; };
static worker workers[64];

static long square(int number)
{
    auto [at, fresh] = squares.try_emplace(number, 0);
    if (fresh) {
        at->second = static_cast<long>(number) * number;
        sorted[number] = at->second;
        recent.push_front(number);
        if (recent.size() > 5)
            recent.pop_back();
        label += static_cast<char>('a' + number % 7);
        if (label.size() > 12)
            label.erase(0, 6);
    }
    calls++;
    return at->second;
}

int main()
{
    const int numbers = 600;
    long total = 0;
    for (int step = 0; step < 6; step++) {
#pragma omp parallel reduction(+ : total)
        {
            const std::size_t thread = static_cast<std::size_t>(omp_get_thread_num());
            if (thread < sizeof workers / sizeof *workers) {
                if (!workers[thread].calls)
                    workers[thread] = {&calls, &label};
                if (step < 3 || omp_get_num_threads() == 1)      // a replay with more threads has some that were not there
                    CHECK(workers[thread].calls == &calls && workers[thread].label->c_str() == label.c_str());
            }
#pragma omp for schedule(static)
            for (int i = 0; i < numbers; i++) {
                const int number = i * 7 % (100 + 50 * step);
                total += square(number);
                CHECK(square(number) == static_cast<long>(number) * number);
            }
            std::size_t counted = 0;
            for (const auto &entry : sorted) {
                CHECK(squares.at(entry.first) == entry.second);
                counted++;
            }
            CHECK(counted == squares.size() && recent.size() <= 5);
            for (int number : recent)
                CHECK(sorted.count(number));
        }
    }
    long expected = 0;
    for (int step = 0; step < 6; step++)
        for (int i = 0; i < numbers; i++) {
            const long number = i * 7 % (100 + 50 * step);
            expected += number * number;
        }
    CHECK(total == expected);
    return 0;
}
