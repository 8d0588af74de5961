/* replay-rt/launcher/plan_file.c - writes a plan: header, tables, strings, in one memory file. */
#include "replay-rt/launcher/codelet_memory.h"

#include "core/text.h"
#include "replay-rt/launcher/sources.h"
#include "replay-rt/launcher/thread_pointers.h"
#include "replay-rt/ranges.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CRITICAL_PREFIX ".gomp_critical_user_"
#define CRITICAL_BYTES 32u                /* kmp_critical_name */

static const uint64_t lock_bytes[] = {[STORE_LOCK_SIMPLE] = 8 /* omp_lock_t */, [STORE_LOCK_NESTED] = 16 /* omp_nest_lock_t */, [STORE_LOCK_CRITICAL] = CRITICAL_BYTES};

struct ranges { struct plan_range *items; size_t count, capacity; bool failed; };

static void range_add(struct ranges *ranges, uint64_t address, uint64_t bytes)
{
    if (!bytes)
        return;
    if (!array_reserve(&ranges->items, &ranges->capacity, ranges->count + 1, sizeof *ranges->items)) {
        ranges->failed = true;
        return;
    }
    ranges->items[ranges->count++] = (struct plan_range){address, bytes};
}

/* The probe's arguments lie just above the stack pointer; the original wrote the fork's over them, which are fewer. Variables may lie right behind them: what fills
 * the stack up where arguments are pushed lies below the stack pointer of the region's end. */
static uint64_t outgoing_bytes(const struct store_codelet *codelet)
{
    uint64_t before_words = 5, in_registers = 6, words = codelet->word_count + before_words;
    return words > in_registers ? (words - in_registers) * sizeof(uint64_t) : 0;
}

static void ignored_collect(const struct store_codelet *codelet, struct ranges *ranges)
{
    for (size_t i = 0; i < codelet->ignored_count; i++)
        range_add(ranges, codelet->ignored[i].address, codelet->ignored[i].bytes);
    for (size_t i = 0; i < codelet->lock_count; i++)
        range_add(ranges, codelet->locks[i].address, lock_bytes[codelet->locks[i].kind]);
    for (size_t i = 0; i < codelet->thread_count; i++)
        range_add(ranges, codelet->threads[i].tls_address, codelet->threads[i].tls_bytes);
    range_add(ranges, codelet->stack_pointer, outgoing_bytes(codelet));
    ranges->count = plan_ranges_merge(ranges->items, ranges->count);
}

/* Stripped programs have the table of addresses alone. */
static void zeroed_collect(const struct loaded_image *image, struct ranges *ranges)
{
    const struct elf_symbol *lists[2];
    size_t counts[2] = {elf_file_symbols(image->elf, &lists[0]), elf_file_tables(image->elf, &lists[1])};
    for (int list = 0; list < 2; list++)
        for (size_t i = 0; i < counts[list]; i++)
            if (!strncmp(lists[list][i].name, CRITICAL_PREFIX, sizeof CRITICAL_PREFIX - 1))
                range_add(ranges, lists[list][i].address + image->bias, CRITICAL_BYTES);
}

/* In stripped programs without that table the capture tells. */
static void criticals_collect(const struct store_codelet *codelet, struct ranges *ranges)
{
    for (size_t i = 0; i < codelet->lock_count; i++)
        if (codelet->locks[i].kind == STORE_LOCK_CRITICAL)
            range_add(ranges, codelet->locks[i].address, CRITICAL_BYTES);
}

static struct plan_table table_add(struct text *out, const void *items, size_t count, size_t item_bytes)
{
    static const char padding[8];
    text_add_bytes(out, padding, (8 - out->length % 8) % 8);
    struct plan_table table = {.offset = out->length, .count = count};
    text_add_bytes(out, items ? items : padding, count * item_bytes);
    return table;
}

static struct plan_table threads_add(struct text *out, const struct store_codelet *codelet)
{
    struct plan_table table = table_add(out, NULL, 0, 0);
    for (size_t i = 0; i < codelet->thread_count; i++) {
        struct plan_thread thread = {codelet->threads[i].number, codelet->threads[i].image, codelet->threads[i].tls_address, codelet->threads[i].tls_bytes};
        text_add_bytes(out, &thread, sizeof thread);
        table.count++;
    }
    return table;
}

static struct plan_table locks_add(struct text *out, const struct store_codelet *codelet)
{
    struct plan_table table = table_add(out, NULL, 0, 0);
    for (size_t i = 0; i < codelet->lock_count; i++) {
        const struct store_lock *from = &codelet->locks[i];
        if (from->kind == STORE_LOCK_CRITICAL)
            continue;
        struct plan_lock lock = {from->address, from->kind, from->hint, from->held, from->owner, from->held_after, from->owner_after};
        text_add_bytes(out, &lock, sizeof lock);
        table.count++;
    }
    return table;
}

static uint32_t string_add(struct text *strings, const char *string)
{
    uint32_t offset = (uint32_t)strings->length;
    text_add_bytes(strings, string, strlen(string) + 1);
    return offset;
}

/* Those that something was found to point to: few, of thousands. */
static struct plan_table externals_add(struct text *out, struct text *strings, const struct external_table *externals)
{
    struct plan_table table = table_add(out, NULL, 0, 0);
    for (size_t i = 0; i < externals->count; i++) {
        if (!externals->found[i] && *external_table_name(externals, i) != '/')
            continue;
        struct plan_external external = {externals->items[i].address, externals->items[i].bytes,
                                         string_add(strings, external_table_name(externals, i))};
        text_add_bytes(out, &external, sizeof external);
        table.count++;
    }
    return table;
}

/* What a word of an image becomes. Words that hold addresses of other images are right as they were captured. False: it stays. */
static bool relocation_make(const struct images *images, size_t index, const struct image_relocation *from, struct text *strings,
                            struct plan_relocation *relocation)
{
    const struct image_export *symbol = NULL;
    size_t owner = *from->name ? images_resolve(images, index, from->name, &symbol) : from->own ? index : SIZE_MAX;
    bool here = owner != SIZE_MAX;
    *relocation = (struct plan_relocation){.address = from->address + images->items[index].bias, .addend = from->addend};
    switch (from->kind) {
    case IMAGE_RELOCATION_SLOT:
        if (here && symbol->kind != PCERE_SYMBOL_FUNCTION)
            return false;
        relocation->kind = here ? PLAN_RELOCATION_VALUE : PLAN_RELOCATION_ADDRESS;
        relocation->addend = here ? (int64_t)(symbol->address + images->items[owner].bias) : 0;
        break;
    case IMAGE_RELOCATION_MODULE:
    case IMAGE_RELOCATION_THREAD:
        owner = from->own ? index : owner;
        if (owner == SIZE_MAX || !owner)
            return false;
        if (!from->own)
            relocation->addend += (int64_t)symbol->address;
        relocation->kind = from->kind == IMAGE_RELOCATION_MODULE ? PLAN_RELOCATION_MODULE : PLAN_RELOCATION_THREAD;
        relocation->name = (uint32_t)owner;
        return true;
    default:
        relocation->kind = from->kind == IMAGE_RELOCATION_ADDRESS ? PLAN_RELOCATION_ADDRESS
                           : from->kind == IMAGE_RELOCATION_DATA  ? PLAN_RELOCATION_DATA : PLAN_RELOCATION_COPY;
        if (from->kind == IMAGE_RELOCATION_COPY)
            here = here && symbol->copy;
        if (here)
            return false;
    }
    if (!here && from->own && from->kind != IMAGE_RELOCATION_COPY)
        return false;
    relocation->name = here ? 0 : string_add(strings, from->name);
    return true;
}

/* An unwinder that is linked into an image asks the dynamic linker where tables of frames are, and so would not find those of captured
 * memory: its search becomes a far jump to the C library's unwinder, which is told of them. */
static void unwinder_redirect(uint64_t address, struct text *out, struct text *strings, struct plan_table *table)
{
    enum { FAR_JUMP = 0x25ff, OPERAND = 6 };       /* jmp *0(%rip), and the address behind it */
    struct plan_relocation jump = {.address = address, .kind = PLAN_RELOCATION_VALUE, .addend = FAR_JUMP};
    struct plan_relocation target = {.address = address + OPERAND, .kind = PLAN_RELOCATION_ADDRESS, .name = string_add(strings, "_Unwind_Find_FDE")};
    text_add_bytes(out, &jump, sizeof jump);
    text_add_bytes(out, &target, sizeof target);
    table->count += 2;
}

static struct plan_table relocations_add(struct text *out, struct text *strings, const struct images *images,
                                         const struct store_codelet *codelet)
{
    struct plan_table table = table_add(out, NULL, 0, 0);
    for (size_t i = 0; i < images->count; i++) {
        const struct image *file = &images->items[i].file;
        for (size_t j = 0; image_is_present(images, i, codelet) && j < file->relocation_count; j++) {
            struct plan_relocation relocation;
            if (!relocation_make(images, i, &file->relocations[j], strings, &relocation))
                continue;
            text_add_bytes(out, &relocation, sizeof relocation);
            table.count++;
        }
        if (file->unwinder_address && image_is_present(images, i, codelet))
            unwinder_redirect(file->unwinder_address + images->items[i].bias, out, strings, &table);
    }
    return table;
}

static struct plan_table images_add(struct text *out, struct text *strings, const struct images *images, const struct store_codelet *codelet)
{
    struct plan_table table = table_add(out, NULL, 0, 0);
    for (size_t i = 0; i < images->count; i++) {
        const struct loaded_image *from = &images->items[i];
        struct plan_image image = {.low = from->low, .high = from->high, .base = from->base, .present = image_is_present(images, i, codelet)};
        if (from->file.frames_address)
            image.frames = from->file.frames_address + from->bias;
        char name[64];
        snprintf(name, sizeof name, "__pcere_image_%zu", i);
        image.table = string_add(strings, name);
        text_add_bytes(out, &image, sizeof image);
        table.count++;
    }
    return table;
}

static struct plan_table streams_add(struct text *out, const struct store_codelet *codelet)
{
    _Static_assert(PLAN_STREAM_BYTES == STORE_STREAM_BYTES && (int)PLAN_STREAM_STDERR == (int)STORE_STREAM_STDERR, "streams are alike");
    struct plan_table table = table_add(out, NULL, 0, 0);
    for (size_t i = 0; i < codelet->stream_count; i++) {
        const struct store_stream *from = &codelet->streams[i];
        struct plan_stream stream = {.address = from->address, .descriptor = from->descriptor, .kind = from->kind};
        memcpy(stream.bytes, from->bytes, sizeof stream.bytes);
        text_add_bytes(out, &stream, sizeof stream);
        table.count++;
    }
    return table;
}

/* Where the program was when the region began. */
static const char *directory_of(const struct store_codelet *codelet, const struct store_manifest *manifest)
{
    bool known = codelet->descriptor_count && codelet->descriptors[0].number == STORE_DESCRIPTOR_FOLDER;
    return known ? codelet->descriptors[0].path : manifest->working_directory;
}

static void descriptors_add(struct text *out, struct text *strings, const struct store_codelet *codelet, struct replay_plan *plan)
{
    plan->descriptors = table_add(out, NULL, 0, 0);
    for (size_t i = 0; i < codelet->descriptor_count; i++) {
        const struct store_descriptor *from = &codelet->descriptors[i];
        if (from->number < 0)
            continue;                 /* the working directory */
        struct plan_descriptor descriptor = {.number = from->number, .flags = from->flags, .offset = from->offset, .bytes = from->bytes,
                                             .content_first = from->content_first, .content_count = from->content_count};
        struct text what = {0};
        descriptor.source = descriptor_source(from, &descriptor.changed_ns, &what);
        descriptor.path = string_add(strings, from->path);
        descriptor.what = string_add(strings, what.data ? what.data : "");
        strings->failed |= what.failed;
        text_done(&what);
        text_add_bytes(out, &descriptor, sizeof descriptor);
        plan->descriptors.count++;
    }
}

static void steps_add(struct text *out, struct text *strings, const struct plan_steps *steps, struct replay_plan *plan)
{
    plan->steps = table_add(out, NULL, 0, 0);
    for (size_t i = 0; steps && i < steps->count; i++) {
        struct plan_step step = steps->items[i];
        step.region = string_add(strings, steps->names[i]);
        text_add_bytes(out, &step, sizeof step);
        plan->steps.count++;
    }
    plan->step_words = table_add(out, steps ? steps->words : NULL, steps ? steps->word_count : 0, sizeof(uint64_t));
    plan->step_copies = table_add(out, steps ? steps->copies : NULL, steps ? steps->copy_count : 0, sizeof(struct plan_copy));
    plan->step_moves = table_add(out, steps ? steps->moves : NULL, steps ? steps->move_count : 0, sizeof(struct plan_copy));
    for (unsigned i = 0; steps && i < 2; i++)
        plan->region_moves[i] = steps->region_moves[i];
    plan->moves_known = steps && steps->moves_known;
}

static enum pcere_status plan_publish(const struct text *text, struct plan_file *ret_file, struct pcere_error *error)
{
    struct plan_file file = {.bytes = text->length};
    file.fd = memfd_create("pcere-plan", MFD_CLOEXEC);
    void *data = MAP_FAILED;
    if (file.fd >= 0 && !ftruncate(file.fd, (off_t)file.bytes))
        data = mmap(NULL, file.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
    if (data == MAP_FAILED) {
        int cause = errno;
        if (file.fd >= 0)
            close(file.fd);
        return pcere_fail(error, PCERE_SYSTEM, cause, NULL, "cannot make a memory file of %zu bytes", text->length);
    }
    file.plan = memcpy(data, text->data, text->length);
    *ret_file = file;
    return PCERE_OK;
}

_Static_assert(sizeof(struct plan_signal) == sizeof(struct store_signal), "copied as they are");
_Static_assert(sizeof(struct plan_random) == sizeof(struct store_random), "copied as they are");
_Static_assert(sizeof(struct plan_key) == sizeof(struct store_key) && PLAN_KEY_MADE == STORE_KEY_MADE && PLAN_KEY_RUNTIME == STORE_KEY_RUNTIME && PLAN_KEY_HELD == STORE_KEY_HELD,
               "copied as they are");
_Static_assert(PLAN_LOCK_GONE == STORE_LOCK_GONE, "alike");

enum pcere_status plan_file_new(const struct store_codelet *codelet, const struct store_manifest *manifest,
                                const struct page_pool *pool, const struct codelet_memory *memory, const struct images *images,
                                const struct plan_policy *policy, const struct plan_steps *steps, struct plan_file *ret_file,
                                struct pcere_error *error)
{
    struct text out = {0}, strings = {0};
    struct ranges ignored = {0}, zeroed = {0};
    struct thread_pointers pointers = {0};
    struct replay_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return pcere_fail_memory(error, "a plan");
    memcpy(plan->magic, PLAN_MAGIC, sizeof plan->magic);
    plan->version = PLAN_VERSION;
    plan->path = codelet->path;
    plan->pages_bytes = pool->file_bytes;
    plan->page_bytes = manifest->page_size;
    plan->stack_pointer = codelet->stack_pointer;
    plan->unit_id = codelet->unit_id;
    plan->policy = *policy;
    plan->schedule_kind = codelet->setting.schedule_kind;
    plan->schedule_chunk = codelet->setting.schedule_chunk;
    plan->max_active_levels = codelet->setting.max_active_levels;
    plan->dynamic = codelet->setting.dynamic;
    plan->proc_bind = store_codelet_binding(codelet);
    plan->foreign_allocator = manifest->foreign_allocator;
    plan->huge_pages = pool->huge;
    plan->environment = codelet->setting.environment;
    plan->allocates = codelet->made_count > 0;
    if (codelet->made_count && policy->task == PLAN_VERIFY) {
        const struct store_run *last = &codelet->made[codelet->made_count - 1];
        plan->made_address = codelet->made[0].address;
        plan->made_bytes = last->address + last->count * manifest->page_size - plan->made_address;
    }
    plan->float_control = codelet->setting.float_control;
    plan->pointer_guard = codelet->setting.pointer_guard;
    plan->global_thread = codelet->setting.global_thread;
    plan->level_count = codelet->setting.level_count;
    plan->teams = codelet->setting.teams;
    plan->team = codelet->setting.team;
    plan->thread_limit = codelet->setting.thread_limit;
    for (uint32_t i = 0; i < plan->level_count; i++)
        plan->levels[i] = (struct plan_level){codelet->setting.levels[i].team, codelet->setting.levels[i].number};
    plan->region = string_add(&strings, codelet->region);
    plan->directory = string_add(&strings, directory_of(codelet, manifest));
    plan->locale = string_add(&strings, codelet->locale ? codelet->locale : "");
    plan->does_io = codelet->does_io;
    plan->reads_opened = codelet->reads_opened;
    plan->ended_ns = codelet->ended_ns;
    ignored_collect(codelet, &ignored);
    for (size_t i = 0; i < images->count; i++)
        if (image_is_present(images, i, codelet))
            zeroed_collect(&images->items[i], &zeroed);
    criticals_collect(codelet, &zeroed);
    zeroed.count = plan_ranges_merge(zeroed.items, zeroed.count);
    text_add_bytes(&out, plan, sizeof *plan);
    plan->words = table_add(&out, codelet->words, codelet->word_count, sizeof *codelet->words);
    plan->mappings = table_add(&out, memory->mappings, memory->mapping_count, sizeof *memory->mappings);
    plan->aliases = table_add(&out, memory->aliases, memory->alias_count, sizeof *memory->aliases);
    plan->before = table_add(&out, memory->before, memory->before_count, sizeof *memory->before);
    plan->expected = table_add(&out, memory->expected, memory->expected_count, sizeof *memory->expected);
    plan->ignored = table_add(&out, ignored.items, ignored.count, sizeof *ignored.items);
    plan->changed = table_add(&out, memory->changed, memory->changed_count, sizeof *memory->changed);
    plan->zeroed = table_add(&out, zeroed.items, zeroed.count, sizeof *zeroed.items);
    plan->threads = threads_add(&out, codelet);
    enum pcere_status status = thread_pointers_find(pool, codelet, memory, steps, &pointers, error);
    plan->pointers = table_add(&out, pointers.items, pointers.count, sizeof *pointers.items);
    plan->locks = locks_add(&out, codelet);
    plan->signals = table_add(&out, codelet->signals, codelet->signal_count, sizeof *codelet->signals);
    plan->keys = table_add(&out, codelet->keys, codelet->key_count, sizeof *codelet->keys);
    descriptors_add(&out, &strings, codelet, plan);
    plan->contents = table_add(&out, memory->contents, memory->content_count, sizeof *memory->contents);
    plan->streams = streams_add(&out, codelet);
    plan->relocations = relocations_add(&out, &strings, images, codelet);
    plan->images = images_add(&out, &strings, images, codelet);
    plan->image = (uint32_t)images_of_region(images, codelet);
    plan->randoms = table_add(&out, codelet->randoms, codelet->random_count, sizeof *codelet->randoms);
    plan->externals = externals_add(&out, &strings, &pool->externals);
    steps_add(&out, &strings, steps, plan);
    plan->strings = out.length;
    text_add_bytes(&out, strings.data, strings.length);
    plan->bytes = out.length;
    if (!status && (out.failed || strings.failed || ignored.failed || zeroed.failed))
        status = pcere_fail_memory(error, "a plan");
    if (!status) {
        memcpy(out.data, plan, sizeof *plan);
        status = plan_publish(&out, ret_file, error);
    }
    text_done(&out);
    text_done(&strings);
    free(ignored.items);
    free(zeroed.items);
    thread_pointers_done(&pointers);
    free(plan);
    return status;
}

void plan_file_reset(struct plan_file *file)
{
    memset(&file->plan->result, 0, sizeof file->plan->result);
    atomic_store(&file->plan->turn, PLAN_TURN_WAIT);
    if (ftruncate(file->fd, (off_t)file->bytes))      /* what a process wrote behind it */
        return;                       /* the next one will not take a plan that is longer than it says */
}

void plan_file_done(struct plan_file *file)
{
    if (file->plan) {
        munmap(file->plan, file->bytes);
        close(file->fd);
    }
    *file = (struct plan_file){.fd = -1};
}
