/* replay-rt/launcher/export_images.c - the program's images but for the region's units: they run as the program's machine code, in captured memory.
 *
 *   addresses.s     thread-local variables of the executable: | the region's library's | the program's |, which ends where its code expects it
 *   imageK.s        a shared object for each other image that needs one: names that the region uses, as absolute symbols; thread-local variables
 *
 * Far calls need the tables that a linker makes for shared objects; and a thread-local block has an owner whom the dynamic linker knows by number.
 */
#include "core/linked_program.h"
#include "replay-rt/launcher/export_work.h"

#include "replay-rt/launcher/link_image.h"
#include "replay-rt/launcher/link_symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool export_image_is_there(const struct export_work *work, size_t image)
{
    return image_is_present(&work->session.images, image, &work->codelet);
}

bool export_library_is_memory(const struct export_work *work, const char *name)
{
    for (size_t k = 1; k < work->session.images.count; k++)
        if (!strcmp(work->session.images.items[k].name, name) && export_image_is_there(work, k))
            return true;
    return false;
}

static bool has_block(const struct export_work *work, size_t image)
{
    return export_image_is_there(work, image) && work->session.images.items[image].file.tls_bytes;
}

/* The executable has the blocks of the region's image and of the program. */
static bool is_in_executable(const struct export_work *work, size_t image)
{
    return !image || image == work->image;
}

bool export_image_is_linked(const struct export_work *work, size_t image)
{
    bool linked = image && has_block(work, image);
    for (size_t i = 0; i < work->link_count && !linked; i++)
        linked = work->links[i].image == image && !(work->links[i].kind == PCERE_SYMBOL_TLS && is_in_executable(work, image));
    return linked && image != work->image;
}

/* ---- what the region uses of them ------------------------------------------------------------------------------------------------------ */

static bool is_defined(const struct export_work *work, const char *name)
{
    for (size_t i = 0; i < work->chosen_count; i++)
        if (names_have(&work->chosen[i].object->defined, name))
            return true;
    for (size_t i = 0; i < work->link_count; i++)
        if (!strcmp(work->links[i].name, name))
            return true;
    return false;
}

static enum pcere_status link_resolve(struct export_work *work, const char *name, struct pcere_error *error)
{
    const struct images *images = &work->session.images;
    const struct image_export *symbol = NULL;
    if (!strncmp(name, "__pcere_", 8) || link_image_allocates(name) || !link_symbol_is_writable(name) || is_defined(work, name))
        return PCERE_OK;
    size_t owner = images_resolve(images, work->image, name, &symbol);
    if (owner == SIZE_MAX || !export_image_is_there(work, owner))
        return PCERE_OK;
    uint64_t bias = symbol->kind == PCERE_SYMBOL_TLS ? 0 : images->items[owner].bias;
    struct export_link link = {strdup(name), owner, symbol->address + bias, symbol->kind, names_have(&work->reached, name)};
    if (!link.name || !array_reserve(&work->links, &work->link_capacity, work->link_count + 1, sizeof *work->links)) {
        free(link.name);
        return pcere_fail_memory(error, "names of symbols");
    }
    work->links[work->link_count++] = link;
    return PCERE_OK;
}

static const char *image_name(const struct export_work *work, size_t image)
{
    return image ? work->session.images.items[image].file_name : "the program";
}

static enum pcere_status links_tell(struct export_work *work, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t k = 0; !status && k < work->session.images.count; k++) {
        struct text names = {0};
        for (size_t i = 0; i < work->link_count; i++)
            if (work->links[i].image == k && k != work->image && work->links[i].reached && work->links[i].kind == PCERE_SYMBOL_FUNCTION)
                text_addf(&names, "%s%s", names.length ? ", " : "", work->links[i].name);
        if (names.failed)
            status = pcere_fail_memory(error, "a remark");
        else if (names.length)
            status = export_limit(work, error, "functions of %s run as the program's machine code, from captured memory, whatever FLAGS says: %s",
                                  image_name(work, k), names.data);
        text_done(&names);
    }
    return status;
}

enum pcere_status export_images_resolve(struct export_work *work, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    names_sort(&work->reached);
    for (size_t i = 0; i < work->chosen_count; i++)
        for (size_t j = 0; !status && j < work->chosen[i].object->undefined.count; j++)
            status = link_resolve(work, work->chosen[i].object->undefined.items[j], error);
    return status ? status : links_tell(work, error);
}

/* ---- thread-local variables -------------------------------------------------------------------------------------------------------------- */

static uint64_t rounded(uint64_t bytes, uint64_t align)
{
    return align ? (bytes + align - 1) / align * align : bytes;
}

static void block_write(const struct export_work *work, size_t image, struct text *out)
{
    const struct image *file = &work->session.images.items[image].file;
    text_addf(out, ".globl pcere_thread_block_%zu\n.type pcere_thread_block_%zu, @object\n.size pcere_thread_block_%zu, %" PRIu64 "\npcere_thread_block_%zu:", image,
              image, image, file->tls_bytes, image);
    link_image_block_write(&work->session.images.items[image], out);
}

static void alignment_write(uint64_t align, struct text *out)
{
    text_addf(out, ".section .tdata,\"awT\",@progbits\n.balign %" PRIu64 "\n", align ? align : 1);
}

void export_thread_blocks_write(const struct export_work *work, struct text *out)
{
    const struct image *home = &work->home->file, *program = &work->session.images.items[0].file;
    uint64_t align = home->tls_align > program->tls_align ? home->tls_align : program->tls_align, home_bytes = work->image ? home->tls_bytes : 0;
    if (!home_bytes && !program->tls_bytes)
        return;
    text_add(out, "\n# Thread-local variables as the program starts with them; the program's code finds its own at a distance from the thread pointer.\n");
    alignment_write(align, out);
    if (home_bytes) {
        block_write(work, work->image, out);
        uint64_t behind = program->tls_bytes ? rounded(program->tls_bytes, program->tls_align) : 0;
        text_addf(out, ".zero %" PRIu64 "\n", rounded(home_bytes, align) - home_bytes + rounded(behind, align) - behind);
    }
    if (program->tls_bytes) {
        block_write(work, 0, out);
        text_addf(out, ".zero %" PRIu64 "\n", rounded(program->tls_bytes, program->tls_align) - program->tls_bytes);
    }
}

void export_thread_tables_write(const struct export_work *work, struct text *out)
{
    text_add(out, "\n/* Blocks of thread-local variables: image, bytes. */\n#define THREAD_BLOCKS(X)");
    for (size_t k = 0; k < work->session.images.count; k++)
        if (has_block(work, k))
            text_addf(out, " \\\n    X(%zu, %" PRIu64 ")", k, work->session.images.items[k].file.tls_bytes);
    text_add(out, "\n\n/* Captured threads: image, number, their block, bytes. */\n#define THREADS(X)");
    for (size_t i = 0; i < work->codelet.thread_count; i++) {
        const struct store_thread *thread = &work->codelet.threads[i];
        if (thread->image != STORE_THREAD_SELF && thread->image != STORE_THREAD_COPIES && has_block(work, thread->image) && thread->tls_bytes)
            text_addf(out, " \\\n    X(%" PRIu32 ", %" PRIu32 ", 0x%" PRIx64 ", %" PRIu64 ")", thread->image, thread->number, thread->tls_address,
                      thread->tls_bytes);
    }
    struct linked_program linked;
    text_addf(out, "\n\n/* 1: the C library and the OpenMP runtime are parts of the program, and what they keep in threads' blocks is not compared. */\n#define LINKED_RUNTIMES %d",
              linked_program_find(work->session.program, &linked));
    text_add(out, "\n\n/* Images whose machine code exceptions may cross: where their tables for that lie. */\n#define FRAMES(X)");
    for (size_t k = 0; k < work->session.images.count; k++)
        if (export_image_is_there(work, k) && work->session.images.items[k].file.frames_address)
            text_addf(out, " \\\n    X(0x%" PRIx64 ")", work->session.images.items[k].file.frames_address + work->session.images.items[k].bias);
    text_add(out, "\n");
}

/* ---- shared objects ------------------------------------------------------------------------------------------------------------------------ */

static enum pcere_status image_write(const struct export_work *work, size_t image, struct pcere_error *error)
{
    char name[32];
    struct text out = {0};
    text_addf(&out, "# %s: what the region uses of it, at its captured addresses", image_name(work, image));
    text_addf(&out, "%s.\n", image && has_block(work, image) ? "; thread-local variables" : "");
    for (size_t i = 0; i < work->link_count; i++) {
        const struct export_link *link = &work->links[i];
        if (link->image != image || (link->kind == PCERE_SYMBOL_TLS && is_in_executable(work, image)))
            continue;
        text_addf(&out, ".globl \"%s\"\n.type \"%s\", %s\n.set \"%s\", ", link->name, link->name,
                  link->kind == PCERE_SYMBOL_FUNCTION ? "@function" : "@object", link->name);
        if (link->kind == PCERE_SYMBOL_TLS)
            text_addf(&out, "pcere_thread_block_%zu+", image);
        text_addf(&out, "0x%" PRIx64 "\n", link->address);
    }
    if (image && has_block(work, image)) {
        alignment_write(work->session.images.items[image].file.tls_align, &out);
        block_write(work, image, &out);
    }
    text_add(&out, "\n.section .note.GNU-stack,\"\",@progbits\n");
    snprintf(name, sizeof name, "image%zu.s", image);
    return export_text(work, name, &out, error);
}

enum pcere_status export_images_write(struct export_work *work, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t k = 0; !status && k < work->session.images.count; k++)
        if (export_image_is_linked(work, k))
            status = image_write(work, k, error);
    return status;
}
