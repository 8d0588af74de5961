/* capture-rt/tracer/measure.c - the timing run: the program at plain speed, its invocations read from the log afterwards. */
#include "capture-rt/tracer/measure.h"

#include "capture-rt/tracer/ahead.h"
#include "capture-rt/tracer/undisturbed.h"

#include <unistd.h>

enum pcere_status measure_run(const struct capture_options *options, const int descriptors[3], bool real, struct capture_run *ret_run,
                              struct pcere_error *error)
{
    struct shared_log log;
    struct child child;
    enum pcere_status status = shared_log_open(options, CAPTURE_MODE_TIMING, &log, error);
    if (status != PCERE_OK)
        return status;
    log.log->real = real;
    struct child_setup setup = {.options = options, .log = log.descriptor, .socket = -1,
                                .descriptors = {descriptors[0], descriptors[1], descriptors[2]}};
    status = child_start(&setup, &child, error);
    if (status == PCERE_OK) {
        struct ahead *ahead = ahead_begin(&log);
        while (!child.ended) {
            child_wait(&child, -1, options->progress || options->stop ? CHILD_STOP_MS : -1);
            child_stop(&child, options);
            if (options->progress && !child.ended)
                options->progress(options->progress_context, CAPTURE_PHASE_TIMING, clock_ns() - child.start_ns, 0, 0);
        }
        ahead_end(ahead);
        status = shared_log_read(&log, &child, options, ret_run, error);
        if (status == PCERE_OK)
            undisturbed_fill(ret_run, NULL, NULL);
        child_done(&child);
    }
    shared_log_close(&log);
    return status;
}

enum pcere_status capture_measure(const struct capture_options *options, struct capture_run *ret_run, struct pcere_error *error)
{
    enum pcere_status status = program_check(options, error);
    if (status != PCERE_OK)
        return status;
    child_input_rewind();
    int descriptors[3] = {STDIN_FILENO, options->stdout_descriptor, options->stderr_descriptor};
    return measure_run(options, descriptors, true, ret_run, error);
}
