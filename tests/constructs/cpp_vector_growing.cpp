// cpp_vector_growing.cpp - vectors, strings and maps that were made before the region grow inside it.
#include "check.h"
#include <algorithm>
#include <map>
#include <string>
#include <vector>

int main()
{
    std::vector<int> found(3, -1);
    std::vector<std::vector<int>> rows(50);
    std::map<int, std::string> names{{-1, "before"}};
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for
        for (int i = 0; i < 50; i++) {
            for (int j = 0; j < 20; j++)
                rows[static_cast<std::size_t>(i)].push_back(i * j + step);
#pragma omp critical
            {
                found.push_back(i);
                names[i + 50 * step] = "a string that lies on the heap, number " + std::to_string(i);
            }
        }
    }
    std::sort(found.begin(), found.end());
    CHECK(found.size() == 103 && found[2] == -1 && found[102] == 49 && names.size() == 101 && names.at(99).back() == '9');
    for (std::size_t i = 0; i < 50; i++)
        CHECK(rows[i].size() == 40 && rows[i][39] == static_cast<int>(i) * 19 + 1);
    return 0;
}
