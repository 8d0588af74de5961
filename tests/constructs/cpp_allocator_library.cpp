// cpp_allocator_library.cpp - operators new and delete of the library that is the program's allocator: what regions make of it stays, and what stood there before goes inside.
#include "check.h"
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace {
struct alignas(64) Wide { double values[8]; };
struct Tree {
    int value;
    std::unique_ptr<Tree> sides[2];
};
std::unique_ptr<Tree> grow(int depth, int value)
{
    auto tree = std::make_unique<Tree>();
    tree->value = value;
    for (int i = 0; depth && i < 2; i++)
        tree->sides[i] = grow(depth - 1, 2 * value + i);
    return tree;
}
long sum(const Tree *tree) { return tree ? tree->value + sum(tree->sides[0].get()) + sum(tree->sides[1].get()) : 0; }
}

int main()
{
    enum { COUNT = 24, STEPS = 3 };
    std::vector<std::unique_ptr<Tree>> trees(COUNT);
    std::vector<std::map<int, std::string>> names(COUNT);
    std::vector<int *> blocks(COUNT);
    long total = 0;
    for (int i = 0; i < COUNT; i++)
        trees[i] = grow(3, i);
    for (int step = 1; step <= STEPS; step++) {
#pragma omp parallel for schedule(dynamic) reduction(+ : total)
        for (int i = 0; i < COUNT; i++) {
            total += sum(trees[i].get());
            trees[i] = grow(3 + step % 2, i + step);
            names[i][step] = std::string(40, static_cast<char>('a' + step)) + std::to_string(i);
            names[i].erase(step - 1);
            std::unique_ptr<Wide> wide(new Wide);
            CHECK(reinterpret_cast<std::uintptr_t>(wide.get()) % 64 == 0);
            std::unique_ptr<int[]> scratch(new (std::nothrow) int[100]);
            scratch[99] = i;
            wide->values[0] = scratch[99];
            int *block = static_cast<int *>(std::realloc(blocks[i], sizeof(int) * static_cast<std::size_t>(10 * step)));
            for (int k = 10 * step - 10; k < 10 * step; k++)
                block[k] = k + i;
            blocks[i] = block;
            total += static_cast<long>(wide->values[0]);
        }
    }
    long expected = 0;
    for (int i = 0; i < COUNT; i++) {
        expected += sum(grow(3, i).get()) + sum(grow(4, i + 1).get()) + sum(grow(3, i + 2).get()) + STEPS * i;
        CHECK(names[i].size() == 1 && names[i][STEPS] == std::string(40, 'd') + std::to_string(i));
        for (int k = 0; k < 10 * STEPS; k++)
            CHECK(blocks[i][k] == k + i);
        std::free(blocks[i]);
    }
    CHECK(total == expected);
    return 0;
}
