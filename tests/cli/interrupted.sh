# Commands that are ended from outside: by ctrl-C, which all processes of a terminal get, or by SIGTERM or SIGHUP, which only the command gets. Each says
# what it leaves, its processes are gone, and its store is whole. Whoever is waited for works until it is ended, so that no time decides.
source "$(dirname "$0")/common.sh"
compile endless <<'C'
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
static pid_t own;
static int v[1000];
static void quick(void)
{
    #pragma omp parallel for
    for (int i = 0; i < 1000; i++)
        v[i] += i;
}
static void stuck(void)
{
    #pragma omp parallel for
    for (int i = 0; i < 1000; i++) {
        while (getpid() != own) { prctl(PR_SET_NAME, "stuck"); usleep(1000); }
        v[i]++;
    }
}
int main(void)
{
    own = getpid();
    quick();
    stuck();
    for (int i = 0; getenv("STAYS") && i < 2; i--) { prctl(PR_SET_NAME, "stuck"); usleep(1000); }
    return v[7] != 8;
}
C
run "$PCERE" capture --all-classes --one-run -o endless.pcere ./endless
says "a program with a region that ends in no process but its own is captured" 0
run "$PCERE" replay endless.pcere quick --threads 1 --repeat 1
says "its other region is replayed" 0
lines=$(wc -l <endless.pcere/samples.jsonl)

stuck_of() { local child; for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do grep -qx stuck /proc/"$child"/task/*/comm 2>/dev/null && echo "$child"; done; }
gone() { ! grep -q '^State:[[:space:]]*[^ZX]' /proc/"$1"/status 2>/dev/null; }
# ended HOW COMMAND...: starts the command as a terminal would, waits for a child that is stuck, and sends INT to all processes, or TERM or KILL to the command, or lets it
# stay; ALONE sends INT to the command, and to no other; its child is in $child, itself in $command
ended() {
    local how=$1
    shift
    python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.setsid(); os.execvp(sys.argv[1], sys.argv[1:])' "$@" >.out 2>.err </dev/null &
    command=$!
    child=
    while [ -z "$child" ] && kill -0 $command 2>/dev/null; do child=$(stuck_of $command); sleep 0.02; done
    [ "$how" = STAYS ] && return
    if [ "$how" = INT ]; then kill -INT -- -$command; elif [ "$how" = ALONE ]; then kill -INT $command; else kill -"$how" $command; fi
    status=0; wait $command || status=$?
}
for signal in INT:130 TERM:143; do
    how=${signal%:*} number=${signal#*:}
    ended "$how" "$PCERE" replay endless.pcere --threads 1 --repeat 1 --patience 1h
    says "SIG$how ends replays, with what was made shown and kept" "$number" out 'quick@endless.c' err 'pcere replay: ends' err "interrupted; 1 of 2 replays were made, and are in '.*endless.pcere'" err 'hint: name the other regions'
    holds "the one that ran is not shown" bash -c '! grep -q stuck@ .out'
    holds "its process is gone" gone "${child:-self}"
    is "a sample was added" "$(wc -l <endless.pcere/samples.jsonl)" $((lines + 1))
    lines=$((lines + 1))
    ended "$how" "$PCERE" replay endless.pcere stuck --threads 1,2 --repeat 1 --patience 1h --json
    says "with --json, too" "$number" err 'interrupted; 0 of 2 replays'
    is "as one document" "$(json '[.replays, .error.status] | tojson')" '[[],1]'
    ended "$how" "$PCERE" verify endless.pcere --patience 1h
    says "SIG$how ends comparisons" "$number" out 'quick@endless.c' err 'pcere verify: ends' err 'interrupted; 1 of 2 comparisons were made; the store is as it was'
    holds "its process is gone" gone "${child:-self}"
done
run "$PCERE" replay endless.pcere quick --threads 1 --repeat 1
says "the store serves as before" 0
holds "every sample is whole" jq -e . endless.pcere/samples.jsonl
is "no file is half made" "$(find endless.pcere -name '*.tmp*' -o -name 'incomplete*' -o -name '*.partial' | wc -l)" 0

# The program itself, which runs on until it is ended.
compile stays <<'C'
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
static double v[100000];
int main(void)
{
    for (int k = 0; k < 5; k++)
        #pragma omp parallel for
        for (int i = 0; i < 100000; i++)
            v[i] += i * 0.5;
    if (access("stay", F_OK) == 0)
        for (prctl(PR_SET_NAME, "stuck");; usleep(1000))
            ;
    return v[7] < 1;
}
C
run "$PCERE" capture --all-classes --one-run ./stays
run "$PCERE" replay stays.pcere --threads 1 --repeat 2
says "a program is captured and replayed" 0
lines=$(wc -l <stays.pcere/samples.jsonl)
touch stay
for signal in INT:130 TERM:143; do
    ended "${signal%:*}" "$PCERE" predict stays.pcere --measure --json
    says "SIG${signal%:*} ends a real run" "${signal#*:}" err "interrupted; what 0 real runs of the program took is in '.*stays.pcere'"
    holds "and the program" gone "${child:-self}"
    is "of which nothing is kept" "$(wc -l <stays.pcere/samples.jsonl)" "$lines"
    ended "${signal%:*}" "$PCERE" verify stays.pcere --in-vivo --threads 1
    says "SIG${signal%:*} ends a run that is captured to compare with" "${signal#*:}" err 'interrupted; 0 of [0-9]+ comparisons'
    holds "and that program" gone "${child:-self}"
done

# Commands that run the program once hand the signal on: what was seen until then is kept.
for signal in TERM:143 HUP:129 ALONE:130; do
    how=${signal%:*} number=${signal#*:}
    ended "$how" "$PCERE" capture --force --all-classes -o cut.pcere ./stays
    says "SIG$how ends a program that is captured, and what was is kept" "$number" err 'killed by signal' err "hint: what was captured until then is in 'cut.pcere'"
    holds "the program is gone" gone "${child:-self}"
    run "$PCERE" verify cut.pcere
    says "and serves" 0 out 'identical'
    ended "$how" "$PCERE" run ./stays
    says "likewise one that is run" "$number" err 'killed by signal'
    ended "$how" "$PCERE" trace --force -o cut.trace ./stays
    says "likewise one that is traced" "$number" err "hint: what was seen until then is in 'cut.trace'"
done

# A program that ends in its own way when it is interrupted, and would run again for what its first run lacks: it is not run again, which might be for ever.
compile graceful <<'C'
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
static volatile sig_atomic_t stop;
static double v[20000];
static void end(int number) { stop = number; }
int main(void)
{
    FILE *log = fopen("graceful.log", "a");
    fputs("run\n", log);
    fclose(log);
    signal(SIGINT, end);
    signal(SIGTERM, end);
    for (int k = 0; !stop; k++) {
        #pragma omp parallel for
        for (int i = 0; i < 20000 * (k % 7) / 7; i++)
            v[i] += i * 0.5;
        if (k == 40)
            prctl(PR_SET_NAME, "stuck");
        if (k > 40)
            usleep(1000);
    }
    return 0;
}
C
for how in ALONE INT TERM; do
    rm -f graceful.log
    ended "$how" "$PCERE" capture --force ./graceful
    says "a program that takes SIG$how for its end is captured" 0
    is "in one run" "$(wc -l <graceful.log)" 1
done

# What a killed command leaves under TMPDIR the next one removes, but nothing of one that lives, and nothing that is not known to be of one.
mkdir moment moment/pcere-of-others
export TMPDIR=$PWD/moment
folders() { find moment -mindepth 1 -maxdepth 1 -name 'pcere-*' ! -name pcere-of-others -printf '%f\n'; }
ended KILL "$PCERE" verify stays.pcere --in-vivo --threads 1
is "a killed command ends by that" "$status" 137
kill -KILL "$child"
left=$(folders)
holds "its folder is left" test -n "$left"
ended STAYS "$PCERE" verify stays.pcere --in-vivo --threads 1
lives=$(folders)
holds "the next command removes it, and has one" test -n "$lives" -a -z "$(comm -12 <(sort <<<"$left") <(sort <<<"$lives"))"
rm stay
run "$PCERE" verify stays.pcere --in-vivo --threads 1
says "a third one beside that one" 0
is "leaves its folder alone, and none of its own" "$(folders)" "$lives"
kill -TERM $command
wait $command || true
is "that goes with it" "$(folders)" ""
holds "what others may have made stays" test -d moment/pcere-of-others
finish
