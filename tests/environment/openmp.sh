# The OpenMP settings that the user has are recorded, and codelets have them: what the runtime says of itself inside a region is the same.
source "$(dirname "$0")/common.sh"
unset OMP_WAIT_POLICY
build settings
told() {    # SENTENCE WANTED-OUTPUT VARIABLE=VALUE...
    local sentence=$1 wanted=$2 variable
    shift 2
    whole "$sentence" ./settings "$wanted" env "$@"
    for variable; do
        case $variable in OMP_NUM_THREADS=*) ;; *)
            holds "$sentence: $variable is recorded" jq -e --arg variable "$variable" '.environment | index($variable) != null' settings.pcere/manifest.json ;;
        esac
    done
}
told "threads on cores by default" '^[1-4] 0 [0-9]+ 0 1 200 [1-9]'
told "active waiting, dynamic teams, cancellation" '^[0-9] 1 [0-9]+ 1 1 ' OMP_WAIT_POLICY=active OMP_DYNAMIC=true OMP_CANCELLATION=true
told "places and binding" '^4 0 .* 1 200 [1-9]' OMP_PLACES=threads OMP_PROC_BIND=spread
told "Intel's way to bind, and no waiting" '^[0-9] 0 [0-9]+ 0 1 0 ' KMP_AFFINITY=granularity=fine,compact KMP_BLOCKTIME=0
told "levels, a list of teams, a schedule" '^[0-9] 0 [0-9]+ 0 3 200 [0-9]+ 7 -?[0-9]+ 2$' OMP_MAX_ACTIVE_LEVELS=3 OMP_NUM_THREADS=4,2 OMP_SCHEDULE=dynamic,7 OMP_STACKSIZE=16M
is "the list of teams keeps its tail" "$(jq -r '.environment[] | select(startswith("OMP_NUM_THREADS"))' settings.pcere/manifest.json)" "OMP_NUM_THREADS=1,2"
told "places that do not exist" '^[0-9]' 'OMP_PLACES={99}'

# ---- what only talks -------------------------------------------------------------------------------------------------------------
run env OMP_DISPLAY_ENV=true OMP_DISPLAY_AFFINITY=true KMP_SETTINGS=1 OMP_NESTED=true "$PCERE" capture -q --force ./settings
says "what the runtime displays is the program's to see" 0 err 'OPENMP DISPLAY ENVIRONMENT'
run "$PCERE" replay --threads 1,2 --repeat 1 settings.pcere; says "replays do not repeat it" 0
is "not a line of it" "$(grep -cE 'OMP|KMP' .err)" 0

# ---- a limit ---------------------------------------------------------------------------------------------------------------------
run env OMP_THREAD_LIMIT=1 "$PCERE" capture -q --force ./settings; says "a program with a limit of threads is captured" 0
run "$PCERE" replay --threads 1,2 --repeat 1 settings.pcere; says "a replay with more says how many there were" 0 out ' 2 .*its team has 1 thread'
run "$PCERE" replay --threads 1,2 --repeat 1 --json settings.pcere
is "also as a document" "$(json '[.replays[] | select(.threads == 2) | .team] | unique | tostring')" '[1]'
run env OMP_SCHEDULE=dynamic,7 OMP_PROC_BIND=true "$PCERE" capture -q --force ./settings
run "$PCERE" replay --threads 1 --repeat 1 --schedule static,3 --bind close --places cores settings.pcere; says "options of a replay win over what was recorded" 0
for places in 'cores(1)' '{0}:2' '{0:1},{1:1}'; do
    run "$PCERE" replay --threads 1 --repeat 1 --places "$places" settings.pcere; says "places are what runtimes know: $places" 0
done
for places in core-s 'cores(x)' '{0)' nowhere; do
    run "$PCERE" replay --threads 1 --places "$places" settings.pcere; says "not what they do not: '$places'" 2 err 'no such places' err 'hint: cores, threads, sockets'
done
for option in '--schedule sometimes' '--schedule static,0' '--bind loosely'; do
    # shellcheck disable=SC2086
    run "$PCERE" replay --threads 1 $option settings.pcere; says "likewise $option" 2 err 'there is no such'
done
done_or_skipped
