/* replay-rt/launcher/export_state.c - state.h: what the C library and the kernel kept for the program where the region starts. */
#include "replay-rt/launcher/export_work.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

/* A string of any bytes: octal, so that no digit behind it is taken for part of one. */
static void bytes_add(struct text *out, const void *bytes, size_t count)
{
    text_add(out, "\"");
    for (size_t i = 0; i < count; i++)
        text_addf(out, "\\%03o", ((const unsigned char *)bytes)[i]);
    text_add(out, "\"");
}

static void string_add(struct text *out, const char *string, size_t length)
{
    text_add(out, "\"");
    for (size_t i = 0; i < length; i++)
        text_addf(out, (unsigned char)string[i] < ' ' || strchr("\"\\?", string[i]) ? "\\%03o" : "%c", (unsigned char)string[i]);
    text_add(out, "\"");
}

/* Lines of the codelet: the process's, the thread's, whether C++ has the process's, too. */
static void locale_write(const struct store_codelet *codelet, struct text *out)
{
    const char *process = codelet->locale ? codelet->locale : "", *end = process + strlen(process);
    const char *thread = process + strcspn(process, "\n"), *cpp;
    size_t process_length = (size_t)(thread - process);
    thread += thread < end;
    cpp = thread + strcspn(thread, "\n");
    text_add(out, "\n/* Languages of the process, of the thread that enters the region; whether C++ has the process's. */\n#define LOCALE_PROCESS ");
    string_add(out, process, process_length);
    text_add(out, "\n#define LOCALE_THREAD ");
    string_add(out, thread, (size_t)(cpp - thread));
    cpp += cpp < end;
    text_addf(out, "\n#define LOCALE_CPP %d\n", cpp < end && *cpp != '\n');
}

static void randoms_write(const struct store_codelet *codelet, struct text *out)
{
    text_add(out, "\n/* Generators of random numbers: 1 random(3), 2 drand48(3); the program's own array, or 0; bytes, state. */\n#define RANDOMS(X)");
    for (size_t i = 0; i < codelet->random_count; i++) {
        const struct store_random *random = &codelet->randoms[i];
        if (random->kind == STORE_RANDOM_VARIABLES || !random->bytes || random->bytes > sizeof random->before)
            continue;
        text_addf(out, " \\\n    X(%" PRIu32 ", 0x%" PRIx64 ", %" PRIu32 ", ", random->kind, random->address, random->bytes);
        bytes_add(out, random->before, random->bytes);
        text_add(out, ")");
    }
}

static void variables_write(const struct store_codelet *codelet, struct text *out)
{
    static const struct { const char *name; size_t bytes; bool leads; } variables[] = {
#define LIBC_VARIABLE(type, name, count, leads) {#name, count * sizeof(type), leads},
#include "include/pcere/libc_variables.inc"
#undef LIBC_VARIABLE
    };
    text_add(out, "\n\n/* Variables of the C library: name, bytes, whether they are pointers, value. */\n#define LIBRARY_VARIABLES(X)");
    for (size_t i = 0; i < codelet->random_count; i++) {
        const struct store_random *state = &codelet->randoms[i];
        size_t at = 0;
        for (size_t j = 0; state->kind == STORE_RANDOM_VARIABLES && j < sizeof variables / sizeof *variables && at + variables[j].bytes <= state->bytes; j++) {
            text_addf(out, " \\\n    X(%s, %zu, %d, ", variables[j].name, variables[j].bytes, variables[j].leads);
            bytes_add(out, state->before + at, variables[j].bytes);
            text_add(out, ")");
            at += variables[j].bytes;
        }
    }
}

static void signals_write(const struct store_codelet *codelet, struct text *out)
{
    text_add(out, "\n\n/* Signals: number, handler (1: ignored), mask, flags. */\n#define SIGNALS(X)");
    for (size_t i = 0; i < codelet->signal_count; i++)
        text_addf(out, " \\\n    X(%" PRIu32 ", 0x%" PRIx64 ", 0x%" PRIx64 ", (int)0x%" PRIx32 ")", codelet->signals[i].number, codelet->signals[i].handler,
                  codelet->signals[i].mask, codelet->signals[i].flags);
}

static enum pcere_status descriptors_write(struct export_work *work, struct text *out, struct pcere_error *error)
{
    const struct plan_descriptor *descriptors = EXPORT_TABLE(work, descriptors, struct plan_descriptor);
    const char *strings = (const char *)work->plan.plan + work->plan.plan->strings;
    struct text lost = {0};
    int highest = 0;
    text_add(out, "\n\n/* Descriptors: number; 0 the file, 1 a copy, 2 a device, 3, 4 nothing; flags, path, position, size, time of change; contents: first, how many. */\n"
                  "#define DESCRIPTORS(X)");
    for (uint64_t i = 0; work->codelet.does_io && i < work->plan.plan->descriptors.count; i++) {
        const struct plan_descriptor *from = &descriptors[i];
        const char *path = strings + from->path, *what = strings + from->what;
        text_addf(out, " \\\n    X(%" PRId32 ", %" PRIu32 ", 0x%" PRIx32 ", ", from->number, from->source, from->flags);
        string_add(out, path, strlen(path));
        text_addf(out, ", %" PRIu64 ", %" PRIu64 ", UINT64_C(%" PRIu64 "), %" PRIu64 ", %" PRIu64 ")", from->offset, from->bytes, from->changed_ns,
                  from->content_first, from->content_count);
        highest = from->number;
        if (*what)
            text_addf(&lost, "%s%s", lost.length ? ", " : "", what);
    }
    text_addf(out, "\n#define HIGHEST_DESCRIPTOR %d\n", highest);
    enum pcere_status status = lost.failed ? pcere_fail_memory(error, "a remark") : PCERE_OK;
    if (!status && lost.length)
        status = export_limit(work, error, "what the program had open cannot be had again: %s; the region finds it empty", lost.data);
    text_done(&lost);
    return status;
}

static void streams_write(const struct export_work *work, struct text *out)
{
    text_add(out, "\n/* Streams of the C library: address of the FILE; 0 any, 1 stdin, 2 stdout, 3 stderr; its bytes, and the address of its table. */\n#define STREAMS(X)");
    for (size_t i = 0; i < work->codelet.stream_count; i++) {
        const struct store_stream *stream = &work->codelet.streams[i];
        text_addf(out, " \\\n    X(0x%" PRIx64 ", %" PRIu32 ", ", stream->address, stream->kind);
        bytes_add(out, stream->bytes, sizeof stream->bytes);
        text_add(out, ")");
    }
    text_add(out, "\n");
}

enum pcere_status export_state_write(struct export_work *work, struct pcere_error *error)
{
    struct text out = {0};
    const char *directory = (const char *)work->plan.plan + work->plan.plan->strings + work->plan.plan->directory;
    text_add(&out, "/* state.h - what the C library and the kernel kept for the program; written by pcere export. */\n#ifndef STATE_H\n#define STATE_H\n\n");
    text_addf(&out, "#define DOES_IO %d                       /* the region reads or writes */\n#define DIRECTORY ", work->codelet.does_io);
    string_add(&out, directory, strlen(directory));
    text_addf(&out, "\n#define ENVIRONMENT 0x%" PRIx64 "\n", work->codelet.setting.environment);
    locale_write(&work->codelet, &out);
    randoms_write(&work->codelet, &out);
    variables_write(&work->codelet, &out);
    signals_write(&work->codelet, &out);
    enum pcere_status status = descriptors_write(work, &out, error);
    streams_write(work, &out);
    text_add(&out, "\n#endif\n");
    if (!status)
        status = export_text(work, "state.h", &out, error);
    text_done(&out);
    return status;
}
