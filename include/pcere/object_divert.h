/* include/pcere/object_divert.h - calls of a loaded object are made to lead elsewhere, by its table of addresses. */
#ifndef PCERE_OBJECT_DIVERT_H
#define PCERE_OBJECT_DIVERT_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined __aarch64__
#define OBJECT_JUMP_SLOT R_AARCH64_JUMP_SLOT
#define OBJECT_GLOB_DAT R_AARCH64_GLOB_DAT
#else
#define OBJECT_JUMP_SLOT R_X86_64_JUMP_SLOT
#define OBJECT_GLOB_DAT R_X86_64_GLOB_DAT
#endif

typedef uint64_t object_address(const char *name);     /* where calls of that function are to lead; 0: where they do */

/* The linker may have made the table read-only behind the relocations. */
static inline bool object_word_write(const struct dl_phdr_info *info, uint64_t address, uint64_t value)
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

static inline size_t object_table_divert(const struct dl_phdr_info *info, uint64_t relocations, uint64_t bytes, uint64_t symbols, uint64_t strings,
                                         object_address *address_of)
{
    const ElfW(Rela) *rela = (const void *)relocations;
    size_t diverted = 0;
    for (size_t i = 0; rela && symbols && strings && i < bytes / sizeof *rela; i++) {
        uint64_t type = ELF64_R_TYPE(rela[i].r_info);
        if (type != OBJECT_JUMP_SLOT && type != OBJECT_GLOB_DAT)
            continue;
        const ElfW(Sym) *symbol = (const ElfW(Sym) *)symbols + ELF64_R_SYM(rela[i].r_info);
        uint64_t address = address_of((const char *)strings + symbol->st_name);
        if (address && object_word_write(info, info->dlpi_addr + rela[i].r_offset, address))
            diverted++;
    }
    return diverted;
}

/* Number of words that lead elsewhere now. */
static inline size_t object_divert(const struct dl_phdr_info *info, object_address *address_of)
{
    const ElfW(Dyn) *dynamic = NULL;
    uint64_t value[DT_JMPREL + 1] = {0};
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++)
        if (dynamic->d_tag >= 0 && dynamic->d_tag <= DT_JMPREL)
            value[dynamic->d_tag] = dynamic->d_un.d_val;
    if (value[DT_STRTAB] < info->dlpi_addr)
        return 0;                     /* the kernel's own object: its addresses are as in its file */
    return object_table_divert(info, value[DT_JMPREL], value[DT_PLTRELSZ], value[DT_SYMTAB], value[DT_STRTAB], address_of)
           + object_table_divert(info, value[DT_RELA], value[DT_RELASZ], value[DT_SYMTAB], value[DT_STRTAB], address_of);
}

static inline bool object_has(const struct dl_phdr_info *info, uintptr_t address)
{
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && address - (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) < info->dlpi_phdr[i].p_memsz)
            return true;
    return false;
}

#endif
