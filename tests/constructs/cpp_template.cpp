// cpp_template.cpp - one region in a template, instantiated for several types: as many regions.
#include "check.h"
#include <complex>
#include <vector>

template <class number, int unroll> static number dot(const std::vector<number> &a, const std::vector<number> &b)
{
    number sum{};
#pragma omp parallel
    {
        number own{};
#pragma omp for nowait
        for (std::size_t i = 0; i < a.size() / unroll; i++)
            for (std::size_t j = 0; j < unroll; j++)
                own += a[i * unroll + j] * b[i * unroll + j];
#pragma omp critical
        sum += own;
    }
    return sum;
}

int main()
{
    std::vector<int> i(120, 2);
    std::vector<float> f(120, 0.5f);
    std::vector<std::complex<double>> c(120, {0, 1});
    CHECK((dot<int, 4>(i, i) == 480));
    CHECK((dot<float, 2>(f, f) == 30));
    CHECK((dot<std::complex<double>, 3>(c, c) == std::complex<double>(-120, 0)));
    CHECK((dot<int, 5>(i, i) == 480));
    return 0;
}
