/* replay-rt/launcher/link_image.c - the assembly and the script of one library. */
#include "replay-rt/launcher/link_image.h"

#include "replay-rt/launcher/link_symbols.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK "__pcere_tls_block"

static bool belongs_to_runtime(const char *name)
{
    size_t length = strlen(name);
    return !strncmp(name, ".gomp_critical_user_", 20) || (length >= 7 && !strcmp(name + length - 7, ".cache."));
}

bool link_image_allocates(const char *name)
{
    static const char *const names[] = {"malloc", "calloc", "realloc", "reallocarray", "free", "cfree", "memalign", "aligned_alloc", "posix_memalign",
                                        "valloc", "pvalloc", "malloc_usable_size"};
    static const char *const operators[] = {"_Znw", "_Zna", "_Zdl", "_Zda"};    /* C++: new, new[], delete, delete[] */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (!strncmp(name, operators[i], strlen(operators[i])))
            return true;
    return !strncmp(name, "__libc_", 7);
}

static bool is_offered(const char *name)
{
    return !belongs_to_runtime(name) && !link_image_allocates(name) && link_symbol_is_writable(name);
}

static void export_write(const struct loaded_image *image, const struct image_export *symbol, const char *prefix, struct text *out)
{
    if (!is_offered(symbol->name))
        return;
    struct text name = {0};
    text_addf(&name, "%s%s", prefix, symbol->name);
    const char *word = name.failed ? "" : name.data;
    out->failed |= name.failed;
    if (symbol->kind == PCERE_SYMBOL_TLS)
        text_addf(out, ".globl \"%s\"\n.type \"%s\", @object\n.set \"%s\", " BLOCK "+%llu\n.size \"%s\", %llu\n", word, word, word,
                  (unsigned long long)symbol->address, word, (unsigned long long)symbol->bytes);
    else    /* a unit's function comes before the captured one, the captured constant before a unit's */
        text_addf(out, ".%s \"%s\"\n.type \"%s\", %s\n.set \"%s\", 0x%llx\n", symbol->kind == PCERE_SYMBOL_FUNCTION ? "weak" : "globl", word, word,
                  symbol->kind == PCERE_SYMBOL_FUNCTION ? "@function" : "@object", word, (unsigned long long)(symbol->address + image->bias));
    text_done(&name);
}

/* What the dynamic linker would have filled in. */
static void pointers_fill(const struct loaded_image *image, unsigned char *initial)
{
    struct elf_pointer *pointers = NULL;
    size_t count = 0;
    if (!image->elf || !elf_file_pointers(image->elf, &pointers, &count))
        return;
    for (size_t i = 0; i < count; i++) {
        uint64_t offset = pointers[i].address - image->file.tls_address, value = pointers[i].value + image->bias;
        if (pointers[i].value && pointers[i].address >= image->file.tls_address && offset < image->file.tls_file_bytes && image->file.tls_file_bytes - offset >= sizeof value)
            memcpy(initial + offset, &value, sizeof value);
    }
    free(pointers);
}

void link_image_block_write(const struct loaded_image *image, struct text *out)
{
    const struct image *file = &image->file;
    unsigned char *initial = malloc(file->tls_file_bytes + 1);
    if (!initial) {
        out->failed = true;
        return;
    }
    memcpy(initial, file->tls_initial, file->tls_file_bytes);
    pointers_fill(image, initial);
    for (uint64_t i = 0; i < file->tls_file_bytes; i++)
        text_addf(out, i % 32 ? ",%u" : "\n.byte %u", initial[i]);
    free(initial);
    text_addf(out, "\n.zero %llu\n", (unsigned long long)(file->tls_bytes - file->tls_file_bytes));
}

/* A linker puts what has content before what has none. */
static void block_write(const struct loaded_image *image, struct text *out)
{
    const struct image *file = &image->file;
    unsigned shift = 0;
    while ((1ull << shift) < file->tls_align)
        shift++;
    text_addf(out, ".section .tdata,\"awT\",@progbits\n.p2align %u\n.hidden " BLOCK "\n.type " BLOCK ", @object\n" BLOCK ":\n", shift);
    link_image_block_write(image, out);
    text_addf(out, ".size " BLOCK ", %llu\n", (unsigned long long)file->tls_bytes);
    text_add(out, ".text\n.type pcere.tls_block, @function\npcere.tls_block:\nsubq $8, %rsp\n.byte 0x66\nleaq " BLOCK "@tlsgd(%rip), %rdi\n"
                  ".value 0x6666\nrex64\ncall __tls_get_addr@PLT\naddq $8, %rsp\nret\n");
    text_addf(out, ".section pcere_tls,\"awR\",@progbits\n.p2align 3\n.quad 1, pcere.tls_block, %llu\n", (unsigned long long)file->tls_bytes);
}

static void tables_write(size_t index, struct text *out)
{
    static const char *const tables[] = {"regions", "functions", "tls", "caches", "constants"};
    text_addf(out, ".section .data.rel.ro.pcere,\"awR\",@progbits\n.p2align 3\n.globl __pcere_image_%zu\n.type __pcere_image_%zu, @object\n"
                   "__pcere_image_%zu:\n", index, index, index);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        text_addf(out, ".weak __start_pcere_%s, __stop_pcere_%s\n.hidden __start_pcere_%s, __stop_pcere_%s\n"
                       ".quad __start_pcere_%s, __stop_pcere_%s\n", tables[i], tables[i], tables[i], tables[i], tables[i], tables[i]);
    text_add(out, ".weak __dso_handle\n.hidden __dso_handle\n__dso_handle: .quad 0\n.section .note.GNU-stack,\"\",@progbits\n");
}

/* What a unit refers to by a name that nobody else can use: its static variables, and what the library does not offer. */
static bool unit_symbol_write(const struct loaded_image *image, const struct elf_symbol *symbol, struct text *name, struct text *assembly,
                              struct text *script)
{
    unsigned long long unit = symbol->unit_id, address = symbol->address + image->bias;
    name->length = 0;
    if (symbol->kind == PCERE_SYMBOL_FUNCTION) {
        text_addf(name, "__pcere_old.%016llx.%s", unit, symbol->name);
        return !name->failed && link_symbol_write(assembly, name->data, address);
    }
    if (belongs_to_runtime(symbol->name) || (!symbol->local && image_export_find(&image->file, symbol->name)))
        return true;
    if (symbol->local)
        text_addf(name, "%s.pcere.%016llx", symbol->name, unit);
    else
        text_add(name, symbol->name);
    if (name->failed || !link_symbol_is_writable(name->data))
        return false;
    if (symbol->kind == PCERE_SYMBOL_TLS)
        text_addf(assembly, ".globl \"%s\"\n.hidden \"%s\"\n.type \"%s\", @object\n.set \"%s\", " BLOCK "+%llu\n", name->data, name->data,
                  name->data, name->data, (unsigned long long)symbol->address);
    else
        text_addf(script, "HIDDEN(\"%s\" = 0x%llx);\n", name->data, address);
    return true;
}

static int by_name(const void *left, const void *right)
{
    const struct elf_symbol *const *a = left, *const *b = right;
    int order = strcmp((*a)->name, (*b)->name);
    return order ? order : ((*a)->unit_id > (*b)->unit_id) - ((*a)->unit_id < (*b)->unit_id);
}

/* A global name may stand in several units' tables: inline and tentative definitions. */
static bool is_repeated(const struct elf_symbol *symbol, const struct elf_symbol *before)
{
    return before && !strcmp(symbol->name, before->name) &&
           (symbol->unit_id == before->unit_id || (symbol->kind != PCERE_SYMBOL_FUNCTION && !symbol->local && !before->local));
}

static bool is_rebuilt(const struct loaded_image *image)
{
    const struct elf_unit *units;
    return image->elf && elf_file_units(image->elf, &units) > 0;
}

const char *link_image_wrapped(const struct images *images, size_t from, const struct image_relocation *relocation, size_t *ret_index)
{
    const struct image_export *found;
    if (!*relocation->name || relocation->kind == IMAGE_RELOCATION_COPY || !is_rebuilt(&images->items[from]) || !is_offered(relocation->name))
        return NULL;
    size_t index = images_resolve(images, from, relocation->name, &found);
    if (index == SIZE_MAX || !index || index == from || is_rebuilt(&images->items[index]))
        return NULL;
    *ret_index = index;
    return found->name;
}

/* Captured code is bound already: names of a library of which nothing is rebuilt serve rebuilt code elsewhere, or nobody. Among the codelet's they would stand
 * before those of the machine's own copy, which libraries that are not captured may bring along, and whose constructors run before captured code is there. So
 * rebuilt code has names of its own for them. Where the executable has a copy of a variable, all have that. */
static void apart_write(const struct images *images, size_t index, struct text *out)
{
    const struct loaded_image *image = &images->items[index];
    bool *used = calloc(image->file.export_count + 1, sizeof *used);
    out->failed |= !used;
    for (size_t i = 0; used && image->global && i < images->count; i++)
        for (size_t k = 0; k < images->items[i].file.relocation_count; k++) {
            size_t owner = SIZE_MAX;
            const char *name = link_image_wrapped(images, i, &images->items[i].file.relocations[k], &owner);
            const struct image_export *found = name && owner == index ? image_export_find(&image->file, name) : NULL;
            if (found)
                used[found - image->file.exports] = true;
        }
    for (size_t i = 0; used && i < image->file.export_count; i++)
        if (used[i])
            export_write(image, &image->file.exports[i], LINK_IMAGE_WRAPPER, out);
    free(used);
}

enum pcere_status link_image_write(const struct images *images, size_t index, struct text *assembly, struct text *script,
                                   struct pcere_error *error)
{
    const struct loaded_image *image = &images->items[index];
    const struct elf_symbol *symbols;
    struct text name = {0};
    size_t count = elf_file_tables(image->elf, &symbols);
    const struct elf_symbol **sorted = calloc(count + 1, sizeof(struct elf_symbol *));
    if (!sorted)
        return pcere_fail_memory(error, "a library's symbols");
    for (size_t i = 0; i < count; i++)
        sorted[i] = &symbols[i];
    qsort(sorted, count, sizeof(struct elf_symbol *), by_name);
    bool good = true;
    for (size_t i = 0; good && i < count; i++)
        if (!is_repeated(sorted[i], i ? sorted[i - 1] : NULL))
            good = unit_symbol_write(image, sorted[i], &name, assembly, script);
    free(sorted);
    text_done(&name);
    if (good && !is_rebuilt(image))
        apart_write(images, index, assembly);
    for (size_t i = 0; good && is_rebuilt(image) && i < image->file.export_count; i++)
        export_write(image, &image->file.exports[i], "", assembly);
    if (image->file.tls_bytes)
        block_write(image, assembly);
    tables_write(index, assembly);
    text_add(script, "\n");
    if (!good)
        return pcere_fail(error, PCERE_DATA, 0, "capture the program again", "a stored library has a damaged symbol name");
    return assembly->failed || script->failed ? pcere_fail_memory(error, "a library's symbols") : PCERE_OK;
}
