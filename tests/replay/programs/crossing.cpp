// A program whose region calls two libraries, one of which calls it back: variables of threads, tables and exceptions on both sides.
#include "crossing.h"

#include <cstdio>
#include <vector>

long programSeen;
static int counter;
#pragma omp threadprivate(counter)

struct Circle : Shape { double radius; explicit Circle(double r) : radius(r) {} double area() const override { return 3 * radius * radius; } };
static double scaled(double x)
{
    counter++;
    return x * counter;
}

int main()
{
    Circle circle(2);
    Square square(3);
    const Shape *both[] = {&circle, &square};
    double sum = 0;
    for (int step = 0; step < 3; step++) {
        sum += firstSum(64, both, scaled);
        std::vector<double> values(32);
        int caught = 0;
#pragma omp parallel for reduction(+ : sum, caught)
        for (int i = 0; i < 32; i++) {
            counter += 2;
            try {
                values[i] = firstChecked(i % 4 - 1) + secondTwice(i % 7 - 1);
            } catch (const std::exception &) {
                caught++;
            }
            sum += values[i] + firstChoose(i)(both[i % 2]->area()) + secondNested(3) + firstCalls;
            firstCalls++;
        }
        sum += caught;
    }
    std::printf("PASS %.6f %ld\n", sum, programSeen);
}
