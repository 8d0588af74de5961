# A store becomes one file, comes back, and goes away: what is said and refused on the way.
source "$SOURCE/tests/cli/common.sh" || exit 1
compile p <<'END'
#include <stdio.h>
static double a[20000];
int main(void) {
    for (int k = 0; k < 6; k++) {
        #pragma omp parallel for
        for (int i = 0; i < 20000; i++) a[i] = a[i] * 0.5 + i;
    }
    printf("%g\n", a[77]);
    return 0;
}
END
run "$PCERE" capture ./p; says "a program is captured" 0

run "$PCERE" pack; says "the only store here becomes a file of its name" 0 out '^p\.pcere\.tar\.zst: .*files'
is "readable by its owner only" "$(stat -c %a p.pcere.tar.zst)" 600
if command -v zstd >/dev/null; then holds "tar and zstd read it" tar --zstd -tf p.pcere.tar.zst; fi
run "$PCERE" pack p.pcere; says "an existing file is not replaced" 2 err 'p\.pcere\.tar\.zst' err '^hint: .*--force'
run "$PCERE" pack p.pcere/ --force --json; says "but with --force" 0
holds "the document says what was packed" jq -e '.schema == "pcere.pack/1" and .file == "p.pcere.tar.zst" and .packed_bytes > 1000 and .files > 3' .out
run "$PCERE" pack p.pcere -o /no/such/folder/x; says "a folder that is not there" 5 err '/no/such/folder/x'
run env PCERE_FAULTS=pack.write:2:ENOSPC "$PCERE" pack -o full.tar.zst; says "a full disk" 5 err 'No space' err '^hint: '
holds "leaves nothing" test ! -e full.tar.zst -a ! -e full.tar.zst.tmp
run env PCERE_FAULTS=pack.write:2:KILL "$PCERE" pack -o killed.tar.zst; says "a process that is killed" 137
is "nor does that" "$(find . -name 'killed*')" ''

run "$PCERE" unpack p.pcere.tar.zst; says "an existing store is not replaced" 2 err "the store 'p.pcere' exists" err '^hint: .*--force'
run "$PCERE" unpack p.pcere.tar.zst -o q.pcere --json; says "unpacked under another name" 0
holds "the document names store and program" jq -e '.schema == "pcere.unpack/1" and .store == "q.pcere" and .program == "./p"' .out
run "$PCERE" verify q.pcere; says "it is verified" 0 out 'identical'
mkdir sub; cd sub || exit 1
run "$PCERE" unpack ../p.pcere.tar.zst; says "without -o it has its own name, here" 0 out '^p\.pcere: '
cd ..
run "$PCERE" unpack p.pcere.tar.zst -o p; says "what is no store is not replaced" 2 err "'p' exists"
run "$PCERE" unpack p.pcere.tar.zst -o p --force; says "not even with --force" 2 err "'p' exists"
run "$PCERE" unpack; says "unpack of nothing" 2 err 'no packed store is named'
run "$PCERE" unpack none.tar.zst; says "unpack of a file that is not there" 4 err 'none.tar.zst'
run "$PCERE" unpack p.c; says "of a file that is no packed store" 4 err 'not a packed store' err '^hint: '
run "$PCERE" regions p.pcere.tar.zst; says "a packed store is no store" 4 err 'hint: .*pcere unpack'

# Names beyond ASCII, and such as are no UTF-8, under any locale.
for name in größe $'gr\366\337e' "$(printf 'ö%.0s' {1..60})"; do
    rm -rf "$name"
    mkdir "$name" && sed "s/int main/void größe(void) {}\n&/" p.c >"$name/$name.c" &&
        "$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" "$name/$name.c" -o "$name/$name" || exit 1
    run "$PCERE" capture --force "$name/$name" -o "$name.pcere"; says "a program is captured whose name is $name" 0
    run "$PCERE" pack "$name.pcere"; says "its store is packed" 0 out 'files'
    run env LC_ALL=C "$PCERE" unpack "$name.pcere.tar.zst" -o other.pcere --force; says "and unpacked" 0
    run diff -r "$name.pcere" other.pcere; says "with all that it had" 0
    (mkdir -p here && cd here && env LC_ALL=C "$PCERE" unpack --force "../$name.pcere.tar.zst" >/dev/null)
    holds "and under its own name" test -s "here/$name.pcere/manifest.json"
done

head -c 3000 p.pcere.tar.zst >cut.tar.zst
run "$PCERE" unpack cut.tar.zst -o cut.pcere; says "one that was cut" 4 err "'cut.tar.zst' is damaged: its end is missing" err '^hint: copy'
cp p.pcere.tar.zst bad.tar.zst; damage bad.tar.zst 2000
run "$PCERE" unpack bad.tar.zst -o cut.pcere --json; says "one that was changed" 4 err 'checksum'
holds "the document says so, too" jq -e '.error.status == 4' .out
holds "and nothing appeared" test ! -e cut.pcere -a ! -e cut.pcere.new
damage q.pcere/pages 300
run "$PCERE" pack q.pcere; says "a damaged store is not packed" 4 err 'pages'
holds "and no file appears" test ! -e q.pcere.tar.zst

run "$PCERE" rm; says "rm of nothing" 2 err 'no store is named'
run "$PCERE" rm .; says "rm of what is no store" 2 err "'.' is not a PCERE store"
run "$PCERE" rm none.pcere; says "rm of what is not there" 4 err 'none.pcere'
touch p.pcere/notes.txt
run "$PCERE" rm p.pcere; says "rm of a store with a foreign file names it" 2 err 'notes.txt' err '^hint: '
holds "and removes nothing" test -e p.pcere/manifest.json
rm p.pcere/notes.txt
run "$PCERE" replay p.pcere --threads 1 --repeat 2; says "a replay builds codelets" 0
run "$PCERE" rm --cache p.pcere; says "rm --cache removes these" 0 out 'p\.pcere: .*rebuilt'
holds "and no more" test ! -e p.pcere/build -a -s p.pcere/samples.jsonl
run "$PCERE" rm p.pcere q.pcere --json; says "rm of two stores, one of which is damaged" 0
holds "the document lists them" jq -e '.schema == "pcere.rm/1" and ([.removed[].store] == ["p.pcere", "q.pcere"])' .out
holds "both are gone, nothing else is" test ! -e p.pcere -a ! -e q.pcere -a -e p.c -a -e p.pcere.tar.zst
finish
