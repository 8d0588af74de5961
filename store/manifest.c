/* store/manifest.c - manifest.json: from and to struct store_manifest, and the check that covers every byte of it. */
#include "core/json.h"
#include "core/text.h"
#include "store/directory.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define WHERE "manifest.json"
#define MANIFEST_TAIL "\n}\n"
#define CHECK_KEY "\"check\": \""
#define CHECK_DIGITS 16

/* ---- freeing ------------------------------------------------------------------------------------------------------------- */

static void strings_free(char **strings)
{
    for (char **at = strings; at && *at; at++)
        free(*at);
    free(strings);
}

static void region_done(struct store_region *region)
{
    for (size_t i = 0; region->classes && i < region->class_count; i++) {
        free(region->classes[i].codelet);
        free(region->classes[i].reason);
        free(region->classes[i].io);
    }
    free(region->classes);
    free(region->name);
    free(region->function);
    free(region->file);
    free(region->status);
    free(region->reason);
    free(region->thread_sized);
    free(region->parent);
}

void store_manifest_done(struct store_manifest *manifest)
{
    if (!manifest)
        return;
    for (size_t i = 0; manifest->regions && i < manifest->region_count; i++)
        region_done(&manifest->regions[i]);
    free(manifest->regions);
    for (size_t i = 0; manifest->images && i < manifest->image_count; i++)
        free(manifest->images[i].library);
    free(manifest->images);
    store_limits_free(manifest->not_entered, manifest->not_entered_count);
    strings_free(manifest->arguments);
    strings_free(manifest->environment);
    free(manifest->program);
    free(manifest->program_file);
    free(manifest->working_directory);
    free(manifest->compiler);
    free(manifest->build_id);
    free(manifest->host);
    *manifest = (struct store_manifest){0};
}

void manifest_files_done(struct manifest_files *files)
{
    for (size_t i = 0; i < files->codelet_count; i++)
        free(files->codelets[i]);
    free(files->codelets);
    for (size_t i = 0; i < files->library_count; i++) {
        free(files->libraries[i].about.name);
        free(files->libraries[i].about.file);
    }
    free(files->libraries);
    *files = (struct manifest_files){0};
}

/* ---- check: the file's last key, which covers every byte ----------------------------------------------------------------- */

void check_add(struct text *text, const char *separator, const char *tail)
{
    text_add(text, separator);
    text_add(text, CHECK_KEY);
    uint64_t check = text->failed ? 0 : XXH64(text->data, text->length, 0);
    text_addf(text, "%016llx\"%s", (unsigned long long)check, tail);
}

enum pcere_status check_verify(const char *text, size_t bytes, const char *tail, const char *where, struct pcere_error *error)
{
    size_t tail_bytes = strlen(tail), end_bytes = strlen(CHECK_KEY) + CHECK_DIGITS + 1 + tail_bytes;
    if (bytes >= end_bytes) {
        const char *end = text + bytes - end_bytes, *digits = end + strlen(CHECK_KEY), *rest = digits + CHECK_DIGITS;
        char expected[CHECK_DIGITS + 1];
        snprintf(expected, sizeof expected, "%016llx", (unsigned long long)XXH64(text, (size_t)(digits - text), 0));
        if (memcmp(end, CHECK_KEY, strlen(CHECK_KEY)) == 0 && memcmp(digits, expected, CHECK_DIGITS) == 0 && *rest == '"' &&
            memcmp(rest + 1, tail, tail_bytes) == 0)
            return PCERE_OK;
    }
    return pcere_fail(error, PCERE_DATA, 0, STORE_HINT_DAMAGED, "%s is damaged: its checksum does not match", where);
}

/* ---- writing ------------------------------------------------------------------------------------------------------------- */

static json_t *encode_strings(char *const *strings, bool *failed)
{
    json_t *array = json_array();
    for (char *const *at = strings; at && *at; at++)
        if (json_array_append_new(array, json_from_string(*at)) != 0)
            *failed = true;
    return array;
}

static json_t *encode_class(const struct store_class *class, bool *failed)
{
    json_t *object = json_object();
    json_put(object, "representative", json_from_u64(class->representative), failed);
    json_put(object, "members", json_from_u64(class->members), failed);
    json_put(object, "time_ns", json_from_u64(class->time_ns), failed);
    json_put(object, "time_ns_median", json_from_u64(class->time_ns_median), failed);
    json_put(object, "representative_ns", json_from_u64(class->representative_ns), failed);
    if (class->nested)
        json_put(object, "nested", json_true(), failed);
    json_put(object, "captured", json_boolean(class->captured), failed);
    if (class->between_members) {
        json_put(object, "between_members", json_from_u64(class->between_members), failed);
        json_put(object, "between_ns", json_from_u64(class->between_ns), failed);
    }
    if (class->team)
        json_put(object, "team", json_from_u64(class->team), failed);
    json_put(object, "memory_bytes", json_from_u64(class->memory_bytes), failed);
    if (class->made_pages)
        json_put(object, "made_pages", json_from_u64(class->made_pages), failed);
    json_put(object, "stored_bytes", json_from_u64(class->stored_bytes), failed);
    json_put(object, "codelet", json_from_string(class->codelet), failed);
    json_put(object, "reason", json_from_string(class->reason), failed);
    if (class->io) {
        json_put(object, "io", json_from_string(class->io), failed);
        json_put(object, "read_bytes", json_from_u64(class->read_bytes), failed);
        json_put(object, "written_bytes", json_from_u64(class->written_bytes), failed);
    }
    return object;
}

static json_t *encode_region(const struct store_region *region, bool *failed)
{
    json_t *object = json_object(), *classes = json_array();
    json_put(object, "region", json_from_string(region->name ? region->name : ""), failed);
    json_put(object, "function", json_from_string(region->function), failed);
    json_put(object, "file", json_from_string(region->file), failed);
    json_put(object, "line", json_from_u64(region->line), failed);
    json_put(object, "invocations", json_from_u64(region->invocations), failed);
    json_put(object, "time_ns", json_from_u64(region->time_ns), failed);
    json_put(object, "status", json_from_string(region->status ? region->status : "skipped"), failed);
    json_put(object, "reason", json_from_string(region->reason), failed);
    if (region->nested) {
        json_put(object, "nested", json_from_u64(region->nested), failed);
        json_put(object, "nested_ns", json_from_u64(region->nested_ns), failed);
        json_put(object, "parent", json_from_string(region->parent), failed);
    }
    if (region->probed_ns)
        json_put(object, "probed_ns", json_from_u64(region->probed_ns), failed);
    if (region->thread_sized)
        json_put(object, "thread_sized", json_from_string(region->thread_sized), failed);
    for (size_t i = 0; i < region->class_count; i++)
        if (json_array_append_new(classes, encode_class(&region->classes[i], failed)) != 0)
            *failed = true;
    json_put(object, "classes", classes, failed);
    return object;
}

static json_t *encode_images(const struct store_manifest *manifest, bool *failed)
{
    json_t *images = json_array();
    for (size_t i = 0; i < manifest->image_count; i++) {
        json_t *object = json_object();
        json_put(object, "library", json_from_string(manifest->images[i].library), failed);
        json_put(object, "bias", json_from_hex64(manifest->images[i].bias), failed);
        json_put(object, "global", json_boolean(manifest->images[i].global), failed);
        if (json_array_append_new(images, object) != 0)
            *failed = true;
    }
    return images;
}

static json_t *encode_libraries(const struct manifest_files *files, bool *failed)
{
    json_t *libraries = json_array();
    for (size_t i = 0; i < files->library_count; i++) {
        const struct manifest_library *library = &files->libraries[i];
        json_t *object = json_object();
        json_put(object, "name", json_from_string(library->about.name), failed);
        json_put(object, "file", json_from_string(library->about.file), failed);
        json_put(object, "bytes", json_from_u64(library->bytes), failed);
        json_put(object, "xxh64", json_from_hex64(library->hash), failed);
        if (json_array_append_new(libraries, object) != 0)
            *failed = true;
    }
    return libraries;
}

static json_t *encode_files(const struct manifest_files *files, bool *failed)
{
    json_t *object = json_object(), *pages = json_object(), *program = files->has_program ? json_object() : json_null();
    json_t *codelets = json_array();
    json_put(pages, "pages", json_from_u64(files->page_count), failed);
    json_put(pages, "bytes", json_from_u64(files->pages_bytes), failed);
    if (files->has_program) {
        json_put(program, "bytes", json_from_u64(files->program_bytes), failed);
        json_put(program, "xxh64", json_from_hex64(files->program_hash), failed);
    }
    for (size_t i = 0; i < files->codelet_count; i++)
        if (json_array_append_new(codelets, json_from_string(files->codelets[i])) != 0)
            *failed = true;
    json_put(object, "pages", pages, failed);
    json_put(object, "program", program, failed);
    json_put(object, "codelets", codelets, failed);
    json_put(object, "libraries", encode_libraries(files, failed), failed);
    return object;
}

static json_t *encode_not_entered(const struct store_manifest *manifest, bool *failed)
{
    json_t *list = json_array();
    for (size_t i = 0; i < manifest->not_entered_count; i++) {
        json_t *one = json_object();
        json_put(one, "region", json_from_string(manifest->not_entered[i].region), failed);
        json_put(one, "reason", json_from_string(manifest->not_entered[i].reason), failed);
        if (json_array_append_new(list, one) != 0)
            *failed = true;
    }
    return list;
}

static json_t *encode_manifest(const struct store_manifest *manifest, const struct manifest_files *files, json_t *host, bool *failed)
{
    json_t *root = json_object(), *regions = json_array();
    json_put(root, "schema", json_sprintf(STORE_SCHEMA "%d", STORE_SCHEMA_VERSION), failed);
    json_put(root, "store_id", json_from_hex64(files->store_id), failed);
    json_put(root, "complete", json_boolean(manifest->complete), failed);
    if (manifest->looked_together)
        json_put(root, "looked_together", json_true(), failed);
    if (manifest->not_entered_count)
        json_put(root, "not_entered", encode_not_entered(manifest, failed), failed);
    json_put(root, "program", json_from_string(manifest->program ? manifest->program : ""), failed);
    json_put(root, "program_file", json_from_string(manifest->program_file ? manifest->program_file : ""), failed);
    json_put(root, "arguments", encode_strings(manifest->arguments, failed), failed);
    json_put(root, "environment", encode_strings(manifest->environment, failed), failed);
    json_put(root, "working_directory", json_from_string(manifest->working_directory ? manifest->working_directory : ""), failed);
    json_put(root, "compiler", json_from_string(manifest->compiler ? manifest->compiler : ""), failed);
    json_put(root, "build_id", json_from_string(manifest->build_id), failed);
    json_put(root, "host", host, failed);
    json_put(root, "page_size_bytes", json_from_u64(manifest->page_size), failed);
    json_put(root, "threads", json_from_u64(manifest->threads), failed);
    json_put(root, "wall_ns", json_from_u64(manifest->wall_ns), failed);
    json_put(root, "serial_ns", json_from_u64(manifest->serial_ns), failed);
    json_put(root, "capture_wall_ns", json_from_u64(manifest->capture_wall_ns), failed);
    json_put(root, "program_status", json_integer(manifest->program_status), failed);
    json_put(root, "image_bias", json_from_hex64(manifest->image_bias), failed);
    if (manifest->foreign_allocator)
        json_put(root, "foreign_allocator", json_true(), failed);
    json_put(root, "images", encode_images(manifest, failed), failed);
    for (size_t i = 0; i < manifest->region_count; i++)
        if (json_array_append_new(regions, encode_region(&manifest->regions[i], failed)) != 0)
            *failed = true;
    json_put(root, "regions", regions, failed);
    json_put(root, "files", encode_files(files, failed), failed);
    return root;
}

enum pcere_status manifest_encode(const struct store_manifest *manifest, const struct manifest_files *files, char **ret_text,
                                  size_t *ret_bytes, struct pcere_error *error)
{
    const char *host_text = manifest->host && *manifest->host ? manifest->host : "{}";
    json_t *host = json_loads(host_text, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(host)) {
        json_decref(host);
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "the manifest's host is not a JSON object");
    }
    bool failed = false;
    json_t *root = encode_manifest(manifest, files, host, &failed);
    char *body = failed ? NULL : json_dumps(root, JSON_INDENT(2));
    json_decref(root);
    if (failed)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "the manifest cannot be written: a number is too large, or memory ran out");
    if (!body)
        return pcere_fail_memory(error, "the manifest");
    struct text file = {0};
    text_add_bytes(&file, body, strlen(body) - strlen("\n}"));
    free(body);
    check_add(&file, ",\n  ", MANIFEST_TAIL);
    size_t length = file.length;
    char *text = text_take(&file);
    if (!text)
        return pcere_fail_memory(error, "the manifest");
    *ret_bytes = length;
    *ret_text = text;
    return PCERE_OK;
}

/* ---- reading ------------------------------------------------------------------------------------------------------------- */

static char **decode_strings(struct json_reader *reader, const json_t *object, const char *key)
{
    json_t *array = json_read_array(reader, object, key);
    size_t count = json_array_size(array);
    char **strings = calloc(count + 1, sizeof *strings);
    for (size_t i = 0; strings && i < count && !reader->status; i++)
        strings[i] = json_value_string(reader, json_array_get(array, i), key);
    if (!strings && !reader->status)
        reader->status = pcere_fail_memory(reader->error, "the manifest");
    return strings;
}

static void *decode_items(struct json_reader *reader, const json_t *array, size_t item_bytes)
{
    void *items = calloc(json_array_size(array) + 1, item_bytes);
    if (!items && !reader->status)
        reader->status = pcere_fail_memory(reader->error, "the manifest");
    return items;
}

static void decode_class(struct json_reader *reader, const json_t *object, struct store_class *class)
{
    class->representative = json_read_u64(reader, object, "representative", INT64_MAX);
    class->members = json_read_u64(reader, object, "members", INT64_MAX);
    class->time_ns = json_read_u64(reader, object, "time_ns", INT64_MAX);
    class->time_ns_median = json_read_u64(reader, object, "time_ns_median", INT64_MAX);
    class->representative_ns = json_read_u64(reader, object, "representative_ns", INT64_MAX);
    class->nested = json_object_get(object, "nested") && json_read_bool(reader, object, "nested");
    class->captured = json_read_bool(reader, object, "captured");
    class->between_members = json_object_get(object, "between_members") ? json_read_u64(reader, object, "between_members", INT64_MAX) : 0;
    class->between_ns = json_object_get(object, "between_ns") ? json_read_u64(reader, object, "between_ns", INT64_MAX) : 0;
    class->team = json_object_get(object, "team") ? (uint32_t)json_read_u64(reader, object, "team", UINT32_MAX) : 0;
    class->memory_bytes = json_read_u64(reader, object, "memory_bytes", INT64_MAX);
    class->made_pages = json_object_get(object, "made_pages") ? json_read_u64(reader, object, "made_pages", INT64_MAX) : 0;
    class->stored_bytes = json_read_u64(reader, object, "stored_bytes", INT64_MAX);
    class->codelet = json_read_string(reader, object, "codelet", true);
    class->reason = json_read_string(reader, object, "reason", true);
    if (json_object_get(object, "io")) {
        class->io = json_read_string(reader, object, "io", true);
        class->read_bytes = json_read_u64(reader, object, "read_bytes", INT64_MAX);
        class->written_bytes = json_read_u64(reader, object, "written_bytes", INT64_MAX);
    }
    if (class->codelet && !codelet_name_valid(class->codelet) && !reader->status)
        reader->status = pcere_fail(reader->error, PCERE_DATA, 0, NULL, WHERE ": \"codelet\" is not a file name");
}

static void decode_region(struct json_reader *reader, const json_t *object, struct store_region *region)
{
    region->name = json_read_string(reader, object, "region", false);
    region->function = json_read_string(reader, object, "function", true);
    region->file = json_read_string(reader, object, "file", true);
    region->line = (uint32_t)json_read_u64(reader, object, "line", UINT32_MAX);
    region->invocations = json_read_u64(reader, object, "invocations", INT64_MAX);
    region->time_ns = json_read_u64(reader, object, "time_ns", INT64_MAX);
    region->status = json_read_string(reader, object, "status", false);
    region->reason = json_read_string(reader, object, "reason", true);
    if (json_object_get(object, "nested")) {
        region->nested = json_read_u64(reader, object, "nested", INT64_MAX);
        region->nested_ns = json_read_u64(reader, object, "nested_ns", INT64_MAX);
        region->parent = json_read_string(reader, object, "parent", true);
    }
    if (json_object_get(object, "probed_ns"))
        region->probed_ns = json_read_u64(reader, object, "probed_ns", INT64_MAX);
    if (json_object_get(object, "thread_sized"))
        region->thread_sized = json_read_string(reader, object, "thread_sized", true);
    const json_t *classes = json_read_array(reader, object, "classes");
    region->classes = decode_items(reader, classes, sizeof *region->classes);
    for (size_t i = 0; !reader->status && i < json_array_size(classes); i++) {
        region->class_count = i + 1;
        decode_class(reader, json_array_get(classes, i), &region->classes[i]);
    }
}

static void decode_images(struct json_reader *reader, const json_t *root, struct store_manifest *manifest)
{
    if (!json_object_get(root, "images"))
        return;                                    /* stores from before there were any */
    const json_t *images = json_read_array(reader, root, "images");
    if (json_array_size(images) > STORE_LIBRARIES_MOST && !reader->status)
        reader->status = pcere_fail(reader->error, PCERE_DATA, 0, NULL, WHERE ": more libraries than any program has");
    manifest->images = decode_items(reader, images, sizeof *manifest->images);
    for (size_t i = 0; !reader->status && i < json_array_size(images); i++) {
        const json_t *entry = json_array_get(images, i);
        struct store_image *image = &manifest->images[i];
        manifest->image_count = i + 1;
        image->library = json_read_string(reader, entry, "library", true);
        image->bias = json_read_hex64(reader, entry, "bias");
        image->global = json_read_bool(reader, entry, "global");
        if (image->library && !codelet_name_valid(image->library) && !reader->status)
            reader->status = pcere_fail(reader->error, PCERE_DATA, 0, NULL, WHERE ": \"images\" holds what is not a file name");
    }
}

static void decode_libraries(struct json_reader *reader, const json_t *object, struct manifest_files *files)
{
    if (!json_object_get(object, "libraries"))
        return;                                    /* stores from before there were any */
    const json_t *libraries = json_read_array(reader, object, "libraries");
    if (json_array_size(libraries) > STORE_LIBRARIES_MOST && !reader->status)
        reader->status = pcere_fail(reader->error, PCERE_DATA, 0, NULL, WHERE ": more libraries than any program has");
    files->libraries = decode_items(reader, libraries, sizeof *files->libraries);
    for (size_t i = 0; !reader->status && i < json_array_size(libraries); i++) {
        const json_t *entry = json_array_get(libraries, i);
        struct manifest_library *library = &files->libraries[i];
        files->library_count = i + 1;
        library->about.name = json_read_string(reader, entry, "name", false);
        library->about.file = json_read_string(reader, entry, "file", false);
        library->bytes = json_read_u64(reader, entry, "bytes", INT64_MAX);
        library->hash = json_read_hex64(reader, entry, "xxh64");
        if (library->about.name && !codelet_name_valid(library->about.name) && !reader->status)
            reader->status = pcere_fail(reader->error, PCERE_DATA, 0, NULL, WHERE ": \"libraries\" holds what is not a file name");
    }
}

static void decode_files(struct json_reader *reader, const json_t *root, struct manifest_files *files)
{
    const json_t *object = json_read_object(reader, root, "files"), *pages = json_read_object(reader, object, "pages");
    files->store_id = json_read_hex64(reader, root, "store_id");
    files->page_count = json_read_u64(reader, pages, "pages", INT64_MAX);
    files->pages_bytes = json_read_u64(reader, pages, "bytes", INT64_MAX);
    files->has_program = !json_is_null(json_object_get(object, "program"));
    if (files->has_program) {
        const json_t *program = json_read_object(reader, object, "program");
        files->program_bytes = json_read_u64(reader, program, "bytes", INT64_MAX);
        files->program_hash = json_read_hex64(reader, program, "xxh64");
    }
    const json_t *codelets = json_read_array(reader, object, "codelets");
    files->codelets = decode_items(reader, codelets, sizeof *files->codelets);
    for (size_t i = 0; !reader->status && i < json_array_size(codelets); i++) {
        files->codelet_count = i + 1;
        files->codelets[i] = json_value_string(reader, json_array_get(codelets, i), "codelets");
        if (files->codelets[i] && !codelet_name_valid(files->codelets[i]))
            reader->status = pcere_fail(reader->error, PCERE_DATA, 0, NULL, WHERE ": \"codelets\" holds what is not a file name");
    }
    decode_libraries(reader, object, files);
}

static void decode_not_entered(struct json_reader *reader, const json_t *root, struct store_manifest *manifest)
{
    const json_t *list = json_object_get(root, "not_entered") ? json_read_array(reader, root, "not_entered") : NULL;
    manifest->not_entered = list ? decode_items(reader, list, sizeof *manifest->not_entered) : NULL;
    for (size_t i = 0; !reader->status && i < json_array_size(list); i++) {
        manifest->not_entered_count = i + 1;
        manifest->not_entered[i].region = json_read_string(reader, json_array_get(list, i), "region", false);
        manifest->not_entered[i].reason = json_read_string(reader, json_array_get(list, i), "reason", false);
    }
}

static void decode_manifest(struct json_reader *reader, const json_t *root, struct store_manifest *manifest)
{
    manifest->complete = json_read_bool(reader, root, "complete");
    manifest->looked_together = json_object_get(root, "looked_together") && json_read_bool(reader, root, "looked_together");
    manifest->program = json_read_string(reader, root, "program", false);
    manifest->program_file = json_read_string(reader, root, "program_file", false);
    manifest->arguments = decode_strings(reader, root, "arguments");
    manifest->environment = decode_strings(reader, root, "environment");
    manifest->working_directory = json_read_string(reader, root, "working_directory", false);
    manifest->compiler = json_read_string(reader, root, "compiler", false);
    manifest->build_id = json_read_string(reader, root, "build_id", true);
    const json_t *host = json_read_object(reader, root, "host");
    if (host && !(manifest->host = json_dumps(host, JSON_COMPACT)))
        reader->status = pcere_fail_memory(reader->error, "the manifest");
    manifest->page_size = json_read_u64(reader, root, "page_size_bytes", STORE_PAGE_BYTES_MOST);
    manifest->threads = (uint32_t)json_read_u64(reader, root, "threads", UINT32_MAX);
    manifest->wall_ns = json_read_u64(reader, root, "wall_ns", INT64_MAX);
    manifest->serial_ns = json_read_u64(reader, root, "serial_ns", INT64_MAX);
    manifest->capture_wall_ns = json_read_u64(reader, root, "capture_wall_ns", INT64_MAX);
    manifest->program_status = (int32_t)json_read_i64(reader, root, "program_status", INT32_MIN, INT32_MAX);
    manifest->image_bias = json_read_hex64(reader, root, "image_bias");
    manifest->foreign_allocator = json_is_true(json_object_get(root, "foreign_allocator"));
    decode_images(reader, root, manifest);
    const json_t *regions = json_read_array(reader, root, "regions");
    manifest->regions = decode_items(reader, regions, sizeof *manifest->regions);
    for (size_t i = 0; !reader->status && i < json_array_size(regions); i++) {
        manifest->region_count = i + 1;
        decode_region(reader, json_array_get(regions, i), &manifest->regions[i]);
    }
    decode_not_entered(reader, root, manifest);
}

/* Another version is told before the check, which that version may compute differently. */
static enum pcere_status check_schema(const json_t *root, struct pcere_error *error)
{
    const char *schema = json_string_value(json_object_get(root, "schema"));
    char expected[32];
    snprintf(expected, sizeof expected, STORE_SCHEMA "%d", STORE_SCHEMA_VERSION);
    if (!schema || strncmp(schema, STORE_SCHEMA, strlen(STORE_SCHEMA)) != 0)
        return pcere_fail(error, PCERE_DATA, 0, STORE_HINT_DAMAGED, WHERE " does not say that it is a PCERE store");
    if (strcmp(schema, expected) != 0)
        return pcere_fail(error, PCERE_DATA, 0, "capture the program again with this version",
                          "the store was written by another version of PCERE (%.40s, this one reads %s)", schema, expected);
    return PCERE_OK;
}

enum pcere_status manifest_decode(const char *text, size_t bytes, struct store_manifest *ret_manifest,
                                  struct manifest_files *ret_files, struct pcere_error *error)
{
    json_t *root;
    enum pcere_status status = json_parse(text, bytes, WHERE, &root, error);
    if (status)
        return status;
    status = check_schema(root, error);
    if (!status)
        status = check_verify(text, bytes, MANIFEST_TAIL, WHERE, error);
    if (status) {
        json_decref(root);
        return status;
    }
    struct json_reader reader = {.where = WHERE, .error = error};
    struct store_manifest manifest = {0};
    struct manifest_files files = {0};
    decode_manifest(&reader, root, &manifest);
    decode_files(&reader, root, &files);
    json_decref(root);
    if (reader.status) {
        store_manifest_done(&manifest);
        manifest_files_done(&files);
        return reader.status;
    }
    *ret_manifest = manifest;
    *ret_files = files;
    return PCERE_OK;
}
