/* capture-rt/target/beside.c - two OpenMP runtimes in a process, GCC's before LLVM's: both have the functions of the standard, and which one a caller means says
 * the version of the name that it was linked with ("VERSION" is LLVM's).
 *
 * Names without a version lead to the first of them. Locks that one has made must not come before the other.
 */
#include "capture-rt/target/target.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

static void *behind;            /* handle of the runtime in which regions are entered; NULL: it stands first, or alone */
static const void *first;       /* where GCC's begins */

void target_beside_find(const void *fork)
{
    Dl_info entered, gcc;
    const void *parallel = dlsym(RTLD_NEXT, "GOMP_parallel");       /* LLVM's has it as well */
    if (behind || !fork || !parallel || !dladdr(fork, &entered) || !dladdr(parallel, &gcc) || entered.dli_fbase == gcc.dli_fbase)
        return;
    first = gcc.dli_fbase;
    behind = dlopen(entered.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
}

void *target_beside_pass(const char *name, void *found)
{
    Dl_info facts;
    return behind && found && dladdr(found, &facts) && facts.dli_fbase == first ? dlsym(behind, name) : found;
}

/* The tables of an object by which the dynamic linker binds names. */
struct names {
    const ElfW(Sym) *symbols;
    const char *strings;
    const ElfW(Half) *versions;
    const ElfW(Verneed) *needed;
    size_t undefined;           /* symbols that are looked at: those of other objects come first, where the hash table is GNU's */
};

static bool names_of(const struct link_map *object, struct names *ret_names)
{
    struct names names = {0};
    const uint32_t *hash = NULL, *gnu = NULL;
    for (const ElfW(Dyn) *entry = object->l_ld; entry->d_tag != DT_NULL; entry++) {
        /* glibc relocates most of these in place, not all */
        const void *at = (const void *)(entry->d_un.d_ptr < object->l_addr ? object->l_addr + entry->d_un.d_ptr : entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB: names.symbols = at; break;
        case DT_STRTAB: names.strings = at; break;
        case DT_VERSYM: names.versions = at; break;
        case DT_VERNEED: names.needed = at; break;
        case DT_HASH: hash = at; break;
        case DT_GNU_HASH: gnu = at; break;
        default: break;
        }
    }
    names.undefined = hash ? hash[1] : gnu ? gnu[1] : 0;
    *ret_names = names;
    return names.symbols && names.strings && names.versions && names.needed;
}

/* The version of a name that an object needs; NULL: none. */
static const char *version_needed(const struct names *names, const char *name)
{
    ElfW(Half) version = 0;
    for (size_t i = 1; i < names->undefined && !version; i++)
        if (names->symbols[i].st_shndx == SHN_UNDEF && strcmp(names->strings + names->symbols[i].st_name, name) == 0)
            version = names->versions[i] & 0x7fff;
    for (const char *file = (const char *)names->needed; version > 1;) {
        const ElfW(Verneed) *need = (const void *)file;
        for (const char *at = file + need->vn_aux;;) {
            const ElfW(Vernaux) *one = (const void *)at;
            if ((one->vna_other & 0x7fff) == version)
                return names->strings + one->vna_name;
            if (!one->vna_next)
                break;
            at += one->vna_next;
        }
        if (!need->vn_next)
            break;
        file += need->vn_next;
    }
    return NULL;
}

void *target_beside_other(const char *name, const void *caller)
{
    Dl_info facts;
    struct link_map *object = NULL;
    struct names names;
    void *found = behind ? dlsym(RTLD_NEXT, name) : NULL;
    if (!found || !dladdr(found, &facts) || facts.dli_fbase != first)
        return NULL;
    if (!dladdr1(caller, &facts, (void **)&object, RTLD_DL_LINKMAP) || !object)
        return NULL;
    const char *version = names_of(object, &names) ? version_needed(&names, name) : NULL;
    return version && strcmp(version, "VERSION") == 0 ? NULL : found;
}
