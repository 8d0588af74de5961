/* capture-rt/target/streams.c - streams that write to growing memory: the C library has them on no list, so the log keeps where they are. */
#include "capture-rt/target/target.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

static FILE *stream_note(FILE *stream)
{
    const struct target_state *state = target_state;
    if (stream && state->active) {
        uint64_t at = __atomic_fetch_add(&state->log->memory_stream_count, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&state->log->memory_streams[at % CAPTURE_MEMORY_STREAMS], (uintptr_t)stream, __ATOMIC_RELAXED);
    }
    return stream;
}

TARGET_EXPORT FILE *open_memstream(char **buffer, size_t *bytes)
{
    FILE *(*next)(char **, size_t *);
    void *symbol = dlsym(RTLD_NEXT, "open_memstream");
    memcpy(&next, &symbol, sizeof next);
    return next ? stream_note(next(buffer, bytes)) : NULL;
}

TARGET_EXPORT FILE *open_wmemstream(wchar_t **buffer, size_t *count)
{
    FILE *(*next)(wchar_t **, size_t *);
    void *symbol = dlsym(RTLD_NEXT, "open_wmemstream");
    memcpy(&next, &symbol, sizeof next);
    return next ? stream_note(next(buffer, count)) : NULL;
}
