/* trace/dot.c - see dot.h: the reader. Graphviz's language but for subgraphs as ends of edges, ports and markup, which task graphs have no use for. */
#include "trace/dot.h"
#include "core/files.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

enum { DOT_BYTES_MOST = 1 << 30 };

struct words {                   /* a word at a time; `word` is NUL-terminated in a buffer of its own */
    const char *at, *end;
    const char *path;
    unsigned line;
    char *word;
    size_t length, capacity;
    bool quoted;                 /* the word was: it is a name, whatever it reads */
    char sign;                   /* of what is no word: { } [ ] ; , = : '>' for ->; 0: the end; 'w': a word */
    struct pcere_error *error;
    bool memory;
};

static enum pcere_status dot_fail(const struct words *words, const char *what)
{
    return pcere_fail(words->error, PCERE_DATA, 0, "a task graph is a 'digraph' in Graphviz's language", "'%.300s', line %u: %s", words->path, words->line, what);
}

static void word_add(struct words *words, char byte)
{
    if (words->length + 2 > words->capacity) {
        size_t capacity = words->capacity ? words->capacity * 2 : 256;
        char *word = realloc(words->word, capacity);
        if (!word) {
            words->memory = false;
            return;
        }
        words->word = word;
        words->capacity = capacity;
    }
    words->word[words->length++] = byte;
    words->word[words->length] = '\0';
}

static void space_skip(struct words *words)
{
    for (; words->at < words->end; words->at++) {
        if (*words->at == '\n')
            words->line++;
        else if (*words->at == '#' && words->line > 1 && words->at[-1] == '\n')
            while (words->at + 1 < words->end && words->at[1] != '\n')
                words->at++;
        else if (*words->at == '/' && words->at + 1 < words->end && words->at[1] == '/')
            while (words->at + 1 < words->end && words->at[1] != '\n')
                words->at++;
        else if (*words->at == '/' && words->at + 1 < words->end && words->at[1] == '*') {
            for (words->at += 2; words->at + 1 < words->end && !(words->at[0] == '*' && words->at[1] == '/'); words->at++)
                words->line += *words->at == '\n';
            words->at++;
        } else if (!isspace((unsigned char)*words->at))
            return;
    }
}

static void quoted_read(struct words *words)
{
    for (words->at++; words->at < words->end && *words->at != '"'; words->at++) {
        words->line += *words->at == '\n';
        if (*words->at == '\\' && words->at + 1 < words->end) {
            words->at++;
            word_add(words, *words->at == 'n' || *words->at == 'l' || *words->at == 'r' ? '\n' : *words->at);
        } else {
            word_add(words, *words->at);
        }
    }
    words->at += words->at < words->end;
}

static char word_next(struct words *words)
{
    words->length = 0;
    words->quoted = false;
    if (words->word)
        words->word[0] = '\0';
    space_skip(words);
    if (words->at >= words->end)
        return words->sign = '\0';
    char first = *words->at;
    if (first == '"') {
        word_add(words, '\0');
        words->length = 0;
        words->quoted = true;
        quoted_read(words);
        return words->sign = 'w';
    }
    if (first == '-' && words->at + 1 < words->end && (words->at[1] == '>' || words->at[1] == '-')) {
        words->at += 2;
        return words->sign = words->at[-1] == '>' ? '>' : '?';
    }
    while (words->at < words->end && (isalnum((unsigned char)*words->at) || *words->at == '_' || *words->at == '.' || (*words->at & 0x80) ||
                                      (*words->at == '-' && !words->length)))
        word_add(words, *words->at++);
    if (words->length)
        return words->sign = 'w';
    words->at++;
    return words->sign = strchr("{}[];,=:", first) ? first : '?';
}

static bool is_keyword(const struct words *words, const char *keyword)
{
    return words->sign == 'w' && !words->quoted && strcasecmp(words->word, keyword) == 0;
}

/* ---- nodes by name ------------------------------------------------------------------------------------------------------------ */

struct names { struct graph *graph; uint32_t *slots; size_t slot_count; };

static bool names_grow(struct names *names)
{
    size_t count = names->slot_count ? names->slot_count * 2 : 1024;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    for (uint32_t node = 0; node < names->graph->count; node++) {
        const char *name = names->graph->nodes[node].name;
        size_t place = XXH3_64bits(name, strlen(name)) & (count - 1);
        while (slots[place])
            place = (place + 1) & (count - 1);
        slots[place] = node + 1;
    }
    free(names->slots);
    names->slots = slots;
    names->slot_count = count;
    return true;
}

static uint64_t number_in(const char *text)
{
    while (*text && !isdigit((unsigned char)*text))
        text++;
    uint64_t number = 0;
    if (!*text)
        return UINT64_MAX;
    for (; isdigit((unsigned char)*text); text++)
        number = number < UINT64_MAX / 20 ? number * 10 + (uint64_t)(*text - '0') : number;
    return number;
}

static bool node_named(struct names *names, const char *name, uint32_t *ret_node)
{
    if (names->graph->count * 2 >= names->slot_count && !names_grow(names))
        return false;
    size_t place = XXH3_64bits(name, strlen(name)) & (names->slot_count - 1);
    for (; names->slots[place]; place = (place + 1) & (names->slot_count - 1))
        if (strcmp(names->graph->nodes[names->slots[place] - 1].name, name) == 0) {
            *ret_node = names->slots[place] - 1;
            return true;
        }
    struct graph_node node = {.name = strdup(name), .id = number_in(name)};
    if (!node.name || !graph_node_add(names->graph, &node, ret_node)) {
        free(node.name);
        return false;
    }
    names->slots[place] = *ret_node + 1;
    return true;
}

/* ---- statements --------------------------------------------------------------------------------------------------------------- */

static void node_attribute(struct graph *graph, uint32_t node, const char *key, const char *value, bool *memory)
{
    struct graph_node *known = &graph->nodes[node];
    if (strcmp(key, "work_ns") == 0) {
        graph->work_ns[node] = strtoull(value, NULL, 10);
        graph->has_work = true;
    } else if (strcmp(key, "place") == 0) {
        *memory &= graph_place(graph, value, &known->place);
    } else if (strcmp(key, "kind") == 0) {
        known->kind = GRAPH_TASK;
        for (uint8_t kind = 0; kind < GRAPH_KINDS; kind++)
            known->kind = strcmp(value, graph_kind_words[kind]) == 0 ? kind : known->kind;
    } else if ((strcmp(key, "color") == 0 || strcmp(key, "fillcolor") == 0) && (strcasestr(value, "gray") || strcasestr(value, "grey"))) {
        known->kind = GRAPH_DATA;
    } else if (strcmp(key, "label") == 0) {
        const char *place = strchr(value, '\n');
        if (number_in(value) != UINT64_MAX)
            known->id = number_in(value);
        if (place && strchr(place, ':') && !known->place)
            *memory &= graph_place(graph, place + 1, &known->place);
    }
}

/* "[key = value, ...]"; the word is behind the first bracket's. */
static enum pcere_status attributes_read(struct words *words, struct graph *graph, uint32_t node, size_t first_edge)
{
    char key[64];
    while (word_next(words) != ']') {
        if (words->sign == ',' || words->sign == ';')
            continue;
        if (words->sign != 'w')
            return dot_fail(words, "an attribute is 'key = value'");
        snprintf(key, sizeof key, "%s", words->word);
        if (word_next(words) != '=' || word_next(words) != 'w')
            return dot_fail(words, "an attribute is 'key = value'");
        if (node != GRAPH_NONE)
            node_attribute(graph, node, key, words->word, &words->memory);
        else if (first_edge != SIZE_MAX && (strcmp(key, "bytes") == 0 || strcmp(key, "label") == 0))
            for (size_t i = first_edge; i < graph->edge_count; i++)
                graph->edge_bytes[i] = strtoull(words->word, NULL, 10);
    }
    return PCERE_OK;
}

static enum pcere_status statement_read(struct words *words, struct names *names)
{
    uint32_t node, next;
    struct graph *graph = names->graph;
    bool defaults = is_keyword(words, "node") || is_keyword(words, "edge") || is_keyword(words, "graph");
    char *first = strdup(words->word);
    if (!first)
        return pcere_fail_memory(words->error, "a graph");
    char sign = word_next(words);
    enum pcere_status status = PCERE_OK;
    if (defaults && sign == '[') {
        status = attributes_read(words, graph, GRAPH_NONE, SIZE_MAX);
        word_next(words);
    } else if (sign == '=') {
        if (word_next(words) != 'w')
            status = dot_fail(words, "nothing stands behind '='");
        word_next(words);
    } else if (!node_named(names, first, &node)) {
        status = pcere_fail_memory(words->error, "a graph");
    } else {
        size_t first_edge = graph->edge_count;
        while (status == PCERE_OK && words->sign == '>') {
            if (word_next(words) != 'w')
                status = dot_fail(words, "an edge ends at a node");
            else if (!node_named(names, words->word, &next) || !graph_edge_add(graph, node, next, 0))
                status = pcere_fail_memory(words->error, "a graph");
            node = next;
            if (status == PCERE_OK)
                word_next(words);
        }
        if (status == PCERE_OK && words->sign == '[') {
            status = attributes_read(words, graph, graph->edge_count > first_edge ? GRAPH_NONE : node, first_edge);
            word_next(words);
        }
    }
    free(first);
    return status == PCERE_OK && !words->memory ? pcere_fail_memory(words->error, "a graph") : status;
}

static enum pcere_status graph_read(struct words *words, struct names *names)
{
    word_next(words);
    if (is_keyword(words, "strict"))
        word_next(words);
    if (!is_keyword(words, "digraph"))
        return dot_fail(words, "it does not begin with 'digraph'");
    if (word_next(words) == 'w')
        word_next(words);
    if (words->sign != '{')
        return dot_fail(words, "'{' is missing");
    unsigned depth = 1;
    word_next(words);
    while (depth) {
        if (words->sign == '\0')
            return dot_fail(words, "the file ends amid the graph");
        if (is_keyword(words, "subgraph")) {
            if (word_next(words) == 'w')
                word_next(words);
            if (words->sign != '{')
                return dot_fail(words, "'{' is missing");
        }
        if (words->sign == 'w') {
            enum pcere_status status = statement_read(words, names);
            if (status != PCERE_OK)
                return status;
            continue;
        }
        if (words->sign == '{')
            depth++;
        else if (words->sign == '}')
            depth--;
        else if (words->sign != ';' && words->sign != ',')
            return dot_fail(words, "neither a node nor an edge");
        if (depth)
            word_next(words);
    }
    return PCERE_OK;
}

enum pcere_status dot_read(const char *path, struct graph *ret_graph, struct pcere_error *error)
{
    void *data;
    size_t bytes;
    enum pcere_status status = file_read(AT_FDCWD, path, DOT_BYTES_MOST, &data, &bytes, error);
    if (status != PCERE_OK)
        return status == PCERE_DATA && error && error->errnum == 2 ? (error->status = PCERE_USAGE) : status;
    struct graph graph = {0};
    struct names names = {.graph = &graph};
    struct words words = {.at = data, .end = (const char *)data + bytes, .path = path, .line = 1, .error = error, .memory = true};
    while (words.at < words.end && *words.at == '#')          /* a line of the preprocessor may be the first */
        while (words.at < words.end && *words.at++ != '\n')
            continue;
    status = graph_read(&words, &names);
    if (status == PCERE_OK && !words.memory)
        status = pcere_fail_memory(error, "a graph");
    if (status == PCERE_OK)
        *ret_graph = graph;
    else
        graph_done(&graph);
    free(names.slots);
    free(words.word);
    free(data);
    return status;
}
