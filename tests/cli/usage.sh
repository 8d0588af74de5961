# What is typed wrong gets exit status 2, a sentence that names it, and a way out.
source "$SOURCE/tests/cli/common.sh" || exit 1
verbs="check capture regions run replay verify predict export help version"

run "$PCERE"; says "without a word it shows how it is called" 2 err '^usage: pcere VERB'
run "$PCERE" --help; says "--help lists the verbs" 0 out '^  capture ' out '^  predict '
is "in lines of at most 80 columns, too" "$(grep -cE '.{81}' .out)" 0
run "$PCERE" help; says "so does the verb help" 0 out '^  replay '
run "$PCERE" relpay; says "a misspelt verb is answered with the nearest one" 2 err "'relpay' is not a verb" err "did you mean 'pcere replay'"
run "$PCERE" zzzzzzzz; says "a word that is near to nothing points to help" 2 err "'zzzzzzzz' is not a verb" err "pcere help"
for verb in $verbs; do
    run "$PCERE" $verb --help; says "$verb --help shows usage and options" 0 out "^usage: pcere $verb" out '--json'
    is "in lines of at most 80 columns" "$(sed '/^examples/,$d' .out | grep -cE '.{81}')" 0
    run "$PCERE" help $verb; says "help $verb shows the same" 0 out "^usage: pcere $verb"
    run "$PCERE" $verb --no-such-option; says "$verb refuses an unknown option" 2 err "pcere $verb: there is no option --no-such-option" err '^hint: '
done
run "$PCERE" replay --thread 2; says "a misspelt option is answered with the nearest one" 2 err 'no option --thread' err 'did you mean --threads'
run "$PCERE" capture -z; says "an unknown letter is refused" 2 err 'no option -z'
run "$PCERE" replay --threads; says "an option without its value is named" 2 err '--threads wants a value'
run "$PCERE" check --json=yes; says "a flag takes no value" 2 err '--json takes no value'
for bad in 0 x 1,,2 -1 99999999 1, ,1 1.5 '' ' 1' 0x2 1e3 99999999999999999999; do
    run "$PCERE" replay --threads "$bad"; says "replay --threads '$bad' is refused, and the option named" 2 err '--threads'
    run "$PCERE" run --threads="$bad" ./none; says "run --threads='$bad' likewise" 2 err '--threads'
    run "$PCERE" predict --threads "$bad"; says "predict --threads '$bad' likewise" 2 err '--threads'
done
for bad in 0 x 1,2 -1 99999999; do
    run "$PCERE" capture --threads "$bad" ./none; says "capture --threads '$bad' is refused" 2 err '--threads'
    run "$PCERE" capture --max-classes "$bad" ./none; says "capture --max-classes '$bad' is refused" 2 err '--max-classes'
done
run "$PCERE" capture; says "capture without a program says so" 2 err 'no program is named'
run "$PCERE" capture ./not-there; says "a program that is not there is named" 2 err "not-there"
run "$PCERE" capture not-in-path-anywhere; says "a program that is not in PATH is named" 2 err "not-in-path-anywhere"
run "$PCERE" capture -o d .; says "a directory is no program" 2 err "cannot run '.': Is a directory" err 'hint: name the program itself'
mkdir directory; run "$PCERE" capture ./directory; says "a directory is no program" 2 err "'./directory'"
echo text >text; run "$PCERE" capture ./text; says "a file that is not executable is refused" 2 err "'./text'"
run "$PCERE" check extra; says "a word too many is named" 2 err "unexpected word 'extra'"
run "$PCERE" help check run; says "help takes one verb" 2 err 'one verb at a time'
run "$PCERE" help nothing; says "help for an unknown verb is refused" 2 err "'nothing' is not a verb"
run "$PCERE" version; says "version prints itself and LLVM's" 0 out '^pcere [0-9]+\.[0-9]+\.[0-9]+ \(LLVM 19\)'
run "$PCERE" --version; says "--version likewise" 0 out '^pcere [0-9]'
run "$PCERE" version --plugin; says "version --plugin prints one path" 0 out '^/.*/PCEREPass\.so$'
holds "and that path is a file" test -r "$(cat "$work/.out")"
PCERE_LIBDIR=$work run "$PCERE" version --plugin; says "PCERE_LIBDIR is believed" 3 err "$work/PCEREPass.so" err 'PCERE_LIBDIR'
PCERE_HOST='two words' run "$PCERE" regions; says "a bad machine name is refused" 2 err 'two words'
finish
