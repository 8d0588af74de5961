// thread_virtual.cpp - regions in functions that are called through objects' tables, of several classes of one base.
#include <cstdio>
#include <cstring>
#include <memory>
#include <omp.h>
#include <vector>

enum { N = 20000, PART = 500 };
static double data[N];

struct Settings { int threads; };

struct Kernel {
    Settings *&settings; // one for all
    explicit Kernel(Settings *&of) : settings(of) {}
    virtual void compute(int step) = 0;
    virtual ~Kernel() = default;
};

// ---- memory, and a division of the work, for the threads from before the region ----------------------------------------------------

struct Scattered : Kernel {
    std::vector<double *> parts;
    explicit Scattered(Settings *&of) : Kernel(of)
    {
        for (int t = 0; t < settings->threads; t++)
            parts.push_back(new double[PART]());
    }
    void compute(int step) override;
};

void Scattered::compute(int step)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        parts[static_cast<size_t>(omp_get_thread_num())][i % PART] += data[i] * step;
}

struct Divided : Kernel {
    using Kernel::Kernel;
    void compute(int step) override;
};

void Divided::compute(int step)
{
    const int threads = settings->threads;
#pragma omp parallel
    {
        int me = omp_get_thread_num(), each = (N + threads - 1) / threads, end = (me + 1) * each;
        for (int i = me * each; i < (end < N ? end : N); i++)
            data[i] += step;
    }
}

// ---- of any number ------------------------------------------------------------------------------------------------------------------

struct Plain : Kernel {
    using Kernel::Kernel;
    void compute(int step) override;
};

void Plain::compute(int step)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        data[i] = data[i] * 0.5 + step;
}

static std::unique_ptr<Kernel> made(const char *name, Settings *&settings)
{
    if (!strcmp(name, "scattered"))
        return std::make_unique<Scattered>(settings);
    if (!strcmp(name, "divided"))
        return std::make_unique<Divided>(settings);
    return std::make_unique<Plain>(settings);
}

int main(int argc, char **argv)
{
    Settings *settings = new Settings{omp_get_max_threads()};
    std::vector<std::unique_ptr<Kernel>> kernels;
    for (const char *name : {"scattered", "divided", "plain"})
        kernels.push_back(made(argc > 1 ? argv[1] : name, settings));
    for (int step = 0; step < 3; step++)
        for (auto &kernel : kernels)
            kernel->compute(step);
    puts(data[N - 1] == data[0] && data[0] > 0 ? "PASS" : "FAIL");
    return 0;
}
