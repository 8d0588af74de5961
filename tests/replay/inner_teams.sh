# Teams inside a region have the sizes that they had in the program, also where the region's own team is another one.
source "$(dirname "$0")/common.sh"
flags=-O2
program inner_teams inner_teams.c
run "$PCERE" capture --force --all-classes --threads 4 ./inner_teams
says "inner_teams runs and is captured" 0 out '^PASS'
run "$PCERE" verify inner_teams.pcere follows@inner_teams.c:10 --threads 4
says "as many as OMP_NUM_THREADS, for a team that a clause says" 0 out 'identical'
run "$PCERE" verify inner_teams.pcere sets@inner_teams.c:25 --threads 1,2,4
says "as many as the program set" 0 out 'identical'
run "$PCERE" verify inner_teams.pcere levels --threads 1,4
says "none where no level may be parallel" 0 out 'identical'
run "$PCERE" verify inner_teams.pcere follows@inner_teams.c:10 --threads 3 --json
says "another number is that of the inner teams" 1
holds "the region's own is the clause's" jq -e '.codelets | length == 1 and all(.verdict == "different" and .causes[0].first == "sizes[0][0]" and .causes[0].found == "3")' .out
run "$PCERE" replay inner_teams.pcere --threads 2,4
says "they can be timed" 0
for region in follows@inner_teams.c:10 sets@inner_teams.c:25 levels; do
    run "$PCERE" export inner_teams.pcere "$region" --force -o exported
    says "$region is exported" 0
    run make -C exported check
    says "and the same in the exported one" 0
done
finish
