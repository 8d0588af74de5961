#!/usr/bin/env bash
# The plugin leaves the machine code of every outlined function of cNPB as it is: built with and without it, compared.
#
#   same_code.sh SOURCE_DIRECTORY PLUGIN CLASS "FLAGS"
set -euo pipefail
source=$1 plugin=$2 class=$3 flags=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

make -s -C "$source/cNPB" CLASS="$class" CFLAGS="$flags -fdata-sections" BINDIR="$work/bin" OBJDIR="$work/plain"
# In parallel, as users build.
make -s -j4 -C "$source/cNPB" CLASS="$class" CFLAGS="$flags -fdata-sections -fpass-plugin=$plugin" BINDIR="$work/bin" OBJDIR="$work/probed"

compared=0
while read -r plain; do
    object=${plain#"$work/plain/"}
    llvm-readelf-19 -S "$work/probed/$object" | grep '\.pcere\.bc' >/dev/null || { echo "no bitcode in $object"; exit 1; }
    llvm-nm-19 "$plain" | grep omp_outlined >/dev/null || continue
    "$source/scripts/compare-code" "$plain" "$work/probed/$object" || { echo "in $object with '$flags'"; exit 1; }
    compared=$((compared + 1))
done < <(find "$work/plain" -name '*.o' | sort)
[ "$compared" -ge 4 ] || { echo "only $compared objects with regions were compared"; exit 1; }
