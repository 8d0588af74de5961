/* replay-rt/launcher/build_reach.c - which units of a stored program its codelets can reach: asks the compiler (passes/Reach.cpp). All others would be compiled for nothing. */
#include "replay-rt/launcher/build_work.h"

#include "core/files.h"
#include "replay-rt/launcher/link_image.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Is there a unit that no codelet begins in? */
static bool is_worth(const struct builder *builder)
{
    const struct build_options *options = builder->options;
    size_t others = 0;
    for (size_t i = 0; i < builder->unit_count; i++) {
        bool root = false;
        for (size_t k = 0; !root && k < options->root_count; k++)
            root = options->roots[k].unit_id == builder->units[i].unit->header.unit_id;
        others += builder->units[i].compiler && !root;
    }
    return others && options->root_count && !options->processor->triple;     /* on another processor no captured code runs */
}

/* What code calls that has no bitcode: allocators, what a compiler makes of loops, what the executable offers to libraries. */
static bool is_called_unseen(const struct loaded_image *image, bool program, const char *name)
{
    static const char *const made[] = {"memcpy", "memmove", "memset", "memcmp", "bcmp", "strlen"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (!strcmp(name, made[i]))
            return true;
    return link_image_allocates(name) || (program && image_export_find(&image->file, name));
}

static void names_list(const struct images *images, struct text *list)
{
    for (size_t k = 0; k < images->count; k++) {
        const struct elf_symbol *symbols;
        size_t count = images->items[k].elf ? elf_file_tables(images->items[k].elf, &symbols) : 0;
        for (size_t i = 0; i < count; i++)
            if (symbols[i].kind == PCERE_SYMBOL_FUNCTION && !symbols[i].local && !strchr(symbols[i].name, '\n')
                && is_called_unseen(&images->items[k], !k, symbols[i].name))
                text_addf(list, "name %s\n", symbols[i].name);
    }
}

/* False: where a codelet begins is not known. `numbers`: of each line with a unit, which one it is. */
static bool list_make(const struct builder *builder, struct text *list, size_t *numbers, size_t *ret_count)
{
    size_t count = 0, found = 0;
    for (size_t i = 0; i < builder->unit_count; i++) {
        if (!builder->units[i].compiler)
            continue;
        text_addf(list, "unit %s/%s.bc\n", builder->folder, builder->units[i].name);
        numbers[count++] = i;
    }
    for (size_t k = 0; k < builder->options->root_count; k++) {
        const struct build_root *root = &builder->options->roots[k];
        size_t before = found;
        for (size_t i = 0; i < count; i++)
            if (builder->units[numbers[i]].unit->header.unit_id == root->unit_id) {
                text_addf(list, "region %zu %s\n", i, root->region);
                found++;
            }
        for (size_t i = 0; found == before && i < builder->unit_count; i++)
            found += builder->units[i].unit->header.unit_id == root->unit_id;      /* no compiler reads it: its regions cannot be run */
        if (found == before)
            return false;
    }
    names_list(builder->images, list);
    *ret_count = count;
    return !strchr(builder->folder, '\n');
}

static const struct compiler *newest_find(const struct builder *builder)
{
    const struct compiler *newest = NULL;
    for (size_t i = 0; i < builder->unit_count; i++) {
        const struct compiler *compiler = builder->units[i].compiler;
        if (compiler && (!newest || compiler->major > newest->major))
            newest = compiler;
    }
    return newest;
}

static enum pcere_status compiler_ask(const struct builder *builder, const char *list, const char *answer, int *ret_code, struct pcere_error *error)
{
    static const char *const fixed[] = {"-O0", "-Wno-everything", "-c", "-emit-llvm", "-o", "/dev/null", "-x", "c", "/dev/null"};
    struct arguments arguments = {0};
    struct text log = {0};
    text_addf(&log, "%s/reach.log", builder->folder);
    compiler_begin(newest_find(builder), &arguments);
    arguments_add(&arguments, "-mllvm");
    arguments_addf(&arguments, "-pcere-reach=%s", answer);
    arguments_add(&arguments, "-mllvm");
    arguments_addf(&arguments, "-pcere-reach-list=%s", list);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        arguments_add(&arguments, fixed[i]);
    enum pcere_status status = log.failed ? pcere_fail_memory(error, "a path") : command_run(&arguments, log.data, ret_code, error);
    arguments_done(&arguments);
    text_done(&log);
    return status;
}

static enum pcere_status answer_take(struct builder *builder, const char *path, const size_t *numbers, size_t count, struct pcere_error *error)
{
    void *answer = NULL;
    size_t bytes = 0;
    enum pcere_status status = file_read(AT_FDCWD, path, BUILD_TEXT_BYTES_MOST, &answer, &bytes, error);
    for (size_t i = 0; !status && i < count; i++)
        builder->units[numbers[i]].unreached = true;
    char *next = NULL;
    for (char *line = status ? NULL : strtok_r(answer, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
        size_t number = strtoull(line, NULL, 10);
        if (number < count)
            builder->units[numbers[number]].unreached = false;
    }
    free(answer);
    return status;
}

enum pcere_status build_reach(struct builder *builder, struct pcere_error *error)
{
    if (!is_worth(builder))
        return PCERE_OK;
    struct text list = {0}, list_path = {0}, answer_path = {0};
    size_t count = 0, *numbers = calloc(builder->unit_count, sizeof *numbers);
    int code = 0;
    text_addf(&list_path, "%s/reach.list", builder->folder);
    text_addf(&answer_path, "%s/reach", builder->folder);
    bool known = numbers && list_make(builder, &list, numbers, &count);
    bool failed = !numbers || list.failed || list_path.failed || answer_path.failed;
    enum pcere_status status = failed ? pcere_fail_memory(error, "the list of units") : PCERE_OK;
    if (!status && known)
        status = file_replace(AT_FDCWD, list_path.data, list.data, list.length, false, NULL, error);
    if (!status && known)
        status = compiler_ask(builder, list_path.data, answer_path.data, &code, error);
    if (!status && known && !code)
        status = answer_take(builder, answer_path.data, numbers, count, error);
    if (!failed) {
        unlink(list_path.data);
        unlink(answer_path.data);
    }
    free(numbers);
    text_done(&list);
    text_done(&list_path);
    text_done(&answer_path);
    return status;
}
