// cpp_function.cpp - std::function objects made before the region and called, copied and replaced inside.
#include "check.h"
#include <functional>
#include <map>
#include <string>

static double twice(double x) { return 2 * x; }
struct adder {
    double amount[8];
    double operator()(double x) const { return x + amount[7]; }
};

int main()
{
    std::map<std::string, std::function<double(double)>> steps;
    double bias = 0.5, sum = 0;
    steps["twice"] = twice;
    steps["adder"] = adder{{0, 0, 0, 0, 0, 0, 0, 3}};
    steps["bias"] = [&bias](double x) { return x + bias; };
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 300; i++) {
        std::function<double(double)> chain = [&](double x) { return steps.at("bias")(steps.at("adder")(steps.at("twice")(x))); };
        sum += chain(i);
    }
    CHECK(sum == 2 * 44850 + 300 * 3.5);
    return 0;
}
