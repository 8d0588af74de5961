"""scripts/evaluation/signature.py - the model of a machine against what happens on it; see scripts/evaluate-signature."""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PCERE = os.environ["PCERE"]
THREADS = (1, 2)
VECTOR_SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
MATRIX_SIZES = (64, 128, 256, 384, 512, 768)
FLAGS = ["-O2", "-g", "-fopenmp"]

PROGRAM = r"""
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static double *array(long count)
{
    double *values = malloc((size_t)count * sizeof *values);
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
    double *a = array(n * n), *b = array(n * n), *c = array(n * n), *times = array(steps);
    for (long step = 0; step < steps; step++) {
        double start = omp_get_wtime();
#pragma omp parallel for
        for (long i = 0; i < n; i++)
%s
        times[step] = omp_get_wtime() - start;
    }
    qsort(times, (size_t)steps, sizeof *times, by_value);
    printf("%%.0f\n", times[steps / 2] * 1e9);
    return argc < 3 || c[n / 2] < 0;
}
"""
VECTOR = """            for (long j = 0; j < n; j++)
                c[i] = c[i] + a[i] * b[i * n + j];"""
MATRIX = """            for (long k = 0; k < n; k++)
                for (long j = 0; j < n; j++)
                    c[i * n + j] = c[i * n + j] + a[i * n + k] * b[k * n + j];"""


def run(words, threads=None):
    environment = dict(os.environ)
    if threads:
        environment["OMP_NUM_THREADS"] = str(threads)
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit("evaluate-signature: %s: %s" % (" ".join(words), done.stderr.strip()))
    return done.stdout


def document(*words):
    return json.loads(run([PCERE, *words, "--json"]))


def build(name, body):
    with open(name + ".c", "w") as file:
        file.write(PROGRAM % body)
    plugin = run([PCERE, "version", "--plugin"]).strip()
    run(["clang-19", *FLAGS, "-fpass-plugin=" + plugin, name + ".c", "-o", name])


def steps_for(operations):
    return int(min(max(3e8 / operations, 7), 20001))


def case_measure(name, sizes, operations):
    """For each size and number of threads: measured, modelled; ns."""
    rows = []
    for size in sizes:
        store = "%s-%d.pcere" % (name, size)
        run([PCERE, "capture", "--force", "-o", store, "./" + name, str(size), "7"])
        predicted = document("predict", store, "--model", "--threads", ",".join(map(str, THREADS)))
        for point in predicted["predictions"]:
            modelled = max((each for each in point["regions"][0]["classes"] if each["model"]), key=lambda each: each["weight"])["model"]
            real = float(run(["./" + name, str(size), str(steps_for(operations(size)))], point["threads"]))
            rows.append((size, point["threads"], real, modelled))
    return rows


def time_text(time_ns):
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if time_ns >= scale:
            return "%.3g %s" % (time_ns / scale, unit)
    return "%.3g ns" % time_ns


def betas(signature):
    pair = signature["pairs"][0]
    return pair["read"]["beta_ns_per_byte"], pair["write"]["beta_ns_per_byte"]


def case_write(out, title, rows, operations, signature):
    read, write = betas(signature)
    errors = []
    out.append("## %s\n" % title)
    out.append("| N | threads | measured | linear model | error | model | error | core | transfer |\n|---|---|---|---|---|---|---|---|---|")
    for size, threads, real, model in rows:
        linear = operations(size) * 8 * (2 * read + write) / threads
        error = model["model_ns"] / real - 1
        errors.append(abs(error))
        out.append("| %d | %d | %s | %s | %+.0f %% | %s | %+.1f %% | %s | %s |" %
                   (size, threads, time_text(real), time_text(linear), 100 * (linear / real - 1), time_text(model["model_ns"]), 100 * error,
                    time_text(model["core_ns"]), time_text(model["transfer_ns"])))
    out.append("\nError of the model: mean %.1f %%, largest %.1f %%.\n" % (100 * sum(errors) / len(errors), 100 * max(errors)))


def left_out_write(out, ratios):
    """Each program's times by what the others' real times are over the model's, by number of threads."""
    out.append("## Calibrated on the other seven\n")
    out.append("The model's time, times the geometric mean of real over modelled times of the other seven programs at as many threads: the program itself has no part in it.\n")
    out.append("| program | threads | factor | error |\n|---|---|---|---|")
    errors = []
    for (name, threads), ratio in ratios.items():
        others = [math.log(each) for (other, count), each in ratios.items() if other != name and count == threads]
        factor = math.exp(sum(others) / len(others))
        errors.append(abs(factor / ratio - 1))
        out.append("| %s | %d | %.3f | %+.1f %% |" % (name, threads, factor, 100 * (factor / ratio - 1)))
    out.append("\nMean error %.1f %%, largest %.1f %%.\n" % (100 * sum(errors) / len(errors), 100 * max(errors)))


def programs_measure(out, klass):
    out.append("## The NAS benchmarks, class %s, from the signature alone\n" % klass)
    out.append("| program | threads | real | model | error | in the interval |\n|---|---|---|---|---|---|")
    errors, ratios, elsewhere, inside, plugin = [], {}, [], 0, run([PCERE, "version", "--plugin"]).strip()
    names = ("ep", "cg", "mg", "is", "lu", "bt", "sp", "ft")
    here = os.getcwd()
    if not os.path.exists("ft." + klass):
        run(["make", "-s", "-C", os.path.join(ROOT, "cNPB"), "CLASS=" + klass, "BINDIR=" + here, "OBJDIR=" + here + "/objects", "CC=clang-19",
             "CFLAGS=-O3 -g -fpass-plugin=" + plugin])
    for name in names:
        store = "%s.%s.pcere" % (name, klass)
        if not os.path.exists(store):
            run([PCERE, "capture", "-o", store, "./%s.%s" % (name, klass)])
        measured = document("predict", store, "--model", "--measure", "--threads", ",".join(map(str, THREADS)))
        for point in measured["predictions"]:
            error = point["time_ns"] / point["real_ns"] - 1
            errors.append(abs(error))
            ratios[name, point["threads"]] = point["real_ns"] / point["time_ns"]
            inside += point["low_ns"] <= point["real_ns"] <= point["high_ns"]
            out.append("| %s | %d | %s | %s [%s, %s] | %+.1f %% | %s |" %
                       (name, point["threads"], time_text(point["real_ns"]), time_text(point["time_ns"]), time_text(point["low_ns"]),
                        time_text(point["high_ns"]), 100 * error, "yes" if point["low_ns"] <= point["real_ns"] <= point["high_ns"] else "no"))
        run([PCERE, "replay", store, "--threads", ",".join(map(str, THREADS))])
        for arch in ("nehalem", "sandybridge"):
            for point in document("predict", store, "--arch", arch, "--threads", "1,2,4")["predictions"]:
                elsewhere.append("| %s | %s | %d | %s [%s, %s] |" % (name, arch, point["threads"], time_text(point["time_ns"]), time_text(point["low_ns"]),
                                                                  time_text(point["high_ns"])))
    out.append("\nMean error %.1f %%, largest %.1f %%; %d of %d in the interval. Parts outside regions have the capture's time.\n" %
               (100 * sum(errors) / len(errors), 100 * max(errors), inside, len(errors)))
    left_out_write(out, ratios)
    out.append("## The same on two machines of published figures, calibrated by replays here\n")
    out.append("| program | machine | threads | predicted |\n|---|---|---|---|")
    out.extend(elsewhere)
    out.append("\nNobody has measured these programs there.\n")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--programs", metavar="CLASS", help="the NAS benchmarks of this class, too")
    options.add_argument("--no-cases", action="store_true", help="not the two cases of the paper")
    options.add_argument("-o", metavar="FILE", default="signature.md", help="the document (signature.md)")
    options.add_argument("--folder", metavar="FOLDER", help="where the benchmarks and their captures are, or go to, so that a second call only predicts and measures")
    words = options.parse_args()
    if words.folder:
        os.makedirs(words.folder, exist_ok=True)
        words.folder = os.path.abspath(words.folder)
    signature = document("platform", "show")["platform"]
    target = os.path.abspath(words.o)
    out = ["# The model of a machine, on this one\n", "Left by `scripts/evaluate-signature`; %s; %s.\n" % (signature["title"], "; ".join(signature["sources"])),
           "Linear model: the paper's Eq. 3, with the betas of two processors (8 bytes; read %.3g, write %.3g ns/B), over the threads.\n" % betas(signature)]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if not words.no_cases:
            build("vector", VECTOR)
            build("matrix", MATRIX)
            case_write(out, "Matrix-vector (Eq. 3, Fig. 4)", case_measure("vector", VECTOR_SIZES, lambda n: n ** 2), lambda n: n ** 2, signature)
            case_write(out, "Matrix-matrix, i-k-j (Fig. 5)", case_measure("matrix", MATRIX_SIZES, lambda n: n ** 3), lambda n: n ** 3, signature)
        if words.programs:
            os.chdir(words.folder or folder)
            programs_measure(out, words.programs)
        os.chdir("/")
    with open(target, "w") as file:
        file.write("\n".join(out))


main()
