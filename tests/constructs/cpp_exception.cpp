// cpp_exception.cpp - exceptions thrown and caught inside a region, through functions with destructors.
#include "check.h"
#include <new>
#include <stdexcept>
#include <string>

static int caught[4], unwound;

struct guard {
    ~guard()
    {
#pragma omp atomic
        unwound++;
    }
};

static void thrower(int i)
{
    guard g;
    if (i % 4 == 0)
        throw i;
    if (i % 4 == 1)
        throw std::runtime_error("number " + std::to_string(i));
    if (i % 4 == 2)
        throw std::bad_alloc();
}

int main()
{
#pragma omp parallel for
    for (int i = 0; i < 200; i++) {
        int kind = 3;
        try {
            thrower(i);
        } catch (int number) {
            kind = number == i ? 0 : -1;
        } catch (const std::runtime_error &error) {
            kind = error.what() == "number " + std::to_string(i) ? 1 : -1;
        } catch (const std::exception &) {
            kind = 2;
        }
        CHECK(kind == i % 4);
#pragma omp atomic
        caught[kind]++;
    }
    CHECK(caught[0] == 50 && caught[1] == 50 && caught[2] == 50 && caught[3] == 50 && unwound == 200);
    return 0;
}
