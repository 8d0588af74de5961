/* cli/replay_options.c - what `replay` and `verify` share. */
#include "cli/replay_options.h"
#include "cli/looking.h"
#include "core/json.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void replay_progress(void *context, const char *region, uint64_t representative, uint32_t threads, size_t done, size_t total)
{
    char text[160];
    snprintf(text, sizeof text, "%zu of %zu: %.80s #%llu with %u thread%s", done + 1, total, region, (unsigned long long)representative, threads,
             threads == 1 ? "" : "s");
    cli_progress(context, text);
}

static void building_progress(void *context, size_t done, size_t total)
{
    char text[80];
    snprintf(text, sizeof text, "building: %zu of %zu files of the program", done, total);
    cli_progress(context, text);
}

enum pcere_status replay_library_directory(char **ret_path, struct pcere_error *error)
{
    char *library;
    enum pcere_status status = cli_file_find("libpcere-replay.a", &library, error);
    if (status != PCERE_OK)
        return status;
    *strrchr(library, '/') = '\0';
    *ret_path = library;
    return PCERE_OK;
}

enum pcere_status replay_setup_init(struct cli *cli, const struct cli_threads *threads, struct replay_setup *setup, struct pcere_error *error)
{
    *setup = (struct replay_setup){0};
    enum pcere_status status = replay_library_directory(&setup->library_directory, error);
    if (status != PCERE_OK)
        return status;
    setup->threads = calloc(threads->count + 1, sizeof *setup->threads);
    if (!setup->threads)
        return pcere_fail_memory(error, "the thread counts");
    size_t thread_count = threads->count ? threads->count : 1;
    setup->threads[0] = store_manifest(cli->store)->threads;
    for (size_t i = 0; i < threads->count; i++)
        setup->threads[i] = threads->counts[i];
    setup->options = (struct replay_options){
        .threads = setup->threads, .thread_count = thread_count,
        .search_path = getenv("PATH"), .library_directory = setup->library_directory,
        .diagnostics_fd = STDERR_FILENO, .tolerance_ratio = -1,
        .progress = replay_progress, .building = building_progress, .progress_context = cli,
    };
    status = looking_before(cli, cli->store, setup->threads, thread_count, error);
    if (status != PCERE_OK)
        return status;
    return replay_select(cli->store, (const char *const *)cli->operands, cli->operand_count, &setup->targets, &setup->target_count, error);
}

enum pcere_status replay_build_set(const struct replay_build_words *words, struct replay_options *options, struct pcere_error *error)
{
    if (words->all_loops && !words->schedule)
        return pcere_fail(error, PCERE_USAGE, 0, "say which: --schedule dynamic,16", "--all-loops says which loops --schedule is for, and there is no --schedule");
    options->flags = words->flags;
    options->schedule = words->schedule;
    options->all_loops = words->all_loops;
    options->passes = words->passes;
    options->pass_plugin = words->pass_plugin;
    options->compiler = words->compiler;
    options->target = words->target;
    options->sysroot = words->sysroot;
    return PCERE_OK;
}

void replay_build_put(json_t *document, const struct replay_build_words *words, bool *failed)
{
    json_put(document, "passes", words->passes ? json_from_string(words->passes) : json_null(), failed);
    json_put(document, "pass_plugin", words->pass_plugin ? json_from_string(words->pass_plugin) : json_null(), failed);
}

void replay_setup_done(struct replay_setup *setup)
{
    free(setup->targets);
    free(setup->threads);
    free(setup->library_directory);
}

static json_t *compiler_value(const struct replay_compiler *compiler, bool *failed)
{
    json_t *value = json_object();
    json_put(value, "written_by", json_from_u64(compiler->written_by), failed);
    json_put(value, "rebuilt_by", compiler->rebuilt_by ? json_from_u64(compiler->rebuilt_by) : json_null(), failed);
    json_put(value, "units", json_from_u64(compiler->units), failed);
    return value;
}

enum pcere_status replay_compilers_show(struct cli *cli, const struct replay_compiler *compilers, size_t count, struct pcere_error *error)
{
    bool failed = false;
    json_t *list = cli->json ? json_array() : NULL;
    for (size_t i = 0; i < count; i++)
        if (list)
            failed |= json_array_append_new(list, compiler_value(&compilers[i], &failed)) != 0;
        else if (!compilers[i].rebuilt_by)
            printf("%zu unit%s of LLVM %u: no compiler here reads the bitcode.\n", compilers[i].units, compilers[i].units == 1 ? "" : "s", compilers[i].written_by);
        else if (compilers[i].rebuilt_by != compilers[i].written_by)
            printf("%zu unit%s of LLVM %u rebuilt by clang %u.\n", compilers[i].units, compilers[i].units == 1 ? "" : "s", compilers[i].written_by,
                   compilers[i].rebuilt_by);
    if (list)
        json_put(cli->document, "compilers", list, &failed);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}

void replay_flags_note(struct cli *cli, const char *flags)
{
    bool level = !flags || !*flags;
    for (const char *at = flags; at && *at; at += strcspn(at, " "), at += strspn(at, " "))
        level |= !strncmp(at, "-O", 2);
    if (!level)
        cli_note(cli, "'%.80s' has no level of optimisation, and stands in place of the original's: the code is compiled without any, as with -O0; '-O3 %.80s' keeps one", flags, flags);
}

void replay_locale_note(struct cli *cli)
{
    cli_note(cli, "the program's locale is not installed here: numbers and text that depend on it are as in the C library's default");
}

void replay_asked_threads_see(struct replay_asked_threads *asked, const struct replay_target *target, uint32_t threads)
{
    if (!threads)
        return;
    if (!asked->threads) {
        asked->region = target->region->name;
        asked->threads = threads;
    }
    asked->regions += target->region != asked->last;
    asked->last = target->region;
}

void replay_asked_threads_tell(struct cli *cli, const struct replay_asked_threads *asked)
{
    char others[CLI_TEXT_MOST] = "";
    if (!asked->threads)
        return;
    size_t more = asked->regions - 1;
    if (more)
        snprintf(others, sizeof others, " and %zu more region%s", more, more == 1 ? "" : "s");
    cli_note(cli, "%s%s may have asked for %u thread%s by itself (a variable in num_threads, or omp_set_num_threads, which the program has), as many as the capture had: that is taken for OMP_NUM_THREADS, and other "
             "numbers are tried; if the program always asks for that, they may differ or crash. pcere predict --measure tells, and pcere capture --threads %u: what does not follow it is then replayed with its own number", asked->region, others, asked->threads, asked->threads == 1 ? "" : "s",
             asked->threads + 1);
}

char *replay_target_name(const struct replay_target *target)
{
    struct text name = {0};
    text_addf(&name, "%s #%llu", target->region->name, (unsigned long long)target->class->representative);
    return text_take(&name);
}
