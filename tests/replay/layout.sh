# Codelets find their place where the kernel does not randomise addresses, where the layout may not be chosen, and whatever number of threads the capture had.
source "$(dirname "$0")/common.sh"
for flags in "-O2" "-O2 -fno-pie"; do
    while read -r name files; do
        # shellcheck disable=SC2086
        program "$name" $files
        captured "$name" --force
        run "$DRIVER" "$name.pcere" "$LIBRARIES"
        says "without randomisation memory of $name ($flags) is identical" 0 out 'identical'
    done <<'END'
statics statics_one.c statics_two.c
kinds kinds.c
threads threads.c
mixed mixed.c plain.c
END
done
flags=-O2
for name in kinds threads; do
    program "$name" "$name.c"
    captured "$name" --force --threads 3
    run "$PCERE" replay --threads 1,2,4 --repeat 2 --json "$name.pcere"
    says "a capture of $name with 3 threads replays with 1, 2 and 4" 0
done
run "$PCERE" verify --threads 3 --json threads.pcere
holds "thread-local variables of all three threads are compared" jq -e '[.codelets[] | .causes[].memory != "thread-local"] | all' .out
# Where the layout may not be chosen, another limit of stacks moves libraries away from captured addresses: a process that reads it must not give its threads such stacks.
cat >begins.c <<'END'
#include <pthread.h>
#include <stdio.h>
static long results[4];
static void *doubled(void *value) { *(long *)value *= 2; return NULL; }
int main(void)
{
    for (int k = 1; k < 4; k++) {
#pragma omp parallel for
        for (int i = 0; i < 4; i++) {
            long value = k * i;
            pthread_t thread;
            if (!pthread_create(&thread, NULL, doubled, &value))
                pthread_join(thread, NULL);
            results[i] += value;
        }
    }
    puts(results[3] == 36 ? "PASS" : "FAIL");
    return 0;
}
END
cat >slow.c <<'END'
#define _GNU_SOURCE
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
int prlimit(pid_t process, enum __rlimit_resource resource, const struct rlimit *new, struct rlimit *ret_old)
{
    if (process && new)
        usleep(20000);
    return (int)syscall(SYS_prlimit64, process, resource, new, ret_old);
}
END
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" begins.c -o begins && "$CLANG" -shared -fPIC slow.c -o slow.so || exit 1
captured begins
faults=codelets.places:1+,codelets.layout:1+
run env ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" LD_PRELOAD=./slow.so PCERE_FAULTS=$faults "$PCERE" verify --threads 1,2 begins.pcere
says "threads of a region begin where the launcher moved the limit for a while" 0 out identical
run env PCERE_FAULTS=codelets.places:1+ "$PCERE" verify --threads 1,2 begins.pcere
says "and at the second attempt with a layout of its own" 0 out identical
finish
