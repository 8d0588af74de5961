/* platform/signature.c - the form of a signature as JSON, in both directions. */
#include "platform/signature.h"

#include "core/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "pcere.platform/1"
#define NORMAL_95 1.96
enum { LIST_MOST = 4096, NUMBER_MOST = 1 << 20 };
#define LOAD_MOST_S 1e6

const struct quantity quantity_unknown = {NAN, NAN, NAN};

bool quantity_known(const struct quantity *quantity) { return !isnan(quantity->value); }

double quantity_doubt(const struct quantity *quantity)
{
    double above = quantity->high / quantity->value - 1, below = quantity->low > 0 ? quantity->value / quantity->low - 1 : 0;
    return (above > below ? above : below > 0 ? below : 0) / NORMAL_95;
}

static void transfer_done(struct platform_transfer *transfer)
{
    free(transfer->pieces);
    free(transfer->points);
}

void signature_done(struct platform_signature *signature)
{
    free(signature->name);
    free(signature->title);
    free(signature->isa);
    free(signature->llvm_cpu);
    for (size_t i = 0; i < signature->level_count; i++)
        free(signature->levels[i].bandwidths);
    for (size_t i = 0; i < signature->pair_count; i++) {
        free(signature->pairs[i].relation);
        transfer_done(&signature->pairs[i].read);
        transfer_done(&signature->pairs[i].write);
    }
    for (size_t i = 0; i < signature->arithmetic_count; i++)
        free(signature->arithmetic[i].kind);
    for (size_t i = 0; i < signature->pipeline_count; i++)
        free(signature->pipeline[i].kind);
    for (size_t i = 0; i < signature->overhead_count; i++)
        free(signature->overheads[i].construct);
    for (size_t i = 0; i < signature->source_count; i++)
        free(signature->sources[i]);
    free(signature->levels);
    free(signature->pairs);
    free(signature->arithmetic);
    free(signature->pipeline);
    free(signature->overheads);
    free(signature->clocks);
    free(signature->sources);
    *signature = (struct platform_signature){0};
}

unsigned signature_cores(const struct platform_signature *signature) { return signature->sockets * signature->cores_per_socket; }

unsigned signature_threads(const struct platform_signature *signature)
{
    return signature_cores(signature) * signature->threads_per_core;
}

const struct platform_bandwidth *level_bandwidth(const struct platform_level *level, unsigned threads)
{
    const struct platform_bandwidth *nearest = level->bandwidth_count ? level->bandwidths : NULL;
    for (size_t i = 1; i < level->bandwidth_count; i++)
        if (level->bandwidths[i].threads <= threads)
            nearest = &level->bandwidths[i];
    return nearest;
}

/* 0: not known. */
static double falls_of(const struct platform_clock *clock)
{
    bool known = quantity_known(&clock->hz) && quantity_known(&clock->sustained_hz) && clock->sustained_hz.value > 0;
    return known ? clock->hz.value / clock->sustained_hz.value : 0;
}

double signature_clock_falls(const struct platform_signature *signature, unsigned threads, double *ret_load_s)
{
    const struct platform_clock *below = NULL, *above = NULL;
    for (size_t i = 0; i < signature->clock_count; i++) {
        const struct platform_clock *one = &signature->clocks[i];
        if (falls_of(one) <= 0)
            continue;
        if (one->threads <= threads)
            below = one;
        if (one->threads >= threads && !above)
            above = one;
    }
    below = below ? below : above;
    above = above ? above : below;
    if (!below)
        return 1;
    double part = above == below ? 0 : (double)(threads - below->threads) / (double)(above->threads - below->threads);
    double falls = falls_of(below) + part * (falls_of(above) - falls_of(below));
    if (ret_load_s)
        *ret_load_s = above->load_s;
    return falls - 1 <= CLOCK_NOISE_RATIO ? 1 : falls;
}

/* ---- reading ------------------------------------------------------------------------------------------------------------- */

/* Where in the file a reader is, for its messages: "box.json: levels[1]". */
struct place { char text[512]; };

static __attribute__((format(printf, 3, 4))) void enter(struct place *place, struct json_reader *reader, const char *path, ...)
{
    va_list words;
    if (reader->status)
        return;
    int length = snprintf(place->text, sizeof place->text, "%.200s: ", reader->where);
    va_start(words, path);
    vsnprintf(place->text + length, sizeof place->text - (size_t)length, path, words);
    va_end(words);
    reader->where = place->text;
}

static struct quantity quantity_read(struct json_reader *reader, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    const char *where = reader->where;
    struct quantity quantity = quantity_unknown;
    struct place place;
    if (json_is_null(value) || !value)
        return quantity_unknown;
    enter(&place, reader, "%s", key);
    quantity.value = json_read_number(reader, value, "value", -1e300, 1e300);
    if (!json_is_null(json_object_get(value, "low")))
        quantity.low = json_read_number(reader, value, "low", -1e300, 1e300);
    if (!json_is_null(json_object_get(value, "high")))
        quantity.high = json_read_number(reader, value, "high", -1e300, 1e300);
    reader->where = where;
    return quantity;
}

/* An array of objects under `key` as zeroed memory of `size` bytes each. */
static void *list_read(struct json_reader *reader, const json_t *object, const char *key, size_t size, const json_t **ret_array, size_t *ret_count)
{
    const json_t *array = json_read_array(reader, object, key);
    size_t count = json_array_size(array);
    if (count > LIST_MOST && !reader->status)
        reader->status = pcere_fail(reader->error, PCERE_DATA, 0, NULL, "%s: \"%s\" has more than %d entries", reader->where, key, LIST_MOST);
    void *list = calloc(count ? count : 1, size);
    if (!list && !reader->status)
        reader->status = pcere_fail_memory(reader->error, reader->where);
    *ret_array = array;
    *ret_count = reader->status || !list ? 0 : count;
    return list;
}

static unsigned small_read(struct json_reader *reader, const json_t *object, const char *key)
{
    return (unsigned)json_read_u64(reader, object, key, NUMBER_MOST);
}

static void transfer_read(struct json_reader *reader, const json_t *object, const char *key, struct platform_transfer *transfer)
{
    const json_t *value = json_read_object(reader, object, key), *list;
    const char *where = reader->where;
    struct place here, inside;
    enter(&here, reader, "%s", key);
    transfer->alpha_ns = json_read_number(reader, value, "alpha_ns", -1e300, 1e300);
    transfer->beta_ns_per_byte = json_read_number(reader, value, "beta_ns_per_byte", -1e300, 1e300);
    transfer->r2 = json_is_null(json_object_get(value, "r2")) ? NAN : json_read_number(reader, value, "r2", -1e300, 1);
    transfer->worst_residual_ratio =
        json_is_null(json_object_get(value, "worst_residual_ratio")) ? NAN : json_read_number(reader, value, "worst_residual_ratio", 0, 1e300);
    transfer->pieces = list_read(reader, value, "pieces", sizeof *transfer->pieces, &list, &transfer->piece_count);
    for (size_t i = 0; i < transfer->piece_count; i++) {
        const json_t *piece = json_array_get(list, i);
        const char *outer = reader->where;
        enter(&inside, reader, "pieces[%zu]", i);
        transfer->pieces[i] = (struct platform_piece){
            .from_bytes = json_read_u64(reader, piece, "from_bytes", INT64_MAX),
            .to_bytes = json_read_u64(reader, piece, "to_bytes", INT64_MAX),
            .alpha_ns = json_read_number(reader, piece, "alpha_ns", -1e300, 1e300),
            .beta_ns_per_byte = json_read_number(reader, piece, "beta_ns_per_byte", -1e300, 1e300),
        };
        reader->where = outer;
    }
    transfer->points = list_read(reader, value, "points", sizeof *transfer->points, &list, &transfer->point_count);
    for (size_t i = 0; i < transfer->point_count; i++) {
        const json_t *point = json_array_get(list, i);
        const char *outer = reader->where;
        enter(&inside, reader, "points[%zu]", i);
        transfer->points[i].bytes = json_read_u64(reader, point, "bytes", INT64_MAX);
        transfer->points[i].time_ns = quantity_read(reader, point, "time_ns");
        reader->where = outer;
    }
    reader->where = where;
}

static void levels_read(struct json_reader *reader, const json_t *object, struct platform_signature *signature)
{
    const json_t *levels, *bandwidths;
    signature->levels = list_read(reader, object, "levels", sizeof *signature->levels, &levels, &signature->level_count);
    for (size_t i = 0; i < signature->level_count; i++) {
        const json_t *from = json_array_get(levels, i);
        struct platform_level *level = &signature->levels[i];
        const char *where = reader->where;
        struct place here, inside;
        enter(&here, reader, "levels[%zu]", i);
        level->level = small_read(reader, from, "level");
        level->bytes = json_read_u64(reader, from, "bytes", INT64_MAX);
        level->line_bytes = small_read(reader, from, "line_bytes");
        level->ways = small_read(reader, from, "ways");
        level->shared_by = small_read(reader, from, "shared_by");
        level->latency_ns = quantity_read(reader, from, "latency_ns");
        level->effective_bytes = quantity_read(reader, from, "effective_bytes");
        level->streams_ratio = quantity_read(reader, from, "streams_ratio");
        level->restart_ns = quantity_read(reader, from, "restart_ns");
        level->overlap_read = quantity_read(reader, from, "overlap_read_ratio");
        level->overlap_write = quantity_read(reader, from, "overlap_write_ratio");
        level->bandwidths = list_read(reader, from, "bandwidths", sizeof *level->bandwidths, &bandwidths, &level->bandwidth_count);
        for (size_t b = 0; b < level->bandwidth_count; b++) {
            const json_t *bandwidth = json_array_get(bandwidths, b);
            const char *outer = reader->where;
            enter(&inside, reader, "bandwidths[%zu]", b);
            level->bandwidths[b] = (struct platform_bandwidth){
                .threads = small_read(reader, bandwidth, "threads"),
                .read = quantity_read(reader, bandwidth, "read_bytes_per_s"),
                .write = quantity_read(reader, bandwidth, "write_bytes_per_s"),
                .triad = quantity_read(reader, bandwidth, "triad_bytes_per_s"),
                .latency_ns = quantity_read(reader, bandwidth, "latency_ns"),
            };
            reader->where = outer;
        }
        reader->where = where;
    }
}

static void cpus_read(struct json_reader *reader, const json_t *object, unsigned cpus[static 2])
{
    const json_t *array = json_read_array(reader, object, "cpus");
    for (size_t i = 0; i < 2; i++) {
        const json_t *one = json_array_get(array, i);
        json_int_t number = json_integer_value(one);
        if (!reader->status && (!json_is_integer(one) || number < 0 || number > NUMBER_MOST || json_array_size(array) != 2))
            reader->status = pcere_fail(reader->error, PCERE_DATA, 0, NULL, "%s: \"cpus\" are not two processors", reader->where);
        cpus[i] = (unsigned)number;
    }
}

static void pairs_read(struct json_reader *reader, const json_t *object, struct platform_signature *signature)
{
    const json_t *pairs;
    signature->pairs = list_read(reader, object, "pairs", sizeof *signature->pairs, &pairs, &signature->pair_count);
    for (size_t i = 0; i < signature->pair_count; i++) {
        const json_t *from = json_array_get(pairs, i);
        struct platform_pair *pair = &signature->pairs[i];
        const char *where = reader->where;
        struct place here;
        enter(&here, reader, "pairs[%zu]", i);
        pair->relation = json_read_string(reader, from, "relation", false);
        cpus_read(reader, from, pair->cpus);
        transfer_read(reader, from, "read", &pair->read);
        transfer_read(reader, from, "write", &pair->write);
        pair->line_ns = quantity_read(reader, from, "line_ns");
        reader->where = where;
    }
}

static void costs_read(struct json_reader *reader, const json_t *object, struct platform_signature *signature)
{
    const json_t *list;
    signature->arithmetic = list_read(reader, object, "arithmetic", sizeof *signature->arithmetic, &list, &signature->arithmetic_count);
    for (size_t i = 0; i < signature->arithmetic_count; i++) {
        const json_t *from = json_array_get(list, i);
        const char *where = reader->where;
        struct place here;
        enter(&here, reader, "arithmetic[%zu]", i);
        signature->arithmetic[i] = (struct platform_arithmetic){json_read_string(reader, from, "kind", false), small_read(reader, from, "bits"),
                                                                quantity_read(reader, from, "flops_per_s")};
        reader->where = where;
    }
    if (json_object_get(object, "pipeline"))
        signature->pipeline = list_read(reader, object, "pipeline", sizeof *signature->pipeline, &list, &signature->pipeline_count);
    for (size_t i = 0; i < signature->pipeline_count; i++) {
        const json_t *from = json_array_get(list, i);
        const char *where = reader->where;
        struct place here;
        enter(&here, reader, "pipeline[%zu]", i);
        signature->pipeline[i] = (struct platform_pipeline){json_read_string(reader, from, "kind", false), quantity_read(reader, from, "value")};
        reader->where = where;
    }
    const json_t *translation = json_object_get(object, "translation");
    signature->translation = (struct platform_translation){quantity_unknown, quantity_unknown};
    if (translation && !json_is_null(translation)) {
        const char *where = reader->where;
        struct place here;
        translation = json_read_object(reader, object, "translation");
        enter(&here, reader, "translation");
        signature->translation = (struct platform_translation){quantity_read(reader, translation, "reach_pages"), quantity_read(reader, translation, "miss_ns")};
        reader->where = where;
    }
    signature->overheads = list_read(reader, object, "overheads", sizeof *signature->overheads, &list, &signature->overhead_count);
    for (size_t i = 0; i < signature->overhead_count; i++) {
        const json_t *from = json_array_get(list, i);
        const char *where = reader->where;
        struct place here;
        enter(&here, reader, "overheads[%zu]", i);
        signature->overheads[i] = (struct platform_overhead){json_read_string(reader, from, "construct", false), small_read(reader, from, "threads"),
                                                             quantity_read(reader, from, "time_ns")};
        reader->where = where;
    }
    signature->clocks = list_read(reader, object, "clocks", sizeof *signature->clocks, &list, &signature->clock_count);
    for (size_t i = 0; i < signature->clock_count; i++) {
        const json_t *from = json_array_get(list, i);
        const char *where = reader->where;
        struct place here;
        enter(&here, reader, "clocks[%zu]", i);
        signature->clocks[i] = (struct platform_clock){.threads = small_read(reader, from, "threads"), .hz = quantity_read(reader, from, "hz"),
                                                       .sustained_hz = quantity_read(reader, from, "sustained_hz")};
        if (quantity_known(&signature->clocks[i].sustained_hz))
            signature->clocks[i].load_s = json_read_number(reader, from, "load_s", 0, LOAD_MOST_S);
        reader->where = where;
    }
    signature->sources = list_read(reader, object, "sources", sizeof *signature->sources, &list, &signature->source_count);
    for (size_t i = 0; i < signature->source_count; i++)
        signature->sources[i] = json_value_string(reader, json_array_get(list, i), "sources");
}

static unsigned counted_read(struct json_reader *reader, const json_t *object, const char *key)
{
    unsigned number = small_read(reader, object, key);
    if (!number && !reader->status)
        reader->status = pcere_fail(reader->error, PCERE_DATA, 0, NULL, "%s: \"%s\" is zero", reader->where, key);
    return number;
}

static void signature_fill(struct json_reader *reader, const json_t *object, struct platform_signature *signature)
{
    signature->name = json_read_string(reader, object, "name", false);
    signature->title = json_read_string(reader, object, "title", false);
    char *basis = json_read_string(reader, object, "basis", false);
    signature->basis = basis && strcmp(basis, "published") == 0 ? PLATFORM_PUBLISHED : PLATFORM_MEASURED;
    if (basis && signature->basis == PLATFORM_MEASURED && strcmp(basis, "measured") != 0 && !reader->status)
        reader->status = pcere_fail(reader->error, PCERE_DATA, 0, NULL, "%s: \"basis\" is neither \"measured\" nor \"published\"", reader->where);
    free(basis);
    signature->isa = json_read_string(reader, object, "isa", false);
    if (!json_is_null(json_object_get(object, "llvm_cpu")) && json_object_get(object, "llvm_cpu"))
        signature->llvm_cpu = json_read_string(reader, object, "llvm_cpu", false);
    signature->frequency_hz = json_read_number(reader, object, "frequency_hz", 0, 1e12);
    signature->sockets = counted_read(reader, object, "sockets");
    signature->cores_per_socket = counted_read(reader, object, "cores_per_socket");
    signature->threads_per_core = counted_read(reader, object, "threads_per_core");
    signature->numa_nodes = counted_read(reader, object, "numa_nodes");
    signature->vector_bits = small_read(reader, object, "vector_bits");
    signature->fma = json_read_bool(reader, object, "fma");
    signature->page_bytes = json_read_u64(reader, object, "page_bytes", INT64_MAX);
    signature->pinned = json_read_bool(reader, object, "pinned");
    levels_read(reader, object, signature);
    pairs_read(reader, object, signature);
    costs_read(reader, object, signature);
}

enum pcere_status signature_read(const char *text, size_t bytes, const char *where, struct platform_signature *ret_signature,
                                 struct pcere_error *error)
{
    json_t *object;
    enum pcere_status status = json_parse(text, bytes, where, &object, error);
    if (status)
        return status;
    const char *schema = json_string_value(json_object_get(object, "schema"));
    if (!schema || strcmp(schema, SCHEMA) != 0) {
        status = pcere_fail(error, PCERE_DATA, 0, "'pcere platform discover' writes one that this version reads", "%s: its schema is %s%.40s%s, not \"" SCHEMA "\"", where,
                            schema ? "\"" : "", schema ? schema : "missing", schema ? "\"" : "");
        json_decref(object);
        return status;
    }
    struct json_reader reader = {.where = where, .error = error};
    struct platform_signature signature = {0};
    signature_fill(&reader, object, &signature);
    json_decref(object);
    status = reader.status ? reader.status : signature_check(&signature, where, error);
    if (status)
        signature_done(&signature);
    else
        *ret_signature = signature;
    return status;
}

/* ---- writing ------------------------------------------------------------------------------------------------------------- */

static json_t *quantity_object(const struct quantity *quantity, bool *failed)
{
    if (!quantity_known(quantity))
        return json_null();
    json_t *object = json_object();
    json_put(object, "value", json_from_double(quantity->value), failed);
    json_put(object, "low", json_from_double(quantity->low), failed);
    json_put(object, "high", json_from_double(quantity->high), failed);
    return object;
}

static json_t *list_grow(json_t *array, bool *failed)
{
    json_t *object = json_object();
    if (json_array_append_new(array, object) != 0)
        *failed = true;
    return object;
}

static json_t *transfer_object(const struct platform_transfer *transfer, bool *failed)
{
    json_t *object = json_object(), *pieces = json_array(), *points = json_array();
    json_put(object, "alpha_ns", json_from_double(transfer->alpha_ns), failed);
    json_put(object, "beta_ns_per_byte", json_from_double(transfer->beta_ns_per_byte), failed);
    json_put(object, "r2", json_from_double(transfer->r2), failed);
    json_put(object, "worst_residual_ratio", json_from_double(transfer->worst_residual_ratio), failed);
    json_put(object, "pieces", pieces, failed);
    json_put(object, "points", points, failed);
    for (size_t i = 0; i < transfer->piece_count && !*failed; i++) {
        json_t *piece = list_grow(pieces, failed);
        json_put(piece, "from_bytes", json_from_u64(transfer->pieces[i].from_bytes), failed);
        json_put(piece, "to_bytes", json_from_u64(transfer->pieces[i].to_bytes), failed);
        json_put(piece, "alpha_ns", json_from_double(transfer->pieces[i].alpha_ns), failed);
        json_put(piece, "beta_ns_per_byte", json_from_double(transfer->pieces[i].beta_ns_per_byte), failed);
    }
    for (size_t i = 0; i < transfer->point_count && !*failed; i++) {
        json_t *point = list_grow(points, failed);
        json_put(point, "bytes", json_from_u64(transfer->points[i].bytes), failed);
        json_put(point, "time_ns", quantity_object(&transfer->points[i].time_ns, failed), failed);
    }
    return object;
}

static json_t *levels_array(const struct platform_signature *signature, bool *failed)
{
    json_t *levels = json_array();
    for (size_t i = 0; i < signature->level_count && !*failed; i++) {
        const struct platform_level *level = &signature->levels[i];
        json_t *object = list_grow(levels, failed), *bandwidths = json_array();
        json_put(object, "level", json_from_u64(level->level), failed);
        json_put(object, "bytes", json_from_u64(level->bytes), failed);
        json_put(object, "line_bytes", json_from_u64(level->line_bytes), failed);
        json_put(object, "ways", json_from_u64(level->ways), failed);
        json_put(object, "shared_by", json_from_u64(level->shared_by), failed);
        json_put(object, "latency_ns", quantity_object(&level->latency_ns, failed), failed);
        json_put(object, "effective_bytes", quantity_object(&level->effective_bytes, failed), failed);
        json_put(object, "streams_ratio", quantity_object(&level->streams_ratio, failed), failed);
        json_put(object, "restart_ns", quantity_object(&level->restart_ns, failed), failed);
        json_put(object, "overlap_read_ratio", quantity_object(&level->overlap_read, failed), failed);
        json_put(object, "overlap_write_ratio", quantity_object(&level->overlap_write, failed), failed);
        json_put(object, "bandwidths", bandwidths, failed);
        for (size_t b = 0; b < level->bandwidth_count && !*failed; b++) {
            json_t *one = list_grow(bandwidths, failed);
            json_put(one, "threads", json_from_u64(level->bandwidths[b].threads), failed);
            json_put(one, "read_bytes_per_s", quantity_object(&level->bandwidths[b].read, failed), failed);
            json_put(one, "write_bytes_per_s", quantity_object(&level->bandwidths[b].write, failed), failed);
            json_put(one, "triad_bytes_per_s", quantity_object(&level->bandwidths[b].triad, failed), failed);
            json_put(one, "latency_ns", quantity_object(&level->bandwidths[b].latency_ns, failed), failed);
        }
    }
    return levels;
}

static json_t *pairs_array(const struct platform_signature *signature, bool *failed)
{
    json_t *pairs = json_array();
    for (size_t i = 0; i < signature->pair_count && !*failed; i++) {
        const struct platform_pair *pair = &signature->pairs[i];
        json_t *object = list_grow(pairs, failed);
        json_put(object, "relation", json_from_string(pair->relation), failed);
        json_put(object, "cpus", json_from_numbers((const uint64_t[]){pair->cpus[0], pair->cpus[1]}, 2, failed), failed);
        json_put(object, "read", transfer_object(&pair->read, failed), failed);
        json_put(object, "write", transfer_object(&pair->write, failed), failed);
        json_put(object, "line_ns", quantity_object(&pair->line_ns, failed), failed);
    }
    return pairs;
}

static void costs_put(json_t *object, const struct platform_signature *signature, bool *failed)
{
    json_t *arithmetic = json_array(), *pipeline = json_array(), *overheads = json_array(), *clocks = json_array(), *sources = json_array();
    json_put(object, "arithmetic", arithmetic, failed);
    json_put(object, "pipeline", pipeline, failed);
    json_t *translation = json_object();
    json_put(object, "translation", translation, failed);
    json_put(translation, "reach_pages", quantity_object(&signature->translation.reach_pages, failed), failed);
    json_put(translation, "miss_ns", quantity_object(&signature->translation.miss_ns, failed), failed);
    json_put(object, "overheads", overheads, failed);
    json_put(object, "clocks", clocks, failed);
    json_put(object, "sources", sources, failed);
    for (size_t i = 0; i < signature->arithmetic_count && !*failed; i++) {
        json_t *one = list_grow(arithmetic, failed);
        json_put(one, "kind", json_from_string(signature->arithmetic[i].kind), failed);
        json_put(one, "bits", json_from_u64(signature->arithmetic[i].bits), failed);
        json_put(one, "flops_per_s", quantity_object(&signature->arithmetic[i].flops_per_s, failed), failed);
    }
    for (size_t i = 0; i < signature->pipeline_count && !*failed; i++) {
        json_t *one = list_grow(pipeline, failed);
        json_put(one, "kind", json_from_string(signature->pipeline[i].kind), failed);
        json_put(one, "value", quantity_object(&signature->pipeline[i].value, failed), failed);
    }
    for (size_t i = 0; i < signature->overhead_count && !*failed; i++) {
        json_t *one = list_grow(overheads, failed);
        json_put(one, "construct", json_from_string(signature->overheads[i].construct), failed);
        json_put(one, "threads", json_from_u64(signature->overheads[i].threads), failed);
        json_put(one, "time_ns", quantity_object(&signature->overheads[i].time_ns, failed), failed);
    }
    for (size_t i = 0; i < signature->clock_count && !*failed; i++) {
        json_t *one = list_grow(clocks, failed);
        json_put(one, "threads", json_from_u64(signature->clocks[i].threads), failed);
        json_put(one, "hz", quantity_object(&signature->clocks[i].hz, failed), failed);
        if (quantity_known(&signature->clocks[i].sustained_hz)) {
            json_put(one, "sustained_hz", quantity_object(&signature->clocks[i].sustained_hz, failed), failed);
            json_put(one, "load_s", json_from_double(signature->clocks[i].load_s), failed);
        }
    }
    for (size_t i = 0; i < signature->source_count && !*failed; i++)
        if (json_array_append_new(sources, json_from_string(signature->sources[i])) != 0)
            *failed = true;
}

enum pcere_status signature_write(const struct platform_signature *signature, json_t **ret_object, struct pcere_error *error)
{
    bool failed = false;
    json_t *object = json_object();
    json_put(object, "schema", json_from_string(SCHEMA), &failed);
    json_put(object, "name", json_from_string(signature->name), &failed);
    json_put(object, "title", json_from_string(signature->title), &failed);
    json_put(object, "basis", json_from_string(signature->basis == PLATFORM_PUBLISHED ? "published" : "measured"), &failed);
    json_put(object, "isa", json_from_string(signature->isa), &failed);
    if (signature->llvm_cpu)
        json_put(object, "llvm_cpu", json_from_string(signature->llvm_cpu), &failed);
    json_put(object, "frequency_hz", json_from_double(signature->frequency_hz), &failed);
    json_put(object, "sockets", json_from_u64(signature->sockets), &failed);
    json_put(object, "cores_per_socket", json_from_u64(signature->cores_per_socket), &failed);
    json_put(object, "threads_per_core", json_from_u64(signature->threads_per_core), &failed);
    json_put(object, "numa_nodes", json_from_u64(signature->numa_nodes), &failed);
    json_put(object, "vector_bits", json_from_u64(signature->vector_bits), &failed);
    json_put(object, "fma", json_boolean(signature->fma), &failed);
    json_put(object, "page_bytes", json_from_u64(signature->page_bytes), &failed);
    json_put(object, "pinned", json_boolean(signature->pinned), &failed);
    json_put(object, "levels", levels_array(signature, &failed), &failed);
    json_put(object, "pairs", pairs_array(signature, &failed), &failed);
    costs_put(object, signature, &failed);
    if (failed) {
        json_decref(object);
        return pcere_fail_memory(error, "a signature");
    }
    *ret_object = object;
    return PCERE_OK;
}
