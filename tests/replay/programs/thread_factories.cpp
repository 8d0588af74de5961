// thread_factories.cpp - objects that a program makes by functions which it keeps by their names, as styles of a simulation.
#include <cstdio>
#include <map>
#include <memory>
#include <omp.h>
#include <string>

enum { N = 20000 };
static double data[N];

struct Settings { int threads = 0; };

struct Program {                       // each object has references to its parts
    Settings *settings;
};

struct Parts {
    Settings *&settings;
    explicit Parts(Program *of) : settings(of->settings) {}
    virtual ~Parts() = default;
};

struct Report : Parts {                // its table has another function where that of a style has compute()
    using Parts::Parts;
    virtual void print(int step) { std::printf("%d %g\n", step, data[0]); }
};

struct Style : Parts {
    using Parts::Parts;
    virtual void compute(int step) = 0;
};

// ---- a division of the work for the threads from before the region ------------------------------------------------------------------

struct Divided : Style {
    using Style::Style;
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

struct Plain : Style {
    using Style::Style;
    void compute(int step) override;
};

void Plain::compute(int step)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        data[i] += step;
}

template <class T> static Style *make(Program *of) { return new T(of); }

class Styles {
    std::map<std::string, Style *(*)(Program *)> makers;

public:
    Styles()
    {
        makers["divided"] = make<Divided>;
        makers["plain"] = make<Plain>;
    }
    std::unique_ptr<Style> made(const std::string &name, Program *of) { return std::unique_ptr<Style>(makers.at(name)(of)); }
};

int main(int argc, char **argv)
{
    auto *program = new Program{new Settings};
    program->settings->threads = omp_get_max_threads();
    Styles styles;
    Report report(program);
    Report *tells = argc > 2 ? nullptr : &report;
    for (const char *name : {"divided", "plain"}) {
        std::unique_ptr<Style> style = styles.made(argc > 1 ? argv[1] : name, program);
        for (int step = 1; step < 4; step++)
            style->compute(step);
        if (tells)
            tells->print(1);
    }
    std::puts(data[N - 1] == data[0] && data[0] > 0 ? "PASS" : "FAIL");
    return 0;
}
