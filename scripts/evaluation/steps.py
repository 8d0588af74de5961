"""scripts/evaluation/steps.py - how one step of an evaluation is run and kept.

A step is one command that prints one JSON document. What it left is kept in DIRECTORY/steps/PROGRAM/STEP.json together with its key:
what the result depends on. What was done under the same key is not done again. A failure is kept only as long as PCERE's files and the
time limit are the same, too, and not with --retry.
"""
import hashlib
import json
import os
import signal
import subprocess
import sys
import time

GRACE_S = 10
MESSAGE_LINES = 12


def file_hash(path):
    """SHA-256 of a file, in hexadecimal; None where there is none."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
    except OSError:
        return None
    return digest.hexdigest()


def json_load(path):
    """A document that an earlier run left; None where it is missing or damaged: it is then made again."""
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def text_save(path, text):
    """Whole or not at all."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def json_save(path, value):
    text_save(path, json.dumps(value, indent=1) + "\n")


class Stopped(Exception):
    """The user ended the evaluation; argument: the signal."""


def stop_on_signals():
    def stop(number, _frame):
        raise Stopped(number)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)


def group_end(process):
    """Ends a command and all that it started: by SIGINT first, so that it may tidy up."""
    for number, patience_s in ((signal.SIGINT, GRACE_S), (signal.SIGKILL, GRACE_S)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            continue
    # A program that was traced may outlive the command in its group.
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Watcher:
    """Ends the group of a process once this one is gone without a word (kill -9): what it captures would disturb, or replace, what the next evaluation makes."""

    def __init__(self, process):
        ours, self.end = os.pipe()
        self.child = os.fork()
        if self.child:
            os.close(ours)
            return
        os.setsid()
        os.close(self.end)
        if not os.read(ours, 1):
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        os._exit(0)

    def dismiss(self):
        os.write(self.end, b"x")
        os.close(self.end)
        os.waitpid(self.child, 0)


def command_run(command, directory, timeout_s, output, messages, environment=None):
    """Status (negative: ended by that signal) and whether it had to be ended after timeout_s."""
    process = subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=output, stderr=messages, start_new_session=True,
                               env={**os.environ, **(environment or {})})
    watcher = Watcher(process)
    try:
        return process.wait(timeout_s), False
    except subprocess.TimeoutExpired:
        group_end(process)
        return process.returncode, True
    except Stopped:
        group_end(process)
        raise
    finally:
        watcher.dismiss()


def message_of(status, timed_out, timeout_s, document, text):
    """Why a step failed, in the command's own words if it said any."""
    said = document.get("error") if isinstance(document, dict) else None
    if timed_out:
        return f"ended after {timeout_s:g} s (--timeout)"
    if isinstance(said, dict) and said.get("message"):
        return said["message"] + (f" (hint: {said['hint']})" if said.get("hint") else "")
    lines = [line for line in text.splitlines() if line.strip()][-MESSAGE_LINES:]
    own = [line for line in lines if line.startswith(("pcere", "make", "hint:"))]
    ended = f"ended by signal {-status}" if status < 0 else f"status {status}"
    return f"{ended}: " + "; ".join(own or lines[-2:]) if lines else ended


class Steps:
    """All steps of one evaluation. key: what every result depends on; fingerprint: of PCERE's files, noted beside each."""

    def __init__(self, directory, key, fingerprint, timeout_s, retry):
        self.directory, self.key, self.fingerprint, self.timeout_s, self.retry = directory, key, fingerprint, timeout_s, retry

    def path(self, program, step, suffix=".json"):
        return os.path.join(self.directory, "steps", program, step + suffix)

    def kept(self, program, step, key):
        record = json_load(self.path(program, step))
        if not record or record.get("key") != {**self.key, **key}:
            return None
        if record.get("error") and (self.retry or (record.get("fingerprint"), record.get("timeout_s")) != (self.fingerprint, self.timeout_s)):
            return None
        return {**record, "kept": True}

    def run(self, program, step, command, key, prepare=None, judge=None, parse=True, environment=None):
        """The step's record, from disk if it is kept. prepare() comes just before the command and is not timed; judge(document) returns
        a sentence if the document is no success. A failed step keeps its document, if it printed one."""
        record = self.kept(program, step, key)
        if record:
            self.say(program, step, record)
            return record
        os.makedirs(os.path.dirname(self.path(program, step)), exist_ok=True)
        output_path, log_path = self.path(program, step, ".out"), self.path(program, step, ".log")
        document, timed_out, status = None, False, -1
        began_s, begin = time.time(), time.monotonic_ns()
        try:
            if prepare:
                prepare()
            with open(output_path, "wb") as output, open(log_path, "wb") as messages:
                begin = time.monotonic_ns()
                status, timed_out = command_run(command, self.directory, self.timeout_s, output, messages, environment)
            wall_ns = time.monotonic_ns() - begin
            with open(log_path, encoding="utf-8", errors="replace") as file:
                text = file.read()[-20000:]
            if parse:
                document = json_load(output_path)
        except OSError as error:
            wall_ns, text = time.monotonic_ns() - begin, str(error)
        message = None
        if status != 0 or timed_out:
            message = message_of(status, timed_out, self.timeout_s, document, text)
        elif parse and document is None:
            message = "it printed no JSON document"
        elif judge:
            message = judge(document)
        record = {"step": step, "program": program, "key": {**self.key, **key}, "fingerprint": self.fingerprint,
                  "command": command, "began_s": began_s, "wall_ns": wall_ns, "status": status,
                  "timed_out": timed_out, "timeout_s": self.timeout_s, "error": message, "document": document}
        if os.path.exists(output_path):
            os.unlink(output_path)
        json_save(self.path(program, step), record)
        record["kept"] = False
        self.say(program, step, record)
        return record

    @staticmethod
    def say(program, step, record):
        if record["kept"]:
            end = "kept"
        else:
            end = f"{record['wall_ns'] / 1e9:.2f} s"
        if record["error"]:
            end += f"  FAILED: {record['error']}"
        print(f"{program:6} {step:14} {end}", file=sys.stderr, flush=True)


def script_run(main, name):
    """Ends this process with main's status, or as one that a signal ended."""
    try:
        sys.exit(main())
    except Stopped as stopped:
        print(f"\n{name}: ended; the same command goes on where it was", file=sys.stderr)
        sys.exit(128 + stopped.args[0])
