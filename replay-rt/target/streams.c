/* replay-rt/target/streams.c - captured streams (FILE) of the GNU C library, used by another one.
 *
 *   captured FILE   [ flags | buffer, positions: as captured | chain, lock, wide data: a fresh stream's | ... ] table: this library's
 *
 * Buffers and positions stay what they were: a line that had been read ahead is still there, and what the region leaves behind in the
 * stream is compared like other memory. A fresh stream lends what belongs to the library.
 */
#include "replay-rt/target/codelet.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FLAG_LINKED 0x0080                /* in the library's list of streams */
#define FLAG_2_NEED_LOCK 0x80             /* other threads may use it */
#define FLAGS_2_OFFSET (offsetof(FILE, _fileno) + sizeof(int))    /* a bit-field in newer libraries */

_Static_assert(PLAN_STREAM_BYTES == sizeof(FILE) + sizeof(void *), "a stream is a FILE and the address of its table");

static struct { uint64_t address; unsigned char bytes[PLAN_STREAM_BYTES]; } standard[3];

/* ---- streams of the C++ library that write and read through them ------------------------------------------------------------------
 * std::cout has a buffer that passes all on to what `stdout` was when the library made it. */
enum { CPP_STREAMS = 8, CPP_BUFFER_OFFSET = 232, CPP_FILE_OFFSET = 64 };      /* of std::basic_ios, in all its versions; of stdio_sync_filebuf, which is read only where that is so */
static FILE **cpp_files[CPP_STREAMS];

void pcere_streams_prepare(void)
{
    static const char *const names[CPP_STREAMS] = {"_ZSt3cin", "_ZSt4cout", "_ZSt4cerr", "_ZSt4clog", "_ZSt4wcin", "_ZSt5wcout", "_ZSt5wcerr", "_ZSt5wclog"};
    for (int i = 0; i < CPP_STREAMS; i++) {
        char *stream = dlsym(RTLD_DEFAULT, names[i]), *table, *buffer = NULL;
        long base = 0;
        if (!stream)
            continue;
        memcpy(&table, stream, sizeof table);
        if (table)
            memcpy(&base, table - 3 * sizeof(void *), sizeof base);      /* where std::basic_ios lies in it */
        if (base)
            memcpy(&buffer, stream + base + CPP_BUFFER_OFFSET, sizeof buffer);
        cpp_files[i] = buffer ? (FILE **)(void *)(buffer + CPP_FILE_OFFSET) : NULL;
    }
}

static void cpp_streams_follow(const FILE *before, FILE *now)
{
    for (int i = 0; i < CPP_STREAMS; i++)
        if (cpp_files[i] && *cpp_files[i] == before)
            *cpp_files[i] = now;
}

/* All tables of a library lie together. */
#define TABLES_BYTES 4096u

size_t pcere_stream_parts(const void *block, size_t bytes, struct plan_range ret_parts[2])
{
    uint64_t table, known;
    if (bytes < PLAN_STREAM_BYTES)
        return 0;
    memcpy(&table, (const FILE *)block + 1, sizeof table);
    memcpy(&known, stderr + 1, sizeof known);
    if (table - known + TABLES_BYTES >= 2 * TABLES_BYTES)
        return 0;
    ret_parts[0] = (struct plan_range){offsetof(FILE, _chain), sizeof(void *)};
    ret_parts[1] = (struct plan_range){FLAGS_2_OFFSET, sizeof(int)};
    return 2;
}

/* Opened for its parts only, and never closed. */
static FILE *lender_open(struct codelet *codelet)
{
    FILE *lender = fopen("/dev/null", "r+e");
    if (!lender)
        pcere_plan_end(codelet, PLAN_FAILED, "cannot open /dev/null: %s", strerror(errno));
    close(fileno(lender));
    lender->_fileno = -1;
    return lender;
}

static void words_adopt(FILE *words, const FILE *lender, bool threads)
{
    words->_flags &= ~FLAG_LINKED;
    if (threads)
        words->_flags2 |= FLAG_2_NEED_LOCK;
    words->_chain = NULL;
    words->_lock = lender->_lock;
    words->_wide_data = lender->_wide_data;
}

static void adjust(struct memory *memory, uint64_t address, const FILE *words, size_t offset, size_t bytes)
{
    pcere_memory_adjust(memory, address + offset, (const char *)words + offset, bytes);
}

#define ADJUST(memory, address, words, member) adjust(memory, address, words, offsetof(FILE, member), sizeof (words)->member)

static void stream_adopt(struct memory *memory, const struct plan_stream *stream, const FILE *lender, bool threads)
{
    FILE words;
    memcpy(&words, stream->bytes, sizeof words);
    words_adopt(&words, lender, threads);
    ADJUST(memory, stream->address, &words, _flags);
    adjust(memory, stream->address, &words, FLAGS_2_OFFSET, sizeof words._fileno);
    ADJUST(memory, stream->address, &words, _chain);
    ADJUST(memory, stream->address, &words, _lock);
    ADJUST(memory, stream->address, &words, _wide_data);
    pcere_memory_adjust(memory, stream->address + sizeof words, lender + 1, sizeof(void *));
}

/* Its old address lies in the data of a C library that is no longer there, or of the one in a statically linked program, which is captured like the program's. */
static void standard_adopt(struct memory *memory, const struct plan_stream *stream, bool threads)
{
    struct codelet *codelet = memory->codelet;
    uint64_t page_bytes = codelet->plan->page_bytes, number = stream->kind - PLAN_STREAM_STDIN;
    uint64_t start = stream->address & ~(page_bytes - 1), end = (stream->address + PLAN_STREAM_BYTES + page_bytes - 1) & ~(page_bytes - 1);
    FILE **const names[] = {&stdin, &stdout, &stderr};
    if (number >= 3)
        return;
    if (pcere_memory_is_mapped(memory, stream->address)) {
        stream_adopt(memory, stream, *names[number], threads);
        cpp_streams_follow(*names[number], (FILE *)stream->address);
        *names[number] = (FILE *)stream->address;
        return;
    }
    for (uint64_t at = start; at < end; at += page_bytes) {
        bool ours = false;
        for (int i = 0; i < 3; i++)
            ours |= standard[i].address && at <= standard[i].address + PLAN_STREAM_BYTES - 1 && at + page_bytes > standard[i].address;
        if (!ours && mmap((void *)at, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (void *)at) {
            codelet->plan->result.collision_start = at;
            codelet->plan->result.collision_end = at + page_bytes;
            pcere_plan_end(codelet, PLAN_COLLIDED, "the address 0x%llx of a standard stream is taken", (unsigned long long)at);
        }
    }
    FILE words;
    memcpy(&words, stream->bytes, sizeof words);
    words_adopt(&words, *names[number], threads);
    memcpy(standard[number].bytes, &words, sizeof words);
    memcpy(standard[number].bytes + sizeof words, *names[number] + 1, sizeof(void *));
    standard[number].address = stream->address;
    cpp_streams_follow(*names[number], (FILE *)stream->address);
    *names[number] = (FILE *)stream->address;
}

void pcere_streams_adopt(struct memory *memory)
{
    const struct replay_plan *plan = memory->codelet->plan;
    const struct plan_stream *streams = PLAN_TABLE(memory->codelet, streams, struct plan_stream);
    bool threads = plan->result.threads > 1;
    for (uint64_t i = 0; i < plan->streams.count; i++)
        if (streams[i].kind == PLAN_STREAM_FILE)
            stream_adopt(memory, &streams[i], lender_open(memory->codelet), threads);
        else
            standard_adopt(memory, &streams[i], threads);
    pcere_streams_restore();
}

void pcere_streams_restore(void)
{
    for (int i = 0; i < 3; i++)
        if (standard[i].address)
            memcpy((void *)standard[i].address, standard[i].bytes, PLAN_STREAM_BYTES);
}
