/* support.c - what captured memory needs beside it: thread-local variables, locks, addresses in libraries and of functions, the heap.
 *
 * The tables are in region.h; an empty one makes its part do nothing.
 */
#define _GNU_SOURCE
#include "codelet.h"
#include "region.h"

#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- thread-local variables: copied into this process's, by the thread's number ---------------------------------------------- */

/* region.s defines those that the compiler kept; the others are here, and nobody uses them. */
#define DECLARE(index, name, offset, bytes) __attribute__((weak)) _Thread_local char thread_local_##index[bytes] __asm__(name);
THREAD_LOCALS(DECLARE)
#undef DECLARE

struct captured_thread { int number; char *block; size_t bytes; };
static const struct captured_thread threads[] = {
#define THREAD(number, address, bytes) {number, (char *)address, bytes},
    THREADS(THREAD)
    {-1, NULL, 0},
};

static const struct captured_thread *thread_of(int number)
{
    const struct captured_thread *thread = threads;
    while (thread->number >= 0 && thread->number != number)
        thread++;
    return thread;                                  /* the last one has no bytes: such a thread keeps its initial values */
}

static void thread_locals_copy(void)
{
    const struct captured_thread *thread = thread_of(omp_get_thread_num());
    static _Thread_local char *initial;             /* of a thread that the capture did not have */
    size_t at = 0;
    bool first = !initial;
    (void)thread, (void)at;
    if (first)
        initial = malloc(THREAD_LOCAL_BYTES + 1);
#define COPY(index, name, offset, size) \
    if (first) \
        memcpy(initial + at, thread_local_##index, size); \
    memcpy(thread_local_##index, thread->bytes >= (offset) + (size) ? thread->block + (offset) : initial + at, size); \
    at += size;
    THREAD_LOCALS(COPY)
}

static size_t captured_check(const char *name, const char *address, const char *found, size_t count)
{
    size_t different = 0;
    for (size_t i = 0; i < count; i++) {
        const struct page *page = page_of(address + i);
        const char *expected = page ? page->after + (uint64_t)(address + i) % PAGE_BYTES : zero_page;
        different += bytes_check(name, address + i, expected, found + i, 1);
    }
    return different;
}

size_t thread_locals_check(void)
{
    size_t different = 0;
#pragma omp parallel reduction(+ : different)
    {
        const struct captured_thread *thread = thread_of(omp_get_thread_num());
        (void)thread, (void)captured_check;
#define CHECK(index, name, offset, size) \
    if (thread->bytes >= (offset) + (size)) \
        different += captured_check(name, thread->block + (offset), thread_local_##index, size);
#pragma omp critical
        {
            THREAD_LOCALS(CHECK)
        }
    }
    return different;
}

/* ---- words of captured memory that must change, for good ---------------------------------------------------------------------- */

static void patch(uint64_t address, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct page *page = page_of((void *)(address + i));
        size_t offset = (address + i) % PAGE_BYTES;
        if (!page || !page->before || page->before == zero_page)
            continue;
        char byte = ((const char *)bytes)[i];
        page->address[offset] = page->before[offset] = byte;
        if (page->after != zero_page)
            page->after[offset] = byte;
    }
}

/* Words that held addresses of libraries get those of this process's libraries (addresses.s). */
struct library_word { uint64_t address; const char *symbol; int64_t addend; uint64_t kind; };
enum { WORD_ADDRESS, WORD_DATA, WORD_COPY };
extern const struct library_word library_words[], library_words_end[];

static void library_word_set(const struct library_word *word)
{
    const struct page *page = page_of((void *)word->address);
    uint64_t held = 0, value = (uint64_t)word->symbol + (uint64_t)word->addend;
    if (page && page->before)
        memcpy(&held, page->before + word->address % PAGE_BYTES, sizeof held);
    if (word->kind == WORD_COPY)
        patch(word->address, word->symbol, (size_t)word->addend);
    else if (word->kind == WORD_ADDRESS || (held && !is_captured((void *)held)))    /* the program may have changed its data since */
        patch(word->address, &value, sizeof value);
}

/* At the old address of a function, which captured data may hold, stands a jump to the function. */
struct function { uint64_t address; const char *code; };
extern const struct function functions[], functions_end[];

static void function_redirect(const struct function *function)
{
    unsigned char jump[5] = {0xe9};
    int64_t distance = (int64_t)((uint64_t)function->code - (function->address + sizeof jump));
    int32_t near = (int32_t)distance;
    memcpy(jump + 1, &near, sizeof near);
    if (near == distance)
        patch(function->address, jump, sizeof jump);
}

/* Where the capture's libraries had a function that captured data may point to, stands a jump to ours; where a constant, a copy. Ascending. */
struct external { uint64_t address; const char *symbol; uint64_t bytes; };
extern const struct external externals[], externals_end[];
enum { FAR_JUMP_BYTES = 14 };

static uint64_t external_end(const struct external *external)
{
    return external->address + (external->bytes ? external->bytes : FAR_JUMP_BYTES);
}

static int external_is_wanted(const struct external *external)
{
    return external->symbol && (uint64_t)external->symbol != external->address && !is_captured((void *)external->address);
}

static void externals_place(void)
{
    static const unsigned char jump[FAR_JUMP_BYTES - 8] = {0xff, 0x25};     /* jmp *0(%rip), and the address behind it */
    uint64_t mapped = 0, used = 0;
    for (const struct external *external = externals; external < externals_end; external++) {
        uint64_t start = external->address & ~(PAGE_BYTES - 1), end = (external_end(external) + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
        if (!external_is_wanted(external) || external->address < used)      /* another name of the same */
            continue;
        start = start < mapped ? mapped : start;
        if (start < end && mmap((void *)start, end - start, PROT_READ | PROT_WRITE | PROT_EXEC,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (void *)start) {
            fprintf(stderr, "addresses of the capture's libraries are taken: run again\n");
            exit(1);
        }
        mapped = end > mapped ? end : mapped;
        used = external_end(external);
        memcpy((void *)external->address, external->bytes ? external->symbol : (const char *)jump, external->bytes ? external->bytes : sizeof jump);
        if (!external->bytes)
            memcpy((char *)external->address + sizeof jump, &external->symbol, sizeof external->symbol);
    }
}

/* C++ streams: each unit of a program asks for them in a constructor, and constructors are not run again. */
extern void streams_start(void *object) __asm__("_ZNSt8ios_base4InitC1Ev") __attribute__((weak));

void support_start(void)
{
    static char object[16];
    if (streams_start)
        streams_start(object);
    for (const struct library_word *word = library_words; word < library_words_end; word++)
        if (word->symbol)
            library_word_set(word);
    for (const struct function *function = functions; function < functions_end; function++)
        if (function->code)
            function_redirect(function);
    externals_place();
}

/* ---- locks: states of the OpenMP runtime, made anew ---------------------------------------------------------------------------- */

void support_restore(void)
{
#define LOCK(kind, address, hint, held)                                         \
    omp_init_##kind##_with_hint((void *)address, (omp_sync_hint_t)hint);        \
    for (int i = 0; i < held; i++)                                              \
        omp_set_##kind((void *)address);
    LOCKS(LOCK)
    if (THREAD_LOCAL_BYTES) {
#pragma omp parallel
        thread_locals_copy();
    }
}

/* ---- the heap: captured blocks are no blocks of this process's allocator --------------------------------------------------------- */

void __libc_free(void *block);
void *__libc_realloc(void *block, size_t bytes);

__attribute__((weak)) void free(void *block)
{
    if (!is_captured(block))
        __libc_free(block);
}

/* The size stands in front of a block, where the GNU C library keeps it; bit 1: mapped on its own. */
static size_t captured_bytes(const void *block)
{
    size_t known = ((const size_t *)block)[-1];
    return (known & ~(size_t)7) - (known & 2 ? 16 : 8);
}

__attribute__((weak)) void *realloc(void *block, size_t bytes)
{
    if (!block || !is_captured(block))
        return __libc_realloc(block, bytes);
    size_t known = captured_bytes(block);
    void *grown = malloc(bytes);
    return grown ? memcpy(grown, block, known < bytes ? known : bytes) : NULL;
}

__attribute__((weak)) size_t malloc_usable_size(void *block)
{
    static size_t (*next)(void *);
    if (block && is_captured(block))
        return captured_bytes(block);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "malloc_usable_size");
    return next(block);
}

__attribute__((weak, visibility("hidden"))) void *__dso_handle;     /* C++ code refers to it */
