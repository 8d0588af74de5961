// Barriers of the C++ library's and of a program's own that are made before the region, for as many threads as the program has then; and some that any team may use.
#include <atomic>
#include <barrier>
#include <cstdio>
#include <latch>
#include <memory>
#include <omp.h>
#include <sched.h>
#include <vector>

struct Group {
  explicit Group(int threads) : all(threads), parts(8) {}
  std::barrier<> all;
  std::vector<double> parts;
};

static std::unique_ptr<std::latch> start;
static int left, go, by_critical, wrong;
static double *counted;

static void meets(Group &group) {
#pragma omp parallel
  {
#pragma omp atomic
    group.parts[0] += 1;
    group.all.arrive_and_wait();
    double all = group.parts[0];
    group.all.arrive_and_wait();
#pragma omp single
    group.parts[1] = all;
  }
}

static void starts_together() {
#pragma omp parallel
  {
    start->arrive_and_wait();
#pragma omp atomic
    wrong += !start->try_wait();
  }
}

static void counts_down() {
#pragma omp parallel
  {
    if (__sync_sub_and_fetch(&left, 1) == 0)
      __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
      sched_yield();
  }
}

static int count_by_critical() {
  int threads = 0;
#pragma omp parallel
  {
#pragma omp critical(counting)
    threads++;
  }
  return threads;
}

static void counted_by_critical() {
#pragma omp parallel for
  for (int i = 0; i < 100; i++)
    counted[8 * omp_get_thread_num()] += i;
}

// Any team may run these: their barriers are made for the team that uses them, or count something else.
static void meets_its_own_team() {
  std::unique_ptr<std::barrier<>> own;
  double sum = 0;
#pragma omp parallel
  {
#pragma omp single
    own = std::make_unique<std::barrier<>>(omp_get_num_threads());
#pragma omp atomic
    sum += 1;
    own->arrive_and_wait();
#pragma omp atomic
    wrong += sum != omp_get_num_threads();
  }
}

static void counts_items_down() {
  std::atomic<int> items{100};
  std::latch done{100};
  int last = 0;
#pragma omp parallel for
  for (int i = 0; i < 100; i++) {
    if (items.fetch_sub(1) == 1)
      last++;
    done.count_down();
  }
  wrong += last != 1 || !done.try_wait();
}

static void adds_up_under_critical() {
  int hits = 0;
#pragma omp parallel for
  for (int i = 0; i < 100; i++)
    if (i % 7 == 3)
#pragma omp critical(counting)
      hits++;
  std::vector<double> each(hits);
#pragma omp parallel for
  for (int i = 0; i < 14; i++)
    each[i] += i;
  wrong += each[13] != 13;
}

int main() {
  int threads = omp_get_max_threads();
  counted = new double[8 * (by_critical = count_by_critical())]();
  for (int step = 0; step < 3; step++) {
    Group group(threads);
    start = std::make_unique<std::latch>(threads);
    left = threads;
    go = 0;
    meets(group);
    starts_together();
    counts_down();
    counted_by_critical();
    meets_its_own_team();
    counts_items_down();
    adds_up_under_critical();
    wrong += group.parts[1] != threads;
  }
  return std::puts(!wrong && by_critical == threads ? "PASS" : "FAIL") < 0;
}
