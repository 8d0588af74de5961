# Nothing is lost where records come as fast as they can, and dependences are recorded whether their call is seen or the runtime has to be asked: the programs of scripts/bench-profiles.
source "$SOURCE/tests/cli/common.sh"
"$CLANG" -O2 -shared -fPIC -I"$SOURCE" -Wl,-Bsymbolic,-soname,libomp.so.5 -o libomp.so.5 "$SOURCE/tests/bench/stand_in_runtime.c" &&
    "$CLANG" -O2 -I"$SOURCE" -o record_cost "$SOURCE/tests/bench/record_cost.c" ./libomp.so.5 '-Wl,-rpath,$ORIGIN' || { echo "NOT OK: the programs do not compile"; exit 1; }

# records KIND: chunks, tasks made, switches, dependences
records() {
    "$PCERE" trace -q --force -o "$1.pct" ./record_cost 2 "$1" >.out 2>.err || echo failed
    python3 - "$1.pct" <<'END'
import struct, sys
data, of = open(sys.argv[1], "rb").read(), {}
for at in range(16384, len(data) - 63, 65536):
    magic, kind, thread, sequence, used = struct.unpack_from("<IHHII", data, at)
    for i in range(used if magic == 0x4b4c4254 and kind == 1 else 0):
        word = struct.unpack_from("<I", data, at + 64 + 16 * i + 4)[0]
        of[word & 127] = of.get(word & 127, 0) + 1
print(*(of.get(type, 0) for type in (9, 16, 17, 23)))
END
}
is "each chunk has its record" "$(records chunk)" "81920 0 0 0"
is "each task its three" "$(records task)" "0 27306 54612 0"
is "each task with a dependence one more" "$(records depending)" "0 20480 40960 20480"
is "also where the runtime makes tasks out of sight" "$(records unseen)" "0 20480 40960 20480"
finish
