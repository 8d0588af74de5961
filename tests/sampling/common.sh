# What tests of sampled replays have in common.
source "$(dirname "$0")/../cli/common.sh"
programs="$SOURCE/tests/sampling/programs"

# capture_options: others than --all-classes
build() { # NAME FILE...
    local name=$1 file files=()
    shift
    for file; do files+=("$programs/$file.c"); done
    "$CLANG" -O3 -g -fopenmp "-fpass-plugin=$(plugin)" "${files[@]}" -lm -o "$name" || { echo "NOT OK: $name does not compile"; exit 1; }
    # shellcheck disable=SC2086
    run "$PCERE" capture --threads 1 --all-classes ${capture_options:-} "./$name" 2
    says "$name runs and is captured" 0 out '^PASS'
}
# whole SENTENCE REGION REGEX: the region was replayed whole, for that reason
whole() {
    holds "$1" jq -e --arg region "$2" --arg reason "$3" \
        '[.replays[] | select(.region | startswith($region))] | length > 0 and all(.basis == "replay" and .median_ns > 0 and (.sample_refusal // "" | test($reason)))' .out
}
# sampled SENTENCE REGION FILTER: there is one replay of the region, for which the filter holds; else it is shown
sampled() {
    local before=$failures
    holds "$2 $1" jq -e --arg region "$2" "[.replays[] | select(.region | startswith(\$region))] | length == 1 and all($3)" .out
    [ "$failures" -eq "$before" ] ||
        jq -c --arg region "$2" '.replays[] | select(.region | startswith($region)) | [.basis, .sample_refusal, .sampled_ratio, .samples_ns, .in_vivo_ns, .reason]' .out
}
