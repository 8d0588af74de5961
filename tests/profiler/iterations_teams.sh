# With --iterations labels are also the same where tasks, teams or flang's code execute loops: whatever the size of tasks, of teams and of leagues.
source "$SOURCE/tests/cli/common.sh"
plugin=$("$PCERE" version --plugin)
labels() { "$PCERE" profile -q --force --json --iterations "$@" 2>/dev/null | jq -r '.xus[] | "\(.type) \(.label)"' | sort; }
kinds() { cut -d' ' -f1 "$1" | sort | uniq -c | xargs; }
export OMP_TEAMS_THREAD_LIMIT=2

cat >shared.c <<'C'
#include <stdio.h>
static double a[80];
#ifndef DIST
#define DIST
#endif
#ifndef GRAIN
#define GRAIN
#endif
int main(void) {
    #pragma omp parallel
    #pragma omp single
    {
        #pragma omp taskloop GRAIN
        #pragma clang loop vectorize(disable) unroll(disable)
        for (int i = 0; i < 40; i++) {
            for (int j = 0; j <= i; j++) a[i] = a[i] * 3.0;
            if (i % 8 == 3) {
                #pragma omp task firstprivate(i)
                a[i]++;
            }
        }
        #pragma omp taskloop collapse(2) GRAIN
        for (unsigned long i = 6; i > 0; i--)
            for (int j = 0; j < 5; j++) a[i * 5 + (unsigned long)j]++;
    }
    #pragma omp taskloop GRAIN
    for (short i = -3; i < 9; i += 2) a[i + 10]++;
    #pragma omp parallel
    #pragma omp masked
    #pragma omp taskloop if(0) GRAIN
    for (int i = 0; i < 10; i++) a[i]++;
    #pragma omp teams
    {
        #pragma omp distribute DIST
        for (int i = 0; i < 30; i++) a[i]++;
        #pragma omp distribute parallel for DIST
        for (int i = 0; i < 50; i++) a[i]++;
        #pragma omp distribute parallel for schedule(dynamic, 3) DIST
        for (int i = 0; i < 33; i++) {
            #pragma omp task firstprivate(i)
            a[i]++;
        }
    }
    #pragma omp teams distribute parallel for simd DIST collapse(2)
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 4; j++) a[i + j]++;
    printf("%g\n", a[3]);
    return 0;
}
C
build() { PCERE_COUNT=$2 "$CLANG" -g -fopenmp -fpass-plugin="$plugin" "${@:3}" shared.c -o "$1" 2>/dev/null; }
build program ir,iterations -O2
OMP_NUM_TEAMS=1 labels --threads 1 ./program >first
is "each iteration of taskloops, of distribute, and of both with parallel for is one XU, each task another" "$(kinds first)" "239 iteration 38 task"
is "none twice" "$(uniq -d first | wc -l)" 0
for sizes in "2 1" "2 3" "4 2"; do
    read -r threads teams <<<"$sizes"
    OMP_NUM_TEAMS=$teams labels --threads "$threads" ./program >others
    holds "$teams teams, and teams of $threads threads, have the same labels" cmp first others
done
build other iterations -O2 "-DGRAIN=grainsize(7)" "-DDIST=dist_schedule(static, 4)"
OMP_NUM_TEAMS=2 labels --threads 3 ./other >others
holds "so have larger tasks, and small ranges of teams" cmp first others
build other iterations -O0 "-DGRAIN=num_tasks(3)" "-DDIST=dist_schedule(static)"
OMP_NUM_TEAMS=3 labels --threads 2 ./other >others
holds "and three tasks in code that is not optimised" cmp first others
OMP_NUM_TEAMS=2 run "$PCERE" profile --force --json --iterations --threads 2 --trace counted.trace --events ir-instructions,ir-flops-double-scalar ./program
says "what they do is counted" 0
is "iteration by iteration" "$(json '[.xus[] | select(.type == "iteration" and (.construct | endswith(":13"))) | .counts["ir-flops-double-scalar"]] | join(",")')" "$(seq -s, 40)"
is "and nothing stays unsaid" "$(json '.runs[0].blind | length')" 0
run "$CONSERVATION" counted.trace ir-instructions ir-flops-double-scalar; says "nothing is lost, and nothing there twice" 0
OMP_NUM_TEAMS=1 "$PCERE" profile -q --force -o one.pcx --iterations --threads 1 --events ir-loads ./program
OMP_NUM_TEAMS=2 "$PCERE" profile -q --force -o two.pcx --iterations --threads 4 --events ir-stores ./program
run "$PCERE" combine --json one.pcx two.pcx; says "profiles of leagues of one and of two become one" 0
is "of which each XU has both counts" "$(json '[.xus[].counts | select(has("ir-loads") and has("ir-stores"))] | length')" 277

# flang's loops, which the OpenMP IR builder makes
flang=${FLANG:-flang-22}
if ! command -v "$flang" >/dev/null; then echo "skipped: no $flang"; finish; fi
cat >shared.f90 <<'F'
program loops
    implicit none
    integer :: i, j
    real(8) :: a(60)
    a = 0
    !$omp parallel
    !$omp do schedule(runtime)
    do i = 1, 60
        a(i) = a(i) + 1
    end do
    !$omp do schedule(runtime) collapse(2)
    do j = 8, 4, -1
        do i = 0, 5, 2
            a(j * 6 + i) = a(j * 6 + i) + 1
        end do
    end do
    !$omp do schedule(static, 7)
    do i = -5, 20, 3
        !$omp task firstprivate(i)
        a(i + 20) = a(i + 20) + 1
        !$omp end task
    end do
    !$omp do schedule(static)
    do i = 1, 33
        a(i) = a(i) + 1
    end do
    !$omp sections
    !$omp section
    a(1) = a(1) + 1
    !$omp section
    a(2) = a(2) + 1
    !$omp end sections
    !$omp single
    !$omp taskloop shared(a)
    do i = 2, 40, 3
        a(i) = a(i) + 1
    end do
    !$omp end taskloop
    !$omp end single
    !$omp end parallel
    !$omp teams distribute
    do i = 1, 23
        a(i) = a(i) + 1
    end do
    !$omp teams distribute parallel do
    do i = 1, 47
        a(i) = a(i) + 1
    end do
    print *, sum(a)
end program
F
fortran() { PCERE_COUNT=iterations "$flang" -g -fopenmp -fpass-plugin="$plugin" "-L$("$CLANG" -print-resource-dir)/../.." "${@:2}" shared.f90 -o "$1"; }
fortran program -O2 || not_ok "shared.f90 compiles"
OMP_NUM_TEAMS=1 OMP_SCHEDULE=static labels --threads 1 ./program >first
is "each iteration, section and task of a Fortran program is one XU" "$(kinds first)" "202 iteration 9 task"
is "none of them twice" "$(uniq -d first | wc -l)" 0
for how in "static 4 2" "static,3 2 1" "dynamic 2 2" "dynamic,4 3 3" "guided,3 4 1"; do
    read -r schedule threads teams <<<"$how"
    OMP_NUM_TEAMS=$teams OMP_SCHEDULE=$schedule labels --threads "$threads" ./program >others
    holds "schedule($schedule), $teams teams, and teams of $threads threads, have the same labels in Fortran" cmp first others
done
fortran other -O0 || not_ok "shared.f90 compiles without optimising"
OMP_NUM_TEAMS=2 OMP_SCHEDULE=guided labels --threads 3 ./other >others
holds "so has code of flang's that is not optimised" cmp first others

# flang tells the runtime another construct's line where there is a reduction.
cat >lines.f90 <<'F'
subroutine first(n, s)
  integer, intent(in) :: n
  real(8), intent(inout) :: s
  integer :: i
  !$omp parallel do reduction(+: s)
  do i = 1, n
    s = s + 1d0 / i
  end do
end subroutine
subroutine other(n, s)
  integer, intent(in) :: n
  real(8), intent(inout) :: s
  integer :: i
  !$omp parallel do reduction(+: s) schedule(dynamic, 100)
  do i = 1, n
    s = s + 2d0 / i
  end do
end subroutine
program p
  real(8) :: s
  s = 0
  call first(2000, s)
  call other(2000, s)
  print *, s
end program
F
"$flang" -O2 -g -fopenmp -fpass-plugin="$plugin" "-L$("$CLANG" -print-resource-dir)/../.." lines.f90 -o lines || not_ok "lines.f90 compiles"
run "$PCERE" profile --force --json --threads 2 ./lines
is "loops with a reduction are on their own lines" "$(json '[.constructs[].construct] | sort | join(" ")')" "first@lines.f90:5 other@lines.f90:14"
finish
