# Which store is meant, and what is said when there is none or a damaged one.
source "$SOURCE/tests/cli/common.sh" || exit 1
for verb in regions replay verify predict; do
    run "$PCERE" $verb; says "$verb where there is no store" 4 err 'pcere' err '^hint: '
    run "$PCERE" $verb none.pcere; says "$verb of a store that is not there" 4 err 'none.pcere'
done
mkdir a.pcere b.pcere
run "$PCERE" regions; says "two stores are listed, and none is chosen" 2 err 'a\.pcere' err 'b\.pcere'
run "$PCERE" regions a.pcere; says "an empty directory is no store" 4 err 'a\.pcere'
echo '{' >a.pcere/manifest.json
run "$PCERE" regions a.pcere; says "a manifest that is cut off is damage" 4 err 'manifest'
echo '{"schema": "pcere.store/999"}' >a.pcere/manifest.json
run "$PCERE" regions a.pcere; says "so is one of another version" 4

# What somebody else put into a store is not taken away with it.
compile one <<'C'
static double v[1000];
int main(void)
{
    #pragma omp parallel for
    for (int i = 0; i < 1000; i++) v[i] += i;
    return v[7] != 7;
}
C
run "$PCERE" capture ./one; says "a program is captured" 0
run "$PCERE" capture --force ./one; says "and again" 0
for foreign in notes.txt codelets/notes.txt; do
    echo notes >one.pcere/$foreign
    run "$PCERE" capture --force ./one; says "a store with a file of the user's is not replaced" 2 err "holds '$foreign', which is no part of a store" err '^hint: move it away'
    holds "which is still there" grep -qx notes one.pcere/$foreign
    run "$PCERE" regions one.pcere; says "and so is the store" 0 out 'main@one.c'
    rm one.pcere/$foreign
done
run "$PCERE" capture --force ./one; says "without it the store is" 0

# A store that only others may write. (The superuser may write all: he becomes nobody.)
as=()
[ "$(id -u)" -ne 0 ] || as=(setpriv --reuid=nobody --clear-groups)
chmod a+rx . && chmod -R a+rX one.pcere && chmod a-w one.pcere
if "${as[@]}" test -r one.pcere/manifest.json; then
    for verb in replay verify; do
        run "${as[@]}" "$PCERE" $verb one.pcere; says "$verb of a store that may not be written says so at once" 5 err "the store 'one.pcere' cannot be written: Permission denied" err '^hint: .*copy'
    done
    run "${as[@]}" "$PCERE" regions one.pcere; says "it may be looked at" 0 out 'main@one.c'
    # One in which codelets were built before: those are replayed, and what is new says why it cannot be.
    chmod u+w one.pcere
    run "$PCERE" replay one.pcere; says "where its owner replayed it" 0
    chmod -R a+rX,a-w one.pcere
    run "${as[@]}" "$PCERE" replay one.pcere; says "others see times, which are not kept" 5 out 'main@one.c' err "the store 'one.pcere' cannot be written" err '^hint: .*copy'
    run "${as[@]}" "$PCERE" verify one.pcere --flags -O1; says "other flags cannot be built there" 5 err "the store 'one.pcere' cannot be written" err '^hint: .*copy'
    run "${as[@]}" "$PCERE" predict one.pcere --measure; says "real runs cannot be kept either" 5 err "the store 'one.pcere' cannot be written" err '^hint: .*copy'
    chmod -R u+w one.pcere
fi
chmod u+w one.pcere
finish
