/* trace/view.h - a run's timeline as people look at it: which spans, under which names, with which arguments, colours and arrows.
 *
 * V. Pinho (UNICAMP 2023), section 4.3. The developer's view has every event under its own name. The user's view renames what the runtime names otherwise, leaves out what is the runtime's own, joins the head's begins
 * and ends, nests data events in the variable that they move, colours tasks by source location, and draws arrows: Communication (a worker's begin to its end), Tasks
 * (dependences), Worker Process k (the head's Execute to the worker's Task), Messages (of MPI). Written as Chrome's JSON, as Perfetto's binary traces, or as a picture (SVG, or an HTML page with one).
 */
#ifndef PCERE_TRACE_VIEW_H
#define PCERE_TRACE_VIEW_H

#include "trace/run.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/types.h>

enum view_kind { VIEW_USER, VIEW_DEVELOPER };
enum view_format { VIEW_CHROME, VIEW_PERFETTO, VIEW_SVG, VIEW_HTML };
enum { VIEW_SVG_WIDTH = 1200 };  /* pixels of a picture's time: what is shorter than half of one is joined */

struct view_options {
    enum view_kind kind;
    enum view_format format;
    int64_t from_ns, to_ns;      /* what touches this; of the run's begin */
    uint64_t least_ns;           /* neighbours of one thread that are shorter are shown as one, with their number; 0: each is shown */
    bool no_arrows;
};

/* A bit for each kind of span that is shown; 0: all. */
uint32_t view_kinds(enum view_kind kind);

struct view_counts { uint64_t slices, arrows, joined; };

struct view_slice {
    uint32_t thread;
    int64_t begin_ns, end_ns;
    const struct span *span;     /* NULL: joined ones */
    const struct span *longest;  /* of those */
    uint64_t joined;
    const char *name;
    uint32_t name_number;        /* the same for each slice of this name, from 1 to view_name_most; 0: a name of its own */
    const uint64_t *leaves, *reaches;       /* arrows that begin and end here, by number from 1 */
    size_t leaves_count, reaches_count;
};

struct view_arrow { uint32_t from, to; uint8_t kind; uint32_t worker; };     /* spans; enum arrow_kind */
enum arrow_kind { ARROW_COMMUNICATION, ARROW_TASKS, ARROW_WORKER, ARROW_MESSAGE };

struct view_sink {               /* a format */
    void *state;
    void (*thread)(void *state, uint32_t thread);                /* its slices follow, in the order of their begins */
    void (*slice)(void *state, const struct view_slice *slice);
    void (*end)(void *state);
};

/* The run must have been loaded with TIMELINE_WORKERS_APART for the user's view. PCERE_SYSTEM: no memory, or `file` did not take it all; `name` says which. */
enum pcere_status view_write(const struct run *run, const struct view_options *options, FILE *file, const char *name, struct view_counts *ret_counts, struct pcere_error *error);

/* ---- between view.c and the formats ------------------------------------------------------------------------------------------- */

/* Several threads write one file: a piece of the first, one of the second, ..., again of the first, so that the file does not depend on which of them is faster. */
enum { VIEW_WRITERS = 2, VIEW_BUFFER_BYTES = 1 << 18, VIEW_PIECE_MOST = 1 << 16 };

struct view_turns {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int descriptor;
    bool seekable;               /* pieces can be written side by side, at the places that are theirs */
    off_t offset;                /* of the next one */
    unsigned count, turn;
    bool over[VIEW_WRITERS];
    int failed_errno;
};

struct view_output { FILE *file; char *buffer; size_t used; bool failed; struct view_turns *turns; unsigned writer; };      /* turns NULL: one thread writes `file` */

void view_flush(struct view_output *output);
void view_turns_init(struct view_turns *turns, FILE *file, unsigned count);      /* what `file` holds back must have been written */
/* What is left, and this writer has no further piece. */
void view_turns_leave(struct view_output *output);
void view_turns_done(struct view_turns *turns, FILE *file);
static inline char *view_room(struct view_output *output)       /* for VIEW_PIECE_MOST bytes */
{
    if (output->used > VIEW_BUFFER_BYTES - VIEW_PIECE_MOST)
        view_flush(output);
    return output->buffer + output->used;
}

struct view;
const struct timeline *view_timeline(const struct view *view);
bool view_is_user(const struct view *view);
enum view_format view_format(const struct view *view);
void view_range(const struct view *view, int64_t *ret_begin_ns, int64_t *ret_end_ns);       /* what is shown, of the timeline's clock */
const struct view_arrow *view_arrow(const struct view *view, uint64_t number);      /* from 1 */
uint64_t view_arrow_count(const struct view *view);
uint32_t view_name_most(const struct view *view);
struct view_sink view_chrome_sink(const struct view *view, struct view_output *output);     /* state NULL: no memory */
struct view_sink view_svg_sink(const struct view *view, struct view_output *output);
struct view_sink view_perfetto_sink(const struct view *view, struct view_output *output);

#endif
