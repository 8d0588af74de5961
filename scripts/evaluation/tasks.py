"""The experiments on tasks: block sizes, generated graphs, and what-if against real runs. Called by scripts/evaluate-tasks."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PCERE, CC, LIBRARIES = os.environ["PCERE"], os.environ["CC"], os.environ["LIBRARIES"]
THREADS = len(os.sched_getaffinity(0))
findings = []


INTRODUCTION = """# Experiments on tasks

`scripts/evaluate-tasks -o docs/results/tasks.md`, %d threads. Tables in the form of V. Pinho (UNICAMP 2023), 5.1 to 5.9. Plain runs give times (medians of %d), traced ones metrics (the one of %d whose total time is the median).
"""
NOTES = """Threads were bound (`OMP_PROC_BIND=true`); without that, two threads share a processor for the first milliseconds, and every run with two takes 20 to 40 % more than predicted. Of graphs the runs with
the shortest critical path of three count: a thread that has to leave its processor for 4 ms makes one task of 0.2 ms a quarter of the path. Graphs have 23 x 24 dependences where the paper's have 576: the first of 24 rows waits for nothing.

### What does not hold or might not, and why

*On devices the best time does not go with the best metric.* The metrics are of threads that computed. In the paper all of them do, each on a processor of its own; here up to eight helper threads of the runtime
serve four devices on two processors, and how many of them wake differs from run to run. The table of runs of one program and one block shows what that does: in a run in which few threads computed they are
busy for more of their time, so that it has the best efficiency and one of the longest times. A block so large that one thread computes everything has an efficiency of 1 for the same reason, on threads, too.

*The share of communication* is nothing that the paper says falls: its tables 5.6 and 5.7 have 2.5 % for the smaller and 2.8 % for the larger blocks. By arithmetic it falls as 1 / block: work grows with the third
power, bytes with the second. So it does here with memory that was written before; the table of work and copies apart shows what hides it in short runs: of a matrix of 512 there are eight tasks with blocks of 256
(256 KiB each) on up to eight helper threads, each of which allocates memory that nobody has touched, and pays for its pages several times what it pays for the copy.

*Random nearest.* With a period of 3 and a fraction of 0.25 many places have no neighbour in any of the three draws that are repeated (0.75^3 of them with radix 2): their paths are the chains of the base case, and the
least path is no longer than there. With longer periods (EXP 5 and 8) it is. More balance with a larger fraction is said of EXP 2 to 4 only, in the paper, too: its EXP 5 to 7 show less.

*Small tasks in predictions from one thread.* A team of one makes no queue. In SGEMM with blocks of 64 (`pcere metrics what-if`: the single construct's body, and "a task costs") making a task takes 0.20 us with one
thread and 1.87 us with two, and each task 1.4 us beside its work, which is nothing with one: both are lacking in what one thread tells, and are in a trace with two (last column). So programs with tasks of less than
about 50 us are better traced with two threads or more.
"""


def finding(sentence, holds):
    findings.append((sentence, bool(holds)))


def call(command, threads=None, folder=None, extra=None):
    environment = dict(os.environ, **(extra or {}))
    environment["LD_LIBRARY_PATH"] = LIBRARIES
    environment["OMP_PROC_BIND"] = "true"        # two threads on one processor for a while are a quarter of such short runs
    if threads:
        environment["OMP_NUM_THREADS"] = str(threads)
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit("evaluate-tasks: %s: status %d: %s" % (" ".join(command), done.returncode, done.stderr.strip()))
    return done


def said(text):
    """What the program says that it took."""
    words = text.split()
    return float(words[words.index("seconds") + 1])


def seconds(command, threads, repeat):
    return statistics.median(said(call(command, threads).stdout) for _ in range(repeat))


def pcere(*words):
    return json.loads(call([PCERE, *words, "--json"]).stdout)["runs"]


def trace(folder, name, command, threads, extra=None):
    path = os.path.join(folder, name + ".pct")
    call([PCERE, "trace", "--force", "--threads", str(threads), "-o", path, *command], extra=extra)
    return path


def table(headings, rows):
    print("| " + " | ".join(headings) + " |")
    print("|" + "---|" * len(headings))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def typical(folder, name, command, threads, repeat):
    """The traced run whose total time is the median of some, and its metrics."""
    runs = []
    for i in range(repeat):
        path = trace(folder, "%s-%d" % (name, i), command, threads)
        runs.append((pcere("metrics", "omp", path)[0]["metrics"], path))
    runs.sort(key=lambda run: run[0]["Total time [ns]"])
    return runs[len(runs) // 2]


def blocks(folder, program, kernel, size, sizes, where, repeat):
    names = ["Computation Time [%]"] + ["%s %s" % (what, which) for what in ("Computation", "Communication") for which in ("Load Balance Efficiency", "Efficiency", "Parallel Efficiency")] + [
        "Process Load Balance Efficiency", "Process Communication Efficiency", "Process Efficiency", "Serial Region Efficiency"]
    rows, times, runs = [["time [ms]"], ["Number of tasks"], ["Total time [ms]"], ["Parallel Time [ms]"]] + [[n] for n in names], [], []
    for block in sizes:
        command = [program, kernel, str(size), str(block)]
        times.append(seconds(command, THREADS, repeat))
        runs.append(typical(folder, "%s-%s-%d" % (kernel, where, block), command, THREADS, min(repeat, 3)))
        metrics = runs[-1][0]
        rows[0].append("%.1f" % (1e3 * times[-1]))
        rows[1].append(metrics["Number of tasks"])
        rows[2].append("%.1f" % (metrics["Total time [ns]"] / 1e6))
        rows[3].append("%.1f" % (metrics["Parallel Time [ns]"] / 1e6))
        for row, name in zip(rows[4:], names):
            row.append("-" if metrics[name] is None else "%.4g" % metrics[name])
    title = "S" + kernel.upper()
    print("### %s of %d, blocks swept, on %s\n" % (title, size, where))
    table(["METRIC"] + ["block %d" % b for b in sizes], rows)
    title += " on devices" if where == "devices" else ""
    best = times.index(min(times))
    for name in ("Computation Parallel Efficiency", "Process Efficiency"):
        values = [metrics[name] or 0 for metrics, _ in runs]
        finding("%s: the best time goes with the best %s (within 0.05)" % (title, name), values[best] >= max(values) - 0.05)
    if kernel == "gemm" or where == "threads":
        finding("%s: neither the smallest nor the largest block is best" % title, 0 < best < len(sizes) - 1)
    return sizes[best], [path for _, path in runs]


def tasks(path, heading):
    rows = pcere("metrics", "task", path)[0]["rows"]
    total = sum(r["sum_ns"] for r in rows)
    print("### %s\n" % heading)
    table(["Task location", "AVG [us]", "AVG %", "MAX [us]", "MAX %", "MIN [us]", "MIN %", "SUM [ms]", "SUM %", "COUNT", "TYPE"],
          [[os.path.basename(r["location"]), *(text for key in ("average_ns", "max_ns", "min_ns") for text in ("%.1f" % (r[key] / 1e3), "%.3g" % (100 * r[key] / total))),
            "%.2f" % (r["sum_ns"] / 1e6), "%.2f" % (100 * r["sum_ratio"]), r["count"], r["type"]] for r in rows])
    return rows


def costliest(rows, where, block):
    work = [r for r in rows if r["type"] == "Execute"]
    finding("SPOTRF%s, blocks of %d: the update by products is the costliest task, with most of the time" % (where, block),
            work[0]["count"] == max(r["count"] for r in work) and work[0]["sum_ratio"] > 0.5)


def moved(path):
    """What a run on devices took for its work, and for moving its data: ns of all tasks, and operations."""
    work, moving, count = 0, 0, 0
    for row in pcere("metrics", "task", path)[0]["rows"]:
        if row["type"] == "Execute":
            work += row["sum_ns"]
        else:
            moving, count = moving + row["sum_ns"], count + row["count"]
    return work, moving, count


def moving(folder, program, size, sizes, repeat):
    """What larger blocks do to the share of communication, with memory that is new and with memory that was there before."""
    touched = os.path.join(folder, "touched.so")
    call([CC, "-O1", "-fno-builtin", "-shared", "-fPIC", "touched.c", "-o", touched], folder=HERE)
    # One arena that keeps what it has: what devices allocate comes from memory that was written before.
    kept = {"LD_PRELOAD": touched, "MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "1000000000", "MALLOC_TRIM_THRESHOLD_": "2000000000"}
    rows, shares = [["work of a task [us]"]], []
    for name, extra in (("new memory", {}), ("touched memory", kept)):
        shares.append([])
        for row in ("moving a block [us], %s" % name, "moving a block [GB/s], %s" % name, "moving over work, %s" % name):
            rows.append([row])
        for block in sizes:
            runs = [moved(trace(folder, "moving", [program, "gemm", str(size), str(block)], THREADS, extra)) for _ in range(repeat)]
            work, one, ratio = (statistics.median(values) for values in ([w for w, _, _ in runs], [m / n for _, m, n in runs], [m / w for w, m, _ in runs]))
            if not extra:
                rows[0].append("%.1f" % (work / (size // block) ** 3 / 1e3))
            for row, text in zip(rows[-3:], ("%.2f" % (one / 1e3), "%.1f" % (4 * block * block / one), "%.3f" % ratio)):
                row.append(text)
            shares[-1].append(ratio)
    print("### SGEMM of %d on devices: work and copies apart, medians of %d traced runs\n" % (size, repeat))
    table([""] + ["block %d" % b for b in sizes], rows)
    finding("SGEMM on devices, with memory that was touched before: larger blocks, less communication for each task's work", all(a > b for a, b in zip(shares[1], shares[1][1:])))
    finding("SGEMM on devices, blocks of %d: memory that nobody has touched makes communication dearer (at least 1.5 times)" % sizes[-1], shares[0][-1] > 1.5 * shares[1][-1])


def helpers(folder, program, size, block, count):
    """One program and block, run several times: how many threads of devices computed, and what the metrics made of it."""
    rows = []
    for _ in range(count):
        path = os.path.join(folder, "helpers.pct")
        took = said(call([PCERE, "trace", "--force", "--threads", str(THREADS), "-o", path, program, "potrf", str(size), str(block)]).stderr)
        metrics = pcere("metrics", "omp", path)[0]["metrics"]
        call([PCERE, "timeline", path, "--force", "-o", path + ".json"])
        with open(path + ".json") as file:
            events = json.load(file)["traceEvents"]
        workers = {e["pid"] for e in events if e["name"] == "process_name" and e["args"]["name"].startswith("Worker")}
        computing = {(e["pid"], e["tid"]) for e in events if e["ph"] == "X" and e["pid"] in workers and e["name"].startswith("Task ")}
        names = ["Computation Load Balance Efficiency", "Computation Efficiency", "Computation Parallel Efficiency"]
        rows.append(["%.1f" % (1e3 * took), len(computing), *("%.4g" % metrics[name] for name in names)])
    rows.sort(key=lambda row: float(row[0]))
    print("### SPOTRF of %d on devices, blocks of %d: %d traced runs, the shortest first\n" % (size, block, count))
    table(["time [ms]", "threads that computed", *names], rows)


DRAWS = 5


def patterns(folder, program, settings, heading, quick):
    """Graphs of each setting, drawn several times: the first one's row as the paper has it, and the means of all."""
    rows, means = [], []
    for number, (pattern, radix, period, fraction) in enumerate(settings, 1):
        drawn = []
        for draw in range(1 if quick else DRAWS):
            # Of three runs the one with the shortest critical path: a thread that had to leave its processor for a while made its task longer.
            command = [program, pattern, str(radix), str(period), str(fraction), "24", "24", "20" if quick else "200", str(draw)]
            runs = [pcere("metrics", "graph", trace(folder, "patterns", command, THREADS))[0]["metrics"] for _ in range(1 if quick else 3)]
            drawn.append(min(runs, key=lambda m: m["critical path time [ns]"]))
        keys = ("dependencies", "critical path time [ns]", "max critical path metric", "min critical path metric", "average", "median")
        mean = {key: statistics.mean(d[key] or 0 for d in drawn) for key in keys}
        means.append(mean)
        first = drawn[0]
        number_of = lambda key: "%d x %.2f" % (first[key + " count"], first[key]) if first[key] is not None else "-"
        rows.append([number, first["dependencies"], radix, period, fraction, "%.2f" % (first["critical path time [ns]"] / 1e6), number_of("max critical path metric"),
                     number_of("min critical path metric"), *("%.2f" % first[key] if first[key] is not None else "-" for key in ("average", "median")), "%.0f" % mean["dependencies"],
                     *("%.2f [%.2f, %.2f]" % (mean[key], min(d[key] or 0 for d in drawn), max(d[key] or 0 for d in drawn)) for key in ("min critical path metric", "average"))])
    print("### %s\n" % heading)
    table(["EXP", "dependencies", "radix", "period", "fraction", "critical path [ms]", "max", "min", "average", "median", "dependencies of %d draws" % len(drawn),
           "min of them", "average of them"], rows)
    return means


def graphs_check(nearest, spread):
    """Tables 5.8 and 5.9, by the means of all draws."""
    balance = lambda m: (m["min critical path metric"], m["average"])
    by_fraction = [nearest[i:i + 3] for i in (1, 4, 7)]
    for k, name in enumerate(("least", "average")):
        finding("random nearest: the base case (radix 1) is the least balanced, by its %s path (within 0.02)" % name, all(balance(nearest[0])[k] <= balance(n)[k] + 0.02 for n in nearest[1:]))
    finding("random nearest: a larger fraction, more dependences", all(a["dependencies"] < b["dependencies"] for three in by_fraction for a, b in zip(three, three[1:])))
    finding("random nearest, EXP 2 to 4: a larger fraction, more balance (average and least)", all(balance(nearest[1])[k] < balance(nearest[3])[k] for k in (0, 1)))
    finding("random nearest: the period hardly changes the number of dependences", all(abs(nearest[i]["dependencies"] / nearest[(i - 1) % 3 + 1]["dependencies"] - 1) < 0.1 for i in (4, 6, 7, 9)))
    finding("random nearest: a longer period (3 to 24), more balance (average, fraction 0.25)", nearest[1]["average"] < nearest[7]["average"])
    finding("spread: dependences grow in proportion to the radix", spread[1]["dependencies"] == 2 * spread[0]["dependencies"] and spread[2]["dependencies"] == 4 * spread[0]["dependencies"])
    finding("spread: a larger radix, more balance (average and least)", all(balance(a)[k] < balance(b)[k] + 0.005 for a, b in zip(spread, spread[1:]) for k in (0, 1)))
    finding("spread is more balanced than random nearest (radix 2, period 3, fraction 0.25)", all(a > b for a, b in zip(balance(spread[1]), balance(nearest[1]))))


def predicted(folder, command, threads):
    """A traced run with some threads: what it took, and what it would take with all. What the program does before its region is in predictions and not in what it says that it took."""
    path = os.path.join(folder, "what-if.pct")
    took = said(call([PCERE, "trace", "--force", "--threads", str(threads), "-o", path, *command]).stderr)
    run = pcere("metrics", "what-if", path, "--threads", "1,%d" % THREADS)[0]
    return took, run["predictions"][1]["as_it_is_ns"] / 1e9 - (run["traced_ns"] / 1e9 - took)


def what_if(folder, cases, repeat):
    rows, errors = [], []
    for name, command in cases:
        rounds = []
        for _ in range(repeat):
            alone, from_one = predicted(folder, command, 1)
            from_all = predicted(folder, command, THREADS)[1]
            real = seconds(command, THREADS, min(repeat, 3))
            rounds.append((alone, from_one, real, 100 * (from_one / real - 1), 100 * (from_all / real - 1)))
        alone, from_one, real, error, error_all = (statistics.median(values) for values in zip(*rounds))
        errors.append(error / 100)
        spread = lambda k: "[%+.1f, %+.1f]" % (min(r[k] for r in rounds), max(r[k] for r in rounds))
        rows.append([name, "%.1f" % (1e3 * alone), "%.1f" % (1e3 * from_one), "%.1f" % (1e3 * real), "%+.1f %s" % (error, spread(3)), "%+.1f %s" % (error_all, spread(4))])
    print("### What-if: %d threads predicted, medians of %d rounds [least, most]\n" % (THREADS, repeat))
    table(["program", "1 thread, traced [ms]", "predicted [ms]", "real [ms]", "error %", "error %% from %d threads" % THREADS], rows)
    return errors


def main():
    parser = argparse.ArgumentParser(prog="evaluate-tasks")
    parser.add_argument("--quick", action="store_true", help="small matrices, one run of each: to see that it works")
    parser.add_argument("-o", dest="output", help="where the document goes; standard output if not given")
    words = parser.parse_args()
    repeat, size, sizes, few = (1, 128, [8, 32, 128], 1) if words.quick else (5, 1024, [32, 64, 128, 256, 512, 1024], 3)
    if words.output:
        sys.stdout = open(words.output, "w")
    with tempfile.TemporaryDirectory() as folder:
        program, offload, graphs = (os.path.join(folder, n) for n in ("tiles", "offload", "patterns"))
        flags = ["-O2", "-g", "-fopenmp"]
        call([CC, *flags, "tiles.c", "-o", program, "-lm"], folder=HERE)
        call([CC, *flags, "patterns.c", "-o", graphs], folder=HERE)
        devices = subprocess.run([CC, *flags, "-DDEVICES", "-fopenmp-targets=x86_64-pc-linux-gnu", "tiles.c", "-o", offload, "-lm"], cwd=HERE, capture_output=True).returncode == 0
        print(INTRODUCTION % (THREADS, repeat, few))
        best = {}
        for kernel in ("gemm", "potrf"):
            swept = sizes if kernel == "gemm" else sizes[:-1]          # a factorisation in one block takes seconds, and shows nothing more
            best[kernel, "threads"], paths = blocks(folder, program, kernel, size, swept, "threads", repeat)
            if kernel == "potrf":
                for block, path in list(zip(swept, paths))[-4:-2]:
                    costliest(tasks(path, "SPOTRF on threads, tasks, blocks of %d" % block), "", block)
            if devices:
                dswept = swept if words.quick else swept[1:]
                best[kernel, "devices"], paths = blocks(folder, offload, kernel, size, dswept, "devices", repeat)
                if kernel == "potrf":
                    for block, path in list(zip(dswept, paths))[:2]:
                        rows = tasks(path, "SPOTRF on devices, tasks, blocks of %d" % block)
                        costliest(rows, " on devices", block)
                        work = max(r["average_ns"] for r in rows if r["type"] == "Execute")
                        finding("SPOTRF on devices, blocks of %d: moving a block takes a tenth of the costliest task, or less" % block,
                                all(r["average_ns"] < work / 10 for r in rows if r["type"] != "Execute"))
        for where in ("threads", "devices") if devices else ("threads",):
            finding("on %s: SPOTRF, whose tasks wait for each other, wants blocks that are not larger than SGEMM's" % where, best["potrf", where] <= best["gemm", where])
        if devices:
            moving(folder, offload, size // 2, sizes[1:4] if not words.quick else sizes[:2], repeat)
            helpers(folder, offload, size, sizes[1], 2 if words.quick else 10)
        nearest = patterns(folder, graphs, [("random", 1, 3, 0.25)] + [("random", 2, period, fraction) for period in (3, 16, 24) for fraction in (0.25, 0.5, 0.8)] +
                           [("random", 3, 3, 0.25)], "Graphs, random nearest", words.quick)
        spread = patterns(folder, graphs, [("spread", radix, 3, 0.25) for radix in (1, 2, 4)], "Graphs, spread", words.quick)
        patterns(folder, graphs, [("stencil", 3, 3, 0.25), ("nearest", 2, 3, 0.25), ("nearest", 4, 3, 0.25)], "Graphs, stencil and nearest", words.quick)
        graphs_check(nearest, spread)
        side = str(size)
        errors = what_if(folder, [("S%s, blocks of %d" % (kernel.upper(), block), [program, kernel, side, str(block)]) for kernel in ("gemm", "potrf") for block in sizes[1:4]] + [
                                  ("stencil", [graphs, "stencil", "3", "3", "0.25", "24", "24", "200"]), ("spread, radix 2", [graphs, "spread", "2", "3", "0.25", "24", "24", "200"])], repeat)
        finding("what-if: predictions from one thread are within 15 %% of the run with %d" % THREADS, all(abs(e) < 0.15 for e in errors))
        finding("what-if: half of them within 5 %", statistics.median(abs(e) for e in errors) < 0.05)
        print("## Findings\n")
        table(["finding", "holds"], [[sentence, "yes" if holds else "**no**"] for sentence, holds in findings])
        print(NOTES)
    if words.output:
        sys.stdout.close()
    sys.exit(0 if all(h for _, h in findings) or words.quick else 1)


main()
