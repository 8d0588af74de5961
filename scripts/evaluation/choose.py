"""scripts/evaluation/choose.py - does `pcere choose` take the right algorithm; see scripts/evaluate-choose."""
import argparse
import contextlib
import os
import re
import tempfile

from modelled import ROUNDS, THREADS, captured, compiled, counted, document, kept, measured, options_parse, run, time_text

FLAGS = ["-O2", "-g", "-fopenmp"]
REGRET_MOST = 0.05
STEPS = 5                         # of a captured run, which are one class: what is measured are steps like the others, too

# Problems; of each the sizes, and bodies of a parallel region that solve it in another way: the same result, up to rounding.
ORDERS = {order: """#pragma omp for
            for (long %s = 0; %s < n; %s++)
                for (long %s = 0; %s < n; %s++)
                    for (long %s = 0; %s < n; %s++)
                        c[i * n + j] += a[i * n + k] * b[k * n + j];""" % tuple(letter for letter in order for _ in range(3))
          for order in ("ijk", "ikj", "jik", "jki")}
SHARED = """for (long k = 0; k < n; k++) {
#pragma omp for
                for (long %s = 0; %s < n; %s++)
                    for (long %s = 0; %s < n; %s++)
                        c[i * n + j] += a[i * n + k] * b[k * n + j];
            }"""
ORDERS["kij"] = SHARED % tuple("iiijjj")
ORDERS["kji"] = SHARED % tuple("jjjiii")
ORDERS["tiled"] = """#pragma omp for
            for (long ii = 0; ii < n; ii += 32)
                for (long kk = 0; kk < n; kk += 32)
                    for (long i = ii; i < ii + 32; i++)
                        for (long k = kk; k < kk + 32; k++)
                            for (long j = 0; j < n; j++)
                                c[i * n + j] += a[i * n + k] * b[k * n + j];"""
PROBLEMS = {
    "matrix times vector": ((320, 1088, 2304), {
        "rows": """#pragma omp for
            for (long i = 0; i < n; i++) {
                double sum = 0;
                for (long j = 0; j < n; j++)
                    sum += a[i * n + j] * b[j];
                c[i] = sum;
            }""",
        "columns": """{
                long from = n * omp_get_thread_num() / omp_get_num_threads(), to = n * (omp_get_thread_num() + 1) / omp_get_num_threads();
                for (long j = 0; j < n; j++)
                    for (long i = from; i < to; i++)
                        c[i] += a[j * n + i] * b[j];
            }""",
        "strided": """#pragma omp for
            for (long i = 0; i < n; i++) {
                double sum = 0;
                for (long j = 0; j < n; j++)
                    sum += a[j * n + i] * b[j];
                c[i] = sum;
            }"""}),
    "matrix times matrix": ((160,), ORDERS),
    "reduction": ((512, 1600, 3200), {
        "clause": """{
#pragma omp for reduction(+ : total)
            for (long i = 0; i < n * n; i++)
                total += a[i];
            }""",
        "four sums": """{
            double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp for
            for (long i = 0; i < n * n / 4; i++) {
                s0 += a[4 * i]; s1 += a[4 * i + 1]; s2 += a[4 * i + 2]; s3 += a[4 * i + 3];
            }
#pragma omp critical
            total += s0 + s1 + s2 + s3;
            }""",
        "atomic by rows": """{
#pragma omp for
            for (long i = 0; i < n; i++) {
                double sum = 0;
                for (long j = 0; j < n; j++)
                    sum += a[i * n + j];
#pragma omp atomic
                total += sum;
            }
            }"""}),
}
# Written after the first model, and run once with it as it was. Sets of caches and the reach of addresses were added since.
HELD_OUT = {
    "transposition": ((600, 1400), {
        "read by columns": """#pragma omp for
            for (long i = 0; i < n; i++)
                for (long j = 0; j < n; j++)
                    c[i * n + j] = a[j * n + i];""",
        "written by columns": """#pragma omp for
            for (long i = 0; i < n; i++)
                for (long j = 0; j < n; j++)
                    c[j * n + i] = a[i * n + j];""",
        "in tiles": """#pragma omp for
            for (long ii = 0; ii < n; ii += 8)
                for (long jj = 0; jj < n; jj += 8)
                    for (long i = ii; i < ii + 8; i++)
                        for (long j = jj; j < jj + 8; j++)
                            c[i * n + j] = a[j * n + i];"""}),
    "mean of four neighbours": ((700, 1800), {
        "along rows": """#pragma omp for
            for (long i = 1; i < n - 1; i++)
                for (long j = 1; j < n - 1; j++)
                    c[i * n + j] = 0.25 * (a[i * n + j - 1] + a[i * n + j + 1] + a[(i - 1) * n + j] + a[(i + 1) * n + j]);""",
        "along columns": """#pragma omp for
            for (long j = 1; j < n - 1; j++)
                for (long i = 1; i < n - 1; i++)
                    c[i * n + j] = 0.25 * (a[i * n + j - 1] + a[i * n + j + 1] + a[(i - 1) * n + j] + a[(i + 1) * n + j]);""",
        "in two sweeps": """{
#pragma omp for
            for (long i = 1; i < n - 1; i++)
                for (long j = 1; j < n - 1; j++)
                    c[i * n + j] = 0.25 * (a[i * n + j - 1] + a[i * n + j + 1]);
#pragma omp for
            for (long i = 1; i < n - 1; i++)
                for (long j = 1; j < n - 1; j++)
                    c[i * n + j] += 0.25 * (a[(i - 1) * n + j] + a[(i + 1) * n + j]);
            }"""}),
    "sum of two vectors": ((900, 2000), {
        "in one loop": """#pragma omp for
            for (long i = 0; i < n * n; i++)
                c[i] = 2.0 * a[i] + 3.0 * b[i];""",
        "in two loops": """{
#pragma omp for
            for (long i = 0; i < n * n; i++)
                c[i] = 2.0 * a[i];
#pragma omp for
            for (long i = 0; i < n * n; i++)
                c[i] += 3.0 * b[i];
            }""",
        "by blocks": """#pragma omp for
            for (long block = 0; block < n; block++) {
                for (long i = block * n; i < (block + 1) * n; i++)
                    c[i] = 2.0 * a[i];
                for (long i = block * n; i < (block + 1) * n; i++)
                    c[i] += 3.0 * b[i];
            }"""}),
}
# Written after the sets of caches and the reach of addresses were in the model, and run once with it. Each has what its programs need besides a, b and c.
NEW = {
    "seven-point stencil": ((72, 150), {
        "by planes": """#pragma omp for
            for (long k = 1; k < n - 1; k++)
                for (long j = 1; j < n - 1; j++)
                    for (long i = 1; i < n - 1; i++)
                        v[(k * n + j) * n + i] = u[(k * n + j) * n + i] + 0.1 * (u[(k * n + j) * n + i - 1] + u[(k * n + j) * n + i + 1] + u[(k * n + j - 1) * n + i] +
                            u[(k * n + j + 1) * n + i] + u[((k - 1) * n + j) * n + i] + u[((k + 1) * n + j) * n + i]);""",
        "by blocks": """#pragma omp for
            for (long jj = 1; jj < n - 1; jj += 8)
                for (long k = 1; k < n - 1; k++)
                    for (long j = jj; j < (jj + 8 < n - 1 ? jj + 8 : n - 1); j++)
                        for (long i = 1; i < n - 1; i++)
                            v[(k * n + j) * n + i] = u[(k * n + j) * n + i] + 0.1 * (u[(k * n + j) * n + i - 1] + u[(k * n + j) * n + i + 1] + u[(k * n + j - 1) * n + i] +
                                u[(k * n + j + 1) * n + i] + u[((k - 1) * n + j) * n + i] + u[((k + 1) * n + j) * n + i]);""",
        "across planes": """#pragma omp for
            for (long j = 1; j < n - 1; j++)
                for (long i = 1; i < n - 1; i++)
                    for (long k = 1; k < n - 1; k++)
                        v[(k * n + j) * n + i] = u[(k * n + j) * n + i] + 0.1 * (u[(k * n + j) * n + i - 1] + u[(k * n + j) * n + i + 1] + u[(k * n + j - 1) * n + i] +
                            u[(k * n + j + 1) * n + i] + u[((k - 1) * n + j) * n + i] + u[((k + 1) * n + j) * n + i]);"""},
        "double *restrict u = array(n * n * n), *restrict v = array(n * n * n);"),
    "sparse matrix times vector": ((150, 450), {
        "compressed rows": """#pragma omp for
            for (long row = 0; row < rows; row++) {
                double sum = 0;
                for (long k = first[row]; k < first[row + 1]; k++)
                    sum += value[k] * a[column[k]];
                c[row] = sum;
            }""",
        "padded rows": """#pragma omp for
            for (long row = 0; row < rows; row++) {
                double sum = 0;
                for (long k = 0; k < 12; k++)
                    sum += padded[row * 12 + k] * a[place[row * 12 + k]];
                c[row] = sum;
            }""",
        "padded columns": """{
#pragma omp for
            for (long row = 0; row < rows; row++)
                c[row] = 0;
            for (long k = 0; k < 12; k++)
#pragma omp for
                for (long row = 0; row < rows; row++)
                    c[row] += turned[k * rows + row] * a[across[k * rows + row]];
            }"""}, """long rows = n * n, *first = malloc((size_t)(rows + 1) * sizeof *first), entries = 0;
    int *column = malloc((size_t)rows * 12 * sizeof *column), *place = malloc((size_t)rows * 12 * sizeof *place), *across = malloc((size_t)rows * 12 * sizeof *across);
    double *restrict value = array(rows * 12), *restrict padded = array(rows * 12), *restrict turned = array(rows * 12);
    unsigned long state = 1;
    for (long row = 0; row < rows; row++) {
        first[row] = entries;
        for (long k = 0; k < 12; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            long there = (row + (long)(state >> 40) % (4 * n) - 2 * n + rows) % rows;
            bool used = k < 4 + row % 9;
            place[row * 12 + k] = across[k * rows + row] = (int)there;
            padded[row * 12 + k] = turned[k * rows + row] = used;
            if (used) {
                value[entries] = 1;
                column[entries++] = (int)there;
            }
        }
    }
    first[rows] = entries;"""),
    "histogram": ((300, 1000), {
        "private copies": """{
            long own[512] = {0};
#pragma omp for
            for (long i = 0; i < n * n; i++)
                own[key[i]]++;
#pragma omp critical
            for (long i = 0; i < 512; i++)
                bins[i] += own[i];
            }""",
        "atomic": """#pragma omp for
            for (long i = 0; i < n * n; i++)
#pragma omp atomic
                bins[key[i]]++;""",
        "two private copies": """{
            long even[512] = {0}, odd[512] = {0};
#pragma omp for
            for (long i = 0; i < n * n / 2; i++) {
                even[key[2 * i]]++;
                odd[key[2 * i + 1]]++;
            }
#pragma omp critical
            for (long i = 0; i < 512; i++)
                bins[i] += even[i] + odd[i];
            }"""}, """static long bins[512];
    int *key = malloc((size_t)(n * n) * sizeof *key);
    unsigned long state = 1;
    for (long i = 0; i < n * n; i++)
        key[i] = (int)((state = state * 6364136223846793005u + 1442695040888963407u) >> 55);"""),
    "prefix sum": ((400, 1500), {
        "one thread": """{
#pragma omp single
            {
                double sum = 0;
                for (long i = 0; i < n * n; i++)
                    c[i] = sum += a[i];
            }
            }""",
        "sums first": """{
            long me = omp_get_thread_num(), all = omp_get_num_threads(), from = n * n * me / all, to = n * n * (me + 1) / all;
            double sum = 0;
            for (long i = from; i < to; i++)
                sum += a[i];
            part[8 * me + 8] = sum;
#pragma omp barrier
            sum = 0;
            for (long t = 1; t <= me; t++)
                sum += part[8 * t];
            for (long i = from; i < to; i++)
                c[i] = sum += a[i];
            }""",
        "offsets later": """{
            long me = omp_get_thread_num(), all = omp_get_num_threads(), from = n * n * me / all, to = n * n * (me + 1) / all;
            double sum = 0;
            for (long i = from; i < to; i++)
                c[i] = sum += a[i];
            part[8 * me + 8] = sum;
#pragma omp barrier
            sum = 0;
            for (long t = 1; t <= me; t++)
                sum += part[8 * t];
            if (me)
                for (long i = from; i < to; i++)
                    c[i] += sum;
            }"""}, "static double part[8 * 65];"),
    "convolution": ((256, 1100), {
        "window": """#pragma omp for
            for (long i = 2; i < n - 2; i++)
                for (long j = 2; j < n - 2; j++) {
                    double sum = 0;
                    for (long y = -2; y <= 2; y++)
                        for (long x = -2; x <= 2; x++)
                            sum += weight[y + 2] * weight[x + 2] * a[(i + y) * n + j + x];
                    c[i * n + j] = sum;
                }""",
        "rows, then columns": """{
#pragma omp for
            for (long i = 0; i < n; i++)
                for (long j = 2; j < n - 2; j++)
                    b[i * n + j] = weight[0] * (a[i * n + j - 2] + a[i * n + j + 2]) + weight[1] * (a[i * n + j - 1] + a[i * n + j + 1]) + weight[2] * a[i * n + j];
#pragma omp for
            for (long i = 2; i < n - 2; i++)
                for (long j = 2; j < n - 2; j++)
                    c[i * n + j] = weight[0] * (b[(i - 2) * n + j] + b[(i + 2) * n + j]) + weight[1] * (b[(i - 1) * n + j] + b[(i + 1) * n + j]) + weight[2] * b[i * n + j];
            }""",
        "weight by weight": """{
#pragma omp for
            for (long i = 0; i < n * n; i++)
                c[i] = 0;
            for (long y = -2; y <= 2; y++)
                for (long x = -2; x <= 2; x++)
#pragma omp for
                    for (long i = 2; i < n - 2; i++)
                        for (long j = 2; j < n - 2; j++)
                            c[i * n + j] += weight[y + 2] * weight[x + 2] * a[(i + y) * n + j + x];
            }"""}, "static const double weight[5] = {0.05, 0.25, 0.4, 0.25, 0.05};"),
}
PROGRAM = r"""
#include <omp.h>
#include <stdbool.h>
static double total;
static double *array(long count)
{
    double *values = aligned_alloc(4096, ((size_t)count * sizeof *values + 4095) / 4096 * 4096);
    for (long i = 0; i < count; i++)
        values[i] = (double)(i %% 7);
    return values;
}
int main(int argc, char **argv)
{
    long n = atol(argv[1]), steps = atol(argv[2]);
    double *restrict a = array(n * n), *restrict b = array(n * n), *restrict c = array(n * n), *times = array(steps);
    %s
    for (long step = 0; step < steps; step++) {
        double start = now_ns();
#pragma omp parallel
        {
            %s
        }
        times[step] = now_ns() - start;
    }
    median_print(times, steps);
    return argc < 3 || c[n / 2] + total < 0;
}
"""


def steps_for(once_ns):
    """As many as take a twentieth of a second with one thread."""
    return str(int(min(max(5e7 / once_ns, 3), 4001)))


class Problem:
    def __init__(self, title, sizes, algorithms, needs=""):
        self.needs, self.title, self.sizes, self.algorithms = needs, title, sizes, {re.sub("[ ,]+", "-", name): (name, body) for name, body in algorithms.items()}
        self.results = title.replace(" ", "-") + ".json"

    def store(self, short, size):
        return "%s-%d.pcere" % (short, size)

    def stores(self):
        return [(short, size) for short in self.algorithms for size in self.sizes]

    def prepare(self):
        for short, (_, body) in self.algorithms.items():
            compiled(short, PROGRAM % (self.needs, body), FLAGS)

    def capture(self):
        for short, size in self.stores():
            captured(self.store(short, size), ["./" + short, str(size), str(STEPS)], "--two-runs", "--max-classes", "1")

    def count(self):
        for short, size in self.stores():
            counted(self.store(short, size))

    def measure(self):
        once = {(short, size): float(run(["./" + short, str(size), "3"], 1)) for short, size in self.stores()}
        kept(self.results, measured({"%s %d %d" % (short, size, threads): lambda short=short, size=size, threads=threads: float(run(["./" + short, str(size), steps_for(once[short, size])], threads))
                                     for short, size in self.stores() for threads in THREADS}))

    def replay(self):
        """Nothing: it is not this machine's replays that choose."""

    def write(self, out):
        results, regrets = kept(self.results), []
        for size in self.sizes:
            stores = {self.store(short, size): short for short in self.algorithms}
            for choice in document("choose", *stores, "--threads", ",".join(map(str, THREADS)))["choices"]:
                threads = choice["threads"]
                modelled = {stores[time["algorithm"]]: time["time_ns"] / STEPS for time in choice["times"]}
                times = {short: results["%s %d %d" % (short, size, threads)] for short in self.algorithms}
                best, fastest = stores[choice["best"]], min(times, key=times.get)
                regrets.append(times[best] / times[fastest] - 1)
                out.append("| %s | %d | %d | %s | %s | %.1f %% | %s |" % (self.title, size, threads, self.algorithms[best][0], self.algorithms[fastest][0], 100 * regrets[-1],
                           "; ".join("%s %s (%s)" % (name, time_text(times[short]), time_text(modelled[short])) for short, (name, _) in self.algorithms.items())))
        return regrets


def table_write(out, problems):
    regrets = []
    out.append("| problem | N | threads | chosen | fastest | regret | measured (by model) |\n|---|---|---|---|---|---|---|")
    for problem in problems:
        regrets += problem.write(out)
    out.append("\nRegret: mean %.1f %%, largest %.1f %%; %d of %d choices within %.0f %%.\n" %
               (100 * sum(regrets) / len(regrets), 100 * max(regrets), sum(each <= REGRET_MOST for each in regrets), len(regrets), 100 * REGRET_MOST))


def main():
    options = argparse.ArgumentParser(prog="evaluate-choose", description=__doc__)
    options.add_argument("--problem", action="append", choices=[*PROBLEMS, *HELD_OUT, *NEW], help="only this one")
    words = options_parse(options, "choose.md")
    known, held_out, new = ([Problem(title, *rest) for title, rest in each.items() if not words.problem or title in words.problem] for each in (PROBLEMS, HELD_OUT, NEW))
    with contextlib.ExitStack() as stack:
        folder = words.folder or stack.enter_context(tempfile.TemporaryDirectory())
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
        for step in words.step:
            if step == "write":
                break
            for problem in known + held_out + new:
                getattr(problem, step)()
        if "write" in words.step:
            platform = document("platform", "show")["platform"]
            out = ["# Choosing an algorithm by the model\n", "Left by `scripts/evaluate-choose`; %s; %s. Regret: how much longer the chosen algorithm takes than the fastest, as measured: medians of %d "
                   "processes, which take turns, threads on a core each.\n" % (platform["title"], "; ".join(platform["sources"]), ROUNDS)]
            if known:
                out.append("## Known problems\n\nNo constant was fitted to them, but what the model lacked was looked for with their help.\n")
                table_write(out, known)
            if held_out:
                out.append("## Held out before sets and addresses\n\nThey were written after the model as it was without sets of caches and without the reach of addresses, which were found with their help.\n")
                table_write(out, held_out)
            if new:
                out.append("## Held out\n\nWritten after the model, and run once with it as it is: neither programs nor sizes had a part in it.\n")
                table_write(out, new)
            with open(words.o, "w") as file:
                file.write("\n".join(out))
        os.chdir("/")


main()
