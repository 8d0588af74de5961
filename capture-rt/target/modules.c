/* capture-rt/target/modules.c - thread-local variables of libraries that were loaded while the program runs: a thread gets its block of them, from
 * the program's heap, when it first touches one. Done now, a region finds it done, and a replay need not repeat it. And the words in which the dynamic linker
 * counts the thread-local objects of each library that have destructors.
 */
#include "capture-rt/target/target.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define MODULES_MAX 256u

struct tls_index { uint64_t module, offset; };

extern void *__tls_get_addr(struct tls_index *index);

static uint32_t modules[MODULES_MAX], module_count;

/* Libraries of the system are not captured. */
static bool is_of_the_system(const char *path)
{
    return strncmp(path, "/lib", 4) == 0 || strncmp(path, "/usr/lib", 8) == 0;
}

static int module_note(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)context;
    if (bytes >= sizeof *info && info->dlpi_tls_modid && info->dlpi_name[0] && !is_of_the_system(info->dlpi_name) && module_count < MODULES_MAX)
        modules[module_count++] = (uint32_t)info->dlpi_tls_modid;
    return 0;
}

void target_modules_find(void)
{
    module_count = 0;
    dl_iterate_phdr(module_note, NULL);
}

void target_modules_touch(void)
{
    for (uint32_t i = 0; i < module_count; i++)
        __tls_get_addr(&(struct tls_index){.module = modules[i]});
}

/* ---- the dynamic linker's counts ----------------------------------------------------------------------------------------------- */

#define DESCRIPTION_BYTES 2048u         /* of a library, as the dynamic linker has it, at most */

extern int __cxa_thread_atexit_impl(void (*end)(void *), void *object, void *dso) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static size_t count_offset;             /* in a library's description; 0: unknown */

static void nothing_end(void *object)
{
    (void)object;
}

static size_t description_read(const void *description, unsigned char bytes[DESCRIPTION_BYTES])
{
    struct iovec local = {bytes, DESCRIPTION_BYTES}, remote = {(void *)(uintptr_t)description, DESCRIPTION_BYTES};
    ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    return got < 0 ? 0 : (size_t)got;
}

/* No header tells where the count lies: one is made to grow. */
void target_modules_resolve(void)
{
    static unsigned char before[DESCRIPTION_BYTES], after[DESCRIPTION_BYTES];
    Dl_info about;
    void *description = NULL;
    if (!__cxa_thread_atexit_impl || !dladdr1((void *)(uintptr_t)nothing_end, &about, &description, RTLD_DL_LINKMAP) || !description)
        return;
    size_t bytes = description_read(description, before);
    if (__cxa_thread_atexit_impl(nothing_end, NULL, &__dso_handle) != 0 || description_read(description, after) < bytes)
        return;
    size_t at = 0;
    while (at < bytes && before[at] == after[at])
        at++;
    count_offset = at < bytes ? at & ~(sizeof(uint64_t) - 1) : 0;
}

/* The list is the linker's while it calls this. */
static int counts_note(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct capture_stop *stop = context;
    struct link_map *library = NULL;
    Dl_info about;
    (void)info;
    (void)bytes;
    if (!dladdr1((void *)(uintptr_t)nothing_end, &about, (void **)&library, RTLD_DL_LINKMAP) || !library)
        return 1;
    while (library->l_prev)
        library = library->l_prev;
    for (; library && stop->linker_word_count < CAPTURE_LINKER_WORDS_MAX; library = library->l_next)
        stop->linker_words[stop->linker_word_count++] = (uintptr_t)library + count_offset;
    return 1;
}

void target_modules_fill(struct capture_stop *stop)
{
    stop->linker_word_count = 0;
    if (count_offset)
        dl_iterate_phdr(counts_note, stop);
}
