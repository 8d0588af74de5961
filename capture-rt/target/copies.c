/* capture-rt/target/copies.c - threads' copies of threadprivate variables that the OpenMP runtime makes (-fnoopenmp-use-tls, flang).
 *
 * The runtime has them among its own data, which no dump holds. So each copy moves, when its thread first asks for it, to memory of the program's,
 * and the runtime's list for the variable says so from then on. Objects with constructors stay where they were made.
 */
#include "capture-rt/target/target.h"

#include "include/pcere/threadprivate.h"

#include <errno.h>
#include <sys/mman.h>

#define AREA_BYTES ((size_t)4 << 30)
#define AREA_BYTES_LEAST ((size_t)16 << 20)
#define ALIGNMENT 128u
#define PAGE 4096u
#define MADE_MAX 256u

typedef void *cached_call(void *ident, int32_t thread, void *variable, size_t bytes, void ***cache);
typedef void register_call(void *ident, void *variable, void *constructor, void *copier, void *destructor);
TARGET_EXPORT cached_call __kmpc_threadprivate_cached;
TARGET_EXPORT register_call __kmpc_threadprivate_register;

static cached_call *next_cached;
static register_call *next_register;

static struct {
    pthread_mutex_t mutex;
    struct threadprivate_table *table;      /* NULL: no copy yet */
    char *next, *end;
    bool refused;                           /* there is no room */
    const void *made[MADE_MAX];             /* variables with constructors */
    uint32_t made_count;
} area = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void target_copies_resolve(void)
{
    void *symbol = target_runtime_symbol("__kmpc_threadprivate_cached", TARGET_ADDRESS(__kmpc_threadprivate_cached));
    memcpy(&next_cached, &symbol, sizeof symbol);
    symbol = target_runtime_symbol("__kmpc_threadprivate_register", TARGET_ADDRESS(__kmpc_threadprivate_register));
    memcpy(&next_register, &symbol, sizeof symbol);
}

static bool area_open(void)
{
    for (size_t bytes = AREA_BYTES; !area.table && !area.refused && bytes >= AREA_BYTES_LEAST; bytes /= 4) {
        char *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (start == MAP_FAILED)
            continue;
        area.table = (struct threadprivate_table *)start;
        area.table->magic = THREADPRIVATE_MAGIC;
        area.next = start + ((sizeof *area.table + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1));
        area.end = start + bytes;
        target_state->log->copies_low = (uintptr_t)start;
        target_state->log->copies_high = (uintptr_t)area.end;
    }
    area.refused = !area.table;
    return area.table != NULL;
}

static bool is_made(const void *variable)
{
    bool made = area.made_count > MADE_MAX;
    for (uint32_t i = 0; !made && i < area.made_count; i++)
        made = area.made[i] == variable;
    return made;
}

/* Room for a copy, or the one that an earlier thread of that number had; NULL: none. */
static void *copy_place(int32_t thread, const void *variable, size_t bytes)
{
    if (is_made(variable) || thread < 0 || !area_open())
        return NULL;
    struct threadprivate_table *table = area.table;
    for (uint64_t i = 0; i < table->count; i++) {
        const struct threadprivate_copy *copy = &table->copies[i];
        if (copy->variable == (uintptr_t)variable && copy->global_thread == (uint32_t)thread && copy->bytes == bytes)
            return (void *)copy->copy;
    }
    if (table->count == THREADPRIVATE_COPIES_MAX || bytes > (size_t)(area.end - area.next) - ALIGNMENT)
        return NULL;
    char *place = area.next;
    area.next += (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    table->copies[table->count] = (struct threadprivate_copy){(uintptr_t)variable, (uintptr_t)place, bytes, (uint32_t)thread, 0};
    __atomic_store_n(&table->count, table->count + 1, __ATOMIC_RELEASE);
    return place;
}

TARGET_EXPORT void *__kmpc_threadprivate_cached(void *ident, int32_t thread, void *variable, size_t bytes, void ***cache)
{
    void **list = __atomic_load_n(cache, __ATOMIC_ACQUIRE);
    void *copy = list ? __atomic_load_n(&list[thread], __ATOMIC_RELAXED) : NULL;
    if (__builtin_expect(copy != NULL, 1))
        return copy;
    target_runtime_attach(__builtin_return_address(0));
    if (!next_cached)
        return variable;
    copy = next_cached(ident, thread, variable, bytes, cache);
    if (copy == variable || !copy || !target_state->active)
        return copy;
    int error = errno;
    pthread_mutex_lock(&area.mutex);
    void *place = copy_place(thread, variable, bytes);
    pthread_mutex_unlock(&area.mutex);
    errno = error;
    if (!place)
        return copy;
    memcpy(place, copy, bytes);
    __atomic_store_n(&(*cache)[thread], place, __ATOMIC_RELEASE);
    return place;
}

TARGET_EXPORT void __kmpc_threadprivate_register(void *ident, void *variable, void *constructor, void *copier, void *destructor)
{
    target_runtime_attach(__builtin_return_address(0));
    pthread_mutex_lock(&area.mutex);
    if (area.made_count < MADE_MAX)
        area.made[area.made_count] = variable;
    area.made_count += area.made_count <= MADE_MAX;
    pthread_mutex_unlock(&area.mutex);
    if (next_register)
        next_register(ident, variable, constructor, copier, destructor);
}

/* ---- at a stop ----------------------------------------------------------------------------------------------------------------- */

void target_copies_forget(void)
{
    for (uint64_t i = 0; area.table && i < __atomic_load_n(&area.table->count, __ATOMIC_ACQUIRE); i++)
        area.table->copies[i].team = 0;
}

void target_copies_note(int32_t thread, uint32_t number)
{
    for (uint64_t i = 0; area.table && i < __atomic_load_n(&area.table->count, __ATOMIC_ACQUIRE); i++)
        if (area.table->copies[i].global_thread == (uint32_t)thread)
            area.table->copies[i].team = number + 1;
}

bool target_copies_unused(uint64_t *ret_start, uint64_t *ret_end)
{
    if (!area.table)
        return false;
    pthread_mutex_lock(&area.mutex);
    uintptr_t next = ((uintptr_t)area.next + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    target_state->log->stop.copies_bytes = next - (uintptr_t)area.table;
    pthread_mutex_unlock(&area.mutex);
    *ret_start = next;
    *ret_end = (uintptr_t)area.end;
    return true;
}
