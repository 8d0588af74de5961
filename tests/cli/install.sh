# An installation works where it is put, without anything in the environment.
source "$SOURCE/tests/cli/common.sh" || exit 1
: "${BUILD:?the build tree}"
whole=yes
for plugin in $(grep -oh 'PCEREPass-[0-9]*\.so' "$BUILD/passes/cmake_install.cmake" | sort -u); do [ -e "$BUILD/lib/pcere/$plugin" ] || whole=no; done
if [ $whole = no ] || [ ! -e "$BUILD/lib/PCEREPass.so" ] || [ ! -e "$BUILD/lib/libpcere-capture.so" ] || [ ! -e "$BUILD/lib/libpcere-replay.a" ]; then
    echo "SKIPPED: this build tree does not have all plugins and runtimes of its own"; exit 77
fi
unset PCERE_LIBDIR
# Into a stage first, so that neither the loader's cache nor a compiler's name outside of it is touched.
DESTDIR=$work/stage run cmake --install "$BUILD" --prefix /opt/pcere
says "cmake --install" 0
mv stage/opt/pcere moved
run moved/bin/pcere version --plugin; says "the command finds its plugin wherever it lies" 0 out "^$work/moved/bin/\.\./|^$work/moved/lib"
run moved/bin/pcere version --static; says "and what static programs are linked with" 0 out "^$work/moved/.*/pcere-static.o -Wl,@$work/moved/.*/pcere-static.wrap$"
holds "a link makes the plugin known to the loader under its bare name" test "$(readlink moved/lib*/libPCEREPass.so moved/lib/*/libPCEREPass.so 2>/dev/null | head -n 1)" = PCEREPass.so
is "the plugin calls itself so" "$(readelf -d moved/lib*/PCEREPass.so moved/lib/*/PCEREPass.so 2>/dev/null | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p' | head -n 1)" PCEREPass.so
holds "there is a manual page for each verb" test "$(ls moved/share/man/man1/pcere*.1 | wc -l)" -ge 10
run moved/bin/pcere check --json
holds "its own check finds plugin, capture library and replay library" jq -e '[.checks[] | select(.name == ("plugin", "capture-library", "replay-library", "preload")) | .ok] | all' .out
PCERE=$work/moved/bin/pcere
compile sum <<'C'
#include <stdio.h>
static double a[50000];
int main(void) {
    for (int step = 0; step < 20; step++) {
        #pragma omp parallel for
        for (int i = 0; i < 50000; i++) a[i] += i;
    }
    printf("%.0f\n", a[49999]);
    return 0;
}
C
if jq -e '[.checks[] | select(.required and (.ok | not))] == []' .out >/dev/null; then
    run "$PCERE" capture ./sum; says "the installed command captures" 0 out '^999980'
    run "$PCERE" replay --threads 1,2 --repeat 3; says "and replays" 0 out "$(samples 3)"
fi
finish
