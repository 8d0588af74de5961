// thread_dealt.cpp - regions whose threads each work on what was dealt to them before.
#include <cstdio>
#include <cstdlib>
#include <omp.h>
#include <vector>

enum { N = 4000 };
static double data[N];

static void work(int i) { data[i] += i % 7 + 1; }

// ---- all of it is done by as many threads only ------------------------------------------------------------------------------------

__attribute__((noinline)) static void dealt_to_vectors()
{
    std::vector<std::vector<int>> mine(static_cast<size_t>(omp_get_max_threads()));
    for (int i = 0; i < N; i++)
        mine[static_cast<size_t>(i) % mine.size()].push_back(i);
#pragma omp parallel
    for (int i : mine[static_cast<size_t>(omp_get_thread_num())])
        work(i);
}

__attribute__((noinline)) static void dealt_by_a_hash()
{
    int threads = omp_get_max_threads();
    std::vector<std::vector<int>> mine(static_cast<size_t>(threads));
    for (int t = 0; t < threads; t++)
        mine[static_cast<size_t>(t)].reserve(N / 2);
    for (int i = 0; i < N; i++)
        mine[static_cast<size_t>((i * 7919) % threads)].push_back(i);
#pragma omp parallel
    {
        const std::vector<int> &own = mine[static_cast<size_t>(omp_get_thread_num())];
        for (size_t k = 0; k < own.size(); k++)
            work(own[k]);
    }
}

__attribute__((noinline)) static void dealt_to_tables()
{
    int threads = omp_get_max_threads();
    int *count = static_cast<int *>(calloc(static_cast<size_t>(threads), sizeof(int)));
    int *list = static_cast<int *>(malloc(static_cast<size_t>(threads) * N * sizeof(int)));
    for (int i = 0; i < N; i++)
        list[(i % threads) * N + count[i % threads]++] = i;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        for (int k = 0; k < count[me]; k++)
            work(list[me * N + k]);
    }
    free(list);
    free(count);
}

// in turn, to the one with the least, and as a table says
__attribute__((noinline)) static void dealt_in_turn()
{
    size_t threads = static_cast<size_t>(omp_get_max_threads()), to = 0;
    std::vector<std::vector<int>> mine(threads);
    for (int i = 0; i < N; i++) {
        mine[to].push_back(i);
        if (++to == threads)
            to = 0;
    }
#pragma omp parallel
    for (int i : mine[static_cast<size_t>(omp_get_thread_num())])
        work(i);
}

__attribute__((noinline)) static void dealt_to_the_least()
{
    std::vector<std::vector<int>> mine(static_cast<size_t>(omp_get_max_threads()));
    for (int i = 0; i < N; i++) {
        size_t least = 0;
        for (size_t k = 1; k < mine.size(); k++)
            if (mine[k].size() < mine[least].size())
                least = k;
        mine[least].push_back(i);
    }
#pragma omp parallel
    for (int i : mine[static_cast<size_t>(omp_get_thread_num())])
        work(i);
}

__attribute__((noinline)) static void dealt_by_a_table(const int *owner)
{
    std::vector<std::vector<int>> mine(static_cast<size_t>(omp_get_max_threads()));
    for (int i = 0; i < N; i++)
        mine[static_cast<size_t>(owner[i])].push_back(i);
#pragma omp parallel
    {
        std::vector<int> &own = mine[static_cast<size_t>(omp_get_thread_num())];
        for (int &i : own) {
            work(i);
            i += 1;
        }
    }
}

struct Worker {
    int count;
    int items[N];
};

__attribute__((noinline)) static void dealt_to_workers()
{
    int threads = omp_get_max_threads();
    auto *workers = static_cast<Worker *>(calloc(static_cast<size_t>(threads), sizeof(Worker)));
    for (int i = 0; i < N; i++) {
        Worker &to = workers[i % threads];
        to.items[to.count++] = i;
    }
#pragma omp parallel num_threads(threads)
    {
        Worker &own = workers[omp_get_thread_num()];
        for (int k = 0; k < own.count; k++)
            work(own.items[k]);
    }
    free(workers);
}

// ---- fewer threads are enough -------------------------------------------------------------------------------------------------

__attribute__((noinline)) static void dealt_by_the_team()
{
    std::vector<std::vector<int>> mine(static_cast<size_t>(omp_get_max_threads()));
#pragma omp parallel
    {
#pragma omp single
        for (int i = 0; i < N; i++)
            mine[static_cast<size_t>(i % omp_get_num_threads())].push_back(i);
        for (int i : mine[static_cast<size_t>(omp_get_thread_num())])
            work(i);
    }
}

__attribute__((noinline)) static void lists_for_anybody()
{
    int threads = omp_get_max_threads();
    std::vector<std::vector<int>> lists(static_cast<size_t>(4 * threads));
    for (int i = 0; i < N; i++)
        lists[static_cast<size_t>(i % (4 * threads))].push_back(i);
#pragma omp parallel for schedule(dynamic)
    for (size_t t = 0; t < lists.size(); t++)
        for (int i : lists[t])
            work(i);
}

__attribute__((noinline)) static void cleared_scratch()
{
    int threads = omp_get_max_threads();
    std::vector<std::vector<double>> scratch(static_cast<size_t>(threads));
    for (size_t t = 0; t < scratch.size(); t++)
        scratch[t].resize(100);
    scratch[static_cast<size_t>(rand() % threads)][0] = 1;
#pragma omp parallel
    {
        for (double &x : scratch[static_cast<size_t>(omp_get_thread_num())])
            x = 0;
#pragma omp for
        for (int i = 0; i < N; i++) {
            work(i);
            scratch[static_cast<size_t>(omp_get_thread_num())][static_cast<size_t>(i % 100)] += 1;
        }
    }
}

__attribute__((noinline)) static void its_own_lists(const int *owner)
{
    std::vector<std::vector<int>> found(static_cast<size_t>(omp_get_max_threads()));
    for (int i = 0; i < 100; i++)
        found[static_cast<size_t>(owner[i])].push_back(i);
#pragma omp parallel
    {
        std::vector<int> &own = found[static_cast<size_t>(omp_get_thread_num())];
        own.clear();
#pragma omp for
        for (int i = 0; i < N; i++)
            if (i % 3 == 0)
                own.push_back(i);
        for (int i : own)
            work(i);
    }
}

int main()
{
    static int owner[N];
    for (int i = 0; i < N; i++)
        owner[i] = i * 31 % 17 % omp_get_max_threads();
    for (int k = 0; k < 3; k++) {
        dealt_to_vectors();
        dealt_by_a_hash();
        dealt_to_tables();
        dealt_to_workers();
        dealt_in_turn();
        dealt_to_the_least();
        dealt_by_a_table(owner);
        dealt_by_the_team();
        lists_for_anybody();
        cleared_scratch();
        its_own_lists(owner);
    }
    double sum = 0;
    for (double x : data)
        sum += x;
    return std::printf("PASS %g\n", sum) < 0;
}
