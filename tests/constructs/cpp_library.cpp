// cpp_library.cpp - a class hierarchy across a library (in_library_shapes.cpp): virtual calls and exceptions in both directions.
#include "check.h"
#include "shapes.h"

namespace {
struct Hole : Shape {
  double area() const override { return -4; }
  double scaled(double Factor) const override {
    if (Factor == 2)
      throw 3;
    return Factor;
  }
};
} // namespace

int main() {
  std::vector<std::unique_ptr<Shape>> Shapes;
  for (int I = 0; I < 40; I++)
    Shapes.push_back(makeShape(I, I));
  CHECK(totalArea(Shapes) == 2 * (9880.0 + 400.0));
  Shapes.push_back(makeShape(1, 2000));
  Shapes.push_back(std::make_unique<Hole>());
  CHECK(totalArea(Shapes) == 2 * (9880.0 + 400.0) - 2003);
  double Sum = 0;
  int Caught = 0;
#pragma omp parallel for reduction(+ : Sum, Caught)
  for (size_t I = 0; I < Shapes.size(); I++) {
    try {
      Sum += checkedArea(*Shapes[I]) * (dynamic_cast<Square *>(Shapes[I].get()) ? 1 : 0);
    } catch (const ShapeError &) {
      Caught++;
    }
  }
  CHECK(Sum == 9880 && Caught == 2 && sharedCounter() == 41);
  return 0;
}
