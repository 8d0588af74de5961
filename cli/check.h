/* cli/check.h - the probes of `pcere check`: each finds out by trying, never by a version number.
 */
#ifndef PCERE_CLI_CHECK_H
#define PCERE_CLI_CHECK_H

#include <stdbool.h>
#include <stddef.h>

struct check_result {
    bool ok;
    char found[240];         /* what was found, in a few words */
    char hint[240];          /* what to do if it is not ok, or "" */
};

struct check_probe {
    const char *name;        /* stays: scripts ask for it */
    bool required;           /* without it PCERE cannot do its main job here */
    void (*probe)(struct check_result *result);
};

extern const struct check_probe check_kernel_probes[];     /* ends with a NULL name */
extern const struct check_probe check_tool_probes[];
extern const struct check_probe check_machine_probes[];

/* ok, with what was found. */
void check_good(struct check_result *result, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Not ok; `hint` says what to do. errnum, if not 0, is explained after the text. */
void check_bad(struct check_result *result, int errnum, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Compile `source` in `directory`, with the plugin if that is not NULL; the compiler's first line goes to the result if it fails. */
bool check_program_compile(const char *directory, const char *source, const char *plugin, char *ret_program, size_t program_size,
                           struct check_result *result);

/* check_profiler.c: does the OpenMP runtime tell the profiler what it needs? */
void check_probe_profiler(struct check_result *result);

#endif
