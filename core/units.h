/* core/units.h - quantities as people read and write them: times, sizes, lists of thread counts.
 */
#ifndef PCERE_CORE_UNITS_H
#define PCERE_CORE_UNITS_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

#define UNITS_TEXT_BYTES 24               /* room for anything that units_format_* writes */
#define UNITS_THREADS_MOST 65536u         /* larger thread counts are taken for a slip */

/* Three significant digits: "812 ns", "18.4 ms", "2.05 s", "171 s". Returns `out`. */
const char *units_format_ns(uint64_t ns, char out[UNITS_TEXT_BYTES]);

/* Three significant digits in powers of 1024: "512 B", "1.20 GiB", "93.1 MiB". Returns `out`. */
const char *units_format_bytes(uint64_t bytes, char out[UNITS_TEXT_BYTES]);

/* "1,2,4,8": *ret_threads (malloc) holds the counts in the order written, a repeated one once. PCERE_USAGE names `option` and what
 * is wrong: empty, an empty item, not a number, 0, or more than UNITS_THREADS_MOST. */
enum pcere_status units_parse_threads(const char *option, const char *text, unsigned **ret_threads, size_t *ret_count,
                                      struct pcere_error *error);

/* A whole number from `least` to `most`, decimal digits only. PCERE_USAGE names `option` and the range. */
enum pcere_status units_parse_count(const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *ret_count,
                                    struct pcere_error *error);

/* "1%", "0.5%" or "0.01": a ratio above 0 and below 1. PCERE_USAGE names `option`. */
enum pcere_status units_parse_ratio(const char *option, const char *text, double *ret_ratio, struct pcere_error *error);

/* "10s", "500ms", "2m", or a number of seconds, decimals allowed: from 1 ms to 365 days, in ns. PCERE_USAGE names `option`. */
enum pcere_status units_parse_time(const char *option, const char *text, uint64_t *ret_ns, struct pcere_error *error);

#endif
