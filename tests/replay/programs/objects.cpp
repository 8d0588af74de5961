// objects.cpp - C++: virtual functions, containers, lambdas, exceptions inside a region, static members, templates.
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
    static int count;
};
int Shape::count = 0;
struct Square : Shape {
    double side;
    explicit Square(double s) : side(s) { count++; }
    double area() const override { return side * side; }
};
struct Disc : Shape {
    double radius;
    explicit Disc(double r) : radius(r) { count++; }
    double area() const override { return 3.25 * radius * radius; }
};

template <typename T> static T total(const std::vector<T> &values)
{
    T sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (std::size_t i = 0; i < values.size(); i++)
        sum += values[i];
    return sum;
}

int main()
{
    std::vector<std::unique_ptr<Shape>> shapes;
    std::map<std::string, int> names;
    std::vector<double> areas(40);
    double sum = 0;
    for (int i = 0; i < 40; i++) {
        if (i % 2)
            shapes.emplace_back(new Square(i));
        else
            shapes.emplace_back(new Disc(i));
        names["name" + std::to_string(i)] = i;
    }
    for (int step = 0; step < 4; step++) {
        int caught = 0;
        auto scale = [&](double x) { return x * (step + 1); };
#pragma omp parallel for
        for (int i = 0; i < 40; i++)
            areas[i] = scale(shapes[i]->area()) + names.at("name" + std::to_string(i));
#pragma omp parallel for reduction(+ : caught)
        for (int i = 0; i < 10; i++) {
            try {
                if (i % 3 == 0)
                    throw std::runtime_error("three");
            } catch (const std::exception &e) {
                caught += e.what()[0] == 't';
            }
        }
        sum += total(areas) + caught;
        std::vector<long> numbers(100);
        std::iota(numbers.begin(), numbers.end(), step);
        sum += double(total(numbers));
    }
    std::printf("PASS %g %d\n", sum, Shape::count);
    return 0;
}
