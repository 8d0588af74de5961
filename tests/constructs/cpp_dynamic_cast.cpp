// cpp_dynamic_cast.cpp - types of captured objects: asked for, cast to, caught; of classes that nobody derives from, or that only this unit has.
#include "check.h"

#include <memory>
#include <typeindex>
#include <typeinfo>
#include <vector>

struct node {
    virtual ~node() = default;
    virtual double area() const = 0;
};
struct placed {
    virtual ~placed() = default;
    int at = 1;
};
struct sphere final : node, placed {
    double radius = 2;
    double area() const override { return radius * radius; }
};

namespace {
struct box : node {
    double side = 3;
    double area() const override { return side * side; }
};
struct crate : virtual box, placed {};
struct refused {
    const node *which;
};
} // namespace

static double side(const node &one) { return dynamic_cast<const box &>(one).side; }

int main()
{
    std::vector<std::unique_ptr<node>> all;
    for (int i = 0; i < 90; i++)
        if (i % 3 == 0)
            all.push_back(std::make_unique<sphere>());
        else if (i % 3 == 1)
            all.push_back(std::make_unique<box>());
        else
            all.push_back(std::make_unique<crate>());
    const std::type_index kind = typeid(crate);
    int spheres = 0, boxes = 0, crates = 0, wrong = 0, thrown = 0, elsewhere = 0;
#pragma omp parallel for reduction(+ : spheres, boxes, crates, wrong, thrown, elsewhere)
    for (int i = 0; i < 90; i++) {
        node *one = all[i].get();
        if (auto *ball = dynamic_cast<sphere *>(one))
            spheres += ball->radius++ > 0;
        boxes += dynamic_cast<box *>(one) != nullptr;
        crates += std::type_index(typeid(*one)) == kind;
        if (auto *other = dynamic_cast<placed *>(one))
            elsewhere += other->at++;
        try {
            if (side(*one) > 2 && typeid(*one) == typeid(box))
                throw refused{one};
        } catch (const std::bad_cast &) {
            wrong++;
        } catch (const refused &why) {
            thrown += why.which == one;
        }
    }
    CHECK(spheres == 30 && boxes == 60 && crates == 30 && wrong == 30 && thrown == 30 && elsewhere == 60);
    return 0;
}
