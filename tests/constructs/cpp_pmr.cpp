// cpp_pmr.cpp - containers that allocate from std::pmr's default resource, and from one of the program's own over it, inside a region.
#include <cstdio>
#include <memory_resource>
#include <string>
#include <vector>

struct Counting : std::pmr::memory_resource {
    std::pmr::memory_resource *below = std::pmr::new_delete_resource();
    long blocks = 0;
    void *do_allocate(std::size_t bytes, std::size_t alignment) override
    {
#pragma omp atomic
        blocks++;
        return below->allocate(bytes, alignment);
    }
    void do_deallocate(void *block, std::size_t bytes, std::size_t alignment) override { below->deallocate(block, bytes, alignment); }
    bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }
};

static Counting counting;
static std::pmr::vector<std::pmr::string> rows(64);             // from the default resource
static std::pmr::vector<std::pmr::vector<long>> counted(64, &counting);

static long grow(int step)
{
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 64; i++) {
        rows[i].assign(static_cast<std::size_t>(40 + i + step), static_cast<char>('a' + i % 26));
        counted[i].assign(static_cast<std::size_t>(100 + 50 * step), i);
        for (long x : counted[i])
            sum += x + rows[i][7];
    }
    return sum;
}

int main()
{
    long sum = 0, wanted = 0;
    for (int step = 0; step < 6; step++) {
        sum += grow(step);
        for (int i = 0; i < 64; i++)
            wanted += (100 + 50 * step) * (i + 'a' + i % 26);
    }
    bool good = sum == wanted && counting.blocks >= 64;
    std::puts(good ? "PASS" : "FAIL");
    return !good;
}
