# tests/cli/calm.sh - an invocation before which the program's other threads could not be told from working ones is not captured: another one of its
# class is tried, and a region where that never succeeds is listed with this reason. The machine refuses the calm, since real threads find it sooner or later.
. "$SOURCE/tests/cli/common.sh"

compile steps <<'C'
#include <stdio.h>
static double a[4000];
static void often(void)
{
    #pragma omp parallel for
    for (int i = 0; i < 4000; i++)
        for (int k = 0; k < 30; k++) a[i] = a[i] * 0.999 + k;
}
int main(void)
{
    for (int step = 0; step < 40; step++) often();
    #pragma omp parallel for
    for (int i = 0; i < 4000; i++) a[i] += i;
    printf("done %g\n", a[7]);
    return 0;
}
C
words="not to be told from work"
PCERE_REFUSE=calm run "$PCERE" capture --all-classes --max-classes 1 --force --json -o never.pcere ./steps
says "the program runs to its end where no calm is found" 0 err '^done'
holds "no region is captured" jq -e '[.regions[] | select(.status == "captured")] == []' .out
holds "each says why" jq -e --arg words "$words" '[.regions[].reason | contains($words)] | all' .out
holds "and nothing was read" jq -e '.stops == []' .out

PCERE_REFUSE=first-calm run "$PCERE" capture --all-classes --max-classes 1 --force --json -o later.pcere ./steps
says "where the first try fails, the capture goes on" 0
holds "what comes again is captured then" jq -e '.regions[] | select(.function == "often") | .status == "captured"' .out
holds "but not by its first invocation" jq -e '[.stops[] | select(.region | startswith("often")) | .invocation] | length > 0 and min > 1' .out
run "$PCERE" verify --json later.pcere
holds "and is the program's memory" jq -e '[.codelets[] | .identical] | all and length > 0' .out

# Regions inside another one, by two threads at a time: what they take is in that one's.
compile inside <<'C'
#include <omp.h>
static double a[2][1000];
int main(void)
{
    omp_set_max_active_levels(2);
    #pragma omp parallel num_threads(2)
    {
        double *own = a[omp_get_thread_num()];
        #pragma omp parallel num_threads(1)
        for (int round = 0; round < 50000; round++)
            for (int i = 0; i < 1000; i++) own[i] = own[i] * 0.5 + i;
    }
    return a[0][7] < 0;
}
C
PCERE_REFUSE=calm run "$PCERE" capture --one-run --force --json ./inside
says "regions inside another one find no calm" 0
percent=$(json '.notes[] | select(contains("had no captured member"))' | sed -nE 's/.*\(([0-9.]+) % of the run.*/\1/p')
holds "what was not captured is no more than the whole run ($percent %)" awk -v percent="$percent" 'BEGIN { exit !(percent > 0 && percent <= 100) }'

# It may happen to be the last one.
for _ in $(seq 40); do
    PCERE_REFUSE=first-calm run "$PCERE" capture --two-runs --all-classes --max-classes 1 --force --json -o planned.pcere ./steps
    [ "$(json '.regions[] | select(.function == "often") | .status')" = captured ] && break
done
holds "with a plan, a later one stands for its class" jq -e '(.regions[] | select(.function == "often")) as $often | $often.status == "captured" and $often.classes[0].representative == .stops[0].invocation' .out
holds "what does not come again says why" jq -e --arg words "$words" '.regions[] | select(.function == "main") | .status != "captured" and (.reason | contains($words))' .out
run "$PCERE" verify --json planned.pcere
holds "and the later one is the program's memory" jq -e '[.codelets[] | .identical] | all and length == 1' .out
finish
