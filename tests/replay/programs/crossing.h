/* crossing.h - what crossing.cpp, crossing_first.cpp and crossing_second.cpp, a program and two libraries, have of each other. */
#include <stdexcept>

struct Shape { virtual ~Shape() {} virtual double area() const = 0; };
struct Square : Shape { double side; explicit Square(double s) : side(s) {} double area() const override; };
using Callback = double (*)(double);

extern thread_local int firstCalls;
extern long programSeen;
double firstSum(int n, const Shape *const *shapes, Callback call);
double firstChecked(double x);
Callback firstChoose(int i);
double secondTwice(double x);
double secondNested(int n);
