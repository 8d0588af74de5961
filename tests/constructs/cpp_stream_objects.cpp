// cpp_stream_objects.cpp - streams that were there before a region: a reference to std::cout in an object of the program's, a string stream, a locale with
// the program's own facet; all point to data of the C++ library that has no name.
#include "check.h"
#include <iostream>
#include <locale>
#include <sstream>
#include <string>

namespace {
struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
};
struct Logger {
    std::ostream &out;
    int lines;
    void say(int i) { out << "line " << i << ' ' << 1.5 * i << std::endl; lines++; }
};
}

int main()
{
    Logger *logger = new Logger{std::cout, 0};
    std::ostringstream text, numbers;
    std::istringstream words("1 2.5 3 4.25 5 6.75");
    numbers.imbue(std::locale(std::locale::classic(), new Comma));
    double sum = 0;
    text << "start ";
    for (int step = 0; step < 2; step++) {
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < 3; i++)
            logger->say(i);
#pragma omp parallel for ordered
        for (int i = 0; i < 3; i++) {
            double value = 0;
#pragma omp ordered
            {
                text << i * 0.25 << ' ' << std::hex << i + 30 << std::dec << ',';
                numbers << i + 0.5 << ';';
                CHECK(static_cast<bool>(words >> value));
                sum += value;
            }
        }
    }
    CHECK(logger->lines == 6 && sum == 22.5 && numbers.str() == "0,5;1,5;2,5;0,5;1,5;2,5;");
    CHECK(text.str() == "start 0 1e,0.25 1f,0.5 20,0 1e,0.25 1f,0.5 20,");
    delete logger;
}
