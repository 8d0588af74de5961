# What no memory holds is compared as well: who holds a lock, where random numbers stand; and a region that asks for the time is told so.
source "$(dirname "$0")/common.sh"
flags=-O2
program states states.c
# Where the machine stands still for seconds the program finds that it is late, already when it is captured.
for _ in 1 2 3 4 5; do
    run "$PCERE" capture --force --all-classes ./states
    [ "$status" -eq 0 ] && break
done
says "states runs and is captured" 0 out '^PASS'
sleep 3
run "$PCERE" verify states.pcere 'always'
says "random numbers that go on where they stood leave the program's state" 0 out 'identical'
run "$PCERE" verify states.pcere 'early_or_late'
says "a region that does something else later differs" 1 out '[0-9]+ bytes differ; the region calls omp_get_wtime, whose answer is never the same again'
says "in its variable" 1 out '^marked .* integer '
says "in the lock that it did not take then" 1 out '^kept[^ ]* .*OpenMP runtime .*times that the lock is held .* was 0, is 1'
says "in the random number that it did not draw then" 1 out '^state of rand\(\) and random\(\) .*C library .*random numbers'
run "$PCERE" verify --json states.pcere 'early_or_late'
holds "the document names what it asks, and all three causes" \
    jq -e '.codelets[0] | .asks == ["omp_get_wtime"] and ([.causes[].name | split(".")[0]] | sort == ["kept", "marked", "state of rand() and random()"])' .out
finish
