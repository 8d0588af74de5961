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
