#include "capture-rt/tracer/callpath.h"

#include <inttypes.h>
#include <libunwind-ptrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MOST 256

static size_t frames_walk(unw_addr_space_t space, void *process, uint64_t low, uint64_t high, struct store_frame *frames)
{
    unw_cursor_t cursor;
    size_t count = 0;
    if (unw_init_remote(&cursor, space, process) != 0)
        return 0;
    for (int steps = 0; steps < FRAMES_MOST; steps++) {
        unw_word_t address;
        if (unw_get_reg(&cursor, UNW_REG_IP, &address) != 0 || address == 0)
            break;
        if (address >= low && address < high)
            frames[count++] = (struct store_frame){.address = address};
        if (unw_step(&cursor) <= 0)
            break;
    }
    return count;
}

enum pcere_status callpath_read(pid_t tid, uint64_t low, uint64_t high, struct store_frame **ret_frames, size_t *ret_count,
                                struct pcere_error *error)
{
    struct store_frame *frames = calloc(FRAMES_MOST, sizeof *frames);
    if (!frames)
        return pcere_fail_memory(error, "the call path");
    unw_addr_space_t space = unw_create_addr_space(&_UPT_accessors, 0);
    void *process = _UPT_create(tid);
    size_t count = 0;
    if (space && process) {
        unw_set_caching_policy(space, UNW_CACHE_GLOBAL);
        count = frames_walk(space, process, low, high, frames);
    }
    if (process)
        _UPT_destroy(process);
    if (space)
        unw_destroy_addr_space(space);
    *ret_frames = frames;
    *ret_count = count;
    return PCERE_OK;
}

static bool is_outside_main(const char *symbol)
{
    return strncmp(symbol, "_start+", 7) == 0 || strncmp(symbol, "__libc_start", 12) == 0;
}

void callpath_name(pid_t pid, struct store_frame *frames, size_t *count)
{
    unw_addr_space_t space = unw_create_addr_space(&_UPT_accessors, 0);
    void *process = _UPT_create(pid);
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        char name[sizeof frames[i].symbol - 24] = "";
        unw_word_t offset = 0;
        /* A return address may lie just behind its function when the call was the last thing in it. */
        if (!space || !process || _UPT_get_proc_name(space, frames[i].address - 1, name, sizeof name, &offset, process) < 0)
            strcpy(name, "?");
        else
            offset++;
        snprintf(frames[i].symbol, sizeof frames[i].symbol, "%s+0x%" PRIx64, name, (uint64_t)offset);
        if (!is_outside_main(frames[i].symbol))
            frames[kept++] = frames[i];
    }
    *count = kept;
    if (process)
        _UPT_destroy(process);
    if (space)
        unw_destroy_addr_space(space);
}
