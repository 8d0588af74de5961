# tests/cli/moved.sh - a program that enters a region in another order when it runs again, as threads of a pool do: what is captured in the second run is
# what was planned, found by its argument words, and not whatever has its number. The order is turned by a file, not by threads, so that it always is.
. "$SOURCE/tests/cli/common.sh"

compile turns <<'C'
#include <stdio.h>
#include <string.h>
static double left[4000], right[4000];
__attribute__((noinline)) static void often(double *v, long mark)
{
    #pragma omp parallel for firstprivate(mark)
    for (int i = 0; i < 4000; i++)
        for (int k = 0; k < 30; k++) v[i] = v[i] * 0.999 + k + 1e-9 * (double)mark;
}
int main(int argc, char **argv)
{
    FILE *file = fopen("ran", "r");
    long again = file != NULL;
    if (file) fclose(file);
    else if ((file = fopen("ran", "w"))) fclose(file);
    long marked = argc > 1 && strcmp(argv[1], "marked") == 0, other = argc > 1 && strcmp(argv[1], "others") == 0;
    for (long step = 0; step < 40; step++)
        often((step + again) % 2 ? left : right, marked ? 1000 * again + step : other ? 2 * again + step % 2 : 0);
    printf("done %g %g\n", left[7], right[7]);
    return 0;
}
C
words="its arguments differ"
rm -f ran
run "$PCERE" capture --two-runs --all-classes --max-classes 1 --force --json -o turns.pcere ./turns
says "a region whose invocations come in another order is captured" 0
holds "it has a codelet" jq -e '[.regions[] | select(.status == "captured")] | length == 1' .out
holds "with the arguments of the run that it was planned from" jq -e --arg words "$words" '[.notes[] | select(contains($words))] == []' .out
run "$PCERE" verify --json turns.pcere
holds "and is the program's memory" jq -e '[.codelets[] | .identical] | all and length == 1' .out

rm -f ran
run "$PCERE" capture --two-runs --all-classes --max-classes 1 --force --json -o marked.pcere ./turns marked
says "what is another value in every run is taken by its number" 0
holds "which is told" jq -e --arg words "$words" '[.notes[] | select(contains($words))] | length == 1' .out
holds "it has a codelet, too" jq -e '[.regions[] | select(.status == "captured")] | length == 1' .out

rm -f ran
run "$PCERE" capture --two-runs --all-classes --max-classes 1 --force --json -o others.pcere ./turns others
says "words that come again and again, and others when it runs again, as addresses are, leave the number to decide" 0
holds "that is told, too" jq -e --arg words "$words" '[.notes[] | select(contains($words))] | length == 1' .out
holds "and has a codelet" jq -e '[.regions[] | select(.status == "captured")] | length == 1' .out

# Blocks that a captured region makes are apart from the program's heap, and what the program allocates afterwards lies where another block lay in the run for times:
# an address that comes again is another array's. Each array has as much written of it, by which it is known.
compile shift <<'C'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char text[1000];
__attribute__((noinline)) static void often(double *array)
{
    #pragma omp parallel for firstprivate(array)
    for (int i = 0; i < 1024; i++) {
        for (int k = 0; k < 300 && i < 1023; k++) array[i] = array[i] * 0.999 + k;
        if (i == 7 && write(STDOUT_FILENO, text, (size_t)array[1023]) < 0) abort();
    }
}
int main(void)
{
    double *left_behind = NULL, *arrays[4];
    memset(text, '.', sizeof text);
    #pragma omp parallel
    #pragma omp master
    left_behind = calloc(1024, sizeof *left_behind);
    for (int i = 0; i < 4; i++) {
        arrays[i] = calloc(1024, sizeof *arrays[i]);
        arrays[i][1023] = 100 * (i + 1);
    }
    for (int step = 0; step < 40; step++)
        for (int i = 0; i < 4; i++) often(arrays[i]);
    return left_behind[5] != 0;
}
C
run "$PCERE" capture --two-runs --all-classes --max-classes 1 --force --json ./shift
says "a program whose blocks lie elsewhere when it is captured" 0
holds "has a codelet of each region" jq -e '[.regions[] | select(.status == "captured")] | length == 2' .out
holds "that of the invocation that was meant" \
    jq -e '[.regions[] | select(.function == "often") | .classes[0] | .written_bytes == 100 * ((.representative - 1) % 4 + 1)] == [true]' .out
holds "and is not said to take another course" jq -e --arg words "$words" '[.notes[] | select(contains($words))] == []' .out
finish
