// cpp_static_runtime.cpp - a program that has the C++ library and its unwinder in itself: exceptions and streams inside a region.
#include "check.h"
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

static long digits;

static int parsed(const std::string &text)
{
    std::istringstream stream(text);
    int number = 0;
    if (!(stream >> number))
        throw std::invalid_argument("'" + text + "' is no number");
    return number;
}

int main()
{
    long sum = 0, refused = 0;
#pragma omp parallel for reduction(+ : sum, refused)
    for (int i = 0; i < 300; i++) {
        try {
            sum += parsed(i % 3 ? std::to_string(i) : "x" + std::to_string(i));
        } catch (const std::exception &error) {
            refused += std::string(error.what()) == "'x" + std::to_string(i) + "' is no number";
        }
    }
    digits = sum;
    CHECK(refused == 100 && digits == 30000);
    std::cout << digits << std::endl;
    return 0;
}
