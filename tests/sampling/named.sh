# A function that is not seen is named as the source names it.
source "$(dirname "$0")/common.sh"
cat >grid.h <<'C'
namespace mesh { struct Grid { double *cells; double sweep(double *cell, int at); }; }
C
cat >grid.cpp <<'C'
#include "grid.h"
double mesh::Grid::sweep(double *cell, int at) { double sum = 0; for (int k = 0; k < 2000; k++) sum += k % (at + 2); *cell = sum; return sum; }
C
cat >named.cpp <<'C'
#include "grid.h"
#include <cstdio>
int main() {
  static double cells[4000];
  mesh::Grid grid{cells};
#pragma omp parallel for
  for (int i = 0; i < 4000; i++) grid.sweep(&grid.cells[i], i);
  std::puts(cells[3] > 0 ? "PASS" : "FAIL");
}
C
"${CLANG/clang/clang++}" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" named.cpp grid.cpp -o named || { echo "NOT OK: named.cpp does not compile"; exit 1; }
run "$PCERE" capture ./named; says "a program of two units is captured" 0 out '^PASS'
run "$PCERE" replay --sample 0.05 --threads 1 named.pcere
says "why its region runs whole is said in the source's words" 0 out 'it calls mesh::Grid::sweep\(double\*, int\), which is not seen when it is compiled \(line 7\)'
finish
