/* capture-rt/target/symbols.c - what only the running process knows of its shared objects' functions.
 *
 * A function with several forms (STT_GNU_IFUNC: sin, memcpy, time) has the address that its resolver gives on this processor; the files do not
 * tell it. And random numbers have a state inside the C library that its own functions alone give away, so these are asked, but only
 * in programs that import them.
 */
#include "capture-rt/target/target.h"

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

struct table { const ElfW(Sym) *symbols; const char *strings; size_t count; };

static const void *dynamic_pointer(const struct dl_phdr_info *info, uint64_t value)
{
    return (const void *)(value && value < info->dlpi_addr ? value + info->dlpi_addr : value);
}

/* The number of symbols stands nowhere: the longest chain of the hash table ends with the last one. */
static size_t hashed_count(const uint32_t *hash)
{
    uint32_t buckets = hash[0], first = hash[1], words = hash[2], last = 0;
    const uint32_t *bucket = hash + 4 + (size_t)words * 2, *chain = bucket + buckets;
    for (uint32_t i = 0; i < buckets; i++)
        last = bucket[i] > last ? bucket[i] : last;
    if (last < first)
        return first;
    while (!(chain[last - first] & 1))
        last++;
    return (size_t)last + 1;
}

/* Of an object that offers nothing its hash table knows no symbol; those that it asks for stand in its relocations. */
static size_t asked_count(const ElfW(Rela) *relocations, size_t bytes)
{
    size_t most = 0;
    for (size_t i = 0; relocations && i < bytes / sizeof *relocations; i++)
        most = ELF64_R_SYM(relocations[i].r_info) > most ? ELF64_R_SYM(relocations[i].r_info) : most;
    return most + 1;
}

static bool table_find(const struct dl_phdr_info *info, struct table *ret_table)
{
    struct table table = {0};
    const void *relocations[2] = {NULL, NULL};
    size_t bytes[2] = {0, 0};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        for (const ElfW(Dyn) *entry = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr); entry->d_tag != DT_NULL; entry++) {
            const void *pointer = dynamic_pointer(info, entry->d_un.d_ptr);
            if (entry->d_tag == DT_SYMTAB)
                table.symbols = pointer;
            else if (entry->d_tag == DT_STRTAB)
                table.strings = pointer;
            else if (entry->d_tag == DT_GNU_HASH)
                table.count = hashed_count(pointer);
            else if (entry->d_tag == DT_HASH && !table.count)
                table.count = ((const uint32_t *)pointer)[1];
            else if (entry->d_tag == DT_RELA || entry->d_tag == DT_JMPREL)
                relocations[entry->d_tag == DT_JMPREL] = pointer;
            else if (entry->d_tag == DT_RELASZ || entry->d_tag == DT_PLTRELSZ)
                bytes[entry->d_tag == DT_PLTRELSZ] = entry->d_un.d_val;
        }
    }
    for (int i = 0; i < 2; i++) {
        size_t asked = asked_count(relocations[i], bytes[i]);
        table.count = table.count && asked > table.count ? asked : table.count;
    }
    *ret_table = table;
    return table.symbols && table.strings && table.count;
}

struct known {                      /* of the objects that were seen last */
    unsigned long long objects;     /* added ever since the program started */
    bool table, generator48, parameters48, variables;     /* imports: random and its like; drand48 and its like; lcong48; the C library's variables */
};
static struct known known;

#define LIBC_VARIABLE(type, name, count, leads) extern __attribute__((weak)) type name LIBC_COUNT_##count;
#define LIBC_COUNT_1
#define LIBC_COUNT_2 [2]
#include "include/pcere/libc_variables.inc"
#undef LIBC_VARIABLE

static const struct { const char *name; void *at; size_t bytes; } variables[] = {
#define LIBC_VARIABLE(type, name, count, leads) {#name, (void *)&name, count * sizeof(type)},
#include "include/pcere/libc_variables.inc"
#undef LIBC_VARIABLE
};

static void import_note(const char *name)
{
    static const char *const table_names[] = {"random", "rand", "srandom", "srand", "initstate", "setstate"};
    static const char *const names48[] = {"drand48", "lrand48", "mrand48", "srand48", "seed48"};
    for (size_t i = 0; i < sizeof table_names / sizeof *table_names; i++)
        known.table |= strcmp(name, table_names[i]) == 0;
    for (size_t i = 0; i < sizeof names48 / sizeof *names48; i++)
        known.generator48 |= strcmp(name, names48[i]) == 0;
    known.parameters48 |= strcmp(name, "lcong48") == 0;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        known.variables |= strcmp(name, variables[i].name) == 0;
}

static void indirect_note(struct capture_stop *stop, uint64_t resolver)
{
    if (stop->indirect_count >= CAPTURE_INDIRECT_MAX)
        return;
    uint64_t (*resolve)(void);
    memcpy(&resolve, &resolver, sizeof resolve);
    stop->indirect[stop->indirect_count++] = (struct capture_indirect){resolver, resolve()};
}

static bool is_this_library(const struct dl_phdr_info *info)
{
    uintptr_t here = (uintptr_t)&known;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t low = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && here >= low && here < low + info->dlpi_phdr[i].p_memsz)
            return true;
    }
    return false;
}

/* A statically linked program imports nothing: it may draw any, but what has no function there. */
extern void lcong48(unsigned short parameters[7]) __attribute__((weak));

static void program_note(void)
{
    known.table = known.generator48 = known.variables = true;
    known.parameters48 = lcong48 != NULL;
}

struct walk { struct capture_stop *stop; bool executable; };

static int object_note(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes;
    struct walk *walk = context;
    bool executable = walk->executable;
    struct table table;
    walk->executable = false;
    if (executable && is_this_library(info))
        program_note();
    if (strncmp(info->dlpi_name, "linux-vdso", 10) == 0 || is_this_library(info) || !table_find(info, &table))
        return 0;
    for (size_t i = 1; i < table.count; i++) {
        const ElfW(Sym) *symbol = &table.symbols[i];
        if (symbol->st_shndx == SHN_UNDEF || (executable && ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT))     /* or where the executable has copies of variables */
            import_note(table.strings + symbol->st_name);
        else if (!executable && ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
            indirect_note(walk->stop, info->dlpi_addr + symbol->st_value);
    }
    return 0;
}

static int objects_count(struct dl_phdr_info *info, size_t bytes, void *context)
{
    unsigned long long *added = context;
    *added = bytes >= offsetof(struct dl_phdr_info, dlpi_adds) + sizeof info->dlpi_adds ? info->dlpi_adds : 1;
    return 1;
}

/* ---- random numbers ---------------------------------------------------------------------------------------------------------- */

static bool lies_in_library(const struct capture_stop *stop, uint64_t address)
{
    for (uint32_t i = 0; i < stop->range_count; i++)
        if (stop->ranges[i].kind != CAPTURE_RANGE_OWN && address >= stop->ranges[i].start && address < stop->ranges[i].end)
            return true;
    return false;
}

/* The state is whole in memory only while another one is in use. Its first word tells its kind. */
static void table_fill(struct capture_stop *stop)
{
    static const uint32_t bytes[] = {8, 32, 64, 128, 256};
    struct capture_random *random = &stop->randoms[stop->random_count];
    char aside[8] __attribute__((aligned(4)));
    char *state = initstate(1, aside, sizeof aside);
    if (!state)
        return;
    int32_t word;
    memcpy(&word, state, sizeof word);
    *random = (struct capture_random){.kind = CAPTURE_RANDOM_TABLE,
                                      .address = lies_in_library(stop, (uintptr_t)state) ? 0 : (uintptr_t)state,
                                      .bytes = word < 0 ? 0 : bytes[(uint32_t)word % (sizeof bytes / sizeof *bytes)]};
    memcpy(random->state, state, random->bytes);
    setstate(state);
    stop->random_count += random->bytes > 0;
}

static void state48_fill(struct capture_stop *stop)
{
    struct capture_random *random = &stop->randoms[stop->random_count++];
    unsigned short aside[3] = {0};
    *random = (struct capture_random){.kind = CAPTURE_RANDOM_48, .bytes = sizeof aside};
    memcpy(aside, seed48(aside), sizeof aside);
    memcpy(random->state, aside, sizeof aside);
    seed48(aside);
}

static void variables_fill(struct capture_stop *stop)
{
    struct capture_random *random = &stop->randoms[stop->random_count++];
    *random = (struct capture_random){.kind = CAPTURE_RANDOM_VARIABLES};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; random->bytes += (uint32_t)variables[i++].bytes)
        if (variables[i].at)
            memcpy(random->state + random->bytes, variables[i].at, variables[i].bytes);
}

void target_symbols_fill(struct capture_stop *stop, bool alone)
{
    unsigned long long added = 0;
    dl_iterate_phdr(objects_count, &added);
    if (added != known.objects) {
        known = (struct known){.objects = added};
        stop->indirect_count = 0;
        struct walk walk = {stop, true};
        dl_iterate_phdr(object_note, &walk);
    }
    stop->random_count = 0;
    if (alone && known.table)
        table_fill(stop);
    if (alone && known.generator48 && !known.parameters48)   /* seed48 would lose what lcong48 has set */
        state48_fill(stop);
    if (known.variables)
        variables_fill(stop);
}
