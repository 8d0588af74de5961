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
finish
