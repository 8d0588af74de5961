# Programs that cannot be profiled, that fail, that fork: a sentence each, and the right status.
source "$SOURCE/tests/cli/common.sh"

loop='static double a[1000];
static void work(void) {
    #pragma omp parallel for schedule(dynamic, 10) num_threads(2)
    for (int i = 0; i < 1000; i++) a[i] += i;
}'
# program NAME STATEMENTS [INCLUDE]: with the loop above, without the plugin
program() {
    printf '%s\n#include <stdio.h>\n%s\nint main(void) { %s return 0; }\n' "${3:-}" "$loop" "$2" >"$1.c"
    "$CLANG" -O1 -g -fopenmp "$1.c" -o "$1" || { echo "NOT OK: $1.c does not compile"; exit 1; }
}

printf '#include <stdio.h>\nint main(void) { puts("plain"); return 0; }\n' >none.c
"$CLANG" none.c -o none
run "$PCERE" profile ./none; says "a program without OpenMP has nothing to profile" 1 err 'started no OpenMP runtime' err 'hint: .*libomp' err '^plain'
holds "and leaves no profile" test ! -e none.pcx
"$CLANG" -fopenmp none.c -o linked
run "$PCERE" profile ./linked; says "neither has one that is only linked with it" 1 err 'started no OpenMP runtime'
program empty '_Pragma("omp parallel num_threads(2)") puts("inside");'
run "$PCERE" profile ./empty; says "a region without loops and tasks has no XU" 1 err 'executed no XU' err 'hint: XUs are'
run "$PCERE" profile --json ./empty
is "with --json the sentence is in the document" "$(json .error.message)" "the program executed no XU: its profile is empty"

program single '_Pragma("omp parallel num_threads(2)") { _Pragma("omp single") { _Pragma("omp task") puts("inside"); } }'
run "$PCERE" profile ./single; says "one XU is spoken of as one" 0 out '^1 XU, active'

if printf 'int main(void) { int n = 0;\n#pragma omp parallel reduction(+:n)\nn++; return n == 0; }\n' >gnu.c && gcc -fopenmp gnu.c -o gnu 2>/dev/null; then
    run "$PCERE" profile ./gnu; says "a program of gcc's OpenMP is refused before it runs" 4 err 'gcc.s OpenMP runtime \(libgomp\)' err 'hint: .*clang -fopenmp'
    gcc -O1 -fopenmp -c gnu.c -o gnu.o
    # gcc's objects with LLVM's runtime: what the tool interface tells is enough
    printf '#include <stdio.h>\nvolatile int s[100];\nint main(void) {\n#pragma omp parallel for schedule(dynamic, 10) num_threads(2)\nfor (int i = 0; i < 100; i++) s[i]++;\nreturn 0; }\n' >mixed.c
    gcc -O1 -g -fopenmp -c mixed.c -o mixed.o && "$CLANG" mixed.o -o mixed -L/usr/lib/llvm-19/lib -lomp -Wl,-rpath,/usr/lib/llvm-19/lib
    run "$PCERE" profile --json ./mixed; says "gcc's objects are profiled with LLVM's runtime" 0
    is "chunk by chunk" "$(json '[.xus[] | select(.type == "dynamic chunk")] | length')" 10
    holds "and what could not be seen is said" jq -e '.runs[0].blind | any(test("calls were not seen"))' .out
fi
"$CLANG" -static none.c -o static 2>/dev/null &&
    { run "$PCERE" profile ./static; says "a static program is refused" 3 err 'statically linked' err 'hint:'; }
printf '#!/bin/sh\nexit 0\n' >script && chmod +x script
run "$PCERE" profile ./script; says "a script is no program" 4 err "'./script'"
run "$PCERE" profile ./missing; says "a program that is not there is a wrong word" 2 err 'missing'
run "$PCERE" profile --labels other ./none; says "so are rules that do not exist" 2 err "no rules 'other'" err 'paper'

program forks 'work(); pid_t child = fork(); if (child == 0) { work(); _exit(0); } int status; waitpid(child, &status, 0); work();' '#include <sys/wait.h>
#include <unistd.h>'
run "$PCERE" profile --json ./forks; says "a program that forks is profiled" 0
is "without what its child did" "$(json '.xus | length')" 200
holds "and that is said" jq -e '.runs[0].blind | any(test("forked 1 time:"))' .out

program fails 'work(); return 3;'
run "$PCERE" profile ./fails; says "a program that fails is profiled, and told of" 1 out '^100 XUs' err 'exited with status 3' err "hint: .*fails.pcx"
program aborts 'work(); abort();' '#include <stdlib.h>'
run "$PCERE" profile ./aborts; says "so is one that aborts" 1 out '^100 XUs' err 'signal 6'
run "$PCERE" trace -o aborts.pct ./aborts; says "likewise in a trace" 1 err 'signal 6' err "hint: .*aborts.pct"
program early 'abort(); work();' '#include <stdlib.h>'
program gives 'return 2; work();'
program unset 'if (omp_get_max_threads() > 0) raise(SIGKILL); work();' '#include <omp.h>
#include <signal.h>'
for verb in profile trace; do
    run "$PCERE" $verb ./early; says "one that dies before it started OpenMP is told of ($verb)" 1 err 'started no OpenMP runtime.*; it was killed by signal 6' err "hint: the program's own messages"
    run "$PCERE" $verb ./gives; says "and one that gives up ($verb)" 1 err 'started no OpenMP runtime.*; it exited with status 2'
done
run "$PCERE" profile ./unset; says "and one that dies before it had an XU" 1 err 'executed no XU.*; it was killed by signal 9'
program quits 'work(); _exit(0);' '#include <unistd.h>'
run "$PCERE" profile ./quits; says "one that ends by _exit keeps all its records" 0 out '^100 XUs'
program killed 'for (int i = 0; i < 50; i++) work(); raise(SIGKILL);' '#include <signal.h>'
run "$PCERE" profile --force ./killed; says "one that is killed leaves what it did until then" 1 out '^5000 XUs' err 'signal 9'
holds "in a profile that is whole" test -s killed.pcx

program closes 'for (int i = 3; i < 256; i++) close(i); work();' '#include <unistd.h>'
run "$PCERE" profile ./closes; says "a program that closes descriptors that it does not know is profiled" 0 out '^100 XUs'
program opens 'for (int i = 3; i < 1024; i++) close(i); for (int i = 0; i < 800; i++) open("victim", O_RDWR | O_CREAT, 0600); for (int i = 0; i < 50; i++) work();' '#include <fcntl.h>
#include <unistd.h>'
run "$PCERE" profile --json ./opens; says "one that closes the trace as well runs to its end, and that is said" 5 err 'found no room: Bad file descriptor' err 'hint:'
is "and no file of its own is written to" "$(stat -c %s victim)" 0

program environment 'for (int i = 0; environ[i]; i++) if (strstr(environ[i], "PCERE") || strstr(environ[i], "LD_PRELOAD")) puts(environ[i]); work();' '#include <string.h>
extern char **environ;'
run "$PCERE" profile ./environment; says "a program sees nothing of the profiler in its environment" 0
holds "not a variable" test -z "$(grep -E '^(PCERE_PROFILE|LD_PRELOAD)' .err)"
OMP_TOOL=disabled run "$PCERE" profile --force ./environment; says "a tool that is disabled in the environment is enabled for this" 0 out '^100 XUs'
program barriers '
#pragma omp parallel num_threads(2)
for (int i = 0; i < 20000; i++) {
#pragma omp barrier
}
work();'
(ulimit -f 600; run "$PCERE" profile ./barriers; says "under a limit for files the program runs on, and what is missing is said" 5 err 'found no room: File too large'; exit $failures)
failures=$((failures + $?))
finish
