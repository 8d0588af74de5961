# pcere predict sweep.pcere --arch and --model: a machine is predicted from its description, and what codelets do is counted as it is.
source "$SOURCE/tests/cli/common.sh" || exit 1
mkdir -p "$XDG_DATA_HOME/pcere/archs"

cat >sweep.c <<'END'
#include <stdio.h>
enum { N = 1 << 17 };
static double data[N];
double total;
int main(void)
{
    for (int i = 0; i < N; i++)
        data[i] = i;
    for (int step = 0; step < 6; step++) {
        double sum = 0;
#pragma omp parallel for reduction(+ : sum)
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < N; i++)
                sum += data[i] * 3;
        total += sum;
    }
    printf("%g\n", total);
    return 0;
}
END
run "$CLANG" -O2 -g -fopenmp -fno-vectorize -fno-unroll-loops -fpass-plugin="$(plugin)" sweep.c -o sweep; says "a program is compiled" 0
run "$PCERE" capture ./sweep; says "and captured" 0

run "$PCERE" predict sweep.pcere --arch sandybridge --threads 1,2 --json; says "a machine that nobody has replayed on is predicted" 0
is "by its model" "$(json '.basis + " " + .arch')" "model sandybridge"
is "with intervals that hold the times" "$(json '[.predictions[] | .low_ns <= .time_ns and .time_ns <= .high_ns and .low_ns < .high_ns] | all')" true
is "each region says that it comes from the model" "$(json '[.predictions[].regions[].basis] | unique | join(" ")')" model
characters=(sweep.pcere/codelets/*.1.character)
character=${characters[0]}
holds "what the codelet does is kept in the store" test -s "$character"
is "each pass of the loop was counted" "$(jq '[.codes[] | select(.loop and .flops == 2) | .counts | add] | add' "$character")" 262144
is "each line of the array comes once in 16384 others, or is new" \
    "$(jq '.per_thread[0] | .cold as $c | .reuse.read_regular as $u | ([range(0; $u | length; 2) | select($u[.] == 56 or $u[.] == 55) | $u[. + 1]] | add) as $far |
           $far > 16000 and ($far + $c.read_regular + $c.read_irregular | . > 32000 and . < 33000)' "$character")" true

# 40 lines of one place in their pages, again and again: a cache of 64 sets keeps 8 or 12 of them, whatever room it has, and each lies in a page of its own.
cat >placed.c <<'END'
#include <stdlib.h>
double total;
int main(void)
{
    double *data = aligned_alloc(4096, 40 * 4096);
    for (int i = 0; i < 40 * 512; i++)
        data[i] = i;
    for (int step = 0; step < 6; step++)
#pragma omp parallel for reduction(+ : total)
        for (int k = 0; k < 1000; k++)
            for (int i = 0; i < 40; i++)
                total += data[i * 512];
    return total < 0;
}
END
run "$CLANG" -O2 -g -fopenmp -fpass-plugin="$(plugin)" placed.c -o placed; says "a program is compiled whose lines share a place" 0
run "$PCERE" capture --max-classes 1 ./placed; says "and captured" 0
run "$PCERE" predict placed.pcere --arch sandybridge --threads 1 --json; says "and predicted" 0
placed=(placed.pcere/codelets/*.1.character)
is "nearly all uses are too far apart for 12 ways" "$(jq '[.per_thread[0].reuse.read_irregular as $u | range(0; $u | length; 2) | select($u[.] > 37) | $u[. + 1]] | add > 39000' "${placed[0]}")" true
is "the last step foretells most jumps, but not those back to the first line, some hundred instructions apart" \
    "$(jq -c '.per_thread[0].reuse.read_jumps as $j | [range(0; $j | length; 2)] | [(map(select($j[.] == 0) | $j[. + 1]) | add | . >= 30000 and . < 40000), (map(select($j[.] >= 20 and $j[.] <= 34) | $j[. + 1]) | add | . > 950 and . < 1010)]' "${placed[0]}")" '[true,true]'
is "pages are told by their distance" "$(jq '[.per_thread[0].reuse.pages as $u | range(0; $u | length; 2) | select($u[.] >= 20 and $u[.] <= 22) | $u[. + 1]] | add > 39000' "${placed[0]}")" true

is "at two threads each has half" "$(jq '[.codes[] | select(.loop and .flops == 2) | .counts[]] | join(",")' "${character%.1.character}.2.character")" '"131072,131072"'

cat >handed.c <<'END'
#include <omp.h>
enum { N = 2048 };                  /* 256 lines */
static double shared[N], own[2][N];
int main(void)
{
#pragma omp parallel num_threads(2)
    for (int turn = 0; turn < 4; turn++) {
        double *to = omp_get_thread_num() == turn % 2 ? shared : own[omp_get_thread_num()];
        for (int i = 0; i < N; i++)
            to[i] += 1;
#pragma omp barrier
    }
    return shared[7] != 4;
}
END
run "$CLANG" -O2 -g -fopenmp -fno-vectorize -fno-unroll-loops -fpass-plugin="$(plugin)" handed.c -o handed; says "a program whose threads hand memory to each other is compiled" 0
OMP_NUM_THREADS=2 run "$PCERE" capture ./handed; says "and captured" 0
run "$PCERE" predict handed.pcere --arch zen4 --threads 2; says "and predicted" 0
sums='def sum($key): .reuse[$key] as $u | [range(1; $u | length; 2) | $u[.]] | add // 0;'
is "each thread finds in its second turn what the other wrote: 256 lines" \
    "$(jq -c "$sums"' [.per_thread[] | sum("foreign_regular") + sum("foreign_irregular") | . > 250 and . < 265]' handed.pcere/codelets/*.2.character)" '[true,true]'
is "and 127 lines of two turns at least come soon after a jump" \
    "$(jq -c "$sums"' [.per_thread[] | sum("read_early") + .cold.read_early | . > 250 and . < 516]' handed.pcere/codelets/*.2.character)" '[true,true]'

# Branches: what a predictor of today learns, and what nobody can foretell; what their conditions take; and a select that the code generator makes a branch of.
cat >foretold.c <<'END'
#include <stdlib.h>
enum { N = 20000 };
static unsigned char random_bits[N], pattern[N];
static double values[N], factor = 1.0;
static int table[64], places[N];
double total;
static void counted_loop(void)      /* 12 times round, then on */
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        for (volatile int k = 0; k < 12; k++)
            ;
}
static void long_pattern(void)      /* comes again after 90 branches */
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < N; i++)
        if (pattern[i])
            __asm__ volatile("" : "+x"(sum));
    total += sum;
}
static void by_chance(void)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < N; i++)
        if (random_bits[i])
            __asm__ volatile("" : "+x"(sum));
    total += sum;
}
static void late(void)              /* by chance as well, and four multiplications later */
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < N; i++)
        if (values[i] * factor * factor * factor * factor > 0.5)
            __asm__ volatile("" : "+x"(sum));
    total += sum;
}
static void soon(void)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < N; i++)
        if (values[i] > 0.5)
            __asm__ volatile("" : "+x"(sum));
    total += sum;
}
static void halving(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        long low = 0, high = 64;
        while (high - low > 1) {
            long middle = (low + high) / 2;
            if (table[middle] <= places[i])
                low = middle;
            else
                high = middle;
        }
        values[i] = (double)low;
    }
}
int main(int argc, char **argv)
{
    unsigned long state = 1;
    (void)argv;
    factor = argc;
    for (int i = 0; i < N; i++) {
        state = state * 6364136223846793005ul + 1442695040888963407ul;
        random_bits[i] = state >> 63;
        values[i] = random_bits[i];
        places[i] = (int)(state >> 53);
        pattern[i] = i % 90 == 7 || i % 90 == 31 || i % 90 == 32 || i % 90 == 70;
    }
    for (int i = 0; i < 64; i++)
        table[i] = 32 * i;
    counted_loop(), long_pattern(), by_chance(), late(), soon(), halving();
    return total < 0;
}
END
run "$CLANG" -O2 -g -fopenmp -fno-vectorize -fno-unroll-loops -fpass-plugin="$(plugin)" foretold.c -o foretold; says "a program of branches is compiled" 0
run "$PCERE" capture --all-classes ./foretold; says "and captured" 0
run "$PCERE" predict foretold.pcere --arch zen4 --threads 1 --json; says "and predicted" 0
missed() { jq "$2" foretold.pcere/codelets/"$1"@*.1.character; }
is "a loop that goes round as often each time is learned" "$(missed counted_loop '.per_thread[0].mispredicted < 200')" true
is "so is a pattern of 90 branches" "$(missed long_pattern '.per_thread[0] | .mispredicted < 0.03 * .branches')" true
is "half of what nobody can foretell is missed" "$(missed by_chance '.per_thread[0].mispredicted | . > 9000 and . < 11000')" true
is "four multiplications take 16 cycles more" "$(jq -s 'map(.per_thread[0] | .resolving_cycles / .mispredicted) | .[0] - .[1] | . > 15 and . < 17' foretold.pcere/codelets/{late,soon}@*.1.character)" true
is "a search by halving misses three of six ways, which its code has as branches" "$(missed halving '.per_thread[0].mispredicted | . > 45000 and . < 75000')" true

run "$PCERE" predict sweep.pcere --arch nehalem --threads 1; says "another one, for people" 0 out 'by model' out 'core +branches' out 'published figures'
run "$PCERE" predict sweep.pcere --arch core2 --threads 1,2 --json; says "so is the oldest of them" 0
is "by its model, with an interval" "$(json '.basis + " " + .arch + " " + ([.predictions[] | .low_ns < .time_ns and .time_ns < .high_ns] | all | tostring)')" "model core2 true"
run "$PCERE" predict sweep.pcere --arch neoversev2 --threads 1; says "of another instruction set only operations are known" 0 out 'Without a model of its pipelines'
run "$PCERE" predict sweep.pcere --arch core2 --threads 1,4; says "more threads than it has are marked, and the mark is explained" 0 out '4 [*]' out 'more threads than the 2 that the cores of core2'
run "$PCERE" predict sweep.pcere --arch sandybridge --threads 1,8; says "eight threads are predicted where there are eight cores" 0
is "and have no mark" "$(grep -c '[*]' "$work/.out")" 0

run "$PCERE" predict sweep.pcere --arch sandybrige; says "an unknown machine brings those that there are, and how to add one" 2 err "did you mean 'sandybridge'" err core2 err nehalem err sapphirerapids err zen4 err neoversev2 err 'platform discover'
PCERE_HOST=nobody run "$PCERE" predict sweep.pcere --model; says "this machine needs a signature" 4 err 'platform discover'
jq '.name = "box" | .levels[0].latency_ns = {value: -1, low: null, high: null}' "$LIBRARIES/archs/zen4.json" >"$XDG_DATA_HOME/pcere/archs/box.json"
run "$PCERE" predict sweep.pcere --arch box; says "an absurd signature is refused, naming the field" 4 err 'levels\[0\].latency_ns'
jq '.name = "box" | .basis = "measured"' "$LIBRARIES/archs/zen4.json" >"$XDG_DATA_HOME/pcere/archs/box.json"
PCERE_HOST=box run "$PCERE" predict sweep.pcere --model --threads 1 --json; says "with one, this machine is predicted without replays" 0
is "by the model, too" "$(json '.basis')" model
width='[.predictions[].regions[].classes[].model | select(.model_low_ns) | .model_high_ns / .model_low_ns] | max'
narrow=$(json "$width")
jq '.pinned = false | (.. | objects | select(has("value") and .value != null)) |= (.low = .value / 1.5 | .high = .value * 1.5) | (.levels[] | .streams_ratio, .overlap_read_ratio, .overlap_write_ratio) = null' \
    "$XDG_DATA_HOME/pcere/archs/box.json" >loose.json
run "$PCERE" predict sweep.pcere --arch ./loose.json --threads 1 --json; says "one whose threads could not be pinned is taken, too" 0
is "its intervals make those of predictions wider" "$(json "$width > 1.1 * $narrow")" true
run "$PCERE" predict sweep.pcere --arch ./loose.json --threads 1; says "and that is said" 0 out 'threads could not be pinned'
run "$PCERE" replay sweep.pcere --threads 1 --repeat 3; says "where it was replayed" 0
PCERE_HOST=box run "$PCERE" replay sweep.pcere --threads 1 --repeat 3; says "and under that name" 0
PCERE_HOST=box run "$PCERE" predict sweep.pcere --arch sandybridge --threads 1,2 --json; says "the other machine's times are calibrated" 0
is "by the replay here with the same threads, or fewer" "$(json '[.predictions[].regions[].classes[].model | select(. != null) | .replayed_threads] | unique | join(",")')" 1

sed 's/k < 2/k < 64/' sweep.c >slow.c
run "$CLANG" -O2 -g -fopenmp -fno-vectorize -fno-unroll-loops -fpass-plugin="$(plugin)" slow.c -o slow; says "another way to do it is compiled" 0
run "$PCERE" capture ./slow; says "and captured" 0
run "$PCERE" choose slow.pcere sweep.pcere --arch sandybridge --threads 1,2 --json; says "a machine's model chooses between them" 0
is "the one that does a thirty-second of the work" "$(json '[.choices[].best] | unique | join(" ")')" sweep.pcere
is "without replays there nothing judges it" "$(json '[.choices[].regret_ratio] | unique | tostring')" '[null]'
PCERE_HOST=box run "$PCERE" replay slow.pcere --threads 1 --repeat 3; says "the other way is replayed" 0
PCERE_HOST=box run "$PCERE" choose slow.pcere sweep.pcere --threads 1 --json; says "and the choice here" 0
is "is judged by replays" "$(json '.choices[0] | .best + " " + .replayed_best + " " + (.regret_ratio | tostring)')" "sweep.pcere sweep.pcere 0"
run "$PCERE" choose sweep.pcere; says "one algorithm is no choice" 2 err 'nothing to choose from'
run "$PCERE" choose sweep.pcere none.pcere --arch nehalem --threads 1; says "a store that is not there is said" 4 err 'none.pcere'
run "$PCERE" rm slow.pcere; says "a store goes" 0

run "$PCERE" pack sweep.pcere -o sweep.tar.zst; says "the store is packed" 0
run "$PCERE" unpack sweep.tar.zst -o far.pcere; says "and unpacked elsewhere" 0
is "what its codelets do came with it" "$(cd far.pcere && sha256sum codelets/*.character)" "$(cd sweep.pcere && sha256sum codelets/*.character)"
run "$PCERE" predict far.pcere --arch sandybridge --threads 1,2 --json; says "so that it is predicted there" 0
is "without counting again" "$(cd far.pcere && ls codelets/*.character | wc -l)" "$(ls sweep.pcere/codelets/*.character | wc -l)"
run "$PCERE" rm far.pcere; says "that store goes" 0

cp "$character" kept
sed -i 's/"team":1/"team":2/' "$character"
run "$PCERE" predict sweep.pcere --arch nehalem --threads 1; says "a file that was changed is damage" 4 err 'character'
cp kept "$character"
run "$PCERE" rm sweep.pcere; says "they go with the store" 0
holds "all of them" test ! -e sweep.pcere
finish
