// cpp_streams.cpp - the C++ library's streams inside regions.
#include "check.h"
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>

int main()
{
    long length = 0;
#pragma omp parallel
    {
#pragma omp masked
        std::cout << std::setw(8) << std::fixed << std::setprecision(2) << 3.14159 << std::endl;
#pragma omp for reduction(+ : length)
        for (int i = 0; i < 100; i++) {
            std::ostringstream text;
            text << std::hex << std::showbase << i << '|' << 0.5 * i;
            length += (long)text.str().size();
        }
#pragma omp critical
        std::clog << "a thread is through\n";
    }
    CHECK(length == 762);
    return 0;
}
