/* replay-rt/launcher/causes.c - from addresses to words. */
#include "replay-rt/launcher/causes.h"

#include "core/text.h"

#include <stdlib.h>
#include <string.h>

struct naming {
    const struct store_codelet *codelet;
    const struct elf_symbol *tables, *symbols;
    size_t table_count, symbol_count;
    uint64_t image_bias;
    bool heap_released;
    struct verify_cause *causes;
    size_t count, capacity;
};

static const struct elf_symbol *symbol_at(const struct elf_symbol *symbols, size_t count, uint16_t kind, uint64_t address)
{
    const struct elf_symbol *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (symbols[i].kind == kind && address >= symbols[i].address && address - symbols[i].address < symbols[i].size
            && (!best || symbols[i].size < best->size))
            best = &symbols[i];
    return best;
}

static const struct store_mapping *mapping_at(const struct store_codelet *codelet, uint64_t address)
{
    for (size_t i = 0; i < codelet->mapping_count; i++)
        if (codelet->mappings[i].start <= address && address < codelet->mappings[i].end)
            return &codelet->mappings[i];
    return NULL;
}

/* In the replay a pointer into this process's own heap or libraries stands where the original had one into captured memory. (Where it had one
 * out of that too, nothing differs.) */
static bool is_new_pointer(const struct naming *naming, const struct plan_difference *difference)
{
    return difference->bytes == 8 && difference->address % 8 == 0 && difference->found >= 1u << 16 && difference->found < 1ull << 47
           && !mapping_at(naming->codelet, difference->found) && mapping_at(naming->codelet, difference->expected);
}

/* Where the first byte lies that differs: a word may hold the end of one variable and the start of another. */
static uint64_t first_different(const struct plan_difference *difference)
{
    uint64_t bits = difference->expected ^ difference->found;
    return difference->address + (bits ? (uint64_t)__builtin_ctzll(bits) / 8 : 0);
}

static void name_write(const struct naming *naming, const struct plan_difference *difference, struct text *out)
{
    static const char *const roles[] = {
        [STORE_ROLE_IMAGE] = "program data", [STORE_ROLE_HEAP] = "heap",       [STORE_ROLE_ANONYMOUS] = "anonymous memory",
        [STORE_ROLE_STACK] = "stack",        [STORE_ROLE_LIBRARY] = "library",
    };
    const struct store_codelet *codelet = naming->codelet;
    uint64_t address = first_different(difference);
    if (difference->thread_local_of) {
        const struct elf_symbol *symbol = NULL;
        for (size_t i = 0; i < codelet->thread_count && !symbol; i++)
            if (codelet->threads[i].number + 1 == difference->thread_local_of)
                symbol = symbol_at(naming->tables, naming->table_count, PCERE_SYMBOL_TLS,
                                   address - codelet->threads[i].tls_address);
        text_addf(out, "thread-local variable '%s' of thread %u", symbol ? symbol->name : "?", difference->thread_local_of - 1);
        return;
    }
    const struct store_mapping *mapping = mapping_at(codelet, address);
    uint64_t linked = address - naming->image_bias;
    const struct elf_symbol *symbol = symbol_at(naming->tables, naming->table_count, PCERE_SYMBOL_VARIABLE, linked);
    if (!symbol)
        symbol = symbol_at(naming->symbols, naming->symbol_count, PCERE_SYMBOL_VARIABLE, linked);
    const char *pointer = is_new_pointer(naming, difference) ? "pointer to memory that belongs to the process, in " : "";
    if (symbol)
        text_addf(out, "%svariable '%s'", pointer, symbol->name);
    else if (mapping && mapping->role < sizeof roles / sizeof *roles && roles[mapping->role])
        text_addf(out, "%s%s%s", pointer, roles[mapping->role],
                  mapping->role == STORE_ROLE_HEAP && naming->heap_released ? " (the region releases blocks of it)" : "");
    else
        text_addf(out, "%sother memory", pointer);
}

static bool cause_add(struct naming *naming, const char *name, uint64_t bytes)
{
    for (size_t i = 0; i < naming->count; i++)
        if (!strcmp(naming->causes[i].name, name)) {
            naming->causes[i].bytes += bytes;
            return true;
        }
    if (!array_reserve(&naming->causes, &naming->capacity, naming->count + 1, sizeof *naming->causes))
        return false;
    char *copy = strdup(name);
    if (!copy)
        return false;
    naming->causes[naming->count++] = (struct verify_cause){copy, bytes};
    return true;
}

static uint64_t bytes_different(const struct plan_difference *difference)
{
    uint64_t bits = difference->expected ^ difference->found, bytes = 0;
    for (; bits; bits >>= 8)
        bytes += (bits & 0xff) != 0;
    return bytes;
}

static int cause_order(const void *left, const void *right)
{
    const struct verify_cause *a = left, *b = right;
    return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

enum pcere_status causes_collect(const struct plan_result *result, const struct store_codelet *codelet, const struct elf_file *program,
                                 uint64_t image_bias, struct verify_cause **ret_causes, size_t *ret_count, struct pcere_error *error)
{
    struct naming naming = {.codelet = codelet, .image_bias = image_bias, .heap_released = result->heap_releases > 0};
    naming.table_count = elf_file_tables(program, &naming.tables);
    naming.symbol_count = elf_file_symbols(program, &naming.symbols);
    uint64_t count = result->difference_count < PLAN_DIFFERENCES ? result->difference_count : PLAN_DIFFERENCES, described = 0;
    struct text name = {0};
    bool whole = true;
    for (uint64_t i = 0; whole && i < count; i++) {
        name.length = 0;
        name_write(&naming, &result->differences[i], &name);
        uint64_t bytes = bytes_different(&result->differences[i]);
        described += bytes;
        whole = !name.failed && cause_add(&naming, name.data, bytes);
    }
    if (whole && result->different_bytes > described)
        whole = cause_add(&naming, "more than could be described", result->different_bytes - described);
    text_done(&name);
    if (!whole) {
        for (size_t i = 0; i < naming.count; i++)
            free(naming.causes[i].name);
        free(naming.causes);
        return pcere_fail_memory(error, "the causes of differences");
    }
    if (naming.count)
        qsort(naming.causes, naming.count, sizeof *naming.causes, cause_order);
    *ret_causes = naming.causes;
    *ret_count = naming.count;
    return PCERE_OK;
}
