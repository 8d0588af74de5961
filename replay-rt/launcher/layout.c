/* replay-rt/launcher/layout.c - the search for a free place near the original image. */
#include "replay-rt/launcher/layout.h"

#define STEP_BYTES (16ull << 20)
/* The kernel puts the process's heap up to a GiB behind its image, anywhere: there it should not meet what was captured. */
#define HEAP_OFFSET_BYTES (1ull << 30)
#define HEAP_ROOM_BYTES (128ull << 20)
#define PREFERRED_GAP_BYTES (LAYOUT_MISSING_BYTES + LAYOUT_IMAGE_BYTES + HEAP_OFFSET_BYTES + HEAP_ROOM_BYTES)
#define REACH_BYTES ((1ull << 31) - (1ull << 20))   /* of a 32-bit distance, less some room for offsets into variables */
#define LOWEST_ADDRESS (1ull << 20)                 /* above vm.mmap_min_addr of any usual machine */

static bool is_free(const struct store_range *taken, size_t count, uint64_t low, uint64_t high)
{
    for (size_t i = 0; i < count; i++)
        if (taken[i].address < high && taken[i].address + taken[i].bytes > low)
            return false;
    return true;
}

enum pcere_status layout_choose(const struct store_range *taken, size_t taken_count, uint64_t image_low, uint64_t image_high,
                                bool absolute32, uint64_t *ret_base, struct pcere_error *error)
{
    const uint64_t whole = LAYOUT_MISSING_BYTES + LAYOUT_IMAGE_BYTES;
    uint64_t lowest = image_high > REACH_BYTES ? image_high - REACH_BYTES : 0;
    uint64_t highest = image_low + REACH_BYTES;
    if (lowest < LOWEST_ADDRESS)
        lowest = LOWEST_ADDRESS;
    if (absolute32 && highest > REACH_BYTES)
        highest = REACH_BYTES;
    lowest = (lowest + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
    image_low -= image_low % STEP_BYTES;
    /* Below the image first, as far as preferred or nearer; then farther below; then above. */
    uint64_t preferred = image_low > PREFERRED_GAP_BYTES ? image_low - PREFERRED_GAP_BYTES : lowest;
    for (uint64_t low = preferred > lowest ? preferred : lowest; low + whole <= image_low; low += STEP_BYTES)
        if (is_free(taken, taken_count, low, low + whole)) {
            *ret_base = low + LAYOUT_MISSING_BYTES;
            return PCERE_OK;
        }
    for (uint64_t low = preferred; low >= lowest + STEP_BYTES; low -= STEP_BYTES)
        if (low - STEP_BYTES + whole <= highest && is_free(taken, taken_count, low - STEP_BYTES, low - STEP_BYTES + whole)) {
            *ret_base = low - STEP_BYTES + LAYOUT_MISSING_BYTES;
            return PCERE_OK;
        }
    for (uint64_t low = image_low > lowest ? image_low : lowest; low + whole <= highest; low += STEP_BYTES)
        if (is_free(taken, taken_count, low, low + whole)) {
            *ret_base = low + LAYOUT_MISSING_BYTES;
            return PCERE_OK;
        }
    return pcere_fail(error, PCERE_REFUSED, 0, "build the program as position-independent code (-fPIE -pie), or with less static data",
                      "no addresses are free for a codelet within 2 GiB of the program's image");
}

enum pcere_status layout_choose_library(const struct store_range *taken, size_t taken_count, uint64_t image_low, uint64_t image_high,
                                        uint64_t *ret_base, struct pcere_error *error)
{
    uint64_t start = image_low - image_low % STEP_BYTES, end = (image_high + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
    for (uint64_t below = LAYOUT_LIBRARY_BYTES; below < REACH_BYTES - LAYOUT_IMAGE_BYTES && below + LOWEST_ADDRESS < start; below += STEP_BYTES)
        if (is_free(taken, taken_count, start - below, start - below + LAYOUT_LIBRARY_BYTES)) {
            *ret_base = start - below;
            return PCERE_OK;
        }
    for (uint64_t above = end; above + LAYOUT_LIBRARY_BYTES < image_low + REACH_BYTES; above += STEP_BYTES)
        if (is_free(taken, taken_count, above, above + LAYOUT_LIBRARY_BYTES)) {
            *ret_base = above;
            return PCERE_OK;
        }
    return pcere_fail(error, PCERE_REFUSED, 0, NULL, "no addresses are free for the rebuilt code of a shared library within 2 GiB of it");
}
