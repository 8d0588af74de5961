/* core/openmp_processors.c - the first thread's processors, as they were before constructors ran.
 *
 * Libraries that this one does not need are initialised before or after it as the dynamic linker likes. Objects are relocated before any is initialised, though, and what
 * a function of several variants is bound to is asked then: one that has but one variant tells this moment. No call of another object is possible there.
 */
#include "core/openmp_processors.h"

#include <link.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>

static cpu_set_t first;
static long first_bytes;    /* of `first`; not positive: unknown */

static void variant(void)
{
}

static void (*variant_choose(void))(void)
{
#ifdef __x86_64__
    long bytes;
    __asm__ volatile("syscall" : "=a"(bytes) : "0"(SYS_sched_getaffinity), "D"(0), "S"(sizeof first), "d"(&first) : "rcx", "r11", "memory");
    first_bytes = bytes;
#endif
    return variant;
}

#ifdef __x86_64__
void pcere_moment(void) __attribute__((ifunc("variant_choose"), visibility("hidden")));      /* a static one clang exports */
#else
static void pcere_moment(void) { variant_choose()(); }
#endif

static int is_gcc(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes, (void)context;
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    return name && strncmp(name, "/libgomp.so", strlen("/libgomp.so")) == 0;
}

void pcere_openmp_processors_free(void)
{
    cpu_set_t now;
    pcere_moment();
    if (first_bytes > 0 && sched_getaffinity(0, sizeof now, &now) == 0 && !CPU_EQUAL(&now, &first) && dl_iterate_phdr(is_gcc, NULL))
        sched_setaffinity(0, sizeof first, &first);
}
