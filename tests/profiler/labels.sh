# Labels follow the rules: Listing 1.1 of the paper has its 16, and there is a program for each rule.
source "$SOURCE/tests/cli/common.sh"
programs=$SOURCE/tests/profiler/programs

# plain NAME [FLAG...]: a program without the plugin
plain() {
    local name=$1
    shift
    "$CLANG" -O2 -g -fopenmp "$@" "$name.c" -o "$name" || { echo "NOT OK: $name.c does not compile"; exit 1; }
}
# labels PROGRAM [OPTION...]: one a line, with the type; constructs as line numbers, "0.1@7"
labels() {
    local program=$1
    shift
    "$PCERE" profile -q --force --json "$@" "./$program" 2>/dev/null | jq -r '.xus[] | "\(.label) \(.type)"' | sed "s/@$program\.c:/@/g"
}
# lines SENTENCE WANTED GOT
lines() { if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1"; diff <(echo "$2") <(echo "$3"); fi; }

cp "$programs/listing.c" .
plain listing
listing='0.1@6.0.0@18 task
0.1@6.0.1@18 task
0.1@6.1@8.0 static range
0.1@6.1@8.0.1@10 task
0.1@6.1@8.0.2@10 task
0.1@6.1@8.0.3@10 task
0.1@6.1@8.0.4@10 task
0.1@6.1@8.4 static range
0.1@6.1@8.4.1@10 task
0.1@6.1@8.4.2@10 task
0.1@6.1@8.4.3@10 task
0.1@6.1@8.4.4@10 task
0.1@6.2@14.0 dynamic chunk
0.1@6.2@14.2 dynamic chunk
0.1@6.2@14.4 dynamic chunk
0.1@6.2@14.6 dynamic chunk'
lines "Listing 1.1 has its 16 labels" "$listing" "$(labels listing)"
lines "and the same by the rules of the paper" "$listing" "$(labels listing --labels paper)"
lines "and with times from the kernel's clock" "$listing" "$(labels listing --slow-clock)"
run "$PCERE" profile --force --graph listing.dot ./listing
says "the label graph is written" 0 out '^16 XUs'
is "with a node for the root, the region, two loops and the XUs" "$(grep -c '^  n[0-9]* \[' listing.dot)" 20
is "16 of them grey" "$(grep -c 'fillcolor' listing.dot)" 16
is "and two forced orders" "$(grep -c 'diamond' listing.dot)" 2

cat >rules.c <<'C'
volatile int sink[64];
static void inner(void) {
    #pragma omp task
    sink[0]++;
}
int main(void) {
    #pragma omp parallel num_threads(2)
    {
        #pragma omp sections
        {
            #pragma omp section
            sink[1]++;
            #pragma omp section
            inner();
        }
        #pragma omp single
        {
            #pragma omp task
            inner();
            inner();
        }
        #pragma omp masked
        inner();
        #pragma omp parallel num_threads(1)
        {
            #pragma omp for
            for (int i = 0; i < 3; i++) sink[2]++;
            inner();
        }
        #pragma omp for schedule(static, 2) nowait
        for (int i = 0; i < 8; i++) sink[3]++;
        #pragma omp for schedule(guided, 4) collapse(2)
        for (int i = 0; i < 2; i++) for (int j = 0; j < 4; j++) sink[4]++;
        #pragma omp for ordered schedule(dynamic, 3)
        for (int i = 0; i < 6; i++) {
            #pragma omp ordered
            sink[5]++;
        }
        inner();
        inner();
    }
    #pragma omp parallel for if(0)
    for (int i = 5; i < 9; i++) sink[6]++;
    #pragma omp task
    sink[7]++;
    #pragma omp task if(0)
    inner();
    return 0;
}
C
plain rules
lines "each rule gives its label: thread 0's children in the region are 0 (masked), 2, 4, 6, thread 1's 1, 3, 5" '0.1@7.0.0@22.1@3 task
0.1@7.0.1@24.0.0@3 task
0.1@7.0.1@24.1@26.0 static range
0.1@7.0.2@24.0.0@3 task
0.1@7.0.2@24.1@26.0 static range
0.1@7.0.3@3 task
0.1@7.0.4@3 task
0.1@7.0.5@3 task
0.1@7.0.6@3 task
0.1@7.1@9.0 section
0.1@7.1@9.1 section
0.1@7.1@9.1.1@3 task
0.1@7.2@16.1@18 task
0.1@7.2@16.1@18.1@3 task
0.1@7.2@16.2@3 task
0.1@7.3@30.0 static range
0.1@7.3@30.2 static range
0.1@7.4@32.0 dynamic chunk
0.1@7.4@32.4 dynamic chunk
0.1@7.5@34.0 dynamic chunk
0.1@7.5@34.3 dynamic chunk
0.2@42.1@42.0 static range
0.3@44 task
0.4@46 task
0.4@46.1@3 task' "$(labels rules)"
paper=$(labels rules --labels paper)
lines "by the paper's rules single and sections are in no label, and loops alone are counted" '0.1@7.1@30.0 static range
0.1@7.1@30.2 static range
0.1@7.2@32.0 dynamic chunk
0.1@7.2@32.4 dynamic chunk
0.1@7.3@34.0 dynamic chunk
0.1@7.3@34.3 dynamic chunk' "$(grep '^0\.1@7\.[1-9]' <<<"$paper")"
is "and there are as many XUs" "$(wc -l <<<"$paper")" 25

cat >taskloops.c <<'C'
volatile int sink[1000];
int main(void) {
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        #pragma omp taskloop grainsize(10)
        for (int i = 0; i < 1000; i++) sink[i]++;
        #pragma omp taskloop num_tasks(2) nogroup
        for (int i = 0; i < 6; i++) {
            #pragma omp task
            sink[i]++;
        }
    }
    return 0;
}
C
plain taskloops
got=$(labels taskloops)
lines "a taskloop's tasks are named by their first iteration, whoever makes them" "$(seq 0 10 990 | sed 's/.*/0.1@3.1@4.1@6.& taskloop chunk/')" \
      "$(grep '@4\.1@6' <<<"$got")"
lines "and are parents of their tasks" '0.1@3.1@4.2@8.0 taskloop chunk
0.1@3.1@4.2@8.0.1@10 task
0.1@3.1@4.2@8.0.2@10 task
0.1@3.1@4.2@8.0.3@10 task
0.1@3.1@4.2@8.3 taskloop chunk
0.1@3.1@4.2@8.3.1@10 task
0.1@3.1@4.2@8.3.2@10 task
0.1@3.1@4.2@8.3.3@10 task' "$(grep '@4\.2@8' <<<"$got")"

cat >divided.c <<'C'
volatile int sink[50];
int main(void) {
    #pragma omp taskloop grainsize(1)
    for (int i = 0; i < 50; i++) sink[i]++;
    return 0;
}
C
plain divided
lines "tasks by which the runtime divides a large taskloop are no XUs, also where they are executed at once" "$(seq 50 | sed 's/.*/0.&@3.&@3 taskloop chunk/; s/^0\.[0-9]*@/0.1@/' | sort)" "$(labels divided | sort)"

# ---- without debug information -------------------------------------------------------------------------------------------------
cp listing.c bare.c
"$CLANG" -O2 -fopenmp bare.c -o bare
run "$PCERE" profile --force --json ./bare
is "without -g there are 16 labels as well" "$(json '[.xus[].label] | unique | length')" 16
holds "named by where the calls lie in the program" jq -e 'all(.xus[].label; test("@bare\\+0x[0-9a-f]+|@main\\+0x[0-9a-f]+"))' .out
first=$(json '[.xus[].label] | sort | join(" ")')
run "$PCERE" profile --force --json ./bare
is "and the same in the next run" "$(json '[.xus[].label] | sort | join(" ")')" "$first"

# ---- with the plugin -------------------------------------------------------------------------------------------------------------
"$CLANG" -O2 -fopenmp "-fpass-plugin=$(plugin)" bare.c -o with_plugin
run "$PCERE" profile --force --json ./with_plugin
is "with the plugin, and without -g, there are 16 labels" "$(json '[.xus[].label] | unique | length')" 16
is "and the profile is of level 1" "$(json '.runs[0].level')" 1
holds "labels name constructs by their ids" jq -e 'all(.xus[]; .label | test("@pcere:[0-9a-f]{16}"))' .out
optimised=$(json '[.xus[].label] | sort | join(" ")')
"$CLANG" -O0 -fopenmp "-fpass-plugin=$(plugin)" bare.c -o with_plugin
run "$PCERE" profile --force --json ./with_plugin
is "which another build has, too" "$(json '[.xus[].label] | sort | join(" ")')" "$optimised"

# ---- what a profile adds up to ---------------------------------------------------------------------------------------------------
cp "$programs/fibonacci.c" .
plain fibonacci
run "$PCERE" profile --force --json --threads 2 ./fibonacci
is "each call of fibonacci above 1 made two tasks" "$(json '.xus | length')" 1972
is "no label is there twice" "$(json '[.xus[].label] | unique | length')" 1972
holds "no XU was active for longer than the program ran" jq -e '.runs[0].wall_ns as $wall | all(.xus[]; .active_ns <= $wall and .start_ns <= $wall)' .out
holds "the settings are those of the program" jq -e '.runs[0].settings | index("OMP_WAIT_POLICY=passive") != null' .out
run "$PCERE" profile ./fibonacci; says "an existing profile is not replaced" 2 err 'fibonacci.pcx' err '--force'
run "$PCERE" profile -o other.pcx --threads 1 ./fibonacci; says "unless another name is given; one thread is enough" 0 out '^1972 XUs'
finish
