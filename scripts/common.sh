# scripts/common.sh - what the scripts share; sourced, not run.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
llvm=19

say() { printf '\n== %s\n' "$*"; }
fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

jobs_count() {
    local cores memory_gb
    cores=$(nproc)
    memory_gb=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
    # a C++ file that includes LLVM takes about 1 GB
    if [ "$memory_gb" -lt "$cores" ]; then cores=$((memory_gb > 0 ? memory_gb : 1)); fi
    echo "$cores"
}

package_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# packages_install PACKAGE...: those that are missing, by apt-get, as root or through sudo. Without it, or without rights, the script ends.
packages_install() {
    local package missing=() as_root=() install
    command -v apt-get >/dev/null && command -v dpkg-query >/dev/null || fail "this is no Debian: install the equivalents of: $*"
    for package; do
        package_installed "$package" || missing+=("$package")
    done
    if [ ${#missing[@]} -eq 0 ]; then
        echo "setup: all $# packages are installed"
        return
    fi
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "these packages are missing, and neither root nor sudo is at hand: ${missing[*]}"
        as_root=(sudo)
    fi
    say "installing ${missing[*]}"
    install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}")
    # The lists of packages may be absent or stale: they are fetched only if the first try fails.
    if ! apt-cache show "${missing[@]}" >/dev/null 2>&1 || ! "${install[@]}" </dev/null; then
        "${as_root[@]}" apt-get update -q </dev/null
        "${install[@]}" </dev/null
    fi
    for package in "${missing[@]}"; do
        package_installed "$package" || fail "$package could not be installed"
    done
}

# evaluation_run FILE WORD...: scripts/evaluation/FILE with the words, as this process. PCERE names the command: build/bin/pcere if not given, which is built where it is missing, but
# not for help alone.
evaluation_run() {
    local file=$1 word help=
    shift
    for word; do
        case $word in -h|--help) help=yes ;; esac
    done
    if [ -z "${PCERE:-}" ]; then
        export PCERE=$root/build/bin/pcere
        [ -n "$help" ] || [ -x "$PCERE" ] || { "$root/scripts/setup" && "$root/scripts/build" -DPCERE_NPB_CLASSES=; } >&2
    fi
    [ -n "$help" ] || [ -x "$PCERE" ] || fail "PCERE names no command: $PCERE"
    exec python3 -B "$root/scripts/evaluation/$file" "$@"
}
