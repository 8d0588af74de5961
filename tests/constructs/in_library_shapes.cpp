// in_library_shapes.cpp - a class hierarchy, a region over virtual calls, and exceptions that leave the library.
#include "shapes.h"

Shape::~Shape() = default;
double Square::area() const { return Side * Side; }

namespace {
struct Strip : Shape {
  double Length;
  explicit Strip(double Length) : Length(Length) {}
  double area() const override {
    if (Length > 1000)
      throw ShapeError("too long", static_cast<int>(Length));
    return Length;
  }
};
} // namespace

std::unique_ptr<Shape> makeShape(int Kind, double Size) {
  sharedCounter()++;
  if (Kind % 2)
    return std::make_unique<Strip>(Size);
  return std::make_unique<Square>(Size);
}

double totalArea(const std::vector<std::unique_ptr<Shape>> &Shapes) {
  double Sum = 0;
  int Failed = 0;
#pragma omp parallel for reduction(+ : Sum, Failed)
  for (size_t I = 0; I < Shapes.size(); I++) {
    try {
      Sum += Shapes[I]->scaled(2);
    } catch (const ShapeError &E) {
      Failed += E.Number;
    } catch (int Number) {
      Failed += Number;
    }
  }
  return Sum - Failed;
}

double checkedArea(const Shape &S) {
  double Area = S.area();
  if (Area < 0)
    throw ShapeError("negative", -1);
  return Area;
}
