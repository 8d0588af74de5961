# The experiment on strategies runs, and its findings hold on a program of tasks: multiplexing is far off, labels and behaviour are close. (How wrongly the order of
# start pairs depends on the schedule of the run: scripts/evaluate_profiles tells, a test cannot.)
source "$SOURCE/tests/cli/common.sh"
command -v python3 >/dev/null || exit 77
run env CC="$CLANG" "$SOURCE/scripts/evaluate_profiles" --programs 'knapsack tasks' --repeats 1 --runs 4 --json numbers.json
says "labels and behaviour are close to calibration" 0 out '^\* holds: knapsack tasks: LGL and BC are close to calibration'
says "multiplexing is far off" 0 out '^\* holds: knapsack tasks: multiplexing'
is "by all six strategies" "$(jq '.results[].noisy | length' numbers.json)" 6
is "on at least eight events" "$(jq '.results[].events | length >= 8' numbers.json)" true
is "with exact counters labels are never wrong" "$(jq '[.results[].exact.lgl[].epd_floored] | max' numbers.json)" 1
run env CC="$CLANG" "$SOURCE/scripts/evaluate_profiles" --programs nothing
says "a program that it does not know is refused" 2 err "no program 'nothing'"
finish
