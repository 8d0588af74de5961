/* replay-rt/launcher/character.c - from what a codelet's process counted, and its units' assembly, to a store's characters. */
#include "replay-rt/launcher/character.h"

#include "core/files.h"
#include "core/text.h"
#include "include/pcere/character_abi.h"
#include "replay-rt/launcher/assembly.h"
#include "replay-rt/launcher/policy.h"
#include "replay-rt/launcher/replay_session.h"
#include "store/character.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RARE_RATIO 0.0005             /* of all instructions: less is not listed */
#define OFTEN_RATIO 0.5               /* of a loop's passes: a block that runs as often is part of its usual path */
#define BLOCKS_BEFORE 6u              /* a loop: where its registers get their first values, at the farthest */
#define ASSEMBLY_BYTES_MOST (512u << 20)
#define COUNTED_BYTES_MOST (1u << 30)
#define FOLLOWED_BYTES (4u << 20)     /* of this much memory each line is followed; of more, as many lines as this has, at least */
enum { SHIFT_MOST = 6 };

_Static_assert(STORE_CHARACTER_BINS == CHARACTER_BINS && STORE_CHARACTER_OCTAVES == CHARACTER_OCTAVES && STORE_CHARACTER_GAPS == CHARACTER_GAPS && STORE_CHARACTER_KINDS == (int)CHARACTER_KINDS &&
               STORE_CHARACTER_PAGE_BYTES == CHARACTER_PAGE_BYTES, "alike");

struct unit_blocks { uint64_t id, first, count; struct assembly assembly; };    /* first: its place among all units' words */

struct counted {                      /* what a process wrote */
    uint64_t *words;
    struct character_file header;
    struct unit_blocks *units;
    uint64_t words_each;              /* of all units, for one thread */
    const struct character_record **threads;      /* those that ran code of the program */
    const uint64_t **counts;          /* of each of them: counts of a unit's blocks, words of their selects */
    uint32_t thread_count;
};

static uint32_t shift_choose(uint64_t memory_bytes)
{
    uint32_t shift = 0;
    while (shift < SHIFT_MOST && memory_bytes >> shift > FOLLOWED_BYTES)
        shift++;
    return shift;
}

/* ---- what was counted ---------------------------------------------------------------------------------------------------- */

static void counted_done(struct counted *counted)
{
    for (uint64_t i = 0; counted->units && i < counted->header.units; i++)
        assembly_done(&counted->units[i].assembly);
    free(counted->units);
    free(counted->threads);
    free(counted->counts);
    free(counted->words);
}

static enum pcere_status words_read(const struct plan_file *plan, uint64_t **ret_words, uint64_t *ret_count, struct pcere_error *error)
{
    uint64_t bytes = plan->plan->result.character_bytes, done = 0;
    uint64_t *words = bytes >= sizeof(struct character_file) && bytes <= COUNTED_BYTES_MOST && bytes % 8 == 0 ? malloc(bytes) : NULL;
    while (words && done < bytes) {
        ssize_t got = pread(plan->fd, (char *)words + done, bytes - done, (off_t)(plan->bytes + done));
        if (got <= 0)
            break;
        done += (uint64_t)got;
    }
    if (!words || done < bytes) {
        free(words);
        return pcere_fail(error, PCERE_NO, 0, NULL, "a codelet did not say what it counted");
    }
    *ret_words = words;
    *ret_count = bytes / 8;
    return PCERE_OK;
}

/* Everything in it is checked: it comes from the process that ran the program's code. */
static enum pcere_status counted_open(const struct plan_file *plan, struct counted *ret_counted, struct pcere_error *error)
{
    struct counted counted = {0};
    uint64_t total = 0, at = sizeof counted.header / 8;
    const uint64_t record = sizeof(struct character_record) / 8;
    enum pcere_status status = words_read(plan, &counted.words, &total, error);
    if (status)
        return status;
    memcpy(&counted.header, counted.words, sizeof counted.header);
    bool sound = counted.header.magic == CHARACTER_MAGIC && counted.header.units <= CHARACTER_UNITS_MOST && counted.header.threads <= STORE_CHARACTER_THREADS_MOST &&
                 counted.header.shift <= SHIFT_MOST && at + 2 * counted.header.units <= total;
    if (!sound)
        counted.header = (struct character_file){0};
    counted.units = calloc(counted.header.units + 1, sizeof *counted.units);
    counted.threads = calloc(counted.header.threads + 1, sizeof *counted.threads);
    counted.counts = calloc(counted.header.threads + 1, sizeof *counted.counts);
    if (!counted.units || !counted.threads || !counted.counts) {
        counted_done(&counted);
        return pcere_fail_memory(error, "what a codelet counted");
    }
    for (uint64_t i = 0; i < counted.header.units && sound; i++, at += 2) {
        counted.units[i] = (struct unit_blocks){.id = counted.words[at], .first = counted.words_each, .count = counted.words[at + 1]};
        sound = counted.units[i].count < total;
        counted.words_each += (1 + CHARACTER_SELECT_WORDS) * counted.units[i].count;
    }
    sound = sound && total - at == counted.header.threads * (record + counted.words_each);
    for (uint64_t i = 0; i < counted.header.threads && sound; i++, at += record + counted.words_each) {
        const uint64_t *counts = counted.words + at + record;
        uint64_t any = 0;
        for (uint64_t b = 0; b < counted.words_each; b++)
            any |= counts[b];
        if (!any)
            continue;
        counted.threads[counted.thread_count] = (const struct character_record *)(counted.words + at);
        counted.counts[counted.thread_count++] = counts;
    }
    if (!sound || !counted.thread_count) {
        counted_done(&counted);
        return pcere_fail(error, PCERE_NO, 0, sound ? "regions whose code lies in shared libraries cannot be modelled" : NULL,
                          sound ? "a codelet ran no code that counts" : "what a codelet counted cannot be read");
    }
    *ret_counted = counted;
    return PCERE_OK;
}

static enum pcere_status assemblies_open(const struct build *build, struct counted *counted, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    const char *slash = strrchr(build->executable, '/');
    for (uint64_t i = 0; i < counted->header.units && !status; i++) {
        struct text path = {0};
        void *text = NULL;
        size_t bytes;
        text_addf(&path, "%.*s/%016" PRIx64 ".s", (int)(slash ? slash - build->executable : 0), build->executable, counted->units[i].id);
        status = path.failed ? pcere_fail_memory(error, "a path") : file_read(AT_FDCWD, path.data, ASSEMBLY_BYTES_MOST, &text, &bytes, error);
        if (!status)
            status = assembly_parse(text, &counted->units[i].assembly, error);
        free(text);
        text_done(&path);
    }
    return status;
}

/* ---- from blocks to codes ------------------------------------------------------------------------------------------------ */

struct gathering {
    const struct counted *counted;
    struct store_character *character;
    size_t code_capacity, call_capacity;
    bool failed;
};

/* How often each thread ran a block; one that code generation added runs as often as the one before it. */
static uint64_t block_count(const struct gathering *gathering, const struct unit_blocks *unit, size_t block, uint32_t thread)
{
    const struct assembly_block *blocks = unit->assembly.blocks;
    if (blocks[block].is_rare)
        return 0;
    while (block && blocks[block].number == ASSEMBLY_NO_BLOCK && blocks[block - 1].function == blocks[block].function)
        block--;
    return blocks[block].number < unit->count ? gathering->counted->counts[thread][unit->first + blocks[block].number] : 0;
}

static uint64_t block_total(const struct gathering *gathering, const struct unit_blocks *unit, size_t block)
{
    uint64_t total = 0;
    for (uint32_t t = 0; t < gathering->counted->thread_count; t++)
        total += block_count(gathering, unit, block, t);
    return total;
}

static struct character_code *code_add(struct gathering *gathering, bool loop)
{
    struct store_character *character = gathering->character;
    uint64_t *counts = calloc(gathering->counted->thread_count, sizeof *counts), *entries = calloc(gathering->counted->thread_count, sizeof *entries);
    if (!counts || !entries || !array_reserve(&character->codes, &gathering->code_capacity, character->code_count + 1, sizeof *character->codes)) {
        free(counts);
        free(entries);
        gathering->failed = true;
        return NULL;
    }
    struct character_code *code = &character->codes[character->code_count++];
    *code = (struct character_code){.loop = loop, .counts = counts, .entries = entries};
    return code;
}

/* Selects of which the code generator made branches are mispredicted as such. */
static void selects_add(struct gathering *gathering, const struct unit_blocks *unit)
{
    const struct assembly *assembly = &unit->assembly;
    for (size_t i = 0; i < assembly->count; i++)
        for (uint32_t t = 0; assembly->blocks[i].forks && assembly->blocks[i].number < unit->count && t < gathering->counted->thread_count; t++) {
            const uint64_t *counts = gathering->counted->counts[t] + unit->first, *select = counts + unit->count + assembly->blocks[i].number * CHARACTER_SELECT_WORDS;
            struct character_thread *thread = &gathering->character->per_thread[t];
            if (!select[0])
                continue;
            thread->branches += (double)counts[assembly->blocks[i].number];
            thread->mispredicted += (double)select[0];
            thread->resolving_cycles += (double)select[1];
        }
}

static void calls_add(struct gathering *gathering, const struct unit_blocks *unit, size_t block)
{
    struct store_character *character = gathering->character;
    for (const char *line = unit->assembly.blocks[block].calls; *line && !gathering->failed; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n"), at = 0;
        while (at < character->call_count && (strlen(character->calls[at].name) != length || strncmp(character->calls[at].name, line, length) != 0))
            at++;
        if (at == character->call_count) {
            if (!array_reserve(&character->calls, &gathering->call_capacity, at + 1, sizeof *character->calls)) {
                gathering->failed = true;
                return;
            }
            character->calls[character->call_count++] =
                (struct character_call){strndup(line, length), calloc(gathering->counted->thread_count, sizeof *character->calls->counts)};
            gathering->failed |= !character->calls[at].name || !character->calls[at].counts;
        }
        for (uint32_t t = 0; t < gathering->counted->thread_count && !gathering->failed; t++)
            character->calls[at].counts[t] += block_count(gathering, unit, block, t);
    }
}

static void code_append(struct text *text, struct character_code *code, const struct assembly_block *block)
{
    text_add(text, block->text);
    code->instructions += block->instructions;
    code->flops += block->flops;
    code->moved_bytes += block->moved_bytes;
}

static void code_finish(struct gathering *gathering, struct character_code *code, struct text *text)
{
    if (code && !(code->text = text_take(text)))
        gathering->failed = true;
    text_done(text);
}

static void block_gather(struct gathering *gathering, const struct unit_blocks *unit, size_t block)
{
    struct text text = {0};
    struct character_code *code = code_add(gathering, false);
    if (!code)
        return;
    for (uint32_t t = 0; t < gathering->counted->thread_count; t++)
        code->counts[t] = block_count(gathering, unit, block, t);
    code_append(&text, code, &unit->assembly.blocks[block]);
    code_finish(gathering, code, &text);
}

/* Does control come to the next block where none of its branches is taken? */
static bool falls_through(const struct assembly_block *block)
{
    const char *last = block->text;
    for (const char *end = last; (end = strchr(end, '\n')) && end[1];)
        last = ++end;
    return strncmp(last, "jmp", 3) != 0 && strncmp(last, "ret", 3) != 0;
}

/* How often a thread came to the loop of blocks [first, end): as often as the block before it ran, or the one behind it if that is less; each only where
 * control falls through to the next. 0: not known. */
static uint64_t loop_entries(const struct gathering *gathering, const struct unit_blocks *unit, size_t first, size_t end, uint32_t thread)
{
    const struct assembly *assembly = &unit->assembly;
    uint64_t entries = 0;
    if (first && assembly->blocks[first - 1].function == assembly->blocks[first].function && falls_through(&assembly->blocks[first - 1]))
        entries = block_count(gathering, unit, first - 1, thread);
    if (end < assembly->count && assembly->blocks[end].function == assembly->blocks[first].function && falls_through(&assembly->blocks[end - 1])) {
        uint64_t after = block_count(gathering, unit, end, thread);
        if (after && (!entries || after < entries))
            entries = after;
    }
    return entries;
}

/* Blocks [first, end) are of one innermost loop: its usual path is one code, each other block another one. */
static void loop_gather(struct gathering *gathering, const struct unit_blocks *unit, size_t first, size_t end)
{
    struct text text = {0};
    size_t head = first;
    const struct assembly_block *blocks = unit->assembly.blocks;
    uint64_t most = 0;
    for (size_t i = first; i < end; i++)
        if (block_total(gathering, unit, i) > most)
            most = block_total(gathering, unit, head = i);
    struct character_code *code = most ? code_add(gathering, true) : NULL;
    if (!code)
        return;
    for (size_t i = first; i < end; i++)
        if ((double)block_total(gathering, unit, i) >= OFTEN_RATIO * (double)most)
            code_append(&text, code, &blocks[i]);
    struct text before = {0};
    size_t earliest = first;
    while (earliest && first - earliest < BLOCKS_BEFORE && blocks[earliest - 1].function == blocks[first].function && !blocks[earliest - 1].innermost)
        earliest--;
    for (size_t i = earliest; i < first; i++)
        text_add(&before, blocks[i].text);
    bool anew = before.data && text.data && !before.failed && !text.failed && assembly_begins_anew(text.data, before.data);
    text_done(&before);
    for (uint32_t t = 0; t < gathering->counted->thread_count; t++) {
        uint64_t entries = anew ? loop_entries(gathering, unit, first, end, t) : 0;
        code->counts[t] = block_count(gathering, unit, head, t);
        code->entries[t] = entries < code->counts[t] ? entries : code->counts[t];
    }
    code_finish(gathering, code, &text);
    for (size_t i = first; i < end && !gathering->failed; i++)
        if (blocks[i].instructions && block_total(gathering, unit, i) && (double)block_total(gathering, unit, i) < OFTEN_RATIO * (double)most)
            block_gather(gathering, unit, i);
}

static void unit_gather(struct gathering *gathering, const struct unit_blocks *unit)
{
    const struct assembly *assembly = &unit->assembly;
    selects_add(gathering, unit);
    for (size_t i = 0, end; i < assembly->count && !gathering->failed; i = end) {
        const struct assembly_block *block = &assembly->blocks[i];
        for (end = i + 1; block->innermost && end < assembly->count && assembly->blocks[end].innermost && assembly->blocks[end].function == block->function &&
                          !strcmp(assembly->blocks[end].loop, block->loop);)
            end++;
        for (size_t k = i; k < end; k++)
            calls_add(gathering, unit, k);
        if (block->innermost)
            loop_gather(gathering, unit, i, end);
        else if (block->instructions && block_total(gathering, unit, i))
            block_gather(gathering, unit, i);
    }
}

static double code_weight(const struct store_character *character, const struct character_code *code)
{
    double runs = 0;
    for (uint32_t t = 0; t < character->team; t++)
        runs += (double)code->counts[t];
    return runs * (double)code->instructions;
}

/* What hardly runs becomes a number of instructions. */
static void codes_reduce(struct store_character *character)
{
    double all = 0;
    size_t kept = 0;
    for (size_t i = 0; i < character->code_count; i++)
        all += code_weight(character, &character->codes[i]);
    for (size_t i = 0; i < character->code_count; i++) {
        struct character_code *code = &character->codes[i];
        if (code_weight(character, code) >= RARE_RATIO * all) {
            character->codes[kept++] = *code;
            continue;
        }
        for (uint32_t t = 0; t < character->team; t++)
            character->per_thread[t].other_instructions += (double)code->counts[t] * (double)code->instructions;
        free(code->text);
        free(code->counts);
        free(code->entries);
    }
    character->code_count = kept;
    kept = 0;
    for (size_t i = 0; i < character->call_count; i++) {
        uint64_t any = 0;
        for (uint32_t t = 0; t < character->team; t++)
            any |= character->calls[i].counts[t];
        if (any)
            character->calls[kept++] = character->calls[i];
        else {
            free(character->calls[i].name);
            free(character->calls[i].counts);
        }
    }
    character->call_count = kept;
}

static void thread_take(const struct character_record *from, double scale, struct character_thread *to)
{
    to->moves = (double)from->moves;
    to->branches = (double)from->branches;
    to->mispredicted = (double)from->mispredicted;
    to->resolving_cycles = (double)from->resolving_cycles;
    for (int written = 0; written < 2; written++)
        for (int kind = 0; kind < CHARACTER_KINDS; kind++) {
            const uint64_t *early = from->uses[written][CHARACTER_EARLY];      /* are regular, too */
            to->reuse.cold[written][kind] = scale * (double)(from->cold[written][kind] + (kind == CHARACTER_REGULAR ? from->cold[written][CHARACTER_EARLY] : 0));
            for (unsigned bin = 0; bin < CHARACTER_BINS; bin++)
                to->reuse.uses[written][kind][bin] = scale * (double)(from->uses[written][kind][bin] + (kind == CHARACTER_REGULAR ? early[bin] : 0));
        }
    for (int regular = 0; regular < 2; regular++)
        for (unsigned bin = 0; bin < CHARACTER_BINS; bin++)
            to->reuse.foreign[regular][bin] = scale * (double)from->foreign[regular][bin];
    for (unsigned bin = 0; bin < CHARACTER_BINS; bin++)
        to->reuse.pages[bin] = (double)from->pages[bin];         /* all were followed */
    for (int written = 0; written < 2; written++)
        for (unsigned bin = 0; bin < CHARACTER_GAPS; bin++)
            to->reuse.jumps[written][bin] = (double)from->jumps[written][bin];
    for (unsigned k = 0; k < CHARACTER_OCTAVES; k++)
        to->reuse.writebacks[k] = scale * (double)from->writebacks[k];
}

static enum pcere_status character_make(const struct counted *counted, struct store_character *character, struct pcere_error *error)
{
    struct gathering gathering = {.counted = counted, .character = character};
    character->team = counted->thread_count;
    character->per_thread = calloc(counted->thread_count, sizeof *character->per_thread);
    if (!character->per_thread)
        return pcere_fail_memory(error, "what a codelet does");
    character->followed_ratio = ldexp(1, -(int)counted->header.shift);
    for (uint32_t t = 0; t < counted->thread_count; t++)
        thread_take(counted->threads[t], 1 / character->followed_ratio, &character->per_thread[t]);
    for (uint64_t i = 0; i < counted->header.units && !gathering.failed; i++)
        unit_gather(&gathering, &counted->units[i]);
    if (gathering.failed)
        return pcere_fail_memory(error, "what a codelet does");
    codes_reduce(character);
    return PCERE_OK;
}

/* ---- one codelet --------------------------------------------------------------------------------------------------------- */

static enum pcere_status target_count(struct replay_session *session, const struct replay_target *target, const struct store_codelet *codelet,
                                      const struct codelet_memory *memory, uint32_t threads, struct pcere_error *error)
{
    struct policy policy;
    struct plan_file plan = {.fd = -1};
    struct counted counted = {0};
    struct store_character character = {.threads = threads, .line_bytes = CHARACTER_LINE_BYTES, .isa = strdup("x86-64"), .memory_bytes = target->class->memory_bytes};
    const struct policy_subject subject = {target->region->invocations, target->class->representative, target->class->members};
    uint64_t wall_ns;
    enum pcere_status status = character.isa ? policy_choose(session->options->warmup, 0, &subject, &policy, error) : pcere_fail_memory(error, "a name");
    if (!status) {
        character.warm = policy.plan.warmups > 0;
        policy.plan = (struct plan_policy){.task = PLAN_CHARACTER, .warmups = character.warm, .learn = 1, .repeat_least = 1, .repeat_most = 1,
                                           .character_shift = shift_choose(target->class->memory_bytes)};
        status = plan_file_new(codelet, store_manifest(session->store), &session->pool, memory, &session->images, &policy.plan, NULL, &plan, error);
    }
    if (!status)
        status = replay_session_process(session, codelet, &plan, threads, &wall_ns, error);
    if (!status)
        status = counted_open(&plan, &counted, error);
    if (!status) {
        character.new_pages = plan.plan->result.dropped_pages;
        status = assemblies_open(&session->build, &counted, error);
        if (!status)
            status = character_make(&counted, &character, error);
        if (!status)
            status = store_character_write(session->store, target->class->codelet, &character, error);
        counted_done(&counted);
    }
    store_character_done(&character);
    plan_file_done(&plan);
    return status;
}

static enum pcere_status target_run(struct replay_session *session, const struct replay_target *target, size_t *done, size_t total, struct pcere_error *error)
{
    const struct replay_options *options = session->options;
    struct store_codelet codelet;
    struct codelet_memory memory = {0};
    enum pcere_status status = store_codelet_load(session->store, target->class->codelet, &codelet, error);
    if (status)
        return status;
    status = build_unit_check(&session->build, codelet.unit_id, error);
    if (!status)
        status = images_check(&session->images, &codelet, error);
    if (!status)
        status = codelet_memory_new(session->store, &session->pool, &codelet, &session->images, false, &memory, error);
    for (size_t i = 0; i < options->thread_count && !status; i++) {
        uint32_t threads = options->threads[i];
        if (store_has_character(session->store, target->class->codelet, threads))
            continue;
        if (options->progress)
            options->progress(options->progress_context, target->region->name, target->class->representative, threads, *done, total);
        status = replay_threads_check(target, &codelet, replay_team(&codelet, store_manifest(session->store), threads), error);
        if (!status)
            status = target_count(session, target, &codelet, &memory, threads, error);
        ++*done;
    }
    codelet_memory_done(&memory);
    page_pool_trim(&session->pool);
    store_codelet_done(&codelet);
    return status;
}

enum pcere_status character_run(struct store *store, const struct replay_target *targets, size_t target_count, const struct replay_options *options,
                                size_t *ret_new, struct pcere_error *error)
{
    struct replay_options counting = *options;
    struct replay_session session;
    size_t missing = 0, done = 0;
    counting.character = true;
    for (size_t i = 0; i < target_count; i++)
        for (size_t k = 0; k < options->thread_count; k++)
            missing += !store_has_character(store, targets[i].class->codelet, options->threads[k]);
    *ret_new = 0;
    if (!missing)
        return PCERE_OK;
    enum pcere_status status = replay_session_open(store, &counting, &session, error);
    if (status)
        return status;
    for (size_t i = 0; i < target_count && !status; i++)
        status = target_run(&session, &targets[i], &done, missing, error);
    replay_session_close(&session);
    *ret_new = done;
    return status;
}
