#!/bin/bash
# tests/programs/capture.sh CASE PROGRAMS SOURCES CLANG PLUGIN - captures small programs through the tracer and asserts what came of it.
set -uo pipefail
case_name=$1 programs=$2 sources=$3 clang=$4 plugin=$5
work=$(mktemp -d "${TMPDIR:-/tmp}/pcere-capture.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
unset LD_PRELOAD "${!OMP_@}" "${!KMP_@}" "${!GOMP_@}" "${!PCERE_@}"
failures=0 checks=0

ok() { checks=$((checks + 1)); printf 'ok: %s\n' "$1"; }
not_ok() { checks=$((checks + 1)) failures=$((failures + 1)); printf 'NOT OK: %s\n' "$1"; [ -f out ] && head -c 1500 out; }
holds() { local sentence=$1; shift; if "$@" >/dev/null 2>&1; then ok "$sentence"; else not_ok "$sentence ($*)"; fi; }
# capture OPTION... PROGRAM ARGUMENT...: into the store s, what is printed into out
capture() { rm -rf s; timeout 300 "$programs/capture_driver" -o s "$@" >out 2>err; status=$?; }
says() { if grep -qE -- "$2" out; then ok "$1"; else not_ok "$1 ('$2' was wanted)"; fi; }
# until_holds COMMAND...: waits for it to succeed, five minutes at most
until_holds() { for _ in $(seq 3000); do if "$@" >/dev/null 2>&1; then return 0; fi; sleep 0.1; done; return 1; }
# Of a capture that leads a session: the program's process, whether it has computed for 100 ms, and whether all of them have ended.
program_of() { pgrep -s "$1" -x slow; }
computes() { local pid; pid=$(program_of "$1") && awk '{ exit !($14 >= 10) }' "/proc/$pid/stat"; }
has_ended() { ! ps -o stat= -s "$1" | grep -v '^Z'; }
lacks() { if grep -qE -- "$2" out; then not_ok "$1 ('$2' was not wanted)"; else ok "$1"; fi; }

memory_checked() {      # SENTENCE PROGRAM STEPS OPTION...
    local sentence=$1 program=$2 steps=$3
    shift 3
    capture --first 1000 "$@" "$programs/$program" "$work/log" "$steps"
    says "$sentence: the program passes" '^PASS$'
    says "$sentence: every invocation is captured" "captured $steps wanted $steps"
    "$programs/check_memory" s log >>out
    says "$sentence: all memory is as the program saw it" "^checked [1-9][0-9]* objects of $steps invocations, 0 differ"
}

case $case_name in
memory)
    memory_checked "pages written are tracked" memory 30 --fault-ns 900
    says "the kernel tells what was written" 'tracking 1'
    awk '/^stop/ && $(NF-4) > 0 { n++; if (n > 2 && $NF * 2 > $(NF-2)) late++ } END { exit !(n > 20 && late * 2 < n) }' out &&
        ok "later stops read less than half of what is there" || not_ok "later stops read less than half of what is there"
    memory_checked "without memory at the end" memory 12 --no-after
    lacks "no codelet claims to know the end" 'has_after 1'
    ;;
memory_dear)        # as under a hypervisor with page tables of its own
    memory_checked "faults of tracking are dear" memory 30 --fault-ns 15000
    says "the kernel tells what was written" 'tracking 1'
    memory_checked "faults of tracking are dear, two threads" memory 14 --fault-ns 15000 --threads 2
    ;;
memory_untracked) memory_checked "userfaultfd is refused" memory 14 --refuse 2; says "it says so" '^note .*every stop reads all memory' ;;
memory_unscanned) memory_checked "PAGEMAP_SCAN is refused" memory 14 --refuse 4; says "it says so" '^note .*every stop reads all memory' ;;
memory_threads)
    memory_checked "two threads" memory 14 --threads 2
    says "both threads are recorded" 'threads 2 tls [1-9]'
    memory_checked "four threads" memory 8 --threads 4
    says "four threads are recorded" 'threads 4 tls [1-9]'
    ;;
memory_fixed_unoptimised)
    memory_checked "at a fixed address" memory-fixed 12
    memory_checked "without optimisation" memory-O0 12
    memory_checked "with randomised addresses" memory 8 --refuse 8
    says "it says that addresses differ" '^note address-space randomisation'
    ;;
endings)
    while read -r how exited code signal captured; do
        capture --first 100 "$programs/endings" "$how"
        says "$how: the program's own status" "^program_status [0-9]+ exited $exited code $code signal $signal$"
        says "$how: what was captured is kept" "captured $captured wanted $captured "
        says "$how: the store is complete and whole" '^store complete 1 check 0$'
        [ "$how" = none ] || says "$how: its output is there" '^sum 212478750$'
    done <<END
return 1 0 0 3
seven 1 7 0 3
crash 0 0 11 3
abort 0 0 6 3
_exit 1 5 0 3
kill 0 0 9 3
inside 1 6 0 3
exec 1 0 0 3
none 1 4 0 0
END
    capture --first 100 "$programs/endings" inside
    says "a region left by exit is skipped, with the reason" '^region inside@endings.c:[0-9]+ invocations 1 status skipped reason it was left before its end'
    capture --first 100 "$programs/endings" exec
    says "the program that it became is left alone" '^replaced$'
    ;;
forks)
    capture --first 100 "$programs/endings" fork
    says "the parent passes" '^PASS$'
    says "only the parent's invocations are counted" '^region region@endings.c:[0-9]+ invocations 8 status captured'
    for i in 0 1 2 3 4; do says "child $i lives" "^child $i$"; done
    capture --first 100 "$programs/endings" daemon
    says "a program that becomes a daemon ends for us" '^program_status 0 exited 1'
    says "what came before is captured" 'captured 3 wanted 3'
    until_holds grep -q 'daemon done' out
    says "the daemon goes on without us" '^daemon done$'
    ;;
entries)
    for threads in 1 2; do
        capture --first 100 --threads $threads "$programs/entries"
        says "$threads threads: the program passes" '^PASS 1 6500 100$'
        says "$threads threads: 18 arguments are recorded" '^codelet many@.* words 18 '
        says "$threads threads: three of six locks live: none is lost or made up" '^codelet locked@.* locks 3 '
        says "$threads threads: the serial path counts as the same region" '^region serial_when@entries.c:[0-9]+ invocations 2 status captured'
        says "$threads threads: nested regions are captured, with their levels" '^region inner@.* invocations 4 status captured nested 4 parent outer@'
        says "$threads threads: a nested codelet knows the team around it" "^codelet inner@.* levels 1 team $threads number 0\$"
        says "$threads threads: other threads' regions are captured" '^region elsewhere@.* invocations 3 status captured nested 0 parent -'
        says "$threads threads: the call path is named" '^frame main\+0x'
        says "$threads threads: the runtime's memory is kept apart" 'separate 1$'
        lacks "$threads threads: arguments are the same in both runs" '^note .*arguments differ'
        lacks "$threads threads: nothing is unreadable" 'unreadable'
    done
    ;;
surroundings)
    env | sort >wanted
    capture "$programs/surroundings" environment
    grep -E '^env ' out | sed 's/^env //' | sort >got
    grep -E '^child ' out | sed 's/^child //' | sort >got_child
    # what is asked for on purpose, and the shell's own
    for file in wanted got got_child; do grep -vE '^(OMP_NUM_THREADS=1|OMP_PROC_BIND=true|OMP_PLACES=cores|_=.*|SHLVL=.*|OLDPWD=.*|PWD=.*)$' $file >$file.own; done
    holds "the program sees its own environment" cmp wanted.own got.own
    holds "the program's children see their own environment" cmp wanted.own got_child.own
    LD_PRELOAD=libm.so.6 capture "$programs/surroundings" environment
    says "the user's own LD_PRELOAD stays" '^env LD_PRELOAD=libm.so.6$'
    "$programs/surroundings" descriptors >plain 2>&1
    capture "$programs/surroundings" descriptors
    grep -E '^(descriptor|child)' out >got
    holds "low descriptors are as they would be, the program's children inherit none" cmp plain got
    capture --first 100 "$programs/surroundings" signals
    says "signals that arrive all the time disturb nothing" '^PASS '
    says "all invocations are captured amid signals" 'captured 51 wanted 51'
    capture --first 100 "$programs/surroundings" close
    says "a program that closes all descriptors goes on" '^PASS$'
    says "what could not be captured says why" 'status invalid reason the program closed the capture'
    ;;
input)
    head -c 300000 /dev/zero | tr '\0' x | fold >text
    capture "$programs/surroundings" input <text
    says "a file is read whole" "^input $(wc -c <text)$"
    cat text | capture "$programs/surroundings" input
    says "a pipe serves both runs" "^input $(wc -c <text)$"
    { read -r line; capture "$programs/surroundings" input; } <text
    says "a file is read from where it stands" "^input $(($(wc -c <text) - $(head -1 text | wc -c)))$"
    capture "$programs/surroundings" input </dev/null
    says "nothing is nothing" '^input 0$'
    ;;
refused)
    capture --refuse 1 "$programs/endings" seven
    says "ptrace refused: the program runs to its end" '^PASS$'
    says "ptrace refused: the program's status is told" '^program_status 1792 '
    says "ptrace refused: exit 3 with a hint" '^error 3 .*cannot trace.* \| .*allow ptrace'
    holds "ptrace refused: status 3" test "$status" -eq 3
    holds "ptrace refused: no store is left" test ! -e s
    mkdir -p s; : >s/file
    timeout 300 "$programs/capture_driver" -o s "$programs/endings" >out 2>err; status=$?
    says "an existing store is refused" '^error 2 .*exists already'
    lacks "the program is not run in vain" '^PASS$'
    holds "it is left alone" test -e s/file
    ;;
unchanged)
    # Not captured, the same program does the same: what it prints, and about what it costs.
    "$programs/slow" 30 >plain
    capture --first 2 "$programs/slow" 30
    grep -E '^(step|PASS)' out >got
    holds "a captured program computes what it computes" cmp plain got
    ;;
one_moment)
    for refuse in 0 2; do
        capture --first 100 --refuse $refuse "$programs/background" "$work/log"
        says "the program passes" '^PASS$'
        says "all is captured" 'captured 10 wanted 10'
        "$programs/check_memory" s log >>out
        says "threads of the program's own stand still during a dump" '^checked 30 objects of 10 invocations, 0 differ'
    done
    ;;
interrupted)
    # Ctrl-C: SIGINT to all of the terminal's process group, while the program is captured; it waits for it at step 350, should that be later. The second one would run for minutes.
    ( trap - INT; exec setsid "$programs/capture_driver" -o s --first 100 "$programs/slow" 400 350 ) >out 2>err &
    group=$!
    until_holds grep -q '^step 20 ' out
    kill -INT -- "-$group"
    wait
    says "the program ends as usual" '^program_status 2 exited 0 code 0 signal 2$'
    lacks "it does not go on" '^PASS$'
    says "the store is complete and whole" '^store complete 1 check 0$'
    says "what was captured until then is kept" '^codelet main@slow.c_[0-9]+-12 '
    says "what was not says why" 'captured [1-9][0-9]* wanted 100'
    rm -rf s
    ( exec setsid "$programs/capture_driver" -o s "$programs/slow" 200000 ) >out 2>err &
    group=$!
    until_holds computes "$group"
    kill -INT -- "-$group"
    wait
    says "interrupted in the timing run: it says so" '^error 1 interrupted in the timing run'
    says "interrupted in the timing run: the program's status is told" '^program_status 2 exited 0 code 0 signal 2$'
    lacks "interrupted in the timing run: there is no second run" '^step 1 '
    holds "interrupted in the timing run: no store is left" test ! -e s
    ;;
killed_tracer)
    "$programs/slow" 40 >plain
    lost=0 stores=0
    # Before there is output it is killed in the first run or on the way to the second; then at a step; last when there is a manifest, so of one it is certain.
    for moment in 0.08 0.15 0.22 0.3 1 3 5 10 15 20 30 manifest; do
        rm -rf s
        ( exec setsid "$programs/capture_driver" -o s --first 100 "$programs/slow" 40 ) >out 2>err &
        tracer=$!
        case $moment in
        0.*) sleep $moment ;;
        manifest) until_holds test -e s/manifest.json ;;
        *) until_holds grep -q "^step $moment " out ;;
        esac
        kill -KILL $tracer 2>/dev/null
        wait $tracer 2>/dev/null
        until_holds has_ended $tracer
        grep -E '^(step|PASS)' out >got
        # killed in the timing run, the capturing run never began
        if [ -s got ] && ! cmp -s plain got; then lost=$((lost + 1)); head -3 got; fi
        if [ -e s/manifest.json ]; then
            "$programs/check_memory" s /dev/null >opened; [ $? -ne 2 ] && stores=$((stores + 1)) || { cat opened; lost=$((lost + 100)); }
        fi
    done
    holds "whenever the tracer is killed, the program runs to its end with all its output" test $lost -eq 0
    holds "stores of killed tracers open" test $stores -ge 1
    ;;
full_disk)
    capture --first 5 --fault pages.write:3+:ENOSPC "$programs/slow" 20
    says "the program runs to its end" '^PASS$'
    says "exit 5 with the reason" '^error 5 .*[Nn]o space left'
    holds "status 5" test "$status" -eq 5
    ;;
bad_programs)
    "$clang" -O2 -fopenmp "$sources/endings.c" -o plain
    capture "$work/plain"
    says "a program without the plugin: exit 4 with the line that compiles it" '^error 4 .* \| compile it with: clang -O3 -g -fopenmp -fpass-plugin=PCEREPass.so x.c'
    printf '#!/bin/sh\necho x\n' >script; chmod +x script
    capture "$work/script"; says "a script" '^error 4 .*is a script'
    capture "$work/missing"; says "a missing file" '^error 2 cannot run .*[Nn]o such file'
    : >empty; capture "$work/empty"; says "a file that cannot be executed" '^error 2 cannot run .*ermission denied'
    chmod +x empty; capture "$work/empty"; says "an empty file" '^error 4 '
    capture "$work"; says "a directory" '^error 2 .*it is no file'
    head -c 3000 "$programs/endings" >cut; chmod +x cut; capture "$work/cut"; says "a truncated executable" '^error 4 '
    # Debian has no static OpenMP runtime: a program that brings its own (here, one of a single call) is linked as one would be.
    printf '%s\n' 'static int x;' 'int main(void) {' '#pragma omp parallel' '    x++;' '    return x != 1;' '}' >counts.c
    printf '%s\n' 'void __kmpc_fork_call(void *place, int words, void (*region)(int *, int *), ...) { int number = 0; (void)place, (void)words; region(&number, &number); }' >runtime.c
    "$clang" -O2 -g -fopenmp "-fpass-plugin=$plugin" -fPIE -c counts.c && "$clang" -O2 -fPIE -c runtime.c
    "$clang" counts.o runtime.o -o counts && capture "$work/counts"
    says "a program with the runtime inside: a note that says what that costs, and what to do" '^note .*runtime is part of the program.*link it with the shared libomp.so'
    for how in -static -static-pie; do
        holds "a program with $how links and runs" eval "$clang $how counts.o runtime.o -o counts && ./counts"
        capture "$work/counts"; says "a program with $how: exit 3, why, and what to do" "^error 3 .*counts' is statically linked: no capture library can be brought into it, and it does not have one in itself \\| end the command that links it with \\$\\(pcere version --static\\) and do not strip it, or link it without -static"
    done
    holds "none of them leaves a store" test ! -e s
    ;;
selection)
    capture --first 100 --regions many "$programs/entries"
    says "what is asked for is captured" '^region many@.* status captured'
    says "the rest is measured, not dumped" '^region locked@.* invocations 1 status skipped reason not asked for'
    capture --first 100 --regions 'l*d@entries.c:*' "$programs/entries"
    says "patterns serve as well" '^region locked@.* status captured'
    capture --first 100 --share 1.1 "$programs/entries"
    says "what weighs too little is not dumped" '^region many@.* status skipped reason weighs .* % of the run'
    says "nothing is captured" 'captured 0 wanted 0'
    ;;
unlike)
    echo 9 >times
    capture --first 100 "$programs/endings" counted "$work/times"
    says "the program passes" '^PASS$'
    says "invocations that never came say so" '^region region@endings.c:[0-9]+ invocations 12 status captured'
    says "all but the missing one are captured" 'captured 11 wanted 12'
    ;;
freed)
    capture --first 6 "$programs/freed"
    says "the program passes" '^PASS$'
    holds "what is touched first is told, though the process does not grow any more" test "$(awk '/^touches first fill/ { printf "%s ", $4 }' out)" = "1 3 5 7 9 "
    capture --first 6 --larger 256 "$programs/freed"
    holds "nor was it ever as large as the process that started it" test "$(awk '/^touches first fill/ { printf "%s ", $4 }' out)" = "1 3 5 7 9 "
    holds "and no file that was read for that is the program's" sh -c '[ -s s/manifest.json ] && ! grep -q "\"io\": *\"" s/manifest.json'
    ;;
*) echo "no such case: $case_name"; exit 2 ;;
esac
printf '%d checks, %d failed\n' "$checks" "$failures"
[ "$failures" -eq 0 ] && [ "$checks" -gt 0 ]
