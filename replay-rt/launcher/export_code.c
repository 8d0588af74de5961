/* replay-rt/launcher/export_code.c - addresses.s and region.h: what ties the region's code to its memory. */
#include "replay-rt/launcher/export_work.h"

#include "include/pcere/rt_abi.h"
#include "replay-rt/launcher/link_symbols.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NO_BLOCK SIZE_MAX

static enum pcere_status fail_name(struct pcere_error *error)
{
    return pcere_fail(error, PCERE_DATA, 0, "capture the program again", "the stored program has a damaged symbol name");
}

const struct export_chosen *export_chosen_unit(const struct export_work *work, uint64_t unit_id)
{
    for (size_t i = 0; i < work->chosen_count; i++)
        if (work->chosen[i].object->unit->header.unit_id == unit_id)
            return &work->chosen[i];
    return NULL;
}

/* What the optimiser made of an internal variable is called NAME.MORE
 * there, and in the text NAME.SUFFIX becomes NAME.SUFFIX.MORE. */
void export_name(const struct export_chosen *chosen, const struct elf_symbol *symbol, struct text *out)
{
    out->length = 0;
    if (!symbol->local) {
        text_add(out, symbol->name);
        return;
    }
    for (size_t length = strlen(symbol->name); length; length--) {
        if (symbol->name[length] && symbol->name[length] != '.')
            continue;
        out->length = 0;
        text_addf(out, "%.*s.%s", (int)length, symbol->name, chosen->suffix);
        if (!out->failed && names_have(&chosen->variables, out->data)) {
            text_add(out, symbol->name + length);
            return;
        }
    }
    out->length = 0;
    text_addf(out, "%s.%s", symbol->name, chosen->suffix);
}

static bool is_used(const struct export_work *work, const char *name)
{
    for (size_t i = 0; i < work->chosen_count; i++)
        if (names_have(&work->chosen[i].object->undefined, name))
            return true;
    return false;
}

/* ---- addresses.s ---------------------------------------------------------------------------------------------------------------------- */

struct placed { struct names written; struct text name; };

/* What another image has, or the own one without a unit. */
static const struct export_link *link_of(const struct export_work *work, const char *name)
{
    for (size_t i = 0; i < work->link_count; i++)
        if (!strcmp(work->links[i].name, name))
            return &work->links[i];
    return NULL;
}

/* `block`: the image whose thread-local variable it is, at that offset, or NO_BLOCK. */
static enum pcere_status variable_write(struct placed *placed, struct text *out, size_t block, uint64_t address, struct pcere_error *error)
{
    for (size_t i = 0; i < placed->written.count; i++)
        if (!strcmp(placed->written.items[i], placed->name.data))
            return PCERE_OK;          /* a global variable may stand in several units' tables */
    if (placed->name.failed || !names_add(&placed->written, placed->name.data, placed->name.length))
        return pcere_fail_memory(error, "the program's symbols");
    const char *name = placed->name.data;
    if (block == NO_BLOCK)
        return link_symbol_write(out, name, address) ? PCERE_OK : fail_name(error);
    if (!link_symbol_is_writable(name))
        return fail_name(error);
    text_addf(out, ".globl \"%s\"\n.hidden \"%s\"\n.type \"%s\", @object\n.set \"%s\", pcere_thread_block_%zu+%" PRIu64 "\n", name, name, name, name, block, address);
    return PCERE_OK;
}

static enum pcere_status variables_write(const struct export_work *work, struct text *out, struct pcere_error *error)
{
    const struct elf_symbol *symbols;
    size_t count = elf_file_tables(work->home->elf, &symbols);
    uint64_t bias = work->home->bias;
    struct placed placed = {0};
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; !status && i < count; i++) {
        const struct export_chosen *chosen = export_chosen_unit(work, symbols[i].unit_id);
        if (symbols[i].kind == PCERE_SYMBOL_FUNCTION || (!chosen && (symbols[i].local || !is_used(work, symbols[i].name)))
            || (!symbols[i].local && link_of(work, symbols[i].name)))
            continue;
        export_name(chosen, &symbols[i], &placed.name);
        bool thread_local = symbols[i].kind == PCERE_SYMBOL_TLS;
        status = variable_write(&placed, out, thread_local ? work->image : NO_BLOCK, symbols[i].address + (thread_local ? 0 : bias), error);
    }
    for (size_t i = 0; !status && i < work->link_count; i++) {
        const struct export_link *link = &work->links[i];
        if (link->image != work->image && (link->image || link->kind != PCERE_SYMBOL_TLS))
            continue;                 /* imageK.s has it */
        placed.name.length = 0;
        text_add(&placed.name, link->name);
        status = variable_write(&placed, out, link->kind == PCERE_SYMBOL_TLS ? link->image : NO_BLOCK, link->address, error);
    }
    for (size_t i = 0; !status && i < work->other_count; i++) {
        if (!is_used(work, work->others[i].name))
            continue;
        placed.name.length = 0;
        text_add(&placed.name, work->others[i].name);
        status = variable_write(&placed, out, NO_BLOCK, work->others[i].address, error);
    }
    names_done(&placed.written);
    text_done(&placed.name);
    return status;
}

bool export_name_is_writable(const char *name)
{
    return *name && !strpbrk(name, "\"\\\n");
}

/* No library here needs to have it; but a weak use does not bring the dynamic linker's. */
static void weak_write(const char *name, struct text *out)
{
    if (strcmp(name, "__tls_get_addr") != 0)
        text_addf(out, ".weak \"%s\"\n", name);
}

/* Captured words of images that are filled anew. The probes' runtime is not here. Kinds have names that no variable of a program has. */
static void library_words_write(const struct export_work *work, struct text *out)
{
    static const char *const kinds[] = {
        [PLAN_RELOCATION_ADDRESS] = ".Laddress", [PLAN_RELOCATION_DATA] = ".Ldata", [PLAN_RELOCATION_COPY] = ".Lcopy",
        [PLAN_RELOCATION_VALUE] = ".Laddress", [PLAN_RELOCATION_MODULE] = ".Lmodule", [PLAN_RELOCATION_THREAD] = ".Lthread"};
    const struct plan_relocation *relocations = EXPORT_TABLE(work, relocations, struct plan_relocation);
    const char *strings = (const char *)work->plan.plan + work->plan.plan->strings;
    text_add(out, "\n# Words that held addresses of libraries: where, of what, plus how much (copies: bytes), kind (support.c). Modules and threads: image, offset.\n"
                  ".set .Laddress, 0\n.set .Ldata, 1\n.set .Lcopy, 2\n.set .Lmodule, 3\n.set .Lthread, 4\n"
                  ".data\n.p2align 3\n.globl pcere_library_words, pcere_library_words_end\npcere_library_words:\n");
    for (uint64_t i = 0; i < work->plan.plan->relocations.count; i++) {
        const struct plan_relocation *word = &relocations[i];
        const char *name = strings + word->name;
        text_addf(out, ".quad 0x%" PRIx64 ", ", word->address);
        if (word->kind == PLAN_RELOCATION_MODULE || word->kind == PLAN_RELOCATION_THREAD)
            text_addf(out, "%" PRIu32, word->name);
        else if (word->kind == PLAN_RELOCATION_VALUE || !export_name_is_writable(name) || !strncmp(name, "__pcere_", 8))
            text_add(out, "0");
        else
            text_addf(out, "\"%s\"", name);
        text_addf(out, ", %" PRId64 ", %s\n", word->addend, kinds[word->kind]);
    }
    for (uint64_t i = 0; i < work->plan.plan->relocations.count; i++)
        if (relocations[i].kind <= PLAN_RELOCATION_COPY && export_name_is_writable(strings + relocations[i].name))
            weak_write(strings + relocations[i].name, out);
    text_add(out, "pcere_library_words_end:\n");
}

static void externals_write(const struct export_work *work, struct text *out)
{
    const struct plan_external *externals = EXPORT_TABLE(work, externals, struct plan_external);
    const char *strings = (const char *)work->plan.plan + work->plan.plan->strings;
    text_add(out, "\n# What the capture's libraries had where, as captured data may point there: a function (0 bytes), or a constant of so many bytes.\n"
                  ".globl pcere_externals, pcere_externals_end\npcere_externals:\n");
    for (uint64_t i = 0; i < work->plan.plan->externals.count; i++) {
        const char *name = strings + externals[i].name;
        if (export_name_is_writable(name)) {
            weak_write(name, out);
            text_addf(out, ".quad 0x%" PRIx64 ", \"%s\", %" PRIu32 "\n", externals[i].address, name, externals[i].bytes);
        }
    }
    text_add(out, "pcere_externals_end:\n");
}

/* Those that the program has in a captured library alone; other programs find them in the C++ library that they are linked with. */
static void operators_write(const struct export_work *work, struct text *out)
{
    const struct image_export *found = NULL;
    for (size_t i = 0; i < work->reached.count; i++) {
        size_t owner = images_resolve(&work->session.images, 0, work->reached.items[i], &found);
        bool again = i && !strcmp(work->reached.items[i], work->reached.items[i - 1]);     /* they are sorted */
        if (!again && owner != SIZE_MAX && owner)
            link_symbol_operator(work->reached.items[i], false, out);
    }
}

static enum pcere_status addresses_write(const struct export_work *work, struct pcere_error *error)
{
    struct text out = {0};
    text_add(&out, "# Addresses in the captured program. Variables lie where it had them.\n");
    enum pcere_status status = variables_write(work, &out, error);
    if (!status) {
        export_thread_blocks_write(work, &out);
        export_copies_values_write(work, &out);
        library_words_write(work, &out);
        externals_write(work, &out);
        operators_write(work, &out);
        status = export_functions_write(work, &out, error);
    }
    if (!status)
        status = export_text(work, "addresses.s", &out, error);
    text_done(&out);
    return status;
}

/* ---- region.h -------------------------------------------------------------------------------------------------------------------------- */

static void quoted_add(struct text *out, const char *word)
{
    text_add(out, "\"");
    for (; *word; word++)
        if (*word == '"' || *word == '\\')
            text_addf(out, "\\%c", *word);
        else if ((unsigned char)*word < ' ')
            text_addf(out, "\\%03o", (unsigned)(unsigned char)*word);
        else
            text_addf(out, "%c", *word);
    text_add(out, "\"");
}

static void locks_write(const struct export_work *work, struct text *out)
{
    text_add(out, "\n/* OpenMP locks that were initialised: kind, address, hint, how often it is held, by which thread. */\n#define LOCKS(X)");
    for (size_t i = 0; i < work->codelet.lock_count; i++)
        if (work->codelet.locks[i].kind != STORE_LOCK_CRITICAL)
            text_addf(out, " \\\n    X(%s, 0x%" PRIx64 ", %" PRIu32 ", %" PRIu32 ", %" PRIu32 ")", work->codelet.locks[i].kind ? "nest_lock" : "lock",
                      work->codelet.locks[i].address, work->codelet.locks[i].hint, work->codelet.locks[i].held, work->codelet.locks[i].owner);
    text_add(out, "\n");
}

static void setting_write(const struct export_work *work, struct text *out)
{
    const struct store_setting *setting = &work->codelet.setting;
    text_add(out, "\n/* Parallel regions around this one, the outermost first: size of the team, number of the thread that enters the next. */\n#define LEVELS(X)");
    for (uint32_t i = 0; i < setting->level_count; i++)
        text_addf(out, " \\\n    X(%" PRIu32 ", %" PRIu32 ")", setting->levels[i].team, setting->levels[i].number);
    text_addf(out, "\n\n/* What the program had set; 0, -1, 0: unknown. */\n"
                   "#define MAX_ACTIVE_LEVELS %" PRId32 "\n#define DYNAMIC %" PRId32 "\n#define SCHEDULE_KIND (int)0x%" PRIx32 "\n#define SCHEDULE_CHUNK %" PRId32
                   "\n#define FLOAT_CONTROL UINT64_C(0x%" PRIx64 ")\n",
              setting->max_active_levels, setting->dynamic, (uint32_t)setting->schedule_kind, setting->schedule_chunk, setting->float_control);
}

/* "/usr/lib/libc.so.6 BUILD-ID": of which libraries data that has no name can be had. */
static void libraries_write(const struct export_work *work, struct text *out)
{
    const struct plan_external *externals = EXPORT_TABLE(work, externals, struct plan_external);
    const char *strings = (const char *)work->plan.plan + work->plan.plan->strings;
    text_add(out, "\n/* The capture's libraries: address, bytes, file, build. */\n#define LIBRARIES(X)");
    for (uint64_t i = 0; i < work->plan.plan->externals.count; i++) {
        const char *name = strings + externals[i].name, *space = strrchr(name, ' ');
        if (name[0] != '/' || !space || !space[1])
            continue;
        char *file = strndup(base_name(name), (size_t)(space - base_name(name)));
        text_addf(out, " \\\n    X(0x%" PRIx64 ", %" PRIu32 ", ", externals[i].address, externals[i].bytes);
        quoted_add(out, file ? file : "");
        text_add(out, ", ");
        quoted_add(out, space + 1);
        text_add(out, ")");
        free(file);
    }
    text_add(out, "\n");
}

static enum pcere_status header_write(const struct export_work *work, struct pcere_error *error)
{
    const struct store_codelet *codelet = &work->codelet;
    uint32_t team = store_codelet_captured_team(codelet);
    struct text out = {0};
    text_add(&out, "/* region.h - numbers and names of this region; written by pcere export. */\n#ifndef REGION_H\n#define REGION_H\n\n"
                   "#include <stdint.h>\n\n#define REGION ");
    quoted_add(&out, codelet->region);
    text_addf(&out, "\n#define INVOCATION %" PRIu64 "\n#define CAPTURE_THREADS %" PRIu32 "            /* that it had while it was captured */\n",
              codelet->invocation, team);
    uint32_t turns = store_region_turns(work->target->region), room = store_region_room(work->target->region);
    if (turns)
        text_addf(&out, "#define THREADS_%s %" PRIu32 "    /* it goes another way from %" PRIu32 " threads on */\n", team < turns ? "MOST" : "LEAST",
                  team < turns ? turns - 1 : turns, turns);
    else if (work->target->region->thread_sized && !store_region_pieces(work->target->region))
        text_addf(&out, "#define THREADS_MOST %" PRIu32 "               /* memory of the program has room for no more */\n", room > team ? room : team);
    if (store_region_is_exact(work->target->region))
        text_addf(&out, "#define THREADS_LEAST CAPTURE_THREADS   /* a barrier waits for as many, or the work is divided among them */\n");
    uint32_t inner = store_codelet_inner_team(codelet, 0, 0);
    if (inner && inner != store_codelet_captured_team(codelet))
        text_addf(&out, "#define INNER_THREADS %" PRIu32 "            /* of teams inside the region, where nothing else is said */\n", inner);
    text_addf(&out, "#define IN_VIVO_US %.3f              /* time of this invocation inside the program */\n", (double)codelet->in_vivo_ns / 1000);
    text_addf(&out, "#define STACK 0x%" PRIx64 "       /* stack pointer where the region was entered */\n", codelet->stack_pointer & ~UINT64_C(15));
    text_addf(&out, "#define AFTER_IS_KNOWN %d\n", codelet->has_after);
    text_addf(&out, "#define RECLAIMS %d              /* it allocates: blocks are used again from run to run */\n\n", export_reclaims(work));
    text_addf(&out, "#define PAGE_BYTES %" PRIu64 "\n#define PAGE_COUNT %" PRIu64 "\n#define MAPPING_COUNT %" PRIu64 "\n#define SAME_COUNT %zu\n#define SKIP_COUNT %" PRIu64 "\n#define CONTENT_COUNT %" PRIu64 "\n\n",
              store_manifest(work->session.store)->page_size, work->page_count, work->mapping_count, work->memory.alias_count, work->skip_count, work->content_count);
    text_addf(&out, "/* The region's function, and what the program passed to it. */\n#define SERIAL %d\n#define CONDITIONAL %d\n"
              "#define PROC_BIND %" PRId32 "            /* of its clause, or -1 */\n#define WORD_COUNT %" PRIu64 "\n#define WORDS ",
              codelet->path == PCERE_PATH_SERIALIZED, codelet->path == PCERE_PATH_FORK_IF,
              environment_binds(store_manifest(work->session.store), work->options) ? store_codelet_binding(codelet) : -1, work->arguments);
    for (size_t i = 0; i < codelet->word_count; i++)
        text_addf(&out, ", UINT64_C(0x%" PRIx64 ")", codelet->words[i]);
    text_add(&out, "\nvoid region(int32_t *thread, int32_t *bound, ...) __asm__(");
    struct text name = {0};
    text_addf(&name, "%s.entry", work->microtask);
    quoted_add(&out, name.data ? name.data : "");
    text_add(&out, ") __attribute__((weak));     /* nothing may be left of it */\n\n/* The OpenMP runtime, as compilers call it. */\nstruct source_location { int32_t reserved1, flags, reserved2, reserved3; const char *text; };\n"
                   "void __kmpc_fork_call(struct source_location *where, int32_t words, void (*function)(int32_t *, int32_t *, ...), ...);\n"
                   "void __kmpc_fork_call_if(struct source_location *where, int32_t words, void (*function)(int32_t *, int32_t *, ...), uint64_t condition, "
                   "uint64_t argument);\n"
                   "int32_t __kmpc_global_thread_num(struct source_location *where);\n"
                   "void __kmpc_push_num_threads(struct source_location *where, int32_t thread, int32_t count);\n"
                   "void __kmpc_push_proc_bind(struct source_location *where, int32_t thread, int32_t kind);\n"
                   "void __kmpc_serialized_parallel(struct source_location *where, int32_t thread);\n"
                   "void __kmpc_end_serialized_parallel(struct source_location *where, int32_t thread);\n");
    setting_write(work, &out);
    export_thread_tables_write(work, &out);
    export_copies_write(work, &out);
    locks_write(work, &out);
    libraries_write(work, &out);
    text_add(&out, "\n#endif\n");
    enum pcere_status status = name.failed || !export_name_is_writable(work->microtask) ? fail_name(error) : export_text(work, "region.h", &out, error);
    text_done(&name);
    text_done(&out);
    return status;
}

enum pcere_status export_code_write(struct export_work *work, struct pcere_error *error)
{
    enum pcere_status status = addresses_write(work, error);
    return status ? status : header_write(work, error);
}
