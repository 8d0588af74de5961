"""scripts/evaluation/main.py - which steps an evaluation has, and in which order.

Per program: build, capture, verify, then rounds. In a round the program runs for real at every thread count, and a fresh copy of its
store (hard links, no samples) is replayed and predicts; every other round begins with the replay. So each round is what a user would
get from one replay, and a machine that drifts hits real runs and replays alike.
"""
import argparse
import fcntl
import json
import os
import shlex
import shutil
import subprocess
import sys
import time

import combine
import tables
from steps import Steps, file_hash, json_load, json_save, script_run, stop_on_signals, text_save

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RUNS_NS, RUNS_MOST = 3_000_000_000, 5
TOUCHED_BYTES = 1 << 30
CLASSES = "SWABC"
QUICK_PROGRAMS = ("cg", "mg")


def fail(message, status=2):
    print(f"evaluate: {message}", file=sys.stderr)
    sys.exit(status)


def thread_list(text):
    try:
        counts = [int(word) for word in text.replace(",", " ").split()]
    except ValueError:
        counts = []
    if not counts or min(counts) < 1 or max(counts) > 65536:
        raise argparse.ArgumentTypeError(f"'{text}' is no list of thread counts such as 1,2,4")
    return sorted(set(counts))


def count(text):
    if not text.isdigit() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 to 1000")
    return int(text)


def seconds(text):
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < 1e7:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds")
    return value


def threads_default(processors):
    counts = [1]
    while counts[-1] * 2 <= processors:
        counts.append(counts[-1] * 2)
    return counts if counts[-1] == processors else counts + [processors]


def options_parse():
    parser = argparse.ArgumentParser(prog="scripts/evaluate", allow_abbrev=False, description="Captures, verifies, replays and predicts the "
                                     "NAS benchmarks beside real runs; leaves evaluation.json, tables.md, tables.txt and figures. What is done "
                                     "already is not done again.")
    parser.add_argument("--class", dest="kind", choices=list(CLASSES), help="problem size (A; with --quick S)")
    parser.add_argument("--threads", type=thread_list, metavar="LIST",
                        help="thread counts (1,2,4,... up to the number of processors; with --quick 1,2)")
    parser.add_argument("--programs", metavar="NAMES", help="which of the benchmarks, such as \"cg mg\" (all; with --quick cg mg)")
    parser.add_argument("--rounds", type=count, metavar="N", help="how often real runs and replays are made in turn (3; with --quick 1)")
    parser.add_argument("--runs", type=count, metavar="N",
                        help="real runs at each thread count in a round (as many as fit into three seconds, 1 to 5; with --quick 1)")
    parser.add_argument("-o", "--output", metavar="DIR", help="where everything goes (build/evaluation/CLASS)")
    parser.add_argument("--captures", metavar="DIR",
                        help="use the programs and stores of another evaluation, perhaps of another machine (the paper's Table V)")
    parser.add_argument("--capture-options", default="", metavar="WORDS", help="more options for pcere capture")
    parser.add_argument("--replay-options", default="--leave-light", metavar="WORDS",
                        help="more options for pcere replay, such as \"--warmup none\" (--leave-light: classes that weigh next to nothing are not replayed)")
    parser.add_argument("--cflags", default="-O3 -g", help="how the programs are compiled (%(default)s)")
    parser.add_argument("--timeout", type=seconds, default=3600, metavar="S", help="end a step that takes longer (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="a small evaluation, for tests")
    parser.add_argument("--restart", action="store_true", help="forget all that was done before")
    parser.add_argument("--retry", action="store_true", help="do again what failed before")
    parser.add_argument("--no-figures", action="store_true", help="draw nothing")
    options = parser.parse_args()
    names = subprocess.run(["make", "-s", "-C", os.path.join(ROOT, "cNPB"), "names"], capture_output=True, text=True, check=False).stdout.split()
    if not names:
        fail("cNPB's Makefile names no benchmarks")
    options.names = names
    if options.programs is not None:
        wanted = options.programs.replace(",", " ").split()
        unknown = [name for name in wanted if name not in names]
        if unknown or not wanted:
            parser.error(f"no benchmark '{' '.join(unknown)}': there are {' '.join(names)}")
        options.programs = [name for name in names if name in wanted]
    else:
        options.programs = [name for name in names if not options.quick or name in QUICK_PROGRAMS]
    for words in (options.capture_options, options.replay_options):
        try:
            shlex.split(words)
        except ValueError as error:
            parser.error(f"'{words}': {error}")
    options.processors = len(os.sched_getaffinity(0))
    options.kind = options.kind or ("S" if options.quick else "A")
    options.threads = options.threads or ([1, 2] if options.quick else threads_default(options.processors))
    options.rounds = options.rounds or (1 if options.quick else 3)
    options.runs = options.runs or (1 if options.quick else None)
    options.output = os.path.abspath(options.output or os.path.join(ROOT, "build", "evaluation", options.kind))
    if options.captures:
        options.captures = os.path.abspath(options.captures)
        if options.captures == options.output:
            parser.error("--captures and --output are one directory")
        if not os.path.isdir(os.path.join(options.captures, "steps")):
            parser.error(f"'{options.captures}' holds no evaluation")
    return options


def tool_describe():
    """What is evaluated: its path, version, plugin, this host, and a hash over all its files."""
    path = shutil.which(os.environ.get("PCERE", "pcere"))
    if not path:
        fail(f"no '{os.environ.get('PCERE', 'pcere')}': run scripts/build, or set PCERE")
    path = os.path.abspath(path)
    answer = subprocess.run([path, "version", "--json"], capture_output=True, text=True, check=False)
    try:
        document = json.loads(answer.stdout)
        plugin, version, host = document["plugin"], document["version"], document["host"]
    except (ValueError, KeyError, TypeError):
        fail(f"'{path} version' fails: {answer.stderr.strip()}", 3)
    if not plugin or not os.path.exists(plugin):
        fail("the compiler plugin PCEREPass.so is not there; scripts/build builds it", 3)
    libraries = os.path.dirname(plugin)
    parts = [path, plugin] + [os.path.join(libraries, name) for name in ("libpcere-capture.so", "libpcere-replay.a")]
    fingerprint = "-".join((file_hash(part) or "none")[:12] for part in parts)
    return {"path": path, "version": version, "llvm": document.get("llvm"), "plugin": plugin, "fingerprint": fingerprint}, host


def settle():
    """What a replay leaves in the page cache makes the next program, real or replayed, pay for memory that a virtual machine's host has to find first: that is paid for here.
    And what earlier steps wrote is on disk before the next one is timed, not half a minute later beside it. By huge pages where they may be had, at half the time."""
    os.sync()
    with open("/proc/meminfo", encoding="ascii") as lines:
        available = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), 0)
    touch = ("import mmap, sys\nmemory = mmap.mmap(-1, int(sys.argv[1]), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
             "if hasattr(mmap, 'MADV_HUGEPAGE'):\n    memory.madvise(mmap.MADV_HUGEPAGE)\nfor page in range(0, len(memory), mmap.PAGESIZE):\n    memory[page] = 1")
    if available:
        subprocess.run([sys.executable, "-c", touch, str(min(TOUCHED_BYTES, available // 4))], check=False)


class Program:
    """One benchmark on its way through the steps. records: step name to what it left."""

    def __init__(self, name, options, tool, steps):
        self.name, self.options, self.tool, self.steps = name, options, tool, steps
        self.title = f"{name}.{options.kind}"
        self.binary, self.store = f"bin/{self.title}", f"{self.title}.pcere"
        self.records, self.hash = {}, None

    def at(self, path):
        return os.path.join(self.options.output, path)

    def settle(self):
        """Where times are to mean something."""
        if not self.options.quick:
            settle()

    def step(self, name, command, key, **more):
        self.records[name] = self.steps.run(self.title, name, command, key, **more)
        return self.records[name]

    def pcere(self, *words):
        return [self.tool["path"], *words]

    def build(self):
        if self.options.captures:
            source = os.path.join(self.options.captures, self.binary)
            command = ["cp", "-p", "--", source, self.binary]
            key = {"source": source}
        else:
            # Objects of another plugin lie elsewhere, so that make sees that they are missing.
            objects = os.path.join(self.options.output, "obj", file_hash(self.tool["plugin"])[:12])
            command = ["make", "-s", "-C", os.path.join(ROOT, "cNPB"), self.name, f"CLASS={self.options.kind}", f"CC=clang-{self.tool['llvm']}",
                       f"CFLAGS={self.options.cflags} -fpass-plugin={self.tool['plugin']}", f"BINDIR={self.at('bin')}", f"OBJDIR={objects}"]
            key = {"always": time.time()}       # make knows best
        os.makedirs(self.at("bin"), exist_ok=True)
        record = self.step("build", command, key, parse=False)
        if record["error"]:
            return False
        self.hash = file_hash(self.at(self.binary))
        return True

    def store_id(self):
        manifest = json_load(self.at(os.path.join(self.store, "manifest.json")))
        return manifest.get("store_id") if manifest else None

    def capture_kept(self, key):
        """A record is worth nothing if its store is gone."""
        record = self.steps.kept(self.title, "capture", key)
        return record and (record["document"] or {}).get("evaluated_store") == self.store_id()

    def capture(self):
        key = {"binary": self.hash, "options": self.options.capture_options, "from": self.options.captures}
        if not self.capture_kept(key):
            path = self.steps.path(self.title, "capture")
            if os.path.exists(path):
                os.unlink(path)
        if self.options.captures:
            command = self.pcere("regions", "--json", self.store)
            prepare = lambda: store_link(os.path.join(self.options.captures, self.store), self.at(self.store))
        else:
            command = self.pcere("capture", "--force", "--json", "-o", self.store, *shlex.split(self.options.capture_options), self.binary)
            prepare = self.settle
        record = self.step("capture", command, key, prepare=prepare)
        if isinstance(record["document"], dict) and not record["kept"]:
            record["document"]["evaluated_store"] = self.store_id()
            json_save(self.steps.path(self.title, "capture"), {k: v for k, v in record.items() if k != "kept"})
        # A program that failed, or codelets that could not be had, still leave a store that may be usable.
        return self.store_id() is not None and isinstance(record["document"], dict) and "regions" in record["document"]

    def verify(self):
        self.step("verify", self.pcere("verify", "--json", self.store), {"store": self.store_id()})

    def run_real(self, turn):
        document = self.records.get("capture", {}).get("document") or {}
        wall_ns = max(document.get("wall_ns") or RUNS_NS, 1)
        repeat = self.options.runs or max(1, min(RUNS_MOST, RUNS_NS // wall_ns))
        for threads in self.options.threads:
            self.step(f"run.{turn}.{threads}", self.pcere("run", "--json", "--threads", str(threads), "--repeat", str(repeat), self.binary),
                      {"binary": self.hash, "runs": self.options.runs or "auto"}, prepare=self.settle)

    def replay(self, turn, threads, name):
        store, words = f"rounds/{self.title}-{name}.pcere", shlex.split(self.options.replay_options)
        command = self.pcere("replay", "--json", "--threads", ",".join(map(str, threads)), *words, store)
        key = {"store": self.store_id(), "options": self.options.replay_options, "threads": threads}
        if not os.path.exists(self.at(f"{store}/samples.jsonl")):
            key["gone"] = time.time()

        def prepare():
            store_link(self.at(self.store), self.at(store))
            self.settle()
        record = self.step(f"replay.{name}", command, key, prepare=prepare)
        record["key"].pop("gone", None)
        if not record["kept"]:
            json_save(self.steps.path(self.title, f"replay.{name}"), {k: v for k, v in record.items() if k != "kept"})
        # --flags names the samples to use; PCERE notes other settings in the samples itself.
        flags = ["--flags", words[words.index("--flags") + 1]] if "--flags" in words[:-1] else []
        # A machine that did not make the capture must measure its own serial part.
        measure = ["--measure", "--repeat", "1"] if self.options.captures else []
        for number in threads:
            self.step(f"predict.{turn}.{number}", self.pcere("predict", "--json", "--threads", str(number), *flags, *measure, store),
                      {"store": self.store_id(), "replay": record["began_s"]})
        return record

    def replay_round(self, turn):
        record = self.replay(turn, self.options.threads, str(turn))
        # A thread count that ends the whole replay must not take the others with it.
        if record["error"] and record["status"] != 1 and len(self.options.threads) > 1:
            for number in self.options.threads:
                self.replay(turn, [number], f"{turn}.{number}")

    def go(self):
        if not self.build():
            return
        usable = self.capture()
        if usable:
            self.verify()
        for turn in range(1, self.options.rounds + 1):
            parts = [self.run_real] + ([self.replay_round] if usable else [])
            for part in parts if turn % 2 else reversed(parts):
                part(turn)
        if self.name == "mg" and usable and not self.options.no_figures:
            self.invocations()

    def invocations(self):
        """When each invocation of MG's regions took place: at the capture's thread count, and at the largest one that has processors."""
        library = self.at("obj/invocations.so")
        source = os.path.join(HERE, "invocations.c")
        os.makedirs(os.path.dirname(library), exist_ok=True)
        record = self.step("listener", [f"clang-{self.tool['llvm']}", "-std=gnu17", "-O2", "-shared", "-fPIC", f"-I{ROOT}", source, "-o", library],
                           {"always": time.time()}, parse=False)
        if record["error"]:
            return
        captured = self.records["capture"]["document"].get("threads") or 1
        fitting = [number for number in self.options.threads if number <= self.options.processors] or [captured]
        for number in sorted({captured, fitting[-1]}):
            name = f"invocations.{number}"
            words = {"LD_PRELOAD": library, "PCERE_INVOCATIONS": self.steps.path(self.title, name, ".tsv"), "OMP_NUM_THREADS": str(number),
                     "OMP_PROC_BIND": "true", "OMP_PLACES": "cores"}
            self.step(name, [os.path.join(".", self.binary)], {"binary": self.hash}, parse=False, environment=words)


def store_link(source, target):
    """A store without samples that shares its files with another: each stays as it is, since PCERE replaces files and never edits them."""
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(os.path.dirname(target), exist_ok=True)

    def place(old, new):
        try:
            os.link(old, new)
        except OSError:
            shutil.copy2(old, new)
    shutil.copytree(source, target, copy_function=place, ignore=lambda _folder, names: [name for name in names if name == "samples.jsonl"])


def figures_draw(document, options):
    """What was drawn; why nothing was, in words."""
    if options.no_figures:
        return [], "--no-figures"
    try:
        import figures
    except ImportError:
        return [], "matplotlib is not installed (Debian: python3-matplotlib)"
    try:
        return figures.draw(document, options.output), None
    except Exception as error:      # whatever a drawing library objects to, the figures are the least of an evaluation
        return [], f"{type(error).__name__}: {error}"


def main():
    options = options_parse()
    tool, host = tool_describe()
    os.makedirs(options.output, exist_ok=True)
    with open(os.path.join(options.output, "lock"), "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            fail(f"another evaluation works in {options.output}", 5)
        if options.restart:
            for name in ("steps", "rounds", "bin", "obj"):
                shutil.rmtree(os.path.join(options.output, name), ignore_errors=True)
            for name in options.names:
                shutil.rmtree(os.path.join(options.output, f"{name}.{options.kind}.pcere"), ignore_errors=True)
        steps = Steps(options.output, {"version": tool["version"], "host": host.get("name")}, tool["fingerprint"], options.timeout, options.retry)
        stop_on_signals()
        begin = time.monotonic_ns()
        programs = [Program(name, options, tool, steps) for name in options.programs]
        for program in programs:
            program.go()
        document = combine.evaluation(options, tool, host, programs, time.monotonic_ns() - begin)
        document["figures"], document["figures_reason"] = figures_draw(document, options)
        if not document["figures"] and not options.no_figures:
            document["notes"].append(f"no figures: {document['figures_reason'] or 'there is nothing to draw'}")
        json_save(os.path.join(options.output, "evaluation.json"), document)
        text, markdown = tables.render(document)
        text_save(os.path.join(options.output, "tables.txt"), text)
        text_save(os.path.join(options.output, "tables.md"), markdown)
        print(text)
        print(f"{options.output}: evaluation.json, tables.md, tables.txt" + "".join(f", {figure['file']}" for figure in document["figures"]))
        sys.stdout.flush()
    return 1 if document["errors"] else 0


if __name__ == "__main__":
    script_run(main, "evaluate")
