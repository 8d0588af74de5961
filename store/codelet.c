/* store/codelet.c - the bytes of a codelet file and the rules that a codelet keeps, the same for writing and reading. */
#include "core/text.h"
#include "include/pcere/bisect.h"
#include "store/format.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define CHECK_BYTES sizeof(uint64_t)

static const size_t part_bytes[PART_COUNT] = {
    1, 1, sizeof(uint64_t), sizeof(struct store_mapping), sizeof(struct store_run), sizeof(struct store_run),
    sizeof(struct store_thread), sizeof(struct store_lock), sizeof(struct store_frame), sizeof(struct store_range),
    sizeof(struct store_signal),
    sizeof(struct store_descriptor), sizeof(struct store_stream), sizeof(struct store_run),
    sizeof(struct store_random), sizeof(struct store_run), 1, sizeof(struct store_alias), sizeof(struct store_key), sizeof(struct store_run),
};

void store_codelet_done(struct store_codelet *codelet)
{
    if (!codelet)
        return;
    free(codelet->region);
    free(codelet->locale);
    free(codelet->words);
    free(codelet->mappings);
    free(codelet->before);
    free(codelet->after);
    free(codelet->made);
    free(codelet->aliases);
    free(codelet->threads);
    free(codelet->locks);
    free(codelet->frames);
    free(codelet->ignored);
    free(codelet->signals);
    free(codelet->descriptors);
    free(codelet->streams);
    free(codelet->contents);
    free(codelet->randoms);
    free(codelet->externals);
    free(codelet->keys);
    *codelet = (struct store_codelet){0};
}

bool codelet_name_valid(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length <= 200 && name[0] != '.' && !strchr(name, '/');
}

/* ---- rules --------------------------------------------------------------------------------------------------------------- */

static const char *check_mappings(const struct store_codelet *codelet, uint64_t page_bytes)
{
    uint64_t end = 0;
    for (size_t i = 0; i < codelet->mapping_count; i++) {
        const struct store_mapping *mapping = &codelet->mappings[i];
        if (mapping->start >= mapping->end || mapping->start % page_bytes || mapping->end % page_bytes)
            return "a mapping is empty or does not lie on page boundaries";
        if (mapping->start < end)
            return "mappings overlap or are not ascending";
        if (mapping->role < STORE_ROLE_IMAGE || mapping->role > STORE_ROLE_LIBRARY)
            return "a mapping has an unknown role";
        if (!memchr(mapping->name, 0, sizeof mapping->name))
            return "a mapping's name has no end";
        end = mapping->end;
    }
    return NULL;
}

static const char *check_runs(const struct store_run *runs, size_t count, uint64_t page_bytes, uint64_t page_count)
{
    uint64_t end = 0;
    for (size_t i = 0; i < count; i++) {
        const struct store_run *run = &runs[i];
        if (!run->count || run->address % page_bytes || run->count > (UINT64_MAX - run->address) / page_bytes)
            return "a run of pages is empty or does not lie on page boundaries";
        if (run->address < end)
            return "runs of pages overlap or are not ascending";
        if (run->page != STORE_PAGE_ZERO && (run->page >= page_count || run->count > page_count - run->page))
            return "a run names pages that the file 'pages' does not hold";
        end = run->address + run->count * page_bytes;
    }
    return NULL;
}

/* Every page before the region lies in a mapping; a run may span mappings that touch. */
static const char *check_covered(const struct store_codelet *codelet, uint64_t page_bytes)
{
    size_t mapping = 0;
    for (size_t i = 0; i < codelet->before_count; i++) {
        uint64_t at = codelet->before[i].address, end = at + codelet->before[i].count * page_bytes;
        while (at < end) {
            while (mapping < codelet->mapping_count && codelet->mappings[mapping].end <= at)
                mapping++;
            if (mapping == codelet->mapping_count || codelet->mappings[mapping].start > at)
                return "a run of pages lies outside all mappings";
            at = codelet->mappings[mapping].end;
        }
    }
    return NULL;
}

/* A replay takes its own memory for what the region allocated: nothing captured lies there. */
static const char *check_made(const struct store_codelet *codelet, uint64_t page_bytes)
{
    for (size_t i = 0; i < codelet->made_count; i++) {
        uint64_t start = codelet->made[i].address, end = start + codelet->made[i].count * page_bytes;
        BISECT(low, 0, codelet->mapping_count, j, codelet->mappings[j].end <= start);
        if (low < codelet->mapping_count && codelet->mappings[low].start < end)
            return "what the region allocated lies in memory that was there before";
    }
    return NULL;
}

static bool is_mapped(const struct store_codelet *codelet, uint64_t start, uint64_t end)
{
    BISECT(low, 0, codelet->mapping_count, i, codelet->mappings[i].end <= start);
    for (; start < end && low < codelet->mapping_count && codelet->mappings[low].start <= start; low++)
        start = codelet->mappings[low].end;
    return start >= end;
}

/* The first alias that ends above the address. */
static size_t alias_above(const struct store_codelet *codelet, uint64_t address)
{
    BISECT(low, 0, codelet->alias_count, i, codelet->aliases[i].address + codelet->aliases[i].bytes <= address);
    return low;
}

static bool meets_alias(const struct store_codelet *codelet, uint64_t start, uint64_t end)
{
    size_t i = alias_above(codelet, start);
    return i < codelet->alias_count && codelet->aliases[i].address < end;
}

static const char *check_aliases(const struct store_codelet *codelet, uint64_t page_bytes)
{
    uint64_t floor = 0;
    for (size_t i = 0; i < codelet->alias_count; i++) {
        const struct store_alias *alias = &codelet->aliases[i];
        if (!alias->bytes || (alias->address | alias->original | alias->bytes) % page_bytes)
            return "memory at two addresses is empty or does not lie on page boundaries";
        if (alias->address < floor || alias->bytes > UINT64_MAX - alias->address || alias->bytes > UINT64_MAX - alias->original)
            return "memory at two addresses wraps around, overlaps or is not ascending";
        floor = alias->address + alias->bytes;
        if (!is_mapped(codelet, alias->address, floor) || !is_mapped(codelet, alias->original, alias->original + alias->bytes))
            return "memory at two addresses lies outside all mappings";
    }
    for (size_t i = 0; i < codelet->alias_count; i++)
        if (meets_alias(codelet, codelet->aliases[i].original, codelet->aliases[i].original + codelet->aliases[i].bytes))
            return "memory at two addresses refers to what refers to another";
    for (size_t i = 0; codelet->alias_count && i < codelet->before_count + codelet->after_count; i++) {
        const struct store_run *run = i < codelet->before_count ? &codelet->before[i] : &codelet->after[i - codelet->before_count];
        if (meets_alias(codelet, run->address, run->address + run->count * page_bytes))
            return "a page is there twice";
    }
    return NULL;
}

static const char *check_rest(const struct store_codelet *codelet)
{
    if (codelet->path > 2)
        return "it enters its region in an unknown way";
    if (!codelet->has_after && (codelet->after_count || codelet->made_count))
        return "it has memory after a region whose end was not seen";
    if (codelet->setting.level_count > STORE_LEVELS_MAX)
        return "it lies deeper in other regions than can be";
    for (uint32_t i = 0; i < codelet->setting.level_count; i++)
        if (codelet->setting.levels[i].number >= codelet->setting.levels[i].team)
            return "a thread's number is not one of its team's";
    if (codelet->setting.team && codelet->setting.team >= codelet->setting.teams)
        return "a team's number is not one of its league's";
    for (size_t i = 0; i < codelet->thread_count; i++)
        if (codelet->threads[i].tls_bytes > UINT64_MAX - codelet->threads[i].tls_address)
            return "a thread's TLS block wraps around";
    for (size_t i = 0; i < codelet->lock_count; i++)
        if (codelet->locks[i].kind > STORE_LOCK_CRITICAL)
            return "a lock is of unknown kind";
    for (size_t i = 0; i < codelet->random_count; i++)
        if (codelet->randoms[i].kind < STORE_RANDOM_TABLE || codelet->randoms[i].kind > STORE_RANDOM_VARIABLES ||
            codelet->randoms[i].bytes > STORE_RANDOM_BYTES || codelet->randoms[i].known_after > 1)
            return "a generator of random numbers is of unknown kind or size";
    for (size_t i = 0; i < codelet->frame_count; i++)
        if (!memchr(codelet->frames[i].symbol, 0, sizeof codelet->frames[i].symbol))
            return "a symbol of the call path has no end";
    for (size_t i = 0; i < codelet->ignored_count; i++)
        if (codelet->ignored[i].bytes > UINT64_MAX - codelet->ignored[i].address)
            return "an ignored range wraps around";
    for (size_t i = 0; i < codelet->signal_count; i++)
        if (codelet->signals[i].number < 1 || codelet->signals[i].number > 64 || !codelet->signals[i].handler)
            return "a signal has no number or no handler";
    for (size_t i = 0; i < codelet->key_count; i++)
        if (codelet->keys[i].key >= STORE_KEYS_MAX)
            return "a thread-specific key has a number that is too high";
    return NULL;
}

static const char *check_contents(const struct store_codelet *codelet, const struct store_descriptor *descriptor, uint64_t page_bytes,
                                  uint64_t page_count)
{
    if (descriptor->content_first > codelet->content_count ||
        descriptor->content_count > codelet->content_count - descriptor->content_first)
        return "a file's content is not among those that it holds";
    const struct store_run *runs = descriptor->content_count ? codelet->contents + descriptor->content_first : NULL;
    const char *wrong = check_runs(runs, (size_t)descriptor->content_count, page_bytes, page_count);
    for (size_t i = 0; !wrong && i < descriptor->content_count; i++)
        if (runs[i].address + (runs[i].count - 1) * page_bytes >= descriptor->bytes)
            wrong = "a file's content is longer than the file";
    return wrong;
}

static const char *check_files(const struct store_codelet *codelet, uint64_t page_bytes, uint64_t page_count)
{
    int32_t floor = -1;
    for (size_t i = 0; i < codelet->descriptor_count; i++) {
        const struct store_descriptor *descriptor = &codelet->descriptors[i];
        bool folder = !i && descriptor->number == STORE_DESCRIPTOR_FOLDER;
        if (folder && (descriptor->kind != STORE_DESCRIPTOR_DIRECTORY || descriptor->path[0] != '/'))
            return "its working directory is none";
        if (!folder && descriptor->number <= floor)
            return "descriptors are not ascending";
        if (descriptor->kind < STORE_DESCRIPTOR_FILE || descriptor->kind > STORE_DESCRIPTOR_OTHER)
            return "a descriptor is of unknown kind";
        if (!memchr(descriptor->path, 0, sizeof descriptor->path))
            return "a descriptor's path has no end";
        if (descriptor->offset > INT64_MAX || descriptor->bytes > INT64_MAX)
            return "a file is longer than files can be";
        const char *wrong = check_contents(codelet, descriptor, page_bytes, page_count);
        if (wrong)
            return wrong;
        floor = folder ? -1 : descriptor->number;
    }
    for (size_t i = 0; i < codelet->stream_count; i++)
        if (codelet->streams[i].kind > STORE_STREAM_STDERR || codelet->streams[i].address > UINT64_MAX - STORE_STREAM_BYTES)
            return "a stream is of unknown kind, or wraps around";
    return NULL;
}

/* What is wrong with it, or NULL: the same rules for writing and reading, so that nothing unreadable is ever written. */
static const char *codelet_validate(const struct store_codelet *codelet, uint64_t page_bytes, uint64_t page_count)
{
    const char *wrong = check_mappings(codelet, page_bytes);
    if (!wrong)
        wrong = check_runs(codelet->before, codelet->before_count, page_bytes, page_count);
    if (!wrong)
        wrong = check_covered(codelet, page_bytes);
    if (!wrong)
        wrong = check_runs(codelet->after, codelet->after_count, page_bytes, page_count);
    if (!wrong)
        wrong = check_runs(codelet->made, codelet->made_count, page_bytes, page_count);
    if (!wrong)
        wrong = check_made(codelet, page_bytes);
    if (!wrong)
        wrong = check_aliases(codelet, page_bytes);
    if (!wrong)
        wrong = check_files(codelet, page_bytes, page_count);
    if (!wrong)
        wrong = check_runs(codelet->externals, codelet->external_count, page_bytes, page_count);
    return wrong ? wrong : check_rest(codelet);
}

/* ---- writing ------------------------------------------------------------------------------------------------------------- */

static void add_padding(struct text *file)
{
    static const char zeros[8];
    text_add_bytes(file, zeros, (8 - file->length % 8) % 8);
}

/* What lies behind a name's NUL in memory is no one's business on disk, and padding has no defined bytes. */
static void add_mappings(struct text *file, const struct store_codelet *codelet)
{
    for (size_t i = 0; i < codelet->mapping_count; i++) {
        struct store_mapping clean = codelet->mappings[i];
        memset(clean.name, 0, sizeof clean.name);
        memccpy(clean.name, codelet->mappings[i].name, 0, sizeof clean.name);
        text_add_bytes(file, &clean, sizeof clean);
    }
}

static void add_threads(struct text *file, const struct store_codelet *codelet)
{
    for (size_t i = 0; i < codelet->thread_count; i++) {
        struct store_thread clean;
        memset(&clean, 0, sizeof clean);
        clean.number = codelet->threads[i].number;
        clean.image = codelet->threads[i].image;
        clean.tls_address = codelet->threads[i].tls_address;
        clean.tls_bytes = codelet->threads[i].tls_bytes;
        text_add_bytes(file, &clean, sizeof clean);
    }
}

static void add_frames(struct text *file, const struct store_codelet *codelet)
{
    for (size_t i = 0; i < codelet->frame_count; i++) {
        struct store_frame clean = {.address = codelet->frames[i].address};
        memccpy(clean.symbol, codelet->frames[i].symbol, 0, sizeof clean.symbol);
        text_add_bytes(file, &clean, sizeof clean);
    }
}

static void add_descriptors(struct text *file, const struct store_codelet *codelet)
{
    for (size_t i = 0; i < codelet->descriptor_count; i++) {
        struct store_descriptor clean = codelet->descriptors[i];
        memset(clean.path, 0, sizeof clean.path);
        memccpy(clean.path, codelet->descriptors[i].path, 0, sizeof clean.path);
        text_add_bytes(file, &clean, sizeof clean);
    }
}

static uint64_t file_bytes_of(const struct codelet_header *header, uint64_t limit)
{
    uint64_t bytes = sizeof *header + CHECK_BYTES;
    for (int part = 0; part < PART_COUNT; part++) {
        if (header->counts[part] > limit / part_bytes[part])
            return UINT64_MAX;
        bytes += (header->counts[part] * part_bytes[part] + 7) & ~7ull;
        if (bytes > limit)
            return UINT64_MAX;
    }
    return bytes;
}

enum pcere_status codelet_encode(const struct store_codelet *codelet, const char *name, uint64_t store_id, uint64_t page_bytes,
                                 uint64_t page_count, void **ret_data, size_t *ret_bytes, struct pcere_error *error)
{
    const char *region = codelet->region ? codelet->region : "", *locale = codelet->locale ? codelet->locale : "";
    const char *wrong = codelet_validate(codelet, page_bytes, page_count);
    if (wrong)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "the codelet '%s' cannot be stored: %s", name, wrong);
    struct codelet_header header = {
        .magic = CODELET_MAGIC, .version = CODELET_VERSION, .path = codelet->path, .store_id = store_id,
        .page_bytes = page_bytes, .invocation = codelet->invocation, .members = codelet->members,
        .num_threads = codelet->num_threads, .proc_bind = codelet->proc_bind, .capture_threads = codelet->capture_threads,
        .flags = (codelet->has_after ? CODELET_HAS_AFTER : 0) | (codelet->does_io ? CODELET_DOES_IO : 0) | (codelet->reads_opened ? CODELET_READS_OPENED : 0), .stack_pointer = codelet->stack_pointer,
        .in_vivo_ns = codelet->in_vivo_ns, .ended_ns = codelet->ended_ns, .unit_id = codelet->unit_id,
        .setting = codelet->setting,
        .counts = {strlen(name), strlen(region), codelet->word_count, codelet->mapping_count, codelet->before_count,
                   codelet->after_count, codelet->thread_count, codelet->lock_count, codelet->frame_count,
                   codelet->ignored_count, codelet->signal_count, codelet->descriptor_count, codelet->stream_count, codelet->content_count,
                   codelet->random_count, codelet->external_count, strlen(locale), codelet->alias_count, codelet->key_count,
                   codelet->made_count},
    };
    header.file_bytes = file_bytes_of(&header, STORE_CODELET_BYTES_MOST);
    if (header.file_bytes == UINT64_MAX)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "the codelet '%s' cannot be stored: its index is too large", name);

    struct text file = {0};
    text_add_bytes(&file, &header, sizeof header);
    text_add(&file, name);
    add_padding(&file);
    text_add(&file, region);
    add_padding(&file);
    text_add_bytes(&file, codelet->words, codelet->word_count * sizeof *codelet->words);
    add_mappings(&file, codelet);
    text_add_bytes(&file, codelet->before, codelet->before_count * sizeof *codelet->before);
    text_add_bytes(&file, codelet->after, codelet->after_count * sizeof *codelet->after);
    add_threads(&file, codelet);
    text_add_bytes(&file, codelet->locks, codelet->lock_count * sizeof *codelet->locks);
    add_frames(&file, codelet);
    text_add_bytes(&file, codelet->ignored, codelet->ignored_count * sizeof *codelet->ignored);
    text_add_bytes(&file, codelet->signals, codelet->signal_count * sizeof *codelet->signals);
    add_descriptors(&file, codelet);
    text_add_bytes(&file, codelet->streams, codelet->stream_count * sizeof *codelet->streams);
    text_add_bytes(&file, codelet->contents, codelet->content_count * sizeof *codelet->contents);
    text_add_bytes(&file, codelet->randoms, codelet->random_count * sizeof *codelet->randoms);
    text_add_bytes(&file, codelet->externals, codelet->external_count * sizeof *codelet->externals);
    text_add(&file, locale);
    add_padding(&file);
    text_add_bytes(&file, codelet->aliases, codelet->alias_count * sizeof *codelet->aliases);
    text_add_bytes(&file, codelet->keys, codelet->key_count * sizeof *codelet->keys);
    text_add_bytes(&file, codelet->made, codelet->made_count * sizeof *codelet->made);
    uint64_t check = file.failed ? 0 : XXH64(file.data, file.length, 0);
    text_add_bytes(&file, &check, sizeof check);
    size_t bytes = file.length;
    char *data = text_take(&file);
    if (!data)
        return pcere_fail_memory(error, "a codelet's index");
    *ret_data = data;
    *ret_bytes = bytes;
    return PCERE_OK;
}

/* ---- reading ------------------------------------------------------------------------------------------------------------- */

static enum pcere_status damaged(struct pcere_error *error, const char *name, const char *what)
{
    return pcere_fail(error, PCERE_DATA, 0, STORE_HINT_DAMAGED, "the codelet '%s' is damaged: %s", name, what);
}

/* A copy of the next part, with a NUL behind it, and step over it and its padding. */
static void *take_part(const unsigned char **at, const struct codelet_header *header, enum codelet_part part)
{
    size_t bytes = (size_t)header->counts[part] * part_bytes[part];
    char *copy = malloc(bytes + 1);
    if (copy) {
        memcpy(copy, *at, bytes);
        copy[bytes] = 0;
    }
    *at += (bytes + 7) & ~(size_t)7;
    return copy;
}

static enum pcere_status check_header(const void *data, size_t bytes, const char *name, uint64_t store_id, uint64_t page_bytes,
                                      struct codelet_header *ret_header, struct pcere_error *error)
{
    struct codelet_header header = {0};
    uint64_t check;
    if (bytes < sizeof header + CHECK_BYTES)
        return damaged(error, name, "it is too short");
    memcpy(&header, data, sizeof header);
    memcpy(&check, (const char *)data + bytes - CHECK_BYTES, sizeof check);
    if (memcmp(header.magic, CODELET_MAGIC, sizeof header.magic) != 0)
        return damaged(error, name, "it does not begin as a codelet does");
    if (XXH64(data, bytes - CHECK_BYTES, 0) != check)
        return damaged(error, name, "its checksum does not match");
    if (header.version != CODELET_VERSION)
        return pcere_fail(error, PCERE_DATA, 0, "capture the program again with this version",
                          "the codelet '%s' was written by another version of PCERE (format %u, this one reads %u)", name,
                          header.version, CODELET_VERSION);
    if (header.file_bytes != bytes || file_bytes_of(&header, bytes) != bytes)
        return damaged(error, name, "its length does not match what it should hold");
    if (header.store_id != store_id || header.page_bytes != page_bytes)
        return damaged(error, name, "it belongs to another store");
    *ret_header = header;
    return PCERE_OK;
}

enum pcere_status codelet_decode(const void *data, size_t bytes, const char *name, uint64_t store_id, uint64_t page_bytes,
                                 uint64_t page_count, struct store_codelet *ret_codelet, struct pcere_error *error)
{
    struct codelet_header header = {0};
    enum pcere_status status = check_header(data, bytes, name, store_id, page_bytes, &header, error);
    if (status)
        return status;
    const unsigned char *at = (const unsigned char *)data + sizeof header;
    char *own_name = take_part(&at, &header, PART_NAME);
    bool named = own_name && strlen(name) == header.counts[PART_NAME] && strcmp(own_name, name) == 0;
    free(own_name);
    if (!own_name)
        return pcere_fail_memory(error, "a codelet");
    if (!named)
        return damaged(error, name, "it was written under another name");
    struct store_codelet codelet = {
        .invocation = header.invocation, .members = header.members, .path = header.path, .num_threads = header.num_threads,
        .proc_bind = header.proc_bind, .capture_threads = header.capture_threads, .stack_pointer = header.stack_pointer,
        .in_vivo_ns = header.in_vivo_ns, .ended_ns = header.ended_ns, .unit_id = header.unit_id, .has_after = header.flags & CODELET_HAS_AFTER,
        .word_count = header.counts[PART_WORDS], .mapping_count = header.counts[PART_MAPPINGS],
        .before_count = header.counts[PART_BEFORE], .after_count = header.counts[PART_AFTER],
        .thread_count = header.counts[PART_THREADS], .lock_count = header.counts[PART_LOCKS],
        .frame_count = header.counts[PART_FRAMES], .ignored_count = header.counts[PART_IGNORED],
        .signal_count = header.counts[PART_SIGNALS], .setting = header.setting,
        .descriptor_count = header.counts[PART_DESCRIPTORS], .stream_count = header.counts[PART_STREAMS],
        .content_count = header.counts[PART_CONTENTS], .random_count = header.counts[PART_RANDOMS],
        .external_count = header.counts[PART_EXTERNALS], .alias_count = header.counts[PART_ALIASES], .key_count = header.counts[PART_KEYS],
        .made_count = header.counts[PART_MADE], .does_io = header.flags & CODELET_DOES_IO,
        .reads_opened = header.flags & CODELET_READS_OPENED,
    };
    codelet.region = take_part(&at, &header, PART_REGION);
    codelet.words = take_part(&at, &header, PART_WORDS);
    codelet.mappings = take_part(&at, &header, PART_MAPPINGS);
    codelet.before = take_part(&at, &header, PART_BEFORE);
    codelet.after = take_part(&at, &header, PART_AFTER);
    codelet.threads = take_part(&at, &header, PART_THREADS);
    codelet.locks = take_part(&at, &header, PART_LOCKS);
    codelet.frames = take_part(&at, &header, PART_FRAMES);
    codelet.ignored = take_part(&at, &header, PART_IGNORED);
    codelet.signals = take_part(&at, &header, PART_SIGNALS);
    codelet.descriptors = take_part(&at, &header, PART_DESCRIPTORS);
    codelet.streams = take_part(&at, &header, PART_STREAMS);
    codelet.contents = take_part(&at, &header, PART_CONTENTS);
    codelet.randoms = take_part(&at, &header, PART_RANDOMS);
    codelet.externals = take_part(&at, &header, PART_EXTERNALS);
    codelet.locale = take_part(&at, &header, PART_LOCALE);
    codelet.aliases = take_part(&at, &header, PART_ALIASES);
    codelet.keys = take_part(&at, &header, PART_KEYS);
    codelet.made = take_part(&at, &header, PART_MADE);
    if (!codelet.region || !codelet.words || !codelet.mappings || !codelet.before || !codelet.after || !codelet.threads ||
        !codelet.locks || !codelet.frames || !codelet.ignored || !codelet.signals || !codelet.descriptors ||
        !codelet.streams || !codelet.contents || !codelet.randoms || !codelet.externals || !codelet.locale ||
        !codelet.aliases || !codelet.keys || !codelet.made)
        status = pcere_fail_memory(error, "a codelet");
    else {
        const char *wrong = codelet_validate(&codelet, page_bytes, page_count);
        if (wrong)
            status = damaged(error, name, wrong);
        else if (strlen(codelet.region) != header.counts[PART_REGION] || strlen(codelet.locale) != header.counts[PART_LOCALE])
            status = damaged(error, name, "its region's or its locale's name has a hole");
    }
    if (status) {
        store_codelet_done(&codelet);
        return status;
    }
    *ret_codelet = codelet;
    return PCERE_OK;
}
