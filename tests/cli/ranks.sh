# A real MPI program of two ranks with OpenMP inside: traced, its clocks put on one by its messages, merged. With each MPI that is installed.
source "$(dirname "$0")/common.sh"
export MPICH_CC=$CLANG OMPI_CC=$CLANG OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMP_NUM_THREADS=2
cat >ranks.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int provided, rank, size;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double out[8] = {0}, in[8], sum = 0, all;
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < 12; k++) {
        #pragma omp parallel for reduction(+: sum)
        for (int i = 0; i < 2000; i++) sum += i * 0.5 / (k + 1 + rank);
        out[0] = sum;
        if (rank % 2 == 0) {
            MPI_Send(out, 8, MPI_DOUBLE, next, k % 3, MPI_COMM_WORLD);
            MPI_Recv(in, 8, MPI_DOUBLE, k % 2 ? MPI_ANY_SOURCE : before, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Status status;
            MPI_Recv(in, 8, MPI_DOUBLE, MPI_ANY_SOURCE, k % 3, MPI_COMM_WORLD, &status);
            if (status.MPI_SOURCE != before) printf("wrong source\n");
            MPI_Send(out, 8, MPI_DOUBLE, next, k % 3, MPI_COMM_WORLD);
        }
        sum = in[0] * 1e-3;
    }
    MPI_Sendrecv(out, 8, MPI_DOUBLE, next, 7, in, 8, MPI_DOUBLE, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(&all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Reduce(&all, &sum, 1, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD);
    if (rank == 0) printf("all %g\n", all);
    MPI_Finalize();
    return 0;
}
END
# Receives that are posted, and come later: in any order, from anyone, found by waiting or by asking.
cat >later.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, index, flag, indices[2], done;
    double out[6] = {1, 2, 3, 4, 5, 6}, in[6] = {0};
    MPI_Request requests[6];
    MPI_Status statuses[6], status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int other = 1 - rank, wrong = 0;
    if (rank < 2) for (int k = 0; k < 10; k++) {
        #pragma omp parallel
        out[0] = k;
        MPI_Irecv(&in[0], 1, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&in[1], 1, MPI_DOUBLE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Irecv(&in[2], 1, MPI_DOUBLE, other, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[2]);
        MPI_Send(&out[1], 1, MPI_DOUBLE, other, 2, MPI_COMM_WORLD);
        MPI_Isend(&out[0], 1, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &requests[3]);
        MPI_Isend(&out[2], 1, MPI_DOUBLE, other, 3, MPI_COMM_WORLD, &requests[4]);
        switch (k % 5) {
        case 0: MPI_Waitall(5, requests, k ? statuses : MPI_STATUSES_IGNORE); break;
        case 1: for (int i = 0; i < 5; i++) MPI_Waitany(5, requests, &index, i % 2 ? &status : MPI_STATUS_IGNORE); break;
        case 2: for (int i = 4; i >= 0; i--) for (flag = 0; !flag;) MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE); break;
        case 3: for (done = 0; done < 5; done += index) MPI_Waitsome(5, requests, &index, (int[5]){0}, MPI_STATUSES_IGNORE); break;
        case 4: for (flag = 0; !flag;) MPI_Testall(5, requests, &flag, statuses); break;
        }
        wrong += in[0] != k || in[1] != 2 || in[2] != 3;
    }
    (void)indices;
    MPI_Finalize();
    if (wrong) printf("wrong\n");
    return wrong;
}
END
cat >check.py <<'END'
import json
events = json.load(open("merged.json"))["traceEvents"]
names = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
assert sorted(names.values()) == ["Rank 0 (ranks.0.pct)", "Rank 1 (ranks.1.pct)"], names
out = {e["id"]: e for e in events if e["ph"] == "s" and e["name"] == "Messages"}
into = {e["id"]: e for e in events if e["ph"] == "f" and e["name"] == "Messages"}
assert len(out) == 26 and out.keys() == into.keys(), len(out)
assert all(out[i]["pid"] != into[i]["pid"] for i in out)
sends = [e for e in events if e["name"] == "MPI send"]
assert len(sends) == 26 and {e["pid"] for e in sends} == set(names)
assert sum(e["name"] == "MPI receive" for e in events) == 26
END
# ranks_hold KIND COMPILER START: with one MPI; in a folder of its own
ranks_hold() {
    local kind=$1 compiler=$2 start=$3
    mkdir "$kind"
    cd "$kind" || exit 1
    printf '%s\n' "-- $kind"
    "$compiler" -O1 -g -fopenmp ../ranks.c -o ranks || { echo "left out: $compiler makes no program here"; cd ..; return; }
    "$start" -n 2 ./ranks >plain.txt 2>&1 || { echo "left out: $start starts no program here: $(head -n 1 plain.txt)"; cd ..; return; }
    tried=$((tried + 1))
    run "$start" -n 2 "$PCERE" trace ./ranks; says "two ranks are traced" 0 err '^all '
    is "and calculate the same" "$(grep -h '^all' "$work/.err")" "$(grep '^all' plain.txt)"
    holds "each has a file of its own" test -s ranks.0.pct -a -s ranks.1.pct
    run "$PCERE" merge ranks.0.pct ranks.1.pct -o merged.json --json; says "they are merged" 0
    is "the clock of rank 1 by messages, beside rank 0" "$(json '.files | map(.basis) | join(" ")')" "reference messages"
    # 13 messages in each direction; barrier, allreduce: one more each; bcast: to rank 1, reduce: to rank 1.
    is "every message was found" "$(json '.files[1].messages')" 32
    is "a line fits all of them, and how far it can be off is told" "$(json '.files[1] | .error_ns > 0 and .violation_ns == 0')" true
    run python3 ../check.py; says "with names, and an arrow for each message" 0
    run "$PCERE" merge ranks.0.pct ranks.1.pct --minima -o minima.json --json; says "by minima" 0 out '"basis": "minima"'
    run "$PCERE" metrics omp ranks.0.pct,ranks.1.pct merged.json --json; says "metrics of both as one run" 0
    is "two processes, also of what was merged" "$(json '.runs | map(.metrics["Worker Process"]) | join(" ")')" "2 2"
    run "$PCERE" merge ranks.0.pct merged.json -o x.json; says "two formats" 2 err 'one format'
    run "$start" -n 2 "$PCERE" trace -o by%r.pct ./ranks; says "named by rank" 0
    holds "as was said" test -s by0.pct -a -s by1.pct
    run "$start" -n 2 "$PCERE" trace --force -o one.pct ./ranks; [ "$status" != 0 ] && status=2
    says "two ranks and one file" 2 err "several processes cannot write 'one.pct'" err '%r stands for the rank'
    holds "which neither makes" test ! -e one.pct

    "$compiler" -O1 -g -fopenmp "-fpass-plugin=$(plugin)" ../ranks.c -o caught
    run "$start" -n 2 "$PCERE" capture --all-classes ./caught; says "two ranks are captured, each once, since neither can be run again without the other" 0 out '^all '
    is "each has a store of its own" "$(echo caught*.pcere)" "caught.0.pcere caught.1.pcere"
    for rank in 0 1; do
        run "$PCERE" verify --json "caught.$rank.pcere"        # the other rank may write what both share meanwhile
        is "the codelet of rank $rank runs, and the program's own memory is as it was" "$(json '.codelets | map(.region == "main@ranks.c:13" and (.identical or (.causes | length > 0 and all(.name == "anonymous memory")))) | unique | join(" ")')" true
    done
    run "$start" -n 2 "$PCERE" capture --runs 2 --force ./caught; [ "$status" != 0 ] && status=2
    says "a rank that is to be run again by itself" 2 err 'cannot be run again by itself'
    run "$start" -n 2 sh -c '"$0" capture -o "by-${OMPI_COMM_WORLD_RANK:-$PMI_RANK}.pcere" ./caught' "$PCERE"; says "a script may put the rank into the name itself" 0
    is "each has its store" "$(echo by-*.pcere)" "by-0.pcere by-1.pcere"
    run "$start" -n 2 "$PCERE" capture -o one.pcere ./caught; [ "$status" != 0 ] && status=2
    says "two ranks and one store" 2 err "several processes cannot write 'one.pcere'" err '%r stands for the rank'

    "$compiler" -O1 -g -fopenmp ../later.c -o later
    run "$start" -n 2 "$PCERE" trace ./later; says "receives that come later are traced, and what comes is right" 0
    run "$PCERE" merge later.0.pct later.1.pct -o later.json --json; says "merged" 0
    is "every message was found" "$(json '.files[1].messages')" 60
    is "a line fits all of them" "$(json '.files[1] | .error_ns > 0 and .violation_ns == 0')" true
    is "each has an arrow" "$(jq '[.traceEvents[] | select(.name == "Messages" and .ph == "s")] | length' later.json)" 60
    is "that does not go back in time by more than the clocks are off" "$(jq --argjson off "$(json '.files[1].error_ns')" '[.traceEvents[] | select(.name == "Messages")] | group_by(.id) |
        map((map(select(.ph == "f")) | .[0].ts) - (map(select(.ph == "s")) | .[0].ts) > -2 * $off / 1000 - 1) | all' later.json)" true
    cd ..
}
tried=0
for kind in mpich openmpi; do
    if command -v "mpicc.$kind" "mpirun.$kind" >/dev/null; then ranks_hold "$kind" "mpicc.$kind" "mpirun.$kind"; fi
done
if [ "$tried" = 0 ] && command -v mpicc mpirun >/dev/null; then ranks_hold mpi mpicc mpirun; fi
[ "$tried" != 0 ] || { echo "skip: no MPI is installed that starts a program here (scripts/setup installs MPICH and Open MPI)"; exit 77; }
cd "$(find . -maxdepth 2 -name ranks.0.pct -printf '%h\n' | head -n 1)" || exit 1

# what is no rank keeps the clock of the day
echo 'int main(void) { int n = 0;
#pragma omp parallel reduction(+: n)
n++; return n != 2; }' >alone.c
"$CLANG" -O1 -fopenmp alone.c -o alone
run "$PCERE" trace -o alone.pct ./alone; says "a program without MPI" 0
run "$PCERE" merge ranks.0.pct alone.pct -o mixed.json --json; says "beside a rank" 0 out '"basis": "clock of day"'
finish
