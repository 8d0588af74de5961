/* core/elf_file.c - an ELF executable: what every compiler and linker writes. */
#include "core/elf_inside.h"

#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define ELF_PAGE_BYTES 4096u

enum pcere_status elf_damaged(const struct elf_file *file, struct pcere_error *error, const char *what)
{
    return pcere_fail(error, PCERE_DATA, 0, "link the program again, or copy it again", "'%s' is damaged: %s", file->path, what);
}

enum pcere_status elf_no_memory(struct pcere_error *error)
{
    return pcere_fail_memory(error, "what an executable holds");
}

bool elf_symbols_add(struct elf_symbols *symbols, const struct elf_symbol *symbol)
{
    if (!array_reserve(&symbols->items, &symbols->capacity, symbols->count + 1, sizeof *symbol))
        return false;
    symbols->items[symbols->count++] = *symbol;
    return true;
}

int elf_compare_addresses(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

bool elf_is_copy(const struct elf_file *file, uint64_t address, uint16_t kind)
{
    return kind == PCERE_SYMBOL_VARIABLE && file->copy_count &&
           bsearch(&address, file->copies, file->copy_count, sizeof address, elf_compare_addresses);
}

/* ---- program headers ----------------------------------------------------------------------------------------------------- */

static enum pcere_status read_segments(struct elf_file *file, struct pcere_error *error)
{
    size_t count;
    if (elf_getphdrnum(file->elf, &count) != 0)
        return elf_damaged(file, error, "its program headers cannot be read");
    file->low = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(file->elf, (int)i, &segment))
            return elf_damaged(file, error, "its program headers cannot be read");
        if (segment.p_memsz > UINT64_MAX / 2 || segment.p_vaddr > UINT64_MAX / 2)
            return elf_damaged(file, error, "a segment wraps around");
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
                return elf_damaged(file, error, "its TLS segment is not aligned to a power of two");
            /* Variant II: the block ends at the thread pointer or below, and keeps the alignment of its first byte. */
            file->tls_bytes = segment.p_memsz;
            file->tls_data_bytes = segment.p_filesz;
            file->tls_offset = segment.p_memsz + ((0 - segment.p_vaddr - segment.p_memsz) & (align - 1));
        }
    }
    if (file->low >= file->high)
        return elf_damaged(file, error, "it has no segment to load");
    file->low &= ~(uint64_t)(ELF_PAGE_BYTES - 1);
    file->high = (file->high + ELF_PAGE_BYTES - 1) & ~(uint64_t)(ELF_PAGE_BYTES - 1);
    return PCERE_OK;
}

/* ---- sections ------------------------------------------------------------------------------------------------------------ */

/* A critical's lock is a common symbol of its own name; the runtime's pointer in it must be cleared in another process. NAME.llvm.HASH is a
 * static variable that ThinLTO shared with other modules. Tables do not tell of a thread-local variable whether it is there. */
static bool symbol_wanted(const GElf_Sym *symbol, const char *name)
{
    unsigned char binding = GELF_ST_BIND(symbol->st_info), type = GELF_ST_TYPE(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF || !*name || type == STT_SECTION || type == STT_FILE)
        return false;
    return binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE ||
           type == STT_TLS || strncmp(name, ".gomp_critical_user_", 20) == 0 || strstr(name, ".llvm.") || strcmp(name, ELF_FRAMES_OBJECT) == 0;
}

static enum pcere_status read_symbols(struct elf_file *file, Elf_Scn *section, const GElf_Shdr *header, struct pcere_error *error)
{
    Elf_Scn *strings = elf_getscn(file->elf, header->sh_link);
    Elf_Data *entries = elf_getdata(section, NULL), *text = strings ? elf_rawdata(strings, NULL) : NULL;
    if (!entries || !text || !text->d_buf || !header->sh_entsize)
        return header->sh_size ? elf_damaged(file, error, "its symbols cannot be read") : PCERE_OK;
    file->names = malloc(text->d_size + 1);
    if (!file->names)
        return elf_no_memory(error);
    memcpy(file->names, text->d_buf, text->d_size);
    file->names[text->d_size] = 0;
    size_t count = entries->d_size / sizeof(Elf64_Sym);
    for (size_t i = 1; i < count && i <= INT32_MAX; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(entries, (int)i, &symbol) || symbol.st_name > text->d_size)
            return elf_damaged(file, error, "a symbol's name lies outside");
        char *name = file->names + symbol.st_name, *version = strchr(name, '@');
        if (version && version != name)
            *version = 0;
        if (!symbol_wanted(&symbol, name))
            continue;
        unsigned char type = GELF_ST_TYPE(symbol.st_info);
        uint16_t kind = type == STT_TLS ? PCERE_SYMBOL_TLS
                        : type == STT_FUNC || type == STT_GNU_IFUNC ? PCERE_SYMBOL_FUNCTION : PCERE_SYMBOL_VARIABLE;
        struct elf_symbol wanted = {name, symbol.st_value, symbol.st_size, 0, kind, GELF_ST_BIND(symbol.st_info) == STB_LOCAL,
                                    type == STT_GNU_IFUNC, elf_is_copy(file, symbol.st_value, kind)};
        if (!elf_symbols_add(&file->symbols, &wanted))
            return elf_no_memory(error);
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
            return elf_damaged(file, error, "the name of a needed library lies outside");
        if (entry.d_tag == DT_SONAME) {
            if (!file->soname && !(file->soname = strdup(name)))
                return elf_no_memory(error);
            continue;
        }
        if (!array_reserve(&file->needed, &file->needed_capacity, file->needed_count + 1, sizeof *file->needed) ||
            !(file->needed[file->needed_count] = strdup(name)))
            return elf_no_memory(error);
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
            return elf_no_memory(error);
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
            return elf_no_memory(error);
    }
    return PCERE_OK;
}

#define UNPACKED_BYTES_MOST (UINT64_C(1) << 30)

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif
#ifndef SHT_RELR
#define SHT_RELR 19
#endif
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

/* -gz=zstd packs debug sections, and so .debug_pcere, of which there is one; libelf before 0.189 does not know that. */
static enum pcere_status read_zstd(struct elf_file *file, const Elf_Data *data, read_bytes_fn *read_bytes, struct pcere_error *error)
{
    static const char damage[] = "a section of PCERE does not unpack";
    Elf64_Chdr header;
    if (data->d_size < sizeof header || file->unpacked)
        return elf_damaged(file, error, damage);
    memcpy(&header, data->d_buf, sizeof header);
    const unsigned char *packed = (const unsigned char *)data->d_buf + sizeof header;
    size_t packed_bytes = data->d_size - sizeof header;
    if (header.ch_type != ELFCOMPRESS_ZSTD || !header.ch_size || header.ch_size > UNPACKED_BYTES_MOST || ZSTD_getFrameContentSize(packed, packed_bytes) != header.ch_size)
        return elf_damaged(file, error, damage);
    if (!(file->unpacked = malloc(header.ch_size)))
        return elf_no_memory(error);
    if (ZSTD_decompress(file->unpacked, header.ch_size, packed, packed_bytes) != header.ch_size)
        return elf_damaged(file, error, damage);
    return read_bytes(file, file->unpacked, header.ch_size, error);
}

static enum pcere_status read_own(struct elf_file *file, Elf_Scn *section, const GElf_Shdr *header, read_bytes_fn *read_bytes,
                                  struct pcere_error *error)
{
    if (!header->sh_size)
        return PCERE_OK;
    bool unpacked = !(header->sh_flags & SHF_COMPRESSED) || elf_compress(section, 0, 0) >= 0;
    Elf_Data *data = elf_rawdata(section, NULL);
    if (!data || !data->d_buf || header->sh_type != SHT_PROGBITS)
        return elf_damaged(file, error, "the sections of PCERE cannot be read");
    if (!unpacked)
        return read_zstd(file, data, read_bytes, error);
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
        return elf_damaged(file, error, "its section headers cannot be read");
    for (Elf_Scn *section = NULL; !status && (section = elf_nextscn(file->elf, section));) {
        if (!gelf_getshdr(section, &header))
            return elf_damaged(file, error, "its section headers cannot be read");
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
        qsort(file->copies, file->copy_count, sizeof *file->copies, elf_compare_addresses);
    for (Elf_Scn *section = NULL; !status && (section = elf_nextscn(file->elf, section));) {
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(file->elf, names, header.sh_name) : NULL;
        if (!name)
            return elf_damaged(file, error, "the name of a section lies outside");
        if (strcmp(name, ".pcere.bc") == 0)
            status = read_own(file, section, &header, elf_read_units, error);
        else if (strcmp(name, ".pcere.sym") == 0)
            status = read_own(file, section, &header, elf_read_tables, error);
        else if (strcmp(name, ".pcere.con") == 0)
            status = read_own(file, section, &header, elf_read_constructs, error);
        else if (strcmp(name, ".debug_pcere") == 0)
            debug = section, debug_header = header;
    }
    file->first_tables = file->tables.count;
    if (!status && debug)
        status = read_own(file, debug, &debug_header, elf_read_tables, error);
    if (!status && file->other_tables && !file->other_units)
        status = elf_fail_other_version(file, error);
    if (!status && full)
        status = read_symbols(file, full, &full_header, error);
    else if (!status && exported)
        status = read_symbols(file, exported, &exported_header, error);
    if (!status)
        elf_settle_tables(file);
    return status;
}

/* ---- opening ------------------------------------------------------------------------------------------------------------- */

/* What elf_file_imports looks at: it stays with the handle once it was read, and the file is closed soon. */
static void read_imports(const struct elf_file *file)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
        GElf_Shdr header;
        Elf_Scn *strings = gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM && elf_rawdata(section, NULL) ? elf_getscn(file->elf, header.sh_link) : NULL;
        if (strings)
            elf_rawdata(strings, NULL);
    }
}

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
        return pcere_fail(error, PCERE_DATA, 0, ELF_HINT_COMPILE, "'%s' is not an executable in ELF format", file->path);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != EM_X86_64 ||
        (header.e_type != ET_EXEC && header.e_type != ET_DYN))
        return pcere_fail(error, PCERE_DATA, 0, ELF_HINT_COMPILE, "'%s' is not an executable for 64-bit x86", file->path);
    if (header.e_shoff && (header.e_shoff > (uint64_t)about.st_size || (uint64_t)about.st_size - header.e_shoff < (uint64_t)header.e_shnum * header.e_shentsize))
        return elf_damaged(file, error, "its end is missing");
    file->pie = header.e_type == ET_DYN;
    enum pcere_status status = read_segments(file, error);
    if (!status)
        status = read_sections(file, error);
    if (!status)
        read_imports(file);
    return status;
}

enum pcere_status elf_file_open(const char *path, struct elf_file **ret_file, struct pcere_error *error)
{
    struct elf_file *file = calloc(1, sizeof *file);
    if (!file)
        return elf_no_memory(error);
    file->descriptor = -1;
    file->path = strdup(path);
    enum pcere_status status = file->path ? read_file(file, error) : elf_no_memory(error);
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
    free(file->unpacked);
    free(file->path);
    free(file);
}

/* ---- asking -------------------------------------------------------------------------------------------------------------- */

const char *elf_file_path(const struct elf_file *file)
{
    return file->path;
}

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

uint64_t elf_file_tls_data_bytes(const struct elf_file *file)
{
    return file->tls_data_bytes;
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
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM)
            continue;
        Elf_Scn *strings = elf_getscn(file->elf, header.sh_link);
        const Elf_Data *entries = elf_rawdata(section, NULL), *text = strings ? elf_rawdata(strings, NULL) : NULL;
        size_t count = entries && entries->d_buf && text && text->d_buf ? entries->d_size / sizeof(Elf64_Sym) : 0, length = strlen(prefix);
        for (size_t i = 1; i < count; i++) {
            Elf64_Sym symbol;
            memcpy(&symbol, (const char *)entries->d_buf + i * sizeof symbol, sizeof symbol);
            if (symbol.st_shndx == SHN_UNDEF && symbol.st_name < text->d_size && length <= text->d_size - symbol.st_name &&
                memcmp((const char *)text->d_buf + symbol.st_name, prefix, length) == 0)
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

static int pointer_order(const void *left, const void *right)
{
    const struct elf_pointer *a = left, *b = right;
    return a->address != b->address ? (a->address > b->address) - (a->address < b->address) : (a->value > b->value) - (a->value < b->value);
}

/* A weak function may be another file's. */
static uint64_t pointer_value(const struct elf_file *file, const GElf_Shdr *header, const GElf_Rela *relocation)
{
    Elf_Scn *section = elf_getscn(file->elf, header->sh_link);
    Elf_Data *symbols = section ? elf_getdata(section, NULL) : NULL;
    GElf_Sym symbol;
    if (GELF_R_TYPE(relocation->r_info) == R_X86_64_RELATIVE)
        return (uint64_t)relocation->r_addend;
    if (GELF_R_TYPE(relocation->r_info) != R_X86_64_64 || !symbols || !gelf_getsym(symbols, (int)GELF_R_SYM(relocation->r_info), &symbol))
        return 0;
    bool own = symbol.st_shndx != SHN_UNDEF && GELF_ST_TYPE(symbol.st_info) == STT_FUNC && GELF_ST_BIND(symbol.st_info) == STB_GLOBAL;
    return own ? symbol.st_value + (uint64_t)relocation->r_addend : 0;
}

bool elf_file_pointers(const struct elf_file *file, struct elf_pointer **ret_pointers, size_t *ret_count)
{
    struct elf_pointer *pointers = NULL;
    size_t count = 0, capacity = 0;
    bool good = true;
    GElf_Shdr header;
    for (Elf_Scn *section = NULL; good && (section = elf_nextscn(file->elf, section));) {
        GElf_Rela relocation;
        good = gelf_getshdr(section, &header) && header.sh_type != SHT_RELR;
        Elf_Data *data = good && header.sh_type == SHT_RELA && header.sh_flags & SHF_ALLOC ? elf_getdata(section, NULL) : NULL;
        for (int i = 0; good && data && gelf_getrela(data, i, &relocation); i++) {
            good = array_reserve(&pointers, &capacity, count + 1, sizeof *pointers);
            if (good)
                pointers[count++] = (struct elf_pointer){relocation.r_offset, pointer_value(file, &header, &relocation)};
        }
    }
    if (!good) {
        free(pointers);
        return false;
    }
    if (count)
        qsort(pointers, count, sizeof *pointers, pointer_order);
    *ret_pointers = pointers;
    *ret_count = count;
    return true;
}

struct elf_range elf_file_code(const struct elf_file *file)
{
    size_t segments = 0;
    uint64_t low = UINT64_MAX, high = 0;
    GElf_Phdr segment;
    elf_getphdrnum(file->elf, &segments);
    for (size_t i = 0; i < segments && gelf_getphdr(file->elf, (int)i, &segment); i++)
        if (segment.p_type == PT_LOAD && segment.p_flags & PF_X) {
            low = segment.p_vaddr < low ? segment.p_vaddr : low;
            high = segment.p_vaddr + segment.p_memsz > high ? segment.p_vaddr + segment.p_memsz : high;
        }
    return (struct elf_range){high > low ? low : 0, high > low ? high - low : 0};
}

static bool section_boundary(const struct elf_file *file, const char *section_name, bool end, uint64_t *ret_address)
{
    size_t names;
    bool found = false;
    GElf_Shdr header;
    if (elf_getshdrstrndx(file->elf, &names) != 0)
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(file->elf, names, header.sh_name) : NULL;
        if (!name || strcmp(name, section_name) != 0 || !(header.sh_flags & SHF_ALLOC) || (found && !end))
            continue;
        *ret_address = header.sh_addr + (end ? header.sh_size : 0);
        found = true;
    }
    return found;
}

bool elf_file_boundary(const struct elf_file *file, const char *name, uint64_t *ret_address)
{
    static const char start[] = "__start_", stop[] = "__stop_";
    size_t segments = 0;
    uint64_t code = 0, data = 0, end = 0;
    GElf_Phdr segment;
    if (strncmp(name, start, sizeof start - 1) == 0 || strncmp(name, stop, sizeof stop - 1) == 0) {
        bool begins = name[4] == 'a';
        return section_boundary(file, name + (begins ? sizeof start : sizeof stop) - 1, !begins, ret_address);
    }
    elf_getphdrnum(file->elf, &segments);
    for (size_t i = 0; i < segments && gelf_getphdr(file->elf, (int)i, &segment); i++)
        if (segment.p_type == PT_LOAD) {
            code = segment.p_flags & PF_X ? segment.p_vaddr + segment.p_filesz : code;
            data = segment.p_flags & PF_W ? segment.p_vaddr + segment.p_filesz : data;
            end = segment.p_vaddr + segment.p_memsz > end ? segment.p_vaddr + segment.p_memsz : end;
        }
    const struct { const char *name; uint64_t address; } known[] = {
        {"etext", code}, {"_etext", code}, {"edata", data}, {"_edata", data}, {"end", end}, {"_end", end}, {"__bss_start", data}, {"__executable_start", file->low}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0 && known[i].address) {
            *ret_address = known[i].address;
            return true;
        }
    return false;
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

size_t elf_file_symbols(const struct elf_file *file, const struct elf_symbol **ret_symbols)
{
    *ret_symbols = file->symbols.items;
    return file->symbols.count;
}

const struct elf_symbol *elf_file_symbol(const struct elf_file *file, const char *name)
{
    const struct elf_symbol *symbols;
    size_t count = elf_file_symbols(file, &symbols);
    for (size_t i = 0; i < count; i++)
        if (strcmp(symbols[i].name, name) == 0)
            return &symbols[i];
    return NULL;
}
