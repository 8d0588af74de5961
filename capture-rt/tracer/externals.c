#include "capture-rt/tracer/externals.h"

#include "core/elf_file.h"
#include "core/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list { struct store_external *items; size_t count, capacity; struct text names; };

static int resolver_order(const void *left, const void *right)
{
    const struct capture_indirect *a = left, *b = right;
    return (a->resolver > b->resolver) - (a->resolver < b->resolver);
}

void externals_note(struct externals *externals, const struct capture_stop *stop)
{
    uint32_t count = stop->indirect_count < CAPTURE_INDIRECT_MAX ? stop->indirect_count : CAPTURE_INDIRECT_MAX;
    if (!externals->indirect && !(externals->indirect = calloc(CAPTURE_INDIRECT_MAX, sizeof *externals->indirect)))
        return;
    memcpy(externals->indirect, stop->indirect, count * sizeof *externals->indirect);
    externals->indirect_count = count;
    memcpy(externals->constants, stop->constants, sizeof externals->constants);
    qsort(externals->indirect, count, sizeof *externals->indirect, resolver_order);
}

/* ---- the libraries ----------------------------------------------------------------------------------------------------------- */

struct mapped { char *path; uint64_t start; };
struct mapped_list { struct mapped *items; size_t count, capacity; uint64_t hash; };

static void mapped_done(struct mapped_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].path);
    free(list->items);
    *list = (struct mapped_list){0};
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 0x9e3779b97f4a7c15u;
}

/* A line of /proc/PID/maps: the first mapping of a file is where the file begins. */
static bool line_take(char *line, const struct map_facts *facts, struct mapped_list *list)
{
    uint64_t start, end, offset;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*7s %" SCNx64, &start, &end, &offset) != 3 || offset ||
        (start < facts->image_high && end > facts->image_low))
        return true;
    for (size_t i = 0; i < facts->library_count; i++)       /* captured themselves */
        if (start < facts->libraries[i].address + facts->libraries[i].bytes && end > facts->libraries[i].address)
            return true;
    char *path = strchr(line, '/');
    if (!path || strncmp(path, "/memfd:", 7) == 0 || strncmp(path, "/dev/", 5) == 0)
        return true;
    if (!array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return false;
    list->items[list->count] = (struct mapped){strdup(path), start};
    if (!list->items[list->count].path)
        return false;
    list->count++;
    list->hash = mix(list->hash, start);
    for (const char *at = path; *at; at++)
        list->hash = mix(list->hash, (unsigned char)*at);
    return true;
}

static enum pcere_status mapped_read(const char *maps, const struct map_facts *facts, struct mapped_list *list, struct pcere_error *error)
{
    char *lines = strdup(maps), *rest = lines;
    bool good = lines != NULL;
    for (char *line; good && (line = strsep(&rest, "\n"));)
        good = line_take(line, facts, list);
    free(lines);
    return good ? PCERE_OK : pcere_fail_memory(error, "the list of libraries");
}

/* ---- the table --------------------------------------------------------------------------------------------------------------- */

/* What C++ objects and exceptions of a library's classes point to: _ZTV, _ZTI, _ZTT. */
static bool is_constant(const struct elf_symbol *symbol)
{
    return symbol->kind == PCERE_SYMBOL_VARIABLE && strncmp(symbol->name, "_ZT", 3) == 0 && symbol->name[3] && strchr("VIT", symbol->name[3]) &&
           symbol->size && symbol->size <= 1u << 16;
}

static uint64_t function_address(const struct externals *externals, const struct elf_symbol *symbol, uint64_t address)
{
    const struct capture_indirect key = {.resolver = address};
    if (!symbol->indirect)
        return address;
    const struct capture_indirect *found =
        externals->indirect_count ? bsearch(&key, externals->indirect, externals->indirect_count, sizeof key, resolver_order) : NULL;
    return found ? found->address : 0;
}

static bool library_add(const struct externals *externals, const struct mapped *library, struct list *list)
{
    struct elf_file *elf;
    const struct elf_symbol *symbols;
    uint64_t low, high;
    if (elf_file_open(library->path, &elf, NULL) != PCERE_OK)
        return true;
    elf_file_span(elf, &low, &high);
    size_t count = elf_file_symbols(elf, &symbols);
    bool good = list->names.length < UINT32_MAX / 2 && array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items);
    if (good)
        list->items[list->count++] = (struct store_external){library->start, (uint32_t)(high - low), (uint32_t)list->names.length};
    const char *build_id = elf_file_build_id(elf);
    text_addf(&list->names, "%s %s", library->path, build_id ? build_id : "");
    text_add_bytes(&list->names, "", 1);
    for (size_t i = 0; good && i < count; i++) {
        bool constant = is_constant(&symbols[i]);
        uint64_t address = symbols[i].address + (library->start - low);
        if (!constant && symbols[i].kind != PCERE_SYMBOL_FUNCTION)
            continue;
        if (!constant && !(address = function_address(externals, &symbols[i], address)))
            continue;
        good = list->names.length < UINT32_MAX / 2 && array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items);
        if (good)
            list->items[list->count++] = (struct store_external){address, constant ? (uint32_t)symbols[i].size : 0, (uint32_t)list->names.length};
        text_add_bytes(&list->names, symbols[i].name, strlen(symbols[i].name) + 1);
    }
    elf_file_close(elf);
    return good && !list->names.failed;
}

static bool constants_add(const struct externals *externals, struct list *list)
{
#define PCERE_LIBC_CONSTANT(name, constant, size) #name,
    static const char *const names[CAPTURE_CONSTANTS] = {
#include "include/pcere/libc_constants.inc"
    };
#undef PCERE_LIBC_CONSTANT
    for (size_t i = 0; i < CAPTURE_CONSTANTS; i++) {
        const struct capture_constant *constant = &externals->constants[i];
        if (!constant->address || constant->address >= UINT64_C(1) << 47 || constant->bytes > 1u << 16)
            continue;
        if (!array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
            return false;
        list->items[list->count++] = (struct store_external){constant->address, (uint32_t)constant->bytes, (uint32_t)list->names.length};
        text_add_bytes(&list->names, names[i], strlen(names[i]) + 1);
    }
    return !list->names.failed;
}

static int external_order(const void *left, const void *right)
{
    const struct store_external *a = left, *b = right;
    return a->address != b->address ? (a->address > b->address) - (a->address < b->address) : (a->name > b->name) - (a->name < b->name);
}

static enum pcere_status table_store(struct externals *externals, const struct list *list, struct store_writer *writer, uint64_t page_bytes,
                                     struct pcere_error *error)
{
    struct store_externals_header header = {.magic = STORE_EXTERNALS_MAGIC, .count = list->count,
                                            .strings = sizeof header + list->count * sizeof *list->items};
    header.bytes = header.strings + list->names.length;
    uint64_t pages = (header.bytes + page_bytes - 1) / page_bytes;
    unsigned char *data = calloc(pages, page_bytes);
    uint64_t *numbers = calloc(pages, sizeof *numbers);
    enum pcere_status status = data && numbers ? PCERE_OK : pcere_fail_memory(error, "the table of libraries' functions");
    if (status == PCERE_OK) {
        memcpy(data, &header, sizeof header);
        if (list->count)
            memcpy(data + sizeof header, list->items, list->count * sizeof *list->items);
        if (list->names.length)
            memcpy(data + header.strings, list->names.data, list->names.length);
        status = store_writer_pages(writer, data, pages, numbers, error);
    }
    externals->run_count = 0;
    for (uint64_t i = 0; status == PCERE_OK && i < pages; i++) {
        struct store_run *last = externals->run_count ? &externals->runs[externals->run_count - 1] : NULL;
        if (last && last->page != STORE_PAGE_ZERO && numbers[i] == last->page + last->count)
            last->count++;
        else if (array_reserve(&externals->runs, &externals->run_capacity, externals->run_count + 1, sizeof *externals->runs))
            externals->runs[externals->run_count++] = (struct store_run){i * page_bytes, numbers[i], 1};
        else
            status = pcere_fail_memory(error, "the table of libraries' functions");
    }
    free(data);
    free(numbers);
    return status;
}

static enum pcere_status table_make(struct externals *externals, const struct mapped_list *mapped, struct store_writer *writer,
                                    uint64_t page_bytes, struct pcere_error *error)
{
    struct list list = {0};
    bool good = true;
    for (size_t i = 0; good && i < mapped->count; i++)
        good = library_add(externals, &mapped->items[i], &list);
    good = good && constants_add(externals, &list);
    if (list.count)
        qsort(list.items, list.count, sizeof *list.items, external_order);
    enum pcere_status status = good ? table_store(externals, &list, writer, page_bytes, error)
                                    : pcere_fail_memory(error, "the table of libraries' functions");
    if (status == PCERE_OK)
        externals->seen = mapped->hash;
    free(list.items);
    text_done(&list.names);
    return status;
}

enum pcere_status externals_see(struct externals *externals, const char *maps, const struct map_facts *facts, struct store_writer *writer,
                                struct store_codelet *codelet, struct pcere_error *error)
{
    struct mapped_list mapped = {.hash = 1};
    enum pcere_status status = maps ? mapped_read(maps, facts, &mapped, error) : PCERE_OK;
    if (status == PCERE_OK && mapped.count && mapped.hash != externals->seen)
        status = table_make(externals, &mapped, writer, facts->page_bytes, error);
    mapped_done(&mapped);
    if (status != PCERE_OK || !externals->run_count)
        return status;
    codelet->externals = malloc(externals->run_count * sizeof *codelet->externals);
    if (!codelet->externals)
        return pcere_fail_memory(error, "the table of libraries' functions");
    memcpy(codelet->externals, externals->runs, externals->run_count * sizeof *codelet->externals);
    codelet->external_count = externals->run_count;
    return PCERE_OK;
}

void externals_done(struct externals *externals)
{
    free(externals->indirect);
    free(externals->runs);
    *externals = (struct externals){0};
}
