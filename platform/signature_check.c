/* platform/signature_check.c - what no machine can be, field by field.
 *
 * What compares two measured values leaves room for noise: a disturbed machine is not absurd.
 */
#include "platform/signature.h"

#include "core/host.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CROSSING_MOST 1.25            /* what is farther may look better than what is nearer by this much */
#define NOISE_MOST 4.0                /* other values that belong together may look wrong by this much */
#define HZ_LEAST 1e6
#define HZ_MOST 1e11
#define RATE_MOST 64.0                /* instructions that a core begins in a cycle */
#define WINDOW_MOST 1e5
#define REFILL_MOST 1e3               /* cycles */
#define EFFECTIVE_MOST 4.0            /* of what a cache holds */
#define OVERHEAD_LEAST_NS -1e6        /* differences of measured times may fall below zero, but not so far */
enum { THREADS_IN_ALL_MOST = 1 << 20, LINE_BYTES_LEAST = 8, LINE_BYTES_MOST = 65536, PAGE_BYTES_LEAST = 512, BITS_LEAST = 8, BITS_MOST = 65536 };

struct check { const char *where; struct pcere_error *error; enum pcere_status status; };

static __attribute__((format(printf, 3, 4))) void breach(struct check *check, const char *what, const char *field, ...)
{
    char name[160];
    va_list words;
    if (check->status)
        return;
    va_start(words, field);
    vsnprintf(name, sizeof name, field, words);
    va_end(words);
    check->status = pcere_fail(check->error, PCERE_DATA, 0, "docs/format/platform.md says what a signature holds", "%s: %s %s", check->where, name, what);
}

static bool interval_sound(const struct quantity *quantity) { return !(quantity->low > quantity->value) && !(quantity->high < quantity->value); }

static bool power_of_two(uint64_t value) { return value && !(value & (value - 1)); }

static void positive_check(struct check *check, const struct quantity *quantity, const char *field)
{
    if (!quantity_known(quantity))
        return;
    if (!(quantity->value > 0) || !isfinite(quantity->value))
        breach(check, "is not above zero", "%s", field);
    else if (!interval_sound(quantity))
        breach(check, "lies outside of its interval", "%s", field);
    else if (quantity->low < 0)
        breach(check, "has an interval that begins below zero", "%s", field);
}

static void share_check(struct check *check, const struct quantity *quantity, const char *field)
{
    if (quantity_known(quantity) && (!(quantity->value > 0) || quantity->value > 1))
        breach(check, "is no share between 0 and 1", "%s", field);
    else if (quantity_known(quantity) && !interval_sound(quantity))
        breach(check, "lies outside of its interval", "%s", field);
}

/* ---- memory -------------------------------------------------------------------------------------------------------------- */

struct passing { const char *key; size_t offset; double crossing_most; };
static const struct passing passings[] = {       /* caches that write later are as fast as the nearest one in writing */
    {"read_bytes_per_s", offsetof(struct platform_bandwidth, read), CROSSING_MOST}, {"write_bytes_per_s", offsetof(struct platform_bandwidth, write), NOISE_MOST},
    {"triad_bytes_per_s", offsetof(struct platform_bandwidth, triad), NOISE_MOST},
};

static const struct quantity *passed(const struct platform_bandwidth *bandwidth, const struct passing *passing)
{
    return (const struct quantity *)(const void *)((const char *)bandwidth + passing->offset);
}

static void bandwidths_check(struct check *check, const struct platform_signature *signature, size_t at)
{
    const struct platform_level *level = &signature->levels[at], *nearer = at ? &signature->levels[at - 1] : NULL;
    for (size_t b = 0; b < level->bandwidth_count; b++) {
        const struct platform_bandwidth *bandwidth = &level->bandwidths[b], *first = &level->bandwidths[0];
        const struct platform_bandwidth *near = nearer ? level_bandwidth(nearer, bandwidth->threads) : NULL;
        if (!bandwidth->threads || (b && bandwidth->threads <= bandwidth[-1].threads))
            breach(check, "is not above that of the one before, or zero", "levels[%zu].bandwidths[%zu].threads", at, b);
        if (bandwidth->threads > signature_threads(signature))
            breach(check, "is more than the machine has", "levels[%zu].bandwidths[%zu].threads", at, b);
        char place[96];
        snprintf(place, sizeof place, "levels[%zu].bandwidths[%zu].latency_ns", at, b);
        positive_check(check, &bandwidth->latency_ns, place);
        if (bandwidth->latency_ns.value * NOISE_MOST < level->latency_ns.value)
            breach(check, "is far below that of one thread", "%s", place);
        for (size_t k = 0; k < sizeof passings / sizeof *passings; k++) {
            const struct quantity *value = passed(bandwidth, &passings[k]);
            char field[96];
            snprintf(field, sizeof field, "levels[%zu].bandwidths[%zu].%s", at, b, passings[k].key);
            positive_check(check, value, field);
            if (near && near->threads == bandwidth->threads && value->value > passed(near, &passings[k])->value * passings[k].crossing_most)
                breach(check, "is more than that of a nearer level", "%s", field);
            if (value->value * first->threads > NOISE_MOST * bandwidth->threads * passed(first, &passings[k])->value)
                breach(check, "is far more than in proportion to that of fewer threads", "%s", field);
        }
    }
}

static void level_check(struct check *check, const struct platform_signature *signature, size_t at)
{
    const struct platform_level *level = &signature->levels[at], *nearer = at ? &signature->levels[at - 1] : NULL;
    const struct { const char *key; const struct quantity *value; } shares[] = {
        {"streams_ratio", &level->streams_ratio}, {"overlap_read_ratio", &level->overlap_read}, {"overlap_write_ratio", &level->overlap_write}};
    bool last = at + 1 == signature->level_count;
    char field[96];
    if ((level->level == 0) != last)
        breach(check, "is out of order: caches come nearest first, memory (0) last", "levels[%zu].level", at);
    if (nearer && !last && level->level <= nearer->level)
        breach(check, "is not above that of the level before", "levels[%zu].level", at);
    if (!last && !level->bytes)
        breach(check, "is zero", "levels[%zu].bytes", at);
    if (nearer && !last && level->bytes <= nearer->bytes)
        breach(check, "is not more than that of a nearer cache", "levels[%zu].bytes", at);
    if (level->line_bytes && (!power_of_two(level->line_bytes) || level->line_bytes < LINE_BYTES_LEAST || level->line_bytes > LINE_BYTES_MOST))
        breach(check, "is no power of two between 8 and 65536", "levels[%zu].line_bytes", at);
    if (!last && (uint64_t)level->ways * level->line_bytes > level->bytes)
        breach(check, "times the line is more than the cache", "levels[%zu].ways", at);
    if (!level->shared_by || level->shared_by > signature_threads(signature))
        breach(check, "is zero, or more than the machine has", "levels[%zu].shared_by", at);
    if (nearer && level->shared_by < nearer->shared_by)
        breach(check, "is less than that of a nearer level", "levels[%zu].shared_by", at);
    snprintf(field, sizeof field, "levels[%zu].latency_ns", at);
    positive_check(check, &level->latency_ns, field);
    for (size_t k = 0; k < at; k++)
        if (level->latency_ns.value * CROSSING_MOST < signature->levels[k].latency_ns.value)
            breach(check, "is below that of a nearer level", "%s", field);
    snprintf(field, sizeof field, "levels[%zu].restart_ns", at);
    positive_check(check, &level->restart_ns, field);
    snprintf(field, sizeof field, "levels[%zu].effective_bytes", at);
    positive_check(check, &level->effective_bytes, field);
    if (!last && level->effective_bytes.value > EFFECTIVE_MOST * (double)level->bytes)
        breach(check, "is far more than the cache holds", "%s", field);
    for (size_t k = 0; k < sizeof shares / sizeof *shares; k++) {
        snprintf(field, sizeof field, "levels[%zu].%s", at, shares[k].key);
        share_check(check, shares[k].value, field);
    }
    bandwidths_check(check, signature, at);
}

/* ---- pairs --------------------------------------------------------------------------------------------------------------- */

static void transfer_check(struct check *check, size_t at, const char *key, const struct platform_transfer *transfer)
{
    if (transfer->alpha_ns < 0)
        breach(check, "is below zero", "pairs[%zu].%s.alpha_ns", at, key);
    if (transfer->beta_ns_per_byte < 0)
        breach(check, "is below zero", "pairs[%zu].%s.beta_ns_per_byte", at, key);
    if (transfer->r2 > 1)
        breach(check, "is above 1", "pairs[%zu].%s.r2", at, key);
    if (transfer->worst_residual_ratio < 0)
        breach(check, "is below zero", "pairs[%zu].%s.worst_residual_ratio", at, key);
    for (size_t i = 0; i < transfer->piece_count; i++) {
        const struct platform_piece *piece = &transfer->pieces[i];
        if (piece->from_bytes > piece->to_bytes || (i && piece->from_bytes < piece[-1].to_bytes))
            breach(check, "is out of order", "pairs[%zu].%s.pieces[%zu].from_bytes", at, key, i);
        if (piece->alpha_ns < 0)
            breach(check, "is below zero", "pairs[%zu].%s.pieces[%zu].alpha_ns", at, key, i);
        if (piece->beta_ns_per_byte < 0)
            breach(check, "is below zero", "pairs[%zu].%s.pieces[%zu].beta_ns_per_byte", at, key, i);
    }
    for (size_t i = 0; i < transfer->point_count; i++) {
        char field[96];
        snprintf(field, sizeof field, "pairs[%zu].%s.points[%zu].time_ns", at, key, i);
        positive_check(check, &transfer->points[i].time_ns, field);
        if (!transfer->points[i].bytes || (i && transfer->points[i].bytes <= transfer->points[i - 1].bytes))
            breach(check, "is zero, or not above that of the one before", "pairs[%zu].%s.points[%zu].bytes", at, key, i);
    }
}

static void pair_check(struct check *check, const struct platform_signature *signature, size_t at)
{
    static const char *const relations[] = {"core", "l2", "l3", "package", "machine", "numa"};
    const struct platform_pair *pair = &signature->pairs[at];
    char field[96];
    size_t known = 0;
    while (known < sizeof relations / sizeof *relations && strcmp(pair->relation, relations[known]) != 0)
        known++;
    if (known == sizeof relations / sizeof *relations)
        breach(check, "is none of core, l2, l3, package, machine, numa", "pairs[%zu].relation", at);
    if (pair->cpus[0] == pair->cpus[1])
        breach(check, "is one processor twice", "pairs[%zu].cpus", at);
    transfer_check(check, at, "read", &pair->read);
    transfer_check(check, at, "write", &pair->write);
    snprintf(field, sizeof field, "pairs[%zu].line_ns", at);
    positive_check(check, &pair->line_ns, field);
}

/* ---- costs --------------------------------------------------------------------------------------------------------------- */

static double rate_of(const struct platform_signature *signature, const char *kind)
{
    for (size_t i = 0; i < signature->arithmetic_count; i++)
        if (signature->arithmetic[i].bits == 64 && strcmp(signature->arithmetic[i].kind, kind) == 0)
            return signature->arithmetic[i].flops_per_s.value;
    return NAN;
}

static void arithmetic_check(struct check *check, const struct platform_signature *signature)
{
    for (size_t i = 0; i < signature->arithmetic_count; i++) {
        const struct platform_arithmetic *one = &signature->arithmetic[i];
        const char *chain = strstr(one->kind, "-chain");
        char field[96], alone[16] = "";
        snprintf(field, sizeof field, "arithmetic[%zu].flops_per_s", i);
        positive_check(check, &one->flops_per_s, field);
        if (!power_of_two(one->bits) || one->bits < BITS_LEAST || one->bits > BITS_MOST)
            breach(check, "is no power of two between 8 and 65536", "arithmetic[%zu].bits", i);
        if (chain && (size_t)(chain - one->kind) < sizeof alone)
            memcpy(alone, one->kind, (size_t)(chain - one->kind));
        if (*alone && one->bits == 64 && one->flops_per_s.value > NOISE_MOST * rate_of(signature, alone))
            breach(check, "is far more than without waiting for the one before", "%s", field);
    }
}

static void costs_check(struct check *check, const struct platform_signature *signature)
{
    char field[96];
    arithmetic_check(check, signature);
    for (size_t i = 0; i < signature->pipeline_count; i++) {
        const struct platform_pipeline *one = &signature->pipeline[i];
        snprintf(field, sizeof field, "pipeline[%zu].value", i);
        positive_check(check, &one->value, field);
        if (one->value.value > (strcmp(one->kind, "window") == 0 ? WINDOW_MOST : strcmp(one->kind, "refill") == 0 ? REFILL_MOST : RATE_MOST))
            breach(check, "is more than any core has", "%s", field);
    }
    positive_check(check, &signature->translation.reach_pages, "translation.reach_pages");
    positive_check(check, &signature->translation.miss_ns, "translation.miss_ns");
    for (size_t i = 0; i < signature->overhead_count; i++) {
        const struct platform_overhead *one = &signature->overheads[i];
        if (!one->threads || one->threads > signature_threads(signature))
            breach(check, "is zero, or more than the machine has", "overheads[%zu].threads", i);
        if (one->time_ns.value < OVERHEAD_LEAST_NS)
            breach(check, "is far below zero", "overheads[%zu].time_ns", i);
        if (!interval_sound(&one->time_ns))
            breach(check, "lies outside of its interval", "overheads[%zu].time_ns", i);
    }
    for (size_t i = 0; i < signature->clock_count; i++) {
        const struct platform_clock *one = &signature->clocks[i];
        if (!one->threads || one->threads > signature_threads(signature) || (i && one->threads <= one[-1].threads))
            breach(check, "is zero, more than the machine has, or not above that of the one before", "clocks[%zu].threads", i);
        snprintf(field, sizeof field, "clocks[%zu].hz", i);
        positive_check(check, &one->hz, field);
        if (one->hz.value < HZ_LEAST || one->hz.value > HZ_MOST)
            breach(check, "is none that a processor has", "%s", field);
        snprintf(field, sizeof field, "clocks[%zu].sustained_hz", i);
        positive_check(check, &one->sustained_hz, field);
        if (quantity_known(&one->sustained_hz) && (one->sustained_hz.value < HZ_LEAST || one->sustained_hz.value > HZ_MOST))
            breach(check, "is none that a processor has", "%s", field);
    }
}

static void machine_check(struct check *check, const struct platform_signature *signature)
{
    if (!host_name_valid(signature->name))
        breach(check, "is none for a machine: one word of at most 63 letters, digits, '.', '_' and '-'", "name");
    if ((uint64_t)signature->sockets * signature->cores_per_socket > THREADS_IN_ALL_MOST || signature->threads_per_core > THREADS_IN_ALL_MOST / signature_cores(signature))
        breach(check, "times cores_per_socket and threads_per_core is more than any machine has", "sockets");
    if (signature->frequency_hz > 0 && (signature->frequency_hz < HZ_LEAST || signature->frequency_hz > HZ_MOST))
        breach(check, "is none that a processor has", "frequency_hz");
    if (signature->vector_bits && (!power_of_two(signature->vector_bits) || signature->vector_bits > BITS_MOST))
        breach(check, "is no power of two up to 65536", "vector_bits");
    if (!power_of_two(signature->page_bytes) || signature->page_bytes < PAGE_BYTES_LEAST)
        breach(check, "is no power of two of at least 512", "page_bytes");
    if (signature->basis == PLATFORM_PUBLISHED && !signature->source_count)
        breach(check, "are empty: published figures need one", "sources");
    if (!signature->level_count)
        breach(check, "are empty: at least memory is needed", "levels");
}

enum pcere_status signature_check(const struct platform_signature *signature, const char *where, struct pcere_error *error)
{
    struct check check = {.where = where, .error = error};
    machine_check(&check, signature);
    for (size_t i = 0; i < signature->level_count && !check.status; i++)
        level_check(&check, signature, i);
    for (size_t i = 0; i < signature->pair_count && !check.status; i++)
        pair_check(&check, signature, i);
    costs_check(&check, signature);
    return check.status;
}
