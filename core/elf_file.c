#include "core/elf_file.h"

#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define ELF_PAGE_BYTES 4096u
#define UNIT_RAW_BYTES_MOST ((uint64_t)1 << 30)    /* of bitcode: a claim beyond that is damage */
#define HINT_COMPILE "compile it with: clang -fopenmp -fpass-plugin=PCEREPass.so"

struct symbols { struct elf_symbol *items; size_t count, capacity; };

struct elf_file {
    char *path;
    int descriptor;
    Elf *elf;                                      /* owns section contents that units and tables borrow from */
    bool pie, dynamic;
    uint64_t low, high;
    uint64_t near_low, near_high;                  /* 0, 0: no section tells */
    uint64_t tls_bytes, tls_offset;
    char *build_id;
    char *soname;
    char **needed;
    size_t needed_count, needed_capacity;
    uint64_t *copies;                              /* addresses that copy relocations fill, ascending */
    size_t copy_count, copy_capacity;
    struct elf_unit *units;
    size_t unit_count, unit_capacity;
    struct symbols tables, symbols;
    size_t first_tables;                           /* entries of .pcere.sym, while .debug_pcere is read */
    uint64_t asked_unit;                           /* the last unit that is_known was asked of, and what it said; 0: none */
    bool asked_is_known;
    struct elf_construct *constructs;
    size_t construct_count, construct_capacity;
    char *names;                                   /* of `symbols` */
};

static enum pcere_status damaged(const struct elf_file *file, struct pcere_error *error, const char *what)
{
    return pcere_fail(error, PCERE_DATA, 0, "link the program again", "'%s' is damaged: %s", file->path, what);
}

static enum pcere_status damaged_part(const struct elf_file *file, struct pcere_error *error, const char *part, const char *how)
{
    return pcere_fail(error, PCERE_DATA, 0, "link the program again", "'%s' is damaged: %s %s", file->path, part, how);
}

static enum pcere_status no_memory(struct pcere_error *error)
{
    return pcere_fail_memory(error, "what an executable holds");
}

/* ---- program headers ----------------------------------------------------------------------------------------------------- */

static enum pcere_status read_segments(struct elf_file *file, struct pcere_error *error)
{
    size_t count;
    if (elf_getphdrnum(file->elf, &count) != 0)
        return damaged(file, error, "its program headers cannot be read");
    file->low = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(file->elf, (int)i, &segment))
            return damaged(file, error, "its program headers cannot be read");
        if (segment.p_memsz > UINT64_MAX / 2 || segment.p_vaddr > UINT64_MAX / 2)
            return damaged(file, error, "a segment wraps around");
        uint64_t end = segment.p_vaddr + segment.p_memsz;
        if (segment.p_type == PT_INTERP)
            file->dynamic = true;
        if (segment.p_type == PT_LOAD && segment.p_memsz) {
            file->low = segment.p_vaddr < file->low ? segment.p_vaddr : file->low;
            file->high = end > file->high ? end : file->high;
        }
        if (segment.p_type == PT_TLS) {
            uint64_t align = segment.p_align ? segment.p_align : 1;
            if ((align & (align - 1)) || align > UINT32_MAX)
                return damaged(file, error, "its TLS segment is not aligned to a power of two");
            /* Variant II: the block ends at the thread pointer or below, and keeps the alignment of its first byte. */
            file->tls_bytes = segment.p_memsz;
            file->tls_offset = segment.p_memsz + ((0 - segment.p_vaddr - segment.p_memsz) & (align - 1));
        }
    }
    if (file->low >= file->high)
        return damaged(file, error, "it has no segment to load");
    file->low &= ~(uint64_t)(ELF_PAGE_BYTES - 1);
    file->high = (file->high + ELF_PAGE_BYTES - 1) & ~(uint64_t)(ELF_PAGE_BYTES - 1);
    return PCERE_OK;
}

/* ---- bitcode and address tables ------------------------------------------------------------------------------------------ */

static enum pcere_status read_unit(struct elf_file *file, const unsigned char *at, uint64_t left, uint64_t *ret_used,
                                   struct pcere_error *error)
{
    struct elf_unit unit;
    if (left < sizeof unit.header)
        return damaged(file, error, "a unit of bitcode is cut off");
    memcpy(&unit.header, at, sizeof unit.header);
    const struct pcere_unit_header *header = &unit.header;
    if (memcmp(header->magic, PCERE_UNIT_MAGIC, sizeof header->magic) != 0)
        return damaged(file, error, "its bitcode does not begin as it should");
    if (header->abi_version != PCERE_ABI_VERSION)
        return pcere_fail(error, PCERE_DATA, 0, HINT_COMPILE, "'%s' was compiled with another version of PCERE's plugin (%u, not %u)",
                          file->path, header->abi_version, PCERE_ABI_VERSION);
    uint64_t used = sizeof *header;
    const uint64_t parts[] = {header->flags_bytes, header->source_bytes, header->stored_bytes};
    for (size_t i = 0; i < 3; i++) {
        if (parts[i] > left - used)
            return damaged(file, error, "a unit of bitcode is cut off");
        used += parts[i];
    }
    unit.flags = (const char *)at + sizeof *header;
    unit.source = unit.flags + header->flags_bytes;
    unit.bitcode = unit.source + header->source_bytes;
    if (header->flags_bytes && unit.flags[header->flags_bytes - 1])
        return damaged(file, error, "the flags of a unit have no end");
    if (!header->source_bytes || unit.source[header->source_bytes - 1])
        return damaged(file, error, "the source name of a unit has no end");
    if (header->raw_bytes > UNIT_RAW_BYTES_MOST ||
        !(header->coding == PCERE_UNIT_ZSTD || (header->coding == PCERE_UNIT_RAW && header->raw_bytes == header->stored_bytes)))
        return damaged(file, error, "a unit of bitcode has an impossible size or coding");
    if (!array_reserve(&file->units, &file->unit_capacity, file->unit_count + 1, sizeof unit))
        return no_memory(error);
    file->units[file->unit_count++] = unit;
    used = (used + 15) & ~15ull;
    *ret_used = used < left ? used : left;
    return PCERE_OK;
}

static enum pcere_status read_units(struct elf_file *file, const unsigned char *at, uint64_t left, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (uint64_t used; left && !status; at += used, left -= used) {
        used = left;
        status = read_unit(file, at, left, &used, error);
    }
    return status;
}

static bool symbols_add(struct symbols *symbols, const struct elf_symbol *symbol)
{
    if (!array_reserve(&symbols->items, &symbols->capacity, symbols->count + 1, sizeof *symbol))
        return false;
    symbols->items[symbols->count++] = *symbol;
    return true;
}

static int compare_addresses(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static bool is_copy(const struct elf_file *file, uint64_t address, uint16_t kind)
{
    return kind == PCERE_SYMBOL_VARIABLE && file->copy_count &&
           bsearch(&address, file->copies, file->copy_count, sizeof address, compare_addresses);
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

static enum pcere_status read_entry(struct elf_file *file, uint64_t unit_id, const unsigned char *at, uint64_t left, uint64_t *ret_used,
                                    struct pcere_error *error)
{
    struct pcere_symbol_entry entry;
    if (left < sizeof entry)
        return damaged(file, error, "a table of addresses is cut off");
    memcpy(&entry, at, sizeof entry);
    const char *name = (const char *)at + sizeof entry;
    if (!entry.name_bytes || entry.name_bytes % 8 || entry.name_bytes > left - sizeof entry || name[entry.name_bytes - 1])
        return damaged(file, error, "a name in a table of addresses has no end");
    if (entry.kind < PCERE_SYMBOL_VARIABLE || entry.kind > PCERE_SYMBOL_FUNCTION || entry.local > 1)
        return damaged(file, error, "a table of addresses has an entry of unknown kind");
    *ret_used = sizeof entry + entry.name_bytes;
    /* A section that is not loaded keeps nothing alive: what the linker dropped has address 0, or one that nothing can have. */
    if ((!entry.address && entry.kind != PCERE_SYMBOL_TLS) || entry.address >= UINT64_C(1) << 47 || is_known(file, unit_id))
        return PCERE_OK;
    struct elf_symbol symbol = {name, entry.address, entry.size, unit_id, entry.kind, entry.local, false,
                                is_copy(file, entry.address, entry.kind)};
    return symbols_add(&file->tables, &symbol) ? PCERE_OK : no_memory(error);
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
        if (header.abi_version != PCERE_ABI_VERSION)
            return pcere_fail(error, PCERE_DATA, 0, HINT_COMPILE,
                              "'%s' was compiled with another version of PCERE's plugin (%u, not %u)", file->path, header.abi_version,
                              PCERE_ABI_VERSION);
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

static enum pcere_status read_tables(struct elf_file *file, const unsigned char *at, uint64_t left, struct pcere_error *error)
{
    return read_sequence(file, at, left, PCERE_SYMBOLS_MAGIC, "a table of addresses", read_entry, error);
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
        return damaged(file, error, "a table of constructs is cut off");
    memcpy(entry, at, sizeof *entry);
    if (!entry->id || !entry->kind || entry->kind >= sizeof construct_kinds / sizeof *construct_kinds)
        return damaged(file, error, "a table of constructs has an entry of unknown kind");
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
        return damaged(file, error, "a name in a table of constructs has no end");
    *ret_used = sizeof *entry + entry->text_bytes;
    if (!array_reserve(&file->constructs, &file->construct_capacity, file->construct_count + 1, sizeof construct))
        return no_memory(error);
    file->constructs[file->construct_count++] = construct;
    return PCERE_OK;
}

static enum pcere_status read_constructs(struct elf_file *file, const unsigned char *at, uint64_t left, struct pcere_error *error)
{
    return read_sequence(file, at, left, PCERE_CONSTRUCTS_MAGIC, "a table of constructs", read_construct, error);
}

/* ---- sections ------------------------------------------------------------------------------------------------------------ */

/* A critical's lock is a common symbol of its own name; the runtime's pointer in it must be cleared in another process. NAME.llvm.HASH is a
 * static variable that ThinLTO shared with other modules. */
static bool symbol_wanted(const GElf_Sym *symbol, const char *name)
{
    unsigned char binding = GELF_ST_BIND(symbol->st_info), type = GELF_ST_TYPE(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF || !*name || type == STT_SECTION || type == STT_FILE)
        return false;
    return binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE ||
           strncmp(name, ".gomp_critical_user_", 20) == 0 || strstr(name, ".llvm.");
}

static enum pcere_status read_symbols(struct elf_file *file, Elf_Scn *section, const GElf_Shdr *header, struct pcere_error *error)
{
    Elf_Scn *strings = elf_getscn(file->elf, header->sh_link);
    Elf_Data *entries = elf_getdata(section, NULL), *text = strings ? elf_rawdata(strings, NULL) : NULL;
    if (!entries || !text || !text->d_buf || !header->sh_entsize)
        return header->sh_size ? damaged(file, error, "its symbols cannot be read") : PCERE_OK;
    file->names = malloc(text->d_size + 1);
    if (!file->names)
        return no_memory(error);
    memcpy(file->names, text->d_buf, text->d_size);
    file->names[text->d_size] = 0;
    size_t count = entries->d_size / sizeof(Elf64_Sym);
    for (size_t i = 1; i < count && i <= INT32_MAX; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(entries, (int)i, &symbol) || symbol.st_name > text->d_size)
            return damaged(file, error, "a symbol's name lies outside");
        char *name = file->names + symbol.st_name, *version = strchr(name, '@');
        if (version && version != name)
            *version = 0;
        if (!symbol_wanted(&symbol, name))
            continue;
        unsigned char type = GELF_ST_TYPE(symbol.st_info);
        uint16_t kind = type == STT_TLS ? PCERE_SYMBOL_TLS
                        : type == STT_FUNC || type == STT_GNU_IFUNC ? PCERE_SYMBOL_FUNCTION : PCERE_SYMBOL_VARIABLE;
        struct elf_symbol wanted = {name, symbol.st_value, symbol.st_size, 0, kind, GELF_ST_BIND(symbol.st_info) == STB_LOCAL,
                                    type == STT_GNU_IFUNC, is_copy(file, symbol.st_value, kind)};
        if (!symbols_add(&file->symbols, &wanted))
            return no_memory(error);
    }
    return PCERE_OK;
}

static enum pcere_status read_dynamic(struct elf_file *file, Elf_Scn *section, const GElf_Shdr *header, struct pcere_error *error)
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Dyn entry;
    for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
        if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_SONAME)
            continue;
        const char *name = elf_strptr(file->elf, header->sh_link, entry.d_un.d_val);
        if (!name)
            return damaged(file, error, "the name of a needed library lies outside");
        if (entry.d_tag == DT_SONAME) {
            if (!file->soname && !(file->soname = strdup(name)))
                return no_memory(error);
            continue;
        }
        if (!array_reserve(&file->needed, &file->needed_capacity, file->needed_count + 1, sizeof *file->needed) ||
            !(file->needed[file->needed_count] = strdup(name)))
            return no_memory(error);
        file->needed_count++;
    }
    return PCERE_OK;
}

static enum pcere_status read_relocations(struct elf_file *file, Elf_Scn *section, struct pcere_error *error)
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Rela relocation;
    for (int i = 0; data && gelf_getrela(data, i, &relocation); i++) {
        if (GELF_R_TYPE(relocation.r_info) != R_X86_64_COPY)
            continue;
        if (!array_reserve(&file->copies, &file->copy_capacity, file->copy_count + 1, sizeof *file->copies))
            return no_memory(error);
        file->copies[file->copy_count++] = relocation.r_offset;
    }
    return PCERE_OK;
}

static enum pcere_status read_notes(struct elf_file *file, Elf_Scn *section, struct pcere_error *error)
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Nhdr note;
    size_t name, content;
    for (size_t at = 0, next; data && !file->build_id && (next = gelf_getnote(data, at, &note, &name, &content)) > 0; at = next) {
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || memcmp((char *)data->d_buf + name, "GNU", 4) != 0)
            continue;
        struct text hex = {0};
        for (size_t i = 0; i < note.n_descsz && i < 64; i++)
            text_addf(&hex, "%02x", ((unsigned char *)data->d_buf)[content + i]);
        if (!(file->build_id = text_take(&hex)))
            return no_memory(error);
    }
    return PCERE_OK;
}

#ifndef SHF_X86_64_LARGE
#define SHF_X86_64_LARGE 0x10000000u
#endif

/* Notes and the like have no address; thread-local sections take none. */
static void near_note(struct elf_file *file, const GElf_Shdr *section)
{
    if (!(section->sh_flags & SHF_ALLOC) || section->sh_flags & (SHF_X86_64_LARGE | SHF_TLS) || !section->sh_size
        || section->sh_addr < file->low || section->sh_addr >= file->high || section->sh_size > file->high - section->sh_addr)
        return;
    if (!file->near_high || section->sh_addr < file->near_low)
        file->near_low = section->sh_addr & ~(uint64_t)(ELF_PAGE_BYTES - 1);
    uint64_t end = (section->sh_addr + section->sh_size + ELF_PAGE_BYTES - 1) & ~(uint64_t)(ELF_PAGE_BYTES - 1);
    file->near_high = end > file->near_high ? end : file->near_high;
}

typedef enum pcere_status read_bytes_fn(struct elf_file *file, const unsigned char *at, uint64_t left, struct pcere_error *error);

static enum pcere_status read_own(struct elf_file *file, Elf_Scn *section, const GElf_Shdr *header, read_bytes_fn *read_bytes,
                                  struct pcere_error *error)
{
    if (!header->sh_size)
        return PCERE_OK;
    bool unpacked = !(header->sh_flags & SHF_COMPRESSED) || elf_compress(section, 0, 0) >= 0;
    Elf_Data *data = unpacked ? elf_rawdata(section, NULL) : NULL;
    if (!data || !data->d_buf || header->sh_type != SHT_PROGBITS)
        return damaged(file, error, "the sections of PCERE cannot be read");
    return read_bytes(file, data->d_buf, data->d_size, error);
}

/* Copy relocations come first: symbols are marked by them. */
static enum pcere_status read_sections(struct elf_file *file, struct pcere_error *error)
{
    size_t names;
    Elf_Scn *full = NULL, *exported = NULL, *debug = NULL;
    GElf_Shdr header, full_header = {0}, exported_header = {0}, debug_header = {0};
    enum pcere_status status = PCERE_OK;
    if (elf_getshdrstrndx(file->elf, &names) != 0)
        return damaged(file, error, "its section headers cannot be read");
    for (Elf_Scn *section = NULL; !status && (section = elf_nextscn(file->elf, section));) {
        if (!gelf_getshdr(section, &header))
            return damaged(file, error, "its section headers cannot be read");
        near_note(file, &header);
        if (header.sh_type == SHT_RELA)
            status = read_relocations(file, section, error);
        else if (header.sh_type == SHT_DYNAMIC)
            status = read_dynamic(file, section, &header, error);
        else if (header.sh_type == SHT_NOTE)
            status = read_notes(file, section, error);
        else if (header.sh_type == SHT_SYMTAB)
            full = section, full_header = header;
        else if (header.sh_type == SHT_DYNSYM)
            exported = section, exported_header = header;
    }
    if (file->copy_count)
        qsort(file->copies, file->copy_count, sizeof *file->copies, compare_addresses);
    for (Elf_Scn *section = NULL; !status && (section = elf_nextscn(file->elf, section));) {
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(file->elf, names, header.sh_name) : NULL;
        if (!name)
            return damaged(file, error, "the name of a section lies outside");
        if (strcmp(name, ".pcere.bc") == 0)
            status = read_own(file, section, &header, read_units, error);
        else if (strcmp(name, ".pcere.sym") == 0)
            status = read_own(file, section, &header, read_tables, error);
        else if (strcmp(name, ".pcere.con") == 0)
            status = read_own(file, section, &header, read_constructs, error);
        else if (strcmp(name, ".debug_pcere") == 0)
            debug = section, debug_header = header;
    }
    file->first_tables = file->tables.count;
    if (!status && debug)
        status = read_own(file, debug, &debug_header, read_tables, error);
    if (!status && full)
        return read_symbols(file, full, &full_header, error);
    return !status && exported ? read_symbols(file, exported, &exported_header, error) : status;
}

/* ---- opening ------------------------------------------------------------------------------------------------------------- */

static enum pcere_status read_file(struct elf_file *file, struct pcere_error *error)
{
    struct stat about;
    file->descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file->descriptor < 0 || fstat(file->descriptor, &about) != 0)
        return pcere_fail(error, errno == ENOENT || errno == ENOTDIR ? PCERE_USAGE : PCERE_SYSTEM, errno, NULL, "cannot read '%s'",
                          file->path);
    if (!S_ISREG(about.st_mode))
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "'%s' is not a regular file", file->path);
    GElf_Ehdr header;
    if (elf_version(EV_CURRENT) == EV_NONE || !(file->elf = elf_begin(file->descriptor, ELF_C_READ, NULL)) ||
        elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &header))
        return pcere_fail(error, PCERE_DATA, 0, HINT_COMPILE, "'%s' is not an executable in ELF format", file->path);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != EM_X86_64 ||
        (header.e_type != ET_EXEC && header.e_type != ET_DYN))
        return pcere_fail(error, PCERE_DATA, 0, HINT_COMPILE, "'%s' is not an executable for 64-bit x86", file->path);
    file->pie = header.e_type == ET_DYN;
    enum pcere_status status = read_segments(file, error);
    return status ? status : read_sections(file, error);
}

enum pcere_status elf_file_open(const char *path, struct elf_file **ret_file, struct pcere_error *error)
{
    struct elf_file *file = calloc(1, sizeof *file);
    if (!file)
        return no_memory(error);
    file->descriptor = -1;
    file->path = strdup(path);
    enum pcere_status status = file->path ? read_file(file, error) : no_memory(error);
    if (file->descriptor >= 0)
        close(file->descriptor);
    if (status) {
        elf_file_close(file);
        return status;
    }
    *ret_file = file;
    return PCERE_OK;
}

void elf_file_close(struct elf_file *file)
{
    if (!file)
        return;
    elf_end(file->elf);
    for (size_t i = 0; i < file->needed_count; i++)
        free(file->needed[i]);
    free(file->needed);
    free(file->soname);
    free(file->build_id);
    free(file->copies);
    free(file->units);
    free(file->tables.items);
    free(file->constructs);
    free(file->symbols.items);
    free(file->names);
    free(file->path);
    free(file);
}

/* ---- asking -------------------------------------------------------------------------------------------------------------- */

bool elf_file_is_pie(const struct elf_file *file)
{
    return file->pie;
}

bool elf_file_is_static(const struct elf_file *file)
{
    return !file->dynamic;
}

void elf_file_span(const struct elf_file *file, uint64_t *ret_low, uint64_t *ret_high)
{
    *ret_low = file->low;
    *ret_high = file->high;
}

void elf_file_near_span(const struct elf_file *file, uint64_t *ret_low, uint64_t *ret_high)
{
    *ret_low = file->near_high ? file->near_low : file->low;
    *ret_high = file->near_high ? file->near_high : file->high;
}

uint64_t elf_file_tls_bytes(const struct elf_file *file)
{
    return file->tls_bytes;
}

uint64_t elf_file_tls_offset(const struct elf_file *file)
{
    return file->tls_offset;
}

const char *elf_file_build_id(const struct elf_file *file)
{
    return file->build_id;
}

bool elf_file_imports(const struct elf_file *file, const char *prefix)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
        GElf_Shdr header;
        GElf_Sym symbol;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM)
            continue;
        Elf_Data *entries = elf_getdata(section, NULL);
        for (int i = 1; entries && gelf_getsym(entries, i, &symbol); i++) {
            const char *name = symbol.st_shndx == SHN_UNDEF ? elf_strptr(file->elf, header.sh_link, symbol.st_name) : NULL;
            if (name && strncmp(name, prefix, strlen(prefix)) == 0)
                return true;
        }
    }
    return false;
}

static bool is_linkage(const GElf_Shdr *header)
{
    static const GElf_Word types[] = {SHT_DYNAMIC, SHT_DYNSYM, SHT_STRTAB, SHT_HASH, SHT_GNU_HASH, SHT_RELA, SHT_REL, SHT_NOTE,
                                      SHT_GNU_verdef, SHT_GNU_verneed, SHT_GNU_versym};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (header->sh_type == types[i] && header->sh_flags & SHF_ALLOC)
            return true;
    return false;
}

uint64_t elf_file_data_end(const struct elf_file *file)
{
    size_t segments = 0;
    uint64_t end = 0;
    GElf_Phdr segment;
    elf_getphdrnum(file->elf, &segments);
    for (size_t i = 0; i < segments && gelf_getphdr(file->elf, (int)i, &segment); i++)
        if (segment.p_type == PT_LOAD && segment.p_flags & PF_W && segment.p_vaddr + segment.p_filesz > end)
            end = segment.p_vaddr + segment.p_filesz;
    return end;
}

/* The first words of the table of functions are the dynamic linker's own. */
static bool table_head(Elf_Scn *dynamic, struct elf_range *ret_range)
{
    Elf_Data *data = elf_getdata(dynamic, NULL);
    GElf_Dyn entry;
    for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
        if (entry.d_tag == DT_PLTGOT) {
            *ret_range = (struct elf_range){entry.d_un.d_ptr, 3 * sizeof(uint64_t)};
            return true;
        }
    return false;
}

size_t elf_file_linkage(const struct elf_file *file, struct elf_range *ret_ranges, size_t most)
{
    size_t count = 0, segments = 0;
    GElf_Phdr segment;
    elf_getphdrnum(file->elf, &segments);
    if (count < most)
        ret_ranges[count++] = (struct elf_range){file->low, sizeof(Elf64_Ehdr) + segments * sizeof(Elf64_Phdr)};
    for (size_t i = 0; i < segments && count < most && gelf_getphdr(file->elf, (int)i, &segment); i++) {
        uint64_t end = (segment.p_vaddr + segment.p_memsz + ELF_PAGE_BYTES - 1) / ELF_PAGE_BYTES * ELF_PAGE_BYTES;
        if (segment.p_type == PT_GNU_EH_FRAME)
            ret_ranges[count++] = (struct elf_range){segment.p_vaddr, segment.p_memsz};
        else if (segment.p_type == PT_LOAD && segment.p_flags & PF_X)
            ret_ranges[count++] = (struct elf_range){end, 1};
    }
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section)) && count < most;) {
        GElf_Shdr header = {0};
        if (gelf_getshdr(section, &header) && is_linkage(&header))
            ret_ranges[count++] = (struct elf_range){header.sh_addr, header.sh_size};
        if (header.sh_type == SHT_DYNAMIC && count < most && table_head(section, &ret_ranges[count]))
            count++;
    }
    return count;
}

const char *elf_file_soname(const struct elf_file *file)
{
    return file->soname;
}

size_t elf_file_needed(const struct elf_file *file, const char *const **ret_names)
{
    *ret_names = (const char *const *)file->needed;
    return file->needed_count;
}

size_t elf_file_units(const struct elf_file *file, const struct elf_unit **ret_units)
{
    *ret_units = file->units;
    return file->unit_count;
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

size_t elf_file_symbols(const struct elf_file *file, const struct elf_symbol **ret_symbols)
{
    *ret_symbols = file->symbols.items;
    return file->symbols.count;
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
        return pcere_fail(error, PCERE_DATA, 0, HINT_COMPILE, "the bitcode of '%.200s' is damaged", unit->source);
    }
    *ret_bitcode = bitcode;
    *ret_bytes = header->raw_bytes;
    return PCERE_OK;
}
