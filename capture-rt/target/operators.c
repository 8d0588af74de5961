/* capture-rt/target/operators.c - operators new and delete of a library that is the program's allocator (mimalloc, tcmalloc, jemalloc): they do not call its malloc, so that what
 * allocator.c does inside captured regions passes them by.
 *
 *   program, its libraries, the C++ library  ── table of addresses ──▶  own_X here  ──▶  fresh blocks inside a captured region, else the library's X
 *
 * To stand before them by order would do harm: where the C++ library is only found from a plugin that the program loads, nothing stands behind. Operators of the
 * executable are called directly, and stay alone.
 */
#include "capture-rt/target/target.h"
#include "include/pcere/object_divert.h"

#include <dlfcn.h>
#include <stdint.h>

/* By the calling convention a function takes as many of these as it knows. */
typedef void *new_function(uintptr_t bytes, uintptr_t second, uintptr_t third);
typedef void delete_function(void *block, uintptr_t second, uintptr_t third);

/* X(mangled name, alignment of its blocks) */
#define NEWS(X) \
    X(_Znwm, 16) X(_Znam, 16) X(_ZnwmRKSt9nothrow_t, 16) X(_ZnamRKSt9nothrow_t, 16) \
    X(_ZnwmSt11align_val_t, second) X(_ZnamSt11align_val_t, second) X(_ZnwmSt11align_val_tRKSt9nothrow_t, second) X(_ZnamSt11align_val_tRKSt9nothrow_t, second)
#define DELETES(X) \
    X(_ZdlPv) X(_ZdaPv) X(_ZdlPvm) X(_ZdaPvm) X(_ZdlPvRKSt9nothrow_t) X(_ZdaPvRKSt9nothrow_t) X(_ZdlPvSt11align_val_t) X(_ZdaPvSt11align_val_t) \
    X(_ZdlPvmSt11align_val_t) X(_ZdaPvmSt11align_val_t) X(_ZdlPvSt11align_val_tRKSt9nothrow_t) X(_ZdaPvSt11align_val_tRKSt9nothrow_t)

#define OWN_NEW(name, alignment) \
    static new_function *next##name; \
    static void *own##name(uintptr_t bytes, uintptr_t second, uintptr_t third) \
    { \
        void *block = target_fresh_allocate(bytes, alignment); \
        return block ? block : next##name(bytes, second, third); \
    }
NEWS(OWN_NEW)

#define OWN_DELETE(name) \
    static delete_function *next##name; \
    static void own##name(void *block, uintptr_t second, uintptr_t third) \
    { \
        if (__builtin_expect(target_fresh_owns(block), 0)) \
            target_fresh_free(block); \
        else if (!__builtin_expect(target_fresh_free_later(block), 0)) \
            next##name(block, second, third); \
    }
DELETES(OWN_DELETE)

#define ENTRY_NEW(name, alignment) {#name, (uintptr_t)own##name, &next##name},
#define ENTRY_DELETE(name) {#name, (uintptr_t)own##name, &next##name},
static const struct { const char *name; uintptr_t own; void *next; } operators[] = {NEWS(ENTRY_NEW) DELETES(ENTRY_DELETE)};

enum { OPERATORS = sizeof operators / sizeof *operators };

static uint64_t own_address(const char *name)
{
    if (name[0] != '_' || name[1] != 'Z')
        return 0;
    for (size_t i = 0; i < OPERATORS; i++)
        if (!strcmp(operators[i].name, name)) {
            const void *next;
            memcpy(&next, operators[i].next, sizeof next);
            return next ? operators[i].own : 0;
        }
    return 0;
}

struct objects { uintptr_t allocator; bool others; };

/* The executable comes first: where it is the allocator, nothing is done. This library asks for no operators. */
static int loaded_divert(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct objects *objects = context;
    bool executable = !objects->others, allocator = object_has(info, objects->allocator);
    (void)bytes;
    objects->others = true;
    if (!allocator)
        object_divert(info, own_address);
    return executable && allocator;
}

void target_operators_divert(void)
{
    struct objects objects = {.allocator = (uintptr_t)dlsym(RTLD_DEFAULT, "_Znwm")};
    const void *allocator = target_object_of((const void *)objects.allocator);
    if (!allocator || allocator != target_object_of((const void *)(uintptr_t)target_next.malloc))
        return;
    for (size_t i = 0; i < OPERATORS; i++) {
        const void *next = dlsym(RTLD_DEFAULT, operators[i].name);
        next = target_object_of(next) == allocator ? next : NULL;
        memcpy(operators[i].next, &next, sizeof next);
    }
    dl_iterate_phdr(loaded_divert, &objects);
}
