/* analysis/profile_json.c - see profile.h: a profile as JSON and as CSV. The tables become one description, which the binary file holds, too. */
#include "analysis/profile.h"
#include "core/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static json_t *strings_describe(char *const *strings, size_t count, bool *failed)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(list, json_from_string(strings[i])) != 0)
            *failed = true;
    *failed = *failed || !list;
    return list;
}

static json_t *run_describe(const struct profile_run *run, bool *failed)
{
    json_t *object = json_object();
    json_put(object, "program", json_from_string(run->program), failed);
    json_put(object, "build_id", json_from_string(run->build_id), failed);
    json_put(object, "region", json_from_string(run->region), failed);
    json_put(object, "arguments", strings_describe(run->arguments, run->argument_count, failed), failed);
    json_put(object, "settings", strings_describe(run->settings, run->setting_count, failed), failed);
    json_put(object, "host", json_from_string(run->host), failed);
    json_put(object, "threads", json_from_u64(run->threads), failed);
    json_put(object, "level", json_from_u64(run->level), failed);
    if (run->iterations)
        json_put(object, "iterations", json_true(), failed);
    json_put(object, "blind", strings_describe(run->blind, run->blind_count, failed), failed);
    json_put(object, "wall_ns", json_from_u64(run->wall_ns), failed);
    json_put(object, "xus", json_from_u64(run->xus), failed);
    return object;
}

static json_t *event_describe(const struct profile *profile, size_t event, bool *failed)
{
    const struct profile_event *it = &profile->events[event];
    json_t *object = json_object();
    json_put(object, "event", json_from_string(it->name), failed);
    json_put(object, "unit", json_from_string(it->unit), failed);
    json_put(object, "backend", json_from_string(it->backend), failed);
    json_put(object, "run", json_from_u64(it->run), failed);
    json_put(object, "exact", json_boolean(it->exact), failed);
    json_put(object, "interval", json_boolean(profile->low[event] != NULL), failed);
    return object;
}

static json_t *construct_describe(const struct profile_construct *construct, bool *failed)
{
    json_t *object = json_object();
    json_put(object, "id", json_from_hex64(construct->id), failed);
    json_put(object, "construct", json_from_string(construct->name), failed);
    return object;
}

static json_t *name_describe(const struct profile_name *name, bool *failed)
{
    json_t *object = json_object();
    json_put(object, "name", json_from_string(name->name), failed);
    json_put(object, "id", name->id ? json_from_hex64(name->id) : json_null(), failed);
    return object;
}

static json_t *dropped_describe(const struct profile *profile, const struct profile_dropped *dropped, bool *failed)
{
    json_t *object = json_object();
    json_put(object, "run", json_from_u64(dropped->run), failed);
    json_put(object, "construct", json_from_string(profile->constructs[dropped->construct].name), failed);
    json_put(object, "type", json_from_string(profile_kind_name(dropped->kind)), failed);
    json_put(object, "xus", json_from_u64(dropped->xus), failed);
    return object;
}

static void list_put(json_t *object, const char *key, json_t *list, bool *failed)
{
    json_put(object, key, list, failed);
}

static void list_append(json_t *list, json_t *value, bool *failed)
{
    if (json_array_append_new(list, value) != 0)
        *failed = true;
}

enum pcere_status profile_describe(const struct profile *profile, json_t **ret_object, struct pcere_error *error)
{
    bool failed = false;
    json_t *object = json_object(), *runs = json_array(), *events = json_array(), *constructs = json_array(), *dropped = json_array();
    json_t *nodes = profile->nodes ? json_array() : json_null();
    for (size_t i = 0; i < profile->run_count; i++)
        list_append(runs, run_describe(&profile->runs[i], &failed), &failed);
    for (size_t i = 0; i < profile->event_count; i++)
        list_append(events, event_describe(profile, i, &failed), &failed);
    for (size_t i = 0; i < profile->construct_count; i++)
        list_append(constructs, construct_describe(&profile->constructs[i], &failed), &failed);
    for (size_t i = 0; i < profile->dropped_count; i++)
        list_append(dropped, dropped_describe(profile, &profile->dropped[i], &failed), &failed);
    for (size_t i = 0; profile->nodes && i < profile->node_count; i++)
        list_append(nodes, json_from_u64(profile->nodes[i]), &failed);
    list_put(object, "runs", runs, &failed);
    list_put(object, "events", events, &failed);
    list_put(object, "constructs", constructs, &failed);
    if (profile->name_count)
        list_put(object, "names", json_array(), &failed);
    for (size_t i = 0; i < profile->name_count; i++)
        list_append(json_object_get(object, "names"), name_describe(&profile->names[i], &failed), &failed);
    list_put(object, "nodes", nodes, &failed);
    json_put(object, "strategy", json_from_string(profile->strategy), &failed);
    list_put(object, "dropped", dropped, &failed);
    if (failed) {
        json_decref(object);
        return pcere_fail_memory(error, "a profile's description");
    }
    *ret_object = object;
    return PCERE_OK;
}

/* ---- back -------------------------------------------------------------------------------------------------------------------- */

static char **strings_read(struct json_reader *reader, const json_t *object, const char *key, size_t *ret_count)
{
    const json_t *list = json_read_array(reader, object, key);
    size_t count = list ? json_array_size(list) : 0;
    char **strings = calloc(count + 1, sizeof *strings);
    if (!strings && reader->status == PCERE_OK)
        reader->status = pcere_fail_memory(reader->error, key);
    for (size_t i = 0; strings && i < count; i++)
        if (!(strings[i] = json_value_string(reader, json_array_get(list, i), key)))
            break;
    *ret_count = strings ? count : 0;
    return strings;
}

static void strings_free(char **strings, size_t count)
{
    for (size_t i = 0; strings && i < count; i++)
        free(strings[i]);
    free(strings);
}

static void run_read(struct json_reader *reader, struct profile *profile, const json_t *object)
{
    struct profile_run run = {0};
    run.program = json_read_string(reader, object, "program", false);
    run.build_id = json_read_string(reader, object, "build_id", false);
    run.region = json_read_string(reader, object, "region", true);
    run.arguments = strings_read(reader, object, "arguments", &run.argument_count);
    run.settings = strings_read(reader, object, "settings", &run.setting_count);
    run.host = json_read_string(reader, object, "host", false);
    run.threads = (uint32_t)json_read_u64(reader, object, "threads", UINT32_MAX);
    run.level = (uint32_t)json_read_u64(reader, object, "level", 3);
    run.iterations = json_is_true(json_object_get(object, "iterations"));
    run.blind = strings_read(reader, object, "blind", &run.blind_count);
    run.wall_ns = json_read_u64(reader, object, "wall_ns", INT64_MAX);
    run.xus = json_read_u64(reader, object, "xus", INT64_MAX);
    if (reader->status == PCERE_OK)
        reader->status = profile_add_run(profile, &run, NULL, reader->error);
    free(run.program);
    free(run.build_id);
    free(run.region);
    free(run.host);
    strings_free(run.arguments, run.argument_count);
    strings_free(run.settings, run.setting_count);
    strings_free(run.blind, run.blind_count);
}

static void event_read(struct json_reader *reader, struct profile *profile, const json_t *object)
{
    struct profile_event event = {0};
    event.name = json_read_string(reader, object, "event", false);
    event.unit = json_read_string(reader, object, "unit", false);
    event.backend = json_read_string(reader, object, "backend", false);
    event.run = (uint32_t)json_read_u64(reader, object, "run", PROFILE_RUNS_MOST - 1);
    event.exact = json_read_bool(reader, object, "exact");
    json_read_bool(reader, object, "interval");
    if (reader->status == PCERE_OK)
        reader->status = profile_add_event(profile, &event, NULL, reader->error);
    free(event.name);
    free(event.unit);
    free(event.backend);
}

static void construct_read(struct json_reader *reader, struct profile *profile, const json_t *object)
{
    uint64_t id = json_read_hex64(reader, object, "id");
    char *name = json_read_string(reader, object, "construct", false);
    if (reader->status == PCERE_OK)
        reader->status = profile_add_construct(profile, id, name, NULL, reader->error);
    free(name);
}

static void name_read(struct json_reader *reader, struct profile *profile, const json_t *object)
{
    const json_t *none = json_object_get(object, "id");
    uint64_t id = json_is_null(none) ? 0 : json_read_hex64(reader, object, "id");
    char *name = json_read_string(reader, object, "name", false);
    if (reader->status == PCERE_OK && !id && !json_is_null(none))
        reader->status = pcere_fail(reader->error, PCERE_DATA, 0, "measure the profile again, or copy it again from where it came", "%s is damaged: 0 is no construct's id", reader->where);
    struct pcere_error error = {0};
    if (reader->status == PCERE_OK && (reader->status = profile_add_name(profile, name, id, &error)) != PCERE_OK)
        reader->status = pcere_fail(reader->error, error.status == PCERE_USAGE ? PCERE_DATA : error.status, 0,      /* not the caller's words: the file's */
                                    "measure the profile again, or copy it again from where it came", "%s is damaged: %.300s", reader->where, error.message);
    free(name);
}

static uint32_t construct_find(const struct profile *profile, const char *name, size_t near)
{
    if (near < profile->construct_count && strcmp(profile->constructs[near].name, name) == 0)
        return (uint32_t)near;
    for (size_t i = 0; i < profile->construct_count; i++)
        if (strcmp(profile->constructs[i].name, name) == 0)
            return (uint32_t)i;
    return UINT32_MAX;
}

static uint32_t construct_name_read(struct json_reader *reader, const struct profile *profile, const json_t *object, size_t near)
{
    char *name = json_read_string(reader, object, "construct", false);
    uint32_t construct = name ? construct_find(profile, name, near) : UINT32_MAX;
    if (name && construct == UINT32_MAX && reader->status == PCERE_OK)
        reader->status = pcere_fail(reader->error, PCERE_DATA, 0, NULL, "%s names the construct '%.80s', which it does not list", reader->where, name);
    free(name);
    return construct;
}

static enum profile_kind kind_read(struct json_reader *reader, const json_t *object)
{
    char *name = json_read_string(reader, object, "type", false);
    enum profile_kind kind = name ? profile_kind_find(name) : PROFILE_OTHER;
    if (kind == PROFILE_KIND_COUNT && reader->status == PCERE_OK)
        reader->status = pcere_fail(reader->error, PCERE_DATA, 0, NULL, "%s: '%.60s' is no type of XU", reader->where, name);
    free(name);
    return kind;
}

static void dropped_read(struct json_reader *reader, struct profile *profile, const json_t *object)
{
    struct profile_dropped dropped = {
        .run = (uint32_t)json_read_u64(reader, object, "run", PROFILE_RUNS_MOST - 1),
        .construct = construct_name_read(reader, profile, object, 0),
        .kind = kind_read(reader, object),
        .xus = json_read_u64(reader, object, "xus", INT64_MAX),
    };
    if (reader->status == PCERE_OK)
        reader->status = profile_add_dropped(profile, &dropped, reader->error);
}

static void nodes_read(struct json_reader *reader, struct profile *profile, const json_t *object)
{
    const json_t *list = json_object_get(object, "nodes");
    if (!json_is_array(list) || reader->status != PCERE_OK)
        return;
    size_t count = json_array_size(list);
    profile->nodes = calloc(count + 1, sizeof *profile->nodes);
    profile->node_count = profile->nodes ? count : 0;
    if (!profile->nodes)
        reader->status = pcere_fail_memory(reader->error, "the nodes");
    for (size_t i = 0; i < profile->node_count; i++) {
        json_int_t node = json_integer_value(json_array_get(list, i));
        profile->nodes[i] = node < 0 || node > UINT32_MAX ? UINT32_MAX : (uint32_t)node;
    }
}

static void list_read(struct json_reader *reader, struct profile *profile, const json_t *object, const char *key,
                      void (*read)(struct json_reader *, struct profile *, const json_t *))
{
    const json_t *list = json_read_array(reader, object, key);
    for (size_t i = 0; list && i < json_array_size(list) && reader->status == PCERE_OK; i++)
        read(reader, profile, json_array_get(list, i));
}

enum pcere_status profile_describe_read(struct profile *profile, const json_t *object, const char *where, struct pcere_error *error)
{
    struct json_reader reader = {.where = where, .error = error};
    list_read(&reader, profile, object, "runs", run_read);
    list_read(&reader, profile, object, "events", event_read);
    list_read(&reader, profile, object, "constructs", construct_read);
    if (json_object_get(object, "names"))            /* files of before do not have it */
        list_read(&reader, profile, object, "names", name_read);
    nodes_read(&reader, profile, object);
    profile->strategy = json_read_string(&reader, object, "strategy", true);
    list_read(&reader, profile, object, "dropped", dropped_read);
    return reader.status;
}

struct row_reader {
    struct json_reader reader;
    struct profile *profile;
    uint64_t *counts;
    bool *intervals;
};

static void row_read(struct row_reader *rows, const json_t *object, size_t near)
{
    struct json_reader *reader = &rows->reader;
    char *label = json_read_string(reader, object, "label", false);
    const json_t *counts = json_read_object(reader, object, "counts"), *cpu = json_object_get(object, "cpu");
    struct profile_xu xu = {
        .label = label, .kind = kind_read(reader, object), .construct = construct_name_read(reader, rows->profile, object, near),
        .thread = (uint32_t)json_read_u64(reader, object, "thread", UINT32_MAX),
        .cpu = json_is_integer(cpu) ? (uint32_t)json_read_u64(reader, object, "cpu", UINT32_MAX) : PROFILE_NO_CPU,
        .start_ns = json_read_u64(reader, object, "start_ns", INT64_MAX), .active_ns = json_read_u64(reader, object, "active_ns", INT64_MAX),
        .counts = rows->counts,
    };
    for (size_t i = 0; i < rows->profile->event_count && reader->status == PCERE_OK; i++)
        rows->counts[i] = json_read_u64(reader, counts, rows->profile->events[i].name, INT64_MAX);
    if (reader->status == PCERE_OK) {
        reader->status = profile_add_xu(rows->profile, &xu, reader->error);
        if (reader->status == PCERE_USAGE)          /* not the caller's words: the file's */
            reader->status = PCERE_DATA;
    }
    free(label);
}

static void intervals_read(struct row_reader *rows, const json_t *list)
{
    struct json_reader *reader = &rows->reader;
    const struct profile *profile = rows->profile;
    for (size_t event = 0; event < profile->event_count && reader->status == PCERE_OK; event++) {
        if (!rows->intervals[event])
            continue;
        reader->status = profile_add_interval(rows->profile, (uint32_t)event, reader->error);
        for (size_t i = 0; i < profile->count && reader->status == PCERE_OK; i++) {
            const json_t *object = json_array_get(list, i);
            const json_t *low = json_read_object(reader, object, "low"), *high = json_read_object(reader, object, "high");
            profile->low[event][i] = json_read_u64(reader, low, profile->events[event].name, INT64_MAX);
            profile->high[event][i] = json_read_u64(reader, high, profile->events[event].name, INT64_MAX);
        }
    }
}

static void rows_read(struct row_reader *rows, const json_t *document)
{
    const json_t *list = json_read_array(&rows->reader, document, "xus"), *events = json_object_get(document, "events");
    size_t count = rows->profile->event_count;
    rows->counts = calloc(count + 1, sizeof *rows->counts);
    rows->intervals = calloc(count + 1, sizeof *rows->intervals);
    if (!rows->counts || !rows->intervals)
        rows->reader.status = pcere_fail_memory(rows->reader.error, "the counts of an XU");
    for (size_t i = 0; rows->intervals && i < count; i++)
        rows->intervals[i] = json_is_true(json_object_get(json_array_get(events, i), "interval"));
    for (size_t i = 0; list && i < json_array_size(list) && rows->reader.status == PCERE_OK; i++)
        row_read(rows, json_array_get(list, i), rows->profile->count ? rows->profile->construct[i - 1] : 0);
    if (list && rows->reader.status == PCERE_OK)
        intervals_read(rows, list);
    free(rows->counts);
    free(rows->intervals);
}

enum pcere_status profile_json_read(const json_t *document, const char *where, struct profile **ret_profile, struct pcere_error *error)
{
    struct row_reader rows = {.reader = {.where = where, .error = error}, .profile = profile_new()};
    if (!rows.profile)
        return pcere_fail_memory(error, "a profile");
    enum pcere_status status = profile_describe_read(rows.profile, document, where, error);
    rows.reader.status = status;
    if (status == PCERE_OK)
        rows_read(&rows, document);
    status = rows.reader.status;
    if (status == PCERE_OK)
        status = profile_check(rows.profile, where, error);
    if (status != PCERE_OK) {
        profile_free(rows.profile);
        return status == PCERE_USAGE ? PCERE_DATA : status;
    }
    *ret_profile = rows.profile;
    return PCERE_OK;
}

/* ---- rows out ---------------------------------------------------------------------------------------------------------------- */

struct rows_out {
    const struct profile *profile;
    FILE *file;
    char **events, **constructs;         /* as JSON strings */
};

static char *quoted(const char *string)
{
    json_t *value = json_from_string(string);
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    json_decref(value);
    return text;
}

static bool label_put(const char *label, FILE *file)
{
    bool plain = true;
    for (const char *at = label; *at && plain; at++)
        plain = *at >= 0x20 && *at < 0x7f && *at != '"' && *at != '\\';
    if (plain)
        return fprintf(file, "\"%s\"", label) > 0;
    char *text = quoted(label);
    bool done = text && fputs(text, file) >= 0;
    free(text);
    return done;
}

static void counts_put(const struct rows_out *out, const char *key, uint64_t *const *columns, size_t row)
{
    const char *comma = "";
    fprintf(out->file, ", \"%s\": {", key);
    for (size_t i = 0; i < out->profile->event_count; i++)
        if (columns[i]) {
            fprintf(out->file, "%s%s: %llu", comma, out->events[i], (unsigned long long)columns[i][row]);
            comma = ", ";
        }
    fputc('}', out->file);
}

static bool rows_put(const struct rows_out *out)
{
    const struct profile *profile = out->profile;
    bool intervals = false;
    for (size_t i = 0; i < profile->event_count; i++)
        intervals = intervals || profile->low[i];
    for (size_t row = 0; row < profile->count; row++) {
        char digits[33], cpu[16] = "null";
        if (profile->cpu[row] != PROFILE_NO_CPU)
            snprintf(cpu, sizeof cpu, "%u", profile->cpu[row]);
        fputs(row ? ",\n    {\"label\": " : "\n    {\"label\": ", out->file);
        if (!label_put(profile_label_text(profile, row, digits), out->file))
            return false;
        fprintf(out->file, ", \"type\": \"%s\", \"construct\": %s, \"thread\": %u, \"cpu\": %s, \"start_ns\": %llu, \"active_ns\": %llu",
                profile_kind_name(profile->kinds[row]), out->constructs[profile->construct[row]], profile->thread[row], cpu,
                (unsigned long long)profile->start_ns[row], (unsigned long long)profile->active_ns[row]);
        counts_put(out, "counts", profile->counts, row);
        if (intervals) {
            counts_put(out, "low", profile->low, row);
            counts_put(out, "high", profile->high, row);
        }
        fputc('}', out->file);
        if (ferror(out->file))
            return false;
    }
    return true;
}

static char **names_quote(size_t count, const void *table, size_t item_bytes, size_t name_offset)
{
    char **names = calloc(count + 1, sizeof *names);
    for (size_t i = 0; names && i < count; i++) {
        const char *name;
        memcpy(&name, (const char *)table + i * item_bytes + name_offset, sizeof name);
        if (!(names[i] = quoted(name))) {
            strings_free(names, count);
            return NULL;
        }
    }
    return names;
}

enum pcere_status profile_json_write(const struct profile *profile, const json_t *head, FILE *file, const char *name, struct pcere_error *error)
{
    json_t *description, *document = json_copy((json_t *)(uintptr_t)head);
    enum pcere_status status = profile_describe(profile, &description, error);
    if (status != PCERE_OK) {
        json_decref(document);
        return status;
    }
    char *text = document && json_object_update_missing(document, description) == 0 ? json_dumps(document, JSON_INDENT(2)) : NULL;
    json_decref(document);
    json_decref(description);
    struct rows_out out = {
        .profile = profile, .file = file,
        .events = names_quote(profile->event_count, profile->events, sizeof *profile->events, offsetof(struct profile_event, name)),
        .constructs = names_quote(profile->construct_count, profile->constructs, sizeof *profile->constructs, offsetof(struct profile_construct, name)),
    };
    if (!text || !out.events || !out.constructs) {
        status = pcere_fail_memory(error, "the result");
    } else {
        size_t length = strlen(text);
        while (length && text[length - 1] != '}')
            length--;
        length -= length && text[length - 1] == '}';
        while (length && text[length - 1] == '\n')
            length--;
        errno = 0;
        bool done = fprintf(file, "%.*s,\n  \"xus\": [", (int)length, text) > 0 && rows_put(&out) && fputs("\n  ]\n}\n", file) >= 0;
        if (!done || fflush(file) != 0 || ferror(file))
            status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot write the JSON document to %s", name);
    }
    free(text);
    strings_free(out.events, profile->event_count);
    strings_free(out.constructs, profile->construct_count);
    return status;
}

void profile_csv_field(const char *field, FILE *file)
{
    if (!strpbrk(field, ",\"\r\n")) {
        fputs(field, file);
        return;
    }
    fputc('"', file);
    for (const char *at = field; *at; at++) {
        if (*at == '"')
            fputc('"', file);
        fputc(*at, file);
    }
    fputc('"', file);
}

enum pcere_status profile_csv_write(const struct profile *profile, FILE *file, const char *name, struct pcere_error *error)
{
    errno = 0;
    fputs("label,type,construct,thread,cpu,start_ns,active_ns", file);
    for (size_t i = 0; i < profile->event_count; i++) {
        fputc(',', file);
        profile_csv_field(profile->events[i].name, file);
    }
    fputc('\n', file);
    for (size_t row = 0; row < profile->count && !ferror(file); row++) {
        char digits[33];
        profile_csv_field(profile_label_text(profile, row, digits), file);
        fprintf(file, ",%s,", profile_kind_name(profile->kinds[row]));
        profile_csv_field(profile->constructs[profile->construct[row]].name, file);
        fprintf(file, ",%u,", profile->thread[row]);
        if (profile->cpu[row] != PROFILE_NO_CPU)
            fprintf(file, "%u", profile->cpu[row]);
        fprintf(file, ",%llu,%llu", (unsigned long long)profile->start_ns[row], (unsigned long long)profile->active_ns[row]);
        for (size_t i = 0; i < profile->event_count; i++)
            fprintf(file, ",%llu", (unsigned long long)profile->counts[i][row]);
        fputc('\n', file);
    }
    if (fflush(file) != 0 || ferror(file))
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot write CSV to %s", name);
    return PCERE_OK;
}
