# What containers forbid: system calls by a seccomp profile, capabilities, file systems. What is missing is said; the rest works.
source "$(dirname "$0")/common.sh"
without=$TOOLS/without
"$without" ptrace -- true || { echo "SKIPPED: this kernel takes no seccomp filter"; exit 77; }
build solver
make -s -C "$SOURCE/cNPB" mg CLASS=S CC="$CLANG" CFLAGS="-O3 -g -fpass-plugin=$(plugin)" BINDIR="$PWD/bin" OBJDIR="$PWD/obj" || { echo "NOT OK: mg.S cannot be built"; exit 1; }
# What the default profiles of container engines have forbidden, now or earlier, but for ptrace.
strict=(personality userfaultfd perf_event_open process_vm_readv pidfd_open pidfd_getfd bpf kcmp mbind set_mempolicy get_mempolicy unshare process_madvise)
whole "with no call but ptrace" ./solver '^residual' "$without" "${strict[@]}" --
whole "MG with no call but ptrace" bin/mg.S 'VERIFICATION|Verification' "$without" "${strict[@]}" --
whole "where they are unknown" ./solver '^residual' "$without" "${strict[@]}" --errno ENOSYS --
run "$without" personality -- "$PCERE" capture --force ./solver; says "that addresses differ from run to run is said" 0 err 'randomisation could not be turned off'

# ---- no ptrace ------------------------------------------------------------------------------------------------------------------
for answer in EPERM ENOSYS; do
    run "$without" ptrace --errno $answer -- "$PCERE" capture -o refused.pcere ./solver
    says "where ptrace is forbidden ($answer) the program runs to its end, and what to do is said" 3 out '^residual' err 'cannot trace the program' err 'hint: .*SYS_PTRACE'
    holds "and nothing is left" test ! -e refused.pcere
done
run "$without" ptrace -- "$PCERE" capture --json -o refused.pcere ./solver; says "also as a document" 3
is "with status and hint" "$(json '"\(.error.status) \(.error.hint | length > 0)"')" "3 true"
run "$without" ptrace -- "$PCERE" check; says "pcere check names it" 3 out '^MISSING ptrace' out '^ok +plugin'
run "$without" ptrace -- "$PCERE" run --threads 1,2 ./solver; says "programs can be timed without" 0 out '^threads 2'
replayed "a store that is there, without ptrace" solver.pcere "$without" ptrace "${strict[@]}" --
run "$without" memfd_create -- "$PCERE" capture -o refused.pcere ./solver; says "without memfd_create what is missing is said" 3 err 'shared log' err 'hint: .*memfd_create'
run "$without" seccomp -- "$PCERE" verify solver.pcere; says "without seccomp regions that touch no files are replayed all the same" 0 out identical

# ---- capabilities and namespaces ------------------------------------------------------------------------------------------------
if command -v setpriv >/dev/null && setpriv --bounding-set=-sys_ptrace true 2>/dev/null; then
    whole "without the capability SYS_PTRACE" ./solver '^residual' setpriv --bounding-set=-sys_ptrace,-sys_admin,-sys_resource --inh-caps=-sys_ptrace
else left_out "capabilities cannot be given up here"; fi
if unshare -Ur true 2>/dev/null; then whole "as root of a user namespace" ./solver '^residual' unshare -Ur
else left_out "no user namespaces"; fi
if unshare -Urpf --mount-proc true 2>/dev/null; then whole "as the first processes of a namespace" ./solver '^residual' unshare -Urpf --mount-proc
else left_out "no process namespaces"; fi
if unshare -Urm sh -c 'umount -l /sys' 2>/dev/null || unshare -m sh -c 'umount -l /sys' 2>/dev/null; then
    if unshare -m true 2>/dev/null; then space=(unshare -m); else space=(unshare -Urm); fi
    whole "without /sys" ./solver '^residual' "${space[@]}" sh -c 'umount -l /sys; exec "$@"' sh
    run "${space[@]}" sh -c 'umount -l /proc; exec "$@"' sh "$PCERE" capture --force ./solver; says "without /proc it says so" 3 err 'hint: mount /proc'
else left_out "/sys cannot be unmounted, not even for one process"; fi

# ---- a limit of memory -----------------------------------------------------------------------------------------------------------
group=
if [ -w /sys/fs/cgroup/cgroup.subtree_control ] && grep -qw memory /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
    group=/sys/fs/cgroup/pcere-test.$$ limit=memory.max
elif [ -w /sys/fs/cgroup/memory ] && [ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
    group=/sys/fs/cgroup/memory/pcere-test.$$ limit=memory.limit_in_bytes
fi
if [ -n "$group" ] && mkdir "$group" 2>/dev/null; then
    trap 'rmdir "$group" 2>/dev/null; rm -rf "$work"' EXIT
    if echo 300M >"$group/$limit" 2>/dev/null; then
        whole "in 300 MB of memory" ./solver '^residual' sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group"
        compile filled <<'C'
#include <stdio.h>
#include <stdlib.h>
#define COUNT (18l << 20)
int main(void) {
    double *a = malloc(COUNT * sizeof *a);
    unsigned long x = 88172645463325252ul;
    for (long i = 0; a && i < COUNT; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; a[i] = (double)x; }
    for (int step = 0; a && step < 3; step++) {
        #pragma omp parallel for
        for (long i = 0; i < COUNT; i++) a[i] = a[i] * 0.5 + step;
    }
    printf("%d\n", a && a[COUNT / 2] > 1);
    return 0;
}
C
        whole "a program that fills 144 MB of them" ./filled '^1$' sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group"
        head -c 150000000 /dev/zero >read_twice       # its pages are the group's, and lately used; they are still there for the taking
        run sh -c 'echo $$ >"$0/cgroup.procs"; cp read_twice read_again; cat read_again read_again >/dev/null; exec "$@"' "$group" "$PCERE" check; says "pcere check tells what is left of them" 0 out '^ok +memory +2[0-9]{2} MiB are available'
    else left_out "the memory of a control group cannot be limited here"; fi
else left_out "no control group can be made here"; fi
done_or_skipped
