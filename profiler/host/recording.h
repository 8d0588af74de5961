/* profiler/host/recording.h - one run of a program with the profiler's library in it, and the trace that it leaves. */
#ifndef PCERE_PROFILER_HOST_RECORDING_H
#define PCERE_PROFILER_HOST_RECORDING_H

#include "core/error.h"
#include "profiler/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recording_options {       /* all pointers borrowed */
    const char *program;         /* a path; never searched in PATH */
    char *const *arguments;      /* NULL-terminated, without the program itself; NULL: none */
    char *const *environment;    /* NULL-terminated */
    const char *library;         /* absolute path of libpcere-profiler.so; "": the program has it in itself */
    const char *trace;           /* path of the file to make; it must not exist */
    bool kept;                   /* who reads it may want a part of it: it gets the tables for that */
    uint32_t threads;            /* OMP_NUM_THREADS; 0: as the environment has it */
    enum trace_clock clock;      /* TRACE_CLOCK_NONE: the best there is */
    const struct trace_event *events;
    size_t event_count;
    uint32_t wanted;             /* enum trace_want */
    struct trace_cache caches[2];        /* for events of TRACE_BACKEND_CACHE */
    uint64_t bytes_most;         /* of the trace; 0: 16 GiB */
    int stdout_descriptor;       /* where the program's output goes; -1: the caller's */
};

struct recording { int32_t program_status; uint64_t wall_ns; };

/* The trace file alone, with what the options want in it (program, arguments, environment and threads are not looked at): *ret_trace is O_CLOEXEC and the
 * caller's, who starts the program with the library before LD_PRELOAD and the descriptor's number in TRACE_ENVIRONMENT, and seals the file. */
enum pcere_status recording_trace_make(const struct recording_options *options, int *ret_trace, struct pcere_error *error);

/* Run it to its end and seal the trace. While it runs SIGINT and SIGQUIT are ignored here as system(3) does it. Not thread-safe.
 * PCERE_USAGE: the program does not exist or cannot be executed. PCERE_DATA: it is no ELF executable, or one of gcc's OpenMP. PCERE_REFUSED: it is
 * statically linked without the library, or runs privileged: none can be brought in. A program that fails is no failure of this. */
enum pcere_status recording_make(const struct recording_options *options, struct recording *ret_recording, struct pcere_error *error);

/* What the trace's header says of a run that tells nothing; `to_do` ("profile") is for the sentence. PCERE_REFUSED: the library did not come in.
 * PCERE_DATA: gcc's OpenMP runtime. PCERE_NO: no OpenMP runtime was started. */
enum pcere_status recording_judge(const struct trace_header *header, const char *to_do, struct pcere_error *error);

#endif
