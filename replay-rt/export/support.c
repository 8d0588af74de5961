/* support.c - what captured memory needs beside it: thread-local variables, locks, addresses in libraries and of functions.
 *
 * The tables are in region.h; an empty one makes its part do nothing.
 */
#define _GNU_SOURCE
#include "codelet.h"
#include "region.h"

#include <dlfcn.h>
#include <link.h>
#include <locale.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- thread-local variables: copied into this process's blocks, by the thread's number ---------------------------------------- */

#define DECLARE(image, bytes) extern _Thread_local char pcere_thread_block_##image[bytes];
THREAD_BLOCKS(DECLARE)

static const struct block { int image; size_t bytes; } blocks[] = {
#define BLOCK(image, bytes) {image, bytes},
    THREAD_BLOCKS(BLOCK)
    {-1, 0},
};

static char *block_of(int image)                    /* the calling thread's */
{
    switch (image) {
#define CASE(image, bytes) case image: return pcere_thread_block_##image;
        THREAD_BLOCKS(CASE)
    }
    return NULL;
}

static const struct captured_thread { int image, number; char *block; size_t bytes; } threads[] = {
#define THREAD(image, number, address, bytes) {image, number, (char *)address, bytes},
    THREADS(THREAD)
    {-1, -1, NULL, 0},
};

static const struct captured_thread *thread_of(int image, int number)
{
    const struct captured_thread *thread = threads;
    while (thread->number >= 0 && (thread->number != number || thread->image != image))
        thread++;
    return thread->number < 0 ? NULL : thread;
}

/* A thread that the capture did not have begins with initial values, which it has until its first region. */
static char *first_values(const struct block *block)
{
    enum { THREADS_MOST_HERE = 4096 };
    static char *known[THREADS_MOST_HERE][sizeof blocks / sizeof *blocks];
    int number = omp_get_thread_num();
    if (number >= THREADS_MOST_HERE)
        return NULL;
    char **first = &known[number][block - blocks];
    if (!*first && (*first = malloc(block->bytes)))
        memcpy(*first, block_of(block->image), block->bytes);
    return *first;
}

static void thread_locals_copy(void)
{
    for (const struct block *block = blocks; block->bytes; block++) {
        const struct captured_thread *thread = thread_of(block->image, omp_get_thread_num());
        const char *from = thread ? thread->block : first_values(block);
        if (from)
            memcpy(block_of(block->image), from, thread && thread->bytes < block->bytes ? thread->bytes : block->bytes);
    }
}

static void words_point(const struct captured_thread *thread, char *page)
{
    uint64_t *words = (uint64_t *)page, low = (uint64_t)thread->block;
    for (size_t i = 0; page && page != zero_page && i < PAGE_BYTES / sizeof *words; i++)
        if (words[i] - low < thread->bytes)
            words[i] += (uint64_t)block_of(thread->image) - low;
}

/* Captured words that lead into a thread's block lead into that of this process's thread, in what is restored and in what the program had afterwards: objects keep addresses of
 * themselves. */
void thread_locals_point(void)
{
    if (threads[0].number < 0)
        return;
#pragma omp parallel
#pragma omp critical
    for (const struct captured_thread *thread = threads; thread->number >= 0; thread++)
        for (size_t i = 0; thread->number == omp_get_thread_num() && i < page_count; i++) {
            words_point(thread, pages[i].before);
            if (pages[i].after != pages[i].before)
                words_point(thread, pages[i].after);
        }
}

static size_t thread_check(const struct captured_thread *thread, size_t bytes)
{
    const char *found = block_of(thread->image);
    size_t different = 0;
    for (size_t at = 0, piece; at < bytes; at += piece) {
        const struct page *page = page_of(thread->block + at);
        size_t offset = (uint64_t)(thread->block + at) % PAGE_BYTES;
        piece = PAGE_BYTES - offset < bytes - at ? PAGE_BYTES - offset : bytes - at;
        different += words_check("a thread-local variable", thread->block + at, page ? page->after + offset : zero_page + offset, found + at, piece);
    }
    return different;
}

size_t thread_locals_check(void)
{
    size_t different = 0;
#pragma omp parallel reduction(+ : different)
    for (const struct block *block = blocks; block->bytes; block++) {
        const struct captured_thread *thread = thread_of(block->image, omp_get_thread_num());
#pragma omp critical
        different += thread ? thread_check(thread, thread->bytes < block->bytes ? thread->bytes : block->bytes) : 0;
    }
    return different;
}

/* ---- words of captured memory that must change, for good ---------------------------------------------------------------------- */

/* Words that held addresses of libraries get those of this process's libraries (addresses.s). */
struct library_word { uint64_t address; const char *symbol; int64_t addend; uint64_t kind; };
enum { WORD_ADDRESS, WORD_DATA, WORD_COPY, WORD_MODULE, WORD_THREAD };
extern const struct library_word library_words[], library_words_end[];

struct module_search { const char *name; uint64_t number; };

static int module_match(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct module_search *search = context;
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)bytes;
    if (!strcmp(slash ? slash + 1 : info->dlpi_name, search->name))
        search->number = info->dlpi_tls_modid;
    return 0;
}

/* The dynamic linker's number of the image's thread-local variables; the executable is 1. */
static uint64_t module_of(int image)
{
    char name[32];
    snprintf(name, sizeof name, "image%d.so", image);
    struct module_search search = {name, 1};
    dl_iterate_phdr(module_match, &search);
    return search.number;
}

static void library_word_set(const struct library_word *word)
{
    const struct page *page = page_of((void *)word->address);
    uint64_t held = 0, value = (uint64_t)word->symbol + (uint64_t)word->addend;
    if (page && page->before)
        memcpy(&held, page->before + word->address % PAGE_BYTES, sizeof held);
    if (word->kind == WORD_MODULE)
        value = module_of((int)value);
    else if (word->kind == WORD_THREAD)
        value = (uint64_t)(block_of((int)(uint64_t)word->symbol) - (char *)__builtin_thread_pointer() + word->addend);
    else if (word->kind != WORD_ADDRESS && (!word->symbol || (word->kind == WORD_DATA && (!held || is_captured((void *)held)))))
        return;                                     /* the program may have changed its data since */
    if (word->kind == WORD_COPY)
        memory_patch(word->address, word->symbol, NULL, (size_t)word->addend);
    else
        memory_patch(word->address, &value, NULL, sizeof value);
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
        memory_patch(function->address, jump, NULL, sizeof jump);
}

/* Where the capture's libraries had a function that captured data may point to, stands a jump to ours; where a constant, a copy. Ascending. */
struct external { uint64_t address; const char *symbol; uint64_t bytes; };
extern const struct external externals[], externals_end[];
enum { FAR_JUMP_BYTES = 14 };

/* The same of the C library's "C" locale and of what std::pmr allocates from by default, which have no names: copies. */
struct __locale_struct __pcere_c_locale;
unsigned short __pcere_c_classes[384];
int __pcere_c_lower[384], __pcere_c_upper[384];
void *__pcere_new_delete_resource, *__pcere_null_resource, *__pcere_libcxx_new_delete_resource, *__pcere_libcxx_null_resource;

/* Weak, not looked up: of what it does not find the loader speaks with the program's name, which may be gone with the first stack. */
typedef void *resource_answer(void);
extern resource_answer _ZNSt3pmr19new_delete_resourceEv __attribute__((weak)), _ZNSt3pmr20null_memory_resourceEv __attribute__((weak));
extern resource_answer _ZNSt3__13pmr19new_delete_resourceEv __attribute__((weak)), _ZNSt3__13pmr20null_memory_resourceEv __attribute__((weak));

/* It is a pointer to its virtual table and no more. */
static void resource_copy(resource_answer *answer, void **to)
{
    void **resource = answer ? answer() : NULL;
    if (resource)
        *to = *resource;
}

static void constants_copy(void)
{
    resource_copy(_ZNSt3pmr19new_delete_resourceEv, &__pcere_new_delete_resource);
    resource_copy(_ZNSt3pmr20null_memory_resourceEv, &__pcere_null_resource);
    resource_copy(_ZNSt3__13pmr19new_delete_resourceEv, &__pcere_libcxx_new_delete_resource);
    resource_copy(_ZNSt3__13pmr20null_memory_resourceEv, &__pcere_libcxx_null_resource);
    locale_t c = newlocale(LC_ALL_MASK, "C", NULL);
    memcpy(&__pcere_c_locale, c, sizeof __pcere_c_locale);
    memcpy(__pcere_c_classes, c->__ctype_b - 128, sizeof __pcere_c_classes);
    memcpy(__pcere_c_lower, c->__ctype_tolower - 128, sizeof __pcere_c_lower);
    memcpy(__pcere_c_upper, c->__ctype_toupper - 128, sizeof __pcere_c_upper);
}

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
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (void *)start)
            process_again("addresses of the capture's libraries are taken");
        for (; start < end; start += PAGE_BYTES) {
            const void *own = library_page(start);
            if (own)                                /* what lies between those that have a name */
                memcpy((void *)start, own, PAGE_BYTES);
        }
        mapped = end > mapped ? end : mapped;
        used = external_end(external);
        memcpy((void *)external->address, external->bytes ? external->symbol : (const char *)jump, external->bytes ? external->bytes : sizeof jump);
        if (!external->bytes)
            memcpy((char *)external->address + sizeof jump, &external->symbol, sizeof external->symbol);
    }
}

/* C++ streams: each unit of a program asks for them in a constructor, and constructors are not run again. A program that has the C++ library
 * in itself has its streams in captured memory, as they were. */
extern void streams_start(void *object) __asm__("_ZNSt8ios_base4InitC1Ev") __attribute__((weak));

/* What the unwinder must know of machine code in captured memory. */
extern void frames_register(const void *frames) __asm__("__register_frame") __attribute__((weak));

void support_start(void)
{
    static char object[16];
    if (streams_start && !is_captured((void *)streams_start))
        streams_start(object);
    for (const struct library_word *word = library_words; word < library_words_end; word++)
        library_word_set(word);
    for (const struct function *function = functions; function < functions_end; function++)
        if (function->code)
            function_redirect(function);
    constants_copy();
    libraries_start();
    externals_place();
#define REGISTER(address) \
    if (frames_register && page_of((void *)address)) \
        frames_register((void *)address);
    FRAMES(REGISTER)
}

/* ---- locks: states of the OpenMP runtime, made anew ---------------------------------------------------------------------------- */

static void team_remember(void);
static void copies_begin(void);

static void locks_hold(int thread)
{
#define HOLD(kind, address, hint, held, owner)             \
    for (int i = 0; thread == owner && i < held; i++)      \
        omp_set_##kind((void *)address);
    LOCKS(HOLD)
    (void)thread;
}

void support_restore(void)
{
    int owner = 0;
#define LOCK(kind, address, hint, held, by)                                     \
    omp_init_##kind##_with_hint((void *)address, (omp_sync_hint_t)hint);        \
    owner = held && by > owner ? by : owner;
    LOCKS(LOCK)
    if (owner >= omp_get_max_threads()) {
        fprintf(messages, "codelet: thread %d holds a lock, and there are only %d\n", owner, omp_get_max_threads());
        _exit(2);
    }
    if (owner) {
#pragma omp parallel
        locks_hold(omp_get_thread_num());
    } else {
        locks_hold(0);
    }
    if (blocks[0].bytes || THREAD_COPIES) {
#pragma omp parallel
        {
            thread_locals_copy();
            team_remember();
            copies_begin();
        }
    }
}

/* ---- threadprivate variables that are no thread-local ones: a captured thread has its copy in captured memory ------------------------------- */

enum { NUMBERS_MOST = 32768, VARIABLES_MOST = 256 };
static short team_number[NUMBERS_MOST];             /* 1 + the number in the region's team, by the OpenMP runtime's number of the thread */
struct thread_copy { uint64_t variable, copy, bytes; uint32_t global_thread, team; };
struct thread_copies { uint64_t magic, count; struct thread_copy items[]; };

#define DECLARE_FIRST(image, segment, address, bytes, all_bytes) extern const char pcere_first_values_##image##_##segment[];
FIRST_VALUES(DECLARE_FIRST)

static const struct first { uint64_t address, bytes, all_bytes; const char *values; } firsts[] = {
#define FIRST(image, segment, address, bytes, all_bytes) {address, bytes, all_bytes, pcere_first_values_##image##_##segment},
    FIRST_VALUES(FIRST)
    {0, 0, 0, NULL},
};

static struct known { void *variable, **cache; size_t bytes; } copies_known[VARIABLES_MOST];

/* A thread that had no copy in the capture begins with what the variable holds when the program starts: the OpenMP runtime copies what it holds now. */
static void copy_begin(const struct known *known, char *copy)
{
    const struct first *first = firsts;
    while (first->values && (uint64_t)known->variable - first->address >= first->all_bytes)
        first++;
    if (!first->values || copy == known->variable)
        return;
    uint64_t offset = (uint64_t)known->variable - first->address, held = offset < first->bytes ? first->bytes - offset : 0;
    held = held < known->bytes ? held : known->bytes;
    memcpy(copy, first->values + offset, held);
    memset(copy + held, 0, known->bytes - held);
}

/* The calling thread's, before each run. */
static void copies_begin(void)
{
    int32_t number = __kmpc_global_thread_num(NULL);
    for (const struct known *known = copies_known; known < copies_known + VARIABLES_MOST && known->variable; known++) {
        void **copies = __atomic_load_n(&known->cache, __ATOMIC_ACQUIRE);
        if (copies && copies[number])
            copy_begin(known, copies[number]);
    }
}

static void *captured_copy(const void *variable, int32_t number)
{
    const struct thread_copies *copies = (const struct thread_copies *)THREAD_COPIES;
    if (!copies || !is_captured(copies) || number < 0 || number >= NUMBERS_MOST || !team_number[number])
        return NULL;
    for (uint64_t i = 0; i < copies->count; i++)
        if (copies->items[i].variable == (uint64_t)variable && copies->items[i].team == (uint32_t)team_number[number])
            return (void *)copies->items[i].copy;
    return NULL;
}

/* In front of the OpenMP runtime's, which for other threads makes copies; what it knew of them in the program is not here. */
void *__kmpc_threadprivate_cached(struct source_location *where, int32_t number, void *variable, size_t bytes, void ***cache)
{
    struct known *known = copies_known;
    static __typeof__(__kmpc_threadprivate_cached) *next;
    void *copy = captured_copy(variable, number);
    (void)cache;
    for (int i = 0; !copy && i < VARIABLES_MOST && known[i].variable; i++)       /* made before: without a lock, since regions ask for each use */
        if (known[i].variable == variable) {
            void **copies = __atomic_load_n(&known[i].cache, __ATOMIC_ACQUIRE);
            copy = copies ? __atomic_load_n(&copies[number], __ATOMIC_ACQUIRE) : NULL;
        }
    if (copy)
        return copy;
#pragma omp critical (codelet_copies)
    {
        int i = 0;
        if (!next)
            *(void **)&next = dlsym(RTLD_NEXT, "__kmpc_threadprivate_cached");
        while (i < VARIABLES_MOST - 1 && known[i].variable && known[i].variable != variable)
            i++;
        known[i].variable = variable;
        known[i].bytes = bytes;
        copy = next(where, number, variable, bytes, &known[i].cache);
        copy_begin(&known[i], copy);
    }
    return copy;
}

static void team_remember(void)
{
    int32_t number = __kmpc_global_thread_num(NULL);
    if (number >= 0 && number < NUMBERS_MOST)
        team_number[number] = (short)(1 + omp_get_thread_num());
}

__attribute__((weak, visibility("hidden"))) void *__dso_handle;     /* C++ code refers to it */
