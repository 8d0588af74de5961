// cpp_files_inside.cpp - streams of files: one is opened, read and closed inside a region, one was opened before it and is read on; a string stream parses what came.
#include "check.h"
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

int main()
{
    const std::string name = std::string(__FILE__);
    std::vector<std::string> first(8);
    std::vector<double> values(8);
#pragma omp parallel for
    for (int i = 0; i < 8; i++) {
        std::ifstream file(name);
        CHECK(file.is_open());
        for (int line = 0; line <= i; line++)
            std::getline(file, first[i]);
        std::istringstream words("7.5 " + std::to_string(i));
        double value, number;
        CHECK(static_cast<bool>(words >> value >> number));
        values[i] = value * number;
    }
    CHECK(first[0].rfind("// cpp_files_inside.cpp", 0) == 0 && first[1] == "#include \"check.h\"" && values[7] == 52.5);

    std::ifstream open(name);
    std::string line, last;
    std::getline(open, line);
    int lines = 0;
    for (int step = 0; step < 2; step++) {
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < 3 && std::getline(open, last); i++)
            lines++;
    }
    CHECK(lines == 6 && last.empty());
}
