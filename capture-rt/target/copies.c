/* capture-rt/target/copies.c - threads' copies of threadprivate variables that the OpenMP runtime makes (-fnoopenmp-use-tls, flang).
 *
 * The runtime has them among its own data, which no dump holds. So each copy moves, when its thread first asks for it, to memory of the program's,
 * and the runtime's list for the variable says so from then on. An object with a constructor is made there at once, and destroyed when its thread ends.
 */
#include "capture-rt/target/target.h"

#include "include/pcere/threadprivate.h"

#include <errno.h>

#define AREA_BYTES ((size_t)4 << 30)
#define AREA_BYTES_LEAST ((size_t)16 << 20)
#define ALIGNMENT 128u
#define PAGE 4096u
#define MADE_MAX 256u

typedef void *constructor(void *copy);
typedef void *copier(void *copy, void *original);
typedef void destructor(void *copy);

typedef void *cached_call(void *ident, int32_t thread, void *variable, size_t bytes, void ***cache);
typedef void register_call(void *ident, void *variable, constructor *construct, copier *copy, destructor *destroy);
TARGET_EXPORT cached_call __kmpc_threadprivate_cached;
TARGET_EXPORT register_call __kmpc_threadprivate_register;

static cached_call *next_cached;
static register_call *next_register;

struct made { void *variable; constructor *construct; copier *copy; destructor *destroy; };   /* a variable whose copies are objects */

static struct {
    pthread_mutex_t mutex;
    struct threadprivate_table *table;      /* NULL: no copy yet */
    struct target_room room;
    char *next;
    bool refused;                           /* there is no room */
    struct made made[MADE_MAX];
    uint32_t made_count;
    pthread_key_t ending;                   /* of threads with objects */
    bool ending_made;
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
    if (!area.table && !area.refused && target_room_take(&area.room, AREA_BYTES, AREA_BYTES_LEAST) &&
        target_room_use(&area.room, area.room.start + sizeof *area.table)) {
        area.table = (struct threadprivate_table *)area.room.start;
        area.table->magic = THREADPRIVATE_MAGIC;
        area.next = area.room.start + ((sizeof *area.table + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1));
        target_state->log->copies_low = (uintptr_t)area.room.start;
        target_state->log->copies_high = (uintptr_t)area.room.end;
    }
    area.refused = !area.table;
    return area.table != NULL;
}

static const struct made *made_find(const void *variable)
{
    for (uint32_t i = 0; i < area.made_count; i++)
        if (area.made[i].variable == variable)
            return &area.made[i];
    return NULL;
}

/* Room for a copy, or the one that an earlier thread of that number had; NULL: none. */
static void *copy_place(int32_t thread, const void *variable, size_t bytes)
{
    if (thread < 0 || !area_open())
        return NULL;
    struct threadprivate_table *table = area.table;
    for (uint64_t i = 0; i < table->count; i++) {
        const struct threadprivate_copy *copy = &table->copies[i];
        if (copy->variable == (uintptr_t)variable && copy->global_thread == (uint32_t)thread && copy->bytes == bytes)
            return (void *)copy->copy;
    }
    if (table->count == THREADPRIVATE_COPIES_MAX || bytes > (size_t)(area.room.end - area.next) - ALIGNMENT || !target_room_use(&area.room, area.next + bytes))
        return NULL;
    char *place = area.next;
    area.next += (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    table->copies[table->count] = (struct threadprivate_copy){(uintptr_t)variable, (uintptr_t)place, bytes, (uint32_t)thread, 0};
    __atomic_store_n(&table->count, table->count + 1, __ATOMIC_RELEASE);
    return place;
}

/* The thread ends: so do its objects, the last one first, as the runtime's would. */
static void objects_end(void *number)
{
    uint32_t thread = (uint32_t)(uintptr_t)number - 1;
    struct threadprivate_table *table = area.table;
    for (uint64_t i = __atomic_load_n(&table->count, __ATOMIC_ACQUIRE); i-- > 0;) {
        const struct threadprivate_copy *copy = &table->copies[i];
        const struct made *made = copy->global_thread == thread ? made_find((const void *)copy->variable) : NULL;
        if (made && made->destroy)
            made->destroy((void *)copy->copy);
    }
}

/* The initial thread has the variable itself, and for that the runtime makes the list. */
static void *object_make(const struct made *made, void *ident, int32_t thread, size_t bytes, void ***cache)
{
    pthread_mutex_lock(&area.mutex);
    if (!area.ending_made)
        area.ending_made = pthread_key_create(&area.ending, objects_end) == 0;
    void *place = area.ending_made ? copy_place(thread, made->variable, bytes) : NULL;
    pthread_mutex_unlock(&area.mutex);
    if (!place)
        return NULL;
    if (!__atomic_load_n(cache, __ATOMIC_ACQUIRE))
        next_cached(ident, 0, made->variable, bytes, cache);
    memset(place, 0, bytes);
    if (made->construct)
        made->construct(place);
    else
        made->copy(place, made->variable);
    pthread_setspecific(area.ending, (void *)((uintptr_t)thread + 1));
    __atomic_store_n(&(*cache)[thread], place, __ATOMIC_RELEASE);
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
    const struct made *made = target_state->active && thread > 0 ? made_find(variable) : NULL;
    if (made && (copy = object_make(made, ident, thread, bytes, cache)))
        return copy;
    copy = next_cached(ident, thread, variable, bytes, cache);
    if (copy == variable || !copy || !target_state->active || made)
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

TARGET_EXPORT void __kmpc_threadprivate_register(void *ident, void *variable, constructor *construct, copier *copy, destructor *destroy)
{
    target_runtime_attach(__builtin_return_address(0));
    pthread_mutex_lock(&area.mutex);
    if (area.made_count < MADE_MAX && (construct || copy))
        area.made[area.made_count++] = (struct made){variable, construct, copy, destroy};
    pthread_mutex_unlock(&area.mutex);
    if (next_register)
        next_register(ident, variable, construct, copy, destroy);
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
    *ret_end = (uintptr_t)area.room.end;
    return true;
}
