/* capture-rt/target/divert.c - calls of loaded objects are made to lead here, by their tables of addresses: the OpenMP runtime's of malloc, where the program's executable has
 * an allocator (lookup finds that first, so that the runtime's blocks would lie among the program's), and those that operators.c asks for.
 */
#include "capture-rt/target/target.h"

#include <link.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The same functions under names that no other object has. */
#define OWN(name) extern __typeof__(name) target_own_##name
OWN(malloc); OWN(calloc); OWN(realloc); OWN(free); OWN(memalign); OWN(aligned_alloc); OWN(posix_memalign); OWN(malloc_usable_size);
#undef OWN

struct runtime { uintptr_t inside; size_t diverted; };

static uint64_t own_address(const char *name)
{
#define OWN(wanted) {#wanted, (uint64_t)(uintptr_t)target_own_##wanted}
    const struct { const char *name; uint64_t address; } own[] = {OWN(malloc), OWN(calloc), OWN(realloc), OWN(free), OWN(memalign), OWN(aligned_alloc),
                                                                 OWN(posix_memalign), OWN(malloc_usable_size)};
#undef OWN
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(own[i].name, name))
            return own[i].address;
    return 0;
}

/* The linker may have made the table read-only behind the relocations. */
static bool word_write(const struct dl_phdr_info *info, uint64_t address, uint64_t value)
{
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), page = address & ~(page_bytes - 1);
    bool sealed = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_GNU_RELRO && address - (info->dlpi_addr + header->p_vaddr) < header->p_memsz)
            sealed = true;
    }
    if (sealed && mprotect((void *)page, page_bytes, PROT_READ | PROT_WRITE))
        return false;
    __atomic_store_n((uint64_t *)address, value, __ATOMIC_RELAXED);
    return !sealed || !mprotect((void *)page, page_bytes, PROT_READ);
}

static void table_divert(const struct dl_phdr_info *info, uint64_t relocations, uint64_t bytes, uint64_t symbols, uint64_t strings, target_own_address *address_of,
                         size_t *diverted)
{
    const ElfW(Rela) *rela = (const void *)relocations;
    for (size_t i = 0; rela && symbols && strings && i < bytes / sizeof *rela; i++) {
        uint64_t type = ELF64_R_TYPE(rela[i].r_info);
        if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
            continue;
        const ElfW(Sym) *symbol = (const ElfW(Sym) *)symbols + ELF64_R_SYM(rela[i].r_info);
        uint64_t own = address_of((const char *)strings + symbol->st_name);
        if (own && word_write(info, info->dlpi_addr + rela[i].r_offset, own))
            ++*diverted;
    }
}

size_t target_object_divert(const struct dl_phdr_info *info, target_own_address *address_of)
{
    const ElfW(Dyn) *dynamic = NULL;
    uint64_t value[DT_JMPREL + 1] = {0};
    size_t diverted = 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++)
        if (dynamic->d_tag >= 0 && dynamic->d_tag <= DT_JMPREL)
            value[dynamic->d_tag] = dynamic->d_un.d_val;
    if (value[DT_STRTAB] < info->dlpi_addr)
        return 0;                     /* the kernel's own object: its addresses are as in its file */
    table_divert(info, value[DT_JMPREL], value[DT_PLTRELSZ], value[DT_SYMTAB], value[DT_STRTAB], address_of, &diverted);
    table_divert(info, value[DT_RELA], value[DT_RELASZ], value[DT_SYMTAB], value[DT_STRTAB], address_of, &diverted);
    return diverted;
}

bool target_object_has(const struct dl_phdr_info *info, uintptr_t address)
{
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && address - (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) < info->dlpi_phdr[i].p_memsz)
            return true;
    return false;
}

static int runtime_divert(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct runtime *runtime = context;
    bool found = target_object_has(info, runtime->inside);
    (void)bytes;
    if (found)
        runtime->diverted = target_object_divert(info, own_address);
    return found;
}

bool target_allocator_divert(const void *inside)
{
    struct runtime runtime = {.inside = (uintptr_t)inside};
    dl_iterate_phdr(runtime_divert, &runtime);
    return runtime.diverted > 0;
}
