# Counters of a processor, by a kernel whose answers are written down (a library before the C library's): this is tried where there is no such processor, too.
source "$SOURCE/tests/cli/common.sh"

cat >kernel.c <<'C'
/* perf_event_open(2) and read(2) of its descriptors, by name and by number, for four counters; all but software events. How reading goes on is a matter of the event's number (config). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { COUNTERS = 4, EVENTS = 1024 };
static struct { uint64_t config, reads; int leader, members, pinned, open; } events[EVENTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static int is(const char *what) { const char *how = getenv("ANSWERS"); return how && strcmp(how, what) == 0; }

static long event_open(const struct perf_event_attr *wanted, int leader)
{
    const char *refuse = getenv("REFUSE");
    if (refuse)
        return errno = atoi(refuse), -1;
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC), number = leader < 0 ? file : leader;
    if (file < 0 || file >= EVENTS)
        return errno = EMFILE, -1;
    memset(&events[file], 0, sizeof events[file]);
    events[file].config = wanted->config;
    events[file].leader = number;
    events[file].pinned = wanted->pinned;
    events[file].open = 1;
    int conflict = 0;
    for (int i = 0; i < EVENTS; i++)
        conflict |= events[i].open && events[i].leader == number && (events[i].config ^ wanted->config) == 1;
    if (leader >= 0 && conflict) {               /* numbers 2n and 2n + 1 share a counter */
        close(file);
        return errno = EINVAL, -1;
    }
    events[number].members++;
    return file;
}

/* Each reading is 1000 ns after the one before. */
static void turn_answer(uint64_t number, uint64_t k, uint64_t *ret)
{
    uint64_t running = k, count = 100 * k;
    if (number == 2)                             /* half of the time */
        running = k * 500, count = 50 * k;
    else if (number == 4)                        /* never */
        running = count = 0;
    else if (number == 6)                        /* until the third reading */
        running = least(k, 3) * 1000, count = least(k, 3) * 100;
    else if (number == 8) {                      /* until the fourth reading, and then, without anything to count, from the eighth on */
        running = (least(k, 4) + (k > 8 ? k - 8 : 0)) * 1000;
        count = least(k, 4) * 100;
    } else
        running = k * 1000;
    ret[0] = 1, ret[1] = k * 1000, ret[2] = running, ret[3] = count;
}

static ssize_t event_read(int file, uint64_t *ret)
{
    uint64_t k = ++events[file].reads;
    int members = events[file].members;
    if (!events[file].pinned)
        return turn_answer(events[file].config & 15, k, ret), 4 * sizeof *ret;
    if (members > COUNTERS || (is("lost") && k > 3))
        return 0;
    ret[0] = (uint64_t)members, ret[1] = k * 1000, ret[2] = is("shared") && k > 3 ? k * 500 : k * 1000;
    for (int i = 0; i < members; i++)
        ret[3 + i] = k * 100;
    return (3 + members) * (ssize_t)sizeof *ret;
}

long syscall(long number, ...)
{
    static long (*next)(long, ...);
    va_list list;
    va_start(list, number);
    long words[6];
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_perf_event_open && ((const struct perf_event_attr *)words[0])->type != PERF_TYPE_SOFTWARE) {
        pthread_mutex_lock(&lock);
        long file = event_open((const struct perf_event_attr *)words[0], (int)words[3]);
        pthread_mutex_unlock(&lock);
        return file;
    }
    if (number == SYS_read && words[0] >= 0 && words[0] < EVENTS && events[words[0]].open && words[2] >= 32)
        return event_read((int)words[0], (uint64_t *)words[1]);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "syscall");
    return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

ssize_t read(int file, void *data, size_t bytes)
{
    static ssize_t (*next)(int, void *, size_t);
    if (file >= 0 && file < EVENTS && events[file].open && bytes >= 32)
        return event_read(file, data);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "read");
    return next(file, data, bytes);
}

int close(int file)
{
    static int (*next)(int);
    if (file >= 0 && file < EVENTS)
        events[file].open = 0;
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "close");
    return next(file);
}
C
cat >work.c <<'C'
static volatile int done[12];
int main(void) {
    #pragma omp parallel num_threads(1)
    for (int i = 0; i < 12; i++) {
        #pragma omp task firstprivate(i)
        done[i] = i;
    }
    return 0;
}
C
"$CLANG" -O1 -g -shared -fPIC kernel.c -o kernel.so -ldl || { echo "NOT OK: kernel.c does not compile"; exit 1; }
"$CLANG" -O1 -g -fopenmp work.c -o work
export LD_PRELOAD=$PWD/kernel.so
asked() { run "$PCERE" profile --force --json "$@" ./work; }
counts() { json "[.xus[].counts[\"$1\"]] | unique | map(tostring) | join(\",\")"; }
blind() { holds "$1" jq -e --arg said "$2" '[.runs[0].blind[] | select(test($said))] | length == 1' .out; }
steady=PERF_COUNT_HW_CPU_CYCLES half=PERF_COUNT_HW_CACHE_REFERENCES never=PERF_COUNT_HW_BRANCH_INSTRUCTIONS early=PERF_COUNT_HW_BUS_CYCLES falling=PERF_COUNT_HW_STALLED_CYCLES_BACKEND
asked --events $steady
if grep -q 'without libpfm4' .err; then echo "skipped: without libpfm4 there are no names of such events"; exit 77; fi

# All the time, in one pinned group
says "an event of the processor is counted" 0
is "each XU has what came between two readings" "$(counts $steady)" 100
is "by the processor" "$(json '.events[0].backend')" pmu
is "and nothing is said against it" "$(json '[.runs[0].blind[] | select(test("count"))] | length')" 0
asked --events $steady,$half,$never,$early
says "as many as there are counters fit" 0
is "and are counted together" "$(counts $steady),$(counts $half),$(counts $never),$(counts $early)" 100,100,100,100
asked --events $steady,$half,$never,$early,$falling
says "one more does not" 3 err 'these 5 events of the processor cannot be counted together' err 'hint: --combine lgl'
asked --events $steady,PERF_COUNT_HW_INSTRUCTIONS
says "two that share a counter are named" 3 err 'PERF_COUNT_HW_CPU_CYCLES and PERF_COUNT_HW_INSTRUCTIONS cannot be counted together'
asked --combine lgl --events $steady,PERF_COUNT_HW_INSTRUCTIONS,$half,$never,$early,$falling
says "the planner asks the kernel what fits" 0
is "and makes two runs, fewer than which are not possible" "$(json '[.plan.runs, .plan.bound, .plan.events_per_run] | map(tostring) | join(",")')" 2,2,4
is "in which those two are apart" "$(json '[.events[] | select(.event == "PERF_COUNT_HW_CPU_CYCLES" or .event == "PERF_COUNT_HW_INSTRUCTIONS") | .run] | unique | length')" 2
export ANSWERS=lost
asked --events $steady,$half
says "a pinned group that lost its counters" 0
blind "is seen" 'readings of counters told nothing: the kernel had given the counters to others'
is "and has no counts" "$(counts $steady)" 0
export ANSWERS=shared
asked --events $steady,$half
blind "times in which others had the counters are seen" 'readings of counters covered a part of the time only'
unset ANSWERS
for refusal in "1 not permitted" "2 does not have the event" "13 not permitted" "16 counters for itself" "24 too many open files" "38 without perf events"; do
    read -r number words <<<"$refusal"
    REFUSE=$number run "$PCERE" profile --force --events $steady ./work
    says "when the kernel answers $number it is said that '$words'" 3 err "$words" err 'hint:'
done

# Taking turns, as the kernel has it
asked --combine hem --events $steady,$half,$never,$early,$falling
says "events that do not fit take turns" 0
is "in one run" "$(json '[.strategy, (.runs | length)] | map(tostring) | join(",")')" hem,1
is "what counted all the time is exact" "$(counts $steady)" 100
is "what counted half of it is twice what was seen" "$(counts $half)" 100
is "what was seen only at first goes on like that" "$(counts $early)" 100
is "what never had a counter is 0" "$(counts $never)" 0
blind "which is said" "$never never had a counter: its counts are 0"
blind "as is what counts rest on" "$half was counted 50 % of the time, and extrapolated from that"
blind "for each event" "$early was counted [0-9.]* % of the time"
is "of what counted all the time there is nothing to say" "$(json "[.runs[0].blind[] | select(test(\"$steady\"))] | length")" 0
holds "estimates that fall leave XUs nothing" jq -e --arg event $falling '[.xus[].counts[$event]] | all(. <= 100) and any(. == 0)' .out
zeros=$(json "[.xus[].counts[\"$falling\"] | select(. == 0)] | length")
blind "and how often that was so is said" "^$zeros counts of XUs came out below zero when they were extrapolated, and are 0"
is "XUs are those of other runs" "$(json '.xus | length')" 12
asked --combine hem --events $steady,page-faults
is "beside them events of the kernel are counted as always" "$(json '[.events[].backend] | join(",")'),$(counts $steady)" pmu,sw,100
asked --combine hem --counters 2 --events $steady,$half; says "how many counters there are is the kernel's business" 2 err 'the kernel knows how many counters'
asked --combine hem --repeat 2 --events $steady,$half; says "multiplexing is one run" 2 err 'is one run: --repeat'
asked --combine hem; says "of some events" 2 err 'one run of 1 to 64 events'
unset LD_PRELOAD

# Without such a kernel
run "$PCERE" profile --force --combine hem --events $steady ./work
if [ "$status" -ne 0 ]; then says "where there is no such processor that is said" 3 err 'does not count events of its processor'; fi
run "$PCERE" profile --force --json --combine hem --counters 2 --events sw ./work
says "other events can only be thought to take turns" 0
is "of which no one is exact" "$(json '[.strategy, ([.events[].exact] | any)] | map(tostring) | join(",")')" hem,false
blind "which is said, too" 'that events take turns is simulated: groups of 2 on each thread, for 4 ms each'
run "$PCERE" profile --force --combine hem --events sw ./work; says "and only with a number of counters" 2 err 'can only be simulated' err 'hint: --counters 4'
finish
