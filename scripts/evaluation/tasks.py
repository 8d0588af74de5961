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


def finding(sentence, holds):
    findings.append((sentence, bool(holds)))


def call(command, threads=None, folder=None):
    environment = dict(os.environ)
    environment["LD_LIBRARY_PATH"] = LIBRARIES
    environment["OMP_PROC_BIND"] = "true"        # two threads on one processor for a while are a quarter of such short runs
    if threads:
        environment["OMP_NUM_THREADS"] = str(threads)
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit("evaluate-tasks: %s: status %d: %s" % (" ".join(command), done.returncode, done.stderr.strip()))
    return done


def seconds(command, threads, repeat):
    """Median of what the program says that it took."""
    times = []
    for _ in range(repeat):
        words = call(command, threads).stdout.split()
        times.append(float(words[words.index("seconds") + 1]))
    return statistics.median(times)


def pcere(*words):
    return json.loads(call([PCERE, *words, "--json"]).stdout)["runs"]


def trace(folder, name, command, threads):
    path = os.path.join(folder, name + ".pct")
    call([PCERE, "trace", "--force", "--threads", str(threads), "-o", path, *command])
    return path


def table(headings, rows):
    print("| " + " | ".join(headings) + " |")
    print("|" + "---|" * len(headings))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def blocks(folder, program, kernel, size, sizes, where, repeat):
    names = ["Computation Time [%]", "Computation Load Balance Efficiency", "Computation Efficiency", "Computation Parallel Efficiency", "Communication Parallel Efficiency", "Process Efficiency",
             "Serial Region Efficiency"]
    rows, times, combined, paths = [["time [ms]"], ["Number of tasks"]] + [[n] for n in names], [], [], []
    for block in sizes:
        command = [program, kernel, str(size), str(block)]
        times.append(seconds(command, THREADS, repeat))
        paths.append(trace(folder, "%s-%s-%d" % (kernel, where, block), command, THREADS))
        metrics = pcere("metrics", "omp", paths[-1])[0]["metrics"]
        rows[0].append("%.1f" % (1e3 * times[-1]))
        rows[1].append(metrics["Number of tasks"])
        for row, name in zip(rows[2:], names):
            row.append("-" if metrics[name] is None else "%.4g" % metrics[name])
        combined.append(metrics["Computation Parallel Efficiency"] or 0)
    title = "S" + kernel.upper()
    print("### %s of %d, blocks swept, on %s\n" % (title, size, where))
    table(["METRIC"] + ["block %d" % b for b in sizes], rows)
    return times, combined, paths


def tasks(path, heading):
    rows = pcere("metrics", "task", path)[0]["rows"]
    print("### %s\n" % heading)
    table(["Task location", "AVG [us]", "MAX [us]", "MIN [us]", "SUM [ms]", "SUM %", "COUNT", "TYPE"],
          [[r["location"], "%.1f" % (r["average_ns"] / 1e3), "%.1f" % (r["max_ns"] / 1e3), "%.1f" % (r["min_ns"] / 1e3), "%.2f" % (r["sum_ns"] / 1e6), "%.2f" % (100 * r["sum_ratio"]), r["count"], r["type"]]
           for r in rows])
    return rows


def patterns(folder, program, settings, heading):
    rows, kept = [], []
    for number, (pattern, radix, period, fraction) in enumerate(settings, 1):
        path = trace(folder, "patterns", [program, pattern, str(radix), str(period), str(fraction), "24", "24", "200"], THREADS)
        m = pcere("metrics", "graph", path)[0]["metrics"]
        kept.append(m)
        number_of = lambda key: "%d x %.2f" % (m[key + " count"], m[key]) if m[key] is not None else "-"
        rows.append([number, m["dependencies"], radix, period, fraction, "%.2f" % (m["critical path time [ns]"] / 1e6), number_of("max critical path metric"),
                     number_of("min critical path metric"), "%.2f" % m["average"] if m["average"] is not None else "-", "%.2f" % m["median"] if m["median"] is not None else "-"])
    print("### %s\n" % heading)
    table(["EXP", "dependencies", "radix", "period", "fraction", "critical path [ms]", "max", "min", "average", "median"], rows)
    return kept


def what_if(folder, cases, repeat):
    rows, errors = [], []
    for name, command in cases:
        one = trace(folder, "one", command, 1)
        run = pcere("metrics", "what-if", one, "--threads", "1,%d" % THREADS)[0]
        # What the program does before its region is in both: the region's own time is the difference to the whole.
        before = run["predictions"][0]["as_it_is_ns"] / 1e9 - seconds(command, 1, repeat)
        predicted = run["predictions"][1]["as_it_is_ns"] / 1e9 - before
        real = seconds(command, THREADS, repeat)
        errors.append(predicted / real - 1)
        rows.append([name, "%.1f" % (1e3 * seconds(command, 1, repeat)), "%.1f" % (1e3 * predicted), "%.1f" % (1e3 * real), "%+.1f" % (100 * errors[-1])])
    print("### What-if: %d threads predicted from one\n" % THREADS)
    table(["program", "1 thread [ms]", "predicted [ms]", "real [ms]", "error %"], rows)
    return errors


def main():
    parser = argparse.ArgumentParser(prog="evaluate-tasks")
    parser.add_argument("--quick", action="store_true", help="small matrices, one run of each: to see that it works")
    parser.add_argument("-o", dest="output", help="where the document goes; standard output if not given")
    words = parser.parse_args()
    repeat, size, sizes = (1, 128, [8, 32]) if words.quick else (5, 1024, [32, 64, 128, 256, 512])
    if words.output:
        sys.stdout = open(words.output, "w")
    with tempfile.TemporaryDirectory() as folder:
        program, offload, graphs = (os.path.join(folder, n) for n in ("tiles", "offload", "patterns"))
        flags = ["-O2", "-g", "-fopenmp"]
        call([CC, *flags, "tiles.c", "-o", program, "-lm"], folder=HERE)
        call([CC, *flags, "patterns.c", "-o", graphs], folder=HERE)
        devices = subprocess.run([CC, *flags, "-DDEVICES", "-fopenmp-targets=x86_64-pc-linux-gnu", "tiles.c", "-o", offload, "-lm"], cwd=HERE, capture_output=True).returncode == 0
        print("# Experiments on tasks\n\n`scripts/evaluate-tasks`, %d threads, medians of %d runs. Tables in the form of V. Pinho (UNICAMP 2023), 5.2 to 5.9; traced runs give metrics, plain runs times.\n" % (THREADS, repeat))
        for kernel in ("gemm", "potrf"):
            times, combined, paths = blocks(folder, program, kernel, size, sizes, "threads", repeat)
            best = times.index(min(times))
            good = [i for i, c in enumerate(combined) if c >= max(combined) - 0.05]
            finding("S%s: the best time goes with the best combined metric (within 0.05)" % kernel.upper(), best in good)
            finding("S%s: neither the smallest nor the largest block is best" % kernel.upper(), 0 < best < len(sizes) - 1)
            if kernel == "potrf":
                rows = tasks(paths[min(1, len(paths) - 1)], "SPOTRF, tasks, blocks of %d" % sizes[1])
                finding("SPOTRF: the update by products is the costliest task, with most of the time", rows[0]["count"] == max(r["count"] for r in rows) and rows[0]["sum_ratio"] > 0.5)
            if devices:
                dtimes, dcombined, dpaths = blocks(folder, offload, kernel, size // 2, sizes[1:4], "devices", repeat)
                finding("S%s on devices: larger blocks, less communication for each task's work" % kernel.upper(),
                        all(a >= b for a, b in zip(*(lambda s: (s, s[1:]))([sum(r["sum_ratio"] for r in pcere("metrics", "task", p)[0]["rows"] if r["type"] != "Execute") for p in dpaths]))))
        nearest = patterns(folder, graphs, [("random", 1, 3, 0.25), ("random", 3, 3, 0.25), ("random", 3, 3, 0.5), ("random", 3, 3, 0.8), ("random", 3, 16, 0.25), ("random", 3, 24, 0.25)],
                           "Graphs, random nearest")
        spread = patterns(folder, graphs, [("spread", 1, 3, 0.25), ("spread", 2, 3, 0.25), ("spread", 4, 3, 0.25)], "Graphs, spread")
        patterns(folder, graphs, [("stencil", 3, 3, 0.25), ("nearest", 2, 3, 0.25), ("nearest", 4, 3, 0.25)], "Graphs, stencil and nearest")
        finding("spread: dependences grow in proportion to the radix", spread[1]["dependencies"] == 2 * spread[0]["dependencies"] and spread[2]["dependencies"] == 4 * spread[0]["dependencies"])
        finding("spread: a larger radix, more balance (average and least)", spread[0]["average"] < spread[1]["average"] <= spread[2]["average"] + 0.02 and
                spread[0]["min critical path metric"] < spread[1]["min critical path metric"])
        finding("random nearest: the base case (radix 1) is the least balanced", all(nearest[0]["average"] <= n["average"] + 0.02 for n in nearest[1:]))
        finding("random nearest: a larger fraction, more dependences and more balance", nearest[1]["dependencies"] < nearest[2]["dependencies"] < nearest[3]["dependencies"] and
                nearest[1]["average"] <= nearest[3]["average"] + 0.02)
        finding("random nearest: the period hardly changes the number of dependences", abs(nearest[5]["dependencies"] / nearest[1]["dependencies"] - 1) < 0.1)
        side = str(size)
        errors = what_if(folder, [("S%s, blocks of %d" % (kernel.upper(), block), [program, kernel, side, str(block)]) for kernel in ("gemm", "potrf") for block in sizes[1:4]] + [
                                  ("stencil", [graphs, "stencil", "3", "3", "0.25", "24", "24", "200"]), ("spread, radix 2", [graphs, "spread", "2", "3", "0.25", "24", "24", "200"])], repeat)
        finding("what-if: predictions from one thread are within 15 %% of the run with %d" % THREADS, all(abs(e) < 0.15 for e in errors))
        finding("what-if: half of them within 5 %", statistics.median(abs(e) for e in errors) < 0.05)
        print("## Findings\n")
        table(["finding", "holds"], [[sentence, "yes" if holds else "**no**"] for sentence, holds in findings])
    if words.output:
        sys.stdout.close()
    sys.exit(0 if all(h for _, h in findings) or words.quick else 1)


main()
