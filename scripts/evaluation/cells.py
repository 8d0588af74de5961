"""scripts/evaluation/cells.py - several captures of a program, each replayed at several moments, beside real runs of the same moments.

A moment is some seconds in which a program runs for real and every capture of it is replayed. Moments of one program lie as far apart as
all programs together take, so that a state of the machine that lasts for minutes shows as a difference between moments, not as bias.
What the times say is for variance.py.
"""
import argparse
import fcntl
import os
import shlex
import shutil
import sys
import time

import variance
from main import CLASSES, Program, count, fail, seconds, store_link, thread_list, tool_describe
from main import ROOT
from steps import Steps, file_hash, json_save, script_run, stop_on_signals, text_save

NAMES = ("ep", "cg", "mg", "is", "lu", "bt", "sp", "ft")


def options_parse():
    parser = argparse.ArgumentParser(prog="scripts/evaluate-cells", allow_abbrev=False, description="Takes the errors of predictions apart: bias, captures, "
                                     "moments, replays. Leaves cells.json and cells.md. What is done already is not done again.")
    parser.set_defaults(quick=False)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="benchmarks, such as cg, or executables that were compiled with the plugin, with a slash (all benchmarks)")
    parser.add_argument("--class", dest="kind", choices=list(CLASSES), default="A", help="problem size (%(default)s)")
    parser.add_argument("--threads", type=thread_list, default=[1, 2], metavar="LIST", help="thread counts (1,2)")
    parser.add_argument("--captures", type=count, default=3, metavar="N", help="captures of each program (%(default)s)")
    parser.add_argument("--moments", type=count, default=3, metavar="N", help="how often it runs and all its captures are replayed (%(default)s)")
    parser.add_argument("--runs", type=count, metavar="N", help="real runs at each thread count in a moment (as many as fit into three seconds, 1 to 5)")
    parser.add_argument("--beside", metavar="PCERE", help="another build whose replays of the same captures are made in turn with these")
    parser.add_argument("-o", "--output", metavar="DIR", help="where everything goes (build/cells/CLASS)")
    parser.add_argument("--replay-options", default="--leave-light", metavar="WORDS", help="more options for pcere replay (%(default)s)")
    parser.add_argument("--cflags", default="-O3 -g", help="how the benchmarks are compiled (%(default)s)")
    parser.add_argument("--timeout", type=seconds, default=600, metavar="S", help="end a step that takes longer (%(default)s)")
    parser.add_argument("--within", type=seconds, metavar="S", help="begin no step after so many seconds; the same command goes on later")
    options = parser.parse_args()
    options.programs = options.programs or list(NAMES)
    for name in options.programs:
        if name not in NAMES and not ("/" in name and os.access(name, os.X_OK)):
            parser.error(f"'{name}' is neither a benchmark ({' '.join(NAMES)}) nor the path of an executable")
    if options.beside and not os.access(options.beside, os.X_OK):
        parser.error(f"'{options.beside}' is no command")
    try:
        shlex.split(options.replay_options)
    except ValueError as error:
        parser.error(f"'{options.replay_options}': {error}")
    options.processors = len(os.sched_getaffinity(0))
    options.output = os.path.abspath(options.output or os.path.join(ROOT, "build", "cells", options.kind))
    # What main.Program asks for besides.
    options.capture_options, options.retry = "", True
    return options


class Late(Exception):
    """--within is over."""


class Capture(Program):
    """One capture of a program, in a directory of its own; number: from 1."""

    def __init__(self, name, number, options, tools, steps, end_s):
        folder = argparse.Namespace(**{**vars(options), "output": os.path.join(options.output, f"capture{number}"), "captures": None})
        super().__init__(os.path.basename(name), folder, tools[0][1], steps)
        self.number, self.tools, self.end_s = number, tools, end_s
        self.path = name if "/" in name else None
        if self.path:
            self.title = self.name
            self.binary, self.store = f"bin/{self.title}", f"{self.title}.pcere"

    def step(self, name, command, key, **more):
        if self.end_s and time.monotonic() > self.end_s and not self.steps.kept(self.title, name, key):
            raise Late()
        return super().step(name, command, key, **more)

    def build(self):
        if not self.path:
            return super().build()
        os.makedirs(self.at("bin"), exist_ok=True)
        if file_hash(self.path) != file_hash(self.at(self.binary)):
            shutil.copy2(self.path, self.at(self.binary))
        self.hash = file_hash(self.at(self.binary))
        return True

    def ready(self):
        """Verifying leaves codelets and memory as replays find them from the second one on."""
        usable = self.build() and self.capture()
        if usable:
            self.verify()
        return usable

    def replay_moment(self, moment):
        """What each tool replays and predicts from this capture now; every other moment in the other order."""
        store, words = f"rounds/{self.title}.pcere", shlex.split(self.options.replay_options)
        for label, tool in self.tools if moment % 2 else reversed(self.tools):
            key = {"store": self.store_id(), "options": words, "threads": self.options.threads, "tool": tool["fingerprint"]}
            names = [f"predict.{label}.{moment}.{threads}" for threads in self.options.threads]
            record = self.step(f"replay.{label}.{moment}.{'-'.join(map(str, self.options.threads))}", [tool["path"], "replay", "--json", "--threads", ",".join(map(str, self.options.threads)), *words, store], key,
                               prepare=lambda: store_link(self.at(self.store), self.at(store)))
            for threads, name in zip(self.options.threads, names):
                self.step(name, [tool["path"], "predict", "--json", "--threads", str(threads), store], {**key, "replay": record["began_s"]})
        shutil.rmtree(self.at("rounds"), ignore_errors=True)


def go(options, tools, host, begin):
    end_s = begin + options.within if options.within else None
    directory = lambda number: os.path.join(options.output, f"capture{number}")
    steps = {number: Steps(directory(number), {"version": tools[0][1]["version"], "host": host.get("name")}, tools[0][1]["fingerprint"], options.timeout, True)
             for number in range(1, options.captures + 1)}
    for number in steps:
        os.makedirs(directory(number), exist_ok=True)
    programs = [[Capture(name, number, options, tools, steps[number], end_s) for number in steps] for name in options.programs]
    late = False
    try:
        usable = {(one.name, one.number): one.ready() for number in steps for one in (captures[number - 1] for captures in programs)}
        for moment in range(1, options.moments + 1):
            for captures in programs:
                real = lambda captures=captures: captures[0].run_real(moment)
                parts = [real] + [lambda one=one: one.replay_moment(moment) for one in captures if usable[one.name, one.number]]
                for part in parts if moment % 2 else reversed(parts):
                    part()
    except Late:
        late = True
    return programs, late


def main():
    options = options_parse()
    tool, host = tool_describe()
    tools = [("this", tool)]
    if options.beside:
        os.environ["PCERE"] = options.beside
        tools.append(("beside", tool_describe()[0]))
    os.makedirs(options.output, exist_ok=True)
    with open(os.path.join(options.output, "lock"), "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            fail(f"another experiment works in {options.output}", 5)
        stop_on_signals()
        begin = time.monotonic()
        programs, late = go(options, tools, host, begin)
        document = variance.document(options, tools, host, programs, late, time.monotonic() - begin)
        json_save(os.path.join(options.output, "cells.json"), document)
        text = variance.markdown(document)
        text_save(os.path.join(options.output, "cells.md"), text)
        print(text)
        if late:
            print(f"evaluate-cells: {options.within:g} s are over; the same command goes on where it was", file=sys.stderr)
    return 1 if document["errors"] else 0


if __name__ == "__main__":
    script_run(main, "evaluate-cells")
