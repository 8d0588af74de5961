# Addresses: with and without randomisation, where it may not be chosen, and where something is in the way already.
source "$(dirname "$0")/common.sh"

# ---- what lies on the first stack ----------------------------------------------------------------------------------------------
build startup
run "$PCERE" capture -q --all-classes ./startup; says "a region that asks the auxiliary vector is captured" 0 out '^PASS'
run "$DRIVER" startup.pcere "$LIBRARIES"; says "where the captured stack takes the place of the first one, it finds the same there" 0 out 'identical'
run "$PCERE" verify startup.pcere; says "and where it does not" 0 out identical

# ---- randomisation ---------------------------------------------------------------------------------------------------------------
build solver
without=$TOOLS/without
whole "where nothing is randomised" ./solver '^residual' setarch -R
if "$without" personality -- true 2>/dev/null; then
    whole "where addresses are random and personality is forbidden" ./solver '^residual' "$without" personality --
    whole "where nothing is randomised and personality is forbidden" ./solver '^residual' setarch -R "$without" personality --
    if (ulimit -s unlimited) 2>/dev/null; then
        whole "the same with an unlimited stack" ./solver '^residual' sh -c 'ulimit -s unlimited; exec "$@"' sh setarch -R "$without" personality --
        replayed "captured like that, replayed with random addresses" solver.pcere
    else left_out "the stack's limit cannot be raised"; fi
else left_out "this kernel takes no seccomp filter: personality cannot be forbidden"; fi

# ---- something in the way --------------------------------------------------------------------------------------------------------
# Where the legacy layout begins, below the libraries, above the heap: the program's own mappings, captured, and in the way of a codelet's.
export TAKEN=2aaaaaaab000-2aaabaaab000,7ffff0000000-7ffff0100000,555558000000-555558100000
whole "with the first addresses of the bottom-up layout taken" ./solver '^residual' env LD_PRELOAD="$TOOLS/taker.so"
replayed "and replayed where nothing is randomised" solver.pcere setarch -R
unset TAKEN

# ---- another page cache ----------------------------------------------------------------------------------------------------------
sync; find solver.pcere -type f -exec dd of={} oflag=nocache conv=notrunc,fdatasync count=0 status=none \;
replayed "from a store that is not in the page cache" solver.pcere
done_or_skipped
