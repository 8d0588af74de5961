// cpp_reduction_user.cpp - reductions that the program declares over classes: vectors, a class with a constructor and a base, complex numbers; in a template, through a reference.
#include "check.h"

#include <complex>
#include <string>
#include <vector>

using list = std::vector<int>;
#pragma omp declare reduction(append : list : omp_out.insert(omp_out.end(), omp_in.begin(), omp_in.end()))
#pragma omp declare reduction(+ : std::complex<double> : omp_out += omp_in) initializer(omp_priv = std::complex<double>(0, 0))

struct counted {
    long count = 0;
};
struct range : counted {
    double low, high;
    explicit range(double start) : low(start), high(start) {}
    void take(double x)
    {
        count++;
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    void join(const range &other)
    {
        count += other.count;
        low = other.low < low ? other.low : low;
        high = other.high > high ? other.high : high;
    }
};
#pragma omp declare reduction(join : range : omp_out.join(omp_in)) initializer(omp_priv = range(omp_orig.low))

template <typename T> static T product(const std::vector<T> &factors)
{
#pragma omp declare reduction(times : T : omp_out = omp_out * omp_in) initializer(omp_priv = T(1))
    T result(1);
#pragma omp parallel for reduction(times : result)
    for (std::size_t i = 0; i < factors.size(); i++)
        result = result * factors[i];
    return result;
}

int main()
{
    list multiples;
    std::complex<double> sum(1, 0);
    range whole(50);
    range &seen = whole;
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for reduction(append : multiples) reduction(+ : sum) reduction(join : seen) schedule(static)
        for (int i = 0; i < 1000; i++) {
            if (i % 7 == 0)
                multiples.push_back(i);
            sum += std::complex<double>(i % 3, -1);
            seen.take((i * 37) % 500);
        }
    }
    long total = 0;
    for (int value : multiples)
        total += value;
    CHECK(multiples.size() == 2 * 143 && total == 2 * 7 * 142 * 143 / 2 && sum == std::complex<double>(1 + 2 * 999, -2000));
    CHECK(whole.count == 2000 && whole.low == 0 && whole.high == 499);
    CHECK(product(std::vector<double>(20, 2.0)) == 1 << 20 && product(std::vector<int>{3, 5, 7}) == 105);
    return 0;
}
