/* store/limits.c - the numbers of threads that a captured region holds for. */
#include "store/store.h"

#include <stdio.h>

/* Do so many threads share so many pieces evenly, or as good as: with eight and more for each, those that have one more are late by less than an eighth? */
static bool share_evenly(uint64_t pieces, uint32_t threads)
{
    enum { ENOUGH = 8 };
    return threads && (pieces % threads == 0 || pieces / threads >= ENOUGH);
}

bool store_region_takes(const struct store_region *region, uint32_t capture_threads, uint32_t threads)
{
    uint32_t turns = store_region_turns(region), pieces = store_region_pieces(region);
    if (!region->thread_sized || threads == capture_threads)
        return true;
    if (turns)
        return (threads < turns) == (capture_threads < turns);
    if (pieces)
        return share_evenly((uint64_t)pieces * capture_threads, threads);
    return (threads < capture_threads && !store_region_is_exact(region)) || threads <= store_region_room(region);
}

/* "1, 2 or 4 threads", or, where these are many, what they have in common. */
static const char *sharing_text(char text[STORE_HOLDS_BYTES], uint64_t pieces)
{
    enum { LISTED_MOST = 8 };
    uint32_t listed[LISTED_MOST];
    size_t count = 0, at = 0;
    for (uint64_t threads = 1; threads <= pieces && count <= LISTED_MOST; threads++)
        if (share_evenly(pieces, (uint32_t)threads) && count++ < LISTED_MOST)
            listed[count - 1] = (uint32_t)threads;
    if (count > LISTED_MOST)
        snprintf(text, STORE_HOLDS_BYTES, "threads that share %llu pieces evenly", (unsigned long long)pieces);
    for (size_t i = 0; count <= LISTED_MOST && i < count && at < STORE_HOLDS_BYTES; i++)
        at += (size_t)snprintf(text + at, STORE_HOLDS_BYTES - at, "%s%u%s", i == 0 ? "" : i + 1 == count ? " or " : ", ", listed[i], i + 1 < count ? "" : count == 1 ? " thread" : " threads");
    return text;
}

const char *store_region_holds(char text[STORE_HOLDS_BYTES], const struct store_region *region, uint32_t capture_threads)
{
    uint32_t turns = store_region_turns(region), room = store_region_room(region), threads = room > capture_threads ? room : capture_threads;
    uint32_t pieces = store_region_pieces(region);
    if (pieces)
        return sharing_text(text, (uint64_t)pieces * capture_threads);
    if (turns)
        threads = capture_threads < turns ? turns - 1 : turns;
    snprintf(text, STORE_HOLDS_BYTES, "%s %u thread%s", store_region_is_exact(region) ? "exactly" : turns && threads == turns ? "at least" : "at most", threads, threads == 1 ? "" : "s");
    return text;
}

bool store_region_may_have(const struct store_region *region, uint32_t capture_threads, uint32_t threads)
{
    bool asked = false;
    for (size_t i = 0; i < region->class_count; i++)
        asked |= region->classes[i].captured && !region->classes[i].team;
    return !asked || store_region_takes(region, capture_threads, threads);
}
