#!/bin/bash
# tests/constructs/run.sh - each program of constructs.list in each configuration: compiled with the plugin, run, captured, verified,
# replayed; what happened is held against what the list expects, and printed as a table. Status 0 only if all is as expected.
#
#   run.sh [-j N] [--configurations A,B|all] [--programs PATTERN,...] [--threads N] [--llvm N] [--table FILE [--merge]] [--work DIR [--resume]] [--judge DIR]
#
# --threads: threads of the capture (1). --llvm: compile with clang-N, whatever the configuration says. --table: the same as markdown; with --merge cells that
# did not run are taken from FILE as it stands. --work: leave everything there instead of removing it; with --resume what ended there is not run again unless its sources, flags
# or expectations changed. --judge: run nothing, and hold what an earlier --work left against the list.
# Statically linked programs need a libomp.a, which scripts/static-openmp makes: in the folder STATIC_OPENMP, or where the compiler finds it; else they are skipped.
# PCERE is the command, CLANG the compiler, FLANG that of Fortran; without it, Fortran programs are skipped. CONSTRUCTS_LIMIT_S: what a step may take (120).
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${PCERE:=pcere}" "${CLANG:=clang-19}" "${FLANG:=flang-22}" "${CONSTRUCTS_LIST:=$here/constructs.list}"
export PCERE CLANG FLANG CONSTRUCTS_LIST OMP_WAIT_POLICY=passive LC_ALL=C
unset NO_COLOR PCERE_HOST PCERE_FAULTS PCERE_REFUSE OMP_NUM_THREADS
limit_s=${CONSTRUCTS_LIMIT_S:-120}
MESSAGE_LINES=30
static_lacks="there is no libomp.a: scripts/static-openmp makes one"

fail() { printf 'run.sh: %s\n' "$*" >&2; exit 2; }
# trim_into VARIABLE TEXT: without the blanks around it
trim_into() { local text=$2; text=${text#"${text%%[![:space:]]*}"}; printf -v "$1" %s "${text%"${text##*[![:space:]]}"}"; }
trim() { local trimmed; trim_into trimmed "$1"; printf '%s' "$trimmed"; }

# ---- the list ---------------------------------------------------------------------------------------------------------------
# Read once, and by bash alone: each cell asks for its expectations many times, and processes are dear.
configurations_listed=() programs_listed=()
declare -A configuration_flags configuration_expected program_options program_expected
list_read() {
    local first second third fourth rest
    while IFS='|' read -r first second third fourth rest; do
        first=${first//[[:space:]]/}
        case $first in
        ''|'#'*) ;;
        configuration)
            second=${second//[[:space:]]/}
            configurations_listed+=("$second") configuration_flags[$second]=$third configuration_expected[$second]=$fourth ;;
        *) programs_listed+=("$first") program_options[$first]=$second program_expected[$first]=$third ;;
        esac
    done <"$CONSTRUCTS_LIST"
}
list_read
# expectations PROGRAM CONFIGURATION: lines "kind subject<tab>words" of those that concern this configuration
expectations() {
    local entry entries head words kind subject where
    IFS=';' read -r -a entries <<<"${program_expected[$1]:-};${configuration_expected[$2]:-}"
    for entry in "${entries[@]}"; do
        trim_into entry "$entry"
        case $entry in ''|captured) continue ;; esac
        head=${entry%%:*}
        trim_into words "${entry#*:}"
        kind=${head%% *}
        trim_into subject "${head#* }"
        case $subject in
        *@*) where=${subject#*@} subject=${subject%@*}
             case ",$where," in *",$2,"*) ;; *) continue ;; esac ;;
        esac
        printf '%s %s\t%s\n' "$kind" "$subject" "$words"
    done
}

# ---- one cell: a program in a configuration -----------------------------------------------------------------------------------
# fails STEP WORDS...: noted; the steps that do not need this one go on
fails() { local step=$1; shift; printf '%s\t%s\n' "$step" "$(tr '\n\t' '  ' <<<"$*" | sed -E 's/ +/ /g; s/ $//' | cut -c 1-260)" >>happened; }
how_it_ended() { case $1 in 124|137) echo "no end within $limit_s s" ;; *) echo "status $1" ;; esac; }
# step NAME COMMAND...: output in NAME.out, messages in NAME.err; the status is kept. A program that LLVM's OpenMP runtime ends by an assertion of its own
# (loops with schedule(dynamic) under load: llvm-project's issue 54422) says nothing about PCERE, and is run again.
step() {
    local name=$1 attempt
    shift
    for attempt in 1 2 3; do
        [ "$name" != capture ] || rm -rf store.pcere
        status=0
        timeout -k 5 $limit_s "$@" >"$name.out" 2>"$name.err" </dev/null || status=$?
        case $name in run|capture) ;; *) break ;; esac
        { [ "$status" -ne 0 ] && grep -q '^Assertion failure at kmp_' "$name.err"; } || break
    done
}
message() { grep -m1 -E "$2" "$1.err" || grep -m1 . "$1.err" || true; }

# compilers_choose: clang and its archiver for this configuration, and what a clang without an OpenMP runtime of its own needs to use the default's
compilers_choose() {
    local version=${CONSTRUCTS_LLVM:-} word
    clang=$CLANG runtime=()
    for word in $flags; do case $word in llvm:*) version=${version:-${word#llvm:}} ;; esac; done
    for word in $flags; do case $word in llvm:*|threads:*) flags=${flags/"$word"/} ;; esac; done
    if [ -n "$version" ] && [ "clang-$version" != "$CLANG" ]; then
        clang=clang-$version
        runtime=(-idirafter "$("$CLANG" -print-resource-dir)/include" "-L$(dirname "$(realpath "$("$CLANG" -print-file-name=libomp.so)")")")
    fi
    [[ "$program ${parts[*]}" != *.f90* ]] || fortran_runtime=("-L$("$CLANG" -print-resource-dir)/../..")
}

# unit_compile FILE FLAG...: by the compiler of its language
unit_compile() {
    local file=$1
    shift
    case $file in
    *.f90) "$FLANG" "${common[@]}" -module-dir "$PWD" "$@" "$file" ;;
    *.cpp) "${clang/clang/clang++}" -std=c++17 "${common[@]}" "${runtime[@]}" -Wno-unused-command-line-argument "$@" "$file" ;;
    *) "$clang" -std=gnu17 "${common[@]}" "${runtime[@]}" -Wno-unused-command-line-argument "$@" "$file" ;;
    esac
}

program_compile() {
    local clang runtime fortran_runtime=() part part_file file number=0 units=() link=() defines=() shared=(-fPIC -shared) linker library loaded=0 flags_of_part
    compilers_choose
    local common=(-g -fopenmp "-I$here" "-fpass-plugin=$CONSTRUCTS_PLUGIN")
    # shellcheck disable=SC2206
    common+=($flags "${options[@]}")
    local objects=("$here/$program")
    for part in "${parts[@]}"; do
        part_file=$here/${part#*:}
        case $part in
        object:*) objects+=("$part_file") ;;
        archive:*) unit_compile "$part_file" -c -o part.o && "llvm-ar${CLANG#clang}" rcs libpart.a part.o || return
                   link+=(libpart.a) ;;
        library:*|plain:*|loaded:*|plain-loaded:*)
            library=$(basename "${part#*:}") library=${library%.*}
            case $part in plain*) flags_of_part=("${common[@]//-fpass-plugin=*/}") ;; *) flags_of_part=("${common[@]}") ;; esac
            (common=("${flags_of_part[@]/-fno-pie/}"); unit_compile "$part_file" "${shared[@]}" -o "lib$library.so") || return
            case $part in
            *loaded:*) loaded=$((loaded + 1)); defines+=("-DPLUGIN_$loaded=\"$PWD/lib$library.so\"") ;;
            *) link+=(-L. "-l$library" "-Wl,-rpath,$PWD") ;;
            esac ;;
        esac
    done
    # one unit after the other, as a build would
    linker=("$clang" "${runtime[@]}")
    for file in "${objects[@]}"; do
        unit_compile "$file" "${defines[@]}" -c -o "unit$number.o" || return
        units+=("unit$number.o") number=$((number + 1))
        case $file in
        *.cpp) linker[0]=${clang/clang/clang++} ;;
        *.f90) linker=("$FLANG" "${fortran_runtime[@]}") ;;
        esac
    done
    # shellcheck disable=SC2207
    # archives are searched for what is missing by then
    [[ " $flags " != *" -static "* ]] || link+=($(printf '%s\n' "${options[@]}" | grep -e '^-l') -lm $("$PCERE" version --static) ${STATIC_OPENMP:+"-L$STATIC_OPENMP"})
    "${linker[@]}" "${common[@]}" "${units[@]}" "${link[@]}" -lm -o program
}

# Has the configuration all libraries that it takes?
static_openmp_found() { [[ " $flags " != *" -static "* ]] || [ -e "${STATIC_OPENMP:-/nowhere}/libomp.a" ] || [ -e "$("$CLANG" -print-file-name=libomp.a)" ]; }

# check_regions TABLE: its lines are region, status and reason
check_regions() {
    local region status reason expected pattern words matched
    [ -n "$1" ] || fails regions "no region is known"
    while IFS=$'\t' read -r region status reason; do
        [ -n "$region" ] || continue
        matched=0
        while IFS=$'\t' read -r expected words; do
            pattern=${expected#skipped }
            case $expected in "skipped "*) ;; *) continue ;; esac
            # shellcheck disable=SC2254
            case $region in $pattern@*|$pattern) matched=1; echo "$pattern" >>skips_seen ;; *) continue ;; esac
            if [ "$status" = captured ]; then fails regions "$region is captured, and was to be skipped: $words"
            elif ! grep -qF -- "$words" <<<"$reason"; then fails regions "$region: '$reason', and '$words' was expected"; fi
        done <<<"$expected_here"
        [ $matched -eq 1 ] || [ "$status" = captured ] || fails regions "$region $status: $reason"
    done <<<"$1"
    while IFS=$'\t' read -r expected words; do
        case $expected in "skipped "*) grep -qxF -- "${expected#skipped }" skips_seen 2>/dev/null || fails regions "no region ${expected#skipped } at all" ;; esac
    done <<<"$expected_here"
}

# expected_words KIND SUBJECT: the words of such an expectation, or nothing
expected_words() {
    local expected words
    while IFS=$'\t' read -r expected words; do [ "$expected" != "$1 $2" ] || printf '%s\n' "$words"; done <<<"$expected_here"
}
# threads_besides THREADS: those of 1, 2, 4 that it was not captured with
threads_besides() { local count others=; for count in 1 2 4; do [ "$count" = "$1" ] || others=$others,$count; done; printf '%s' "${others#,}"; }
# step_verify STEP OPTION...: codelets held against what was captured; races of a region with several threads are passed over where they are expected: compared they must be
step_verify() {
    local name=$1 words select='.codelets[] | select(.equal | not)'
    shift
    step "$name" "$PCERE" verify --json "$@" store.pcere
    [ -z "$(expected_words races verify)" ] || [ "$status" -ne 1 ] ||
        ! jq -e "[$select | (.threads > 1 or $threads > 1) and .reason == null] | length > 0 and all" "$name.out" >/dev/null || status=0
    [ "$status" -eq 0 ] || words=$(codelet_failures "$name" "$select | "'.region + " \(.threads) threads: " + (.reason // ("\(.different_bytes) bytes differ in " + ([.causes[].name] | join(", "))))')
    [ -z "$(expected_words differs "$name")" ] || step "$name" "$PCERE" verify "$@" store.pcere
    step_judge "$name" "${words:-}"
}
# step_judge STEP WORDS: a step that failed by WORDS, or did not, is held against its "refused STEP" or "differs STEP"
step_judge() {
    local refused differs
    refused=$(expected_words refused "$1") differs=$(expected_words differs "$1")
    if [ -n "$refused" ]; then
        [ "$status" -eq 3 ] && grep -qF -- "$refused" "$1.err" || fails "$1" "$(how_it_ended "$status"), and it was to be refused: $refused"
    elif [ -n "$differs" ]; then
        [ "$status" -eq 1 ] && grep -qF -- "$differs" "$1.out" || fails "$1" "$(how_it_ended "$status"), and '$differs' was to be the reason: $(grep -m1 differ "$1.out")"
    else
        [ "$status" -eq 0 ] && [ -z "$2" ] || fails "$1" "${2:-$(how_it_ended "$status"): $(message "$1" '^pcere')}"
    fi
}

# what a verb's document says about codelets that went wrong, else its message
codelet_failures() {
    local lines
    lines=$(jq -r "$2" "$1.out" 2>/dev/null)
    [ -z "$lines" ] || sort <<<"$lines" | uniq -c | sort -rn | awk 'NR <= 3 { $1 = ""; printf "%s%s", (NR > 1 ? ";" : ""), $0 } NR == 4 { printf "; …" }'
}

# cell_threads CONFIGURATION: threads of its capture
cell_threads() { local asked=; [[ ! ${configuration_flags[$1]} =~ .*threads:([0-9]+) ]] || asked=${BASH_REMATCH[1]}; printf '%s' "${CONSTRUCTS_THREADS:-${asked:-1}}"; }
# cell_made_of PROGRAM CONFIGURATION: a word that changes with what the cell is made of
cell_made_of() {
    local part files=("$here/check.h" "$here"/shapes*.h "$here/$1")
    for part in ${program_options[$1]}; do case $part in -*|*=*) ;; *:*) files+=("$here/${part#*:}") ;; esac; done
    { cat "${files[@]}"; printf '%s\n' "${program_options[$1]}" "${configuration_flags[$2]}"; expectations "$1" "$2"
      printf '%s\n' "$CLANG" "$FLANG" "$CONSTRUCTS_THREADS" "$CONSTRUCTS_LLVM"; } | sha256sum | cut -c 1-16
}

cell() {
    program=$1 configuration=$2
    local options=() parts=() environment=() token flags threads words regions expected_here
    threads=$(cell_threads "$configuration")
    cd "$CONSTRUCTS_WORK" && mkdir -p "$configuration/$program" && cd "$configuration/$program" || exit 1
    : >happened
    flags=${configuration_flags[$configuration]}
    expected_here=$(expectations "$program" "$configuration")
    for token in ${program_options[$program]}; do
        case $token in -*) options+=("$token") ;; *:*) parts+=("$token") ;; *=*) environment+=("$token") ;; esac
    done
    : >skips_seen
    if [[ "$program ${parts[*]}" = *.f90* ]] && ! command -v "$FLANG" >/dev/null; then
        echo "$FLANG is not installed" >skipped
        return
    fi
    if [[ " $flags " = *" -static "* && " ${parts[*]}" = *" "@(library|plain|loaded|plain-loaded):* ]]; then
        echo "a statically linked program has no shared libraries" >skipped
        return
    fi
    if ! static_openmp_found; then
        echo "$static_lacks" >skipped
        return
    fi
    if ! program_compile >compile.out 2>compile.err; then
        fails compile "$(message compile 'error|undefined|cannot find')"
        return
    fi
    for team in 1 3; do
        step run env "${environment[@]}" OMP_NUM_THREADS=$team ./program
        [ "$status" -eq 0 ] || { fails run "$team threads: $(how_it_ended "$status") $(message run .)"; return; }
    done
    step capture env "${environment[@]}" "$PCERE" capture --all-classes --max-classes 3 --threads "$threads" --json -o store.pcere ./program
    [ "$status" -eq 0 ] || { fails capture "$(how_it_ended "$status"): $(message capture '^pcere')"; [ -e store.pcere/manifest.json ] || return; }
    step regions "$PCERE" regions --json store.pcere
    regions=$(jq -r '.regions[] | [.region, .status, .reason // ""] | @tsv' regions.out 2>/dev/null)
    if [ "$status" -eq 0 ]; then check_regions "$regions"; else fails regions "$(how_it_ended "$status"): $(message regions '^pcere')"; fi
    [[ $regions = *$'\tcaptured\t'* ]] || return

    local counts=1,2,4 refusal
    refusal=$(expected_words refused more)
    if [ -n "$refusal$(expected_words team verify)" ]; then
        step_verify verify --threads "$threads"
        step_verify team --in-vivo --threads "$(threads_besides "$threads")"
    else
        step_verify verify --threads "$threads,$(threads_besides "$threads")"
    fi

    if [ -n "$refusal" ]; then
        counts=$threads
        step refused "$PCERE" replay --json --threads $((4 * threads)) --warmup none --repeat 2 store.pcere
        [ "$status" -ne 0 ] && grep -qF -- "$refusal" refused.out refused.err ||
            fails refused "$(how_it_ended "$status"): replayed with $((4 * threads)) threads, captured with $threads $(codelet_failures refused '.replays[] | select(.reason) | .region + " " + .reason')"
    fi
    step replay "$PCERE" replay --json --threads $counts --warmup none --repeat 2 store.pcere
    words=$(codelet_failures replay '.replays[] | select(.reason or (.samples_ns | length) != 2) | .region + " \(.threads) threads: " + (.reason // "no samples")')
    step_judge replay "$words"
}

# ---- what happened against what is expected -----------------------------------------------------------------------------------
# told STEPS: what was refused or differs, as it must, and says why: no pass for a user. As $expected has it.
told() { sed -n -E $'s/^(refused|differs) (verify|team|replay|capture)\t.*/\\2/p' <<<"$expected" | sort -u | tr '\n' ' ' | sed 's/ $//'; }
# verdict PROGRAM CONFIGURATION: "pass", "told STEPS", "without", "skip", "xfail STEPS", "FAIL STEPS" or "XPASS STEPS"
verdict() {
    local directory=$CONSTRUCTS_WORK/$2/$1 kind subject words unexpected=() known=() missing=() expected without message steps=
    expected=$(expectations "$1" "$2")
    [ -e "$directory/skipped" ] && { echo skip; return; }
    [ -e "$directory/happened" ] || { echo "FAIL run.sh"; return; }
    # of most cells: nothing happened, and nothing was to
    if [ ! -s "$directory/happened" ] && [[ $expected != *"xfail "* ]]; then
        [[ $expected != *refused\ * && $expected != *differs\ * ]] || steps=$(told)
        echo "${steps:+told $steps}" | sed 's/^$/pass/'
        return
    fi
    without=$(sed -n $'s/^without compile\t//p' <<<"$expected")
    if [ -n "$without" ] && grep -q $'^compile\t' "$directory/happened" && grep -qF -- "$without" "$directory/happened"; then echo without; return; fi
    while IFS=$'\t' read -r subject words; do
        # only what the brackets say, if there are any
        message=$(sed -n -E "s/^(xfail|maybe) $subject"$'\t'"(\[([^]]*)\].*|.*)/\3/p" <<<"$expected" | head -n 1)
        if grep -qE "^(xfail|maybe) $subject"$'\t' <<<"$expected" && [[ $words = *"$message"* ]]; then known+=("$subject"); else unexpected+=("$subject"); fi
    done < <(sort -u "$directory/happened")
    # a step that was not reached has not passed
    grep -qE $'^(compile|run|capture)\t' "$directory/happened" || while IFS=$'\t' read -r kind words; do
        case $kind in "xfail "*) subject=${kind#xfail }; grep -q "^$subject"$'\t' "$directory/happened" || missing+=("$subject") ;; esac
    done <<<"$expected"
    if [ ${#unexpected[@]} -gt 0 ]; then echo "FAIL ${unexpected[*]}"
    elif [ ${#missing[@]} -gt 0 ]; then echo "XPASS ${missing[*]}"
    elif [ ${#known[@]} -gt 0 ]; then echo "xfail ${known[*]}"
    else echo pass; fi
}

if [ "${1:-}" = --cell ]; then
    cell "$2" "$3"
    [ -z "$CONSTRUCTS_KEPT" ] || cell_made_of "$2" "$3" >"$CONSTRUCTS_WORK/$3/$2/ended"
    exit 0
fi

jobs=$(nproc) chosen='' patterns='*' table='' merge='' work='' resume='' judge='' CONSTRUCTS_THREADS='' CONSTRUCTS_LLVM=''
while [ $# -gt 0 ]; do
    case $1 in -j|--configurations|--programs|--threads|--llvm|--table|--work|--judge) [ $# -gt 1 ] || fail "$1 wants a value" ;; esac
    case $1 in
    -j) jobs=$2 ;;
    --configurations) chosen=$2 ;;
    --programs) patterns=$2 ;;
    --threads) CONSTRUCTS_THREADS=$2 ;;
    --llvm) CONSTRUCTS_LLVM=$2 ;;
    --table) table=$(realpath -m "$2") ;;
    --merge) merge=1; shift; continue ;;
    --resume) resume=1; shift; continue ;;
    --work) work=$(realpath -m "$2") ;;
    --judge) work=$(realpath -m "$2") judge=1; [ -d "$work" ] || fail "no such folder: $2" ;;
    -h|--help) sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) fail "no such option: $1" ;;
    esac
    shift 2
done
[ -z "$merge" ] || [ -r "$table" ] || fail "--merge wants a table that is there"
[ -z "$resume" ] || [ -n "$work" ] || fail "--resume wants --work"
kept_work=$work      # a folder that goes at the end cannot be resumed
if [ -z "$work" ]; then work=$(mktemp -d "${TMPDIR:-/tmp}/pcere-constructs.XXXXXX"); trap 'rm -rf "$work"' EXIT; else mkdir -p "$work"; fi
export CONSTRUCTS_WORK=$work CONSTRUCTS_KEPT=$kept_work CONSTRUCTS_THREADS CONSTRUCTS_LLVM CONSTRUCTS_PLUGIN
command -v jq >/dev/null || fail "jq is missing"
CONSTRUCTS_PLUGIN=$("$PCERE" version --plugin) || fail "no pcere: set PCERE"
all=("${configurations_listed[@]}")
case $chosen in '') configurations=("${all[0]}") ;; all) configurations=("${all[@]}") ;; *) IFS=, read -r -a configurations <<<"$chosen" ;; esac
for name in "${configurations[@]}"; do [[ " ${all[*]} " = *" $name "* ]] || fail "no configuration $name in $CONSTRUCTS_LIST: ${all[*]}"; done
programs=()
IFS=, read -r -a patterns <<<"$patterns"
# shellcheck disable=SC2053
for name in "${programs_listed[@]}"; do
    [ -e "$here/$name" ] || fail "no program $name"
    for pattern in "${patterns[@]}"; do if [[ ${name%.*} = $pattern ]]; then programs+=("$name"); break; fi; done
done
[ ${#programs[@]} -gt 0 ] || fail "no program is called ${patterns[*]}"

# what an interrupted run left is good only for the same pcere
if [ -n "$kept_work" ] && [ -z "$judge" ]; then
    tool=$({ command -v "$PCERE"; find -L "$(dirname "$CONSTRUCTS_PLUGIN")" -type f \( -name 'PCEREPass*' -o -name 'libpcere-*' -o -name 'pcere-capture*' \); } | sort | xargs cat | sha256sum)
    if [ -n "$resume" ] && [ -e "$work/pcere" ] && [ "$(cat "$work/pcere")" != "$tool" ]; then fail "$work is of another pcere: without --resume all is run again"; fi
    printf '%s\n' "$tool" >"$work/pcere"
fi
[ -n "$judge" ] || for configuration in "${configurations[@]}"; do
    for program in "${programs[@]}"; do
        if [ -n "$resume" ] && [ "$(cat "$work/$configuration/$program/ended" 2>/dev/null)" = "$(cell_made_of "$program" "$configuration")" ]; then continue; fi
        rm -rf "${work:?}/$configuration/$program"
        printf '%s %s\n' "$program" "$configuration"
    done
done | xargs -r -P "$jobs" -n 2 "$here/run.sh" --cell

# ---- the table ----------------------------------------------------------------------------------------------------------------
declare -A verdicts
bad=0 cells=0 passed=0 told=0 without=0 skipped=0
width=0
for program in "${programs[@]}"; do
    [ ${#program} -gt $width ] && width=${#program}
    for configuration in "${configurations[@]}"; do
        verdicts[$program,$configuration]=$(verdict "$program" "$configuration")
        cells=$((cells + 1))
        case ${verdicts[$program,$configuration]} in pass) passed=$((passed + 1)) ;; without) without=$((without + 1)) ;; skip) skipped=$((skipped + 1)) ;; told*) told=$((told + 1)) ;; xfail*) ;; *) bad=$((bad + 1)) ;; esac
    done
done
# messages_tell FOLDER: the first lines that each step wrote that was not as expected, such as a codelet's backtrace
messages_tell() {
    local step rest
    while IFS=$'\t' read -r step rest; do
        [ ! -s "$1/$step.err" ] || head -n $MESSAGE_LINES "$1/$step.err" | cut -c 1-200 | sed "s/^/    $step wrote: /"
    done < <(sort -u -k 1,1 "$1/happened" 2>/dev/null)
}
printf "%-${width}s" construct; printf '  %-16s' "${configurations[@]}"; echo
for program in "${programs[@]}"; do
    printf "%-${width}s" "$program"
    for configuration in "${configurations[@]}"; do printf '  %-16s' "${verdicts[$program,$configuration]}"; done
    echo
done
echo
for program in "${programs[@]}"; do
    for configuration in "${configurations[@]}"; do
        case ${verdicts[$program,$configuration]} in pass|told*|without) continue ;; esac
        printf '%s %s %s\n' "${verdicts[$program,$configuration]%% *}" "$program" "$configuration"
        [ -e "$work/$configuration/$program/skipped" ] && sed 's/^/    skipped: /' "$work/$configuration/$program/skipped" && continue
        sed 's/^/    now: /; s/\t/: /' "$work/$configuration/$program/happened"
        messages_tell "$work/$configuration/$program"
        expectations "$program" "$configuration" | sed 's/^/    expected: /; s/\t/: /'
    done
done
printf '\n%d cells: %d pass, %d are refused or differ for the reason that is told, %d fail as the list says, %d are beyond the compiler, %d skipped, %d not as expected\n' $cells $passed \
    $told $((cells - passed - told - without - skipped - bad)) $without $skipped $bad

if [ -n "$table" ]; then
    source "$here/table.sh"
    table_write >"$work/table.md" && cp "$work/table.md" "$table"
fi
[ $bad -eq 0 ]
