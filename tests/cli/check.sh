# check tries what it reports.
source "$SOURCE/tests/cli/common.sh" || exit 1
run "$PCERE" check --json
if [ "$status" -eq 3 ] && jq -e '[.checks[] | select(.required and (.ok | not)) | .name] - ["ptrace", "proc-mem", "no-randomize"] == []' .out >/dev/null; then
    echo "SKIPPED: this machine forbids tracing: $(json '[.checks[] | select(.required and (.ok|not)) | .found] | join("; ")')"; exit 77
fi
says "a machine that can run the tests passes the check" 0
is "each check has a name, a verdict, a finding and a hint" "$(json '[.checks[] | select((.name|type) == "string" and (.ok|type) == "boolean" and (.found|type) == "string" and has("hint"))] | length')" "$(json '.checks | length')"
for name in ptrace proc-mem process-vm-readv no-randomize compat-layout fixed-noreplace memfd pagemap-scan userfaultfd perf-events clang lld openmp plugin capture-library replay-library preload profiler cores memory disk clock frequency huge-pages; do
    is "there is a check called $name" "$(json "[.checks[] | select(.name == \"$name\")] | length")" 1
done
found=$(json '.checks[] | select(.name == "profiler") | "\(.ok): \(.found)"')
[[ $found =~ ^true:.*'each of 28 XUs'.*"plugin's ids" ]] && ok "the profiler's test program has the XUs that it must have" || not_ok "the profiler's test program has not the XUs that it must have ($found)"
PCERE_LIBDIR=$work run "$PCERE" check; says "without the plugin it refuses, and says what to do" 3 out '^MISSING plugin' out 'hint: PCERE_LIBDIR' err 'missing on this machine'
mkdir empty; run env PATH="$work/empty" "$PCERE" check; says "without a compiler it refuses" 3 out '^MISSING clang' out "cannot run 'clang-19'"
TMPDIR=$work/nowhere run "$PCERE" check; says "a TMPDIR that is not there is named" 3 out 'set TMPDIR'
finish
