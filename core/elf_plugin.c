/* core/elf_plugin.c - what PCERE's plugin wrote into an executable: bitcode, addresses of symbols, constructs. */
#include "core/elf_inside.h"

#include "core/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define UNIT_RAW_BYTES_MOST ((uint64_t)1 << 30)    /* of bitcode: a claim beyond that is damage */

static enum pcere_status damaged_part(const struct elf_file *file, struct pcere_error *error, const char *part, const char *how)
{
    return pcere_fail(error, PCERE_DATA, 0, "link the program again", "'%s' is damaged: %s %s", file->path, part, how);
}

/* ---- bitcode and address tables ------------------------------------------------------------------------------------------ */

/* What another version of the plugin wrote: a magic and that version, then nobody knows what, up to the next magic. Returns its bytes. */
static uint64_t pass_over(const unsigned char *at, uint64_t left, const char *magic, size_t magic_bytes)
{
    uint64_t used = 16;
    while (used + magic_bytes <= left && memcmp(at + used, magic, magic_bytes) != 0)
        used += 16;
    return used + magic_bytes <= left ? used : left;
}

static enum pcere_status read_unit(struct elf_file *file, const unsigned char *at, uint64_t left, uint64_t *ret_used,
                                   struct pcere_error *error)
{
    struct elf_unit unit;
    if (left < sizeof unit.header)
        return elf_damaged(file, error, "a unit of bitcode is cut off");
    memcpy(&unit.header, at, sizeof unit.header);
    const struct pcere_unit_header *header = &unit.header;
    if (memcmp(header->magic, PCERE_UNIT_MAGIC, sizeof header->magic) != 0)
        return elf_damaged(file, error, "its bitcode does not begin as it should");
    if (header->abi_version != PCERE_ABI_VERSION) {
        file->other_units++;
        file->other_version = header->abi_version;
        *ret_used = pass_over(at, left, PCERE_UNIT_MAGIC, sizeof header->magic);
        return PCERE_OK;
    }
    uint64_t used = sizeof *header;
    const uint64_t parts[] = {header->flags_bytes, header->source_bytes, header->stored_bytes};
    for (size_t i = 0; i < 3; i++) {
        if (parts[i] > left - used)
            return elf_damaged(file, error, "a unit of bitcode is cut off");
        used += parts[i];
    }
    unit.flags = (const char *)at + sizeof *header;
    unit.source = unit.flags + header->flags_bytes;
    unit.bitcode = unit.source + header->source_bytes;
    if (header->flags_bytes && unit.flags[header->flags_bytes - 1])
        return elf_damaged(file, error, "the flags of a unit have no end");
    if (!header->source_bytes || unit.source[header->source_bytes - 1])
        return elf_damaged(file, error, "the source name of a unit has no end");
    if (header->raw_bytes > UNIT_RAW_BYTES_MOST ||
        !(header->coding == PCERE_UNIT_ZSTD || (header->coding == PCERE_UNIT_RAW && header->raw_bytes == header->stored_bytes)))
        return elf_damaged(file, error, "a unit of bitcode has an impossible size or coding");
    if (!array_reserve(&file->units, &file->unit_capacity, file->unit_count + 1, sizeof unit))
        return elf_no_memory(error);
    file->units[file->unit_count++] = unit;
    used = (used + 15) & ~15ull;
    *ret_used = used < left ? used : left;
    return PCERE_OK;
}

enum pcere_status elf_read_units(struct elf_file *file, const unsigned char *at, uint64_t left, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (uint64_t used; left && !status; at += used, left -= used) {
        used = left;
        status = read_unit(file, at, left, &used, error);
    }
    return status;
}

/* Of the second section with tables: the first one had that unit's. */
static bool is_known(struct elf_file *file, uint64_t unit_id)
{
    if (!file->first_tables || file->asked_unit == unit_id)
        return file->first_tables && file->asked_is_known;
    file->asked_unit = unit_id;
    file->asked_is_known = false;
    for (size_t i = 0; i < file->first_tables && !file->asked_is_known; i++)
        file->asked_is_known = file->tables.items[i].unit_id == unit_id;
    return file->asked_is_known;
}

#define NOWHERE UINT64_MAX

static enum pcere_status read_entry(struct elf_file *file, uint64_t unit_id, const unsigned char *at, uint64_t left, uint64_t *ret_used,
                                    struct pcere_error *error)
{
    struct pcere_symbol_entry entry;
    if (left < sizeof entry)
        return elf_damaged(file, error, "a table of addresses is cut off");
    memcpy(&entry, at, sizeof entry);
    const char *name = (const char *)at + sizeof entry;
    if (!entry.name_bytes || entry.name_bytes % 8 || entry.name_bytes > left - sizeof entry || name[entry.name_bytes - 1])
        return elf_damaged(file, error, "a name in a table of addresses has no end");
    if (entry.kind < PCERE_SYMBOL_VARIABLE || entry.kind > PCERE_SYMBOL_FUNCTION || entry.local > 1)
        return elf_damaged(file, error, "a table of addresses has an entry of unknown kind");
    *ret_used = sizeof entry + entry.name_bytes;
    /* A section that is not loaded keeps nothing alive: what the linker dropped has address 0, or one that nothing can have. */
    if (is_known(file, unit_id))
        return PCERE_OK;
    if ((!entry.address && entry.kind != PCERE_SYMBOL_TLS) || entry.address >= UINT64_C(1) << 47)
        entry.address = NOWHERE;
    struct elf_symbol symbol = {name, entry.address, entry.size, unit_id, entry.kind, entry.local, false,
                                elf_is_copy(file, entry.address, entry.kind)};
    return elf_symbols_add(&file->tables, &symbol) ? PCERE_OK : elf_no_memory(error);
}

typedef enum pcere_status read_entry_fn(struct elf_file *file, uint64_t unit_id, const unsigned char *at, uint64_t left, uint64_t *ret_used,
                                        struct pcere_error *error);

/* Tables of both kinds have the same header. */
static enum pcere_status read_sequence(struct elf_file *file, const unsigned char *at, uint64_t left, const char *magic, const char *what,
                                       read_entry_fn *read, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    while (left && !status) {
        struct pcere_symbol_header header;
        if (left < sizeof header)
            return damaged_part(file, error, what, "is cut off");
        memcpy(&header, at, sizeof header);
        if (memcmp(header.magic, magic, sizeof header.magic) != 0)
            return damaged_part(file, error, what, "does not begin as it should");
        if (header.abi_version != PCERE_ABI_VERSION) {
            uint64_t passed = pass_over(at, left, magic, sizeof header.magic);
            file->other_tables++;
            file->other_version = header.abi_version;
            at += passed;
            left -= passed;
            continue;
        }
        if (header.bytes < sizeof header || header.bytes > left || header.bytes % 16)
            return damaged_part(file, error, what, "is cut off");
        uint64_t used = sizeof header, step = 0;
        for (uint32_t i = 0; i < header.entries && !status; i++, used += step)
            status = read(file, header.unit_id, at + used, header.bytes - used, &step, error);
        if (!status && header.bytes - used >= 16)
            status = damaged_part(file, error, what, "holds more than its entries");
        at += header.bytes;
        left -= header.bytes;
    }
    return status;
}

enum pcere_status elf_read_tables(struct elf_file *file, const unsigned char *at, uint64_t left, struct pcere_error *error)
{
    return read_sequence(file, at, left, PCERE_SYMBOLS_MAGIC, "a table of addresses", read_entry, error);
}

/* Is what follows the name ".pcere.UNIT"? */
static bool is_of_unit(const char *rest, uint64_t unit_id)
{
    char unit[32];
    int length = snprintf(unit, sizeof unit, ".pcere.%016llx", (unsigned long long)unit_id);
    return length > 0 && strncmp(rest, unit, (size_t)length) == 0;
}

enum { UNIT_BYTES = sizeof ".pcere.0123456789abcdef" - 1 };

/* ThinLTO calls a static that it shares with other modules NAME.pcere.UNIT.llvm.HASH once the table is written. */
static void promoted_settle(struct elf_file *file, const struct elf_symbol *symbol)
{
    const char *mark = strstr(symbol->name, ".llvm.");
    size_t length = mark && mark - symbol->name > UNIT_BYTES ? (size_t)(mark - symbol->name) - UNIT_BYTES : 0;
    for (size_t i = 0; length && i < file->tables.count; i++) {
        struct elf_symbol *entry = &file->tables.items[i];
        if (!entry->local || (entry->address && entry->address != NOWHERE) || strncmp(entry->name, symbol->name, length) != 0 || entry->name[length] ||
            !is_of_unit(symbol->name + length, entry->unit_id))
            continue;
        entry->address = symbol->address;
    }
}

static bool is_at_its_place(const struct elf_file *file, const struct elf_symbol *entry)
{
    size_t length = strlen(entry->name);
    for (size_t i = 0; i < file->symbols.count; i++) {
        const struct elf_symbol *symbol = &file->symbols.items[i];
        if (symbol->kind == PCERE_SYMBOL_TLS && symbol->address == entry->address && strncmp(symbol->name, entry->name, length) == 0 &&
            (!symbol->name[length] || is_of_unit(symbol->name + length, entry->unit_id)))
            return true;
    }
    return false;
}

/* Does nothing else stand at offset 0? */
static bool is_alone(const struct elf_file *file, const struct elf_symbol *entry)
{
    const struct elf_symbols *const lists[] = {&file->tables, &file->symbols};
    for (size_t list = 0; list < 2; list++)
        for (size_t i = 0; i < lists[list]->count; i++) {
            const struct elf_symbol *other = &lists[list]->items[i];
            if (other->kind == PCERE_SYMBOL_TLS && !other->address && strcmp(other->name, entry->name) != 0)
                return false;
        }
    return true;
}

void elf_settle_tables(struct elf_file *file)
{
    for (size_t i = 0; i < file->symbols.count; i++)
        promoted_settle(file, &file->symbols.items[i]);
    for (size_t i = 0; i < file->tables.count; i++) {
        struct elf_symbol *entry = &file->tables.items[i];
        if (entry->kind == PCERE_SYMBOL_TLS && !entry->address && !is_at_its_place(file, entry) && !is_alone(file, entry))
            entry->address = NOWHERE;
    }
    size_t kept = 0;
    for (size_t i = 0; i < file->tables.count; i++)
        if (file->tables.items[i].address != NOWHERE)
            file->tables.items[kept++] = file->tables.items[i];
    file->tables.count = kept;
}

/* ---- constructs ---------------------------------------------------------------------------------------------------------- */

static const char *const construct_kinds[] = {
#define PCERE_CONSTRUCT(number, name, words) [number] = words,
#include "include/pcere/constructs.inc"
#undef PCERE_CONSTRUCT
};

static enum pcere_status read_construct(struct elf_file *file, uint64_t unit_id, const unsigned char *at, uint64_t left, uint64_t *ret_used,
                                        struct pcere_error *error)
{
    struct elf_construct construct = {.unit_id = unit_id};
    struct pcere_construct_entry *entry = &construct.entry;
    if (left < sizeof *entry)
        return elf_damaged(file, error, "a table of constructs is cut off");
    memcpy(entry, at, sizeof *entry);
    if (!entry->id || !entry->kind || entry->kind >= sizeof construct_kinds / sizeof *construct_kinds)
        return elf_damaged(file, error, "a table of constructs has an entry of unknown kind");
    const char **strings[] = {&construct.function, &construct.file, &construct.region};
    const char *next = (const char *)at + sizeof *entry;
    uint64_t text_left = entry->text_bytes;
    bool whole = text_left % 8 == 0 && text_left <= left - sizeof *entry;
    for (size_t i = 0; whole && i < 3; i++) {
        const char *end = memchr(next, 0, text_left);
        whole = end != NULL;
        if (whole) {
            *strings[i] = next;
            text_left -= (uint64_t)(end + 1 - next);
            next = end + 1;
        }
    }
    if (!whole)
        return elf_damaged(file, error, "a name in a table of constructs has no end");
    *ret_used = sizeof *entry + entry->text_bytes;
    if (!array_reserve(&file->constructs, &file->construct_capacity, file->construct_count + 1, sizeof construct))
        return elf_no_memory(error);
    file->constructs[file->construct_count++] = construct;
    return PCERE_OK;
}

enum pcere_status elf_read_constructs(struct elf_file *file, const unsigned char *at, uint64_t left, struct pcere_error *error)
{
    return read_sequence(file, at, left, PCERE_CONSTRUCTS_MAGIC, "a table of constructs", read_construct, error);
}

/* ---- asking -------------------------------------------------------------------------------------------------------------- */

size_t elf_file_units(const struct elf_file *file, const struct elf_unit **ret_units)
{
    *ret_units = file->units;
    return file->unit_count;
}

size_t elf_file_other_units(const struct elf_file *file, uint32_t *ret_version)
{
    *ret_version = file->other_version;
    return file->other_units;
}

enum pcere_status elf_fail_other_version(const struct elf_file *file, struct pcere_error *error)
{
    return pcere_fail(error, PCERE_DATA, 0, ELF_HINT_COMPILE, "'%s' was compiled with another version of PCERE's plugin (%u, not %u)", file->path,
                      file->other_version, PCERE_ABI_VERSION);
}

size_t elf_file_tables(const struct elf_file *file, const struct elf_symbol **ret_symbols)
{
    *ret_symbols = file->tables.items;
    return file->tables.count;
}

size_t elf_file_constructs(const struct elf_file *file, const struct elf_construct **ret_constructs)
{
    *ret_constructs = file->constructs;
    return file->construct_count;
}

const struct elf_construct *elf_file_construct(const struct elf_file *file, uint64_t id)
{
    for (size_t i = 0; i < file->construct_count; i++)
        if (file->constructs[i].entry.id == id)
            return &file->constructs[i];
    return NULL;
}

const char *elf_construct_kind(const struct elf_construct *construct)
{
    return construct_kinds[construct->entry.kind];
}

enum pcere_status elf_unit_bitcode(const struct elf_unit *unit, void **ret_bitcode, size_t *ret_bytes, struct pcere_error *error)
{
    const struct pcere_unit_header *header = &unit->header;
    bool packed = header->coding == PCERE_UNIT_ZSTD;
    bool good = !packed || ZSTD_getFrameContentSize(unit->bitcode, header->stored_bytes) == header->raw_bytes;
    char *bitcode = good ? malloc(header->raw_bytes + 1) : NULL;
    if (good && !bitcode)
        return pcere_fail_memory(error, "a unit of bitcode");
    if (good && packed)
        good = ZSTD_decompress(bitcode, header->raw_bytes, unit->bitcode, header->stored_bytes) == header->raw_bytes;
    else if (good)
        memcpy(bitcode, unit->bitcode, header->raw_bytes);
    if (!good) {
        free(bitcode);
        return pcere_fail(error, PCERE_DATA, 0, ELF_HINT_COMPILE, "the bitcode of '%.200s' is damaged", unit->source);
    }
    *ret_bitcode = bitcode;
    *ret_bytes = header->raw_bytes;
    return PCERE_OK;
}
