# pcere capture --runs: the program runs so many times more, with the same input and without output, and what they say goes into the store, the tables and the predictions.
source "$SOURCE/tests/cli/common.sh" || exit 1
machine_passes

# It notes what it read, and fails from the run on that its argument names.
compile reader <<'C'
#include <stdio.h>
#include <stdlib.h>
static double a[200000];
int main(int argc, char **argv)
{
    char line[80] = "nothing", file[80];
    int runs = 0;
    if (!fgets(line, sizeof line, stdin))
        line[0] = '\0';
    FILE *log = fopen("log", "a+");
    rewind(log);
    while (fgets(file, sizeof file, log))
        runs++;
    fprintf(log, "read %s", line);
    fclose(log);
    for (int step = 0; step < 20; step++) {
#pragma omp parallel for
        for (int i = 0; i < 200000; i++)
            a[i] = a[i] * 0.5 + i;
    }
    printf("answer %g\n", a[10]);
    return argc > 1 && runs + 1 >= atoi(argv[1]) ? 3 : 0;
}
C
echo words >input
# with_words COMMAND...: run, with words to read
with_words() { status=0; "$@" >.out 2>.err <input || status=$?; }
with_words "$PCERE" capture --one-run --runs 3 --json ./reader
says "a capture with three runs more" 0 err '^answer'
is "the program's output is that of the capture alone" "$(grep -c '^answer' .err)" 1
is "each run had the same input" "$(sort log | uniq -c | awk '{ print $1, $2, $3 }')" "4 read words"
holds "the document has their times, and how far they lie apart" jq -e '.spread | .threads == 1 and (.walls_ns | length == 3 and . == sort) and .wall_ns_median == .walls_ns[1] and .pairs == 2 and
    ((.walls_ns[2] - .walls_ns[0]) / .walls_ns[1] - .spread_ratio | fabs < 1e-9) and .pair_ratio >= 0 and .pair_ratio <= 2' .out
holds "each region's, too" jq -e '.regions[0].region as $name | .spread.regions | length == 1 and .[0].region == $name and (.[0].times_ns | length == 3)' .out
is "what the capture itself cost has none of them" "$(json .runs)" 1
holds "they are in the store as real runs" sh -c 'jq -s -e "[.[] | select(.kind == \"run\" and .region == null) | .threads] == [1, 1, 1]" reader.pcere/samples.jsonl'
run "$PCERE" regions; says "regions repeats it" 0 out '^3 further runs: .* apart, two in a row .*2 pairs.*; the captured one took'
run "$PCERE" regions --json; holds "and so does its document" jq -e '.spread.walls_ns | length == 3' .out
run "$PCERE" replay --threads 1,2
run "$PCERE" predict
says "predictions go by them" 0 out 'runs of the program differ by .*3 runs and what is assumed' out 'with 1 thread, 3 runs .*two in a row differ by'
run "$PCERE" predict --json
holds "and have their real time at that number of threads alone" jq -e '[.predictions[] | [.threads, .real_runs]] == [[1, 3], [2, 0]]' .out
holds "with the pairs" jq -e '.predictions[0] | .real_pairs == 2 and .real_pair_ratio >= 0' .out
rm reader.pcere/samples.jsonl
run "$PCERE" regions --json; says "a store that was handed on without its samples is shown" 0
is "it has no runs" "$(json .spread)" null

rm log
printf 'more words\n' | "$PCERE" capture --force --one-run --runs 2 -q ./reader >.out 2>.err
is "a pipe is kept for all of them" "$(sort log | uniq -c | awk '{ print $1, $2, $3 }')" "3 read more"
rm log
with_words "$PCERE" capture --force --one-run ./reader
holds "without --runs there is nothing to tell" test "$(grep -c 'further run' .err)" = 0
run "$PCERE" regions --json; is "which the document says" "$(json .spread)" null

rm log
with_words "$PCERE" capture --force --one-run --runs 4 --json ./reader 3
says "a run that fails ends them" 1 err 'the program exited with status 3' err 'hint: that was run 2 of those after the capture'
is "there was no other after it" "$(wc -l <log)" 3
is "those before it count" "$(json '.spread.walls_ns | length')" 1
run "$PCERE" replay --threads 1; says "the capture stays whole" 0
rm log
with_words "$PCERE" capture --force --one-run --runs 4 --json ./reader 1
says "a program that fails in its capture" 1 err 'the program exited with status 3'
is "is not run again" "$(wc -l <log)" 1
run "$PCERE" capture --force --runs 0 ./reader; says "no run at all is no number of runs" 2 err '--runs'

# Other commands that run it several times: a file is read from its beginning each time, a pipe is kept.
compile needs <<'C'
#include <stdio.h>
static double a[20000];
int main(void)
{
    int steps;
    if (scanf("%d", &steps) != 1)
        return 3;
    for (int step = 0; step < steps; step++) {
#pragma omp parallel for
        for (int i = 0; i < 20000; i++)
            a[i] = a[i] * 0.5 + i;
    }
    return 0;
}
C
echo 20 >input
with_words "$PCERE" capture -q --all-classes ./needs; says "a program that needs input is captured" 0
with_words "$PCERE" run --repeat 2 --threads 1,2 --json ./needs; says "it is run four times" 0
is "with the same input each time" "$(jq '[.runs[].regions[].invocations] | tojson' -r .out)" "[20,20,20,20]"
status=0; cat input | "$PCERE" run --repeat 2 --json ./needs >.out 2>.err || status=$?; says "from a pipe, too" 0
with_words "$PCERE" verify --in-vivo --threads 1,2 needs.pcere; says "verify runs it again with each number of threads" 0
with_words "$PCERE" replay -q --threads 1,2 needs.pcere
with_words "$PCERE" predict --threads 1,2 --measure needs.pcere; says "and so does predict" 0

# Without its input it is done at once, which is no time of the same work.
compile asks <<'C'
#include <stdio.h>
static double a[1 << 16];
int main(void)
{
    int steps;
    if (scanf("%d", &steps) != 1)
        return 0;
    for (int step = 0; step < steps; step++) {
#pragma omp parallel for
        for (int i = 0; i < 1 << 16; i++)
            for (int k = 0; k < 40; k++)
                a[i] = a[i] * 0.999 + 1.0 / (1.0 + a[i]);
    }
    printf("%g\n", a[77]);
    return 0;
}
C
with_words "$PCERE" capture -q ./asks; says "a program that asks what to do is captured" 0
with_words "$PCERE" replay -q --threads 1 asks.pcere
kept=$(wc -l <asks.pcere/samples.jsonl)
status=0; "$PCERE" predict --measure --repeat 1 --threads 1 asks.pcere >.out 2>.err </dev/null || status=$?
says "without it, real runs are none of the same work" 1 err 'entered none of its parallel regions and was done in .* it did something else' err 'hint: .*standard input'
is "and none is kept" "$(wc -l <asks.pcere/samples.jsonl)" "$kept"
status=0; "$PCERE" verify --in-vivo --threads 1 asks.pcere >.out 2>.err </dev/null || status=$?
says "so says verify" 1 out 'entered none of its parallel regions: it did something else' err 'standard input'
with_words "$PCERE" predict --measure --repeat 1 --threads 1 asks.pcere; says "with it they are" 0

# One that asks its environment has the shell's.
compile named <<'C'
#include <stdio.h>
#include <stdlib.h>
static double a[1 << 16];
int main(void)
{
    if (!getenv("TURNS"))
        return 2;
    for (int turn = 0; turn < atoi(getenv("TURNS")); turn++) {
#pragma omp parallel for
        for (int i = 0; i < 1 << 16; i++)
            a[i] += i % 7;
    }
    printf("%g\n", a[77]);
    return 0;
}
C
TURNS=3 run "$PCERE" capture -q ./named; says "a program that asks its environment is captured" 0
run "$PCERE" verify --in-vivo --threads 1 named.pcere; says "without the variable it fails, and what it was given is said" 1 err "exited with status 2" err "hint: .*other environment variables and standard input are this shell's"
run "$PCERE" replay -q --threads 1 named.pcere; says "it is replayed" 0
run "$PCERE" predict --measure --repeat 1 --threads 1 named.pcere; says "so says predict" 1 err "exited with status 2" err 'hint: .*other environment variables'

# A program that ends with another status than 0 by itself does so again.
compile ends <<'C'
#include <stdlib.h>
static double a[20000];
int main(void)
{
    for (int step = 0; step < 20; step++) {
#pragma omp parallel for
        for (int i = 0; i < 20000; i++)
            a[i] = a[i] * 0.5 + i;
    }
    return getenv("ENDS") ? atoi(getenv("ENDS")) : 3;
}
C
run "$PCERE" capture -q --all-classes ./ends; says "a program that ends with status 3 is captured, and that is said" 1 err "exited with status 3"
run "$PCERE" replay -q ends.pcere
run "$PCERE" predict --measure ends.pcere; says "its real runs may end as the captured one did" 0
run "$PCERE" verify --in-vivo --threads 2 ends.pcere; says "verify's, too" 0
run env ENDS=4 "$PCERE" predict --measure ends.pcere; says "and not in another way" 1 err "exited with status 4"

# What the program prints in real runs was seen when it was captured, and stands in nobody's way.
compile tells <<'C'
#include <stdio.h>
static int a[1000];
int main(void)
{
    for (int step = 0; step < 3; step++) {
#pragma omp parallel for
        for (int i = 0; i < 1000; i++)
            if ((a[i] += i) == 14)
                printf("inside\n");
        fprintf(stderr, "step %d\n", step);
    }
    return puts("outside") < 0;
}
C
run "$PCERE" capture -q --all-classes ./tells; says "a program that prints is captured" 0 out '^inside' out '^outside' err '^step 2'
run "$PCERE" verify -q --in-vivo --threads 1,2 tells.pcere; says "verify with real runs gives its table" 0 out '^main@.* 2  identical'
is "and nothing of theirs" "$(grep -cE 'inside|outside|step' .out .err | tr '\n' ' ')" ".out:0 .err:0 "

# Arguments of regions tell invocations of two runs to be the same: what the program allocates lies where it did.
compile places <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    double *a = calloc(24, sizeof *a);
    FILE *log = fopen("places.log", "a");
    fprintf(log, "%p\n", (void *)a);
    fclose(log);
    for (int step = 0; step < 5; step++) {
#pragma omp parallel for
        for (int i = 0; i < 24; i++)
            a[i] += i;
    }
    return a[3] != 15;
}
C
if setarch -R true 2>/dev/null; then
    run "$PCERE" capture -q --two-runs --all-classes ./places; says "a program is run for its times, and captured" 0
    is "its heap begins at the same place in both" "$(wc -l <places.log), $(sort -u places.log | wc -l)" "2, 1"
fi
finish
