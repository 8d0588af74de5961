/* cli/check_tools.c - whether the compiler, the linker, the OpenMP runtime and PCERE's own files work together: a small program is
 * compiled with the plugin, looked into, and run with the capture library loaded into it.
 */
#include "cli/check.h"
#include "cli/cli.h"
#include "core/elf_file.h"
#include "core/environment.h"
#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define TEXT_OF(x) #x
#define NUMBER_TEXT(x) TEXT_OF(x)
#define LLVM NUMBER_TEXT(PCERE_LLVM_MAJOR)

static const char setup_hint[] = "apt-get install clang-" LLVM " lld-" LLVM " libomp-" LLVM "-dev, or run scripts/setup";

static void first_line(char *text)
{
    text[strcspn(text, "\n")] = '\0';
}

static void probe_version(struct check_result *result, const char *program)
{
    char *arguments[] = {(char *)(uintptr_t)program, (char[]){"--version"}, NULL};
    struct cli_process process = {.arguments = arguments, .timeout_s = 60};
    struct pcere_error error;
    char *output;
    int status;
    if (cli_process_run(&process, &output, &status, &error) != PCERE_OK) {
        check_bad(result, 0, setup_hint, "%s", error.message);
        return;
    }
    first_line(output);
    char text[CLI_TEXT_MOST];
    if (status)
        check_bad(result, 0, setup_hint, "%s %s", program, cli_status_text(text, status));
    else
        check_good(result, "%s", output);
    free(output);
}

static void probe_clang(struct check_result *result)
{
    probe_version(result, "clang-" LLVM);
}

static void probe_linker(struct check_result *result)
{
    probe_version(result, "ld.lld-" LLVM);
}

static void probe_own_file(struct check_result *result, const char *name)
{
    struct pcere_error error;
    char *path;
    if (cli_file_find(name, &path, &error) != PCERE_OK) {
        check_bad(result, 0, error.hint, "%s", error.message);
        return;
    }
    check_good(result, "%s", path);
    free(path);
}

static void probe_capture_library(struct check_result *result)
{
    probe_own_file(result, "libpcere-capture.so");
}

static void probe_replay_library(struct check_result *result)
{
    probe_own_file(result, "libpcere-replay.a");
}

bool check_program_compile(const char *directory, const char *source, const char *plugin, char *ret_program, size_t program_size,
                           struct check_result *result)
{
    char file[4096], option[4200] = "";
    snprintf(file, sizeof file, "%s/check.c", directory);
    snprintf(ret_program, program_size, "%s/check", directory);
    FILE *out = fopen(file, "we");
    bool written = out && fputs(source, out) >= 0;
    if ((out && fclose(out) != 0) || !written) {
        check_bad(result, 0, "set TMPDIR to a directory that can be written", "cannot write '%s'", file);
        return false;
    }
    snprintf(option, sizeof option, "-fpass-plugin=%s", plugin ? plugin : "");
    char *arguments[] = {(char[]){"clang-" LLVM}, (char[]){"-O1"}, (char[]){"-g"}, (char[]){"-fopenmp"}, file, (char[]){"-o"}, ret_program,
                         plugin ? option : NULL, NULL};
    struct cli_process process = {.arguments = arguments, .timeout_s = 120};
    struct pcere_error error;
    char *output;
    int status;
    if (cli_process_run(&process, &output, &status, &error) != PCERE_OK) {
        check_bad(result, 0, setup_hint, "%s", error.message);
        return false;
    }
    first_line(output);
    if (status)
        check_bad(result, 0, setup_hint, "a small program does not compile: %.160s", output);
    free(output);
    return status == 0;
}

static void program_run(const char *program, const char *preload, const char *good, const char *hint, struct check_result *result)
{
    char *arguments[] = {(char *)(uintptr_t)program, NULL};
    struct environment environment = environment_copy(environ);
    environment_unset(&environment, "LD_PRELOAD");
    if (preload)
        environment_preload(&environment, preload);
    if (environment.failed) {
        check_bad(result, 0, "close other programs", "no memory");
        environment_done(&environment);
        return;
    }
    struct cli_process process = {.arguments = arguments, .environment = preload ? environment.list : NULL, .timeout_s = 60};
    struct pcere_error error;
    char *output = NULL;
    int status = 0;
    char text[CLI_TEXT_MOST];
    if (cli_process_run(&process, &output, &status, &error) != PCERE_OK) {
        check_bad(result, 0, error.errnum == EACCES ? "set TMPDIR to a directory where programs may be run (not mounted noexec)" : hint, "%s", error.message);
    } else {
        first_line(output);
        if (status == 0)
            check_good(result, "%s", good);
        else
            check_bad(result, 0, hint, "a small program %s%s%.120s", cli_status_text(text, status), output[0] ? ": " : "", output);
    }
    free(output);
    environment_done(&environment);
}

static void probe_openmp(struct check_result *result)
{
    char *directory, program[4096];
    struct pcere_error error;
    if (cli_directory_new(&directory, &error) != PCERE_OK) {
        check_bad(result, 0, error.hint, "%s", error.message);
        return;
    }
    static const char source[] = "#include <omp.h>\nint main(void){int n=0;\n#pragma omp parallel num_threads(2) reduction(+:n)\n"
                                 "n+=omp_get_num_threads();\nreturn n!=4;}\n";
    if (check_program_compile(directory, source, NULL, program, sizeof program, result))
        program_run(program, NULL, "a region with two threads runs", setup_hint, result);
    cli_directory_remove(directory);
    free(directory);
}

/* Status 0 only if a library that is loaded into it defines the probe. */
static const char plugin_source[] =
    "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stddef.h>\n"
    "int main(void){int n=0;\n#pragma omp parallel num_threads(2) reduction(+:n)\nn++;\n"
    "return dlsym(RTLD_DEFAULT, \"__pcere_region_begin\") && n==2 ? 0 : 7;}\n";

static bool plugin_sections(const char *program, struct check_result *result)
{
    struct elf_file *file;
    struct pcere_error error;
    if (elf_file_open(program, &file, &error) != PCERE_OK) {
        check_bad(result, 0, error.hint, "%s", error.message);
        return false;
    }
    const struct elf_unit *units;
    const struct elf_symbol *symbols;
    size_t unit_count = elf_file_units(file, &units), symbol_count = elf_file_tables(file, &symbols);
    if (unit_count == 1)
        check_good(result, "%zu unit of bitcode for LLVM %u, %zu addresses", unit_count, units[0].header.llvm_major, symbol_count);
    else
        check_bad(result, 0, "install PCERE again", "the plugin loads, but leaves no bitcode in the program");
    elf_file_close(file);
    return unit_count == 1;
}

static void with_plugin(struct check_result *result, bool run)
{
    struct pcere_error error;
    char *plugin = NULL, *library = NULL, *directory = NULL, program[4096];
    enum pcere_status status = cli_file_find("PCEREPass.so", &plugin, &error);
    if (status == PCERE_OK && run)
        status = cli_file_find("libpcere-capture.so", &library, &error);
    if (status == PCERE_OK)
        status = cli_directory_new(&directory, &error);
    if (status != PCERE_OK)
        check_bad(result, 0, error.hint, "%s", error.message);
    else if (check_program_compile(directory, plugin_source, plugin, program, sizeof program, result) && plugin_sections(program, result) && run)
        program_run(program, library, "the capture library can be loaded into a program",
                    "the loader must honour LD_PRELOAD: no setuid program, no static program", result);
    cli_directory_remove(directory);
    free(directory);
    free(library);
    free(plugin);
}

static void probe_plugin(struct check_result *result)
{
    with_plugin(result, false);
}

static void probe_preload(struct check_result *result)
{
    with_plugin(result, true);
}

const struct check_probe check_tool_probes[] = {
    {"clang", true, probe_clang},
    {"lld", true, probe_linker},
    {"openmp", true, probe_openmp},
    {"plugin", true, probe_plugin},
    {"capture-library", true, probe_capture_library},
    {"replay-library", true, probe_replay_library},
    {"preload", true, probe_preload},
    {"profiler", false, check_probe_profiler},
    {NULL, false, NULL},
};
