# tests/cli/common.sh - how the command is tested: run it, then ask for its status, its output and its messages; sourced, not run.
# PCERE is the command, CLANG the compiler, SOURCE the tree. Each check is a sentence; the script fails if one of them does not hold.
set -uo pipefail
: "${PCERE:?the command to test}" "${CLANG:=clang-19}" "${SOURCE:?the source tree}"
work=$(mktemp -d "${TMPDIR:-/tmp}/pcere-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMP_WAIT_POLICY=passive
export XDG_DATA_HOME=$work/data            # the user's own machines and signature are not the tests'
unset NO_COLOR PCERE_HOST PCERE_FAULTS PCERE_REFUSE
# What whoever runs the tests has open is not the programs': a log that moves while a region runs looks as if the region wrote it.
for descriptor in "/proc/$$/fd"/*; do
    descriptor=${descriptor##*/}
    if [ "$descriptor" -gt 2 ] && [ "$descriptor" -lt 200 ]; then eval "exec $descriptor>&-"; fi      # bash has its script at 255
done
failures=0 checks=0 status=0

# run COMMAND...: keeps its status, its output and its messages
run() {
    status=0
    "$@" >"$work/.out" 2>"$work/.err" </dev/null || status=$?
}
ok() { checks=$((checks + 1)); printf 'ok: %s\n' "$1"; }
# output: what the last run printed; of a document all but the machine, on one line
output() { { jq -c 'del(.host)' "$work/.out" 2>/dev/null || cat "$work/.out"; } | head -c 1500; }
not_ok() {
    checks=$((checks + 1)) failures=$((failures + 1))
    printf 'NOT OK: %s\n  status %s\n  output: %s\n  messages: %s\n' "$1" "$status" "$(output)" "$(head -c 700 "$work/.err")"
}
# says SENTENCE STATUS [out|err REGEX]...: status and texts of the last run
says() {
    local sentence=$1 wanted=$2
    shift 2
    if [ "$status" -ne "$wanted" ]; then not_ok "$sentence (status $wanted was wanted)"; return; fi
    while [ $# -gt 0 ]; do
        if ! grep -qE -- "$2" "$work/.$1"; then not_ok "$sentence ('$2' was wanted in $1)"; return; fi
        shift 2
    done
    ok "$sentence"
}
# holds SENTENCE COMMAND...: the command succeeds
holds() {
    local sentence=$1
    shift
    if "$@" >/dev/null 2>&1; then ok "$sentence"; else not_ok "$sentence ($*)"; fi
}
# json FILTER: of the last run's document, as text
json() { jq -r "$1" "$work/.out"; }
is() { if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1 (wanted '$3', got '$2')"; fi; }
# samples N: how a table says that there were N, of which some may have been interrupted by what else the machine does
samples() { printf '(%s samples?|[0-9]+ samples?, [0-9]+ interrupted)' "$1"; }
plugin() { "$PCERE" version --plugin; }
# damage FILE OFFSET: that byte is another one than it was, whatever it was
damage() {
    local byte
    byte=$(od -An -t u1 -j "$2" -N 1 "$1")
    # shellcheck disable=SC2059
    printf "\\$(printf %o $((byte ^ 255)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
# machine_passes: on a machine that does not pass pcere check the script is skipped. MACHINE names what it said, which is asked once for all tests of a run; else it is asked here.
machine_passes() {
    { cat "${MACHINE:-}" 2>/dev/null || "$PCERE" check --json 2>/dev/null; } | jq -e '[.checks[] | select(.required and (.ok | not))] == []' >/dev/null ||
        { echo "SKIPPED: this machine does not pass pcere check"; exit 77; }
}
# compile NAME [FLAG...] <SOURCE: a program with the plugin
compile() {
    local name=$1
    shift
    cat >"$name.c"
    "$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" "$@" "$name.c" -o "$name" || { echo "NOT OK: $name.c does not compile"; exit 1; }
}
# probes_write FOLDER PINNED: probes for `platform discover` whose answers are known, for PCERE_LIBDIR; where PINNED is 1, those that must be pinned are refused
probes_write()
{
    mkdir -p "$1"
    cat >"$1/pcere-probe" <<END
#!/bin/sh
case "$2 \$* " in 1*' pinned=0 '*|0*) ;; *) exit 3;; esac
case \$1 in
    latency) values='5 6 5' ;;
    overlap) values='0.5 0.5 0.5' ;;
    capacity) values='40000 40000 40000' ;;
    pipeline) values='2 3 2' ;;
    pair|overhead) values='50 60 50' ;;
    *) values='1e9 1e9 1e9' ;;
esac
printf '%s\\n' \$values
END
    chmod +x "$1/pcere-probe"
}
finish() {
    printf '%d checks, %d failed\n' "$checks" "$failures"
    [ "$failures" -eq 0 ] && [ "$checks" -gt 0 ]
    exit
}
