# Folders and names: read-only ones, full ones, such from which nothing may be run, gone ones; blanks, line ends and bytes that are no text.
source "$(dirname "$0")/common.sh"
build solver

# ---- names -------------------------------------------------------------------------------------------------------------------------
number=0
for name in 'two words' $'two\nlines' 'größer-ü-解' $'latin-\xe4' "quote'\"s \$HOME" '-dash'; do
    number=$((number + 1))
    mkdir -p -- "$work/names/$name" && cp solver "$work/names/$name/$name" && cd "$work/names/$name" || exit 1
    whole "a program called $(printf %q "$name")" "./$name" '^residual'
    run "$PCERE" regions --json "./$name.pcere"; holds "$(printf %q "$name"): the document is UTF-8" python3 -c 'import json, sys; json.load(open(sys.argv[1], encoding="utf-8"))' "$work/.out"
    cd "$work" || exit 1
done
is "all names were tried" "$number" 6

run "$PCERE" capture -q -o '100%.pcere' ./solver; says "a store with a sign that LLVM's linker cannot have in a path" 0
run "$PCERE" verify --json '100%.pcere'; says "is told by it" 2
is "with a hint" "$(json '.codelets[0].reason // .error.message' | grep -c "has a '%' in it")" 1

mkdir -p deep && cd deep
for ((i = 0; i < 120; i++)); do mkdir "$(printf 'deep%.0s' {1..10})" && cd "$_" || exit 1; done
cp "$work/solver" . && run "$PCERE" capture ./solver; says "a path that no system call takes" 2 err 'File name too long' err '^hint: choose a place with a shorter path'
cd "$work" && rm -rf deep

# ---- surroundings ------------------------------------------------------------------------------------------------------------------
whole "without HOME" ./solver '^residual' env -u HOME
ignoring_children() (trap '' CHLD && exec "$@")
whole "started by what ignores its children's ends" ./solver '^residual' ignoring_children
if command -v python3 >/dev/null; then
    whole "started by what blocks all signals" ./solver '^residual' python3 -c 'import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
signal.signal(signal.SIGSYS, signal.SIG_IGN)
os.execvp(sys.argv[1], sys.argv[1:])'
else left_out "no python3"; fi
whole "with TMPDIR leading nowhere" ./solver '^residual' env TMPDIR=/nowhere/at/all
cp "$PCERE" nearby 2>/dev/null && mkdir -p sub
whole "found through a relative PATH" ./solver '^residual' env PATH="$(realpath --relative-to=. "$(dirname "$PCERE")"):/usr/bin:/bin" sh -c 'shift; exec pcere "$@"' sh
run "$PCERE" capture --force ./nowhere; says "a program that is not there" 2 err './nowhere' err 'hint:'
mkdir gone && cd gone && rmdir ../gone
run "$PCERE" capture "$work/solver"; says "in a directory that is gone it says so" 5 err 'cannot tell the current directory' err 'hint: go to a directory'
run "$PCERE" verify "$work/solver.pcere"; says "what has a path works there" 0 out identical
cd "$work" || exit 1

# ---- file systems -----------------------------------------------------------------------------------------------------------------
if unshare -m true 2>/dev/null; then space=(unshare -m)
elif unshare -Urm true 2>/dev/null; then space=(unshare -Urm)
else space=(); left_out "no file system can be mounted, not even for one process"; fi
if [ ${#space[@]} -gt 0 ] && "${space[@]}" mount -t tmpfs none sub 2>/dev/null; then
    within() {  # OPTIONS COMMAND...: in a fresh file system, with the program and a store in it
        local options=$1
        shift
        # shellcheck disable=SC2016
        "${space[@]}" sh -c 'mount -t tmpfs -o size=8m none sub && cp -a solver solver.pcere sub/ && mount -o "remount,$0" none sub && cd sub && exec "$@"' "$options" "$@"
    }
    run within ro "$PCERE" capture -o here.pcere ./solver; says "a place that is read-only" 5 err "here.pcere" err 'hint: choose a directory that can be written'
    run within ro "$PCERE" capture -q -o "$work/elsewhere.pcere" ./solver; says "a program there, and the store elsewhere" 0 out '^residual'
    run "$PCERE" verify elsewhere.pcere; says "which is whole" 0 out identical
    run within ro "$PCERE" verify solver.pcere; says "a store that is read-only and built can be verified" 0 out identical
    run within ro "$PCERE" replay -q --repeat 1 --json solver.pcere; says "and replayed, but that nothing can be kept of it" 5 err "the store 'solver.pcere' cannot be written: Read-only file system" err 'hint: .*copy it'
    holds "the times are shown all the same" jq -e '(.replays | length) > 0 and ([.replays[].samples_ns | length > 0] | all)' "$work/.out"
    run within noexec "$PCERE" verify solver.pcere; says "from where nothing may be run" 5 err 'cannot start the codelet' err 'hint: .*noexec'
    run within ro,noexec env TMPDIR="$work/sub" "$PCERE" check; says "pcere check with such a TMPDIR" 3 err 'hint' out 'TMPDIR'
    run within rw sh -c 'dd if=/dev/zero of=filler bs=64k 2>/dev/null; exec "$@"' sh "$PCERE" capture -o full.pcere ./solver
    says "in a full file system it says so" 5 err 'No space left' err 'hint:'
fi

# ---- standard streams --------------------------------------------------------------------------------------------------------------
run sh -c 'exec "$@" <&-' sh "$PCERE" capture -q --force ./solver; says "without standard input" 0 out '^residual'
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" -x c - -o streams <<'C'
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
int main(int count, char **words) {
    int closed = 0;
    FILE *file = count > 1 ? fopen(words[1], "w") : stdout;
    for (int i = 0; i < 3; i++) closed += fcntl(i, F_GETFD) < 0 && errno == EBADF;
    #pragma omp parallel
    #pragma omp master
    closed += 10;
    fprintf(file, "%d are closed\n", closed);
    return 0;
}
C
run sh -c 'exec "$@" <&- >&- 2>&-' sh "$PCERE" capture --force ./streams told; says "without any stream" 0
is "the program finds them closed, but for the file that it opened" "$(cat told)" "12 are closed"
run "$PCERE" verify streams.pcere; says "the store has nothing of the messages in its files" 0 out identical
run sh -c 'exec "$@" >&-' sh "$PCERE" regions streams.pcere; says "a result that has nowhere to go" 5 err 'cannot write the result'
run sh -c '"$@" | true' sh "$PCERE" capture --force ./solver; says "a reader that goes away is the program's matter, and the store is whole" 0
run "$PCERE" verify solver.pcere; says "as verification shows" 0 out identical
done_or_skipped
