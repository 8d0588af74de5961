// Ways in which programs come to one part per thread, each a region of its own; and some that any team may run.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <vector>

enum { N = 1000, LINE = 8 };

static double *by_hits, *by_sum, *kept, *by_text, *by_parser, *by_allocator, *by_processors, *by_variable, *counted, *made;
static double sum;

static void kept_from_the_first() {
#pragma omp parallel
  {
#pragma omp single
    if (!kept)
      kept = new double[LINE * omp_get_num_threads()]();
#pragma omp for
    for (int i = 0; i < N; i++)
      kept[LINE * omp_get_thread_num()] += i;
  }
}

static std::vector<double> &slots() {
  static std::vector<double> all(LINE * omp_get_num_threads());
  return all;
}

static void kept_by_a_static() {
#pragma omp parallel for
  for (int i = 0; i < N; i++)
    slots()[LINE * omp_get_thread_num()] += i;
}

static std::vector<double> registry;
static std::atomic<int> registered{0};
static thread_local int place = -1;

static void registered_threads() {
#pragma omp parallel for
  for (int i = 0; i < N; i++) {
    if (place < 0)
      place = LINE * registered++;
    registry[place] += i;
  }
}

static void numbers_drawn() {
  int next = 0;
#pragma omp parallel
  {
    int me;
#pragma omp atomic capture
    me = next++;
#pragma omp for
    for (int i = 0; i < N; i++)
      by_text[LINE * me] += i;
  }
}

static void turns_of_the_team() {
#pragma omp parallel
  {
    int threads = omp_get_num_threads();
#pragma omp for
    for (int t = 0; t < threads; t++)
      counted[LINE * t] += t + 1;
  }
}

static std::unique_ptr<std::unique_ptr<double[]>[]> owners;

static void parts_with_owners() {
#pragma omp parallel for
  for (int i = 0; i < N; i++)
    owners[omp_get_thread_num()][i % LINE] += i;
}

static int converted(long (*parser)(const char *, char **, int), const char *text) { return static_cast<int>(parser(text, nullptr, 10)); }

static void *(*allocator)(size_t) = std::malloc;

void use_allocator(void *(*other)(size_t)) { allocator = other; }

static void allocated_through_a_variable() {
#pragma omp parallel for
  for (int i = 0; i < N; i++)
    by_allocator[LINE * omp_get_thread_num()] += i;
}

static void read_by_a_parser() {
#pragma omp parallel for
  for (int i = 0; i < N; i++)
    by_parser[LINE * omp_get_thread_num()] += i;
}

static void read_from_text() {
#pragma omp parallel for
  for (int i = 0; i < N; i++)
    by_text[LINE * omp_get_thread_num()] += i;
}

static void allowed_processors() {
#pragma omp parallel for
  for (int i = 0; i < N; i++)
    by_processors[LINE * omp_get_thread_num()] += i;
}

static void asked_by_a_variable(int threads) {
#pragma omp parallel for num_threads(threads)
  for (int i = 0; i < N; i++)
    by_variable[LINE * omp_get_thread_num()] += i;
}

static int count_by_sum() {
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  threads++;
  return threads;
}

static void counted_by_sum() {
#pragma omp parallel for
  for (int i = 0; i < N; i++)
    by_sum[LINE * omp_get_thread_num()] += i;
}

static int share, shared_out[N];

static int count_by_atomic() {
  int threads = 0;
#pragma omp parallel
  {
#pragma omp atomic
    threads++;
  }
  return threads;
}

static void divided_by_atomic() {
#pragma omp parallel
  {
    int first = omp_get_thread_num() * share, last = first + share < N ? first + share : N;
    for (int i = first; i < last; i++)
      shared_out[i]++;
  }
}

static int hits() {
  int found = 0;
#pragma omp parallel for reduction(+ : found)
  for (int i = 0; i < N; i++)
    if (i % 3)
      found++;
  return found;
}

static void has_a_part_for_each_hit() {
#pragma omp parallel for
  for (int i = 0; i < N; i++)
    by_hits[omp_get_thread_num()] += i;
}

static pthread_barrier_t barrier;
static int arrived;

static void waits_for_all() {
#pragma omp parallel
  {
#pragma omp atomic
    arrived++;
    pthread_barrier_wait(&barrier);
  }
}

static int waiting, all_of_them, turn, last_ones;

static void waits_at_its_own() {
#pragma omp parallel
  {
    int now = __atomic_load_n(&turn, __ATOMIC_ACQUIRE);
    if (__sync_add_and_fetch(&waiting, 1) == all_of_them) {
      waiting = 0;
      __atomic_store_n(&turn, now + 1, __ATOMIC_RELEASE);
    } else {
      while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) == now)
        sched_yield();
    }
  }
}

static void tells_the_last() {
  int in = 0;
#pragma omp parallel
  {
    int team = omp_get_num_threads(), before;
#pragma omp atomic capture
    before = in++;
    if (before + 1 == team)
      last_ones++;
  }
}

static void made_each_time() {
#pragma omp parallel
  {
#pragma omp single
    made = new double[LINE * omp_get_num_threads()]();
#pragma omp for
    for (int i = 0; i < N; i++)
      made[LINE * omp_get_thread_num()] += i;
#pragma omp single
    {
      for (int t = 0; t < omp_get_num_threads(); t++)
        sum += made[LINE * t];
      delete[] made;
    }
  }
}

static int chunks;
static double *results;

static void queue_of_chunks() {
  int next = 0;
#pragma omp parallel
  {
    for (;;) {
      int mine;
#pragma omp atomic capture
      mine = next++;
      if (mine >= chunks)
        break;
      for (int i = 0; i < N; i++)
        results[mine] += i;
    }
#pragma omp barrier
#pragma omp single
    next = 0;
  }
}

int main(int, char **words) {
  int threads = omp_get_max_threads(), told = 1, wanted = atoi(words[1]);
  const char *text = getenv("OMP_NUM_THREADS");
  cpu_set_t allowed;
  if (!text || sscanf(text, "%d", &told) != 1 || sched_getaffinity(0, sizeof allowed, &allowed))
    return 1;
  by_text = static_cast<double *>(calloc(LINE * told, sizeof(double)));
  by_parser = static_cast<double *>(calloc(LINE * converted(std::strtol, text), sizeof(double)));
  by_allocator = static_cast<double *>(allocator(LINE * threads * sizeof(double)));
  for (int i = 0; i < LINE * threads; i++)
    by_allocator[i] = 0;
  by_processors = static_cast<double *>(calloc(LINE * (CPU_COUNT(&allowed) + 64), sizeof(double)));
  by_variable = static_cast<double *>(calloc(LINE * wanted, sizeof(double)));
  counted = static_cast<double *>(calloc(LINE * threads, sizeof(double)));
  chunks = 4 * threads;
  results = static_cast<double *>(calloc(chunks, sizeof(double)));
  by_sum = static_cast<double *>(calloc(LINE * count_by_sum(), sizeof(double)));
  by_hits = static_cast<double *>(calloc(hits(), sizeof(double)));
  share = (N + count_by_atomic() - 1) / count_by_atomic();
  pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(threads));
  all_of_them = threads;
  registry.resize(LINE * threads);
  owners = std::make_unique<std::unique_ptr<double[]>[]>(threads);
  for (int t = 0; t < threads; t++)
    owners[t] = std::make_unique<double[]>(LINE);
  for (int step = 0; step < 3; step++) {
    kept_from_the_first();
    kept_by_a_static();
    registered_threads();
    numbers_drawn();
    turns_of_the_team();
    parts_with_owners();
    allocated_through_a_variable();
    read_by_a_parser();
    read_from_text();
    allowed_processors();
    asked_by_a_variable(wanted);
    counted_by_sum();
    divided_by_atomic();
    has_a_part_for_each_hit();
    waits_for_all();
    waits_at_its_own();
    tells_the_last();
    made_each_time();
    queue_of_chunks();
  }
  return std::puts(sum == 3.0 * N * (N - 1) / 2 && shared_out[N - 1] == 3 && turn == 3 && last_ones == 3 ? "PASS" : "FAIL") < 0;
}
