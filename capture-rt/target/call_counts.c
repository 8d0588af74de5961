/* capture-rt/target/call_counts.c - the tables that the C library counts calls in where a program was compiled with -pg (mcount, gprof).
 *
 * They are no memory of the program's, and a replay's C library has none. So they are allocated as the OpenMP runtime's memory is: apart from what is captured. That is before main,
 * before any other thread, and perhaps before this library's constructor: the first one that is initialised asks for it.
 */
#include "capture-rt/target/target.h"

#include <dlfcn.h>

#define FUNCTION_BYTES 4096u            /* of the C library's, from its beginning, that may allocate */

typedef void start_call(unsigned long low, unsigned long high);

TARGET_EXPORT void __monstartup(unsigned long low, unsigned long high);
TARGET_EXPORT void __monstartup(unsigned long low, unsigned long high)
{
    void *found = dlsym(RTLD_NEXT, "__monstartup");
    start_call *next;
    memcpy(&next, &found, sizeof next);
    if (!next)
        return;
    uintptr_t runtime_low, runtime_high, from = (uintptr_t)found;
    target_allocator_separated(&runtime_low, &runtime_high);
    if (target_arena_open())
        target_allocator_separate(from, from + FUNCTION_BYTES);
    next(low, high);
    target_allocator_separate(runtime_low, runtime_high);
}
