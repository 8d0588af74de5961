# pcere tune: finds what is faster, keeps what is right, goes on where it was, and says what it did not try.
source "$(dirname "$0")/common.sh"
# An optimising compiler makes a product of each sum: a hundred times and more, which no other work on the machine hides.
compile work -O0 <<'END'
#include <math.h>
#include <stdio.h>
static double a[20000], b[20000];
static int missing;
int main(void)
{
    for (int j = 0; j < 20000; j++)
        b[j] = j % 100 ? j : NAN;
    for (int i = 0; i < 30; i++) {
#pragma omp parallel for
        for (int j = 0; j < 20000; j++) {
            unsigned sum = 0;
            for (unsigned k = 0; k < 200; k++) sum += k * (unsigned)j;
            a[j] = a[j] * 0.5 + sum; }
    }
    for (int i = 0; i < 30; i++) {
        int count = 0;
#pragma omp parallel for reduction(+ : count)
        for (int j = 0; j < 20000; j++)
            for (int k = 0; k < 200; k++)
                count += isnan(b[j]);
        missing += count;
    }
    printf("%g %d\n", a[7], missing);
    return 0;
}
END
run "$PCERE" capture ./work
says "a program that is compiled badly is captured" 0
run "$PCERE" tune --threads 1 --flags "-O3" --json
says "it is tuned" 0
is "few combinations are all tried" "$(json .method)" exhaustive
holds "-O3 is the best for both regions" jq -e '[.regions[].best.flags == "-O3"] | all' .out
holds "beyond doubt" jq -e '[.regions[] | .clear and .gain_ratio > 0.2] | all' .out
holds "and its results were compared" jq -e '[.regions[].verified | . == "identical" or . == "rounding"] | all' .out
holds "the whole program gains" jq -e '.tuned.predicted_ns < .captured.predicted_ns' .out
holds "the hint names the file and the flags" jq -e '[.regions[].hint | test("compile work.c with -O3")] | all' .out
holds "and what it says can be done: the program compiled so says the same" bash -c '"$0" $(jq -r ".regions[0].hint" .out | sed -n "s/^+ compile work.c with //p") -fopenmp work.c -lm -o hinted && [ "$(./hinted)" = "$(./work)" ]' "$CLANG"
is "every setting of each region was measured" "$(json '[.measured >= 4, .known, .failed, .not_tried] | join(" ")')" "true 0 0 0"

cp -r work.pcere without.pcere && rm without.pcere/samples.jsonl
run "$PCERE" predict without.pcere
says "of a store that was handed on without its samples nothing can be predicted" 4 err 'hint: .*pcere replay'
run "$PCERE" tune without.pcere --threads 1 --flags "-O3" --json
says "but it can be tuned" 0
is "from the start" "$(json '[.measured >= 4, .known, .failed, .not_tried] | join(" ")')" "true 0 0 0"
rm -rf without.pcere

run "$PCERE" tune --threads 1 --flags "-O3" --json
is "a second search knows all that and measures only to confirm" "$(json '[.known, (.regions | map(.trials | length) | add)] | join(" ")')" "4 4"
run "$PCERE" tune --threads 1 --flags "-O3 -ffast-math"
says "flags that make the results wrong are not taken" 0 out 'results with -O3 -ffast-math differ beyond rounding'
run "$PCERE" tune --threads 1 --flags "-O3 -no-such-flag"
says "those that do not compile are told" 0 out 'flags do not compile'
run "$PCERE" tune --threads 1 --flags "-O3 -ffast-math" --json
holds "the region that looks for NaN keeps its own flags" jq -e '.regions[] | select(.region | test(":19|:20|:18")) | .best.flags == null' .out
holds "and since a file is compiled once, so does the other one, which has to leave it for more" \
    jq -e '([.regions[] | .applied.flags == null and (.hint // "" | test("compile work.c") | not)] | all) and any(.regions[]; .hint // "" | test("in a file of its own, compiled with -O3 -ffast-math"))' .out

run "$PCERE" tune --threads 1,2 --flags "-O1; -O2; -O3; -Os; -O3 -march=native; -O3 -funroll-loops" --budget 1ms --json
says "a budget that is too small is no error" 0
holds "what was not tried is told" jq -e '.not_tried > 0 and .method == "coordinates"' .out
run "$PCERE" tune --threads 1,2
says "the table ends in settings and hints" 0 out 'export OMP_NUM_THREADS=' out '^@@ work.c:' out 'with the best of each region'

# What an environment can say for the whole program: a loop whose schedule is the environment's, captured with one that costs many times what the loop does.
mkdir scheduled
cd scheduled || exit 1
compile loop <<'END'
#include <omp.h>
#include <stdio.h>
static double a[60000];
int main(void)
{
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    FILE *log = fopen("log", "a");
    fprintf(log, "%d\n", (int)kind & 15);
    fclose(log);
    for (int i = 0; i < 5; i++) {
#pragma omp parallel for schedule(runtime)
        for (int j = 0; j < 60000; j++)
            a[j] += j;
    }
    return a[3] < 0;
}
END
OMP_SCHEDULE=dynamic,1 run "$PCERE" capture --one-run --threads 2 ./loop
run "$PCERE" tune main --threads 2 --flags "-O2" --schedules "static" --measure --json
says "schedules are tuned" 0
is "what is best for all regions is a setting of the environment" "$(json '.environment | join(" ")')" "OMP_NUM_THREADS=2 OMP_SCHEDULE=static"
is "and needs no hint beside it" "$(json '[.regions[].hint | select(. != null) | select(test("schedule"))] | length')" 0
holds "the program really ran with it" jq -e '.uniform | .schedule == "static" and .real_ns > 0 and (.predicted_gain_ratio | type == "number") and (.real_gain_ratio | type == "number")' "$work/.out"
is "as it says itself" "$(tail -n 1 log) $(head -n 1 log)" "1 2"
is "such runs are told from those with the capture's settings" "$(jq -r 'select(.kind == "run" and .region == null) | .settings' loop.pcere/samples.jsonl | sort -u | tr '\n' '|')" '|schedule=static|'
run "$PCERE" tune main --threads 2 --flags "-O2" --schedules "static"
says "for people, too" 0 out '^export OMP_SCHEDULE=static' out 'and the settings below \(really' out 'by the environment alone .* really'
cd ..
# A program that says its schedule itself: what an environment says has no effect there.
mkdir setting
cd setting || exit 1
compile setting <<'END'
#include <omp.h>
static double a[30000];
int main(void)
{
    omp_set_schedule(omp_sched_dynamic, 1);
    for (int i = 0; i < 5; i++) {
#pragma omp parallel for schedule(runtime)
        for (int j = 0; j < 30000; j++)
            a[j] += j;
    }
    return a[3] < 0;
}
END
run "$PCERE" capture --one-run --threads 2 ./setting
run "$PCERE" tune main --threads 2 --flags "-O2" --schedules "static"
says "a program that sets its schedule is tuned, and what that means is told" 0 err 'omp_set_schedule, so that OMP_SCHEDULE has no effect' out '\+ #pragma omp for schedule\(static\)'
holds "the environment is told no schedule" test "$(grep -c OMP_SCHEDULE= "$work/.out")" = 0
cd ..
# Schedules of loops whose source fixes them: one that costs many times what the loop does, and one on whose shares of the iterations the results depend.
mkdir fixed
cd fixed || exit 1
compile fixed <<'END'
#include <omp.h>
static double a[60000];
static int owner[60000];
int main(void)
{
    double sum = 0;
    for (int i = 0; i < 5; i++) {
#pragma omp parallel for schedule(dynamic, 1)
        for (int j = 0; j < 60000; j++)
            a[j] += j;
    }
    for (int i = 0; i < 5; i++) {
#pragma omp parallel for
        for (int j = 0; j < 6000; j++) {
            owner[j] = omp_get_thread_num() + 1;
            for (volatile int k = 0; k < 4000000 && omp_get_thread_num() == 1 && j == 5999; k++) {}
        }
    }
    for (int j = 0; j < 60000; j++)
        sum += a[j] + owner[j];
    return sum < 0;
}
END
run "$PCERE" capture --one-run --all-classes --threads 2 ./fixed
run "$PCERE" tune fixed.c:8 fixed.c:13 --threads 2 --flags "-O2" --schedules "static,100000" --all-loops --json
says "schedules of all loops are tuned" 0
region() { json ".regions[] | select(.region | test(\"$1\")) | $2"; }
is "the best is a clause in the source" "$(region ':8$' '[.best.schedule, (.hint | split("\n")[0])] | join("; ")')" "static,100000; + #pragma omp for schedule(static,100000)"
is "with which the results are right" "$(region ':8$' .verified)" identical
is "what is faster and gives other results is not taken" "$(region ':13$' '[.best.schedule, .note] | tojson')" '[null,"results with schedule static,100000 differ beyond rounding"]'
is "the environment is told nothing that it could not do" "$(json '[.environment[] | select(test("SCHEDULE"))] | length')" 0
run "$PCERE" tune --threads 2 --flags "-O2" --all-loops
says "which schedules has to be said" 2 err "there is no --schedules" err 'hint: say which'
cd ..
# A region that the whole program can do without is measured like others, once it is asked for.
mkdir light
cd light || exit 1
compile light <<'END'
static double a[3000000];
int main(void)
{
    for (int i = 0; i < 12; i++)
#pragma omp parallel for
        for (int j = 0; j < 3000000; j++)
            for (int k = 0; k < 10; k++) a[j] = a[j] * 0.5 + k;
#pragma omp parallel for
    for (int j = 0; j < 500; j++)
        a[j] += j;
    return a[3] < 0;
}
END
run "$PCERE" capture --one-run --all-classes ./light
run "$PCERE" tune light.c:8 --threads 1 --flags "-O2" --json
says "a region that weighs nothing is tuned by its name" 0
is "and nothing of it is known before" "$(json '[.known, .measured >= 2] | tojson')" "[0,true]"
is "each time was measured" "$(json '[.regions[0].trials[] | .flags // "as it is"] | join(" ")')" "as it is -O2"
is "by replays, which the store has" "$(jq -rs '[.[] | select(.kind == "replay" and (.region | test("light.c:8"))) | .flags // ""] | unique | length' light.pcere/samples.jsonl)" 2
run "$PCERE" tune light.c:8 --threads 1 --budget 1ms --json
is "the level that the program was compiled with is not tried again" "$(json '.known + .measured + .not_tried')" 5
cd ..
# Killed in the midst of it, it goes on with what it had: samples are lines that are there or not, and a build that was not finished is made again.
run "$PCERE" capture --one-run -o killed.pcere ./work
"$PCERE" tune killed.pcere --threads 1 --flags "-O2; -O3" --json >.killed 2>&1 &
tuning=$!
for _ in $(seq 15000); do
    [ "$(grep -c '"kind":"replay"' killed.pcere/samples.jsonl 2>/dev/null || true)" -ge 3 ] && break
    kill -0 $tuning 2>/dev/null || break
    sleep 0.02
done
kill -9 $tuning 2>/dev/null
wait $tuning 2>/dev/null
holds "what was measured before it was killed is there, line by line" jq -s -e '[.[] | select(.kind == "replay")] | length >= 3' killed.pcere/samples.jsonl
kept=$(wc -l <killed.pcere/samples.jsonl)
run "$PCERE" tune killed.pcere --threads 1 --flags "-O2; -O3" --json
says "a search that was killed goes on" 0
holds "with what it knew" jq -e '.known >= 1 and .failed == 0 and .not_tried == 0 and ([.regions[].trials | length] | add) == 6' .out
holds "and nothing of that is lost" test "$(wc -l <killed.pcere/samples.jsonl)" -ge "$kept"
is "nothing half-made is left" "$(find killed.pcere -name '*.tmp*' -o -name 'incomplete*' -o -name '.*' -type f | grep -v '/\.\.*$' | wc -l)" 0
for _ in $(seq 15000); do pgrep -f "$work/killed.pcere" >/dev/null || break; sleep 0.02; done
is "no process works on" "$(pgrep -f "$work/killed.pcere" | wc -l)" 0
rm -r killed.pcere
# Interrupted while a compiler works: flags out of a pipe, which it reads when somebody writes.
run "$PCERE" capture --one-run -o stopped.pcere ./work
for signal in INT:130 TERM:143; do
    mkfifo "flags.${signal%:*}"
    python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])' \
        "$PCERE" tune stopped.pcere --threads 1 --flags "-O2; @$work/flags.${signal%:*}" >.out 2>.err &
    tuning=$!
    timeout 300 bash -c 'exec 9>flags.'"${signal%:*}"'; kill -'"${signal%:*} $tuning"'; echo -O3 >&9'
    status=0; wait $tuning || status=$?
    says "interrupted by SIG${signal%:*} it ends when the setting is measured, and says what it leaves" "${signal#*:}" err 'or at once if asked again' err "interrupted; what was measured, [0-9]+ settings? of regions, is in '.*stopped.pcere'" \
        err 'hint: the same command goes on'
    holds "no table of a search that was not ended" test ! -s .out
    holds "every sample is whole" jq -e . stopped.pcere/samples.jsonl
done
run "$PCERE" tune stopped.pcere --threads 1 --flags "-O2" --json
says "afterwards it goes on" 0
holds "with all that was measured before" jq -e '.known == 4 and .failed == 0' .out
rm -r flags.* stopped.pcere

# A full disk: of a file system of its own, which goes with its process.
if unshare -m mount -t tmpfs none /mnt 2>/dev/null; then
    run "$PCERE" capture --one-run -o full.pcere ./work
    cat >filled <<'SCRIPT'
mkdir small && mount -t tmpfs -o size=64m none small && cp -r full.pcere small/ && cd small || exit 99
"$PCERE" tune full.pcere --threads 1 --flags "-O2" --json >../first.json || exit 98
dd if=/dev/zero of=filler bs=4096 >/dev/null 2>&1
"$PCERE" tune full.pcere --threads 1 --flags "-O2" >/dev/null 2>../sample.err; echo "$?" >../sample.status
truncate -s -32K filler
"$PCERE" tune full.pcere --threads 1 --flags "-O2; -O3" >/dev/null 2>../build.err; echo "$?" >../build.status
rm filler
jq -c . full.pcere/samples.jsonl | wc -l >../whole && wc -l <full.pcere/samples.jsonl >../lines
exec "$PCERE" tune full.pcere --threads 1 --flags "-O2; -O3" --json
SCRIPT
    PCERE=$PCERE run unshare -m bash filled
    says "a disk that was full is searched on once it is not" 0
    is "a sample that has no room is exit 5" "$(cat sample.status)" 5
    holds "with a word and a hint" grep -q 'No space left' sample.err
    is "a build that has no room is, too, and no flags that do not compile" "$(cat build.status)" 5
    holds "with a word and what to do" grep -q 'No space left' build.err
    is "no sample is cut in two" "$(cat whole)" "$(cat lines)"
    holds "and what was measured before is known" jq -e '.known >= 4 and .failed == 0 and ([.regions[].best.flags] | length) == 2' .out
    rm -r full.pcere small
else
    echo "left out: no file system may be mounted here"
fi
run "$PCERE" tune --flags "-O3;;-O2"
says "an empty item is refused" 2 err 'empty item' err 'semicolons'
run "$PCERE" tune --budget soon
says "a budget that is no time is refused" 2 err '--budget'
run "$PCERE" tune no_such_region
says "a region that is not there is refused" 2 err no_such_region
run "$PCERE" tune --threads 1 --flags "-O3" --binds "nowhere" --json
says "a binding that does not exist is refused" 2 err "--binds 'nowhere'"
lines=$(wc -l <work.pcere/samples.jsonl)
run "$PCERE" tune --threads 1 --flags "-O3" --schedules "static; dynamic,0"
says "and so is a schedule" 2 err "--schedules 'dynamic,0': there is no such schedule"
is "before anything is measured" "$(wc -l <work.pcere/samples.jsonl)" "$lines"
run "$PCERE" tune --threads 1 --flags "-O3" --measure --json
holds "the real time stands beside" jq -e '.captured.real_ns > 0' .out

# A program that takes its number of threads from an argument: what the environment says does nothing, which real runs tell.
cat > own.c <<'C'
#include <omp.h>
#include <stdlib.h>
static double a[100000];
int main(int argc, char **argv)
{
    omp_set_num_threads(argc > 1 ? atoi(argv[1]) : 1);
    for (int i = 0; i < 20; i++) {
#pragma omp parallel for
        for (int j = 0; j < 100000; j++) a[j] = a[j] * 0.5 + i;
    }
    return a[3] < 0;
}
C
run "$CLANG" -g -O1 -fopenmp "-fpass-plugin=$(plugin)" own.c -o own
says "own is built" 0
run "$PCERE" capture --one-run ./own 1
says "own runs and is captured" 0
run "$PCERE" tune own.pcere --threads 2 --flags "-O1" --measure
says "a number of threads that the program does not take is told" 0 err 'with OMP_NUM_THREADS=2 main@own.c:8 had 1 thread in real runs all the same: the program sets that number itself'
finish
