# Addresses: with and without randomisation, where it may not be chosen, and where something is in the way already.
source "$(dirname "$0")/common.sh"

# ---- what lies on the first stack ----------------------------------------------------------------------------------------------
build startup
run "$PCERE" capture -q --all-classes ./startup; says "a region that asks the auxiliary vector is captured" 0 out '^PASS'
run "$DRIVER" startup.pcere "$LIBRARIES"; says "where the captured stack takes the place of the first one, it finds the same there" 0 out 'identical'
run "$PCERE" verify startup.pcere; says "and where it does not" 0 out identical

finish
