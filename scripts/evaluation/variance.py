"""scripts/evaluation/variance.py - what several captures, replayed at several moments beside real runs, say of a cell. Pure computation.

A cell is one program at one thread count. d(c, m) is the logarithm of what capture c's replay at moment m predicts over the median of the
real runs of that moment. Captures and moments are random and crossed, with one replay each: d = bias + capture + moment + replay. Mean squares
give the three variances (Searle, Casella and McCulloch, Variance Components, Wiley 1992, chapter 4: two-way crossed, without replication), and the
variance of the mean, (MS capture + MS moment - MS rest) / (captures x moments), whose degrees of freedom are Satterthwaite's (Biometrics Bulletin 2,
1946). A mean square no larger than the rest's is pooled with it. With one capture or one moment what it would tell is unknown.
"""
import itertools
import math
import statistics
import time

from combine import document_of
from tables import markdown_table, percent, time_text

# Student's t, two-sided 95 %, by degrees of freedom; rounded down between them.
T95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228, 12: 2.179, 15: 2.131, 20: 2.086, 30: 2.042, 60: 2.0}
GOAL = 0.02
SHOWN_REGIONS = 3


def t95(freedom):
    return T95[max(known for known in T95 if known <= max(freedom, 1))]


def deviation(values):
    return statistics.stdev(values) if len(values) > 1 else None


def crossed(table):
    """table[capture][moment] -> mean, half of its 95 % interval, and standard deviations between captures, moments and replays (None: unknown)."""
    rows, columns = len(table), len(table[0])
    mean = statistics.fmean(itertools.chain.from_iterable(table))
    of_rows = [statistics.fmean(row) for row in table]
    of_columns = [statistics.fmean(row[m] for row in table) for m in range(columns)]
    rest = [table[c][m] - of_rows[c] - of_columns[m] + mean for c in range(rows) for m in range(columns)]
    squares = {"captures": (columns * sum((value - mean) ** 2 for value in of_rows), rows - 1), "moments": (rows * sum((value - mean) ** 2 for value in of_columns), columns - 1),
               "replays": (sum(value * value for value in rest), (rows - 1) * (columns - 1))}
    known = {name: total / freedom for name, (total, freedom) in squares.items() if freedom}
    # What varies no more than single replays do is one with them.
    pooled = [name for name in known if name == "replays" or ("replays" in known and known[name] <= known["replays"])]
    total, freedom = sum(squares[name][0] for name in pooled), sum(squares[name][1] for name in pooled)
    base = total / freedom if freedom else 0.0
    parts = {name: value for name, value in known.items() if name not in pooled}
    of = {"captures": columns, "moments": rows}
    result = {"mean": mean, "replays": math.sqrt(base) if pooled else None, "half": None}
    for name, (_, own) in squares.items():
        if name != "replays":
            result[name] = math.sqrt(max(0.0, (known[name] - base) / of[name])) if own and pooled and name in parts else 0.0 if name in pooled else None
    variance = max(sum(parts.values()) - base * (len(parts) - 1 if pooled else 0), base)
    spread = sum(value * value / squares[name][1] for name, value in parts.items()) + (base * base * (len(parts) - 1) ** 2 / freedom if freedom else 0.0)
    if known and spread > 0:
        result["half"] = t95(variance * variance / spread) * math.sqrt(variance / (rows * columns))
    return result


def real_runs(capture, moment, threads):
    document = document_of(capture, f"run.{moment}.{threads}")
    return [run for run in document.get("runs", []) if run.get("threads") == threads and run.get("program_status") == 0 and run.get("wall_ns")]


def prediction(capture, label, moment, threads):
    points = document_of(capture, f"predict.{label}.{moment}.{threads}").get("predictions", [])
    return next((point for point in points if point.get("threads") == threads), None)


def whole_moments(captures, label, moments, threads):
    """(moment, real runs, predictions of all captures) of each moment that has them all."""
    for moment in range(1, moments + 1):
        runs = real_runs(captures[0], moment, threads)
        points = [prediction(capture, label, moment, threads) for capture in captures]
        if runs and points and None not in points:
            yield moment, runs, points


def region_time(entries, name):
    return sum(entry["time_ns"] for entry in entries if entry["region"] == name)


def parts_of(moments):
    """By how much each region moves the cell's bias: (predicted - real time of the region) / real time of the program; so do all parts outside regions."""
    names = sorted({entry["region"] for _, runs, _ in moments for entry in runs[0]["regions"]})

    def add(name, real, predicted):
        table = [[(predicted(points[c]) - statistics.median(map(real, runs))) / statistics.median(run["wall_ns"] for run in runs) for _, runs, points in moments]
                 for c in range(len(moments[0][2]))]
        share = statistics.median(real(run) / run["wall_ns"] for _, runs, _ in moments for run in runs)
        own = statistics.median(predicted(point) / max(statistics.median(map(real, runs)), 1) - 1 for _, runs, points in moments for point in points)
        found = crossed(table)
        return {"part": name, "share_ratio": share, "difference_ratio": own, "moves_ratio": found["mean"], "moves_half_ratio": found["half"]}
    parts = [add(name, lambda run, name=name: region_time(run["regions"], name), lambda point, name=name: region_time(point["regions"], name)) for name in names]
    parts.append(add("outside regions", lambda run: run["serial_ns"], lambda point: point["time_ns"] - sum(entry["time_ns"] for entry in point["regions"])))
    return sorted(parts, key=lambda part: -abs(part["moves_ratio"]))


def verdict(cell):
    """What the cell's errors are, in words."""
    low, high = cell["bias_low_ratio"], cell["bias_high_ratio"]
    if low is None:
        return "too few captures and moments"
    if low <= 0 <= high:
        text = "no bias shown"
        if max(abs(low), abs(high)) <= GOAL:
            text = "no bias above 2 %"
    else:
        text = "bias" if min(abs(low), abs(high)) > GOAL else "bias, which may be below 2 %"
    if cell["machine_ratio"] is not None and cell["machine_ratio"] > GOAL:
        text += "; 2 % lies below what runs differ by"
    return text


def gini(values):
    """By how much two of the values differ, over their median, in the mean over all pairs."""
    pairs = [abs(a - b) for a, b in itertools.combinations(values, 2)]
    return statistics.fmean(pairs) / statistics.median(values) if pairs else None


def cell_of(captures, label, options, threads):
    moments = list(whole_moments(captures, label, options.moments, threads))
    if not moments:
        return None
    real = [statistics.median(run["wall_ns"] for run in runs) for _, runs, _ in moments]
    singles = [run["wall_ns"] for _, runs, _ in moments for run in runs]
    table = [[math.log(points[c]["time_ns"] / real[m]) for m, (_, _, points) in enumerate(moments)] for c in range(len(captures))]
    alone = crossed([[math.log(points[c]["time_ns"]) for _, _, points in moments] for c in range(len(captures))])
    found = crossed(table)
    flat = [(point, statistics.median(real)) for _, _, points in moments for point in points]
    costs = [point["cost_ns"] for point, _ in flat if point.get("cost_ns")]
    cell = {"program": captures[0].title, "threads": threads, "tool": label, "oversubscribed": threads > options.processors, "captures": len(captures), "moments": len(moments),
            "real_ns": statistics.median(singles), "real_samples_ns": [[run["wall_ns"] for run in runs] for _, runs, _ in moments],
            "predicted_ns": [[points[c]["time_ns"] for _, _, points in moments] for c in range(len(captures))],
            "machine_ratio": gini(singles), "real_moments_ratio": deviation(list(map(math.log, real))),
            "predicted_ratio": deviation([math.log(point["time_ns"]) for point, _ in flat]), "predicted_captures_ratio": alone["captures"],
            "predicted_moments_ratio": alone["moments"], "predicted_replays_ratio": alone["replays"],
            "bias_ratio": math.expm1(found["mean"]), "bias_low_ratio": None if found["half"] is None else math.expm1(found["mean"] - found["half"]),
            "bias_high_ratio": None if found["half"] is None else math.expm1(found["mean"] + found["half"]),
            "error_ratio": statistics.fmean(abs(point["time_ns"] / middle - 1) for point, middle in flat),
            "covered_ratio": statistics.fmean(point["low_ns"] <= middle <= point["high_ns"] for point, middle in flat),
            "cost_ns": statistics.median(costs) if costs else None, "parts": parts_of(moments)}
    cell["acceleration"] = cell["real_ns"] / cell["cost_ns"] if cell["cost_ns"] else None
    return cell | {"says": verdict(cell)}


def document(options, tools, host, programs, late, wall_s):
    errors = [{"program": capture.title, "capture": capture.number, "step": step, "message": record["error"]}
              for captures in programs for capture in captures for step, record in capture.records.items() if record["error"] and record["status"] != 1]
    cells = [cell_of(captures, label, options, threads) for captures in programs for threads in options.threads for label, _ in tools]
    return {"schema": "pcere.cells/1", "version": tools[0][1]["version"], "host": host, "class": options.kind, "threads": options.threads, "captures": options.captures,
            "moments": options.moments, "tools": [{"label": label, **tool} for label, tool in tools], "processors": options.processors, "cflags": options.cflags,
            "replay_options": options.replay_options, "when_s": int(time.time()), "wall_s": wall_s, "complete": not late, "cells": [cell for cell in cells if cell], "errors": errors}


def interval(middle, low, high):
    return f"{percent(middle, sign=True)} [{percent(low, sign=True)}, {percent(high, sign=True)}]" if low is not None else percent(middle, sign=True)


def part_text(part):
    half = part["moves_half_ratio"]
    return f"{part['part']} {percent(part['moves_ratio'], sign=True)}" + (f" ± {percent(half)}" if half is not None else "") + f" ({percent(part['difference_ratio'], sign=True)} of {percent(part['share_ratio'])})"


def markdown(made):
    several = len(made["tools"]) > 1
    headings = (["program", ">threads"] + (["build"] if several else []) + [">real", ">bias % [95 %]", ">two runs %", ">real, moments %", ">predicted, captures %", ">moments %", ">replays %",
                ">error %", ">inside %", ">acceleration", "verdict"])
    rows, places = [], []
    for cell in made["cells"]:
        name = [cell["program"], str(cell["threads"]) + (" *" if cell["oversubscribed"] else "")] + ([cell["tool"]] if several else [])
        rows.append(name + [time_text(cell["real_ns"]), interval(cell["bias_ratio"], cell["bias_low_ratio"], cell["bias_high_ratio"]), percent(cell["machine_ratio"]),
                            percent(cell["real_moments_ratio"]), percent(cell["predicted_captures_ratio"]), percent(cell["predicted_moments_ratio"]), percent(cell["predicted_replays_ratio"]),
                            percent(cell["error_ratio"]), f"{100 * cell['covered_ratio']:.0f}", f"{cell['acceleration']:.3g}" if cell["acceleration"] else "-", cell["says"]])
        places.append(name + ["; ".join(part_text(part) for part in cell["parts"][:SHOWN_REGIONS])])
    text = [f"{made['captures']} captures, {made['moments']} moments, {made['wall_s']:.0f} s" + ("" if made["complete"] else " (not complete)") + ".", markdown_table(headings, rows),
            "Where: by how much a part moves the program's bias (its own difference, and its share of the run).", markdown_table(headings[:3 if several else 2] + ["largest parts"], places)]
    for label in [tool["label"] for tool in made["tools"]]:
        cells = [cell for cell in made["cells"] if cell["tool"] == label]
        if cells:
            gains = [cell["acceleration"] for cell in cells if cell["acceleration"]]
            text.append(f"{label + ': ' if several else ''}{len(cells)} cells: |bias| {percent(statistics.fmean(abs(cell['bias_ratio']) for cell in cells))} % in the mean, error of one replay "
                        f"{percent(statistics.fmean(cell['error_ratio'] for cell in cells))} %, inside {percent(statistics.fmean(cell['covered_ratio'] for cell in cells))} %, "
                        f"acceleration {statistics.geometric_mean(gains):.3g} (geometric mean).")
    return "\n\n".join(text + [f"{error['program']}, capture {error['capture']}, {error['step']}: {error['message']}" for error in made["errors"]]) + "\n"
