"""scripts/evaluation/figures.py - the paper's figures 3 and 4 with our times, as SVG, by matplotlib.

Figure 3: MG's resid over its invocations, coloured by class, and its representatives replayed. Figure 4: real and predicted time over
threads, for each program and for SP's compute_rhs.
"""
import math
import os

import matplotlib
matplotlib.use("svg")
from matplotlib import pyplot, ticker

REAL, PREDICTED = "#444444", "#d1495b"
CLASSES = ("#1b6ca8", "#e08e0b", "#2a9d5c", "#b5179e", "#7a5c3e", "#00a6a6", "#6a4c93", "#9aa000", "#d62828", "#5f6b7a")
MARKERS = "osD^vP*Xhp"


def seconds_axis(axis):
    """Logarithmic times with units, as text a reader can say."""
    def words(seconds, _position):
        for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
            if seconds >= size * 0.9999:
                return f"{seconds / size:g} {unit}"
        return f"{seconds * 1e9:g} ns"
    axis.set_major_formatter(ticker.FuncFormatter(words))
    axis.set_minor_formatter(ticker.NullFormatter())


def save(figure, directory, name):
    """The same evaluation gives the same bytes."""
    figure.savefig(os.path.join(directory, name), format="svg", metadata={"Date": None})
    pyplot.close(figure)


def class_of(time_ns, classes):
    """The class whose median time is nearest; the capture keeps no list of members."""
    return min(range(len(classes)), key=lambda i: abs(math.log(max(time_ns, 1) / max(classes[i]["time_ns_median"], 1))))


def classes_of(times_ns, classes):
    """The class of each invocation: the longest ones are of the first, as many as it has members, and so on, since a loud run is slower in all of them. classes: by
    falling medians. Where there are other invocations than the capture had, the nearest."""
    if sum(one["members"] for one in classes) != len(times_ns):
        return [class_of(time_ns, classes) for time_ns in times_ns]
    numbers = [i for i, one in enumerate(classes) for _ in range(one["members"])]
    order = sorted(range(len(times_ns)), key=lambda n: -times_ns[n])
    return [number for _, number in sorted(zip(order, numbers))]


def figure_invocations(document, directory):
    program = next((one for one in document["programs"] if one["benchmark"] == "MG"), None)
    if not program or not program["capture"] or not program["invocations"]:
        return None
    region = next((one for one in program["regions"] if one["function"] == "resid" and one["classes"]), None)
    if not region:
        return None
    listed = {one["threads"]: [entry["time_ns"] for entry in one["invocations"] if entry["region"] == region["region"]] for one in program["invocations"]}
    at_capture, threads = listed.get(program["capture"]["threads"]), max(listed)
    if not at_capture or len(at_capture) != len(listed[threads]):
        return None
    classes = sorted(region["classes"], key=lambda one: -one["time_ns_median"])
    numbers = classes_of(at_capture, classes)
    legend_rows = -(-len(classes) // 3)
    figure, (left, right) = pyplot.subplots(1, 2, sharey=True, figsize=(8, 3.6 + 0.2 * legend_rows), width_ratios=(3, 1))
    for i, one in enumerate(classes):
        members = [n for n, number in enumerate(numbers) if number == i]
        style = {"marker": MARKERS[i % len(MARKERS)], "linestyle": "none", "color": CLASSES[i % len(CLASSES)], "markersize": 5}
        label = f"#{one['representative']}: {len(members)}" + ("" if len(members) == one["members"] else f" ({one['members']} when captured)")
        label += "" if one["captured"] else ", not captured"
        left.plot([n + 1 for n in members], [listed[threads][n] / 1e9 for n in members], label=label, **style)
        wanted = (region["region"], one["representative"], threads)
        replayed = next((entry for entry in program["replays"] if (entry["region"], entry["representative"], entry["threads"]) == wanted), None)
        if replayed:
            right.plot([f"#{one['representative']}"], [replayed["median_ns"] / 1e9], **style)
    left.set(yscale="log", xlabel="invocation", ylabel="time", title=f"in vivo, {threads} thread{'s' if threads > 1 else ''}")
    right.set(xlabel="representative", title="replayed")
    right.margins(x=0.3)
    seconds_axis(left.yaxis)
    for axes in (left, right):
        axes.grid(True, alpha=0.25)
    figure.legend(*left.get_legend_handles_labels(), title="representative: invocations of its class", loc="lower center", ncols=3, fontsize="small", frameon=False)
    figure.suptitle(f"{program['program']}: {region['region']} over its invocations")
    height = figure.get_figheight()
    figure.subplots_adjust(left=0.12, right=0.98, top=1 - 0.65 / height, bottom=(0.8 + 0.2 * legend_rows) / height, wspace=0.04)
    save(figure, directory, "figure3.svg")
    return {"file": "figure3.svg",
            "shows": f"{program['program']}: time of {region['region']} over its invocations, coloured by class, and its representatives replayed"}


def panel(axes, title, points, real_key, predicted_key):
    """points: threads, real and predicted ns, interval."""
    real = [(point["threads"], point[real_key] / 1e9) for point in points if point[real_key]]
    predicted = [point for point in points if point[predicted_key]]
    if real:
        axes.plot(*zip(*real), marker="o", color=REAL, label="real", linewidth=1.5)
    if predicted:
        times = [point[predicted_key] / 1e9 for point in predicted]
        spread = [[time - point["low_ns"] / 1e9 for time, point in zip(times, predicted)],
                  [point["high_ns"] / 1e9 - time for time, point in zip(times, predicted)]]
        axes.errorbar([point["threads"] for point in predicted], times, yerr=spread,
                      marker="x", color=PREDICTED, label="predicted", linewidth=1.5, linestyle="--", capsize=3)
    axes.set_title(title, fontsize="medium")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    times = [time for _, time in real] + [point[end] / 1e9 for point in predicted for end in (predicted_key, "low_ns", "high_ns")]
    if times:
        # At least a factor of two, so that noise does not look like scaling.
        middle = math.sqrt(min(times) * max(times))
        axes.set_ylim(min(min(times) / 1.15, middle / 1.5), max(max(times) * 1.15, middle * 1.5))
    axes.set_xticks([point["threads"] for point in points], [str(point["threads"]) for point in points])
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    seconds_axis(axes.yaxis)
    axes.grid(True, alpha=0.25)


def figure_scaling(document, directory):
    panels = [(program["program"], program["points"], "real_ns", "predicted_ns") for program in document["programs"]]
    for program in document["programs"]:
        if program["benchmark"] == "SP":
            panels += [(f"{program['program']}:\n{region['region']}", region["points"], "in_vivo_ns", "in_vitro_ns") for region in program["regions"]
                       if region["function"] == "compute_rhs"]
    panels = [one for one in panels if any(point[one[2]] or point[one[3]] for point in one[1])]
    if not panels:
        return None
    columns = min(len(panels), 3 if -len(panels) % 3 < -len(panels) % 4 else 4)
    rows = -(-len(panels) // columns)
    figure, grid = pyplot.subplots(rows, columns, figsize=(2.7 * columns + 0.6, 2.5 * rows + 0.8), squeeze=False, layout="constrained")
    for axes, one in zip(grid.flat, panels):
        panel(axes, *one)
    for axes in list(grid.flat)[len(panels):]:
        axes.set_visible(False)
    figure.supxlabel("threads")
    figure.supylabel("time")
    grid[0][0].legend(fontsize="small", frameon=False)
    save(figure, directory, "figure4.svg")
    return {"file": "figure4.svg", "shows": "real and predicted time over the number of threads"}


def draw(document, directory):
    """Files written into the directory, and what each shows."""
    with pyplot.rc_context({"svg.hashsalt": "pcere", "svg.fonttype": "none", "font.size": 9}):
        return [one for one in (figure_invocations(document, directory), figure_scaling(document, directory)) if one]
