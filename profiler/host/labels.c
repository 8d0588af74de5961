/* profiler/host/labels.c - the tree of labels, its nodes found by what describes them. */
#include "profiler/host/labels.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define TEXT_MOST 60000u
#define TEXT_KEPT 2000u

void label_table_done(struct label_table *table)
{
    free(table->nodes);
    free(table->slots);
    *table = (struct label_table){0};
}

static uint64_t node_hash(const struct label_node *node)
{
    uint64_t words[3] = {(uint64_t)node->parent << 32 | node->construct, node->index, node->kind};
    return XXH3_64bits(words, sizeof words);
}

static bool slots_grow(struct label_table *table)
{
    size_t wanted = table->slot_count ? table->slot_count * 2 : 1024;
    uint32_t *slots = calloc(wanted, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < table->count; i++) {
        size_t at = node_hash(&table->nodes[i]) & (wanted - 1);
        while (slots[at])
            at = (at + 1) & (wanted - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(table->slots);
    table->slots = slots;
    table->slot_count = wanted;
    return true;
}

static bool same_node(const struct label_node *a, const struct label_node *b)
{
    return a->parent == b->parent && a->construct == b->construct && a->index == b->index && a->kind == b->kind;
}

enum pcere_status label_node(struct label_table *table, uint32_t parent, enum label_kind kind, uint32_t construct, uint64_t index, uint32_t *ret_node,
                             struct pcere_error *error)
{
    struct label_node node = {.parent = parent, .construct = construct, .index = index, .kind = (uint8_t)kind};
    if (table->count * 2 >= table->slot_count && !slots_grow(table))
        return pcere_fail_memory(error, "the labels");
    size_t at = node_hash(&node) & (table->slot_count - 1);
    for (; table->slots[at]; at = (at + 1) & (table->slot_count - 1))
        if (same_node(&table->nodes[table->slots[at] - 1], &node)) {
            *ret_node = table->slots[at] - 1;
            return PCERE_OK;
        }
    if (table->count >= INT32_MAX || !array_reserve(&table->nodes, &table->capacity, table->count + 1, sizeof *table->nodes))
        return pcere_fail_memory(error, "the labels");
    table->nodes[table->count] = node;
    table->slots[at] = (uint32_t)table->count + 1;
    *ret_node = (uint32_t)table->count++;
    return PCERE_OK;
}

void label_element_text(const struct label_table *table, uint32_t number, struct text *text)
{
    const struct label_node *node = &table->nodes[number];
    const char *place = table->file->constructs[node->construct < table->file->construct_count ? node->construct : 0].place;
    switch ((enum label_kind)node->kind) {
    case LABEL_ROOT:
        text_add(text, "0");
        if (node->index)
            text_addf(text, ":%llu", (unsigned long long)node->index);
        break;
    case LABEL_RANKED: text_addf(text, ".%llu@%s", (unsigned long long)node->index, place); break;
    case LABEL_FORCED: text_addf(text, ".0.%llu@%s", (unsigned long long)node->index, place); break;
    case LABEL_FIRST: text_addf(text, ".%lld", (long long)node->index); break;
    case LABEL_GIVEN: text_addf(text, "%s@%s", table->given ? table->given : "", place); break;
    }
}

static bool is_root(const struct label_node *node)
{
    return node->kind == LABEL_ROOT || node->kind == LABEL_GIVEN;
}

void label_text(const struct label_table *table, uint32_t node, struct text *text)
{
    size_t depth = 1, begin = text->length;
    for (uint32_t at = node; !is_root(&table->nodes[at]); at = table->nodes[at].parent)
        depth++;
    uint32_t *chain = malloc(depth * sizeof *chain);
    if (!chain) {
        text->failed = true;
        return;
    }
    for (size_t i = depth; i-- > 0; node = table->nodes[node].parent)
        chain[i] = node;
    for (size_t i = 0; i < depth; i++)
        label_element_text(table, chain[i], text);
    free(chain);
    if (!text->failed && text->length - begin > TEXT_MOST) {
        XXH128_hash_t hash = XXH3_128bits(text->data + begin, text->length - begin);
        text->length = begin + TEXT_KEPT;
        text_addf(text, "~%016llx%016llx", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
    }
}
