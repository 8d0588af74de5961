# Programs that write numbers and letters in another language: the whole process's, one thread's, C++'s; and where that language is not installed.
source "$(dirname "$0")/common.sh"
mkdir -p "$work/languages"
localedef -i de_DE -f UTF-8 "$work/languages/xx_PCERE.UTF-8" 2>/dev/null
if [ ! -d "$work/languages/xx_PCERE.UTF-8" ]; then left_out "localedef with de_DE (package locales)"; done_or_skipped; fi
export LOCPATH=$work/languages

compile whole_process <<'C' || exit 1
#include <ctype.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <wctype.h>
static char texts[100][32];
static double numbers[100];
static unsigned long letters[100];
int main(void) {
    if (!setlocale(LC_ALL, "xx_PCERE.UTF-8")) return 1;
    for (int round = 0; round < 2; round++) {
        #pragma omp parallel for
        for (int i = 0; i < 100; i++) {
            snprintf(texts[i], sizeof texts[i], "%'.2f", 12345 + i / 4.0);
            numbers[i] = strtod("2,5", NULL);
            letters[i] = towupper(0xe4) + (unsigned long)toupper('a' + i % 26) + (unsigned long)(isalpha('a') != 0);
        }
    }
    printf("%s %.1f %lx\n", texts[1], numbers[1], letters[0]);
    return 0;
}
C
whole "the process's language" ./whole_process '^12.345,25 2,5 106$'

compile one_thread <<'C' || exit 1
#include <locale.h>
#include <stdio.h>
static char texts[100][32];
int main(void) {
    locale_t own = newlocale(LC_NUMERIC_MASK, "xx_PCERE.UTF-8", (locale_t)0);
    if (!own || !uselocale(own)) return 1;
    for (int round = 0; round < 2; round++) {
        #pragma omp parallel for
        for (int i = 0; i < 100; i++) snprintf(texts[i], sizeof texts[i], "%.2f", i / 4.0);
    }
    uselocale(LC_GLOBAL_LOCALE);
    printf("%s %.1f\n", texts[1], 0.5);
    return 0;
}
C
whole "a thread's own language" ./one_thread '^0,25 0.5$'

cat >in_cpp.cpp <<'C'
#include <cstdio>
#include <locale>
#include <sstream>
#include <string>
static char texts[100][32];
int main() {
    std::locale::global(std::locale("xx_PCERE.UTF-8"));
    std::ostringstream() << 0.5;        // the first number makes tables in the locale's own object, which a replay has another of
    for (int round = 0; round < 2; round++) {
        #pragma omp parallel for
        for (int i = 0; i < 100; i++) {
            std::ostringstream out;
            out << 12345 + i / 4.0;
            snprintf(texts[i], sizeof texts[i], "%s", out.str().c_str());
        }
    }
    std::printf("%s\n", texts[1]);
}
C
"${CLANG/clang/clang++}" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" in_cpp.cpp -o in_cpp || { echo "NOT OK: in_cpp.cpp does not compile"; exit 1; }
whole "the language of C++" ./in_cpp '^12.345,2$'

rm -r "$work/languages/xx_PCERE.UTF-8"
run "$PCERE" replay --threads 1 --repeat 1 whole_process.pcere
says "a language that is not installed is said to be missing, and the region runs" 0 err "^pcere replay: the program's locale is not installed here" out 'main@whole_process.c'
run "$PCERE" verify whole_process.pcere
says "and verification says so, and what differs" 1 out 'texts' err "^pcere verify: the program's locale is not installed here"
done_or_skipped
