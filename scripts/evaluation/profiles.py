"""scripts/evaluation/profiles.py - complete profiles out of several runs, by each strategy, against runs that saw all events: Fig. 3 of Neill, Drebes and Pop.

Programs count what they execute (PCERE_COUNT=ir), so that a run sees all events at once and is the truth; a virtual PMU of a few counters hides most of
them again. Counts of the intermediate code are exact: an XU has the same ones in each run, labels find it, and LGL cannot but be right. With noise on each
count, of references as of runs, the strategies are told apart as on real counters.
"""
import argparse
import glob
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PCERE = os.environ.get("PCERE", os.path.join(ROOT, "build", "bin", "pcere"))
CC = os.environ.get("CC", "clang-19")
# Dynamic loops of more threads than processors run into an assertion of libomp 19 about stolen chunks now and then (llvm-project 86995, 132164): chunks come from one counter, as in the paper's time.
os.environ["KMP_FORCE_MONOTONIC_DYNAMIC_SCHEDULE"] = "1"
STRATEGIES = ["hem", "ctc", "lgl", "bc", "bc-unlabeled", "assignment"]
PROGRAMS = {
    "MG static": ("mg", None), "MG dynamic,10": ("mg", "dynamic,10"), "CG static": ("cg", None), "CG dynamic,100": ("cg", "dynamic,100"), "knapsack tasks": ("knapsack", None),
}


def run(command, **more):
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **more)
    if result.returncode:
        sys.exit(f"evaluate_profiles: {' '.join(command[:6])} ... failed with {result.returncode}:\n{result.stderr.strip()[-1500:]}")
    return result.stdout


def pcere(*words):
    return run([PCERE, *words])


def source_vary(text, schedule):
    """Every worksharing loop gets the schedule."""
    return re.sub(r"^(\s*#pragma omp (?:parallel )?for\b)", rf"\1 schedule({schedule})", text, flags=re.M) if schedule else text


def program_build(directory, source, schedule, class_name):
    """The program with counters in it, without what would make its output differ; returns its path."""
    if source == "knapsack":
        files = [os.path.join(ROOT, "tests/profiler/programs/knapsack.c")]
    else:
        files = [*glob.glob(os.path.join(ROOT, "cNPB", source, "*.c")), *glob.glob(os.path.join(ROOT, "cNPB/common/npb.c"))]
    copies = []
    for file in files:
        copies.append(os.path.join(directory, os.path.basename(file)))
        with open(file, encoding="utf-8") as original, open(copies[-1], "w", encoding="utf-8") as copy:
            copy.write(source_vary(original.read(), schedule))
    program = os.path.join(directory, source)
    folders = [f"-I{os.path.join(ROOT, 'cNPB', name)}" for name in (source, "common")] + [f"-I{os.path.join(ROOT, 'cNPB')}"]
    plugin = pcere("version", "--plugin").strip()
    run([CC, "-O2", "-g", "-fopenmp", f"-fpass-plugin={plugin}", "-std=gnu17", f"-DNPB_CLASS='{class_name}'", *folders, *copies, "-o", program, "-lm"],
        env={**os.environ, "PCERE_COUNT": "ir"})
    return program


def profile(program, output, events, threads):
    """Its XUs, as the document has them."""
    return json.loads(pcere("profile", "-q", "--json", "--force", "--threads", str(threads), "--events", events, "-o", output, program))["xus"]


def orders_compare(runs):
    """CTC takes the k-th XU of a type to begin for the same one in each run. Over all pairs of runs: the shares of XUs where it is another one, and where that one has other counts, too."""
    ordered = []
    for xus in runs:
        types = {}
        for xu in sorted(xus, key=lambda xu: xu["start_ns"]):
            types.setdefault((xu["construct"], xu["type"]), []).append(xu)
        ordered.append(types)
    pairs = other = differing = 0
    for i, a in enumerate(ordered):
        for b in ordered[i + 1:]:
            for kind in a.keys() & b.keys():
                for x, y in zip(a[kind], b[kind]):
                    pairs += 1
                    other += x["label"] != y["label"]
                    differing += x["label"] != y["label"] and x["counts"] != y["counts"]
    return {"other": other / pairs, "differing": differing / pairs}


def events_choose(program, directory, threads):
    """Events that the program has: those that are zero for every XU say nothing."""
    path = os.path.join(directory, "look.pcx")
    profile(program, path, "ir", threads)
    groups = json.loads(pcere("compare", "--json", path, path))
    return [event["event"] for event in groups["events"] if event["a_sum"] > 0 and event["event"] != "active-time"]


def noisy(path, output, count, noise, seed):
    """The same profile, each count times a normal value around 1: counters for all events never take turns."""
    pcere("combine", "-q", "--force", "--strategy", "hem", "--counters", str(count), "--noise", noise, "--seed", str(seed), "-o", output, path)


def strategies_try(runs, directory, options, noise, seed):
    """A combined profile by each strategy out of the same runs."""
    paths = {}
    for strategy in STRATEGIES:
        paths[strategy] = os.path.join(directory, f"{strategy}.{seed}{'.noisy' if noise else ''}.pcx")
        words = ["--noise", noise] if noise else []
        files = runs[:1] if strategy == "hem" else runs
        pcere("combine", "-q", "--force", "--strategy", strategy, "--counters", str(options.counters), "--seed", str(seed), *words, "-o", paths[strategy], *files)
    return paths


def judge(references, paths):
    document = json.loads(pcere("compare", "--json", "--epd", ",".join(references), *paths.values()))
    return {strategy: entry for strategy, entry in zip(paths, document["profiles"])}


def program_evaluate(name, options, directory):
    source, schedule = PROGRAMS[name]
    os.makedirs(directory)
    program = program_build(directory, source, schedule, options.npb_class)
    events = events_choose(program, directory, options.threads)
    listed = ",".join(events)

    def record(kind, number):
        path = os.path.join(directory, f"{kind}{number}.pcx")
        seen.append(profile(program, path, listed, options.threads))
        return path

    seen = []
    references = [record("reference", i) for i in range(3)]
    result = {"events": events, "exact": {s: [] for s in STRATEGIES}, "noisy": {s: [] for s in STRATEGIES}}
    loud = []
    for i, reference in enumerate(references):
        loud.append(os.path.join(directory, f"loud{i}.pcx"))
        noisy(reference, loud[-1], len(events), options.noise, 100 + i)
    for repeat in range(options.repeats):
        runs = [record(f"run{repeat}.", i) for i in range(options.runs)]
        for kind, noise, truth in (("exact", None, references), ("noisy", options.noise, loud)):
            for strategy, entry in judge(truth, strategies_try(runs, directory, options, noise, repeat)).items():
                result[kind][strategy].append({"epd": entry["epd"], "epd_floored": entry["epd_floored"], "xus": entry.get("xus")})
        for path in runs:
            os.unlink(path)
    result["order"] = orders_compare(seen[3:11])        # of runs that were combined
    print(f"{name}: {len(events)} events", file=sys.stderr)
    return result


def mean_of(entries, key):
    values = [entry[key] for entry in entries if entry[key] is not None and math.isfinite(entry[key])]
    return (statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0) if values else None


def cell(entries, key):
    value = mean_of(entries, key)
    return f"{value[0]:.3g} ± {value[1]:.2g}" if value else "–"


def order_told(result):
    """Why CTC is as good or bad as it is, in this program, on this machine."""
    order = result["order"]
    return f"the order of starts puts {100 * order['other']:.3g} % of XUs beside another one, {100 * order['differing']:.3g} % beside one with other counts"


def findings(results):
    """The paper's, as sentences with whether they hold here. What is far or near is told by noisy counters; who is paired wrongly by exact ones, where nothing else differs."""
    found = []
    for program, result in results.items():
        noisily = {s: (mean_of(result["noisy"][s], "epd") or [math.nan])[0] for s in STRATEGIES}
        exactly = {s: (mean_of(result["exact"][s], "epd_floored") or [math.nan])[0] for s in STRATEGIES}
        combined = max(noisily[s] for s in ("ctc", "lgl", "bc", "bc-unlabeled"))
        found.append((f"{program}: multiplexing (HEM) is far worse than every combination", noisily["hem"] > 5 * combined, ""))
        paired = max(exactly["lgl"], exactly["bc"])
        if program == "CG static":
            found.append((f"{program}: CTC is close to LGL and BC", exactly["ctc"] < 1.05 * paired, order_told(result)))
        else:
            found.append((f"{program}: CTC is worse than LGL and BC", exactly["ctc"] > 1.05 * paired, order_told(result)))
        found.append((f"{program}: LGL and BC are close to calibration", max(noisily["lgl"], noisily["bc"]) < 2, ""))
        found.append((f"{program}: BC without labels is close to BC", noisily["bc-unlabeled"] < 1.25 * noisily["bc"], ""))
    return found


def table(results, kind, key):
    lines = ["| program | events | " + " | ".join(s.upper() for s in STRATEGIES) + " |", "|---|---:|" + "---:|" * len(STRATEGIES)]
    for program, result in results.items():
        lines.append(f"| {program} | {len(result['events'])} | " + " | ".join(cell(result[kind][s], key) for s in STRATEGIES) + " |")
    return "\n".join(lines)


def text_make(results, options):
    found = findings(results)
    parts = [
        "# Complete profiles out of several runs",
        f"Made by `scripts/evaluate_profiles --class {options.npb_class} --threads {options.threads} --counters {options.counters} --noise {options.noise}`. Dissimilarity (EPD) of combined "
        "profiles from three runs that saw all events: 1 is as far as such runs are from each other. Mean of "
        f"{options.repeats} repeats ± standard deviation. A virtual PMU of {options.counters} counters shows each run a part of the events; HEM is one run with multiplexing every 4 ms.",
        f"## Noisy counters ({options.noise} on each count, of references and runs)", table(results, "noisy", "epd"),
        "## Exact counters", "Counts of the intermediate code are the same in each run, so references do not differ in most pairs of events, and those have no ratio: the number below counts "
        "distances under 0.001 intervals as 0.001. LGL is trivially perfect here: the label finds the XU, and its counts cannot differ.", table(results, "exact", "epd_floored"),
        "## The paper's findings", "CTC is judged by exact counters, where only wrong pairs make a difference; the others by noisy ones.", "\n".join(f"* {'holds' if holds else '**does not hold**'}: {sentence}{f' ({why})' if why else ''}" for sentence, holds, why in found),
    ]
    return "\n\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(prog="scripts/evaluate_profiles", description=__doc__.split("\n\n")[0].split(" - ", 1)[1])
    parser.add_argument("--class", dest="npb_class", default="S", help="of MG and CG (S)")
    parser.add_argument("--threads", type=int, default=2, help="of every run (2)")
    parser.add_argument("--counters", type=int, default=4, help="of the virtual PMU (4)")
    parser.add_argument("--noise", default="2%", help="deviation of noisy counts (2%%)")
    parser.add_argument("--repeats", type=int, default=3, help="of the whole experiment (3)")
    parser.add_argument("--runs", type=int, default=8, help="recorded for each repeat; a plan that has more uses them again (8)")
    parser.add_argument("--programs", default=",".join(p.replace(",", ":") for p in PROGRAMS), help="some of them, with ':' for ',' in their names")
    parser.add_argument("--json", metavar="FILE", help="keep all numbers")
    parser.add_argument("--output", metavar="FILE", help="write the tables there, not to standard output")
    parser.add_argument("--check", action="store_true", help="end with 1 if one of the findings does not hold")
    options = parser.parse_args()
    names = [name.replace(":", ",") for name in options.programs.split(",")]
    for name in names:
        if name not in PROGRAMS:
            parser.error(f"there is no program '{name}'")
    with tempfile.TemporaryDirectory(prefix="pcere-profiles.") as directory:
        results = {name: program_evaluate(name, options, os.path.join(directory, f"p{i}")) for i, name in enumerate(names)}
    text = text_make(results, options)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"results": results, "findings": findings(results)}, file, indent=1)
    failed = [sentence + (f": {why}" if why else "") for sentence, holds, why in findings(results) if not holds]
    if failed:
        print(f"{len(failed)} of the paper's findings do not hold here:\n  " + "\n  ".join(failed), file=sys.stderr)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        print(text, end="")
    return options.check and not all(holds for _, holds, _ in findings(results))


sys.exit(main())
