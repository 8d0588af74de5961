#include "capture-rt/tracer/leads.h"

#include "core/text.h"
#include "include/pcere/bisect.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

struct lead_name { uint64_t address; bool variable; };

#define LINKAGE_MOST 24

bool leads_has_threads(const struct elf_file *elf)
{
    return elf_file_imports(elf, "thrd_create");
}

/* ---- names ------------------------------------------------------------------------------------------------------------------- */

static int name_order(const void *left, const void *right)
{
    const struct lead_name *a = left, *b = right;
    return a->address != b->address ? (a->address > b->address) - (a->address < b->address) : (a->variable > b->variable) - (a->variable < b->variable);
}

static int range_order(const void *left, const void *right)
{
    const struct store_range *a = left, *b = right;
    return a->address != b->address ? (a->address > b->address) - (a->address < b->address) : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static bool is_class_constant(const char *name)
{
    return strncmp(name, "_ZT", 3) == 0 && name[3] && strchr("VIT", name[3]);
}

/* The dynamic linker notes for itself where its tables are. */
static void linkage_take(struct lead *lead, const struct elf_file *elf, uint64_t bias)
{
    struct elf_range ranges[LINKAGE_MOST];
    size_t count = elf_file_linkage(elf, ranges, LINKAGE_MOST);
    for (size_t i = 0; i < count; i++)
        lead->ranges[lead->range_count++] = (struct store_range){ranges[i].address + bias, ranges[i].bytes};
}

static void pointers_take(struct lead *lead, const struct elf_file *elf, uint64_t bias)
{
    struct elf_range code = elf_file_code(elf);
    lead->code_low = code.address + bias;
    lead->code_high = lead->code_low + code.bytes;
    if (!elf_file_pointers(elf, &lead->pointers, &lead->pointer_count))
        return;
    for (size_t i = 0; i < lead->pointer_count; i++) {
        lead->pointers[i].address += bias;
        lead->pointers[i].value += lead->pointers[i].value ? bias : 0;
    }
}

static void names_take(struct lead *lead, const struct elf_symbol *symbols, size_t count, uint64_t bias)
{
    for (size_t i = 0; i < count; i++) {
        bool function = symbols[i].kind == PCERE_SYMBOL_FUNCTION;
        uint64_t address = symbols[i].address + bias;
        if (symbols[i].local || symbols[i].kind == PCERE_SYMBOL_TLS || address < lead->low || address >= lead->high)
            continue;
        if (function || !is_class_constant(symbols[i].name))
            lead->names[lead->name_count++] = (struct lead_name){address, !function};
        else
            lead->ranges[lead->range_count++] = (struct store_range){address, symbols[i].size};
    }
}

static void lead_free(struct lead *lead)
{
    if (lead) {
        free(lead->names);
        free(lead->ranges);
        free(lead->pointers);
    }
    free(lead);
}

static void bounds_set(struct leads *leads)
{
    leads->low = leads->count ? UINT64_MAX : 0;
    leads->high = 0;
    for (size_t i = 0; i < leads->count; i++) {
        leads->low = leads->items[i]->low < leads->low ? leads->items[i]->low : leads->low;
        leads->high = leads->items[i]->high > leads->high ? leads->items[i]->high : leads->high;
    }
}

enum pcere_status leads_watch(struct leads *leads, const struct elf_file *elf, uint64_t low, uint64_t high, uint64_t bias, bool absent, struct pcere_error *error)
{
    const struct elf_symbol *symbols;
    size_t count = elf_file_symbols(elf, &symbols);
    struct lead *lead = calloc(1, sizeof *lead);
    if (lead)
        *lead = (struct lead){.low = low, .high = high, .data_end = (elf_file_data_end(elf) + bias + 7) & ~UINT64_C(7), .names = calloc(count + 1, sizeof *lead->names),
                              .ranges = calloc(count + LINKAGE_MOST, sizeof *lead->ranges)};
    if (!lead || !lead->names || !lead->ranges || !array_reserve(&leads->items, &leads->capacity, leads->count + 1, sizeof *leads->items)) {
        lead_free(lead);
        return pcere_fail_memory(error, "the list of libraries");
    }
    linkage_take(lead, elf, bias);
    pointers_take(lead, elf, bias);
    if (!absent)
        names_take(lead, symbols, count, bias);
    qsort(lead->names, lead->name_count, sizeof *lead->names, name_order);
    qsort(lead->ranges, lead->range_count, sizeof *lead->ranges, range_order);
    leads->items[leads->count++] = lead;
    bounds_set(leads);
    return PCERE_OK;
}

/* ---- what is read ------------------------------------------------------------------------------------------------------------ */

void leads_place(struct leads *leads, const struct map_facts *facts, const struct map_list *maps)
{
    size_t most = sizeof leads->objects / sizeof *leads->objects;
    leads->objects[0] = (struct store_range){facts->image_low, facts->image_high - facts->image_low};
    leads->object_count = 1;
    for (size_t i = 0; i < facts->library_count && leads->object_count < most; i++)
        leads->objects[leads->object_count++] = facts->libraries[i];
    leads->stack_low = leads->stack_high = 0;
    for (size_t i = 0; i < maps->count; i++)
        if (maps->entries[i].mapping.role == STORE_ROLE_STACK) {
            leads->stack_low = maps->entries[i].mapping.start;
            leads->stack_high = maps->entries[i].mapping.end;
        }
}

static bool is_in_an_object(const struct leads *leads, uint64_t address)
{
    for (size_t i = 0; i < leads->object_count; i++)
        if (address - leads->objects[i].address < leads->objects[i].bytes)
            return true;
    return false;
}

static bool is_named_exactly(const struct lead *lead, uint64_t word, bool variables)
{
    BISECT(low, 0, lead->name_count, i, lead->names[i].address < word);
    return low < lead->name_count && lead->names[low].address == word && (variables || !lead->names[low].variable);     /* functions come first */
}

/* Ranges do not overlap, but may be there twice. */
static bool is_in_a_range(const struct lead *lead, uint64_t word)
{
    BISECT(low, 0, lead->range_count, i, lead->ranges[i].address <= word);
    return low > 0 && word - lead->ranges[low - 1].address < lead->ranges[low - 1].bytes;
}

static void word_judge(struct leads *leads, uint64_t word, uint64_t address)
{
    bool on_stack = address >= leads->stack_low && address < leads->stack_high;
    for (size_t i = 0; i < leads->count; i++) {
        struct lead *lead = leads->items[i];
        if (word < lead->low || word >= lead->high || lead->found || (on_stack && word >= lead->code_low && word < lead->code_high))
            continue;
        if (!is_in_a_range(lead, word) && !is_named_exactly(lead, word, is_in_an_object(leads, address)))
            lead->found = true;
    }
}

void leads_scan(struct leads *leads, const void *memory, uint64_t address, size_t bytes)
{
    const unsigned char *at = memory;
    uint64_t low = leads->low, span = leads->high - low, word;
    size_t first = 0;
    if (address >= leads->stack_low && address < leads->stack_high && address < leads->stack_pointer)
        first = leads->stack_pointer - address < bytes ? (size_t)(leads->stack_pointer - address) & ~(sizeof word - 1) : bytes;
    for (size_t i = first; span && i + sizeof word <= bytes; i += sizeof word) {
        memcpy(&word, at + i, sizeof word);
        if (word - low < span)
            word_judge(leads, word, address + i);
    }
}

/* ---- what they keep ------------------------------------------------------------------------------------------------------------ */

#define LOOK_BYTES 65536u

struct look { const struct lead *lead; pid_t pid; const char *maps; };

static bool is_an_address(const char *maps, uint64_t word)
{
    if (word < 4096 || word >= (uint64_t)1 << 47)
        return false;
    for (const char *line = maps; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        uint64_t start, end;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 && word >= start && word < end)
            return memchr(line, '/', strcspn(line, "\n")) != NULL;
    }
    return false;
}

/* A pointer that the dynamic linker filled, and that the library was given another value for since (a function of the program's to call)? *ret_filled: it is such a word. */
static bool pointer_is_other(const struct lead *lead, uint64_t at, uint64_t now, bool *ret_filled)
{
    BISECT(low, 0, lead->pointer_count, i, lead->pointers[i].address < at);
    *ret_filled = low < lead->pointer_count && lead->pointers[low].address == at;
    return *ret_filled && lead->pointers[low].value && lead->pointers[low].value != now;
}

/* What changed since the file was read. Where relocations are not known, what links leave behind are addresses in objects. */
static bool is_kept(const struct look *look, uint64_t at, uint64_t now, uint64_t file)
{
    bool filled;
    if (pointer_is_other(look->lead, at, now, &filled))
        return !is_in_a_range(look->lead, at);
    return now != file && !is_in_a_range(look->lead, at) && !((filled || !look->lead->pointers) && is_an_address(look->maps, now));
}

/* Zeros stand where the file goes on and the data does not. */
static bool holds_more(const struct look *look, uint64_t address, const uint64_t *now, const uint64_t *file, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t at = address + i * sizeof *now;
        if (now[i] && (at >= look->lead->data_end || is_kept(look, at, now[i], file[i])))
            return true;
    }
    return false;
}

/* A writable mapping of a library, of its file or, with descriptor -1, behind it. */
static bool mapping_holds_more(const struct look *look, uint64_t start, uint64_t end, int descriptor, uint64_t offset)
{
    static const uint64_t nothing[LOOK_BYTES / sizeof(uint64_t)];
    uint64_t *now = malloc(LOOK_BYTES), *file = malloc(LOOK_BYTES);
    bool more = false;
    while (now && file && !more && start < end) {
        size_t bytes = end - start < LOOK_BYTES ? end - start : LOOK_BYTES;
        struct iovec local = {now, bytes}, remote = {(void *)(uintptr_t)start, bytes};
        ssize_t got = process_vm_readv(look->pid, &local, 1, &remote, 1, 0);
        if (got < (ssize_t)bytes)
            break;
        memset(file, 0, LOOK_BYTES);
        if (descriptor >= 0 && pread(descriptor, file, bytes, (off_t)offset) < 0)
            break;
        more = holds_more(look, start, now, descriptor >= 0 ? file : nothing, bytes / sizeof *now);
        start += bytes;
        offset += bytes;
    }
    free(now);
    free(file);
    return more;
}

static void line_look(struct leads *leads, pid_t pid, const char *maps, const char *line)
{
    uint64_t start, end, offset;
    char permissions[8];
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64, &start, &end, permissions, &offset) != 4 || permissions[1] != 'w')
        return;
    for (size_t i = 0; i < leads->count; i++) {
        struct lead *lead = leads->items[i];
        const struct look look = {lead, pid, maps};
        if (lead->found || start < lead->low || start >= lead->high)
            continue;
        size_t length = strcspn(line, "\n");
        const char *name = memchr(line, '/', length);
        char *path = name ? strndup(name, length - (size_t)(name - line)) : NULL;
        int descriptor = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (!name || descriptor >= 0)
            lead->found = mapping_holds_more(&look, start, end < lead->high ? end : lead->high, descriptor, offset);
        if (descriptor >= 0)
            close(descriptor);
        free(path);
    }
}

/* Of the initial thread, which stands still; UINT64_MAX where nobody tells: then nothing of its stack counts. */
static uint64_t stack_pointer_of(pid_t pid)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)pid);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = descriptor < 0 ? -1 : read(descriptor, line, sizeof line - 1);
    if (descriptor >= 0)
        close(descriptor);
    char *last = length > 0 ? strrchr(line, ' ') : NULL;
    if (!last)
        return UINT64_MAX;
    *last = '\0';
    last = strrchr(line, ' ');
    uint64_t pointer = last ? strtoull(last, NULL, 16) : 0;
    return pointer ? pointer : UINT64_MAX;
}

void leads_look(struct leads *leads, pid_t pid, const char *maps)
{
    leads->stack_pointer = stack_pointer_of(pid);
    for (const char *line = maps; leads->count && *line; line += strcspn(line, "\n"), line += *line == '\n')
        line_look(leads, pid, maps, line);
}

bool leads_found(const struct leads *leads, uint64_t low)
{
    for (size_t i = 0; i < leads->count; i++)
        if (leads->items[i]->low == low && leads->items[i]->found)
            return true;
    return false;
}

void leads_drop(struct leads *leads, uint64_t low)
{
    for (size_t i = 0; i < leads->count; i++) {
        struct lead *lead = leads->items[i];
        if (lead->low != low)
            continue;
        lead_free(lead);
        leads->items[i] = leads->items[--leads->count];
        bounds_set(leads);
        return;
    }
}

void leads_done(struct leads *leads)
{
    for (size_t i = 0; i < leads->count; i++)
        lead_free(leads->items[i]);
    free(leads->items);
    *leads = (struct leads){0};
}
