// cpp_standard_streams.cpp - std::cin and std::cout inside regions, in the middle of what they read, and of what waits to be written.
#include "check.h"
#include <iostream>
#include <string>

static int lines;
static std::string words[6];

int main()
{
    CHECK(freopen(__FILE__, "r", stdin));
    std::string word;
    std::cin >> word;
    std::cout << "a line that waits" << '\n';
    for (int step = 0; step < 2; step++) {
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < 3; i++) {
            CHECK(static_cast<bool>(std::cin >> words[3 * step + i]));
            std::cout << words[3 * step + i] << '\n';
            lines++;
        }
    }
    CHECK(word == "//" && lines == 6 && words[0] == "cpp_standard_streams.cpp" && words[2] == "std::cin" && words[5] == "inside");
    std::cout << "done" << std::endl;
}
