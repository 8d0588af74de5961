/* capture-rt/target/next_allocator.c - the allocator that the program has when it runs by itself: a preloaded or linked one, else the C library's.
 *
 * Its functions are found at the first call of any, which comes before constructors and second threads: a block goes back to where it came from.
 */
#include "capture-rt/target/target.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *block);

const void *target_object_of(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* A program of fixed addresses that points to malloc has an entry of its own for it, which all use: behind it stands the first definition. */
static bool is_an_entry(const void *address)
{
    Dl_info info;
    ElfW(Sym) *symbol = NULL;
    return address && dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol && symbol->st_shndx == SHN_UNDEF;
}

/* The executable's, if it has one, comes before all: this library's, and what comes after it. */
static void function_find(const char *name, void *ret_function)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (is_an_entry(symbol) || target_object_of(symbol) == target_object_of(&target_next))
        symbol = dlsym(RTLD_NEXT, name);
    if (symbol)
        memcpy(ret_function, &symbol, sizeof symbol);
}

/* While names are looked up, the C library serves. */
static void functions_find(void)
{
    int error = errno;
    struct target_allocator found = {.malloc = __libc_malloc, .calloc = __libc_calloc, .realloc = __libc_realloc, .memalign = __libc_memalign,
                                     .free = __libc_free, .usable = target_next.usable};
    target_next = found;
    function_find("malloc", &found.malloc);
    function_find("calloc", &found.calloc);
    function_find("realloc", &found.realloc);
    function_find("memalign", &found.memalign);
    function_find("free", &found.free);
    function_find("malloc_usable_size", &found.usable);
    target_next = found;
    errno = error;
}

static void *first_malloc(size_t bytes)
{
    functions_find();
    return target_next.malloc(bytes);
}

static void *first_calloc(size_t count, size_t bytes)
{
    functions_find();
    return target_next.calloc(count, bytes);
}

static void *first_realloc(void *block, size_t bytes)
{
    functions_find();
    return target_next.realloc(block, bytes);
}

static void *first_memalign(size_t alignment, size_t bytes)
{
    functions_find();
    return target_next.memalign(alignment, bytes);
}

static void first_free(void *block)
{
    functions_find();
    target_next.free(block);
}

static size_t first_usable(void *block)
{
    functions_find();
    return target_next.usable == first_usable ? 0 : target_next.usable(block);
}

struct target_allocator target_next = {first_malloc, first_calloc, first_realloc, first_memalign, first_free, first_usable};

bool target_allocator_is_ours(void)
{
    const void *first = dlsym(RTLD_DEFAULT, "malloc");
    return is_an_entry(first) || target_object_of(first) == target_object_of(&target_next);
}

bool target_allocator_is_foreign(void)
{
    static enum { UNKNOWN, FOREIGN, LIBRARYS } known;
    void *next;
    if (known != UNKNOWN)
        return known == FOREIGN;
    if (target_next.malloc == first_malloc)
        functions_find();
    memcpy(&next, &target_next.malloc, sizeof next);
    /* Some allocators are called __libc_malloc, too. */
    known = !target_allocator_is_ours() || target_object_of(next) != target_object_of(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")) ? FOREIGN : LIBRARYS;
    return known == FOREIGN;
}
