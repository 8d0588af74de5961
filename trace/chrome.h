/* trace/chrome.h - a stream of events from a file in Chrome's trace format, at the speed of memory.
 *
 * JSON of one shape: an array of flat objects, alone or as "traceEvents" of an object. Each object is looked at once, in a window of the file that moves, so that
 * memory does not grow with the file. What an event is not asked for is stepped over, yet must be JSON.
 */
#ifndef PCERE_TRACE_CHROME_H
#define PCERE_TRACE_CHROME_H

#include "trace/timeline.h"

struct chrome_text { const char *data; uint32_t length; };      /* as in the file, with its escapes; length 0: not there */

#define CHROME_NONE INT64_MIN

struct chrome_event {            /* points into the window: good until the next call */
    struct chrome_text text;     /* the object, from { to } */
    struct chrome_text name, category, id, ts, pid;     /* ts and pid as they are written */
    struct chrome_text place, variable, thread_name;    /* args: source_location; variable; name (of metadata) */
    int64_t ts_ns, dur_ns, pid_number, tid_number;      /* CHROME_NONE: not there */
    int64_t task, tag, origin, destination;             /* args: task_id, mpi_tag, origin, destination; CHROME_NONE */
    char phase;                  /* 0: none */
    bool continued;              /* args: continued, which our own export has: a later piece of the task */
};

struct chrome_reader {
    const char *path;
    int file;
    char *window;
    size_t window_bytes, filled, at;
    uint64_t offset, file_bytes; /* of the window's begin in the file */
    uint64_t events;
    uint64_t until;              /* an event that begins there, or behind it, is not read; 0: to the end */
    uint64_t next;               /* where the first event that was not read begins, if `until` ended this */
    bool in_object, ended, done, cut;       /* cut: the file ended amid its events */
};

/* PCERE_USAGE: there is no such file. PCERE_DATA: it is no JSON array, nor an object with "traceEvents". PCERE_SYSTEM. `path` is borrowed. */
enum pcere_status chrome_open(const char *path, struct chrome_reader *ret_reader, struct pcere_error *error);
/* The same from the event that begins at `first`. `whole` is a reader of the same file, opened at its begin. */
enum pcere_status chrome_open_at(const struct chrome_reader *whole, uint64_t first, struct chrome_reader *ret_reader, struct pcere_error *error);
/* Where behind `from` an event seems to begin; 0: nowhere in the next MiB. Only reading everything before tells whether it is one. */
uint64_t chrome_event_guess(const struct chrome_reader *whole, uint64_t from);
/* The next event; *ret_more false: there is none, and `cut` says whether the file lacks its end. PCERE_DATA: no JSON from here on; events before are whole. */
enum pcere_status chrome_next(struct chrome_reader *reader, struct chrome_event *event, bool *ret_more, struct pcere_error *error);
void chrome_close(struct chrome_reader *reader);        /* accepts zeroed */

/* Add a file's events to a model: what is whole is in it, with timeline->cut where the file lacks its end or is damaged further on. Processes are named after `path` where they have no names. May be called for several files. A large file is read in parts of at least `part_bytes` by several threads (0: as is best), with the same result. PCERE_USAGE, PCERE_SYSTEM; PCERE_DATA: not one event. */
enum pcere_status chrome_read(const char *path, uint64_t part_bytes, struct timeline *timeline, struct pcere_error *error);

/* ns from a number in µs as JSON has it; false: it is none, or above 2^62. */
bool chrome_microseconds(const char *text, size_t length, int64_t *ret_ns);

#endif
