/* capture-rt/target/reserve.c - addresses that the library takes in the user's process, far more than it will use: memory comes when it is touched. */
#include "capture-rt/target/target.h"

#include <sys/mman.h>

size_t target_reserved_bytes;

void *target_reserve(size_t bytes)
{
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    target_reserved_bytes += bytes;
    return start;
}
