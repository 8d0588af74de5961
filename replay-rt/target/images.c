/* replay-rt/target/images.c - the shared objects with what was rebuilt of the user's libraries: their tables, and whether each lies where it was
 * linked for.
 */
#include "replay-rt/target/codelet.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

extern const struct codelet_region __start_pcere_regions[] __attribute__((weak, visibility("hidden")));
extern const struct codelet_region __stop_pcere_regions[] __attribute__((weak, visibility("hidden")));
extern const struct codelet_function __start_pcere_functions[] __attribute__((weak, visibility("hidden")));
extern const struct codelet_function __stop_pcere_functions[] __attribute__((weak, visibility("hidden")));
extern const struct codelet_tls __start_pcere_tls[] __attribute__((weak, visibility("hidden")));
extern const struct codelet_tls __stop_pcere_tls[] __attribute__((weak, visibility("hidden")));
extern const struct codelet_cache __start_pcere_caches[] __attribute__((weak, visibility("hidden")));
extern const struct codelet_cache __stop_pcere_caches[] __attribute__((weak, visibility("hidden")));
extern const struct codelet_constant __start_pcere_constants[] __attribute__((weak, visibility("hidden")));
extern const struct codelet_constant __stop_pcere_constants[] __attribute__((weak, visibility("hidden")));

static struct codelet_image *images;
static uint64_t *modules;
static size_t image_count;

struct module_search { uint64_t base; uint64_t module; };

static int module_match(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct module_search *search = context;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_addr + info->dlpi_phdr[i].p_vaddr == search->base) {
            search->module = bytes >= sizeof *info ? info->dlpi_tls_modid : 0;
            return 1;
        }
    return 0;
}

static void image_open(struct codelet *codelet, size_t index, const struct plan_image *from)
{
    const char *name = pcere_plan_string(codelet->plan, from->table);
    const struct codelet_image *table = dlsym(RTLD_DEFAULT, name);
    Dl_info about;
    if (!table || !dladdr(table, &about))
        pcere_plan_end(codelet, PLAN_FAILED, "the rebuilt library %s is not there", name);
    if ((uint64_t)about.dli_fbase != from->base)
        pcere_plan_end(codelet, PLAN_COLLIDED, "the rebuilt code of a library lies at %p, not at 0x%llx", about.dli_fbase,
                       (unsigned long long)from->base);
    images[index] = *table;
    struct module_search search = {.base = from->base};
    dl_iterate_phdr(module_match, &search);
    modules[index] = search.module;
}

void pcere_images_open(struct codelet *codelet)
{
    const struct plan_image *from = PLAN_TABLE(codelet, images, struct plan_image);
    size_t count = codelet->plan->images.count ? codelet->plan->images.count : 1;
    images = calloc(count, sizeof *images);
    modules = calloc(count, sizeof *modules);
    if (!images || !modules)
        pcere_plan_end(codelet, PLAN_FAILED, "no memory for the list of libraries");
    image_count = count;
    images[0] = (struct codelet_image){__start_pcere_regions, __stop_pcere_regions, __start_pcere_functions, __stop_pcere_functions,
                                       __start_pcere_tls, __stop_pcere_tls, __start_pcere_caches, __stop_pcere_caches,
                                       __start_pcere_constants, __stop_pcere_constants};
    for (size_t i = 1; i < count; i++)
        if (from[i].present)
            image_open(codelet, i, &from[i]);
}

bool pcere_images_are_at(const struct codelet *codelet, const void *base)
{
    const struct plan_image *plan = PLAN_TABLE(codelet, images, struct plan_image);
    for (size_t i = 1; base && i < image_count; i++)
        if (plan[i].present && plan[i].base == (uint64_t)base)
            return true;
    return false;
}

/* It reads the table to its end, which is where zeros begin: also those of pages that were not captured. */
void pcere_images_unwind(struct codelet *codelet, const struct memory *memory)
{
    const struct plan_image *from = PLAN_TABLE(codelet, images, struct plan_image);
    void (*frames_register)(const void *) = NULL;
    *(void **)&frames_register = dlsym(RTLD_DEFAULT, "__register_frame");      /* not there: nothing throws */
    for (size_t i = 0; frames_register && i < codelet->plan->images.count; i++)
        if (from[i].present && from[i].frames && pcere_memory_is_mapped(memory, from[i].frames))
            frames_register((const void *)from[i].frames);
}

size_t pcere_images_count(void)
{
    return image_count;
}

const struct codelet_image *pcere_image(size_t index)
{
    static const struct codelet_image none;
    return index < image_count ? &images[index] : &none;
}

uint64_t pcere_image_module(size_t index)
{
    return index < image_count ? modules[index] : 0;
}
