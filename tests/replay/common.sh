# tests/replay/common.sh - programs of this folder, built and captured; sourced, not run.
source "$(dirname "${BASH_SOURCE[0]}")/../cli/common.sh"
programs="$SOURCE/tests/replay/programs"

# program NAME FILE...: build it with $flags; plain.c goes without the plugin
program() {
    local name=$1 file objects=() driver=$CLANG link=()
    shift
    for file; do
        local compiler=$CLANG plugin_flag=("-fpass-plugin=$(plugin)")
        case $file in *.cpp) compiler=${CLANG/clang/clang++} driver=$compiler ;; esac
        [ "$file" = plain.c ] && plugin_flag=()
        # shellcheck disable=SC2086
        "$compiler" $flags -g -fopenmp "${plugin_flag[@]}" -c "$programs/$file" -o "$name.${file%.*}.o" || { echo "NOT OK: $file does not compile"; exit 1; }
        objects+=("$name.${file%.*}.o")
    done
    case " $flags " in *" -fno-pie "*) link=(-no-pie) ;; esac
    "$driver" "${link[@]}" -fopenmp "${objects[@]}" -lm -o "$name" || { echo "NOT OK: $name does not link"; exit 1; }
}
# captured NAME [OPTION...]: capture all its regions; the program checks itself
captured() {
    local name=$1
    shift
    run "$PCERE" capture --all-classes "$@" "./$name"
    says "$name runs and is captured" 0 out '^PASS'
}
