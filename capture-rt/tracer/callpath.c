#include "capture-rt/tracer/callpath.h"

#include "core/text.h"

#include <inttypes.h>
#include <libunwind-ptrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MOST 256

static bool callpath_turn(struct callpath *callpath, pid_t tid)
{
    if (!callpath->space && (callpath->space = unw_create_addr_space(&_UPT_accessors, 0)))
        unw_set_caching_policy(callpath->space, UNW_CACHE_GLOBAL);
    if (callpath->process && callpath->tid != tid) {
        _UPT_destroy(callpath->process);
        callpath->process = NULL;
    }
    if (!callpath->process)
        callpath->process = _UPT_create(tid);
    callpath->tid = tid;
    return callpath->space && callpath->process;
}

static bool ranges_hold(const struct store_range *ranges, size_t count, uint64_t address)
{
    for (size_t i = 0; i < count; i++)
        if (address - ranges[i].address < ranges[i].bytes)
            return true;
    return false;
}

bool callpath_leaves(struct callpath *callpath, pid_t tid, const struct store_range *ranges, size_t count)
{
    unw_cursor_t cursor;
    if (!callpath_turn(callpath, tid) || unw_init_remote(&cursor, callpath->space, callpath->process) != 0)
        return false;
    for (int steps = 0; steps < FRAMES_MOST; steps++) {
        unw_word_t address;
        if (unw_get_reg(&cursor, UNW_REG_IP, &address) != 0 || address == 0)
            return false;
        if (!ranges_hold(ranges, count, address))
            return true;
        if (unw_step(&cursor) <= 0)
            return false;
    }
    return false;
}

static bool is_users(const struct map_facts *facts, uint64_t address)
{
    bool found = address >= facts->image_low && address < facts->image_high;
    for (size_t i = 0; i < facts->library_count && !found; i++)
        found = address >= facts->libraries[i].address && address - facts->libraries[i].address < facts->libraries[i].bytes;
    return found;
}

static size_t frames_walk(unw_addr_space_t space, void *process, const struct map_facts *facts, struct store_frame *frames)
{
    unw_cursor_t cursor;
    size_t count = 0;
    if (unw_init_remote(&cursor, space, process) != 0)
        return 0;
    for (int steps = 0; steps < FRAMES_MOST; steps++) {
        unw_word_t address;
        if (unw_get_reg(&cursor, UNW_REG_IP, &address) != 0 || address == 0)
            break;
        if (is_users(facts, address))
            frames[count++] = (struct store_frame){.address = address};
        if (unw_step(&cursor) <= 0)
            break;
    }
    return count;
}

enum pcere_status callpath_read(struct callpath *callpath, pid_t tid, const struct map_facts *facts, struct store_frame **ret_frames,
                                size_t *ret_count, struct pcere_error *error)
{
    struct store_frame *frames = calloc(FRAMES_MOST, sizeof *frames);
    if (!frames)
        return pcere_fail_memory(error, "the call path");
    *ret_count = callpath_turn(callpath, tid) ? frames_walk(callpath->space, callpath->process, facts, frames) : 0;
    *ret_frames = frames;
    return PCERE_OK;
}

static bool is_outside_main(const char *symbol)
{
    return strncmp(symbol, "_start+", 7) == 0 || strncmp(symbol, "__libc_start", 12) == 0;
}

static const struct store_frame *known_find(const struct callpath *callpath, uint64_t address)
{
    for (size_t i = 0; i < callpath->name_count; i++)
        if (callpath->names[i].address == address)
            return &callpath->names[i];
    return NULL;
}

/* Names are asked of a process of their own kind: what unwinding has cached is for the stopped thread. */
static void frame_name(void *space, void *process, struct store_frame *frame)
{
    char name[sizeof frame->symbol - 24] = "";
    unw_word_t offset = 0;
    /* A return address may lie just behind its function when the call was the last thing in it. */
    if (!space || !process || _UPT_get_proc_name(space, frame->address - 1, name, sizeof name, &offset, process) < 0)
        strcpy(name, "?");
    else
        offset++;
    snprintf(frame->symbol, sizeof frame->symbol, "%s+0x%" PRIx64, name, (uint64_t)offset);
}

void callpath_name(struct callpath *callpath, pid_t pid, struct store_frame *frames, size_t *count)
{
    unw_addr_space_t space = NULL;
    void *process = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        const struct store_frame *known = known_find(callpath, frames[i].address);
        if (known)
            frames[i] = *known;
        else {
            space = space ? space : unw_create_addr_space(&_UPT_accessors, 0);
            process = process ? process : _UPT_create(pid);
            frame_name(space, process, &frames[i]);
            if (array_reserve(&callpath->names, &callpath->name_capacity, callpath->name_count + 1, sizeof *callpath->names))
                callpath->names[callpath->name_count++] = frames[i];
        }
        if (!is_outside_main(frames[i].symbol))
            frames[kept++] = frames[i];
    }
    *count = kept;
    if (process)
        _UPT_destroy(process);
    if (space)
        unw_destroy_addr_space(space);
}

void callpath_done(struct callpath *callpath)
{
    if (callpath->process)
        _UPT_destroy(callpath->process);
    if (callpath->space)
        unw_destroy_addr_space(callpath->space);
    free(callpath->names);
    *callpath = (struct callpath){0};
}
