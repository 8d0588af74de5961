/* store/character.c - see character.h: NAME.THREADS.character as JSON, under a checksum. */
#include "store/character.h"

#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "store/directory.h"
#include "store/format.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCHEMA "pcere.character/1"
#define COUNT_MOST 9e18
enum { ITEMS_MOST = 1 << 20 };

void store_character_done(struct store_character *character)
{
    for (size_t i = 0; character->codes && i < character->code_count; i++) {
        free(character->codes[i].text);
        free(character->codes[i].counts);
        free(character->codes[i].entries);
    }
    for (size_t i = 0; character->calls && i < character->call_count; i++) {
        free(character->calls[i].name);
        free(character->calls[i].counts);
    }
    free(character->codes);
    free(character->calls);
    free(character->per_thread);
    free(character->isa);
    *character = (struct store_character){0};
}

double character_bin_lines(unsigned bin)
{
    unsigned octave = bin / 4, quarter = bin % 4;
    return ldexp(1 + quarter / 4.0, (int)octave) - 1;
}

static char *file_name(const char *codelet, uint32_t threads)
{
    struct text name = {0};
    text_addf(&name, "codelets/%s.%u.character", codelet, threads);
    return text_take(&name);
}

/* ---- writing ------------------------------------------------------------------------------------------------------------- */

/* [index, value, index, value, ...] of those that are not 0. */
static json_t *sparse_encode(const double *values, size_t count, bool *failed)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        if (values[i] > 0 && (json_array_append_new(list, json_integer((json_int_t)i)) || json_array_append_new(list, json_real(values[i]))))
            *failed = true;
    return list;
}

static const char *const use_names[2][STORE_CHARACTER_KINDS] = {{"read_irregular", "read_regular", "read_early"}, {"written_irregular", "written_regular", "written_early"}};
static const char *const foreign_names[2] = {"foreign_irregular", "foreign_regular"};
static const char *const jump_names[2] = {"read_jumps", "written_jumps"};
enum { KINDS_FIRST = 2 };           /* that the first version had, without lines of other threads */

static json_t *thread_encode(const struct character_thread *thread, bool *failed)
{
    json_t *object = json_object(), *reuse = json_object(), *cold = json_object();
    json_put(object, "moves", json_real(thread->moves), failed);
    json_put(object, "branches", json_real(thread->branches), failed);
    json_put(object, "mispredicted", json_real(thread->mispredicted), failed);
    json_put(object, "resolving_cycles", json_real(thread->resolving_cycles), failed);
    json_put(object, "other_instructions", json_real(thread->other_instructions), failed);
    for (int written = 0; written < 2; written++)
        for (int kind = 0; kind < STORE_CHARACTER_KINDS; kind++) {
            json_put(reuse, use_names[written][kind], sparse_encode(thread->reuse.uses[written][kind], STORE_CHARACTER_BINS, failed), failed);
            json_put(cold, use_names[written][kind], json_real(thread->reuse.cold[written][kind]), failed);
        }
    for (int regular = 0; regular < 2; regular++)
        json_put(reuse, foreign_names[regular], sparse_encode(thread->reuse.foreign[regular], STORE_CHARACTER_BINS, failed), failed);
    for (int written = 0; written < 2; written++)
        json_put(reuse, jump_names[written], sparse_encode(thread->reuse.jumps[written], STORE_CHARACTER_GAPS, failed), failed);
    json_put(reuse, "pages", sparse_encode(thread->reuse.pages, STORE_CHARACTER_BINS, failed), failed);
    json_put(object, "reuse", reuse, failed);
    json_put(object, "cold", cold, failed);
    json_put(object, "writebacks", sparse_encode(thread->reuse.writebacks, STORE_CHARACTER_OCTAVES, failed), failed);
    return object;
}

static json_t *code_encode(const struct character_code *code, uint32_t team, bool *failed)
{
    json_t *object = json_object();
    json_put(object, "loop", json_boolean(code->loop), failed);
    json_put(object, "instructions", json_from_u64(code->instructions), failed);
    json_put(object, "flops", json_from_u64(code->flops), failed);
    json_put(object, "moved_bytes", json_from_u64(code->moved_bytes), failed);
    json_put(object, "counts", json_from_numbers(code->counts, team, failed), failed);
    if (code->loop)
        json_put(object, "entries", json_from_numbers(code->entries, team, failed), failed);
    json_put(object, "assembly", json_from_string(code->text), failed);
    return object;
}

static json_t *character_encode(const struct store_character *character, bool *failed)
{
    json_t *object = json_object(), *codes = json_array(), *calls = json_array(), *threads = json_array();
    json_put(object, "schema", json_string(SCHEMA), failed);
    json_put(object, "threads", json_from_u64(character->threads), failed);
    json_put(object, "team", json_from_u64(character->team), failed);
    json_put(object, "warm", json_boolean(character->warm), failed);
    json_put(object, "isa", json_from_string(character->isa), failed);
    json_put(object, "line_bytes", json_from_u64(character->line_bytes), failed);
    json_put(object, "followed_ratio", json_real(character->followed_ratio), failed);
    json_put(object, "memory_bytes", json_from_u64(character->memory_bytes), failed);
    json_put(object, "new_pages", json_from_u64(character->new_pages), failed);
    for (size_t i = 0; i < character->code_count; i++)
        *failed |= json_array_append_new(codes, code_encode(&character->codes[i], character->team, failed)) != 0;
    for (size_t i = 0; i < character->call_count; i++) {
        json_t *call = json_object();
        json_put(call, "name", json_from_string(character->calls[i].name), failed);
        json_put(call, "counts", json_from_numbers(character->calls[i].counts, character->team, failed), failed);
        *failed |= json_array_append_new(calls, call) != 0;
    }
    for (uint32_t i = 0; i < character->team; i++)
        *failed |= json_array_append_new(threads, thread_encode(&character->per_thread[i], failed)) != 0;
    json_put(object, "codes", codes, failed);
    json_put(object, "calls", calls, failed);
    json_put(object, "per_thread", threads, failed);
    return object;
}

enum pcere_status store_character_write(const struct store *store, const char *codelet, const struct store_character *character, struct pcere_error *error)
{
    bool failed = false;
    json_t *object = character_encode(character, &failed);
    char *body = failed ? NULL : json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
    char *name = file_name(codelet, character->threads);
    struct text file = {0};
    json_decref(object);
    if (body)
        text_add_bytes(&file, body, strlen(body) - 1);
    check_add(&file, ",", "}\n");
    enum pcere_status status = !body || !name || file.failed ? pcere_fail_memory(error, "what a codelet does") : PCERE_OK;
    if (!status)
        status = file_replace(store_directory(store), name, file.data, file.length, false, "character.write", error);
    free(body);
    free(name);
    text_done(&file);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------------------------------------- */

static void fail_at(struct json_reader *reader, const char *key)
{
    if (!reader->status)
        reader->status = pcere_fail(reader->error, PCERE_DATA, 0, STORE_HINT_DAMAGED, "%s: \"%s\" cannot be", reader->where, key);
}

static void sparse_decode(struct json_reader *reader, const json_t *object, const char *key, double *values, size_t count)
{
    const json_t *list = json_read_array(reader, object, key);
    size_t words = json_array_size(list);
    if (words % 2)
        fail_at(reader, key);
    for (size_t i = 0; i + 1 < words && !reader->status; i += 2) {
        const json_t *index = json_array_get(list, i), *value = json_array_get(list, i + 1);
        double number = json_number_value(value);
        if (!json_is_integer(index) || json_integer_value(index) < 0 || (size_t)json_integer_value(index) >= count || !json_is_number(value) ||
            !(number >= 0 && number <= COUNT_MOST))
            fail_at(reader, key);
        else
            values[json_integer_value(index)] = number;
    }
}

static void thread_decode(struct json_reader *reader, const json_t *object, struct character_thread *thread)
{
    thread->moves = json_read_number(reader, object, "moves", 0, COUNT_MOST);
    thread->branches = json_read_number(reader, object, "branches", 0, COUNT_MOST);
    thread->mispredicted = json_read_number(reader, object, "mispredicted", 0, COUNT_MOST);
    if (json_object_get(object, "resolving_cycles"))
        thread->resolving_cycles = json_read_number(reader, object, "resolving_cycles", 0, COUNT_MOST);
    thread->other_instructions = json_read_number(reader, object, "other_instructions", 0, COUNT_MOST);
    const json_t *reuse = json_read_object(reader, object, "reuse"), *cold = json_read_object(reader, object, "cold");
    int kinds = json_object_get(reuse, foreign_names[0]) ? STORE_CHARACTER_KINDS : KINDS_FIRST;
    for (int written = 0; written < 2; written++)
        for (int kind = 0; kind < kinds; kind++) {
            sparse_decode(reader, reuse, use_names[written][kind], thread->reuse.uses[written][kind], STORE_CHARACTER_BINS);
            thread->reuse.cold[written][kind] = json_read_number(reader, cold, use_names[written][kind], 0, COUNT_MOST);
        }
    for (int regular = 0; regular < 2 && kinds > KINDS_FIRST; regular++)
        sparse_decode(reader, reuse, foreign_names[regular], thread->reuse.foreign[regular], STORE_CHARACTER_BINS);
    for (int written = 0; written < 2 && json_object_get(reuse, jump_names[written]); written++)
        sparse_decode(reader, reuse, jump_names[written], thread->reuse.jumps[written], STORE_CHARACTER_GAPS);
    if (json_object_get(reuse, "pages"))
        sparse_decode(reader, reuse, "pages", thread->reuse.pages, STORE_CHARACTER_BINS);
    sparse_decode(reader, object, "writebacks", thread->reuse.writebacks, STORE_CHARACTER_OCTAVES);
}

static uint64_t *counts_decode(struct json_reader *reader, const json_t *object, const char *key, uint32_t team)
{
    const json_t *list = json_read_array(reader, object, key);
    uint64_t *counts = calloc((size_t)team + 1, sizeof *counts);
    if (!counts && !reader->status)
        reader->status = pcere_fail_memory(reader->error, "counts");
    if (json_array_size(list) != team)
        fail_at(reader, key);
    for (uint32_t i = 0; i < team && !reader->status; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            fail_at(reader, key);
        else
            counts[i] = (uint64_t)json_integer_value(value);
    }
    return counts;
}

/* Zeroed room for the elements of an array; NULL after a failure. */
static void *items_new(struct json_reader *reader, const json_t *list, const char *key, size_t item_bytes, size_t *ret_count)
{
    size_t count = json_array_size(list);
    void *items = count <= ITEMS_MOST ? calloc(count + 1, item_bytes) : NULL;
    if (count > ITEMS_MOST)
        fail_at(reader, key);
    else if (!items && !reader->status)
        reader->status = pcere_fail_memory(reader->error, "what a codelet does");
    *ret_count = reader->status ? 0 : count;
    return items;
}

static void character_decode(struct json_reader *reader, const json_t *object, struct store_character *character)
{
    char *schema = json_read_string(reader, object, "schema", false);
    if (schema && strcmp(schema, SCHEMA) != 0)
        fail_at(reader, "schema");
    free(schema);
    character->threads = (uint32_t)json_read_u64(reader, object, "threads", STORE_CHARACTER_THREADS_MOST);
    character->team = (uint32_t)json_read_u64(reader, object, "team", STORE_CHARACTER_THREADS_MOST);
    character->warm = json_read_bool(reader, object, "warm");
    character->isa = json_read_string(reader, object, "isa", false);
    character->line_bytes = (uint32_t)json_read_u64(reader, object, "line_bytes", 65536);
    character->followed_ratio = json_read_number(reader, object, "followed_ratio", 0, 1);
    character->memory_bytes = json_read_u64(reader, object, "memory_bytes", INT64_MAX);
    character->new_pages = json_read_u64(reader, object, "new_pages", INT64_MAX);
    const json_t *codes = json_read_array(reader, object, "codes"), *calls = json_read_array(reader, object, "calls"),
                 *threads = json_read_array(reader, object, "per_thread");
    if (!reader->status && (json_array_size(threads) != character->team || !character->team))
        fail_at(reader, "per_thread");
    if (reader->status)
        return;
    size_t team;
    character->per_thread = items_new(reader, threads, "per_thread", sizeof *character->per_thread, &team);
    character->codes = items_new(reader, codes, "codes", sizeof *character->codes, &character->code_count);
    character->calls = items_new(reader, calls, "calls", sizeof *character->calls, &character->call_count);
    for (size_t i = 0; i < team && !reader->status; i++)
        thread_decode(reader, json_array_get(threads, i), &character->per_thread[i]);
    for (size_t i = 0; i < character->code_count && !reader->status; i++) {
        const json_t *entry = json_array_get(codes, i);
        struct character_code *code = &character->codes[i];
        code->loop = json_read_bool(reader, entry, "loop");
        code->instructions = json_read_u64(reader, entry, "instructions", UINT32_MAX);
        code->flops = json_read_u64(reader, entry, "flops", UINT32_MAX);
        code->moved_bytes = json_read_u64(reader, entry, "moved_bytes", UINT32_MAX);
        code->counts = counts_decode(reader, entry, "counts", character->team);
        bool counted = json_object_get(entry, "entries") != NULL;      /* before 0.2 they were not counted */
        code->entries = counted ? counts_decode(reader, entry, "entries", character->team) : calloc((size_t)character->team + 1, sizeof *code->entries);
        if (!code->entries && !reader->status)
            reader->status = pcere_fail_memory(reader->error, "counts");
        code->text = json_read_string(reader, entry, "assembly", false);
    }
    for (size_t i = 0; i < character->call_count && !reader->status; i++) {
        character->calls[i].name = json_read_string(reader, json_array_get(calls, i), "name", false);
        character->calls[i].counts = counts_decode(reader, json_array_get(calls, i), "counts", character->team);
    }
}

bool store_has_character(const struct store *store, const char *codelet, uint32_t threads)
{
    char *name = file_name(codelet, threads);
    bool there = name && faccessat(store_directory(store), name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    free(name);
    return there;
}

enum pcere_status store_character_load(const struct store *store, const char *codelet, uint32_t threads, struct store_character *ret_character,
                                       struct pcere_error *error)
{
    char *name = file_name(codelet, threads);
    void *data = NULL;
    size_t bytes = 0;
    json_t *object = NULL;
    struct store_character character = {0};
    enum pcere_status status = name ? file_read(store_directory(store), name, CHARACTER_FILE_BYTES_MOST, &data, &bytes, error)
                                    : pcere_fail_memory(error, "a path");
    if (!status)
        status = check_verify(data, bytes, "}\n", name, error);
    if (!status)
        status = json_parse(data, bytes, name, &object, error);
    if (!status) {
        struct json_reader reader = {.where = name, .error = error};
        character_decode(&reader, object, &character);
        status = reader.status;
    }
    if (!status && character.threads != threads)
        status = pcere_fail(error, PCERE_DATA, 0, STORE_HINT_DAMAGED, "%s is of %u thread%s", name, character.threads, character.threads == 1 ? "" : "s");
    json_decref(object);
    free(data);
    free(name);
    if (status)
        store_character_done(&character);
    else
        *ret_character = character;
    return status;
}
