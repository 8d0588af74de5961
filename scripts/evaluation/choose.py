"""scripts/evaluation/choose.py - does `pcere choose` take the right algorithm; see scripts/evaluate-choose."""
import argparse
import contextlib
import itertools
import os
import re
import tempfile

from modelled import ROUNDS, THREADS, captured, compiled, counted, document, kept, measured, options_parse, run, time_text
from problems import BLIND, HELD_OUT, NEW, PROBLEMS

FLAGS = ["-O2", "-g", "-fopenmp", "-lm"]
REGRET_MOST = 0.05
# Of the known problems, sizes that nobody has looked at while the model was made: between the known ones, below and above.
OTHER_SIZES = {"matrix times vector": (224, 700, 1700), "matrix times matrix": (96, 224), "reduction": (900, 2300)}
GROUPS = (
    (PROBLEMS, "## Known problems\n\nNo constant was fitted to them, but what the model lacked was looked for with their help.\n"),
    ({title: (OTHER_SIZES[title], *rest) for title, (_, *rest) in PROBLEMS.items()},
     "## Sizes held out\n\nThe same algorithms at sizes that had no part in the model: captured, counted and measured once, when it was done.\n"),
    (HELD_OUT, "## Held out before sets and addresses\n\nThey were written after the model as it was without sets of caches and without the reach of addresses, "
               "which were found with their help.\n"),
    (NEW, "## Held out before branches\n\nThey were written after sets and addresses were in the model. What the sparse matrix showed led to a predictor with longer histories, "
          "and to what conditions take.\n"),
    (BLIND, "## Held out before constructs and selects\n\nWritten after the model as it was, and run once with it. Worksharing loops as often as they are met and branches out of selects came of what it showed.\n"),
)
STEPS = 5                         # of a captured run, which are one class: what is measured are steps like the others, too

PROGRAM = r"""
#include <math.h>
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
        self.needs, self.title, self.sizes, self.algorithms = needs, title, sizes, {re.sub("[ ,]+", "-", title + " " + name): (name, body) for name, body in algorithms.items()}
        self.results = "-".join([title.replace(" ", "-"), *map(str, sizes)]) + ".json"

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
    options.add_argument("--problem", action="append", choices=[*PROBLEMS, *HELD_OUT, *NEW, *BLIND], help="only this one")
    options.add_argument("--group", metavar="N", type=int, action="append", choices=range(len(GROUPS)), help="only the tables of these numbers, from 0")
    words = options_parse(options, "choose.md")
    groups = [[Problem(title, *rest) for title, rest in each.items() if not words.problem or title in words.problem] if not words.group or number in words.group else []
              for number, (each, _) in enumerate(GROUPS)]
    with contextlib.ExitStack() as stack:
        folder = words.folder or stack.enter_context(tempfile.TemporaryDirectory())
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
        for step in words.step:
            if step == "write":
                break
            for problem in itertools.chain(*groups):
                getattr(problem, step)()
        if "write" in words.step:
            platform = document("platform", "show")["platform"]
            out = ["# Choosing an algorithm by the model\n", "Left by `scripts/evaluate-choose`; %s; %s. Regret: how much longer the chosen algorithm takes than the fastest, as measured: medians of %d "
                   "processes, which take turns, threads on a core each.\n" % (platform["title"], "; ".join(platform["sources"]), ROUNDS)]
            for problems, (_, heading) in zip(groups, GROUPS):
                if problems:
                    out.append(heading)
                    table_write(out, problems)
            with open(words.o, "w") as file:
                file.write("\n".join(out))
        os.chdir("/")


main()
