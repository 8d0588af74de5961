#include "capture-rt/tracer/callpath.h"

#include "core/text.h"

#include <inttypes.h>
#include <libunwind-ptrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define FRAMES_MOST 256

/* ---- memory of the stopped thread -------------------------------------------------------------------------------------------
 * libunwind asks for tables byte by byte, and for each of these ptrace would be called. */

#define PAGES_KEPT 16u
#define PAGE_BYTES 4096u         /* or a part of one: it is never more than is there */

struct callpath_memory {         /* as it is while the thread stands still */
    pid_t tid;
    const uint64_t *registers;   /* where it waits for us; NULL: ptrace knows them */
    bool known[PAGES_KEPT];
    uint64_t address[PAGES_KEPT];
    unsigned char bytes[PAGES_KEPT][PAGE_BYTES];
};

static _Thread_local struct callpath_memory *walked;     /* libunwind's accessors have no room for it */

static const unsigned char *page_of(struct callpath_memory *memory, uint64_t address)
{
    uint64_t page = address / PAGE_BYTES * PAGE_BYTES, place = address / PAGE_BYTES % PAGES_KEPT;
    if (!memory->known[place] || memory->address[place] != page) {
        struct iovec local = {memory->bytes[place], PAGE_BYTES}, remote = {(void *)(uintptr_t)page, PAGE_BYTES};
        memory->known[place] = process_vm_readv(memory->tid, &local, 1, &remote, 1, 0) == PAGE_BYTES;
        memory->address[place] = page;
    }
    return memory->known[place] ? memory->bytes[place] : NULL;
}

static int memory_access(unw_addr_space_t space, unw_word_t address, unw_word_t *word, int write, void *process)
{
    uint64_t left = PAGE_BYTES - address % PAGE_BYTES, first = left < sizeof *word ? left : sizeof *word;
    const unsigned char *page = walked && !write ? page_of(walked, address) : NULL;
    if (!page)
        return _UPT_access_mem(space, address, word, write, process);
    memcpy(word, page + address % PAGE_BYTES, first);
    if (first < sizeof *word && !(page = page_of(walked, address + first)))
        return _UPT_access_mem(space, address, word, write, process);
    if (first < sizeof *word)
        memcpy((unsigned char *)word + first, page, sizeof *word - first);
    return 0;
}

static int register_access(unw_addr_space_t space, unw_regnum_t number, unw_word_t *word, int write, void *process)
{
    if (!walked || !walked->registers)
        return _UPT_access_reg(space, number, word, write, process);
    if (write || number < 0 || number >= CAPTURE_REGISTERS)
        return -UNW_EBADREG;
    *word = walked->registers[number];
    return 0;
}

static void walk_begin(struct callpath *callpath, const uint64_t *registers)
{
    if (!callpath->memory)
        callpath->memory = malloc(sizeof *callpath->memory);     /* without, it takes longer */
    walked = callpath->memory;
    if (!walked)
        return;
    walked->tid = callpath->tid;
    walked->registers = registers;
    memset(walked->known, 0, sizeof walked->known);
}

static void walk_end(void)
{
    walked = NULL;
}

/* ---- frames ---------------------------------------------------------------------------------------------------------------- */

static unw_addr_space_t space_new(void)
{
    unw_accessors_t accessors = _UPT_accessors;
    accessors.access_mem = memory_access;
    accessors.access_reg = register_access;
    return unw_create_addr_space(&accessors, 0);
}

static bool callpath_turn(struct callpath *callpath, pid_t tid)
{
    if (!callpath->space && (callpath->space = space_new()))
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

static bool frames_leave(struct callpath *callpath, const struct store_range *ranges, size_t count)
{
    unw_cursor_t cursor;
    if (unw_init_remote(&cursor, callpath->space, callpath->process) != 0)
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

bool callpath_leaves(struct callpath *callpath, pid_t tid, const struct store_range *ranges, size_t count)
{
    if (!callpath_turn(callpath, tid))
        return false;
    walk_begin(callpath, NULL);
    bool leaves = frames_leave(callpath, ranges, count);
    walk_end();
    return leaves;
}

static bool is_users(const struct map_facts *facts, uint64_t address)
{
    bool found = address >= facts->image_low && address < facts->image_high && address - facts->runtimes.address >= facts->runtimes.bytes;
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

enum pcere_status callpath_read(struct callpath *callpath, pid_t tid, const uint64_t registers[CAPTURE_REGISTERS], const struct map_facts *facts,
                                struct store_frame **ret_frames, size_t *ret_count, struct pcere_error *error)
{
    struct store_frame *frames = calloc(FRAMES_MOST, sizeof *frames);
    if (!frames)
        return pcere_fail_memory(error, "the call path");
    *ret_count = 0;
    if (callpath_turn(callpath, tid)) {
        walk_begin(callpath, registers);
        *ret_count = frames_walk(callpath->space, callpath->process, facts, frames);
        walk_end();
    }
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

void callpath_program(struct callpath *callpath, const char *path, const struct map_facts *facts, uint64_t bias)
{
    elf_code_close(callpath->code);
    callpath->code = elf_code_open(path);
    callpath->low = facts->image_low;
    callpath->high = facts->image_high;
    callpath->bias = bias;
}

/* A return address may lie just behind its function when the call was the last thing in it. */
static bool frame_name_own(const struct callpath *callpath, struct store_frame *frame)
{
    uint64_t start, at = frame->address - 1;
    const char *name = callpath->code && at >= callpath->low && at < callpath->high ? elf_code_function(callpath->code, at - callpath->bias, &start) : NULL;
    if (name)
        snprintf(frame->symbol, sizeof frame->symbol, "%.*s+0x%" PRIx64, (int)sizeof frame->symbol - 25, name, frame->address - callpath->bias - start);
    return name != NULL;
}

/* Names are asked of a process of their own kind: what unwinding has cached is for the stopped thread. */
static void frame_name(void *space, void *process, struct store_frame *frame)
{
    char name[sizeof frame->symbol - 24] = "";
    unw_word_t offset = 0;
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
        else if (!frame_name_own(callpath, &frames[i])) {
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
    elf_code_close(callpath->code);
    free(callpath->names);
    free(callpath->memory);
    *callpath = (struct callpath){0};
}
