/* Objects that are reached by pointers to their base classes: nodes of the library's containers, shapes. What a derived class adds lies behind the base class's members, or in
 * its padding. */
#include <cstdio>
#include <list>
#include <map>
#include <omp.h>
#include <unordered_map>

struct Shape {
    virtual ~Shape() = default;
    double area = 0;
    int corners = 4;
};

struct Square : Shape {
    int owner = 0;                        /* in the padding of Shape */
    double moments[3] = {};
};

static std::map<int, double> tree;
static std::list<double> chain;
static std::unordered_map<int, double> table;
static Shape *shape = new Square;
Square square;

/* The sum of two threads is another one than one thread's, by rounding, and always the same. */
static void sums()
{
    double sum = 0;
#pragma omp parallel
    {
#pragma omp for reduction(+ : sum)
        for (int i = 0; i < 2000; i++)
            sum += 1.0 / (1 + i);
#pragma omp single
        {
            tree[3] = table[3] = chain.front() = sum;
            static_cast<Square *>(shape)->moments[1] = sum;
        }
    }
}

static void owners()
{
#pragma omp parallel
#pragma omp single
    static_cast<Square *>(shape)->owner = square.owner = 100 * omp_get_num_threads();
}

int main()
{
    for (int i = 0; i < 6; i++)
        tree[i] = table[i] = i;
    chain.push_back(1);
    sums();
    owners();
    std::printf("PASS %.17g %.17g %.17g %.17g %d %d\n", tree[3], table[3], chain.front(), static_cast<Square *>(shape)->moments[1],
                static_cast<Square *>(shape)->owner, square.owner);
    delete shape;
}
