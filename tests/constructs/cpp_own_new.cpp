// cpp_own_new.cpp - operators new and delete of the program's own, global and of a class, with lists of free blocks in each thread.
#include "check.h"
#include <atomic>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace {
struct Block { Block *next; std::size_t slot; };
alignas(64) char area[16 << 20];
std::atomic<std::size_t> used;
std::atomic<long> live;
thread_local Block *available[32];

void *take(std::size_t bytes)
{
    std::size_t slot = 5;
    while ((std::size_t{1} << slot) < bytes + sizeof(Block))
        slot++;
    Block *block = available[slot];
    if (block) {
        available[slot] = block->next;
    } else {
        std::size_t at = used.fetch_add(std::size_t{1} << slot);
        if (at + (std::size_t{1} << slot) > sizeof area)
            throw std::bad_alloc();
        block = reinterpret_cast<Block *>(area + at);
    }
    live++;
    *block = {nullptr, slot};
    return block + 1;
}
void give(void *start) noexcept
{
    if (!start) return;
    Block *block = static_cast<Block *>(start) - 1;
    block->next = available[block->slot];
    available[block->slot] = block;
    live--;
}
struct Tree {
    static std::atomic<int> count;
    static void *operator new(std::size_t bytes) { count++; return ::operator new(bytes); }
    static void operator delete(void *start) { count--; ::operator delete(start); }
    double value;
    std::unique_ptr<Tree> sides[2];
    explicit Tree(double v) : value(v) {}
    void insert(double v) { auto &side = sides[v < value]; if (side) side->insert(v); else side.reset(new Tree(v)); }
    double sum() const { return value + (sides[0] ? sides[0]->sum() : 0) + (sides[1] ? sides[1]->sum() : 0); }
};
std::atomic<int> Tree::count;
}
void *operator new(std::size_t bytes) { return take(bytes); }
void *operator new[](std::size_t bytes) { return take(bytes); }
void operator delete(void *start) noexcept { give(start); }
void operator delete[](void *start) noexcept { give(start); }
void operator delete(void *start, std::size_t) noexcept { give(start); }
void operator delete[](void *start, std::size_t) noexcept { give(start); }

int main()
{
    std::vector<std::unique_ptr<Tree>> trees(6);
    std::vector<std::string> names(6);
    for (int step = 0; step < 3; step++) {
#pragma omp parallel for
        for (int t = 0; t < 6; t++) {
            if (!trees[t]) trees[t].reset(new Tree(0.5));
            std::map<int, double> seen;
            for (int k = 0; k < 40; k++)
                trees[t]->insert(seen[k * 7 % 40] = (k * 37 + t + step * 11) % 101 / 101.0);
            names[t] += " step " + std::to_string(step) + " with a text that needs a block";
            CHECK(seen.size() == 40 && trees[t]->sum() > 0);
        }
    }
    CHECK(Tree::count == 6 * (1 + 3 * 40));
    trees.clear();
    CHECK(Tree::count == 0 && live > 0);
}
