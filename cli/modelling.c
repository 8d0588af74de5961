/* cli/modelling.c - see modelling.h. */
#include "cli/modelling.h"

#include "cli/architectures.h"
#include "cli/looking.h"
#include "cli/pipeline.h"
#include "cli/replay_options.h"
#include "core/host.h"
#include "core/json.h"
#include "core/units.h"
#include "predictor/statistics.h"
#include "replay-rt/launcher/character.h"
#include "store/character.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- which machine ------------------------------------------------------------------------------------------------------- */

enum pcere_status modelling_signature(const char *arch, struct platform_signature *ret_signature, bool *ret_is_here, struct pcere_error *error)
{
    char *own, *path;
    enum pcere_status status = host_name(&own, error);
    if (status)
        return status;
    bool here = !arch || strcmp(arch, "host") == 0 || strcmp(arch, own) == 0;
    status = architecture_read(here ? own : arch, ret_signature, &path, error);
    if (!status) {
        *ret_is_here = here || strcmp(ret_signature->name, own) == 0;
        free(path);
    } else if (here && status == PCERE_USAGE)
        status = pcere_fail(error, PCERE_DATA, 0, "run 'pcere platform discover' once, which takes two minutes (--quick: ten seconds)",
                            "there is no signature of this machine, '%s'", own);
    free(own);
    return status;
}

/* ---- what the codelets do ------------------------------------------------------------------------------------------------ */

struct subject { struct modelled_class *class; struct store_character character; size_t first_code; };

/* One codelet after another, so that one that cannot be replayed does not stop the others. */
static enum pcere_status characters_find(struct cli *cli, const struct modelling_words *words, const struct replay_setup *setup, struct modelling *modelling,
                                         struct subject *subjects, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < setup->target_count && !status; i++)
        for (size_t k = 0; k < words->thread_count && !status; k++) {
            const struct replay_target *target = &setup->targets[i];
            struct modelled_class *class = &modelling->classes[modelling->class_count];
            struct subject *subject = &subjects[modelling->class_count++];
            struct replay_options options = setup->options;
            struct pcere_error failure = {0};
            size_t added;
            options.threads = &words->threads[k];
            options.thread_count = 1;
            *class = (struct modelled_class){.region = target->region->name, .representative = target->class->representative, .threads = words->threads[k]};
            subject->class = class;
            enum pcere_status found = character_run(cli->store, target, 1, &options, &added, &failure);
            if (!found)
                found = store_character_load(cli->store, target->class->codelet, words->threads[k], &subject->character, &failure);
            class->known = !found;
            if (found == PCERE_DATA || found == PCERE_SYSTEM || found == PCERE_REFUSED) {
                *error = failure;
                status = found;
            } else if (found)
                class->reason = strdup(failure.message);
        }
    cli_progress(cli, NULL);
    return status;
}

/* ---- times --------------------------------------------------------------------------------------------------------------- */

static struct model_core core_of(const struct pipeline *pipeline, const struct subject *subject)
{
    return (struct model_core){pipeline->references, pipeline->estimates ? pipeline->estimates + subject->first_code : NULL};
}

static enum pcere_status codes_gather(struct subject *subjects, size_t count, const char ***ret_codes, size_t *ret_count, struct pcere_error *error)
{
    size_t total = 0, at = 0;
    for (size_t i = 0; i < count; i++)
        total += subjects[i].character.code_count;
    const char **codes = calloc(total + 1, sizeof *codes);
    if (!codes)
        return pcere_fail_memory(error, "assembly");
    for (size_t i = 0; i < count; i++) {
        subjects[i].first_code = at;
        for (size_t k = 0; k < subjects[i].character.code_count; k++)
            codes[at++] = subjects[i].character.codes[k].text;
    }
    *ret_codes = codes;
    *ret_count = total;
    return PCERE_OK;
}

static const char *processor_of(const struct platform_signature *signature, bool here) { return here ? "native" : signature->llvm_cpu; }

/* Median of what was replayed here with so many threads, or with the next number below, or above. */
static void replay_find(const struct modelling_words *words, const char *host, struct modelled_class *class)
{
    uint32_t best = 0;
    double *values = calloc(words->sample_count + 1, sizeof *values);
    size_t count = 0;
    for (int round = 0; round < 2 && values; round++)
        for (size_t i = 0; i < words->sample_count; i++) {
            const struct store_sample *sample = &words->samples[i];
            if (strcmp(sample->kind, "replay") != 0 || strcmp(sample->host_name, host) != 0 || !sample->region || strcmp(sample->region, class->region) != 0 ||
                sample->representative != class->representative || strcmp(sample->flags ? sample->flags : "", words->flags ? words->flags : "") != 0 ||
                strcmp(sample->settings ? sample->settings : "", words->settings ? words->settings : "") != 0 || !sample->sample_count)
                continue;
            bool nearer = sample->threads <= class->threads ? sample->threads > best || best > class->threads : !best || (best > class->threads && sample->threads < best);
            if (!round && nearer)
                best = sample->threads;
            if (round && sample->threads == best) {
                double median;
                double *own = calloc(sample->sample_count, sizeof *own);
                for (size_t k = 0; own && k < sample->sample_count; k++)
                    own[k] = (double)sample->samples_ns[k];
                if (own) {
                    statistics_sort(own, sample->sample_count);
                    median = statistics_median(own, sample->sample_count);
                    values[count++] = median;
                }
                free(own);
            }
        }
    if (count) {
        statistics_sort(values, count);
        class->replayed_ns = statistics_median(values, count);
        class->replayed_threads = best;
    }
    free(values);
}

static const struct subject *subject_with(const struct subject *subjects, size_t count, const struct subject *like, uint32_t threads)
{
    for (size_t i = 0; i < count; i++)
        if (subjects[i].class->known && subjects[i].class->threads == threads && subjects[i].class->region == like->class->region &&
            subjects[i].class->representative == like->class->representative)
            return &subjects[i];
    return NULL;
}

static void classes_calibrate(struct modelling *modelling, const struct modelling_words *words, const char *host, const struct subject *subjects)
{
    double there_ns = 0, here_ns = 0;
    for (size_t i = 0; i < modelling->class_count; i++) {
        struct modelled_class *class = &modelling->classes[i];
        class->predicted_ns = class->time.time_ns;
        if (!class->known || !modelling->has_own)
            continue;
        there_ns += class->time.parts.core_ns;
        here_ns += class->here.parts.core_ns;
        replay_find(words, host, class);
        const struct subject *replayed = subject_with(subjects, modelling->class_count, &subjects[i], class->replayed_threads);
        if (!(class->replayed_ns > 0) || !replayed || !(replayed->class->here.time_ns.value > 0)) {
            class->replayed_ns = 0;
            continue;
        }
        double ratio = class->replayed_ns / replayed->class->here.time_ns.value;
        class->predicted_ns.value *= ratio;
        class->predicted_ns.low *= ratio;
        class->predicted_ns.high *= ratio;
        modelling->calibrated++;
    }
    modelling->kept_ratio = here_ns > 0 ? there_ns / here_ns : 1;
}

static enum pcere_status times_find(struct modelling *modelling, const struct modelling_words *words, struct subject *subjects, struct pcere_error *error)
{
    const char **codes = NULL;
    size_t code_count = 0;
    struct pipeline there = {0}, here = {0};
    char *host = NULL;
    enum pcere_status status = codes_gather(subjects, modelling->class_count, &codes, &code_count, error);
    if (!status)
        status = host_name(&host, error);
    if (!status)
        status = pipeline_run(processor_of(&modelling->signature, modelling->is_here), modelling->signature.isa, codes, code_count, &there, error);
    if (!status && modelling->has_own)
        status = pipeline_run(processor_of(&modelling->own, true), modelling->own.isa, codes, code_count, &here, error);
    modelling->has_pipeline = there.estimates != NULL;
    modelling->pipeline_reason = there.reason;
    for (size_t i = 0; i < modelling->class_count && !status; i++) {
        struct modelled_class *class = subjects[i].class;
        struct model_core core_there = core_of(&there, &subjects[i]), core_here = core_of(&here, &subjects[i]);
        if (!class->known)
            continue;
        model_codelet(&modelling->signature, &subjects[i].character, there.estimates ? &core_there : NULL, &class->time);
        if (modelling->has_own)
            model_codelet(&modelling->own, &subjects[i].character, here.estimates ? &core_here : NULL, &class->here);
    }
    if (!status)
        classes_calibrate(modelling, words, host, subjects);
    there.reason = NULL;
    pipeline_done(&there);
    pipeline_done(&here);
    free(codes);
    free(host);
    return status;
}

enum pcere_status modelling_make(struct cli *cli, const struct modelling_words *words, struct modelling *modelling, struct pcere_error *error)
{
    struct replay_setup setup = {0};
    struct subject *subjects = NULL;
    const struct cli_threads none = {0};
    enum pcere_status status = modelling_signature(words->arch, &modelling->signature, &modelling->is_here, error);
    if (status)
        return status;
    bool own_here;
    modelling->has_own = !modelling->is_here && modelling_signature(NULL, &modelling->own, &own_here, NULL) == PCERE_OK;
    status = replay_setup_init(cli, &none, &setup, error);
    if (!status)
        status = looking_before(cli, cli->store, words->threads, words->thread_count, error);
    size_t room = setup.target_count * words->thread_count;
    if (!status) {
        modelling->classes = calloc(room + 1, sizeof *modelling->classes);
        subjects = calloc(room + 1, sizeof *subjects);
        status = modelling->classes && subjects ? characters_find(cli, words, &setup, modelling, subjects, error) : pcere_fail_memory(error, "a model");
    }
    if (!status)
        status = times_find(modelling, words, subjects, error);
    for (size_t i = 0; subjects && i < modelling->class_count; i++)
        store_character_done(&subjects[i].character);
    free(subjects);
    replay_setup_done(&setup);
    return status;
}

void modelling_done(struct modelling *modelling)
{
    for (size_t i = 0; i < modelling->class_count; i++)
        free(modelling->classes[i].reason);
    free(modelling->classes);
    free(modelling->pipeline_reason);
    signature_done(&modelling->signature);
    signature_done(&modelling->own);
    *modelling = (struct modelling){0};
}

/* ---- what is asked of it ------------------------------------------------------------------------------------------------- */

const struct modelled_class *modelling_find(const struct modelling *modelling, const char *region, uint64_t representative, uint32_t threads)
{
    for (size_t i = 0; i < modelling->class_count; i++) {
        const struct modelled_class *class = &modelling->classes[i];
        if (class->representative == representative && class->threads == threads && strcmp(class->region, region) == 0)
            return class;
    }
    return NULL;
}

bool modelling_estimate(void *context, const char *region, uint64_t representative, uint32_t threads, struct predict_estimate *ret_estimate)
{
    const struct modelled_class *class = modelling_find(context, region, representative, threads);
    if (!class || !class->known)
        return false;
    *ret_estimate = (struct predict_estimate){class->predicted_ns.value, class->predicted_ns.low, class->predicted_ns.high};
    return true;
}

json_t *modelling_class_value(const struct modelled_class *class, bool *failed)
{
    const struct model_parts *parts = &class->time.parts;
    const struct { const char *name; double value; } numbers[] = {
        {"model_ns", class->time.time_ns.value}, {"model_low_ns", class->time.time_ns.low}, {"model_high_ns", class->time.time_ns.high},
        {"core_ns", parts->core_ns}, {"branch_ns", parts->branch_ns}, {"call_ns", parts->call_ns},
        {"transfer_ns", parts->transfer_ns}, {"latency_ns", parts->latency_ns}, {"overhead_ns", parts->overhead_ns}, {"page_ns", parts->page_ns},
        {"flops", class->time.flops}, {"instructions", class->time.instructions},
    };
    json_t *value = json_object(), *lines = json_array();
    json_put(value, "reason", class->reason ? json_from_string(class->reason) : json_null(), failed);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_put(value, numbers[i].name, class->known ? json_from_double(numbers[i].value) : json_null(), failed);
    for (size_t i = 0; i < MODEL_LEVELS_MOST; i++)
        *failed |= json_array_append_new(lines, json_from_double(class->time.level_lines[i])) != 0;
    json_put(value, "level_lines", lines, failed);
    json_put(value, "replayed_ns", class->replayed_ns > 0 ? json_from_double(class->replayed_ns) : json_null(), failed);
    json_put(value, "replayed_threads", class->replayed_ns > 0 ? json_from_u64(class->replayed_threads) : json_null(), failed);
    return value;
}

static const char *time_text(char text[static UNITS_TEXT_BYTES], double time_ns)
{
    return time_ns >= 0.5 ? units_format_ns((uint64_t)(time_ns + 0.5), text) : "-";
}

void modelling_print(const struct modelling *modelling)
{
    static const char *const headings[] = {"one run of", ">threads", ">core", ">branches", ">calls", ">transfer", ">latency", ">OpenMP", ">new pages", ">together", ""};
    struct cli_table *table = cli_table_new(sizeof headings / sizeof *headings, headings);
    for (size_t i = 0; table && i < modelling->class_count; i++) {
        const struct modelled_class *class = &modelling->classes[i];
        const struct model_parts *parts = &class->time.parts;
        char name[160], threads[24], text[8][UNITS_TEXT_BYTES], replayed[UNITS_TEXT_BYTES], note[96] = "";
        snprintf(name, sizeof name, "%.120s #%llu", class->region, (unsigned long long)class->representative);
        snprintf(threads, sizeof threads, "%u", class->threads);
        if (class->replayed_ns > 0)
            snprintf(note, sizeof note, "replayed here with %u: %s", class->replayed_threads, time_text(replayed, class->replayed_ns));
        const char *cells[] = {name, threads, time_text(text[0], parts->core_ns), time_text(text[1], parts->branch_ns), time_text(text[2], parts->call_ns),
                               time_text(text[3], parts->transfer_ns), time_text(text[4], parts->latency_ns), time_text(text[5], parts->overhead_ns),
                               time_text(text[6], parts->page_ns), time_text(text[7], class->time.time_ns.value), class->known ? note : class->reason};
        cli_table_row(table, cells);
    }
    cli_table_print(table, stdout);
    cli_table_free(table);
}
