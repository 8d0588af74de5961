"""scripts/evaluation/signature.py - the model of a machine against what happens on it; see scripts/evaluate-signature."""
import argparse
import contextlib
import math
import os
import tempfile
import time

from modelled import PCERE, ROUNDS, THREADS, captured, compiled, counted, document, interval_text, kept, measured, options_parse, run, time_text

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = ("ep", "cg", "mg", "is", "lu", "bt", "sp", "ft")
ARCHS = (("host", THREADS), ("nehalem", (1, 2, 4)), ("sandybridge", (1, 2, 4)), ("core2", THREADS))
CASE_ROUNDS = 15
VECTOR_SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
MATRIX_SIZES = (64, 128, 256, 384, 512)
FLAGS = ["-O2", "-g", "-fopenmp"]

PROGRAM = r"""
static double *array(long count)
{
    double *values = malloc((size_t)count * sizeof *values);
    for (long i = 0; i < count; i++)
        values[i] = (double)(i %% 7);
    return values;
}

int main(int argc, char **argv)
{
    long n = atol(argv[1]), steps = atol(argv[2]);
    double *a = array(%s), *b = array(n * n), *c = array(%s), *times = array(steps);
    for (long step = 0; step < steps; step++) {
        double start = now_ns();
#pragma omp parallel for
        for (long i = 0; i < n; i++)
%s
        times[step] = now_ns() - start;
    }
    median_print(times, steps);
    return argc < 3 || c[n / 2] < 0;
}
"""
VECTOR = """            for (long j = 0; j < n; j++)
                c[i] = c[i] + a[i] * b[i * n + j];"""
MATRIX = """            for (long k = 0; k < n; k++)
                for (long j = 0; j < n; j++)
                    c[i * n + j] = c[i * n + j] + a[i * n + k] * b[k * n + j];"""


def steps_for(operations):
    return int(min(max(2e8 / operations, 7), 20001))


class Case:
    """One of the paper's two programs."""

    def __init__(self, name, title, elements, body, sizes, power):
        """`elements`: of a and c; b has n * n."""
        self.name, self.title, self.program, self.sizes, self.operations = name, title, PROGRAM % (elements, elements, body), sizes, lambda n: n ** power

    def store(self, size):
        return "%s-%d.pcere" % (self.name, size)

    def prepare(self):
        compiled(self.name, self.program, FLAGS)

    def capture(self):
        for size in self.sizes:
            captured(self.store(size), ["./" + self.name, str(size), "7"])

    def count(self):
        for size in self.sizes:
            counted(self.store(size))

    def measure(self):
        """In ns."""
        tasks = {"%d %d" % (size, threads): lambda size=size, threads=threads: self.step_ns(size, threads) for size in self.sizes for threads in THREADS}
        kept(self.name + ".json", measured(tasks, CASE_ROUNDS))

    def step_ns(self, size, threads):
        return float(run(["./" + self.name, str(size), str(steps_for(self.operations(size)))], threads))

    def replay(self):
        """Nothing: neither table needs it."""

    def write(self, out, signature):
        read, write = betas(signature)
        times, errors = kept(self.name + ".json"), {threads: [] for threads in THREADS}
        out.append("## %s\n" % self.title)
        out.append("Measured: medians of %d processes [least, most], which take turns.\n" % times["rounds"])
        out.append("| N | threads | measured | linear model | error | model | error | core | transfer |\n|---|---|---|---|---|---|---|---|---|")
        for size in self.sizes:
            for point in document("predict", self.store(size), "--model", "--threads", ",".join(map(str, THREADS)))["predictions"]:
                threads, real = point["threads"], times["%d %d" % (size, point["threads"])]
                model = max((each for each in point["regions"][0]["classes"] if each["model"] and each["model"]["model_ns"]), key=lambda each: each["weight"])["model"]
                linear = self.operations(size) * 8 * (2 * read + write) / threads
                error = model["model_ns"] / real - 1
                errors[threads].append(abs(error))
                out.append("| %d | %d | %s [%s, %s] | %s | %+.0f %% | %s | %+.1f %% | %s | %s |" %
                           (size, threads, time_text(real), *map(time_text, times["ranges"]["%d %d" % (size, threads)]), time_text(linear), 100 * (linear / real - 1),
                            time_text(model["model_ns"]), 100 * error, time_text(model["core_ns"]), time_text(model["transfer_ns"])))
        out.append("\nError of the model: " + "; ".join("%d thread%s: mean %.1f %%, largest %.1f %%" % (threads, "" if threads == 1 else "s", 100 * sum(each) / len(each), 100 * max(each))
                                                      for threads, each in errors.items()) + ".\n")


def betas(signature):
    pair = signature["pairs"][0]
    return pair["read"]["beta_ns_per_byte"], pair["write"]["beta_ns_per_byte"]


def left_out_write(out, klass, ratios):
    """Each program's times by what the others' real times are over the model's, by number of threads."""
    out.append("## Class %s, calibrated on the other programs\n" % klass)
    out.append("The model's time, times the geometric mean of real over modelled times of the other programs at as many threads: the program itself has no part in it.\n")
    out.append("| program | threads | factor | error |\n|---|---|---|---|")
    errors = []
    for (name, threads), ratio in ratios.items():
        others = [math.log(each) for (other, count), each in ratios.items() if other != name and count == threads]
        factor = math.exp(sum(others) / len(others))
        errors.append(abs(factor / ratio - 1))
        out.append("| %s | %d | %.3f | %+.1f %% |" % (name, threads, factor, 100 * (factor / ratio - 1)))
    out.append("\nMean error %.1f %%, largest %.1f %%.\n" % (100 * sum(errors) / len(errors), 100 * max(errors)))


class Programs:
    """The NAS benchmarks of one class."""

    def __init__(self, klass, words):
        self.klass, self.rounds, self.archs = klass, words.rounds, not words.no_archs
        self.stores = {name: "%s.%s.pcere" % (name, klass) for name in words.only or PROGRAMS}

    def prepare(self):
        here = os.getcwd()
        if not os.path.exists("ft." + self.klass):
            run(["make", "-s", "-C", os.path.join(ROOT, "cNPB"), "CLASS=" + self.klass, "BINDIR=" + here, "OBJDIR=" + here + "/objects", "CC=clang-19",
                 "CFLAGS=-O3 -g -fpass-plugin=" + run([PCERE, "version", "--plugin"]).strip()])

    def capture(self):
        for name, store in self.stores.items():
            captured(store, ["./%s.%s" % (name, self.klass)])

    def count(self):
        for store in self.stores.values():
            counted(store, (1, 2, 4) if self.archs else THREADS)

    def measure(self):
        """Wall times of whole processes, in ns."""
        kept("programs.%s.json" % self.klass, measured({"%s %d" % (name, threads): lambda name=name, threads=threads: self.process_ns(name, threads) for name in self.stores for threads in THREADS}, self.rounds))

    def process_ns(self, name, threads):
        begin = time.perf_counter_ns()
        run(["./%s.%s" % (name, self.klass)], threads)
        return time.perf_counter_ns() - begin

    def replay(self):
        for store in self.stores.values():
            run([PCERE, "replay", store, "--threads", ",".join(map(str, THREADS))])

    def write(self, out, signature):
        real, errors, ratios, inside = kept("programs.%s.json" % self.klass), [], {}, 0
        out.append("## The NAS benchmarks, class %s, from the signature alone\n" % self.klass)
        out.append("| program | threads | real | model | error | in the interval |\n|---|---|---|---|---|---|")
        for name, store in self.stores.items():
            for point in document("predict", store, "--model", "--threads", ",".join(map(str, THREADS)))["predictions"]:
                real_ns = real["%s %d" % (name, point["threads"])]
                error, within = point["time_ns"] / real_ns - 1, point["low_ns"] <= real_ns <= point["high_ns"]
                errors.append(abs(error))
                ratios[name, point["threads"]] = real_ns / point["time_ns"]
                inside += within
                out.append("| %s | %d | %s | %s | %+.1f %% | %s |" % (name, point["threads"], time_text(real_ns), interval_text(point), 100 * error, "yes" if within else "no"))
        out.append("\nMean error %.1f %%, largest %.1f %%; %d of %d in the interval. Real: %s. Parts outside regions have the capture's time.\n" %
                   (100 * sum(errors) / len(errors), 100 * max(errors), inside, len(errors), "medians of %d runs, which take turns" % real["rounds"] if real["rounds"] > 1 else "one run each"))
        left_out_write(out, self.klass, ratios)
        if self.archs:
            self.archs_write(out)

    def archs_write(self, out):
        """pcere predict --arch: this machine by its replays, others by the model, calibrated by those."""
        out.append("## Class %s with `--arch`\n" % self.klass)
        out.append("`host`: out of its replays. The others: by the model of published figures, calibrated by the replays here. Nobody has measured these programs there.\n")
        out.append("| program | --arch | threads | predicted | basis |\n|---|---|---|---|---|")
        for name, store in self.stores.items():
            for arch, threads in ARCHS:
                answer = document("predict", store, "--arch", arch, "--threads", ",".join(map(str, threads)))
                out.extend("| %s | %s | %d | %s | %s |" % (name, arch, point["threads"], interval_text(point), answer["basis"]) for point in answer["predictions"])
        out.append("")


def main():
    options = argparse.ArgumentParser(prog="evaluate-signature", description=__doc__)
    options.add_argument("--programs", metavar="CLASS", action="append", default=[], help="the NAS benchmarks of this class, too")
    options.add_argument("--no-cases", action="store_true", help="not the two cases of the paper")
    options.add_argument("--rounds", metavar="N", type=int, default=ROUNDS, help="real runs of each program (%(default)s)")
    options.add_argument("--only", metavar="PROGRAM", action="append", choices=PROGRAMS, help="of the benchmarks only this one")
    options.add_argument("--no-archs", action="store_true", help="not the table of --arch")
    words = options_parse(options, "signature.md")
    parts = [] if words.no_cases else [Case("vector", "Matrix-vector (Eq. 3, Fig. 4)", "n", VECTOR, VECTOR_SIZES, 2),
                                       Case("matrix", "Matrix-matrix, i-k-j (Fig. 5)", "n * n", MATRIX, MATRIX_SIZES, 3)]
    parts += [Programs(each, words) for each in words.programs]
    with contextlib.ExitStack() as stack:
        folder = words.folder or stack.enter_context(tempfile.TemporaryDirectory())
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
        for step in words.step:
            if step == "write":
                break
            for part in parts:
                getattr(part, step)()
        if "write" in words.step:
            signature = document("platform", "show")["platform"]
            out = ["# The model of a machine, on this one\n", "Left by `scripts/evaluate-signature`; %s; %s.\n" % (signature["title"], "; ".join(signature["sources"])),
                   "Linear model: the paper's Eq. 3, with the betas of two processors (8 bytes; read %.3g, write %.3g ns/B), over the threads.\n" % betas(signature)]
            for part in parts:
                part.write(out, signature)
            with open(words.o, "w") as file:
                file.write("\n".join(out))
        os.chdir("/")


main()
