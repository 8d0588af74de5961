# target constructs on devices: what is moved and executed where, under which names; devices are the runtime's own on this processor.
source "$(dirname "$0")/common.sh"
llvm=${CLANG##*-}
libraries=/usr/lib/llvm-$llvm/lib
cat >offload.c <<'END'
#include <omp.h>
#include <stdio.h>
static double a[1000], b[500], c[500];
int main(void)
{
    int n = 1000;
    for (int i = 0; i < n; i++) a[i] = i;
    #pragma omp target enter data map(to: a[:n]) device(1)
    #pragma omp target map(tofrom: a[:n]) device(1)
    for (int i = 0; i < n; i++) a[i] *= 2;
    #pragma omp target nowait map(from: b) device(2) depend(out: b)
    for (int i = 0; i < 500; i++) b[i] = i;
    #pragma omp target nowait map(to: b) map(from: c) device(0) depend(in: b) depend(out: c)
    for (int i = 0; i < 500; i++) c[i] = b[i] + 1;
    #pragma omp taskwait
    #pragma omp target update from(a[:n]) device(1)
    #pragma omp target exit data map(delete: a[:n]) device(1)
    printf("%d %g %g\n", omp_get_num_devices(), a[10], c[7]);
    return 0;
}
END
"$CLANG" -O1 -g -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu offload.c -o offload 2>compile.txt || { echo "skip: $CLANG cannot offload: $(head -n 1 compile.txt)"; exit 77; }
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
[ "$(./offload 2>/dev/null)" = "4 20 8" ] || { echo "skip: the runtime has no devices here"; exit 77; }
run "$PCERE" trace ./offload; says "a program with target constructs" 0 err '^4 20 8$'
run "$PCERE" timeline offload.pct -o user.json; says "the user's view" 0
cat >check.py <<'END'
import collections, json
events = json.load(open("user.json"))["traceEvents"]
names = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
head = [p for p, n in names.items() if not n.startswith("Worker")]
assert len(head) == 1 and sorted(n for p, n in names.items() if p not in head) == ["Worker Process %d (device)" % k for k in range(3)], names
at_head, at_worker = collections.Counter(), collections.Counter()
for e in events:
    if e["ph"] == "X":
        (at_head if e["pid"] in head else at_worker)[e["name"].split(" 0")[0].split(" 1")[0].split(" 2")[0]] += 1
for name, count in [("Runtime Execution", 1), ("Target Enter", 1), ("Target", 1), ("Target (Nowait)", 2), ("Target Update", 1), ("Target Exit", 1), ("Execute", 3), ("Taskwait", 1)]:
    assert at_head[name] == count, (name, at_head)
assert at_worker["Task"] == 3 and at_head["Task"] == 0, (at_head, at_worker)
for side in (at_head, at_worker):    # a: alloc, submit, retrieve, delete; b: alloc, retrieve, delete; b again: alloc, submit, delete; c: alloc, retrieve, delete
    assert [side[n] for n in ("Alloc", "Submit", "Retrieve", "Delete")] == [4, 2, 3, 4], side
data = [e for e in events if e["ph"] == "X" and e["name"] in ("Alloc", "Submit", "Retrieve", "Delete") and e["pid"] in head]
variables = {e["args"]["mpi_tag"]: e for e in events if e["ph"] == "X" and e["name"] in ("a[:n]", "b", "c") and e["pid"] in head}
assert len(variables) == len(data) == 13
assert collections.Counter(e["name"] for e in variables.values()) == {"a[:n]": 4, "b": 6, "c": 3}
assert all(e["args"]["source_location"].startswith("offload.c:") for e in variables.values())
assert {variables[e["args"]["mpi_tag"]]["name"]: e["args"]["destination"] for e in data if e["name"] == "Retrieve"} == {"a[:n]": 2, "b": 3, "c": 1}
tasks = {e["args"]["task_id"]: e for e in events if e["ph"] == "X" and e["name"].startswith("Task ")}
executes = {e["args"]["task_id"]: e for e in events if e["ph"] == "X" and e["name"] == "Execute"}
assert tasks.keys() == executes.keys() and all(tasks[i]["args"]["destination"] == executes[i]["args"]["destination"] for i in tasks)
arrows = collections.Counter(e["name"] for e in events if e["ph"] == "s")
assert arrows == {"Worker Process 0": 1, "Worker Process 1": 1, "Worker Process 2": 1, "Tasks": 1}, arrows
END
run python3 check.py; says "has every event of the paper, by head and workers, under the names of variables" 0
run "$PCERE" metrics omp offload.pct --json; says "metrics" 0
is "three worker processes, three tasks" "$(json '.runs[0].metrics | [.["Worker Process"], .["Number of tasks"]] | join(" ")')" "3 3"
run "$PCERE" metrics task offload.pct --csv; says "tasks by place" 0 out '^offload\.pct,main@offload\.c:9:5,.*,1,Execute$' out ',1,Submit$' out ',1,Retrieve$'
run "$PCERE" graph offload.pct -o tasks.dot; says "the graph of tasks" 0 err '3 nodes' 
is "the second waits for the first that writes b" "$(grep -c -- '->' tasks.dot)" 1
run "$PCERE" graph --whole offload.pct -o whole.dot; says "the whole graph" 0
is "has what is moved, and what devices execute, as nodes" "$(for kind in data target; do grep -c "kind=$kind," whole.dot; done | tr '\n' ' ')" "13 3 "
is "with bytes on edges" "$(grep -c 'label="8000"\|label="4000"' whole.dot)" 9
finish
