/* replay-rt/launcher/image.c - reads program headers, dynamic relocations, exported names and run paths with libelf. */
#include "replay-rt/launcher/image.h"

#include "core/text.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char hint_damaged[] = "capture the program again";

static enum pcere_status fail_damaged(const char *path, const char *what, struct pcere_error *error)
{
    return pcere_fail(error, PCERE_DATA, 0, hint_damaged, "'%s' is damaged: %s", path, what);
}

static enum pcere_status segments_read(Elf *elf, const char *path, struct image *image, struct pcere_error *error)
{
    size_t count = 0, capacity = 0;
    if (elf_getphdrnum(elf, &count))
        return fail_damaged(path, "no program headers", error);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int)i, &header))
            return fail_damaged(path, "a program header cannot be read", error);
        if (header.p_type == PT_GNU_STACK)
            image->stack_executes = header.p_flags & PF_X;
        if (header.p_type != PT_LOAD && header.p_type != PT_TLS)
            continue;
        if (header.p_filesz > header.p_memsz || header.p_offset > image->file_bytes
            || header.p_filesz > image->file_bytes - header.p_offset || header.p_memsz > (1ull << 47)
            || header.p_vaddr > (1ull << 47))
            return fail_damaged(path, "a segment lies outside the file", error);
        if (header.p_type == PT_TLS) {
            if (header.p_memsz > (1u << 30) || header.p_align > (1u << 20) || (header.p_align & (header.p_align - 1)))
                return fail_damaged(path, "its thread-local variables make no sense", error);
            image->tls_address = header.p_vaddr;
            image->tls_bytes = header.p_memsz;
            image->tls_file_bytes = header.p_filesz;
            image->tls_align = header.p_align ? header.p_align : 1;
            image->tls_initial = (const char *)image->file + header.p_offset;
            continue;
        }
        if (!array_reserve(&image->segments, &capacity, image->segment_count + 1, sizeof *image->segments))
            return pcere_fail_memory(error, "segments");
        image->segments[image->segment_count++] = (struct image_segment){
            .address = header.p_vaddr,
            .memory_bytes = header.p_memsz,
            .file_offset = header.p_offset,
            .file_bytes = header.p_filesz,
            .protection = (header.p_flags & PF_R ? PROT_READ : 0u) | (header.p_flags & PF_W ? PROT_WRITE : 0u)
                          | (header.p_flags & PF_X ? PROT_EXEC : 0u),
        };
    }
    return PCERE_OK;
}

struct relocation_table { Elf *elf; Elf_Data *entries, *symbols; size_t strings; };

/* The relocation, if what it needs can be another thing in a replay; false: none of our business. */
static bool relocation_take(const struct relocation_table *table, size_t index, struct image_relocation *ret_relocation)
{
    GElf_Rela entry;
    GElf_Sym symbol;
    if (!gelf_getrela(table->entries, (int)index, &entry)
        || !gelf_getsym(table->symbols, (int)GELF_R_SYM(entry.r_info), &symbol))
        return false;
    enum image_relocation_kind kind;
    int64_t addend = entry.r_addend;
    switch (GELF_R_TYPE(entry.r_info)) {
    case R_X86_64_GLOB_DAT:
    case R_X86_64_JUMP_SLOT:
        kind = GELF_R_TYPE(entry.r_info) == R_X86_64_GLOB_DAT ? IMAGE_RELOCATION_ADDRESS : IMAGE_RELOCATION_SLOT;
        addend = 0;
        break;
    case R_X86_64_DTPMOD64:
        kind = IMAGE_RELOCATION_MODULE;
        break;
    case R_X86_64_TPOFF64:
        kind = IMAGE_RELOCATION_THREAD;
        break;
    case R_X86_64_64:
        kind = IMAGE_RELOCATION_DATA;
        break;
    case R_X86_64_COPY:
        kind = IMAGE_RELOCATION_COPY;
        addend = symbol.st_size <= (1u << 20) ? (int64_t)symbol.st_size : 0;
        break;
    default:
        return false;
    }
    bool local = GELF_R_SYM(entry.r_info) == 0, own = local || symbol.st_shndx != SHN_UNDEF;
    if (own && (kind == IMAGE_RELOCATION_ADDRESS || kind == IMAGE_RELOCATION_DATA))
        return false;
    const char *name = local ? "" : elf_strptr(table->elf, table->strings, symbol.st_name);
    if (!name || (!*name && kind != IMAGE_RELOCATION_MODULE && kind != IMAGE_RELOCATION_THREAD))
        return false;
    if (kind == IMAGE_RELOCATION_THREAD && own && !local)
        addend += (int64_t)symbol.st_value;
    *ret_relocation = (struct image_relocation){.address = entry.r_offset, .addend = addend, .kind = kind, .name = name, .own = own};
    return true;
}

static enum pcere_status relocations_read(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct image *image, size_t *capacity,
                                          struct pcere_error *error)
{
    Elf_Scn *symbols = elf_getscn(elf, header->sh_link);
    GElf_Shdr symbols_header;
    struct relocation_table table = {.elf = elf, .entries = elf_getdata(section, NULL)};
    if (!symbols || !gelf_getshdr(symbols, &symbols_header) || symbols_header.sh_type != SHT_DYNSYM || !header->sh_entsize
        || !table.entries || !(table.symbols = elf_getdata(symbols, NULL)))
        return PCERE_OK;              /* relative relocations only, as in static-pie */
    table.strings = symbols_header.sh_link;
    for (size_t i = 0; i < header->sh_size / header->sh_entsize; i++) {
        struct image_relocation relocation;
        if (!relocation_take(&table, i, &relocation))
            continue;
        if (!array_reserve(&image->relocations, capacity, image->relocation_count + 1, sizeof *image->relocations)
            || !(relocation.name = strdup(relocation.name)))
            return pcere_fail_memory(error, "relocations");
        image->relocations[image->relocation_count++] = relocation;
    }
    return PCERE_OK;
}

/* ---- the names that it offers ---------------------------------------------------------------------------------------------- */

static int export_order(const void *left, const void *right)
{
    const struct image_export *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static enum pcere_status exports_read(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct image *image, struct pcere_error *error)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t capacity = image->export_count, entries = image->entry_count, kept = 0;
    for (size_t i = 1; data && header->sh_entsize && i < header->sh_size / header->sh_entsize; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol) || (symbol.st_shndx == SHN_UNDEF && !symbol.st_value) || symbol.st_shndx == SHN_ABS)
            continue;
        unsigned char binding = GELF_ST_BIND(symbol.st_info), type = GELF_ST_TYPE(symbol.st_info);
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (!name || !*name || binding == STB_LOCAL || type == STT_GNU_IFUNC || (symbol.st_shndx == SHN_UNDEF && type != STT_FUNC))
            continue;
        if (symbol.st_shndx == SHN_UNDEF) {
            if (!array_reserve(&image->entries, &entries, image->entry_count + 1, sizeof *image->entries) || !(name = strdup(name)))
                return pcere_fail_memory(error, "entries of functions");
            image->entries[image->entry_count++] = (struct image_export){.name = name, .address = symbol.st_value, .kind = PCERE_SYMBOL_FUNCTION};
            continue;
        }
        if (!array_reserve(&image->exports, &capacity, image->export_count + 1, sizeof *image->exports) || !(name = strdup(name)))
            return pcere_fail_memory(error, "exported names");
        image->exports[image->export_count++] = (struct image_export){
            .name = name, .address = symbol.st_value, .bytes = symbol.st_size,
            .kind = type == STT_TLS ? PCERE_SYMBOL_TLS : type == STT_FUNC ? PCERE_SYMBOL_FUNCTION : PCERE_SYMBOL_VARIABLE};
    }
    if (image->export_count)
        qsort(image->exports, image->export_count, sizeof *image->exports, export_order);
    for (size_t i = 0; i < image->export_count; i++)     /* the same name in several versions */
        if (kept && !strcmp(image->exports[kept - 1].name, image->exports[i].name))
            free((void *)(uintptr_t)image->exports[i].name);
        else
            image->exports[kept++] = image->exports[i];
    image->export_count = kept;
    return PCERE_OK;
}

const struct image_export *image_export_find(const struct image *image, const char *name)
{
    const struct image_export key = {.name = name};
    return image->export_count ? bsearch(&key, image->exports, image->export_count, sizeof key, export_order) : NULL;
}

static void copies_mark(struct image *image)
{
    for (size_t i = 0; i < image->relocation_count; i++)
        for (size_t j = 0; image->relocations[i].kind == IMAGE_RELOCATION_COPY && j < image->export_count; j++)
            if (image->exports[j].address == image->relocations[i].address)
                image->exports[j].copy = true;
}

static enum pcere_status run_paths_add(struct image *image, const char *paths, struct pcere_error *error)
{
    size_t count = 0;
    while (image->run_paths && image->run_paths[count])
        count++;
    while (*paths) {
        size_t length = strcspn(paths, ":");
        char **grown = realloc(image->run_paths, (count + 2) * sizeof *grown);
        if (!grown)
            return pcere_fail_memory(error, "run paths");
        image->run_paths = grown;
        grown[count] = strndup(paths, length);
        grown[count + 1] = NULL;
        if (!grown[count++])
            return pcere_fail_memory(error, "run paths");
        paths += length + (paths[length] == ':');
    }
    return PCERE_OK;
}

static enum pcere_status dynamic_read(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct image *image,
                                      struct pcere_error *error)
{
    Elf_Data *data = elf_getdata(section, NULL);
    for (size_t i = 0; data && header->sh_entsize && i < header->sh_size / header->sh_entsize; i++) {
        GElf_Dyn entry;
        if (!gelf_getdyn(data, (int)i, &entry) || entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag != DT_RUNPATH && entry.d_tag != DT_RPATH)
            continue;
        const char *paths = elf_strptr(elf, header->sh_link, entry.d_un.d_val);
        enum pcere_status status = paths ? run_paths_add(image, paths, error) : PCERE_OK;
        if (status)
            return status;
    }
    return PCERE_OK;
}

/* Of an image that was stripped this cannot be known. */
static void unwinder_find(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct image *image)
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Sym symbol;
    for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
        const char *name = GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF
                         ? elf_strptr(elf, header->sh_link, symbol.st_name) : NULL;
        if (name && !strcmp(name, "_Unwind_Find_FDE"))
            image->unwinder_address = symbol.st_value;
    }
}

static enum pcere_status sections_read(Elf *elf, struct image *image, struct pcere_error *error)
{
    size_t capacity = 0, names = 0;
    bool named = !elf_getshdrstrndx(elf, &names);
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            continue;
        const char *name = named ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name && header.sh_flags & SHF_ALLOC && !strcmp(name, ".eh_frame"))
            image->frames_address = header.sh_addr;
        enum pcere_status status = PCERE_OK;
        if (header.sh_type == SHT_RELA && header.sh_flags & SHF_ALLOC)
            status = relocations_read(elf, section, &header, image, &capacity, error);
        else if (header.sh_type == SHT_DYNAMIC)
            status = dynamic_read(elf, section, &header, image, error);
        else if (header.sh_type == SHT_DYNSYM)
            status = exports_read(elf, section, &header, image, error);
        else if (header.sh_type == SHT_SYMTAB)
            unwinder_find(elf, section, &header, image);
        if (status)
            return status;
    }
    copies_mark(image);
    return PCERE_OK;
}

static enum pcere_status file_map(const char *path, struct image *image, struct pcere_error *error)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (descriptor < 0)
        return pcere_fail(error, PCERE_DATA, errno, hint_damaged, "cannot read '%s'", path);
    int failed = fstat(descriptor, &status);
    void *data = MAP_FAILED;
    if (!failed && S_ISREG(status.st_mode) && status.st_size > 0)
        data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    close(descriptor);
    if (data == MAP_FAILED)
        return fail_damaged(path, "it is empty or no file", error);
    image->file = data;
    image->file_bytes = (uint64_t)status.st_size;
    return PCERE_OK;
}

enum pcere_status image_open(const char *path, struct image *ret_image, struct pcere_error *error)
{
    struct image image = {0};
    enum pcere_status status = file_map(path, &image, error);
    if (status)
        return status;
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory(image.file, image.file_bytes);
    GElf_Ehdr header;
    if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64)
        status = fail_damaged(path, "it is no x86-64 executable", error);
    if (!status)
        status = segments_read(elf, path, &image, error);
    if (!status)
        status = sections_read(elf, &image, error);
    if (elf)
        elf_end(elf);
    if (status)
        image_close(&image);
    else
        *ret_image = image;
    return status;
}

void image_close(struct image *image)
{
    for (size_t i = 0; i < image->relocation_count; i++)
        free((void *)(uintptr_t)image->relocations[i].name);
    for (size_t i = 0; i < image->export_count; i++)
        free((void *)(uintptr_t)image->exports[i].name);
    for (size_t i = 0; i < image->entry_count; i++)
        free((void *)(uintptr_t)image->entries[i].name);
    free(image->exports);
    free(image->entries);
    for (size_t i = 0; image->run_paths && image->run_paths[i]; i++)
        free(image->run_paths[i]);
    free(image->relocations);
    free(image->run_paths);
    free(image->segments);
    if (image->file)
        munmap(image->file, image->file_bytes);
    *image = (struct image){0};
}
