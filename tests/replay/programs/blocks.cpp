// Regions that allocate, grow and release: blocks that stay, blocks that go, of every allocation function and in many sizes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <malloc.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};
struct Square final : Shape {
    double side;
    explicit Square(double side) : side(side) {}
    double area() const override { return side * side; }
};

static std::vector<std::unique_ptr<Shape>> shapes(40);
static std::map<int, std::string> names;
static std::list<std::vector<int>> lists;
static char *blocks[8];
static size_t usable;

static void grow(int step)
{
#pragma omp parallel for
    for (int i = 0; i < 40; i++)
        shapes[i] = std::make_unique<Square>(i + step);
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 50; i++)
            names[(i * 37 + step) % 60] = "the name of number " + std::to_string(i * step);
        names.erase(step);
        lists.emplace_back(100 + step, step);
        if (lists.size() > 2)
            lists.pop_front();
    }
#pragma omp parallel for
    for (int i = 0; i < 8; i++) {
        size_t bytes = (size_t)1 << (3 * i);
        blocks[i] = static_cast<char *>(std::realloc(blocks[i], bytes + 64 * (size_t)step));
        std::memset(blocks[i], i, bytes);
        void *aligned = nullptr;
        if (posix_memalign(&aligned, 256, bytes) == 0)
            std::memset(aligned, i, bytes);
        int *zeros = static_cast<int *>(std::calloc(bytes, sizeof(int)));
        if (!aligned || reinterpret_cast<std::uintptr_t>(aligned) % 256 || zeros[bytes - 1] != 0 || malloc_usable_size(zeros) < bytes)
            std::abort();
        std::free(aligned);
        std::free(zeros);
    }
#pragma omp parallel for reduction(+ : usable)
    for (int i = 0; i < 1000; i++) {
        std::vector<double> temporary;
        for (int j = 0; j <= i % 50; j++)
            temporary.push_back(j);
        usable += temporary.size();
    }
}

int main()
{
    double area = 0;
    for (int step = 1; step <= 5; step++) {
        grow(step);
        for (const auto &shape : shapes)
            area += shape->area();
    }
    size_t letters = 0;
    for (const auto &entry : names)
        letters += entry.second.size();
    bool right = usable == 5 * 25500 && lists.size() == 2 && lists.back()[104] == 5 && blocks[7][100] == 7 && area > 0 && letters > 0;
    std::printf("%s %g %zu\n", right ? "PASS" : "FAIL", area, letters);
    for (char *block : blocks)
        std::free(block);
    return right ? 0 : 1;
}
