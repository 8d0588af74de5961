# An ordinary user without any capability does everything: page frames are hidden from them, and Yama lets them trace their own children only.
source "$(dirname "$0")/common.sh"
build solver
make -s -C "$SOURCE/cNPB" cg CLASS=S CC="$CLANG" CFLAGS="-O3 -g -fpass-plugin=$(plugin)" BINDIR="$PWD/bin" OBJDIR="$PWD/obj" || { echo "NOT OK: cg.S cannot be built"; exit 1; }
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" -x c - -o parent <<'C'
#include <stdio.h>
#include <unistd.h>
int main(void) {
    char path[64], name[64] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)getppid());
    FILE *file = fopen(path, "r");
    if (file) { fgets(name, sizeof name, file); fclose(file); }
    #pragma omp parallel
    name[63] = 0;
    printf("parent %s", name);
    return 0;
}
C
run "$PCERE" capture -q --json ./solver; tracked=$(json .tracking)
rm -rf solver.pcere
ordinary_become solver bin/cg.S parent "$folder/programs/solver.c" || { echo "SKIPPED: no ordinary user without capabilities can be had here"; exit 77; }

whole "as an ordinary user" ./solver '^residual' "${ordinary[@]}"
whole "CG as an ordinary user" ./cg.S 'VERIFICATION|Verification' "${ordinary[@]}"
run "${ordinary[@]}" "$PCERE" capture -q --force --json ./solver; says "again, in place of the store that is there" 0
is "written pages are tracked for them as for root" "$(json .tracking)" "$tracked"
is "all files of the store are theirs alone" "$(find solver.pcere -perm /077 | wc -l)" 0
run "${ordinary[@]}" "$CLANG" -O2 -g -fopenmp "-fpass-plugin=$("${ordinary[@]}" "$PCERE" version --plugin)" solver.c -o compiled; says "they compile with the plugin" 0
run "${ordinary[@]}" "$PCERE" check; says "pcere check finds all that is needed" 0 out '^ok +ptrace'
mkdir -p locked && chmod 555 locked
run "${ordinary[@]}" "$PCERE" capture -o locked/solver.pcere ./solver; says "where they may not write, they are told what to do" 5 err "cannot make the store 'solver.pcere': Permission denied" err '^hint: .*choose another place'
mkdir -p secret && cp solver secret/ && chmod 111 secret/solver && [ ${#ordinary[@]} -eq 0 ] || chown 0 secret/solver
run "${ordinary[@]}" "$PCERE" capture secret/solver; says "and where they may not read" 5 err "cannot read 'secret/solver': Permission denied" err '^hint: .*ask its owner'

# Yama's first level lets a process trace its descendants: the program is the tracer's child.
run "${ordinary[@]}" "$PCERE" capture -q ./parent; says "the program is a child of the process that traces it" 0 out '^parent pcere$'
if [ -e /proc/sys/kernel/yama/ptrace_scope ]; then
    scope=$(cat /proc/sys/kernel/yama/ptrace_scope)
    if [ "$scope" = 1 ]; then ok "all of this was done under Yama's ptrace_scope 1"; else left_out "Yama's ptrace_scope is $scope here, not 1"; fi
else
    left_out "this kernel has no Yama: tracing one's own child is what its first level permits"
fi
done_or_skipped
