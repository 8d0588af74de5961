"""scripts/evaluation/modelled.py - what the evaluations of the model share: running commands, steps that are made one by one, times as text."""
import json
import os
import statistics
import subprocess
import sys

PCERE = os.environ["PCERE"]
THREADS = (1, 2)
STEPS = ("prepare", "capture", "count", "measure", "replay", "write")
STEPS_HELP = """prepare: compile; capture: run and capture programs (times outside regions); count: what codelets do; measure: real runs; replay: this machine's replays,
which calibrate others; write: the document. Only capture, measure and replay want a quiet machine. All of them, in this order, if not given; each leaves its results in the folder."""


def run(words, threads=None):
    """What a command prints; with `threads`, a core each: two threads on one core for a while are a good part of runs as short as these, and the model has none of it."""
    environment = dict(os.environ)
    if threads:
        environment.update(OMP_NUM_THREADS=str(threads), OMP_PROC_BIND="true", OMP_PLACES="cores")
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit("%s: %s" % (" ".join(words), done.stderr.strip()))
    return done.stdout


def document(*words):
    return json.loads(run([PCERE, *words, "--json"]))


# A program of the evaluations times steps by a clock of nanoseconds (that of omp_get_wtime has microseconds), and prints the median.
CLOCK = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static void median_print(double *times, long count)
{
    qsort(times, (size_t)count, sizeof *times, by_value);
    printf("%.0f\n", times[count / 2]);
}
"""
ROUNDS = 5


def measured(tasks, rounds=ROUNDS):
    """Medians of so many processes each, which take turns, so that a machine that is busy for a while is so for all. `tasks`: by name a function that measures once."""
    samples = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, measure in tasks.items():
            samples[name].append(measure())
    return {"rounds": rounds, "ranges": {name: [min(each), max(each)] for name, each in samples.items()}, **{name: statistics.median(each) for name, each in samples.items()}}


def compiled(name, text, flags):
    """A program NAME with the plugin, out of text."""
    with open(name + ".c", "w") as file:
        file.write(CLOCK + text)
    run(["clang-19", *flags, "-fpass-plugin=" + run([PCERE, "version", "--plugin"]).strip(), name + ".c", "-o", "./" + name])


def captured(store, words, *options):
    if not os.path.exists(store):
        run([PCERE, "capture", *options, "-o", store, *words])


def counted(store, threads=THREADS):
    """What its codelets do is kept in the store, so that later predictions only compute."""
    run([PCERE, "predict", store, "--model", "--threads", ",".join(map(str, threads))])


def kept(name, value=None):
    """What an earlier step measured, or, with a value, for a later one."""
    if value is None:
        with open(name) as file:
            return json.load(file)
    with open(name, "w") as file:
        json.dump(value, file)
    return value


def time_text(time_ns):
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if time_ns >= scale:
            return "%.3g %s" % (time_ns / scale, unit)
    return "%.3g ns" % time_ns


def interval_text(point):
    return "%s [%s, %s]" % (time_text(point["time_ns"]), time_text(point["low_ns"]), time_text(point["high_ns"]))


def options_parse(parser, default):
    parser.add_argument("-o", metavar="FILE", default=default, help="the document (%s)" % default)
    parser.add_argument("--folder", metavar="FOLDER", help="where programs, captures and results are kept, so that steps can be made apart")
    parser.add_argument("--step", action="append", choices=STEPS, help=STEPS_HELP)
    words = parser.parse_args()
    if words.step and not words.folder:
        parser.error("--step needs a --folder, where one step leaves what the next one needs")
    words.o = os.path.abspath(words.o)
    words.step = words.step or list(STEPS)
    return words
