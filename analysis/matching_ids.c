/* analysis/matching_ids.c - see matching.h: equal labels where builds call their constructs by other names.
 *
 * Names that stand for the same constructs are made one class: those with an id in common, and equal names of which one side has no id. A label is hashed
 * with the classes in place of the names. What comes last in it is told by the XU's own construct, so that two constructs of one line stay two.
 */
#include "analysis/matching.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct reference { const char *name; uint64_t id; uint32_t profile, node; };    /* a node is a name in a profile */

struct classes {
    size_t profile_count, count, node_count;
    struct reference *references;      /* profile by profile, as their tables */
    size_t *first;                     /* [profile], and the end */
    uint32_t *order;                   /* of references, as the step at hand needs it */
    uint32_t *parent;                  /* [node] of the same class; a root's own */
    bool *shared;                      /* [node] has an id that all profiles have */
    uint32_t *ids;                     /* [root] how many such ids */
    size_t renamed, replaced;
};

static uint32_t root_of(struct classes *classes, uint32_t node)
{
    while (classes->parent[node] != node)
        node = classes->parent[node] = classes->parent[classes->parent[node]];
    return node;
}

static void unite(struct classes *classes, uint32_t a, uint32_t b)
{
    uint32_t x = root_of(classes, a), y = root_of(classes, b);
    classes->parent[x > y ? x : y] = x > y ? y : x;
}

static int by_id(const void *a, const void *b, void *raw)
{
    const struct reference *references = raw, *x = &references[*(const uint32_t *)a], *y = &references[*(const uint32_t *)b];
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int by_name(const void *a, const void *b, void *raw)
{
    const struct reference *references = raw, *x = &references[*(const uint32_t *)a], *y = &references[*(const uint32_t *)b];
    int order = strcmp(x->name, y->name);
    return order ? order : x < y ? -1 : x > y;
}

static const struct reference *ordered(const struct classes *classes, size_t at)
{
    return &classes->references[classes->order[at]];
}

/* One id's names, in the order of profiles. */
static void id_link(struct classes *classes, size_t from, size_t to)
{
    const struct reference *first = ordered(classes, from);
    size_t profiles = 1;
    bool renamed = false;
    for (size_t i = from + 1; i < to; i++) {
        const struct reference *it = ordered(classes, i);
        unite(classes, first->node, it->node);
        profiles += it->profile != ordered(classes, i - 1)->profile;
        renamed = renamed || (it->profile != first->profile && strcmp(it->name, first->name) != 0);
    }
    classes->renamed += renamed;
    for (size_t i = from; i < to; i++)
        classes->shared[ordered(classes, i)->node] |= profiles == classes->profile_count;
}

static void ids_link(struct classes *classes)
{
    qsort_r(classes->order, classes->count, sizeof *classes->order, by_id, classes->references);
    for (size_t from = 0, to; from < classes->count; from = to) {
        uint64_t id = ordered(classes, from)->id;
        for (to = from + 1; to < classes->count && ordered(classes, to)->id == id;)
            to++;
        if (id)
            id_link(classes, from, to);
    }
}

/* Equal names. Where both sides have ids of the file, and these differ, another construct has come to the line. */
static void name_link(struct classes *classes, size_t from, size_t to, bool told)
{
    const struct reference *first = ordered(classes, from);
    bool unknown = false;
    for (size_t i = from; i < to; i++)
        unknown = unknown || !ordered(classes, i)->id;
    for (size_t i = from + 1; i < to; i++) {
        if (unknown || !told)
            unite(classes, first->node, ordered(classes, i)->node);
        else
            classes->replaced += root_of(classes, first->node) != root_of(classes, ordered(classes, i)->node);
    }
}

static size_t file_length(const char *name)
{
    const char *colon = strrchr(name, ':');
    return colon ? (size_t)(colon + 1 - name) : strlen(name) + 1;
}

static void names_link(struct classes *classes)
{
    qsort_r(classes->order, classes->count, sizeof *classes->order, by_name, classes->references);
    for (size_t from = 0, to; from < classes->count; from = to) {
        const char *name = ordered(classes, from)->name;
        size_t length = file_length(name);
        bool told = false;
        for (to = from; to < classes->count && strncmp(ordered(classes, to)->name, name, length) == 0; to++)
            told = told || classes->shared[ordered(classes, to)->node];
        for (size_t at = from, end; at < to; at = end) {
            for (end = at + 1; end < to && strcmp(ordered(classes, end)->name, ordered(classes, at)->name) == 0;)
                end++;
            name_link(classes, at, end, told);
        }
    }
}

/* How many ids that all profiles have a class has. */
static void ids_count(struct classes *classes)
{
    qsort_r(classes->order, classes->count, sizeof *classes->order, by_id, classes->references);
    for (size_t from = 0, to; from < classes->count; from = to) {
        const struct reference *first = ordered(classes, from);
        size_t profiles = 1;
        for (to = from + 1; to < classes->count && ordered(classes, to)->id == first->id; to++)
            profiles += ordered(classes, to)->profile != ordered(classes, to - 1)->profile;
        if (first->id && profiles == classes->profile_count)
            classes->ids[root_of(classes, first->node)]++;
    }
}

static enum pcere_status classes_make(const struct matching_input *input, struct classes *classes, struct pcere_error *error)
{
    size_t count = 0;
    for (size_t p = 0; p < input->profile_count; p++)
        count += input->profiles[p]->name_count;
    *classes = (struct classes){
        .profile_count = input->profile_count, .references = calloc(count + 1, sizeof *classes->references),
        .first = calloc(input->profile_count + 1, sizeof *classes->first), .order = calloc(count + 1, sizeof *classes->order),
        .parent = calloc(count + 1, sizeof *classes->parent), .shared = calloc(count + 1, sizeof *classes->shared),
        .ids = calloc(count + 1, sizeof *classes->ids),
    };
    if (!classes->references || !classes->first || !classes->order || !classes->parent || !classes->shared || !classes->ids)
        return pcere_fail_memory(error, "the names in labels");
    for (size_t p = 0; p < input->profile_count; p++) {
        const struct profile *profile = input->profiles[p];
        classes->first[p] = classes->count;
        for (size_t i = 0; i < profile->name_count; i++) {
            const struct profile_name *name = &profile->names[i];
            classes->node_count += !i || strcmp(name->name, profile->names[i - 1].name) != 0;
            classes->order[classes->count] = (uint32_t)classes->count;
            classes->references[classes->count++] =
                (struct reference){.name = name->name, .id = name->id, .profile = (uint32_t)p, .node = (uint32_t)classes->node_count - 1};
        }
    }
    classes->first[input->profile_count] = classes->count;
    for (size_t i = 0; i < classes->node_count; i++)
        classes->parent[i] = (uint32_t)i;
    ids_link(classes);
    names_link(classes);
    ids_count(classes);
    return PCERE_OK;
}

static void classes_done(struct classes *classes)
{
    free(classes->references);
    free(classes->first);
    free(classes->order);
    free(classes->parent);
    free(classes->shared);
    free(classes->ids);
}

/* ---- labels --------------------------------------------------------------------------------------------------------------------- */

struct keyed { struct profile_label key; uint32_t row; };

/* The first reference to `name` of so many bytes in profile p, or NULL. */
static const struct reference *name_find(const struct classes *classes, size_t p, const char *name, size_t bytes)
{
    size_t low = classes->first[p], high = classes->first[p + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *there = classes->references[middle].name;
        int order = strncmp(there, name, bytes);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct reference *found = &classes->references[low];
    return low < classes->first[p + 1] && strncmp(found->name, name, bytes) == 0 && !found->name[bytes] ? found : NULL;
}

/* A name may have dots itself, and elements of numbers may follow: the longest that is known. */
static const struct reference *name_at(const struct classes *classes, size_t p, const char *at, size_t room, size_t *ret_bytes)
{
    for (size_t bytes = room; bytes; bytes--) {
        const struct reference *found = bytes == room || at[bytes] == '.' ? name_find(classes, p, at, bytes) : NULL;
        if (found) {
            *ret_bytes = bytes;
            return found;
        }
    }
    return NULL;
}

static bool has_id(const struct classes *classes, const struct reference *name, uint64_t id)
{
    const struct reference *end = &classes->references[classes->first[name->profile + 1]];
    for (; name < end; name++)
        if (name->id == id)
            return id != 0;
        else if (name + 1 < end && name[1].node != name->node)
            return false;
    return false;
}

/* A label that was cut ends in a hash of all its names. */
static bool is_cut(const char *label)
{
    const char *tail = strrchr(label, '~');
    return tail && strlen(tail) == 33 && strspn(tail + 1, "0123456789abcdef") == 32;
}

static struct profile_label label_key(struct classes *classes, const struct profile *profile, size_t p, size_t row, struct text *text)
{
    const char *label = profile->texts + profile->text_at[row];
    const struct reference *last = NULL;
    if (is_cut(label))
        return profile->labels[row];
    text->length = 0;
    for (const char *at = label; *at;) {
        const char *sign = strchrnul(at, '@');
        text_add_bytes(text, at, (size_t)(sign - at));
        if (!*sign)
            break;
        size_t room = strcspn(sign + 1, "@"), bytes = 0;
        const struct reference *found = name_at(classes, p, sign + 1, room, &bytes);
        uint32_t root = found ? root_of(classes, found->node) : 0;
        text_add_bytes(text, found ? "@\001" : "@", found ? 2 : 1);
        text_add_bytes(text, &root, found ? sizeof root : 0);
        last = found;
        at = sign + 1 + bytes;
    }
    uint64_t id = profile->constructs[profile->construct[row]].id;
    if (last && classes->ids[root_of(classes, last->node)] > 1 && has_id(classes, last, id))
        text_addf(text, "\002%016llx", (unsigned long long)id);
    XXH128_hash_t hash = XXH3_128bits(text->data, text->failed ? 0 : text->length);
    return (struct profile_label){.high = hash.high64, .low = hash.low64};
}

static int keys_compare(const struct profile_label *a, const struct profile_label *b)
{
    if (a->high != b->high)
        return a->high < b->high ? -1 : 1;
    return a->low != b->low ? (a->low < b->low ? -1 : 1) : 0;
}

static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    int order = keys_compare(&x->key, &y->key);
    return order ? order : x->row < y->row ? -1 : x->row > y->row;
}

/* Labels that only their names told apart, of constructs that share a line in the other build, get no partner rather than a wrong one. */
static bool mixed_undo(const struct profile *profile, struct keyed *list)
{
    bool undone = false;
    for (size_t from = 0, to; from < profile->count; from = to) {
        bool mixed = false;
        for (to = from + 1; to < profile->count && keys_compare(&list[to].key, &list[from].key) == 0; to++)
            mixed = mixed || keys_compare(&profile->labels[list[to].row], &profile->labels[list[from].row]) != 0;
        for (size_t i = from; mixed && i < to; i++)
            list[i].key = profile->labels[list[i].row];
        undone = undone || mixed;
    }
    return undone;
}

static enum pcere_status keys_make(struct classes *classes, const struct profile *profile, size_t p, struct keyed **ret_list, struct pcere_error *error)
{
    struct keyed *list = malloc((profile->count + 1) * sizeof *list);
    struct text text = {0};
    for (size_t row = 0; list && row < profile->count; row++)
        list[row] = (struct keyed){.key = label_key(classes, profile, p, row, &text), .row = (uint32_t)row};
    if (!list || text.failed) {
        free(list);
        text_done(&text);
        return pcere_fail_memory(error, "the labels");
    }
    text_done(&text);
    qsort(list, profile->count, sizeof *list, by_key);
    if (mixed_undo(profile, list))
        qsort(list, profile->count, sizeof *list, by_key);
    *ret_list = list;
    return PCERE_OK;
}

struct key_sides { const struct profile_label *first; const struct keyed *next; };     /* the first by row, the next one by key */

static int keys_order(const void *context, uint32_t first_row, size_t at)
{
    const struct key_sides *sides = context;
    return keys_compare(&sides->first[first_row], &sides->next[at].key);
}

/* All rows of the first profile, by key; *ret_keys: the keys by row. */
static enum pcere_status first_make(const struct matching_input *input, struct classes *classes, struct matching *matching, struct profile_label **ret_keys,
                                    struct pcere_error *error)
{
    struct keyed *list = NULL;
    enum pcere_status status = keys_make(classes, input->profiles[0], 0, &list, error);
    matching->count = status == PCERE_OK ? input->profiles[0]->count : 0;
    if (status == PCERE_OK && !(*ret_keys = malloc((matching->count + 1) * sizeof **ret_keys)))
        status = pcere_fail_memory(error, "the labels");
    for (size_t i = 0; status == PCERE_OK && i < matching->count; i++) {
        matching->rows[0][i] = list[i].row;
        (*ret_keys)[list[i].row] = list[i].key;
    }
    free(list);
    return status;
}

static enum pcere_status keys_match(const struct matching_input *input, struct classes *classes, struct matching *matching, struct pcere_error *error)
{
    struct profile_label *first = NULL;
    enum pcere_status status = first_make(input, classes, matching, &first, error);
    for (size_t p = 1; p < input->profile_count && status == PCERE_OK; p++) {
        struct keyed *next = NULL;
        status = keys_make(classes, input->profiles[p], p, &next, error);
        if (status == PCERE_OK)
            matching_join(matching, p, input->profiles[p]->count, keys_order, &(struct key_sides){first, next});
        for (size_t i = 0; status == PCERE_OK && i < matching->count; i++)
            matching->rows[p][i] = next[matching->rows[p][i]].row;
        free(next);
    }
    free(first);
    return status == PCERE_OK ? matching_order(input, matching, error) : status;
}

enum pcere_status matching_ids(const struct matching_input *input, struct matching *matching, bool *ret_used, size_t *ret_renamed, struct pcere_error *error)
{
    *ret_used = false;
    *ret_renamed = 0;
    for (size_t p = 0; p < input->profile_count; p++)
        if (!input->profiles[p]->text_at || !input->profiles[p]->name_count)
            return PCERE_OK;
    struct classes classes;
    enum pcere_status status = classes_make(input, &classes, error);
    if (status == PCERE_OK && (classes.renamed || classes.replaced)) {
        status = keys_match(input, &classes, matching, error);
        *ret_used = status == PCERE_OK;
        *ret_renamed = classes.renamed;
    }
    classes_done(&classes);
    return status;
}
