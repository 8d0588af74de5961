/* replay-rt/launcher/export_copies.c - threadprivate variables that are no thread-local ones (-fnoopenmp-use-tls, flang): what they hold when the program starts, since a thread that had no copy
 * in the capture begins with that.
 */
#include "replay-rt/launcher/export_work.h"

#include <sys/mman.h>

#define VALUES_BYTES_MOST (8u << 20)      /* of a segment: what the text of an export can hold */
#define LINE_BYTES 64u

/* Asks for copies of such variables; objects begin by constructors, which nobody knows here. */
static bool has_copies(const struct loaded_image *image)
{
    return image->elf && elf_file_imports(image->elf, "__kmpc_threadprivate_cached") && !elf_file_imports(image->elf, "__kmpc_threadprivate_register");
}

static bool is_written(const struct export_work *work, size_t image, size_t number)
{
    const struct image_segment *segment = &work->session.images.items[image].file.segments[number];
    return has_copies(&work->session.images.items[image]) && (segment->protection & PROT_WRITE) && segment->file_bytes <= VALUES_BYTES_MOST;
}

void export_copies_write(const struct export_work *work, struct text *out)
{
    uint64_t table = 0;
    for (size_t i = 0; i < work->codelet.thread_count; i++)
        table = work->codelet.threads[i].image == STORE_THREAD_COPIES ? work->codelet.threads[i].tls_address : table;
    text_addf(out, "\n/* Copies of threadprivate variables that are no thread-local ones: the table of whose they are, or 0. */\n#define THREAD_COPIES 0x%llx", (unsigned long long)table);
    text_add(out, "\n/* Variables as the program starts with them: image, segment, address, bytes in the image's file (addresses.s), in all. */\n#define FIRST_VALUES(X)");
    for (size_t k = 0; k < work->session.images.count; k++)
        for (size_t s = 0; s < work->session.images.items[k].file.segment_count; s++)
            if (is_written(work, k, s)) {
                const struct image_segment *segment = &work->session.images.items[k].file.segments[s];
                text_addf(out, " \\\n    X(%zu, %zu, 0x%llx, %llu, %llu)", k, s, (unsigned long long)(segment->address + work->session.images.items[k].bias),
                          (unsigned long long)segment->file_bytes, (unsigned long long)segment->memory_bytes);
            }
    text_add(out, "\n");
}

void export_copies_values_write(const struct export_work *work, struct text *out)
{
    for (size_t k = 0; k < work->session.images.count; k++)
        for (size_t s = 0; s < work->session.images.items[k].file.segment_count; s++) {
            if (!is_written(work, k, s))
                continue;
            const struct image *file = &work->session.images.items[k].file;
            const unsigned char *values = (const unsigned char *)file->file + file->segments[s].file_offset;
            text_addf(out, "\n# Variables as the program starts with them, for copies of threadprivate ones.\n.section .rodata\n.globl pcere_first_values_%zu_%zu\npcere_first_values_%zu_%zu:", k, s, k, s);
            for (uint64_t i = 0; i < file->segments[s].file_bytes; i++)
                text_addf(out, i % LINE_BYTES ? ",%u" : "\n.byte %u", values[i]);
            text_add(out, "\n");
        }
}
