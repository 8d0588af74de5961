/* capture-rt/target/linked.c - what this library and the profiler's need where they are no shared libraries, but an object of a statically linked program (pcere-static.o).
 *
 * There is no dynamic linker to be asked: names come from a table that the linker filled. The object is made of the libraries' other parts as they are, in
 * which objcopy(1) renames what wrapped.inc lists.
 */
#include "capture-rt/target/target.h"

#include <dlfcn.h>
#include <string.h>

extern char __pcere_linked_text[];

/* Behind the wrapped functions, and the libraries' own. */
#define PCERE_WRAPPED(name) extern char __real_##name[], __wrap_##name[];
#define PCERE_WRAPPED_MAYBE(name) extern char __real_##name[] __attribute__((weak)), __wrap_##name[];
#define PCERE_WRAPPED_ALIAS(name)
#define PCERE_WRAPPED_TWICE(name, captured) PCERE_WRAPPED(name) extern char captured[];
#define PCERE_PROFILED(name) PCERE_WRAPPED(name)
#define PCERE_ASKED(name) extern char name[];
#define PCERE_ASKED_MAYBE(name) extern char name[] __attribute__((weak));
#define PCERE_RENAMED(from, to)
#include "capture-rt/target/wrapped.inc"
#undef PCERE_WRAPPED
#undef PCERE_WRAPPED_MAYBE
#undef PCERE_WRAPPED_TWICE
#undef PCERE_ASKED
#undef PCERE_ASKED_MAYBE

static const struct { const char *name; char *behind, *first, *captured; } functions[] = {      /* captured: behind the profiler's */
#define PCERE_WRAPPED(name) {#name, __real_##name, __wrap_##name, __real_##name},
#define PCERE_WRAPPED_MAYBE(name) PCERE_WRAPPED(name)
#define PCERE_WRAPPED_TWICE(name, captured) {#name, __real_##name, __wrap_##name, captured},
#define PCERE_ASKED(name) {#name, name, name, name},
#define PCERE_ASKED_MAYBE(name) PCERE_ASKED(name)
#include "capture-rt/target/wrapped.inc"
};

#define LINKED __attribute__((visibility("hidden")))
LINKED void *pcere_linked_dlsym(void *object, const char *name);
LINKED void *pcere_profiler_dlsym(void *object, const char *name);
LINKED int pcere_linked_dladdr(const void *address, Dl_info *facts);
LINKED int pcere_linked_dladdr1(const void *address, Dl_info *facts, void **extra, int flags);
LINKED void *pcere_linked_dlopen(const char *path, int flags);
LINKED int pcere_linked_dlclose(void *object);
LINKED void *pcere_linked_tls_get_addr(void *index);

static bool is_programs(const char *address)
{
    return (uintptr_t)address < (uintptr_t)__pcere_linked_text;
}

/* Of a program that has an allocator of its own, without that function. */
static void *memalign_by_others(size_t alignment, size_t bytes)
{
    int (*posix)(void **ret_block, size_t alignment, size_t bytes);
    void *other = __real_posix_memalign, *block = NULL;
    memcpy(&posix, &other, sizeof posix);
    return posix && posix(&block, alignment < sizeof block ? sizeof block : alignment, bytes) == 0 ? block : NULL;
}

/* What allocates is the program's own where it defines that itself: then only the OpenMP runtime asks the library first. */
void *pcere_linked_dlsym(void *object, const char *name)
{
    if (strcmp(name, "memalign") == 0 && !__real_memalign)
        return (void *)(uintptr_t)TARGET_ADDRESS(memalign_by_others);
    bool own_malloc = strcmp(name, "malloc") == 0 && is_programs(__real_malloc);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return object == RTLD_NEXT || own_malloc ? functions[i].behind : functions[i].first;
    return NULL;
}

void *pcere_profiler_dlsym(void *object, const char *name)
{
    (void)object;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return functions[i].captured;
    return NULL;
}

/* The program is one object, and the runtimes behind it are another. */
int pcere_linked_dladdr(const void *address, Dl_info *facts)
{
    static char program;
    *facts = (Dl_info){.dli_fbase = is_programs(address) ? &program : __pcere_linked_text};
    return 1;
}

int pcere_linked_dladdr1(const void *address, Dl_info *facts, void **extra, int flags)
{
    (void)address, (void)facts, (void)extra, (void)flags;
    return 0;
}

void *pcere_linked_dlopen(const char *path, int flags)
{
    (void)path, (void)flags;
    return NULL;
}

int pcere_linked_dlclose(void *object)
{
    (void)object;
    return 0;
}

/* Of libraries, and there are none. */
void *pcere_linked_tls_get_addr(void *index)
{
    return index;
}
