"""scripts/evaluation/combine.py - what the steps' documents say together: the document pcere.evaluation/1. Pure computation.

A cell is one program at one thread count. Each round predicts by itself, from its own replay; real time is the median of all real runs of
all rounds. A cell shows the round whose prediction is the median one (the lower of two). Its error is not that round's, since choosing it
took all rounds: error_ratio is the mean of |predicted - real| / real over the rounds, what one replay may be expected to give, and
acceleration is real time over the mean wall time of one round's replays.
"""
import csv
import fnmatch
import math
import os
import statistics
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SHOWN_SHARE = 0.05
LINES_APART = 2


def paper_rows(name):
    with open(os.path.join(HERE, "paper", name), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def ratio(part, whole):
    return part / whole if part is not None and whole else None


def error_of(predicted, real):
    return abs(predicted - real) / real if predicted is not None and real else None


def mean_known(values):
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def document_of(program, step):
    document = program.records.get(step, {}).get("document")
    return document if isinstance(document, dict) else {}


def rounds_of(program, step, threads):
    """(round, document) of a step that every round has for each thread count."""
    for turn in range(1, program.options.rounds + 1):
        document = document_of(program, f"{step}.{turn}.{threads}")
        if document:
            yield turn, document


def real_runs(program, threads):
    """(round, run) of every real run that ended well."""
    for turn, document in rounds_of(program, "run", threads):
        for run in document.get("runs", []):
            if run.get("threads") == threads and run.get("program_status") == 0 and run.get("wall_ns"):
                yield turn, run


def predictions(program, threads):
    """(round, point) of every prediction."""
    for turn, document in rounds_of(program, "predict", threads):
        for point in document.get("predictions", []):
            if point.get("threads") == threads:
                yield turn, point


def lines_of_replay(program, turn, threads):
    """What a cache line took from one thread of the team to the next, where the round's replays measured that: the median over its codelets."""
    document = document_of(program, f"replay.{turn}.{threads}") or document_of(program, f"replay.{turn}")       # the former where all numbers of threads together failed
    known = [one["line_ns"] for one in document.get("replays", []) if one.get("threads") == threads and one.get("line_ns")]
    return statistics.median(known) if known else None


def lines_lie_apart(rounds):
    """Whether a round's replay met other processors than its real runs did: a line took twice as long, or half, before each of these or after it."""
    for one in rounds:
        replay, runs = one["replay_line_ns"], [value for value in one["real_line_ns"] if value]
        if replay and any(max(replay, value) >= LINES_APART * min(replay, value) for value in runs):
            return True
    return False


def median_round(values):
    """Of (value, ...) tuples the one with the median value, the lower of two; None of none."""
    ordered = sorted(values, key=lambda value: value[0])
    return ordered[(len(ordered) - 1) // 2] if ordered else None


def pair_ratio(runs):
    """By how much two real runs in a row differ, over their mean: the median of all such pairs. A machine's slow drift does not enter it, and no prediction of one run can be surer."""
    return statistics.median(2 * abs(b - a) / (b + a) for a, b in zip(runs, runs[1:])) if len(runs) > 1 else None


def cell(program, threads):
    runs = [run["wall_ns"] for _, run in real_runs(program, threads)]
    real_ns = statistics.median(runs) if runs else None
    rounds = []
    for turn, point in predictions(program, threads):
        own = [run["wall_ns"] for other, run in real_runs(program, threads) if other == turn]
        own_ns = statistics.median(own) if own else None
        covered = point["low_ns"] <= real_ns <= point["high_ns"] if real_ns else None
        rounds.append({"round": turn, "predicted_ns": point["time_ns"], "low_ns": point["low_ns"], "high_ns": point["high_ns"],
                       "cost_ns": point.get("cost_ns"), "error_ratio": error_of(point["time_ns"], real_ns),
                       "acceleration": ratio(real_ns, point.get("cost_ns")), "covered": covered, "real_ns": own_ns,
                       "round_error_ratio": error_of(point["time_ns"], own_ns), "replay_line_ns": lines_of_replay(program, turn, threads),
                       "real_line_ns": [value for other, run in real_runs(program, threads) if other == turn for value in run.get("line_ns", [])]})
    shown = median_round([(one["predicted_ns"], one) for one in rounds])
    one = shown[1] if shown else dict.fromkeys(("round", "predicted_ns", "low_ns", "high_ns", "covered"))
    cost_ns = mean_known(other["cost_ns"] for other in rounds)
    errors = [other["error_ratio"] for other in rounds if other["error_ratio"] is not None]
    moments = [other["real_ns"] for other in rounds if other["real_ns"] is not None]
    return {"threads": threads, "oversubscribed": threads > program.options.processors, "predicted_ns": one["predicted_ns"], "low_ns": one["low_ns"],
            "high_ns": one["high_ns"], "covered": one["covered"], "shown_round": one["round"], "real_ns": real_ns, "real_samples_ns": runs,
            "real_spread_ratio": ratio(max(runs) - min(runs), real_ns) if len(runs) > 1 else None, "real_pair_ratio": pair_ratio(runs), "error_ratio": mean_known(errors),
            "error_ratio_max": max(errors, default=None), "acceleration": ratio(real_ns, cost_ns), "cost_ns": cost_ns, "rounds": rounds,
            "round_error_ratio": mean_known(other["round_error_ratio"] for other in rounds), "lines_apart": lines_lie_apart(rounds),
            "moments_ratio": ratio(max(moments) - min(moments), real_ns) if len(moments) > 1 else None}


def region_errors(vitro_rounds, vivo_ns):
    """Error and signed difference of a region: means over rounds."""
    return {"error_ratio": mean_known(error_of(vitro_ns, vivo_ns) for vitro_ns in vitro_rounds),
            "difference_ratio": mean_known(ratio(vitro_ns - vivo_ns, vivo_ns) for vitro_ns in vitro_rounds) if vivo_ns else None}


def region_point(program, region, threads):
    runs = [(run["wall_ns"], entry["time_ns"]) for _, run in real_runs(program, threads) for entry in run["regions"] if entry["region"] == region]
    vitro = [(entry["time_ns"], turn, entry) for turn, point in predictions(program, threads) for entry in point["regions"] if entry["region"] == region]
    vivo_ns = statistics.median(time_ns for _, time_ns in runs) if runs else None
    shown = median_round(vitro)
    entry = shown[2] if shown else {}
    rounds = [value[0] for value in sorted(vitro, key=lambda value: value[1])]
    return {"threads": threads, "share_ratio": statistics.median(time_ns / wall_ns for wall_ns, time_ns in runs) if runs else None,
            "in_vivo_ns": vivo_ns, "in_vivo_samples_ns": [time_ns for _, time_ns in runs], "in_vitro_ns": entry.get("time_ns"),
            "low_ns": entry.get("low_ns"), "high_ns": entry.get("high_ns"), "in_vitro_rounds_ns": rounds, "basis": entry.get("basis"),
            "kept_in_vivo_ns": entry.get("in_vivo_ns")} | region_errors(rounds, vivo_ns)


def regions_of(program):
    """Every region of the capture with all its thread counts; without a capture those of the real runs."""
    described = document_of(program, "capture").get("regions") or []
    if not described:
        names = {entry["region"]: None for threads in program.options.threads for _, run in real_runs(program, threads) for entry in run["regions"]}
        described = [{"region": name} for name in names]
    result = []
    for region in described:
        points = [region_point(program, region["region"], threads) for threads in program.options.threads]
        shares = [point["share_ratio"] for point in points if point["share_ratio"] is not None]
        result.append({key: region.get(key) for key in ("region", "function", "file", "line", "invocations", "status", "reason", "classes")} |
                      {"share_ratio_max": max(shares, default=region.get("share_ratio")), "points": points})
    return result


def paper_match(row, regions):
    """Which of our regions are the paper's region of a row of regions.csv."""
    patterns = row["function"].split("|")
    ours = sorted((region for region in regions if region["function"] and any(fnmatch.fnmatchcase(region["function"], pattern) for pattern in patterns)),
                  key=lambda region: (region["file"] or "", region["line"] or 0, region["region"]))
    if row["order"] == "*":
        return ours
    number = int(row["order"])
    return ours[number - 1:number]


def added(regions, threads):
    """The times of several regions at one thread count, added up."""
    points = [point for region in regions for point in region["points"] if point["threads"] == threads]

    def total(key):
        values = [point[key] for point in points]
        return sum(values) if values and None not in values else None
    vivo_ns = total("in_vivo_ns")
    rounds = [sum(values) for values in zip(*(point["in_vitro_rounds_ns"] for point in points))]
    return {"threads": threads, "share_ratio": total("share_ratio"), "in_vivo_ns": vivo_ns, "in_vitro_ns": total("in_vitro_ns")} | region_errors(rounds, vivo_ns)


def table_regions(program, regions, table):
    """Rows of the paper's Table II (or V) for one program: every region that the paper names, then ours above five percent that it does not."""
    benchmark = program.name.upper()
    values = {(row["benchmark"], row["region"]): row for row in paper_rows(table)}
    rows, named = [], set()
    for row in paper_rows("regions.csv"):
        paper = values.get((row["benchmark"], row["region"]))
        if row["benchmark"] != benchmark or not paper:
            continue
        ours = paper_match(row, regions)
        named.update(region["region"] for region in ours)
        rows.append({"paper_region": row["region"], "regions": [region["region"] for region in ours], "paper_weight_ratio": float(paper["weight"]) / 100,
                     "points": [added(ours, threads) | {"paper_error_ratio": float(paper[f"t{threads}"]) / 100 if paper.get(f"t{threads}") else None}
                                for threads in program.options.threads]})
    for region in regions:
        if region["region"] not in named and (region["share_ratio_max"] or 0) >= SHOWN_SHARE:
            rows.append({"paper_region": None, "regions": [region["region"]], "paper_weight_ratio": None,
                         "points": [added([region], threads) | {"paper_error_ratio": None} for threads in program.options.threads]})
    for row in rows:
        row["share_ratio_max"] = max((point["share_ratio"] for point in row["points"] if point["share_ratio"] is not None), default=None)
    return sorted(rows, key=lambda row: -(row["share_ratio_max"] or 0))


def paper_cells(benchmark, threads):
    """Of Table III: architecture to error and acceleration."""
    return {row["arch"]: {"error_ratio": float(row["error_percent"]) / 100, "acceleration": float(row["acceleration"])}
            for row in paper_rows("table3.csv") if row["benchmark"] == benchmark and row["threads"] == str(threads)}


def summary(cells):
    """cells: (error_ratio, acceleration, list of covered) of each cell; None where it is unknown."""
    errors = [error for error, _, _ in cells if error is not None]
    gains = [gain for _, gain, _ in cells if gain]
    covered = [one for _, _, rounds in cells for one in rounds if one is not None]
    return {"cells": len(cells), "cells_known": len(errors),
            "error_ratio_mean": statistics.fmean(errors) if errors else None, "error_ratio_median": statistics.median(errors) if errors else None,
            "error_ratio_max": max(errors, default=None), "acceleration_geometric_mean": math.exp(statistics.fmean(map(math.log, gains))) if gains else None,
            "acceleration_mean": statistics.fmean(gains) if gains else None, "acceleration_min": min(gains, default=None),
            "covered_ratio": statistics.fmean(covered) if covered else None, "covered_of": len(covered)}


def summaries(programs, threads):
    cells = [point for program in programs for point in program["points"]]

    def of(chosen):
        pairs = [point["real_pair_ratio"] for point in chosen if point["real_pair_ratio"] is not None]
        own = [point["round_error_ratio"] for point in chosen if point["round_error_ratio"] is not None]
        return summary([(point["error_ratio"], point["acceleration"], [one["covered"] for one in point["rounds"]]) for point in chosen]) | {
            "pair_ratio_mean": statistics.fmean(pairs) if pairs else None, "pair_ratio_median": statistics.median(pairs) if pairs else None,
            "pair_ratio_max": max(pairs, default=None), "round_error_ratio_mean": statistics.fmean(own) if own else None,
            "round_error_ratio_median": statistics.median(own) if own else None, "round_error_ratio_max": max(own, default=None),
            "cells_within_pairs": sum(point["error_ratio"] <= point["real_pair_ratio"] for point in chosen
                                      if point["error_ratio"] is not None and point["real_pair_ratio"] is not None)}
    return {"all": of(cells), "fitting": of([point for point in cells if not point["oversubscribed"]]),
            "oversubscribed": of([point for point in cells if point["oversubscribed"]]),
            "by_threads": [{"threads": number} | of([point for point in cells if point["threads"] == number]) for number in threads],
            "by_program": [{"program": program["program"]} | of(program["points"]) for program in programs],
            "all_rounds": summary([(one["error_ratio"], one["acceleration"], [one["covered"]]) for point in cells for one in point["rounds"]])}


def paper_summaries(names):
    """The same figures out of the paper's Table III: each architecture, all of it, and the programs that were evaluated here."""
    rows = [(row, (float(row["error_percent"]) / 100, float(row["acceleration"]), [])) for row in paper_rows("table3.csv")]
    result = {arch: summary([value for row, value in rows if row["arch"] == arch]) for arch in ("core2", "nehalem", "sandybridge")}
    result["all"] = summary([value for _, value in rows])
    result["same_programs"] = summary([value for row, value in rows if row["benchmark"].lower() in names])
    return result


def bytes_under(path):
    total = 0
    for folder, _, files in os.walk(path):
        for name in files:
            try:
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
            except OSError:
                pass
    return total


def sizes_of(program):
    document = document_of(program, "capture")
    regions = document.get("regions") or []
    binary, store = program.at(program.binary), program.at(program.store)
    captured = [one for region in regions for one in region.get("classes", []) if one.get("captured")]
    return {"program_bytes": os.path.getsize(binary) if os.path.exists(binary) else None,
            "memory_bytes": max((one.get("memory_bytes") or 0 for one in captured), default=None),
            "stored_bytes": sum(one.get("stored_bytes") or 0 for one in captured) if captured else None,
            "store_bytes": bytes_under(store) - bytes_under(os.path.join(store, "build")) if os.path.isdir(store) else None,
            "regions": len(regions), "invocations": sum(region.get("invocations") or 0 for region in regions), "codelets": len(captured)}


def capture_of(program, cells):
    record, document = program.records.get("capture"), document_of(program, "capture")
    if not record:
        return None
    plain_ns = next((point["real_ns"] for point in cells if point["threads"] == document.get("threads")), None) or document.get("wall_ns")
    return {key: document.get(key) for key in ("threads", "wall_ns", "serial_ns", "capture_wall_ns", "stall_ns", "writing_ns", "captured", "wanted", "notes")} | {
        "command_ns": record["wall_ns"], "plain_ns": plain_ns, "capture_ratio": ratio(document.get("capture_wall_ns"), plain_ns),
        "command_ratio": ratio(record["wall_ns"], plain_ns), "elsewhere": program.options.captures is not None, "error": record["error"]}


def verify_of(program):
    record, document = program.records.get("verify"), document_of(program, "verify")
    if not record:
        return None
    codelets = document.get("codelets") or []
    verdicts = [codelet.get("identical") for codelet in codelets]
    return {"codelets": codelets, "identical": verdicts.count(True), "different": verdicts.count(False),
            "unknown": len(verdicts) - verdicts.count(True) - verdicts.count(False), "build_ns": document.get("build_ns"), "error": record["error"]}


def invocations_of(program):
    """Per thread count of a listened run: (region, begin, end) of each invocation, in order."""
    result = []
    for step, record in program.records.items():
        if not step.startswith("invocations.") or record["error"]:
            continue
        rows = []
        try:
            with open(program.steps.path(program.title, step, ".tsv"), encoding="utf-8") as file:
                for line in file:
                    region, begin, end = line.rstrip("\n").split("\t")
                    rows.append((region, int(begin), int(end)))
        except (OSError, ValueError):
            continue
        origin = min((begin for _, begin, _ in rows), default=0)
        numbers = {}
        listed = []
        for region, begin, end in rows:
            numbers[region] = numbers.get(region, 0) + 1
            listed.append({"region": region, "invocation": numbers[region], "begin_ns": begin - origin, "time_ns": end - begin})
        result.append({"threads": int(step.rsplit(".", 1)[1]), "invocations": listed})
    return result


def replays_of(program):
    """Each representative's replays, of all rounds: for figure 3."""
    found = {}
    for step, record in program.records.items():
        if step.startswith("replay.") and isinstance(record["document"], dict):
            for replay in record["document"].get("replays", []):
                if replay.get("median_ns"):
                    found.setdefault((replay["region"], replay["representative"], replay["threads"]), []).append(replay["median_ns"])
    return [{"region": region, "representative": representative, "threads": threads, "median_ns": statistics.median(values)}
            for (region, representative, threads), values in found.items()]


def errors_of(program):
    return [{"program": program.title, "step": step, "message": record["error"], "status": record["status"], "command": record["command"],
             "log": os.path.relpath(program.steps.path(program.title, step, ".log"), program.options.output)}
            for step, record in program.records.items() if record["error"]]


def steps_of(program):
    return [{key: record.get(key) for key in ("step", "wall_ns", "began_s", "status", "timed_out", "kept", "error", "fingerprint")}
            for record in program.records.values()]


def program_entry(program, table):
    cells = [cell(program, threads) for threads in program.options.threads]
    for point in cells:
        point["paper"] = paper_cells(program.name.upper(), point["threads"])
    regions = regions_of(program)
    return {"program": program.title, "benchmark": program.name.upper(), "class": program.options.kind, "binary_sha256": program.hash, "sizes": sizes_of(program),
            "capture": capture_of(program, cells), "verify": verify_of(program), "regions": regions, "table_regions": table_regions(program, regions, table),
            "points": cells, "invocations": invocations_of(program), "replays": replays_of(program), "steps": steps_of(program), "errors": errors_of(program)}


def evaluation(options, tool, host, programs, wall_ns):
    """The whole document."""
    table = "table5.csv" if options.captures else "table2.csv"
    entries = [program_entry(program, table) for program in programs]
    fingerprints = {step["fingerprint"] for entry in entries for step in entry["steps"]}
    notes = []
    if len(fingerprints) > 1:
        notes.append("some steps were made by another build of PCERE of the same version; --restart makes all of them anew")
    if options.kind != "A":
        notes.append(f"the paper's figures are for class A, these for class {options.kind}")
    if any(number > options.processors for number in options.threads):
        notes.append(f"* more threads than the {options.processors} processors of this machine")
    summary_all = summaries(entries, options.threads)
    of_all = summary_all["all"]
    if of_all["pair_ratio_mean"] is not None:
        notes.append(f"two real runs of a program in a row differ by {100 * of_all['pair_ratio_mean']:.1f} % in the mean over the cells, {100 * of_all['pair_ratio_median']:.1f} % in the median, "
                     f"{100 * of_all['pair_ratio_max']:.1f} % at worst: errors below that are this machine's own; {of_all['cells_within_pairs']} of {of_all['cells_known']} cells are")
    environment = {name: value for name, value in sorted(os.environ.items()) if name.startswith(("OMP_", "KMP_", "GOMP_"))}
    return {"schema": "pcere.evaluation/1", "version": tool["version"], "host": host, "pcere": tool, "processors": options.processors, "class": options.kind,
            "threads": options.threads, "rounds": options.rounds, "runs": options.runs, "cflags": options.cflags, "capture_options": options.capture_options,
            "replay_options": options.replay_options, "captures": options.captures, "quick": options.quick, "environment": environment, "when_s": int(time.time()),
            "wall_ns": wall_ns, "programs": entries, "summary": summary_all,
            "paper": {"table": "V" if options.captures else "II", "summary": paper_summaries(options.programs), "printed": paper_rows("table4.csv")},
            "notes": notes, "errors": [error for entry in entries for error in entry["errors"]]}
