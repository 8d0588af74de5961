/* tests/fuzz/trace_parts.h - a trace in few bytes, from which the fuzzer makes a file of 16 KiB and 64 KiB for each block, with right checksums and index.
 *
 *   events, threads, constructs, clock, flags (a byte each), then parts: kind, thread (a byte each), bytes (2), and so many bytes of records or table
 */
#ifndef PCERE_TESTS_FUZZ_TRACE_PARTS_H
#define PCERE_TESTS_FUZZ_TRACE_PARTS_H

#include <stdint.h>

struct trace_parts { uint8_t events, threads, constructs, clock, flags; };
enum { TRACE_PARTS_ENDED = 1, TRACE_PARTS_UNSEALED = 2 };

struct trace_part { uint8_t kind, thread; uint8_t bytes[2]; };
#define TRACE_PARTS_MOST 6u

#endif
