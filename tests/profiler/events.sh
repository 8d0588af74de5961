# What is counted goes to the XU that did it, and what cannot be counted is said.
source "$SOURCE/tests/cli/common.sh"

cat >touch.c <<'C'
#include <stdlib.h>
#include <sys/mman.h>
int main(void) {
    char *memory = mmap(NULL, 400 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, 400 * 4096, MADV_NOHUGEPAGE);
    #pragma omp parallel num_threads(2)
    {
        #pragma omp for schedule(static)
        for (int i = 0; i < 400; i++) memory[i * 4096L] = 1;
        #pragma omp for schedule(dynamic, 50)
        for (int i = 0; i < 400; i++) memory[i * 4096L] = 2;
    }
    return 0;
}
C
"$CLANG" -O1 -g -fopenmp touch.c -o touch
run "$PCERE" profile --force --json --events page-faults,task-clock ./touch; says "events are counted" 0
is "each of them is named" "$(json '[.events[] | .event + " " + .backend] | join(", ")')" "page-faults sw, task-clock sw"
holds "each range that touched 200 fresh pages had as many faults" jq -e '[.xus[] | select(.type == "static range") | .counts["page-faults"]] | length == 2 and all(. >= 200 and . < 230)' .out
holds "and those that touched them again had next to none" jq -e '[.xus[] | select(.type == "dynamic chunk") | .counts["page-faults"]] | length == 8 and add < 30' .out
run "$PCERE" profile --force --events time ./touch; says "times are always there" 0 out '^10 XUs'
run "$PCERE" profile --force --events sw ./touch; says "sw is all events of the kernel" 0 out 'page-faults +minor-faults +major-faults +context-switches +cpu-migrations +task-clock'
run "$PCERE" profile --force --events page-fault ./touch; says "a wrong name gets the nearest" 2 err "no event 'page-fault'" err 'did you mean page-faults'
run "$PCERE" profile --force --events sw,page-faults ./touch; says "an event is counted once" 2 err 'page-faults is there twice'
run "$PCERE" profile --force --events page-faults,, ./touch; says "an empty name is none" 2 err 'an empty name'

# The processor's events, where it has some and where not.
LIBPFM_FORCE_PMU=spr run "$PCERE" profile --force --events INST_RETIRD:ANY ./touch
grep -q 'without libpfm4' .err || says "a wrong name of the processor's gets the nearest" 2 err "no event 'INST_RETIRD:ANY'" err 'did you mean INST_RETIRED:ANY\?'
LIBPFM_FORCE_PMU=spr run "$PCERE" profile --force --events longest_lat_cach:miss ./touch
grep -q 'without libpfm4' .err || says "in small letters, too" 2 err 'did you mean longest_lat_cache:miss\?'
LIBPFM_FORCE_PMU=skl run "$PCERE" profile --force --events MEM_LOAD_RETIRED:L1_HIT ./touch
if [ "$status" -ne 0 ] && ! grep -q 'without libpfm4' .err; then
    says "events that this machine does not count are refused" 3 err 'does not count events of its processor' err 'hint:'
fi

# An ordinary user where perf events are forbidden still has what every thread knows of itself.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ]; then
    chmod 711 . && mkdir -m 777 open && cp touch open/ && chmod 755 open/touch
    (cd open && TMPDIR=$PWD setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all "$PCERE" profile --json --events page-faults ./touch) >.out 2>.err </dev/null
    if grep -q 'Permission denied' .err; then echo "skipped: an ordinary user cannot run this build"; else
        holds "without permission page faults come from the threads' resource usage" jq -e '[.xus[] | select(.type == "static range") | .counts["page-faults"]] | all(. >= 200 and . < 230)' .out
    fi
fi
finish
