"""scripts/evaluation/choose.py - does `pcere choose` take the right algorithm; see scripts/evaluate-choose."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

PCERE = os.environ["PCERE"]
THREADS = (1, 2)
REGRET_MOST = 0.05

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
    "matrix times vector": ((320, 1088), {
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
    "matrix times matrix": ((160, 352), ORDERS),
    "reduction": ((512, 1600), {
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
PROGRAM = r"""
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
static double total;
static double *array(long count)
{
    double *values = aligned_alloc(4096, ((size_t)count * sizeof *values + 4095) / 4096 * 4096);
    for (long i = 0; i < count; i++)
        values[i] = (double)(i %% 7);
    return values;
}
static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}
int main(int argc, char **argv)
{
    long n = atol(argv[1]), steps = atol(argv[2]);
    double *restrict a = array(n * n), *restrict b = array(n * n), *restrict c = array(n * n), *times = array(steps);
    for (long step = 0; step < steps; step++) {
        double start = omp_get_wtime();
#pragma omp parallel
        {
            %s
        }
        times[step] = omp_get_wtime() - start;
    }
    qsort(times, (size_t)steps, sizeof *times, by_value);
    printf("%%.0f\n", times[steps / 2] * 1e9);
    return argc < 3 || c[n / 2] + total < 0;
}
"""


def run(words, threads=None):
    environment = dict(os.environ)
    if threads:
        environment["OMP_NUM_THREADS"] = str(threads)
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit("evaluate-choose: %s: %s" % (" ".join(words), done.stderr.strip()))
    return done.stdout


def time_text(time_ns):
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if time_ns >= scale:
            return "%.3g %s" % (time_ns / scale, unit)
    return "%.3g ns" % time_ns


def measure(program, size, threads):
    """Median of as many steps as take a tenth of a second, about."""
    once = float(run([program, str(size), "3"], threads))
    return float(run([program, str(size), str(int(min(max(1e8 / once, 5), 4001)))], threads))


def problem_evaluate(out, problem, sizes, algorithms, plugin):
    regrets = []
    for name, body in algorithms.items():
        source = name.replace(" ", "-") + ".c"
        with open(source, "w") as file:
            file.write(PROGRAM % body)
        run(["clang-19", "-O2", "-g", "-fopenmp", "-fpass-plugin=" + plugin, source, "-o", "./" + source[:-2]])
    for size in sizes:
        stores = {}
        for name in algorithms:
            program = "./" + name.replace(" ", "-")
            stores["%s-%d.pcere" % (name.replace(" ", "-"), size)] = name
            run([PCERE, "capture", "--force", "-o", "%s-%d.pcere" % (name.replace(" ", "-"), size), program, str(size), "5"])
        chosen = json.loads(run([PCERE, "choose", *stores, "--threads", ",".join(map(str, THREADS)), "--json"]))
        for choice in chosen["choices"]:
            threads = choice["threads"]
            modelled = {stores[time["algorithm"]]: time["time_ns"] / 5 for time in choice["times"]}
            measured = {name: measure("./" + name.replace(" ", "-"), size, threads) for name in algorithms}
            best = stores[choice["best"]]
            fastest = min(measured, key=measured.get)
            regret = measured[best] / measured[fastest] - 1
            regrets.append(regret)
            out.append("| %s | %d | %d | %s | %s | %.1f %% | %s |" % (problem, size, threads, best, fastest, 100 * regret,
                       "; ".join("%s %s (%s)" % (name, time_text(measured[name]), time_text(modelled[name])) for name in algorithms)))
    return regrets


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("-o", metavar="FILE", default="choose.md", help="the document (choose.md)")
    words = options.parse_args()
    target = os.path.abspath(words.o)
    platform = json.loads(run([PCERE, "platform", "show", "--json"]))["platform"]
    plugin = run([PCERE, "version", "--plugin"]).strip()
    out = ["# Choosing an algorithm by the model\n", "Left by `scripts/evaluate-choose`; %s; %s. Nothing in the model was fitted to these programs or sizes. Regret: how much longer the chosen "
           "one takes than the fastest, as measured.\n" % (platform["title"], "; ".join(platform["sources"])),
           "| problem | N | threads | chosen | fastest | regret | measured (by model) |\n|---|---|---|---|---|---|---|"]
    regrets = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for problem, (sizes, algorithms) in PROBLEMS.items():
            regrets += problem_evaluate(out, problem, sizes, algorithms, plugin)
        os.chdir("/")
    out.append("\nRegret: mean %.1f %%, largest %.1f %%; %d of %d choices within %.0f %%." %
               (100 * sum(regrets) / len(regrets), 100 * max(regrets), sum(each <= REGRET_MOST for each in regrets), len(regrets), 100 * REGRET_MOST))
    with open(target, "w") as file:
        file.write("\n".join(out) + "\n")


main()
