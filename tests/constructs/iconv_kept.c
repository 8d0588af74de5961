/* iconv_kept.c - converters that were opened before a region: by the C library's own code, which exports nothing there, and by modules that it loads, to which it
 * keeps disguised pointers.
 */
#include "check.h"
#include <iconv.h>
#include <string.h>

enum { TEXTS = 40 };
static iconv_t converters[2];
static char texts[TEXTS][16];
static size_t lengths[2][TEXTS];
static unsigned sums[2][TEXTS];

static void convert(int which)
{
#pragma omp parallel for ordered
    for (int i = 0; i < TEXTS; i++) {
        char out[64], *from = texts[i], *to = out;
        size_t left = strlen(from), room = sizeof out;
#pragma omp ordered
        CHECK(iconv(converters[which], &from, &left, &to, &room) != (size_t)-1 && !left);
        lengths[which][i] = sizeof out - room;
        for (char *at = out; at < to; at++)
            sums[which][i] += (unsigned char)*at;
    }
}

int main(void)
{
    for (int i = 0; i < TEXTS; i++)
        snprintf(texts[i], sizeof texts[i], "Gr\303\274\303\237e %d", i);
    converters[0] = iconv_open("UTF-8", "UCS-4LE");
    CHECK(converters[0] != (iconv_t)-1 && iconv_close(converters[0]) == 0);
    converters[0] = iconv_open("UCS-4LE", "UTF-8");     /* the library's own */
    CHECK(converters[0] != (iconv_t)-1);
    convert(0);
    converters[1] = iconv_open("UTF-16LE", "UTF-8");    /* a module's, behind the first codelet */
    CHECK(converters[1] != (iconv_t)-1);
    convert(1);
    for (int i = 0; i < TEXTS; i++)
        CHECK(lengths[0][i] == 4 * (i < 10 ? 7u : 8u) && lengths[1][i] == lengths[0][i] / 2 && sums[0][i] == sums[1][i]);
    CHECK(iconv_close(converters[0]) == 0 && iconv_close(converters[1]) == 0);
    return 0;
}
