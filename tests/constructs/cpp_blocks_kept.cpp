// cpp_blocks_kept.cpp - containers that a region fills, with blocks in blocks: what they hold afterwards is part of its result.
#include "check.h"
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

struct shape {
    int number = 0;
    virtual double area() const = 0;
    virtual ~shape() = default;
};
struct square : shape {
    double side;
    explicit square(double length) : side(length) {}
    double area() const override { return side * side; }
};
struct disc : shape {
    double radius;
    std::string name = "a disc whose name is long enough for a block of its own";
    explicit disc(double length) : radius(length) {}
    double area() const override { return 3 * radius * radius; }
};
struct tree { std::unique_ptr<tree> left, right; long weight = 0; };

static std::vector<std::unique_ptr<shape>> shapes;
static std::map<int, std::string> names;
static std::unordered_map<std::string, double> table;
static std::vector<std::shared_ptr<std::string>> texts;
static std::deque<std::function<double(double)>> calls;
static std::unique_ptr<tree> root;

static std::unique_ptr<tree> grow(int depth, long weight)
{
    auto made = std::make_unique<tree>();
    made->weight = weight;
    if (depth > 0) {
#pragma omp task shared(made)
        made->left = grow(depth - 1, 2 * weight);
#pragma omp task shared(made)
        made->right = grow(depth - 1, 2 * weight + 1);
#pragma omp taskwait
    }
    return made;
}

int main()
{
    std::vector<std::vector<double>> grid;
    for (int step = 0; step < 3; step++) {
        texts.assign(20, nullptr);
        grid.assign(40, {});
#pragma omp parallel
        {
#pragma omp single
            {
                for (int i = 0; i < 40; i++) {
                    shapes.push_back(i % 2 ? std::unique_ptr<shape>(new square(i)) : std::unique_ptr<shape>(new disc(i)));
                    names[i + 40 * step] = "number " + std::to_string(i) + " of many that are rather long";
                    table["key " + std::to_string(i)] += i;
                }
                root = grow(6, 1);
                auto both = std::make_shared<std::string>(100, 'x');
                calls.push_back([both, step](double value) { return value * step + static_cast<double>(both->size()); });
            }
#pragma omp for
            for (int i = 0; i < 20; i++)
                texts[static_cast<std::size_t>(i)] = std::make_shared<std::string>(static_cast<std::size_t>(3 * i), static_cast<char>('a' + i));
#pragma omp for
            for (std::size_t i = 0; i < 40; i++)
                for (std::size_t j = 0; j < 10 + i; j++)
                    grid[i].push_back(static_cast<double>(i) + 0.25 * static_cast<double>(j));
        }
    }
    CHECK(shapes.size() == 120 && shapes[119]->area() == 39 * 39 && names.size() == 120 && table.at("key 7") == 21 && root->left->right->weight == 5);
    CHECK(texts[19]->size() == 57 && calls[2](2) == 104 && grid[3][4] == 4);
    return 0;
}
