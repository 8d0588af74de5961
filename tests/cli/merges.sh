# Traces of several processes as one: clocks by messages, by minima, numbers that two use, files that are no good.
source "$(dirname "$0")/common.sh"
# make NAME PID OFFSET DRIFT-PPM: a worker whose clock is off; the head's side of the same operations goes to head.json
python3 - <<'END'
import json, random
random.seed(5)
head = [{"ph": "M", "pid": 0, "tid": 0, "name": "process_name", "args": {"name": "Head Process"}}]
def side(pid, tid, ts, dur, name, tag, w): return {"ph": "X", "pid": pid, "tid": tid, "ts": round(ts, 3), "dur": round(dur, 3), "name": name, "args": {"mpi_tag": tag, "origin": 0, "destination": w + 1}}
for w, (offset, drift) in enumerate([(5e6, 20e-6), (-3e3, -50e-6)]):
    events, clock = [], lambda t: t * (1 + drift) + offset
    for i in range(2000):
        tag, t = w * 10000 + i, 1000 + i * 500 + random.random() * 100
        a = t + 2 + random.random() * 30; b = a + 20; c = b + 5; d = c + 2 + random.random() * 30
        head.append(side(0, 1, t, d - t, "Execute", tag, w))
        e = side(1, 1, clock(a), clock(c) - clock(a), "Task %d" % tag, tag, w); e["args"]["true"] = round(a, 3); events.append(e)
    json.dump({"traceEvents": events}, open("worker_process_%d.json" % w, "w"))
json.dump(head, open("head.json", "w"))
END
run "$PCERE" merge worker_process_0.json head.json worker_process_1.json -o merged.json --json; says "three traces are merged" 0 out '"basis": "messages"'
is "the head is the reference" "$(json '.files[1].basis')" reference
is "offsets are found" "$(json '[.files[0].offset_ns, .files[2].offset_ns] | map(. / 100000 | round) | join(" ")')" "-50000 30"
is "and drifts" "$(json '[.files[0].drift_ratio, .files[2].drift_ratio] | map(. * 1e6 | round) | join(" ")')" "-20 50"
is "and how far it can be off, under 5 us" "$(json '[.files[0].error_ns, .files[2].error_ns] | max < 5000')" true
cat >check.py <<'END'
import json
events = json.load(open("merged.json"))["traceEvents"]
head = {e["args"]["mpi_tag"]: e for e in events if e["name"] == "Execute"}
tasks = [e for e in events if e["name"].startswith("Task")]
assert len(tasks) == 4000 and len({e["pid"] for e in tasks}) == 2, "two workers of one number are two processes"
worst = max(abs(e["ts"] - e["args"]["true"]) for e in tasks)
assert worst < 5, worst
for e in tasks:
    h = head[e["args"]["mpi_tag"]]
    assert h["ts"] <= e["ts"] + 0.002 and e["ts"] + e["dur"] <= h["ts"] + h["dur"] + 0.05, (h, e)
END
holds "every task lies inside the head's Execute, a few us from the truth" python3 check.py
run "$PCERE" merge head.json worker_process_0.json --minima -o minima.json --json; says "by minima" 0 out '"basis": "minima"'
is "the earliest events are laid on each other" "$(jq '[.traceEvents[] | select(.ts) | {p: .pid, t: .ts}] | group_by(.p) | map(map(.t) | min) | .[0] == .[1]' minima.json)" true
run "$PCERE" merge head.json worker_process_0.json worker_process_1.json -o -; says "to standard output, the table beside it" 0 err 'ppm' out 'traceEvents'

echo '[{"ph":"s","pid":1,"tid":1,"ts":100,"id":7,"cat":"mpi"},{"ph":"f","pid":1,"tid":1,"ts":260,"id":8,"cat":"mpi"},{"ph":"X","pid":1,"tid":1,"ts":90,"dur":300,"name":"a"}]' >rank0.json
echo '[{"ph":"f","pid":2,"tid":1,"ts":1110,"id":7,"cat":"mpi"},{"ph":"s","pid":2,"tid":1,"ts":1250,"id":8,"cat":"mpi"}]' >rank1.json
run "$PCERE" merge rank0.json rank1.json -o ranks.json --json; says "arrows from rank to rank are messages" 0 out '"basis": "messages"'
is "the offset is amid the bounds" "$(json '.files[1].offset_ns')" -1000000
run "$PCERE" metrics omp ranks.json; says "what was merged is read again" 0 out 'Total time'


echo '[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":9,"name":"Runtime Execution"},{"ph":"X","pid":1,"tid":1,"ts":2,"dur":3,"name":"MPI send"},{"ph":"X","pid":1,"tid":1,"ts":6,"dur":3,"name":"whatever"}]' >exported.json
run "$PCERE" timeline exported.json -o user.json; says "calls of MPI in an exported trace are in the user's view, too" 0 err '2 slices'
is "under their names" "$(jq -r '[.traceEvents[] | select(.ph == "X") | .name] | sort | join(",")' user.json)" "MPI send,Runtime Execution"

run "$PCERE" merge head.json -o x.json; says "one trace" 2 err 'two traces or more'
run "$PCERE" merge head.json worker_process_0.json; says "no place for it" 2 err 'where does'
run "$PCERE" merge head.json worker_process_0.json -o head.json --force; says "an input is not written over" 2 err 'while it is read'
holds "and is whole" python3 -m json.tool head.json
run "$PCERE" merge head.json nowhere.json -o x.json; says "a trace that is not there" 2 err 'nowhere'
echo hello >foreign.json
run "$PCERE" merge head.json foreign.json -o x.json; says "a foreign file" 4 err 'no trace'
holds "leaves nothing" test ! -e x.json
head -c 5000 worker_process_0.json >cut.json
run "$PCERE" merge head.json cut.json -o x.json; says "a cut trace: what is whole" 4 err 'cut or damaged'
holds "is merged" python3 -m json.tool x.json
run "$PCERE" merge head.json worker_process_0.json -o /dev/full --force; says "a full disk" 5 err 'cannot write'
finish
