#include "capture-rt/tracer/again.h"

#include "capture-rt/tracer/interruptions.h"
#include "capture-rt/tracer/manifest.h"
#include "capture-rt/tracer/measure.h"
#include "capture-rt/tracer/undisturbed.h"
#include "core/program_signals.h"
#include "core/region_name.h"
#include "core/text.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RESTLESS "what the program's other threads did was not to be told from work whenever it was about to be captured: they might have written beside it"

static bool is_restless(const struct session *session, size_t region)
{
    return region < CAPTURE_REGIONS_MAX && session->restless[region] > 0;
}

/* Another run would not find them calm, either. */
static bool is_given_up(const struct session *session, size_t region)
{
    return region < CAPTURE_REGIONS_MAX && session->restless[region] >= SESSION_RESTLESS_MOST;
}

enum pcere_status again_restless_tell(struct session *session, struct pcere_error *error)
{
    bool enough = true;
    for (size_t i = 0; i < session->manifest.region_count; i++)
        for (size_t j = 0; j < session->manifest.regions[i].class_count && is_restless(session, i); j++) {
            struct store_class *class = &session->manifest.regions[i].classes[j];
            if (class->captured && !class->codelet && !class->reason)
                enough &= (class->reason = strdup(RESTLESS)) != NULL;
        }
    return enough ? PCERE_OK : pcere_fail_memory(error, "the classes");
}

/* ---- times and classes ----------------------------------------------------------------------------------------------------- */

static uint64_t kept_pages(const void *context, size_t region, uint64_t invocation)
{
    const struct kept *kept = kept_find(context, region, invocation);
    return kept ? kept->rewritten_pages : 0;
}

static struct capture_invocation *numbered(struct capture_run *run, size_t index, uint64_t number)
{
    struct capture_region *region = index < run->region_count ? &run->regions[index] : NULL;
    for (size_t i = 0; region && i < region->list_count; i++)
        if (region->list[i].number == number)
            return &region->list[i];
    return NULL;
}

static struct capture_invocation *invocation_of(struct capture_run *run, const struct kept *kept)
{
    return numbered(run, kept->region, kept->invocation);
}

static void waits_mark(const struct session *session, struct capture_run *run)
{
    for (size_t i = 0; i < session->kept_count; i++) {
        const struct kept *kept = &session->kept[i];
        struct capture_invocation *invocation = kept->gathered || kept->large_pages ? invocation_of(run, kept) : NULL;
        if (!invocation || !invocation->stopped)
            continue;
        invocation->waited_ns = kept->gathered ? kept->waited_ns : 0;
        invocation->gathered = kept->gathered;
        invocation->large_pages = kept->large_pages;
    }
    for (size_t i = 0; i < session->held_count; i++) {
        struct capture_invocation *invocation = numbered(run, session->held[i].region, session->held[i].invocation);
        if (invocation)
            invocation->held_ns = session->held[i].ns;
    }
}

void again_times(struct session *session, struct capture_run *run)
{
    run->stopped = true;
    run->fault_ns = session->fault_ns;
    waits_mark(session, run);
    undisturbed_fill(run, kept_pages, session);
}

static void captured_mark(const struct session *session, struct capture_run *run)
{
    for (size_t i = 0; i < session->kept_count; i++) {
        struct capture_invocation *invocation = invocation_of(run, &session->kept[i]);
        if (invocation)
            invocation->captured = true;
    }
}

static size_t wanted_count(const struct store_manifest *manifest)
{
    size_t wanted = 0;
    for (size_t i = 0; i < manifest->region_count; i++)
        for (size_t j = 0; j < manifest->regions[i].class_count; j++)
            wanted += manifest->regions[i].classes[j].captured;
    return wanted;
}

enum pcere_status again_classes(struct session *session, struct pcere_error *error)
{
    const struct capture_options *options = session->options;
    struct capture_result *result = session->result;
    uint64_t image_bias = session->manifest.image_bias;
    bool foreign_allocator = session->manifest.foreign_allocator;
    captured_mark(session, &result->timing);
    undisturbed_uninterrupt(&result->timing);
    store_manifest_done(&session->manifest);
    session->manifest = (struct store_manifest){0};
    enum pcere_status status = manifest_begin(options, &session->places, &result->timing, session->elf, &session->manifest, error);
    if (status != PCERE_OK)
        return status;
    if (image_bias)
        session->manifest.image_bias = image_bias;
    session->manifest.foreign_allocator = foreign_allocator;
    if (options->progress)
        options->progress(options->progress_context, CAPTURE_PHASE_CHOOSING, 0, 0, 0);
    status = manifest_choose(options, &result->timing, &session->manifest, error);
    result->wanted = wanted_count(&session->manifest);
    return status;
}

/* ---- what is open ---------------------------------------------------------------------------------------------------------- */

struct lack {
    size_t missing, region;      /* classes that are wanted and have no captured member; where the first of them is */
    uint64_t regions_ns, missing_ns;
    uint64_t run_ns;             /* what the missing ones take of the run: that of regions inside others is in these, and may be several threads' at once */
    uint64_t chance_ns;          /* of invocations that look stretched, more than the machine stretches any code of the run: another one may tell */
    uint64_t vague_ns;           /* by so much of the run may captured invocations be of another kind than they count as */
    bool worth_codelets, worth_times, by_chance, uncertain, vague;      /* the last three: worth_times, for that */
    bool worth_end;              /* a signal of its own ended the program: another run may come to its end */
};

#define LACK_RATIO 0.02                  /* of the regions' time: less without a codelet is not worth another run (light classes left out), */
#define LACK_NS 1000000u                 /* nor is what one run and the next differ by anyway */
#define SHORT_NS 1000000000u             /* Where another run takes no longer than people notice: */
#define LACK_SHORT_RATIO 0.005           /* of the regions' time, or */
#define LEFT_RATIO 0.01                  /* of it, with light classes and interrupted invocations, */
#define LEFT_NS 20000u                   /* however short the program is */
#define UNCERTAIN_RATIO 0.01             /* of the run: as much of uncertain times is worth another one, too */
#define VAGUE_RATIO 0.06                 /* of the run likewise; what a sound one has: up to 0.04 */
#define RUNS_MOST 6u
#define RUNS_LATER_MOST 3u               /* of a program that takes longer, and only if the second ended before its time, or brought something and not all */
#define IDLE_MOST 2u                     /* runs one after another that brought nothing */
#define RUNS_ALL_NS 2000000000u          /* more than two runs take no longer than this together */

static bool is_much(uint64_t all_ns, uint64_t time_ns, double ratio, uint64_t least_ns)
{
    return time_ns >= least_ns && (double)time_ns >= ratio * (double)all_ns;
}

/* By what it did itself, or its OpenMP runtime, and not from outside. */
static bool has_died(int32_t program_status)
{
    if (!WIFSIGNALED(program_status))
        return false;
    int number = WTERMSIG(program_status);
    return number == SIGABRT || number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL || number == SIGTRAP || number == SIGSYS;
}

#define INTERRUPTED_RATIO 2               /* there are few of them in a short run: by so much they may differ */

/* Of a short program: the time of invocations that look stretched, and are none of another run's business, since that many were to be expected. */
static uint64_t interrupted_ns(const struct session *session, size_t index)
{
    const struct store_region *region = &session->manifest.regions[index];
    const struct capture_run *run = &session->result->timing;
    uint64_t chance_ns = 0;
    for (size_t i = 0; i < region->class_count; i++)
        chance_ns += region->classes[i].by_chance && !region->classes[i].nested ? region->classes[i].time_ns : 0;
    uint64_t expected_ns = chance_ns && run->wall_ns < SHORT_NS ? INTERRUPTED_RATIO * interruptions_expected_ns(&run->regions[index]) : 0;
    return expected_ns < chance_ns ? expected_ns : chance_ns;
}

/* By how much of the run its classes may be another kind's than that of their captured member, whose own time nobody knows: each class as much as that one. */
static uint64_t vague_ns(const struct session *session)
{
    struct capture_run *run = &session->result->timing;
    double sum_ns = 0;
    for (size_t i = 0; i < session->manifest.region_count; i++)
        for (size_t j = 0; j < session->manifest.regions[i].class_count; j++) {
            const struct store_class *class = &session->manifest.regions[i].classes[j];
            const struct kept *kept = class->captured && !class->nested ? kept_find(session, i, class->representative) : NULL;
            const struct capture_invocation *invocation = kept ? invocation_of(run, kept) : NULL;
            if (!invocation || !invocation->vague_ns)
                continue;
            double ratio = (double)invocation->vague_ns / ((double)invocation->time_ns + 1);
            sum_ns += (ratio < 1 ? ratio : 1) * (double)class->time_ns;
        }
    return (uint64_t)sum_ns;
}

static struct lack lack_find(const struct session *session)
{
    const struct capture_run *run = &session->result->timing;
    struct lack lack = {0};
    uint64_t heavy_ns = 0, left_ns = 0, interrupted = 0;
    for (size_t i = 0; i < session->manifest.region_count; i++) {
        interrupted += interrupted_ns(session, i);
        for (size_t j = 0; j < session->manifest.regions[i].class_count; j++) {
            const struct store_class *class = &session->manifest.regions[i].classes[j];
            uint64_t time_ns = class->nested ? 0 : class->time_ns;
            bool is_there = class->captured && kept_find(session, i, class->representative);
            lack.regions_ns += time_ns;
            lack.chance_ns += class->by_chance ? time_ns : 0;
            left_ns += is_there ? 0 : time_ns;
            if (!class->captured || is_there || is_given_up(session, i))
                continue;
            lack.region = lack.missing++ ? lack.region : i;
            lack.missing_ns += class->time_ns;
            lack.run_ns += time_ns;
            heavy_ns += (double)class->time_ns < session->options->light_ratio * (double)run->wall_ns ? 0 : class->time_ns;
        }
    }
    lack.chance_ns -= interrupted;
    left_ns -= interrupted;
    bool is_short = run->wall_ns < SHORT_NS, is_left = is_short && is_much(lack.regions_ns, left_ns, LEFT_RATIO, LEFT_NS);
    bool is_much_of_it = is_much(lack.regions_ns, heavy_ns, LACK_RATIO, LACK_NS) || is_left ||
                         (is_short && is_much(lack.regions_ns, lack.missing_ns, LACK_SHORT_RATIO, LACK_NS));
    lack.by_chance = is_left && 2 * lack.chance_ns >= left_ns;
    lack.worth_codelets = lack.missing && (session->options->every_class || is_much_of_it);
    lack.worth_end = is_short && !run->randomized && has_died(run->program_status);
    lack.vague_ns = vague_ns(session);
    lack.vague = is_much(run->wall_ns, lack.vague_ns, VAGUE_RATIO, LACK_NS);
    lack.uncertain = is_much(run->wall_ns, run->uncertain_ns, UNCERTAIN_RATIO, LACK_NS);
    lack.worth_times = lack.by_chance || lack.uncertain || lack.vague;
    return lack;
}

/* A note, and, if the program `runs_again` for it, a reason. */
static enum pcere_status reason_tell(struct capture_result *result, char *sentence, bool runs_again, struct pcere_error *error)
{
    struct text reasons = {0};
    enum pcere_status status = sentence ? capture_note(result, sentence, error) : pcere_fail_memory(error, "the notes");
    if (status == PCERE_OK && runs_again) {
        text_addf(&reasons, "%s%s%s", result->second_reason ? result->second_reason : "", result->second_reason ? "; " : "", sentence);
        free(result->second_reason);
        result->second_reason = text_take(&reasons);
    }
    free(sentence);
    return status == PCERE_OK && runs_again && !result->second_reason ? pcere_fail_memory(error, "the notes") : status;
}

#define AGAIN_ASKED ", and --one-run was asked for"
#define AGAIN_RANKED ", and of the processes that mpirun starts together one cannot be run again by itself"
#define AGAIN_INTERRUPTED ", and it was interrupted"
#define AGAIN_GONE ", and its file is not there any more"
#define AGAIN_IMPOSSIBLE ", and its input cannot be had again: give it as a file"

/* Why a program cannot run again; NULL: it can. */
static const char *obstacle_of(const struct capture_options *options, const struct again_input *input)
{
    if (faccessat(AT_FDCWD, options->program, X_OK, 0) != 0)
        return AGAIN_GONE;
    if (program_signals_came())
        return AGAIN_INTERRUPTED;
    return options->among_ranks ? AGAIN_RANKED : options->one_run ? AGAIN_ASKED : input->once ? AGAIN_IMPOSSIBLE : NULL;
}

static double percent_of(uint64_t part_ns, uint64_t all_ns)
{
    return 100 * (double)part_ns / (double)(all_ns ? all_ns : 1);
}

/* Why one run was not enough; `obstacle`: NULL, or why it does not run again. */
static enum pcere_status lack_tell(struct session *session, const struct lack *lack, const char *obstacle, struct pcere_error *error)
{
    struct capture_result *result = session->result;
    const struct capture_run *run = &result->timing;
    struct text text = {0};
    if (lack->worth_end)
        text_addf(&text, "the program was killed by signal %d (%s), which another run may not be", WTERMSIG(run->program_status), strsignal(WTERMSIG(run->program_status)));
    if (lack->worth_codelets) {
        double percent = percent_of(lack->run_ns, run->wall_ns);
        char part[64] = "inside others", name[REGION_NAME_BYTES];
        if (lack->run_ns)
            snprintf(part, sizeof part, "%.*g %% of the run", percent < 99.5 ? 2 : 4, percent);
        text_addf(&text, "%s%zu class%s of invocations (%s, the first in %s) had no captured member when the program ended: how long an "
                  "invocation takes was not to be foretold there, or stops cost too much", text.length ? "; " : "", lack->missing, lack->missing == 1 ? "" : "es",
                  part, region_name_shorten(session->manifest.regions[lack->region].name, name));
    }
    if (lack->uncertain)
        text_addf(&text, "%sstops may have changed times by %.2g %% of the run", text.length ? "; " : "", percent_of(run->uncertain_ns, run->wall_ns));
    if (lack->vague)
        text_addf(&text, "%scaptured invocations may take longer or shorter than they count, by %.2g %% of the run: others with their arguments and call path do not agree",
                  text.length ? "; " : "", percent_of(lack->vague_ns, run->wall_ns));
    if (lack->by_chance && !lack->uncertain && !lack->vague)
        text_addf(&text, "%sinvocations that take %.2g %% of the regions' time seem to have been interrupted", text.length ? "; " : "",
                  percent_of(lack->chance_ns, lack->regions_ns));
    text_add(&text, obstacle ? obstacle : result->runs > 1 ? "; it runs once more for that" : "; it runs a second time for that");
    return reason_tell(result, text_take(&text), !obstacle, error);
}

/* What no run has, or what is not worth another one. */
static enum pcere_status missing_forgo(struct session *session, const char *reason, struct pcere_error *error)
{
    for (size_t i = 0; i < session->manifest.region_count; i++)
        for (size_t j = 0; j < session->manifest.regions[i].class_count; j++) {
            struct store_class *class = &session->manifest.regions[i].classes[j];
            if (!class->captured || kept_find(session, i, class->representative))
                continue;
            class->captured = false;
            free(class->reason);
            if (!(class->reason = strdup(is_restless(session, i) ? RESTLESS : reason)))
                return pcere_fail_memory(error, "the classes");
        }
    session->result->wanted = wanted_count(&session->manifest);
    return PCERE_OK;
}

/* ---- further runs ---------------------------------------------------------------------------------------------------------- */

/* Codelets of all runs go into one store: the program must lie where it lay. */
static void scattered_forget(struct session *session)
{
    if (session->result->timing.randomized)
        kept_done(session);
}

/* All runs so far were killed, and this one came to its end: their invocations are the first ones of the program, which is this run. */
static enum pcere_status end_take(struct session *session, struct capture_run *again, struct pcere_error *error)
{
    struct capture_result *result = session->result;
    struct capture_run part = result->timing;
    struct text text = {0};
    text_addf(&text, "the program was killed by signal %d (%s) in its first run, and came to its end in run %u, whose times these are",
              WTERMSIG(part.program_status), strsignal(WTERMSIG(part.program_status)), result->runs);
    char *sentence = text_take(&text);
    enum pcere_status status = sentence ? capture_note(result, sentence, error) : pcere_fail_memory(error, "the notes");
    free(sentence);
    result->timing = *again;
    *again = part;
    return status == PCERE_OK ? again_classes(session, error) : status;
}

/* Times that stops or the machine disturbed in one run and not in the other are those of the other, and classes are made anew of them. */
static enum pcere_status runs_join(struct session *session, struct capture_run *again, struct pcere_error *error)
{
    struct capture_result *result = session->result;
    if (session->trouble.status != PCERE_OK || session->connection_lost)
        return PCERE_OK;
    if (has_died(result->timing.program_status) && !WIFSIGNALED(again->program_status))
        return end_take(session, again, error);
    if (again->program_status != result->timing.program_status)
        return PCERE_OK;
    undisturbed_take(&result->timing, again);
    return again_classes(session, error);
}

/* Stopped where the plan says so, or, if nothing is missing, not at all. */
static enum pcere_status run_again(struct session *session, int input, bool codelets, int32_t *ret_ended, struct pcere_error *error)
{
    const int quiet[3] = {input >= 0 ? input : STDIN_FILENO, -1, -1};
    struct capture_run again = {0};
    session_log_await(session);
    if (codelets)
        scattered_forget(session);
    session->result->runs++;
    session->second = true;
    enum pcere_status status = codelets ? session_run(session, false, quiet, &again, error) : measure_run(session->options, quiet, false, &again, error);
    if (status == PCERE_OK && !codelets)
        session->result->runs_wall_ns += again.wall_ns;
    if (status == PCERE_OK && codelets)
        again_times(session, &again);
    *ret_ended = again.program_status;
    if (status == PCERE_OK)
        status = runs_join(session, &again, error);
    capture_run_done(&again);
    return status;
}

static enum pcere_status run_with_input(struct session *session, const struct again_input *input, bool codelets, int32_t *ret_ended, struct pcere_error *error)
{
    if (session->result->runs == 1)
        return run_again(session, input->second, codelets, ret_ended, error);
    int once_more = child_input_again(input->source, input->start);
    enum pcere_status status = run_again(session, once_more, codelets, ret_ended, error);
    if (once_more >= 0)
        close(once_more);
    return status;
}

/* ---- libraries that are needed late ---------------------------------------------------------------------------------------- */

#define LIBRARY_RUNS_MOST 2u             /* each finds what the one before could not: a library that another one leads into */

/* What a run captured, and by which libraries. */
struct captured { struct libraries libraries; struct kept *kept; size_t count, capacity; char *names; };

static struct captured captured_move(struct session *session)
{
    struct captured captured = {session->libraries, session->kept, session->kept_count, session->kept_capacity, session->library_names};
    session->libraries = (struct libraries){.program = session->elf};
    session->kept = NULL;
    session->kept_count = session->kept_capacity = 0;
    session->library_names = NULL;
    return captured;
}

static void captured_forget(struct session *session)
{
    kept_done(session);
    libraries_done(&session->libraries);
    free(session->library_names);
}

static void captured_return(struct session *session, const struct captured *captured)
{
    session->libraries = captured->libraries;
    session->kept = captured->kept;
    session->kept_count = captured->count;
    session->kept_capacity = captured->capacity;
    session->library_names = captured->names;
}

/* False: it captured nothing, or went otherwise, and nothing is changed by it. */
static bool libraries_run(struct session *session, const struct again_input *input, char *names)
{
    struct capture_result *result = session->result;
    struct capture_run again = {0};
    struct pcere_error ignored = {0};
    struct captured before = captured_move(session);
    session->library_names = names;
    session->libraries.names = names;
    externals_done(&session->externals);     /* a library that is captured has no functions there */
    session_log_await(session);
    int descriptor = result->runs == 1 ? input->second : child_input_again(input->source, input->start);
    const int quiet[3] = {descriptor >= 0 ? descriptor : STDIN_FILENO, -1, -1};
    result->runs++;
    enum pcere_status status = session_run(session, true, quiet, &again, &ignored);
    if (descriptor >= 0 && descriptor != input->second)
        close(descriptor);
    bool good = status == PCERE_OK && session->trouble.status == PCERE_OK && !session->connection_lost && session->kept_count &&
                again.program_status == result->timing.program_status;
    if (good) {
        struct captured now = captured_move(session);
        captured_return(session, &before);
        captured_forget(session);
        captured_return(session, &now);
        capture_run_done(&result->timing);
        result->timing = again;
    } else {
        captured_forget(session);
        captured_return(session, &before);
        capture_run_done(&again);
        session->trouble = (struct pcere_error){0};
        session->connection_lost = false;
    }
    store_writer_flush(session->writer);
    return good;
}

enum pcere_status again_libraries(struct session *session, const struct again_input *input, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    struct capture_result *result = session->result;
    bool possible = !obstacle_of(session->options, input) && session->trouble.status == PCERE_OK && !session->connection_lost && !WIFSIGNALED(result->timing.program_status);
    while (status == PCERE_OK && possible && result->runs <= LIBRARY_RUNS_MOST) {
        char *names = libraries_late_names(&session->libraries);
        if (!names)
            break;
        status = reason_tell(result, libraries_tell_late(&session->libraries, true), true, error);
        if (status == PCERE_OK)
            possible = libraries_run(session, input, names);
        else
            free(names);
    }
    return status;
}

/* ---- what is missing ------------------------------------------------------------------------------------------------------- */

static bool is_broken(const struct session *session, const struct lack *lack)
{
    return session->trouble.status != PCERE_OK || session->connection_lost || (WIFSIGNALED(session->result->timing.program_status) && !lack->worth_end);
}

/* What grows or shrinks where a run brought something. */
struct progress { size_t kept; unsigned restless; uint64_t chance_ns; };

static struct progress progress_of(const struct session *session, const struct lack *lack)
{
    struct progress progress = {.kept = session->kept_count, .chance_ns = lack->chance_ns};
    for (size_t i = 0; i < session->manifest.region_count && i < CAPTURE_REGIONS_MAX; i++)
        progress.restless += session->restless[i];
    return progress;
}

static bool is_idle(const struct progress *before, const struct progress *now)
{
    return now->kept == before->kept && now->restless == before->restless && now->chance_ns >= before->chance_ns;
}

/* A third run, and those after it: where runs bring something, or the last one came to an end of its own. */
static bool is_worth_more(const struct session *session, const struct lack *lack, unsigned idle, bool differs)
{
    const struct capture_result *result = session->result;
    bool is_short = result->timing.wall_ns < SHORT_NS && result->runs_wall_ns + result->timing.wall_ns < RUNS_ALL_NS;
    unsigned most = is_short && idle < IDLE_MOST ? RUNS_MOST : differs || !idle ? RUNS_LATER_MOST : 2;
    return (lack->worth_codelets || lack->by_chance) && result->runs < most && !result->timing.randomized && !is_broken(session, lack);
}

static enum pcere_status more_tell(struct session *session, unsigned differed, struct pcere_error *error)
{
    struct capture_result *result = session->result;
    struct text text = {0};
    text_addf(&text, "it ran %u times, since that was not all had after the second", result->runs);
    if (differed)
        text_addf(&text, "; %u of the runs ended differently from the first", differed);
    char *sentence = text_take(&text);
    enum pcere_status status = sentence ? capture_note(result, sentence, error) : pcere_fail_memory(error, "the notes");
    free(sentence);
    return status;
}

enum pcere_status again_mend(struct session *session, const struct again_input *input, struct pcere_error *error)
{
    struct lack lack = lack_find(session);
    if (is_broken(session, &lack))
        return PCERE_OK;
    const char *obstacle = obstacle_of(session->options, input);
    bool again = lack.worth_codelets || lack.worth_times || lack.worth_end;
    unsigned differed = 0, idle = 0;
    enum pcere_status status = again ? lack_tell(session, &lack, obstacle, error) : PCERE_OK;
    again &= !obstacle;
    while (status == PCERE_OK && again) {
        struct progress before = progress_of(session, &lack);
        bool stopped = lack.worth_codelets;
        int32_t ended = session->result->timing.program_status;
        status = run_with_input(session, input, stopped, &ended, error);
        bool differs = ended != session->result->timing.program_status;
        differed += differs;
        lack = lack_find(session);
        struct progress now = progress_of(session, &lack);
        idle = differs || !is_idle(&before, &now) ? 0 : idle + 1;
        again = status == PCERE_OK && !child_was_interrupted(ended) && is_worth_more(session, &lack, idle, differs);
    }
    if (status == PCERE_OK && session->result->runs > 2)
        status = more_tell(session, differed, error);
    if (status == PCERE_OK && !lack.worth_codelets)
        status = missing_forgo(session, "none of its members was captured, and it weighs too little for another run: in-vivo time is kept", error);
    return status;
}
