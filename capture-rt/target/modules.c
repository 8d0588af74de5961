/* capture-rt/target/modules.c - thread-local variables of libraries that were loaded while the program runs: a thread gets its block of them, from
 * the program's heap, when it first touches one. Done now, a region finds it done, and a replay need not repeat it.
 */
#include "capture-rt/target/target.h"

#include <link.h>
#include <string.h>

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
