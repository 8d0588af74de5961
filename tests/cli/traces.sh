# Traces, their metrics and task graphs: a real program, and files of other origin.
source "$(dirname "$0")/common.sh"
cat >tasks.c <<'END'
#include <stdio.h>
static double work(int n) { volatile double s = 0; for (int i = 0; i < n * 1000; i++) s += i; return s; }
int main(void)
{
    double a = 0, b = 0, c = 0, d = 0, v[64];
    #pragma omp parallel
    {
        #pragma omp single
        {
            for (int i = 0; i < 3; i++) {
                #pragma omp task depend(out: a)
                a = work(20);
                #pragma omp task depend(in: a) depend(out: b)
                b = work(30);
                #pragma omp task depend(in: a) depend(out: c)
                c = work(30);
                #pragma omp task depend(in: b, c) depend(out: d)
                d = work(10);
            }
            #pragma omp taskwait
            #pragma omp task
            d += work(10);
        }
        #pragma omp critical
        a += 1;
    }
    #pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 64; i++) v[i] = work(i);
    printf("%g\n", d + v[3]);
}
END
"$CLANG" -O1 -g -fopenmp tasks.c -o tasks || { echo "skip: this clang makes no OpenMP program"; exit 77; }
run "$PCERE" trace --threads 2 ./tasks; says "a program is traced" 0 out '^tasks\.pct: [0-9]+ records of [0-9]+ threads'
run "$PCERE" trace ./tasks; says "a trace is not overwritten" 2 err 'File exists'
run "$PCERE" metrics omp tasks.pct --json; says "its metrics" 0 out 'pcere\.metrics/1'
is "all tasks are there" "$(json '.runs[0].metrics["Number of tasks"]')" 13
is "the parts add up to wall time x threads" "$(json '.runs[0].metrics | (([.["Useful [ns]"], .["Region body [ns]"], .["Serial [ns]"], .["Serialisation [ns]"], .["Load balance [ns]"],
    .["Synchronisation [ns]"], .["Scheduling overhead [ns]"], .["Dependence wait [ns]"]] | add) == .["Total time [ns]"] * .Threads)')" true
is "the product is the product" "$(json '.runs[0].metrics | ((.["Computation Load Balance Efficiency"] * .["Computation Efficiency"] - .["Computation Parallel Efficiency"]) | fabs < 1e-12)')" true
run "$PCERE" metrics task tasks.pct --csv; says "rows by place" 0 out '^tasks\.pct,main@tasks\.c:11:[0-9]+,.*,3,Execute$'
run "$PCERE" metrics graph tasks.pct --json; says "the graph's metrics" 0 out 'critical path time'
is "13 tasks and a wait" "$(json '.runs[0].metrics.tasks')" 14
edges=$(json '.runs[0].metrics.dependencies')
run "$PCERE" graph tasks.pct --json -o one.dot; says "the graph is written" 0 out 'critical_path'
run "$PCERE" trace --threads 3 --force ./tasks; says "traced again with three threads" 0 out 'records'
run "$PCERE" graph tasks.pct --style plain -o two.dot; says "drawn again" 0 err '14 nodes'
is "declared dependences make the same edges" "$(grep -o '^ *"[TW][0-9]*" -> "[TW][0-9]*"' one.dot | sort)" "$(grep -o '^ *"[TW][0-9]*" -> "[TW][0-9]*"' two.dot | sort)"
run "$PCERE" metrics graph two.dot --json; says "a graph is read back" 0 out 'dependencies'
is "with as many edges" "$(json '.runs[0].metrics.dependencies')" "$edges"
run "$PCERE" graph tasks.pct --fold; says "folded by place" 0 out 'task main@tasks\.c:11:[0-9]+ \(3\)'
holds "each task has its slack" grep -q 'slack_ns=0' one.dot
run "$PCERE" graph tasks.pct --whole --style plain -o whole.dot; says "the whole program is one graph" 0 err ' 1 roots'
is "two regions, a loop, its ranges, and the tasks" "$(for kind in region loop chunk task; do grep -c "kind=$kind," whole.dot || true; done | tr '\n' ' ')" "2 1 64 13 "
run "$PCERE" graph tasks.pct --whole --fold; says "folded by place" 0 out 'chunk main@tasks\.c:[0-9]+:[0-9]+ \(64\)' out 'loop main@tasks\.c'
if command -v dot >/dev/null; then run dot -Tsvg one.dot; says "Graphviz draws it" 0 out '</svg>'; fi

# a task is one, into however many pieces it was cut
cat >pieces.c <<'END'
static double work(int n) { volatile double s = 0; for (int i = 0; i < n * 1000; i++) s += i; return s; }
int main(void)
{
    #pragma omp parallel
    #pragma omp single
    {
        #pragma omp task
        for (int k = 0; k < 5; k++) {
            #pragma omp task
            work(3);
            work(3);
            #pragma omp taskwait
        }
        #pragma omp taskloop grainsize(4)
        for (int i = 0; i < 40; i++) work(2);
    }
}
END
"$CLANG" -O1 -g -fopenmp pieces.c -o pieces
run "$PCERE" trace --threads 2 ./pieces; says "tasks that make tasks and wait" 0
run "$PCERE" metrics task pieces.pct --json; says "their rows" 0
is "one, five, and those of the taskloop with its place" "$(json '.runs[0].rows | map((.location | sub(":[0-9]+$"; "")) + " " + (.count | tostring)) | sort | join(", ")')" \
    "main@pieces.c:14 10, main@pieces.c:7 1, main@pieces.c:9 5"
for view in user developer; do
    run "$PCERE" timeline pieces.pct --view $view -o pieces.$view.json; says "the $view's timeline" 0
    run "$PCERE" metrics task pieces.$view.json --json; says "is read back" 0
    is "with the same tasks" "$(json '.runs[0].rows | map((.location | sub(":[0-9]+$"; "")) + " " + (.count | tostring)) | sort | join(", ")')" \
        "main@pieces.c:14 10, main@pieces.c:7 1, main@pieces.c:9 5"
    run "$PCERE" metrics omp pieces.$view.json --json; says "and counted" 0
    is "by their number" "$(json '.runs[0].metrics["Number of tasks"]')" 16
done
run "$PCERE" metrics omp pieces.pct --json; says "the program's metrics" 0
is "parts add up to the sum that is told" "$(json '.runs[0].metrics | (([.["Useful [ns]"], .["Region body [ns]"], .["Serial [ns]"], .["Serialisation [ns]"], .["Load balance [ns]"],
    .["Synchronisation [ns]"], .["Scheduling overhead [ns]"], .["Dependence wait [ns]"]] | add) == .["Wall time x threads [ns]"]) and .["Wall time x threads [ns]"] == .["Total time [ns]"] * .["Program threads"]')" true

# a detached task ends with its body, whoever fulfils its event, which ends nothing else
cat >detached.c <<'END'
#include <omp.h>
#include <pthread.h>
static omp_event_handle_t event;
static int full;
static double slept(double s) { double begin = omp_get_wtime(); while (omp_get_wtime() < begin + s) continue; return s; }
static void *server(void *x) { while (!__atomic_load_n(&full, __ATOMIC_ACQUIRE)) continue; omp_fulfill_event(event); return x; }
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, server, 0);
    #pragma omp parallel
    #pragma omp single
    {
        omp_event_handle_t mine;
        #pragma omp task detach(mine)
        slept(0.001);
        #pragma omp task firstprivate(mine)
        { slept(0.005); omp_fulfill_event(mine); slept(0.02); }
        #pragma omp taskwait
        #pragma omp task detach(mine)
        { event = mine; __atomic_store_n(&full, 1, __ATOMIC_RELEASE); slept(0.001); }
    }
    pthread_join(thread, 0);
}
END
"$CLANG" -O1 -g -fopenmp detached.c -o detached
for threads in 1 2; do
    run "$PCERE" trace --threads $threads --force ./detached; says "detached tasks with $threads threads" 0
    run "$PCERE" metrics task detached.pct --json; says "their rows" 0
    is "none is open" "$(cat "$work/.err")" ""
    is "and all are there" "$(json '.runs[0].rows | map((.location | sub(":[0-9]+$"; "")) + " " + (.count | tostring)) | sort | join(", ")')" \
        "main@detached.c:15 1, main@detached.c:17 1, main@detached.c:20 1"
    is "the one that fulfils an event goes on" "$(json '.runs[0].rows[] | select(.location | test(":17:")) | .sum_ns >= 25000000')" true
    for view in "metrics omp" "metrics graph" "timeline -o detached.json --force" "timeline -o detached.json --force --view developer"; do
        # shellcheck disable=SC2086
        run "$PCERE" $view detached.pct; says "${view%% -o*} takes it" 0
        is "and finds nothing open" "$(grep -E 'never finished|no sense' "$work/.err")" ""
    done
done

# tasks by which the runtime divides a taskloop are none of the program's; untied tasks before it leave nothing to be taken for one of its own
cat >divided.c <<'END'
static int v[4000];
static void grow(int depth)
{
    for (int i = 0; depth && i < 3; i++) {
        #pragma omp task untied
        grow(depth - 1);
    }
    #pragma omp taskwait
}
int main(void)
{
    for (int k = 0; k < 20; k++) {
        #pragma omp parallel
        #pragma omp single
        #pragma omp taskgroup
        grow(4);
        #pragma omp parallel
        #pragma omp single
        #pragma omp taskloop grainsize(100)
        for (int i = 0; i < 4000; i++) v[i]++;
    }
}
END
"$CLANG" -O1 -g -fopenmp divided.c -o divided
run "$PCERE" trace --threads 2 ./divided; says "taskloops of more tasks than the runtime makes at once" 0
counts="grow@divided.c:5 2400, main@divided.c:19 800"
run "$PCERE" metrics task divided.pct --json; says "their tasks" 0
is "are the program's" "$(json '.runs[0].rows | map((.location | sub(":[0-9]+$"; "")) + " " + (.count | tostring)) | sort | join(", ")')" "$counts"
run "$PCERE" metrics omp divided.pct --json; says "the run's" 0
is "are as many" "$(json '.runs[0].metrics["Number of tasks"]')" 3200
run "$PCERE" metrics graph divided.pct --json; says "the graph's" 0
is "and so many" "$(json '.runs[0].metrics.tasks >= 3200 and (.runs[0].metrics.tasks - 3200) % 20 == 0')" true
run "$PCERE" graph divided.pct --style plain --nodes 100000 -o divided.dot; says "the graph" 0
is "has them" "$(grep -c 'kind=task' divided.dot)" 3200

# chunks of many blocks: 16 bytes each, and what holds beyond a block is told once a block
cat >chunks.c <<'END'
int main(void)
{
    static int sums[2];
    #pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < 100000; i++) sums[i % 2] = i;
}
END
"$CLANG" -O1 -fopenmp chunks.c -o chunks
run "$PCERE" trace --threads 2 ./chunks; says "a record for each chunk" 0
is "in little more than their bytes" "$(($(stat -c %s chunks.pct) < 100000 * 16 + 500000))" 1

run "$PCERE" trace --threads 2 -o second.pct ./tasks; says "a second process" 0 out 'records'
run "$PCERE" metrics omp tasks.pct second.pct tasks.pct,second.pct --json; says "two processes as one run" 0
is "one after the other by the clock of the day" "$(json '.runs | map(.metrics["Total time [ns]"]) | .[2] > .[0] + .[1]')" true
is "with the tasks of both" "$(json '.runs[2].metrics | [.["Number of tasks"], .["Worker Process"]] | join(" ")')" "26 2"

# as OMPC writes it
mkdir ompc
cat >ompc/head.json <<'END'
{"traceEvents":[{"ph":"M","pid":0,"tid":0,"name":"process_name","args":{"name":"Head Process"}},
{"ph":"X","pid":0,"tid":0,"ts":0,"dur":1000,"name":"Runtime Execution"},
{"ph":"X","pid":0,"tid":1,"ts":50,"dur":300,"name":"Target Nowait","args":{"task_id":1,"source_location":"a.c:3:1"}}]}
END
cat >ompc/worker.json <<'END'
{"traceEvents":[{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"Worker Process 0"}},
{"ph":"X","pid":1,"tid":1,"ts":100,"dur":200,"name":"Task 1"},
{"ph":"X","pid":1,"tid":1,"ts":400,"dur":100,"name":"Task 2","args":{"source_location":"a.c:9:1"}},
{"ph":"X","pid":1,"tid":2,"ts":10,"dur":5,"name":"Submit / Begin","args":{"mpi_tag":4}},
{"ph":"X","pid":1,"tid":2,"ts":30,"dur":5,"name":"Submit / End","args":{"mpi_tag":4}}]}
END
echo 'digraph G { V1 [label="1"]; V2 [label="2"]; V1 -> V2 [label="64"]; }' >ompc/graph.dot
run "$PCERE" metrics omp ompc ompc/worker.json --json; says "two runs side by side" 0 out 'runs'
is "computation time" "$(json '.runs[0].metrics["Computation Time [%]"]')" 75
is "serial share" "$(json '.runs[0].metrics["Serial Region Efficiency"]')" 0.7
run "$PCERE" metrics task ompc --csv; says "a place from the head" 0 out '^ompc,a\.c:3:1,.*,1,Execute$'
run "$PCERE" metrics graph ompc --json; says "graph and trace together" 0 out 'critical'
is "times come from the trace" "$(json '.runs[0].metrics["critical path time [ns]"]')" 300000

cat >plain.c <<'END'
int main(void)
{
    static double v[4096];
    for (int k = 0; k < 3; k++) {
        #pragma omp parallel for
        for (int i = 0; i < 4096; i++) v[i] += i * k;
    }
    return v[7] < 0;
}
END
"$CLANG" -O1 -g -fopenmp plain.c -o plain
run "$PCERE" trace --threads 2 ./plain; says "a program without tasks" 0
run "$PCERE" graph plain.pct -o plain.dot; says "has a graph, too" 0 err ' 1 roots'
is "three regions with a loop each, of two ranges" "$(for kind in region loop chunk task; do grep -c "kind=$kind," plain.dot || true; done | tr '\n' ' ')" "3 3 6 0 "

# Metrics come from the records at once where no model is needed; of a directory they never do.
cat >same.py <<'END'
import json, math, sys
runs = [run["metrics"] for run in json.load(open(sys.argv[1]))["runs"]]
for name, value in runs[0].items():
    other, room = runs[1][name], 1e-3 * runs[0]["Total time [ns]"] if "[ns]" in name else 1e-3
    assert value == other or (value is not None and other is not None and math.isclose(value, other, abs_tol=room, rel_tol=1e-3)), (name, value, other)
assert runs[0]["Number of tasks"] == runs[1]["Number of tasks"]
END
mkdir programs
cp "$SOURCE"/tests/profiler/programs/{fibonacci,sort,in_single}.c programs/
cat >programs/dependences.c <<'END'
#include <stdio.h>
static double cells[8], sum[4];
static void nap(int steps) { volatile double x = 0; for (int i = 0; i < steps; i++) x += i; }
int main(void)
{
    #pragma omp parallel
    #pragma omp single
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 8; i++) {
            double *cell = &cells[i], *next = &cells[(i + 3) % 8];
            #pragma omp task depend(out: cell[0]) firstprivate(i)
            nap(200 * i);
            #pragma omp task depend(in: cell[0]) depend(inout: next[0])
            nap(1500);
            #pragma omp task depend(in: cell[0])
            {
                for (int k = 0; k < 3; k++) {
                    #pragma omp task depend(inout: sum[k])
                    nap(300);
                    #pragma omp task depend(in: sum[k])
                    nap(100);
                }
                #pragma omp taskwait
            }
            #pragma omp task depend(mutexinoutset: sum[3])
            nap(400);
            #pragma omp task depend(mutexinoutset: sum[3]) depend(in: next[0])
            nap(400);
            #pragma omp task depend(inoutset: sum[2])
            nap(100);
            #pragma omp task
            nap(50);
        }
        #pragma omp task depend(in: sum[3], sum[2])
        nap(1000);
        if (round % 5 == 4) {
            #pragma omp taskwait
        }
    }
    printf("done\n");
    return 0;
}
END
for program in fibonacci sort in_single dependences; do
    "$CLANG" -O1 -fopenmp "programs/$program.c" -o "$program"
    mkdir -p "model-$program"
    run "$PCERE" trace --threads 3 -o "model-$program/one.pct" "./$program"; says "$program is traced" 0
    run "$PCERE" metrics omp "model-$program/one.pct" "model-$program" --json; says "its metrics, from the records and from the model" 0
    cp .out metrics.json
    run python3 same.py metrics.json; says "are the same" 0
done

# what is wrong
run "$PCERE" metrics; says "no words" 2 err 'which metrics'
run "$PCERE" metrics all x; says "a wrong word" 2 err "'all' is none of"
run "$PCERE" metrics omp; says "no trace" 2 err 'no trace'
run "$PCERE" metrics omp nowhere.json; says "a file that is not there" 2 err 'No such file'
: >empty.json
run "$PCERE" metrics omp empty.json; says "an empty file" 4 err 'is empty'
echo hello >foreign
run "$PCERE" metrics omp foreign; says "a foreign file" 4 err 'is no trace'
head -c 300 ompc/worker.json >cut.json
run "$PCERE" metrics omp cut.json; says "a cut file: what is whole, and the sentence" 4 err 'cut or damaged'
head -c 30000 tasks.pct >cut.pct
run "$PCERE" metrics omp cut.pct; says "a cut trace of ours" 4 err 'cut.pct'
echo 'digraph { a -> b; b -> c; c -> a }' >cycle.dot
run "$PCERE" metrics graph cycle.dot; says "a cycle" 4 err 'cycle: '
run "$PCERE" graph cycle.dot; says "a cycle is not drawn" 4 err 'cycle: '
run "$PCERE" graph ompc/worker.json; says "a trace without tasks to order" 1 err 'no task graph'
run "$PCERE" graph tasks.pct -o /nonexistent/x.dot; says "a place that is not there" 2 err 'cannot write'
run "$PCERE" graph tasks.pct --force -o /dev/full; says "a full disk" 5 err 'cannot write'
holds "a device is not removed" test -c /dev/full
# Devices are never replaced, whoever asks for it; a pipe stands in for them.
mkfifo device
for words in "trace --force -o device" "profile --force -o device" "profile --force -o p.pcx --trace device"; do
    # shellcheck disable=SC2086
    run "$PCERE" $words true
    says "pcere $words replaces no device" 2 err 'no regular file'
    holds "which is still there" test -p device
done
finish
