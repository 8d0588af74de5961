/* replay-rt/launcher/differences.c - from words to values, from values to verdicts. */
#include "replay-rt/launcher/differences.h"

#include "core/text.h"
#include "replay-rt/launcher/rounded.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORD 8u
#define VALUE_MOST 32u                    /* bytes of a value: a complex long double */

/* ---- what the processes found ------------------------------------------------------------------------------------------------ */

static int difference_order(const void *left, const void *right)
{
    const struct plan_difference *a = left, *b = right;
    if (a->thread_local_of != b->thread_local_of)
        return (a->thread_local_of < b->thread_local_of) - (a->thread_local_of > b->thread_local_of);
    return (a->address > b->address) - (a->address < b->address);
}

enum pcere_status difference_list_load(const struct plan_file *plan, struct difference_list *ret_list, struct pcere_error *error)
{
    const struct plan_result *result = &plan->plan->result;
    uint64_t spilled = result->spilled_count, held = result->difference_count;
    spilled = spilled < PLAN_SPILLED_MOST ? spilled : PLAN_SPILLED_MOST;
    held = held < PLAN_DIFFERENCES ? held : PLAN_DIFFERENCES;
    struct difference_list list = {.different_bytes = result->different_bytes, .heap_released = result->heap_releases > 0};
    list.items = malloc((size_t)(spilled + held + 1) * sizeof *list.items);
    if (!list.items)
        return pcere_fail_memory(error, "the differences");
    for (uint64_t done = 0, bytes = spilled * sizeof *list.items; done < bytes;) {
        ssize_t got = pread(plan->fd, (char *)list.items + done, bytes - done, (off_t)(plan->bytes + done));
        if (got <= 0) {
            free(list.items);
            return pcere_fail(error, PCERE_NO, got < 0 ? errno : 0, NULL, "a codelet's differences cannot be read");
        }
        done += (uint64_t)got;
    }
    memcpy(list.items + spilled, result->differences, held * sizeof *list.items);
    for (uint64_t i = 0; i < spilled + held; i++)
        if (list.items[i].bytes && list.items[i].bytes <= WORD && list.items[i].address <= UINT64_MAX - WORD)
            list.items[list.count++] = list.items[i];
    qsort(list.items, list.count, sizeof *list.items, difference_order);
    *ret_list = list;
    return PCERE_OK;
}

void difference_list_done(struct difference_list *list)
{
    free(list->items);
    *list = (struct difference_list){0};
}

/* ---- bound ------------------------------------------------------------------------------------------------------------------- */

#define SAFETY 8.0                        /* lambda: the bound is broken with a probability below 2 n exp(-lambda^2 / 2) */

void difference_bound_for_terms(double terms, struct difference_bound *ret_bound)
{
    double factor = 2 * SAFETY * sqrt(terms > 1 ? terms : 1);
    *ret_bound = (struct difference_bound){factor * 0x1p-24, factor * 0x1p-53, factor * 0x1p-64};
}

static double bound_for(const struct difference_bound *bound, uint64_t bytes)
{
    return bytes == 4 ? bound->single_ratio : bytes == 8 ? bound->double_ratio : bound->extended_ratio;
}

/* ---- one value ---------------------------------------------------------------------------------------------------------------- */

struct value {                            /* in the original, and in up to two runs */
    struct object_place place;
    bool named;
    enum debug_kind kind;
    uint32_t state;                       /* PLAN_STATE_LOCK, ..: not memory; or 0 */
    bool padding, outside;                /* outside: a pointer to what belongs to the process that replayed */
    bool leftover;                        /* no value of the program's: all of it that differs is what is left of addresses */
    bool hidden;                          /* nor this: in memory of which only a library knows that is not captured */
    uint64_t address, bytes;
    uint32_t thread;                      /* of its words */
    long double magnitude;                /* of its group */
    unsigned char expected[VALUE_MOST], found[2][VALUE_MOST];
};

struct word {                             /* that differs in at least one run */
    uint64_t address;
    uint32_t thread, bytes;
    bool leftover;                        /* where it differs */
    unsigned char expected[WORD], found[2][WORD];
};

struct group {
    uint64_t key;
    long double magnitude;                /* the largest of its values that differ, in the original */
    struct verify_cause cause;
};

struct judge {
    const struct difference_source *source;
    const struct difference_list *runs;
    size_t run_count;
    struct word *words;
    size_t word_count;
    struct group *groups;
    size_t group_count, group_capacity;
    uint32_t *table;                      /* open hash: 1 + index of groups */
    size_t table_capacity;
    struct { const struct store_mapping *mapping; bool hidden; } last;     /* of what was asked last */
};

static bool is_float(enum debug_kind kind)
{
    return kind == DEBUG_FLOAT || kind == DEBUG_COMPLEX || kind == DEBUG_QUAD;
}

static bool is_within(long double magnitude, long double a, long double b, double ratio)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b) && ratio > 0;
    if (a == b)
        return ratio > 0;                 /* zeros of two signs */
    if (!isfinite(a) || !isfinite(b) || !(ratio > 0))
        return false;
    long double gap = fabsl(a - b), larger = fabsl(a) > fabsl(b) ? fabsl(a) : fabsl(b);
    return gap <= ratio * larger || gap <= ratio * magnitude;
}

static void gap_note(struct verify_cause *cause, long double a, long double b)
{
    long double gap = fabsl(a - b), larger = fabsl(a) > fabsl(b) ? fabsl(a) : fabsl(b);
    if (!isfinite(gap)) {
        cause->largest_absolute = cause->largest_relative = INFINITY;
        return;
    }
    if ((double)gap > cause->largest_absolute)
        cause->largest_absolute = (double)gap;
    if (larger > 0 && (double)(gap / larger) > cause->largest_relative)
        cause->largest_relative = (double)(gap / larger);
}

static bool is_rounding(const struct judge *judge, const struct value *value, uint64_t at, uint64_t bytes, long double found)
{
    const struct rounded_value part = {.thread = value->thread, .kind = value->kind, .address = value->address + at, .bytes = bytes, .expected = value->expected + at};
    return judge->source->rounded && rounded_explains(judge->source->rounded, &part, found);
}

static enum verify_verdict float_judge(struct judge *judge, const struct value *value, uint64_t at, uint64_t bytes, struct verify_cause *cause)
{
    double ratio = bound_for(&judge->source->bound, bytes);
    long double expected = object_float(value->kind, value->expected + at, bytes), found[2];
    bool within = true;
    cause->singles |= bytes == sizeof(float);
    for (size_t run = 0; run < judge->run_count; run++) {
        found[run] = object_float(value->kind, value->found[run] + at, bytes);
        if (memcmp(value->expected + at, value->found[run] + at, bytes) != 0) {
            gap_note(cause, expected, found[run]);
            within = within && (is_within(value->magnitude, expected, found[run], ratio) || is_rounding(judge, value, at, bytes, found[run]));
        }
    }
    if (within)
        return VERIFY_ROUNDED;
    bool steady = judge->run_count < 2 || !memcmp(value->found[0] + at, value->found[1] + at, bytes)
                  || is_within(value->magnitude, found[0], found[1], ratio);
    return steady ? VERIFY_DIFFERENT : VERIFY_UNSTEADY;
}

/* Of an unknown type, eight bytes are taken for a double, or two floats, where all runs have that, of everyday size, and within the bound. */
static bool is_everyday(long double value, double least) { return fabsl(value) > least && fabsl(value) < 1 / least; }

static bool is_float_like(struct judge *judge, const struct value *value, uint64_t bytes)
{
    double ratio = bound_for(&judge->source->bound, bytes), least = bytes == 4 ? 1e-15 : 1e-60;
    for (uint64_t at = 0; at < value->bytes; at += bytes)
        for (size_t run = 0; run < judge->run_count; run++) {
            long double expected = object_float(value->kind, value->expected + at, bytes), found = object_float(value->kind, value->found[run] + at, bytes);
            if (memcmp(value->expected + at, value->found[run] + at, bytes)
                && (!is_everyday(expected, least) || !is_everyday(found, least)
                    || (!is_within(0, expected, found, ratio) && !is_rounding(judge, value, at, bytes, found))))
                return false;
        }
    return true;
}

/* The digits of an extended number (long double, real(10)): all runs have such, which begin with a one, and they agree within the bound. Not numbers just below zero. */
static bool is_extended_like(const struct judge *judge, const struct value *value)
{
    const uint64_t leading = UINT64_C(1) << 63, small = UINT64_C(0xffff) << 48;
    double ratio = bound_for(&judge->source->bound, sizeof(long double));
    uint64_t expected, found;
    memcpy(&expected, value->expected, sizeof expected);
    for (size_t run = 0; run < judge->run_count; run++) {
        memcpy(&found, value->found[run], sizeof found);
        if (!(expected & leading) || !(found & leading) || (expected & small) == small || (found & small) == small || !is_within(0, expected, found, ratio))
            return false;
    }
    return true;
}

/* Only in bits that no field has? */
static bool differs_unused(const struct judge *judge, const struct value *value)
{
    uint64_t unused = value->named ? value->place.leaf.unused : 0;
    for (uint64_t i = 0; unused && i < value->bytes && i < sizeof unused; i++)
        for (size_t run = 0; run < judge->run_count; run++)
            if ((value->expected[i] ^ value->found[run][i]) & ~(unused >> 8 * i))
                return false;
    return unused != 0;
}

/* A lock that all hold, or that nobody holds? */
static bool is_held_alike(const struct judge *judge, const struct value *value)
{
    static const unsigned char zeros[VALUE_MOST];
    bool held = memcmp(value->expected, zeros, value->bytes) != 0, alike = value->named && value->place.leaf.holder;
    for (size_t run = 0; run < judge->run_count; run++)
        alike = alike && held == (memcmp(value->found[run], zeros, value->bytes) != 0);
    return alike;
}

static enum verify_verdict value_judge(struct judge *judge, struct value *value, struct verify_cause *cause)
{
    if (value->padding || value->leftover || value->hidden || differs_unused(judge, value) || is_held_alike(judge, value))
        return VERIFY_UNUSED;
    if (value->kind == DEBUG_UNKNOWN && value->bytes == WORD) {
        if (is_float_like(judge, value, 8)) {
            value->kind = DEBUG_FLOAT;
        } else if (is_extended_like(judge, value)) {
            return VERIFY_ROUNDED;
        } else if (is_float_like(judge, value, 4)) {
            enum verify_verdict low = float_judge(judge, value, 0, 4, cause), high = float_judge(judge, value, 4, 4, cause);
            return low > high ? low : high;
        }
    }
    if (value->kind == DEBUG_FLOAT || value->kind == DEBUG_QUAD)
        return float_judge(judge, value, 0, value->bytes, cause);
    if (value->kind == DEBUG_COMPLEX) {
        enum verify_verdict real = float_judge(judge, value, 0, value->bytes / 2, cause);
        enum verify_verdict imaginary = float_judge(judge, value, value->bytes / 2, value->bytes / 2, cause);
        return real > imaginary ? real : imaginary;
    }
    bool steady = judge->run_count < 2 || !memcmp(value->found[0], value->found[1], value->bytes) || value->outside;
    return steady ? VERIFY_DIFFERENT : VERIFY_UNSTEADY;
}

/* ---- words to values ---------------------------------------------------------------------------------------------------------- */

static const struct plan_difference *difference_at(const struct difference_list *list, size_t index)
{
    return index < list->count ? &list->items[index] : NULL;
}

/* Words that differ in any of the runs, in the lists' order. */
static bool words_merge(struct judge *judge)
{
    size_t next[2] = {0}, most = judge->runs[0].count + (judge->run_count > 1 ? judge->runs[1].count : 0);
    judge->words = malloc((most + 1) * sizeof *judge->words);
    while (judge->words) {
        const struct plan_difference *first = NULL;
        for (size_t run = 0; run < judge->run_count; run++) {
            const struct plan_difference *own = difference_at(&judge->runs[run], next[run]);
            if (own && (!first || difference_order(own, first) < 0))
                first = own;
        }
        if (!first)
            return true;
        struct word word = {.address = first->address, .thread = first->thread_local_of, .bytes = first->bytes, .leftover = true};
        memcpy(word.expected, &first->expected, WORD);
        for (size_t run = 0; run < judge->run_count; run++) {
            const struct plan_difference *own = difference_at(&judge->runs[run], next[run]);
            bool differs = own && !difference_order(own, first);
            word.leftover &= !differs || own->leftover;
            memcpy(word.found[run], differs ? &own->found : &first->expected, WORD);
            next[run] += differs;
        }
        judge->words[judge->word_count++] = word;
    }
    return false;
}

static bool word_holds(const struct word *word, uint32_t thread, uint64_t low, uint64_t high)
{
    return word->thread == thread && word->address < high && word->address + word->bytes > low;
}

/* All bytes of a value: those of words that do not differ are as expected. */
static void value_fill(struct judge *judge, size_t index, struct value *value)
{
    uint32_t thread = value->thread = judge->words[index].thread;
    uint64_t low = value->address, high = low + value->bytes;
    if (!captured_view_read(judge->source->view, low, value->expected, value->bytes))
        memset(value->expected, 0, sizeof value->expected);
    for (size_t run = 0; run < judge->run_count; run++)
        memcpy(value->found[run], value->expected, sizeof value->expected);
    while (index > 0 && word_holds(&judge->words[index - 1], thread, low, high))
        index--;
    for (; index < judge->word_count && word_holds(&judge->words[index], thread, low, high); index++) {
        const struct word *word = &judge->words[index];
        for (uint64_t byte = 0; byte < word->bytes; byte++) {
            if (word->address + byte < low || word->address + byte >= high)
                continue;
            uint64_t at = word->address + byte - low;
            value->expected[at] = word->expected[byte];
            for (size_t run = 0; run < judge->run_count; run++)
                value->found[run][at] = word->found[run][byte];
        }
    }
}

/* In the replay a pointer into this process's own heap or libraries stands where the original had one into captured memory. */
static bool is_outside(const struct judge *judge, const struct value *value)
{
    if (value->bytes != WORD || (value->kind != DEBUG_UNKNOWN && value->kind != DEBUG_POINTER))
        return false;
    uint64_t expected, found;
    memcpy(&expected, value->expected, WORD);
    for (size_t run = 0; run < judge->run_count; run++) {
        memcpy(&found, value->found[run], WORD);
        if (found < 1u << 16 || found >= UINT64_C(1) << 47 || codelet_mapping_at(judge->source->codelet, found))
            return false;
    }
    return codelet_mapping_at(judge->source->codelet, expected) != NULL;
}

/* Memory that a library of the system has for itself (OpenBLAS's buffers): no word of the program's leads there, but for those that calls have left on the dead part of the stack. In a replay that
 * library has another buffer. */
static bool is_hidden(struct judge *judge, const struct value *value)
{
    const struct store_codelet *codelet = judge->source->codelet;
    const struct store_mapping *mapping = codelet_mapping_at(codelet, value->address), *stack = codelet_mapping_at(codelet, codelet->stack_pointer);
    if (value->named || value->thread || !mapping || mapping->role != STORE_ROLE_ANONYMOUS || !strcmp(mapping->name, DIFFERENCES_MADE) || mapping == stack)
        return false;
    if (judge->last.mapping == mapping)
        return judge->last.hidden;
    bool points = captured_view_points(judge->source->view, mapping->start, mapping->end, stack ? stack->start : 0, stack ? codelet->stack_pointer : 0);
    for (size_t i = 0; i < codelet->word_count; i++)
        points |= codelet->words[i] >= mapping->start && codelet->words[i] < mapping->end;
    judge->last.mapping = mapping;
    judge->last.hidden = !points;
    return !points;
}

static void value_find(struct judge *judge, size_t index, uint64_t address, struct value *ret_value)
{
    struct value value = {.address = address, .bytes = 1};
    if (judge->words[index].thread >= PLAN_STATE_RANDOM) {
        value = (struct value){.address = judge->words[index].address, .bytes = judge->words[index].bytes, .state = judge->words[index].thread,
                               .kind = judge->words[index].thread == PLAN_STATE_LOCK ? DEBUG_INTEGER : DEBUG_UNKNOWN};
        value_fill(judge, index, &value);
        *ret_value = value;
        return;
    }
    value.named = objects_find(judge->source->objects, address, &value.place);
    const struct debug_leaf *leaf = &value.place.leaf;
    value.padding = value.named && leaf->padding;
    if (value.named && leaf->kind != DEBUG_UNKNOWN && leaf->bytes && leaf->bytes <= VALUE_MOST) {
        value.kind = leaf->kind;
        value.address = value.place.address;
        value.bytes = leaf->bytes;
    } else if (!value.padding) {
        value.address = address & ~(uint64_t)(WORD - 1);
        value.bytes = WORD;
    }
    value_fill(judge, index, &value);
    value.leftover = value.kind == DEBUG_UNKNOWN && !value.padding && judge->words[index].leftover;
    value.hidden = value.kind == DEBUG_UNKNOWN && !value.padding && is_hidden(judge, &value);
    value.outside = !value.leftover && !value.hidden && is_outside(judge, &value);
    if (value.kind == DEBUG_POINTER && value.named && value.place.assumed && is_float_like(judge, &value, WORD))
        value.kind = DEBUG_FLOAT;         /* no address is such a number */
    *ret_value = value;
}

/* ---- groups ------------------------------------------------------------------------------------------------------------------- */

static const char *memory_word(const struct judge *judge, const struct store_mapping *mapping, uint64_t address, uint32_t thread)
{
    static const char *const roles[] = {
        [STORE_ROLE_IMAGE] = "program data", [STORE_ROLE_HEAP] = "heap",       [STORE_ROLE_ANONYMOUS] = "anonymous memory",
        [STORE_ROLE_STACK] = "stack",        [STORE_ROLE_LIBRARY] = "library",
    };
    if (thread)
        return "thread-local";
    if (mapping && !strcmp(mapping->name, DIFFERENCES_MADE))
        return DIFFERENCES_MADE;
    if (mapping && mapping->role == STORE_ROLE_IMAGE && address >= objects_image_end(judge->source->objects))
        return roles[STORE_ROLE_HEAP];
    return mapping && mapping->role < sizeof roles / sizeof *roles && roles[mapping->role] ? roles[mapping->role] : "other memory";
}

static void value_write(enum debug_kind kind, const unsigned char *bytes, uint64_t count, struct text *out)
{
    uint64_t low = 0, high = 0;
    memcpy(&low, bytes, count < WORD ? count : WORD);
    if (count > WORD)
        memcpy(&high, bytes + WORD, count - WORD < WORD ? count - WORD : WORD);
    if (kind == DEBUG_FLOAT || kind == DEBUG_QUAD)
        text_addf(out, count == 4 ? "%.9Lg" : "%.17Lg", object_float(kind, bytes, count));
    else if (kind == DEBUG_COMPLEX)
        text_addf(out, "%.17Lg%+.17Lgi", object_float(kind, bytes, count / 2), object_float(kind, bytes + count / 2, count / 2));
    else if (kind == DEBUG_INTEGER && count <= WORD)
        text_addf(out, "%" PRId64, (int64_t)(low << (64 - 8 * count)) >> (64 - 8 * count));
    else if (high)
        text_addf(out, "0x%" PRIx64 "%016" PRIx64, high, low);
    else
        text_addf(out, "0x%" PRIx64, low);
}

/* "random(), drand48() .." or "lock[3]". */
static void state_name(const struct judge *judge, const struct value *value, bool pattern, struct text *out)
{
    struct object_place place;
    if (value->state == PLAN_STATE_RANDOM)
        text_add(out, value->address / PLAN_RANDOM_BYTES == PLAN_RANDOM_48 ? "state of drand48() and its like" : "state of rand() and random()");
    else if (objects_find(judge->source->objects, value->address, &place))
        objects_name(judge->source->objects, &place, pattern, out);
    else
        text_addf(out, "lock at 0x%" PRIx64, value->address);
}

static bool group_fill(const struct judge *judge, const struct value *value, uint32_t thread, struct verify_cause *cause)
{
    static const char *const kinds[] = {
        [DEBUG_UNKNOWN] = "unknown type", [DEBUG_INTEGER] = "integer", [DEBUG_FLOAT] = "floating point", [DEBUG_COMPLEX] = "floating point",
        [DEBUG_QUAD] = "floating point",
        [DEBUG_POINTER] = "pointer", [DEBUG_ARRAY] = "unknown type", [DEBUG_STRUCT] = "unknown type",
    };
    struct text name = {0}, first = {0}, expected = {0}, found = {0};
    const struct store_mapping *mapping = codelet_mapping_at(judge->source->codelet, value->address);
    cause->memory = memory_word(judge, mapping, value->address, thread);
    cause->kind = value->padding ? "padding" : value->hidden ? "memory that only a library knows" : value->leftover ? "what is left of an address" : value->named && value->place.leaf.waits ? "what threads wait on" : value->outside ? "pointer to memory that belongs to the process" : kinds[value->kind];
    cause->floating = is_float(value->kind);
    cause->text = !value->named && !value->state;
    if (value->state) {
        state_name(judge, value, true, &name);
        state_name(judge, value, false, &first);
        cause->memory = value->state == PLAN_STATE_LOCK ? "OpenMP runtime" : "C library";
        cause->kind = value->state == PLAN_STATE_LOCK ? "times that the lock is held" : "random numbers";
    } else if (value->named) {
        objects_name(judge->source->objects, &value->place, true, &name);
        objects_name(judge->source->objects, &value->place, false, &first);
    } else {
        text_add(&name, cause->memory);
        if (mapping && mapping->role == STORE_ROLE_HEAP && judge->runs[0].heap_released)
            text_add(&name, " (the region releases blocks of it)");
        text_addf(&first, "%s+0x%" PRIx64, mapping && memchr(mapping->name, 0, sizeof mapping->name) && *mapping->name ? mapping->name : cause->memory,
                  mapping ? value->address - mapping->start : value->address);
    }
    size_t run = memcmp(value->expected, value->found[0], value->bytes) == 0 && judge->run_count > 1;
    value_write(value->kind, value->expected, value->bytes, &expected);
    value_write(value->kind, value->found[run], value->bytes, &found);
    cause->name = text_take(&name);
    cause->first = text_take(&first);
    cause->expected = text_take(&expected);
    cause->found = text_take(&found);
    return cause->name && cause->first && cause->expected && cause->found;
}

static bool table_grow(struct judge *judge)
{
    if (judge->group_count * 2 < judge->table_capacity)
        return true;
    size_t capacity = judge->table_capacity ? judge->table_capacity * 2 : 256;
    uint32_t *table = calloc(capacity, sizeof *table);
    if (!table)
        return false;
    for (size_t i = 0; i < judge->group_count; i++) {
        size_t at = (size_t)(judge->groups[i].key >> 7) & (capacity - 1);
        while (table[at])
            at = (at + 1) & (capacity - 1);
        table[at] = (uint32_t)i + 1;
    }
    free(judge->table);
    judge->table = table;
    judge->table_capacity = capacity;
    return true;
}

static struct group *group_get(struct judge *judge, const struct value *value, uint32_t thread)
{
    const struct store_mapping *mapping = codelet_mapping_at(judge->source->codelet, value->address);
    const char *memory = memory_word(judge, mapping, value->address, thread);
    uint64_t key = value->named ? value->place.leaf.group : (uint64_t)(uintptr_t)memory * UINT64_C(0x9e3779b97f4a7c15);
    if (value->state)
        key = (value->state == PLAN_STATE_LOCK ? value->address : value->address / PLAN_RANDOM_BYTES) * UINT64_C(0xff51afd7ed558ccd);
    key ^= value->outside ? UINT64_C(0x5bd1e995) << 8 : value->hidden ? UINT64_C(0x27d4eb2f) << 10 : value->leftover ? UINT64_C(0x9e3779b1) << 9 : 0;
    if (!table_grow(judge))
        return NULL;
    size_t at = (size_t)(key >> 7) & (judge->table_capacity - 1);
    for (; judge->table[at]; at = (at + 1) & (judge->table_capacity - 1))
        if (judge->groups[judge->table[at] - 1].key == key)
            return &judge->groups[judge->table[at] - 1];
    if (!array_reserve(&judge->groups, &judge->group_capacity, judge->group_count + 1, sizeof *judge->groups))
        return NULL;
    struct group *group = &judge->groups[judge->group_count];
    *group = (struct group){.key = key};
    judge->table[at] = (uint32_t)++judge->group_count;
    return group_fill(judge, value, thread, &group->cause) ? group : NULL;
}

static uint64_t bytes_different(const struct judge *judge, const struct value *value)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < value->bytes; i++) {
        bool differs = false;
        for (size_t run = 0; run < judge->run_count; run++)
            differs = differs || value->found[run][i] != value->expected[i];
        bytes += differs;
    }
    return bytes;
}

/* Has the original characters wherever a run differs from it? */
static bool is_text(const struct judge *judge, const struct value *value)
{
    for (uint64_t i = 0; i < value->bytes; i++) {
        unsigned char letter = value->expected[i];
        bool differs = false;
        for (size_t run = 0; run < judge->run_count; run++)
            differs = differs || value->found[run][i] != letter;
        if (differs && (letter < ' ' || letter == 0x7f) && letter != '\n' && letter != '\t' && letter != '\r')
            return false;
    }
    return true;
}

/* First all groups and their magnitudes, then the verdicts. */
enum pass { PASS_GROUP, PASS_JUDGE };

static bool value_group(struct judge *judge, size_t index, struct value *value)
{
    struct group *group = group_get(judge, value, judge->words[index].thread);
    if (!group)
        return false;
    uint64_t part = value->kind == DEBUG_COMPLEX ? value->bytes / 2 : value->bytes;
    for (uint64_t at = 0; is_float(value->kind) && at < value->bytes; at += part) {
        long double size = fabsl(object_float(value->kind, value->expected + at, part));
        if (isfinite(size) && size > group->magnitude)
            group->magnitude = size;
    }
    return true;
}

static bool value_count(struct judge *judge, size_t index, struct value *value)
{
    struct group *group = group_get(judge, value, judge->words[index].thread);
    struct verify_cause scratch = {0};
    if (!group)
        return false;
    value->magnitude = group->magnitude;
    enum verify_verdict verdict = value_judge(judge, value, &scratch);
    struct verify_cause *cause = &group->cause;
    cause->verdict = verdict > cause->verdict ? verdict : cause->verdict;
    cause->bytes += bytes_different(judge, value);
    cause->values++;
    cause->floating |= scratch.largest_absolute > 0;
    cause->singles |= scratch.singles;
    cause->text = cause->text && is_text(judge, value);
    cause->beyond += verdict > VERIFY_ROUNDED;
    cause->largest_absolute = fmax(cause->largest_absolute, scratch.largest_absolute);
    cause->largest_relative = fmax(cause->largest_relative, scratch.largest_relative);
    return true;
}

static bool differs_at(const struct judge *judge, const struct word *word, uint64_t byte)
{
    for (size_t run = 0; run < judge->run_count; run++)
        if (word->found[run][byte] != word->expected[byte])
            return true;
    return false;
}

static bool values_visit(struct judge *judge, enum pass pass)
{
    uint64_t floor = 0;                   /* below lie values that have been judged */
    for (size_t i = 0; i < judge->word_count; i++) {
        const struct word *word = &judge->words[i];
        if (i && word->thread != word[-1].thread)
            floor = 0;
        for (uint64_t byte = 0; byte < word->bytes; byte++) {
            struct value value;
            if (word->address + byte < floor || !differs_at(judge, word, byte))
                continue;
            value_find(judge, i, word->address + byte, &value);
            floor = value.address + value.bytes;
            if (!(pass == PASS_GROUP ? value_group : value_count)(judge, i, &value))
                return false;
        }
    }
    return true;
}

/* ---- all together ------------------------------------------------------------------------------------------------------------- */

static int group_order(const void *left, const void *right)
{
    const struct verify_cause *a = &((const struct group *)left)->cause, *b = &((const struct group *)right)->cause;
    if (a->verdict != b->verdict)
        return (a->verdict < b->verdict) - (a->verdict > b->verdict);
    return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

/* What no word told: there were too many. */
static bool rest_add(struct judge *judge)
{
    uint64_t described = 0, all = 0;
    for (size_t run = 0; run < judge->run_count; run++) {
        uint64_t own = 0;
        for (size_t i = 0; i < judge->runs[run].count; i++) {
            uint64_t bits = judge->runs[run].items[i].expected ^ judge->runs[run].items[i].found;
            for (; bits; bits >>= 8)
                own += (bits & 0xff) != 0;
        }
        if (judge->runs[run].different_bytes > own && judge->runs[run].different_bytes - own > all - described) {
            all = judge->runs[run].different_bytes;
            described = own;
        }
    }
    if (all <= described)
        return true;
    if (!array_reserve(&judge->groups, &judge->group_capacity, judge->group_count + 1, sizeof *judge->groups))
        return false;
    struct verify_cause cause = {.name = strdup("more than could be described"), .first = strdup(""), .expected = strdup(""),
                                 .found = strdup(""), .memory = "other memory", .kind = "unknown type", .verdict = VERIFY_DIFFERENT,
                                 .bytes = all - described};
    judge->groups[judge->group_count++] = (struct group){.cause = cause};
    return cause.name && cause.first && cause.expected && cause.found;
}

static enum pcere_status causes_give(struct judge *judge, struct verify_result *result, struct pcere_error *error)
{
    struct verify_cause *causes = calloc(judge->group_count + 1, sizeof *causes);
    if (!causes)
        return pcere_fail_memory(error, "the differences");
    if (judge->group_count)
        qsort(judge->groups, judge->group_count, sizeof *judge->groups, group_order);
    for (size_t i = 0; i < judge->group_count; i++)
        causes[i] = judge->groups[i].cause;
    result->causes = causes;
    result->cause_count = judge->group_count;
    result->verdict = judge->group_count ? causes[0].verdict : VERIFY_IDENTICAL;
    judge->group_count = 0;
    return PCERE_OK;
}

void verify_cause_done(struct verify_cause *cause)
{
    free(cause->name);
    free(cause->first);
    free(cause->expected);
    free(cause->found);
    *cause = (struct verify_cause){0};
}

enum pcere_status differences_judge(const struct difference_source *source, const struct difference_list *runs, size_t run_count,
                                    struct verify_result *result, struct pcere_error *error)
{
    struct judge judge = {.source = source, .runs = runs, .run_count = run_count < 2 ? run_count : 2};
    bool whole = words_merge(&judge) && values_visit(&judge, PASS_GROUP) && values_visit(&judge, PASS_JUDGE) && rest_add(&judge);
    enum pcere_status status = whole ? causes_give(&judge, result, error) : pcere_fail_memory(error, "the differences");
    for (size_t i = 0; i < judge.group_count; i++)
        verify_cause_done(&judge.groups[i].cause);
    free(judge.words);
    free(judge.groups);
    free(judge.table);
    return status;
}
