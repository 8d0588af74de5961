// shapes.h - classes that a library (in_library_shapes.cpp) and a program (cpp_library.cpp) share.
#ifndef TESTS_CONSTRUCTS_SHAPES_H
#define TESTS_CONSTRUCTS_SHAPES_H
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct ShapeError : std::runtime_error {
  int Number;
  ShapeError(const std::string &What, int Number) : std::runtime_error(What), Number(Number) {}
};

struct Shape {
  virtual ~Shape();
  virtual double area() const = 0;
  virtual double scaled(double Factor) const { return area() * Factor; }
};

struct Square : Shape {
  double Side;
  explicit Square(double Side) : Side(Side) {}
  double area() const override;
};

std::unique_ptr<Shape> makeShape(int Kind, double Size);
double totalArea(const std::vector<std::unique_ptr<Shape>> &Shapes);
double checkedArea(const Shape &S);
inline int &sharedCounter() {
  static int Counter = 0;
  return Counter;
}
#endif
