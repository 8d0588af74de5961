// cpp_virtual.cpp - virtual calls, dynamic_cast and typeid on objects made before the region.
#include "check.h"
#include <memory>
#include <typeinfo>
#include <vector>

struct shape {
    virtual ~shape() = default;
    virtual double area() const = 0;
};
struct square : shape {
    double side;
    explicit square(double s) : side(s) {}
    double area() const override { return side * side; }
};
struct named { virtual int name() const { return 1; } virtual ~named() = default; };
struct box final : square, named {
    using square::square;
    double area() const override { return 2 * square::area(); }
    int name() const override { return 9; }
};

int main()
{
    std::vector<std::unique_ptr<shape>> shapes;
    for (int i = 0; i < 100; i++) {
        if (i % 2)
            shapes.push_back(std::make_unique<square>(i));
        else
            shapes.push_back(std::make_unique<box>(i));
    }
    double sum = 0;
    int names = 0, boxes = 0;
#pragma omp parallel for reduction(+ : sum, names, boxes)
    for (int i = 0; i < 100; i++) {
        const shape *s = shapes[static_cast<std::size_t>(i)].get();
        sum += s->area();
        if (auto *other = dynamic_cast<const named *>(s))
            names += other->name();
        boxes += typeid(*s) == typeid(box);
    }
    CHECK(sum == 166650 + 2 * 161700 && names == 450 && boxes == 50);
    return 0;
}
