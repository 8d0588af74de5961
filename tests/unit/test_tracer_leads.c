/* Which libraries of the system a capture cannot do without: by words that lead into them, and by what they keep. A process's own libjansson is looked at. */
#include "capture-rt/tracer/leads.h"
#include "capture-rt/tracer/libraries.h"
#include "tests/unit/unit.h"

#include <jansson.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct found { char path[4096]; uint64_t low, high, bias; };

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
    struct found *found = context;
    (void)size;
    if (!strstr(info->dlpi_name, "libjansson"))
        return 0;
    snprintf(found->path, sizeof found->path, "%s", info->dlpi_name);
    found->bias = info->dlpi_addr;
    found->low = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            uint64_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, end = start + info->dlpi_phdr[i].p_memsz;
            found->low = start < found->low ? start : found->low;
            found->high = end > found->high ? end : found->high;
        }
    return 1;
}

static struct found library;
static struct elf_file *elf;
static struct leads leads;
static const struct map_facts facts = {.image_low = 0x1000, .image_high = 0x2000, .page_bytes = 4096};

static void watch(void)
{
    struct pcere_error error = {0};
    struct map_entry stack = {.mapping = {.start = 0x8000, .end = 0x9000, .role = STORE_ROLE_STACK}};
    struct map_list maps = {.entries = &stack, .count = 1};
    library = (struct found){.high = 0};
    leads = (struct leads){.count = 0};
    CU_ASSERT_EQUAL_FATAL(dl_iterate_phdr(look_at, &library), 1);
    CU_ASSERT_EQUAL_FATAL(elf_file_open(library.path, &elf, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(leads_watch(&leads, elf, library.low, library.high, library.bias, false, &error), PCERE_OK);
    leads_place(&leads, &facts, &maps);
    leads.stack_pointer = 0x8400;
}

static bool leads_there(uint64_t word, uint64_t address)
{
    uint64_t memory[3] = {0, word, UINT64_MAX};
    watch();
    leads_scan(&leads, memory, address, sizeof memory);
    bool found = leads_found(&leads, library.low);
    leads_drop(&leads, library.low);
    CU_ASSERT_EQUAL(leads.count, 0);
    CU_ASSERT_FALSE(leads_found(&leads, library.low));
    leads_done(&leads);
    elf_file_close(elf);
    return found;
}

#define HEAP 0x100000u

static void named(void)
{
    CU_ASSERT_FALSE(leads_there((uint64_t)(uintptr_t)&json_object_get, HEAP));
    CU_ASSERT_FALSE(leads_there(library.low, HEAP));
    CU_ASSERT_FALSE(leads_there(library.low + sizeof(Elf64_Ehdr), HEAP));
    CU_ASSERT_FALSE(leads_there(library.low - 1, HEAP));
    CU_ASSERT_FALSE(leads_there(library.high, HEAP));
}

static void unnamed(void)
{
    CU_ASSERT_TRUE(leads_there((uint64_t)(uintptr_t)json_true(), HEAP));
    CU_ASSERT_TRUE(leads_there((uint64_t)(uintptr_t)&json_object_get + 1, HEAP));
}

static void places(void)
{
    CU_ASSERT_TRUE(leads_there((uint64_t)(uintptr_t)json_true(), 0x1800));
    CU_ASSERT_FALSE(leads_there((uint64_t)(uintptr_t)json_true(), 0x8200));
    CU_ASSERT_TRUE(leads_there((uint64_t)(uintptr_t)json_true(), 0x8800));
    CU_ASSERT_FALSE(leads_there((uint64_t)(uintptr_t)&json_object_get + 1, 0x8800));
}

static bool keeps_something(void)
{
    char *maps = NULL;
    struct pcere_error error = {0};
    watch();
    CU_ASSERT_EQUAL_FATAL(maps_text(getpid(), &maps, &error), PCERE_OK);
    leads_look(&leads, getpid(), maps);
    bool found = leads_found(&leads, library.low);
    free(maps);
    leads_done(&leads);
    elf_file_close(elf);
    return found;
}

static void keeps(void)
{
    CU_ASSERT_FALSE(keeps_something());
    json_object_seed(17);
    CU_ASSERT_TRUE(keeps_something());
}

static void threads(void)
{
    watch();
    CU_ASSERT_FALSE(leads_has_threads(elf));
    CU_ASSERT_TRUE(elf_file_imports(elf, "malloc"));
    CU_ASSERT_FALSE(elf_file_imports(elf, "json_object_get"));
    leads_done(&leads);
    elf_file_close(elf);
}

#define MAKER 0x7000u

static bool leaves(uint32_t count, uint64_t maker, bool may_thread)
{
    static struct capture_stop stop;
    watch();
    struct library_image image = {.low = library.low, .high = library.high, .watched = true, .may_thread = may_thread};
    struct libraries libraries = {.images = &image, .image_count = 1, .leads = leads};
    stop.maker_count = count;
    stop.makers[0] = MAKER;
    stop.makers[1] = maker;
    libraries_leave_threads(&libraries, &stop);
    CU_ASSERT_EQUAL(libraries.leads.count, image.watched);
    leads_done(&libraries.leads);
    elf_file_close(elf);
    return !image.watched;
}

static void thread_makers(void)
{
    watch();
    uint64_t inside = library.low + 64, end = library.high;
    leads_done(&leads);
    elf_file_close(elf);
    CU_ASSERT_FALSE(leaves(0, inside, true));
    CU_ASSERT_FALSE(leaves(1, inside, true));
    CU_ASSERT_TRUE(leaves(2, inside, true));
    CU_ASSERT_TRUE(leaves(2, inside, false));       /* a function of it that a thread begins with */
    CU_ASSERT_FALSE(leaves(2, end, true));
    CU_ASSERT_TRUE(leaves(CAPTURE_MAKERS_MAX + 1, end, true));
    CU_ASSERT_FALSE(leaves(CAPTURE_MAKERS_MAX + 1, end, false));
}

static const struct unit_test tests[] = {
    {"a library that was only loaded keeps nothing, one that drew a seed does", keeps},
    {"addresses of functions, and of what linkers need, have names", named},
    {"addresses of static objects, and of the inside of functions, have none", unnamed},
    {"words on the initial stack tell nothing below its pointer, nor where calls return to; those above it and of tables do", places},
    {"what a library wants from others is found", threads},
    {"a library that made threads is watched no longer; one that only could is, unless there were more makers than fit", thread_makers},
};

UNIT_MAIN("tracer: leads", tests)
