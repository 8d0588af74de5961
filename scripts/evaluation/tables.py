"""scripts/evaluation/tables.py - an evaluation as tables in the paper's layout, as text and as markdown.

Each table is a title, a sentence, headings (a leading > is a column of numbers) and rows; both forms are made from that.
"""
MEBIBYTE = 1048576


def time_text(ns):
    if ns is None:
        return "-"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{significant(ns / size)} {unit}"
    return f"{ns:.0f} ns"


def significant(value):
    """Three figures, without an exponent."""
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def percent(ratio, sign=False):
    if ratio is None:
        return "-"
    return f"{100 * ratio:+.1f}" if sign else f"{100 * ratio:.1f}" if abs(ratio) >= 0.01 else f"{100 * ratio:.2f}"


def size_text(size):
    if size is None:
        return "-"
    return f"{significant(size / MEBIBYTE)} MiB" if size >= MEBIBYTE else f"{size / 1024:.0f} KiB"


def paper_three(point, key, form):
    """Core2, Nehalem, Sandy Bridge; what they did not measure is a dash."""
    values = [point["paper"].get(arch, {}).get(key) for arch in ("core2", "nehalem", "sandybridge")]
    return " / ".join(form(value) for value in values) if any(value is not None for value in values) else "-"


def threads_text(document, threads):
    return f"{threads} *" if threads > document["processors"] else str(threads)


def table_accuracy(document):
    """The paper's Table II: ours with sign, the paper's without."""
    headings = ["program", "parallel region", "ours"]
    for threads in document["threads"]:
        headings += [f">{threads_text(document, threads)}", ">paper"]
    headings += [">weight %", ">paper"]
    rows = []
    for program in document["programs"]:
        for row in program["table_regions"]:
            cells = [program["program"], row["paper_region"] or "-", " + ".join(row["regions"]) or "none"]
            for point in row["points"]:
                cells += [percent(point["difference_ratio"], sign=True), percent(point["paper_error_ratio"])]
            rows.append(cells + [percent(row["share_ratio_max"]), percent(row["paper_weight_ratio"])])
    sentence = ("In vitro over in vivo, all invocations together, minus one (%), mean over the rounds, by thread count; the paper gives it without "
                "sign. Listed: what the paper lists, and regions above 5 % of the run at any thread count.")
    if document["paper"]["table"] == "V":
        return "Table V: cross architecture replay accuracy", f"{sentence} The stores were captured elsewhere: {document['captures']}.", headings, rows
    return "Table II: codelet replay accuracy", sentence, headings, rows


def table_region_times(document):
    headings = ["program", "region", ">threads", ">share %", ">in vivo", ">in vitro", ">error %", ">paper"]
    rows = []
    for program in document["programs"]:
        for row in program["table_regions"]:
            for point in row["points"] if row["regions"] else []:
                rows.append([program["program"], row["paper_region"] or row["regions"][0], threads_text(document, point["threads"]),
                             percent(point["share_ratio"]), time_text(point["in_vivo_ns"]), time_text(point["in_vitro_ns"]),
                             percent(point["error_ratio"]), percent(point["paper_error_ratio"])])
    return (f"Table {document['paper']['table']}, times",
            "All invocations of a region together. In vitro: the median round. Error: mean over the rounds.", headings, rows)


def table_prediction(document):
    headings = ["program", ">threads", ">predicted", "interval", ">real", ">runs", ">spread %", ">pairs %", ">error %", ">worst", "covered", ">acceleration",
                "paper error %", "paper acceleration"]
    rows = []
    for program in document["programs"]:
        for point in program["points"]:
            covered = [one["covered"] for one in point["rounds"] if one["covered"] is not None]
            interval = f"[{time_text(point['low_ns'])}, {time_text(point['high_ns'])}]" if point["predicted_ns"] is not None else "-"
            rows.append([program["program"], threads_text(document, point["threads"]), time_text(point["predicted_ns"]), interval,
                         time_text(point["real_ns"]),
                         str(len(point["real_samples_ns"])), percent(point["real_spread_ratio"]), percent(point["real_pair_ratio"]), percent(point["error_ratio"]), percent(point["error_ratio_max"]),
                         f"{sum(covered)} of {len(covered)}" if covered else "-", significant(point["acceleration"]),
                         paper_three(point, "error_ratio", percent), paper_three(point, "acceleration", significant)])
    return ("Table III: scalability prediction", "Predicted: the median round. Error: mean over the rounds, and the worst of them. "
            "Spread: longest real run minus shortest, over the median. Pairs: by how much two real runs in a row differ (median). "
            "Covered: rounds whose interval holds the median real time. The paper's: Core2 / Nehalem / Sandy Bridge.", headings, rows)


GOAL_ERROR, GOAL_ERROR_MEAN, GOAL_ACCELERATION = 0.08, 0.02, 5


def shortfall(point):
    """What stands behind an error above the mean that is wanted, by the measurements of the evaluation itself."""
    error, own, moments, pairs = (point[key] for key in ("error_ratio", "round_error_ratio", "moments_ratio", "real_pair_ratio"))
    if error is None or own is None or error <= GOAL_ERROR_MEAN:
        return ""
    if pairs is not None and error <= pairs:
        return "runs in a row differ by as much"
    if moments is not None and own <= error / 2:
        return "the machine changed between the rounds"
    if point.get("lines_apart"):
        return "replays and runs met processors that lie differently far apart"
    if pairs is not None and own <= pairs:
        return "beside its own round's runs no further off than runs in a row"
    return "the replay"


def lines_text(rounds):
    """"26 / 26 to 155; 26 / 26", a part for each round; of one thread, and of what was not measured, nothing."""
    parts = []
    for one in rounds:
        runs = [value for value in one.get("real_line_ns") or [] if value]
        if one.get("replay_line_ns") and runs:
            low, high = min(runs), max(runs)
            parts.append(f"{one['replay_line_ns']:.0f} / {low:.0f}" + (f" to {high:.0f}" if high >= 1.5 * low else ""))
    return "; ".join(parts)


def table_shortfall(document):
    headings = ["program", ">threads", ">error %", ">beside its own round %", ">rounds apart %", ">pairs %", "lines, ns", ">acceleration", "misses", "what stands behind the error"]
    rows = []
    for program in document["programs"]:
        for point in program["points"]:
            missed = [text for text, misses in ((f"{percent(GOAL_ERROR)} %", (point["error_ratio"] or 0) > GOAL_ERROR),
                                                (f"{GOAL_ACCELERATION}x", (point["acceleration"] or GOAL_ACCELERATION) < GOAL_ACCELERATION),
                                                ("interval", any(one["covered"] is False for one in point["rounds"]))) if misses]
            rows.append([program["program"], threads_text(document, point["threads"]), percent(point["error_ratio"]), percent(point["round_error_ratio"]),
                         percent(point["moments_ratio"]), percent(point["real_pair_ratio"]), lines_text(point["rounds"]), significant(point["acceleration"]), ", ".join(missed), shortfall(point)])
    return ("What falls short, by cell", "Error: against the real runs of all rounds. Beside its own round: each prediction against the real runs of the minute that it was made in. Rounds apart: by how "
            "much the real runs of the rounds differ (their medians). Pairs: two real runs in a row. Lines: what a cache line takes from one thread to the next, by round, in replays / before and after real runs.", headings, rows)


def table_average(document):
    headings = ["", ">cells", ">error % mean", ">median", ">worst", ">acceleration mean", ">geometric", ">least", ">covered %"]

    def row(name, value):
        return [name, f"{value['cells_known']} of {value['cells']}", percent(value["error_ratio_mean"]), percent(value["error_ratio_median"]),
                percent(value["error_ratio_max"]), significant(value["acceleration_mean"]), significant(value["acceleration_geometric_mean"]),
                significant(value["acceleration_min"]), percent(value["covered_ratio"])]
    ours, paper = document["summary"], document["paper"]["summary"]
    rows = [row("ours", ours["all"])]
    if ours["oversubscribed"]["cells"]:
        rows.append(row("ours, threads that have processors", ours["fitting"]))
        rows.append(row("ours, more threads than processors", ours["oversubscribed"]))
    rows += [row(f"ours, threads {threads_text(document, value['threads'])}", value) for value in ours["by_threads"]]
    rows += [row(f"ours, {value['program']}", value) for value in ours["by_program"]]
    rows.append(row("ours, each round by itself", ours["all_rounds"]))
    rows += [row(f"paper, {name}", paper[arch]) for arch, name in (("core2", "Core2"), ("nehalem", "Nehalem"),
                                                                         ("sandybridge", "Sandy Bridge"), ("all", "all"))]
    rows.append(row("paper, these programs", paper["same_programs"]))
    return "Table IV: averages", "The paper's rows are computed from its Table III.", headings, rows


def table_capture(document):
    headings = ["program", ">program", ">memory", ">store", ">regions", ">invocations", ">codelets", ">plain run",
                ">capturing run", ">ratio", ">whole capture", "verified"]
    rows = []
    for program in document["programs"]:
        sizes, capture, verify = program["sizes"], program["capture"] or {}, program["verify"]
        verified = f"{verify['identical']} of {len(verify['codelets'])} identical" if verify else "-"
        rows.append([program["program"], size_text(sizes["program_bytes"]), size_text(sizes["memory_bytes"]), size_text(sizes["store_bytes"]),
                     str(sizes["regions"]), str(sizes["invocations"]), str(sizes["codelets"]), time_text(capture.get("plain_ns")),
                     time_text(capture.get("capture_wall_ns")), significant(capture.get("capture_ratio")), time_text(capture.get("command_ns")), verified])
    return ("Capture and verification", "Ratio: the capturing run over a plain run. The whole capture is the timing run, the capturing run and writing.",
            headings, rows)


def table_steps(document):
    """How long each kind of step took, rounds and thread counts together."""
    kinds = []
    sums = []
    for program in document["programs"]:
        of = {}
        for step in program["steps"]:
            kind = step["step"].split(".")[0]
            of[kind] = of.get(kind, 0) + (step["wall_ns"] or 0)
            if kind not in kinds:
                kinds.append(kind)
        sums.append(of)
    rows = [[program["program"]] + [time_text(of.get(kind)) for kind in kinds] + [time_text(sum(of.values()))] for program, of in zip(document["programs"], sums)]
    return ("Time that the evaluation took", "All rounds and thread counts together; kept steps count with the time that they took once.",
            ["program"] + [f">{kind}" for kind in kinds] + [">sum"], rows)


def table_errors(document):
    rows = [[error["program"], error["step"], error["message"], error["log"]] for error in document["errors"]]
    return "What failed", "The evaluation went on without it.", ["program", "step", "message", "log"], rows


def text_table(headings, rows):
    right = [heading.startswith(">") for heading in headings]
    table = [[heading.lstrip(">") for heading in headings]] + rows
    widths = [max(len(row[i]) for row in table) for i in range(len(headings))]
    return "\n".join("  ".join(cell.rjust(width) if number else cell.ljust(width) for cell, width, number in zip(row, widths, right)).rstrip() for row in table)


def markdown_table(headings, rows):
    def line(cells):
        return "| " + " | ".join(cell.replace("|", "\\|").replace("*", "\\*") for cell in cells) + " |"
    rule = "|" + "|".join("---:" if heading.startswith(">") else "---" for heading in headings) + "|"
    return "\n".join([line([heading.lstrip(">") for heading in headings]), rule] + [line(row) for row in rows])


def render(document):
    """(text, markdown) of the whole evaluation."""
    host = document["host"]
    head = (f"PCERE {document['version']}, NPB class {document['class']}, {host.get('cpu')}, {document['processors']} processors, {document['rounds']} rounds, "
            f"compiled with {document['cflags']}" + (f", pcere replay {document['replay_options']}" if document["replay_options"] else "") + ".")
    made = [table(document) for table in (table_accuracy, table_region_times, table_prediction, table_shortfall, table_average, table_capture, table_steps)]
    if document["errors"]:
        made.append(table_errors(document))
    text, markdown = [head], ["# Evaluation", head]
    for title, sentence, headings, rows in made:
        if rows:
            text += [title + "\n" + sentence + "\n\n" + text_table(headings, rows)]
            markdown += [f"## {title}", sentence, markdown_table(headings, rows)]
    for note in document["notes"]:
        text.append(note)
        markdown.append(note.replace("*", "\\*"))
    markdown += [f"![{figure['shows']}]({figure['file']})" for figure in document["figures"]]
    return "\n\n".join(text) + "\n", "\n\n".join(markdown) + "\n"
