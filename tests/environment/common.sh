# tests/environment/common.sh - programs of this folder, and the whole way from capture to prediction in some surroundings; sourced, not run.
source "$(dirname "${BASH_SOURCE[0]}")/../cli/common.sh"
folder="$SOURCE/tests/environment"
: "${TOOLS:?the folder with without and the libraries}"
machine_passes

# build NAME [FLAG...]: programs/NAME.c with the plugin
build() {
    local name=$1
    shift
    "$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" "$folder/programs/$name.c" "$@" -o "$name" || { echo "NOT OK: $name.c does not compile"; exit 1; }
}
# left_out REASON: what this machine cannot provide, in the output; the script's status is a skip if all was left out
left_out() { skipped=$((${skipped:-0} + 1)); printf 'LEFT OUT: %s\n' "$1"; }
done_or_skipped() {
    if [ "$checks" -eq 0 ] && [ "${skipped:-0}" -gt 0 ]; then exit 77; fi
    finish
}
# whole WHERE PROGRAM WANTED [WRAPPER...]: capture, verify, replay and predict in these surroundings; the program's output matches WANTED
whole() {
    local where=$1 program=$2 wanted=$3 name=${2##*/}
    shift 3
    rm -rf "./$name.pcere"
    run "$@" "$PCERE" capture -q --all-classes "$program"
    says "$where: captured" 0 out "$wanted"
    replayed "$where" "./$name.pcere" "$@"
}
# replayed WHERE STORE [WRAPPER...]: the same for a store that is there
replayed() {
    local where=$1 store=$2
    shift 2
    run "$@" "$PCERE" verify --json "$store"
    says "$where: memory is identical" 0
    holds "$where: and something was compared" jq -e '(.codelets | length) > 0 and ([.codelets[] | .identical and .compared_bytes > 4096] | all)' "$work/.out"
    run "$@" "$PCERE" replay -q --threads 1,2 --repeat 1 --json "$store"
    says "$where: replayed" 0
    holds "$where: each codelet has times at both numbers of threads" jq -e '([.replays[].threads] | unique) == [1, 2] and ([.replays[].samples_ns | length > 0] | all)' "$work/.out"
    run "$@" "$PCERE" predict --threads 1,2 --json "$store"
    says "$where: predicted" 0
    holds "$where: with times" jq -e '(.predictions | length) == 2 and ([.predictions[].time_ns > 0] | all)' "$work/.out"
}

# ---- an ordinary user ------------------------------------------------------------------------------------------------------------
# Sets ordinary=(COMMAND...): runs what follows as a user who is not root, alone with that number (another test has another one), in a folder of its own that becomes the current
# one; PCERE is a copy that this user can reach. The programs named are copied, too.
ordinary_become() {
    local tool=$work/tool user=$((50000 + $$ % 10000))
    ordinary=()
    mkdir -p "$tool/bin" "$tool/lib" && cp "$PCERE" "$tool/bin/pcere" && cp "$LIBRARIES"/PCEREPass*.so "$LIBRARIES"/libpcere-capture.so "$LIBRARIES"/libpcere-replay.a "$tool/lib/" || return 1
    cp -r "$LIBRARIES"/pcere "$tool/lib/" 2>/dev/null
    mkdir -p home && cp "$@" home/ || return 1
    unset PCERE_LIBDIR
    PCERE=$tool/bin/pcere
    if [ "$(id -u)" -eq 0 ]; then
        command -v setpriv >/dev/null || return 1
        ordinary=(setpriv --reuid=$user --regid=$user --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs)
        chmod -R a+rX "$work" && chown -R $user:$user home || return 1
    fi
    cd home || return 1
    export HOME=$PWD
    "${ordinary[@]}" test -x "$PCERE" -a -w . && [ "$("${ordinary[@]}" awk '/^CapEff/ { print $2 }' /proc/self/status)" = 0000000000000000 ]
}
