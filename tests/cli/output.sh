# Results go to standard output whole, or the exit status says that they did not.
source "$SOURCE/tests/cli/common.sh" || exit 1

for words in "help" "version" "check" "check --help" "help --man"; do
    status=0; "$PCERE" $words >/dev/full 2>.err || status=$?
    : >.out; says "pcere $words on a full disk" 5 err 'cannot write' err 'No space left'
    status=0; "$PCERE" ${words%% --*} --json >/dev/full 2>.err || status=$?
    says "pcere ${words%% --*} --json on a full disk" 5 err 'cannot write'
done
status=0; "$PCERE" --help >/dev/full 2>.err || status=$?; says "the overview on a full disk" 5 err 'cannot write'

"$PCERE" help --man replay 2>.err | true
status=${PIPESTATUS[0]}; : >.out
holds "a reader that had enough is no error worth a message" test ! -s .err -a \( "$status" -eq 0 -o "$status" -eq 141 \)

for words in "check" "help" "version" "regions" "replay" "verify" "predict" "capture ./none" "run ./none" "capture" "replay --threads 0" "check --wrong"; do
    # the first word is the verb; --json goes right behind it
    run "$PCERE" ${words%% *} --json $(sed 's/^[^ ]* *//' <<<"$words")
    is "pcere $words --json is one document that names its schema first" \
        "$(jq -s -r 'if length == 1 then (.[0] | keys_unsorted[0:3] | join(" ")) + " " + .[0].schema else "many" end' .out 2>&1)" \
        "schema version host pcere.${words%% *}/1"
    if [ "$status" -ne 0 ] && [ "${words%% *}" != check ]; then
        is "and carries the error that it ends with" "$(json .error.status)" "$status"
    fi
done
run "$PCERE" check --json; holds "the host has a name, cores and a page size" jq -e '.host | .name and .cores and .page_size_bytes' .out
run "$PCERE" check; holds "into a file nothing is coloured" test "$(tr -dc '\033' <.out | wc -c)" -eq 0
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then      # there is a pseudo-terminal to be had
    script -qec "'$PCERE' check" /dev/null >.tty </dev/null 2>&1; holds "on a terminal it is" grep -q $'\033' .tty
    # What goes on longer than a line is not wiped away with it.
    compile slow <<<'#include <unistd.h>
int main(void) { return usleep(1200000); }'
    script -qec "stty cols 8; '$PCERE' run --threads 1,2 ./slow" /dev/null >.narrow </dev/null 2>&1
    holds "on a terminal there is progress" grep -qF $'\r\033[K' .narrow
    is "progress takes one line, however narrow the terminal is" "$(tr '\r' '\n' <.narrow | sed -n 's/^\x1b\[K\(timing\)/\1/p' | awk 'length > 7' | wc -l)" 0
    NO_COLOR=1 script -qec "'$PCERE' check" /dev/null >.tty </dev/null 2>&1
    is "unless NO_COLOR is set" "$(grep -cE $'\033\\[[0-9;]*m' .tty)" 0     # progress that is wiped away is no colour
fi
finish
