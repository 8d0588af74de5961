# What LLVM's tool interface does not tell (docs/METHOD.md): each hole is closed with the plugin, and without it closed, too, or in the profile's header.
source "$SOURCE/tests/cli/common.sh"
said() { jq -e --arg text "$2" '[.runs[0].blind[] | select(test($text))] | length == 1' "$1" >/dev/null; }
xus() { jq -r --arg type "$2" '[.xus[] | select(.type == $type)] | length' "$1"; }
# both NAME [OPTION...] <SOURCE: NAME.plain.json, and with the plugin NAME.plugin.json
both() {
    local name=$1
    shift
    cat >"$name.c"
    "$CLANG" -O2 -g -fopenmp "$name.c" -o plain && PCERE_COUNT=iterations "$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" "$name.c" -o plugged || not_ok "$name.c compiles"
    "$PCERE" profile -q --force --json --threads 2 ./plain >"$name.plain.json" 2>.err || not_ok "$name: a profile without the plugin"
    "$PCERE" profile -q --force --json --threads 2 "$@" ./plugged >"$name.plugin.json" 2>.err || not_ok "$name: one with it"
}

both chunks --iterations <<'C'
volatile int s[40];
int main(void) {
    #pragma omp parallel for schedule(static, 3)
    for (int i = 0; i < 40; i++) s[i]++;
    return 0;
}
C
is "1: with the plugin every chunk of static,3 is seen, iteration by iteration" "$(xus chunks.plugin.json iteration)" 40
is "without it those of a thread are one XU" "$(xus chunks.plain.json 'static range')" 2
holds "and that is said" said chunks.plain.json '^the chunks of schedule\(static,N\) that one thread executes are one XU$'

both alone <<'C'
volatile int s[40];
int main(int count, char **words) {
    (void)words;
    #pragma omp parallel for num_threads(1)
    for (int i = 0; i < 40; i++) s[i]++;
    #pragma omp parallel for if(count > 9) schedule(dynamic, 10)
    for (int i = 0; i < 40; i++) s[i]++;
    return 0;
}
C
for how in plugin plain; do
    is "2: loops in teams of one are seen ($how)" "$(xus alone.$how.json 'static range') $(xus alone.$how.json 'dynamic chunk')" "1 1"
    holds "and no chunk of static,N is spoken of where there is none ($how)" jq -e '[.runs[0].blind[] | select(test("chunks"))] | length == 0' "alone.$how.json"
done

both sections --iterations <<'C'
volatile int s[3];
int main(void) {
    #pragma omp parallel sections num_threads(1)
    {
        s[0]++;
        #pragma omp section
        s[1]++;
        #pragma omp section
        s[2]++;
    }
    return 0;
}
C
is "3: with the plugin sections have their numbers" "$(jq -r '[.xus[].label[-1:]] | sort | join(",")' sections.plugin.json)" "0,1,2"
is "without it a thread's are one XU" "$(xus sections.plain.json section)" 1
holds "which is said" said sections.plain.json '^sections that one thread executes'

both taskloops <<'C'
volatile int s[40];
static void first(void) {
    #pragma omp taskloop grainsize(10)
    for (int i = 0; i < 40; i++) s[i]++;
}
int main(void) {
    #pragma omp parallel
    #pragma omp single
    {
        first();
        #pragma omp taskloop grainsize(20)
        for (int i = 0; i < 40; i++) s[i]++;
    }
    return 0;
}
C
for how in plugin plain; do
    is "4: a taskloop's tasks are of its construct, not of a place in the runtime ($how)" \
       "$(jq -r '[.xus[] | select(.type == "taskloop chunk") | .construct] | group_by(.) | map("\(length) \(.[0])") | join(", ")' taskloops.$how.json)" "4 first@taskloops.c:3, 2 main@taskloops.c:11"
done

both inlined <<'C'
volatile int s[4];
static inline void leaf(int i) {
    #pragma omp task firstprivate(i)
    s[i]++;
}
static void twice(int i) { leaf(i); leaf(i + 1); }
int main(void) {
    #pragma omp parallel
    #pragma omp single
    { twice(0); twice(2); }
    return 0;
}
C
is "5: with the plugin a construct is one, however often its code was copied, and has its id" "$(jq -c '[(.constructs | length), .runs[0].level, (.runs[0].blind | length)]' inlined.plugin.json)" "[1,1,0]"
is "without it, too, by its place in the source" "$(jq '.constructs | length' inlined.plain.json)" 1
holds "and what that means is said" said inlined.plain.json 'named by their place in the source'
"$CLANG" -O2 -fopenmp inlined.c -o bare
"$PCERE" profile -q --force --json --threads 2 ./bare >bare.json 2>.err
holds "without -g constructs are places in the code, of which that is said" said bare.json 'named by where their calls lie in the code'

"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" "$SOURCE/tests/profiler/programs/in_single.c" -o in_single
"$PCERE" profile -q --force --json ./in_single >one.json 2>.err
"$PCERE" profile -q --force --json ./in_single other >other.json 2>.err
is "6: tasks born in single have one label, whoever came first" "$(jq -r '[.xus[].label] | sort | join(" ")' one.json)" "$(jq -r '[.xus[].label] | sort | join(" ")' other.json)"
"$PCERE" profile -q --force --json --labels paper ./in_single >paper.json 2>.err
holds "by the paper's rules they do not, which is said" said paper.json 'named after the thread that came to them'

both ordered <<'C'
volatile int s[9];
int main(void) {
    int d = 0;
    #pragma omp parallel
    #pragma omp single
    {
        #pragma omp task depend(out: d)
        s[0]++;
        #pragma omp taskwait
        #pragma omp task depend(in: d)
        s[1]++;
        #pragma omp task if(0) depend(inout: d)
        s[2]++;
        #pragma omp taskwait depend(in: d)
    }
    return 0;
}
C
for how in plain plugged; do
    "$PCERE" trace -q --force -o "$how.trace" ./$how >/dev/null 2>.err || not_ok "a trace ($how)"
    "$PCERE" graph --style plain -o graph.dot --force "$how.trace" >/dev/null 2>.err || not_ok "its graph ($how)"
    from=$(grep 'kind=task.*ordered.c:7' graph.dot | cut -d'"' -f2) to=$(grep 'kind=task.*ordered.c:10' graph.dot | cut -d'"' -f2)
    holds "7: a dependence on a task that has ended is an edge ($how)" grep -q "\"$from\" -> \"$to\"" graph.dot
done
is "8: a task with if(0) and depend is one XU, and a taskwait with depend none" "$(xus ordered.plugin.json task) $(xus ordered.plain.json task)" "3 3"
finish
