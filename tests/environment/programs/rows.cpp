// Vectors, strings and maps that a region reads and overwrites; each was made by whatever operator new the program has.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

int main()
{
    std::vector<std::vector<double>> rows(64);
    std::map<int, std::string> names;
    std::vector<char *> words(64);
    for (int i = 0; i < 64; i++) {
        rows[i].assign(100 + i, i);
        names[i] = std::string(50, static_cast<char>('a' + i % 26));
        words[i] = strdup("a word of the C library's");
    }
    for (int step = 0; step < 4; step++) {
#pragma omp parallel for
        for (int i = 0; i < 64; i++) {
            for (double &x : rows[i])
                x += static_cast<double>(names[i].size());
            words[i][step] = static_cast<char>('0' + step);
        }
        for (int i = 0; i < 64; i++)
            rows[i].push_back(step);
    }
    double sum = 0;
    for (const auto &row : rows)
        for (double x : row)
            sum += x;
    for (char *word : words) {
        sum += std::strlen(word);
        std::free(word);
    }
    std::printf("%s %.0f\n", sum == 1991328 ? "PASS" : "FAIL", sum);
    return sum != 1991328;
}
