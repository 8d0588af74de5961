#include "capture-rt/tracer/maps.h"

#include "core/text.h"
#include "include/pcere/bisect.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum pcere_status maps_process_facts(pid_t pid, struct map_facts *facts, struct pcere_error *error)
{
    char path[64], line[2048];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = descriptor >= 0 ? read(descriptor, line, sizeof line - 1) : -1;
    int errnum = errno;
    if (descriptor >= 0)
        close(descriptor);
    if (bytes <= 0)
        return pcere_fail(error, PCERE_SYSTEM, errnum, NULL, "cannot read '%s'", path);
    line[bytes] = '\0';
    /* Field 2, the name, may hold anything: count from its closing parenthesis, after which field 3 begins. */
    char *at = strrchr(line, ')'), *rest = at ? at + 2 : NULL;
    uint64_t stack_start = 0, heap_low = 0;
    for (int field = 3; rest && field <= 47; field++) {
        const char *word = strsep(&rest, " ");
        if (field == 28)
            stack_start = strtoull(word, NULL, 10);
        if (field == 47)
            heap_low = strtoull(word, NULL, 10);
    }
    if (!stack_start || !heap_low)
        return pcere_fail(error, PCERE_SYSTEM, 0, NULL, "'%s' does not tell where stack and heap lie", path);
    facts->stack_start = stack_start;
    facts->heap_low = heap_low;
    return PCERE_OK;
}

static bool kernel_name(const char *name)
{
    static const char *const prefixes[] = {"[vdso", "[vvar", "[vsyscall", "[uprobes", "[shadow"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static bool touches(uint64_t start, uint64_t end, uint64_t low, uint64_t high)
{
    return start < high && low < end;
}

static void name_copy(struct store_mapping *mapping, const char *name)
{
    const char *slash = name[0] == '/' ? strrchr(name, '/') : NULL;
    snprintf(mapping->name, sizeof mapping->name, "%s", slash ? slash + 1 : name);
    for (char *c = mapping->name; *c; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
            *c = '?';
}

bool maps_parse(const char *line, const struct map_facts *facts, struct map_entry *ret_entry)
{
    uint64_t start, end, offset, inode;
    char permissions[8];
    unsigned major, minor;
    int consumed = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 "%n", &start, &end, permissions, &offset, &major,
               &minor, &inode, &consumed) != 7)
        return false;
    if (start >= end || (start | end) % facts->page_bytes != 0 || strlen(permissions) != 4)
        return false;
    const char *name = line + consumed + strspn(line + consumed, " ");
    if (kernel_name(name))
        return false;

    struct map_entry entry = {.mapping = {.start = start, .end = end}, .shared = permissions[3] == 's', .file = inode != 0,
                              .device = (uint64_t)major << 32 | minor, .inode = inode, .offset = offset};
    struct store_mapping *mapping = &entry.mapping;
    mapping->protection = (permissions[0] == 'r' ? PROT_READ : 0u) | (permissions[1] == 'w' ? PROT_WRITE : 0u) |
                          (permissions[2] == 'x' ? PROT_EXEC : 0u);
    if (touches(start, end, facts->image_low, facts->image_high))
        mapping->role = STORE_ROLE_IMAGE;
    else if (!entry.file && start <= facts->heap_high && end >= facts->heap_low && facts->heap_low < facts->heap_high)
        mapping->role = STORE_ROLE_HEAP;
    else if (!entry.file && facts->stack_start >= start && facts->stack_start < end)
        mapping->role = STORE_ROLE_STACK;
    else
        mapping->role = STORE_ROLE_ANONYMOUS;
    for (size_t i = 0; i < facts->library_count; i++) {
        uint64_t low = facts->libraries[i].address, high = low + facts->libraries[i].bytes;
        if (start >= low - low % facts->page_bytes && start < high)
            mapping->role = STORE_ROLE_LIBRARY;
    }
    name_copy(mapping, name);
    *ret_entry = entry;
    return true;
}

static enum pcere_status piece_add(struct map_list *list, struct map_entry entry, uint64_t start, uint64_t end,
                                   struct pcere_error *error)
{
    if (start >= end)
        return PCERE_OK;
    if (!array_reserve(&list->entries, &list->capacity, list->count + 1, sizeof *list->entries))
        return pcere_fail_memory(error, "the list of mappings");
    entry.offset += start - entry.mapping.start;
    entry.mapping.start = start;
    entry.mapping.end = end;
    list->shared_writable |= entry.shared && entry.mapping.protection & PROT_WRITE;
    list->entries[list->count++] = entry;
    return PCERE_OK;
}

enum pcere_status maps_add(struct map_list *list, struct map_entry entry, const struct map_facts *facts, struct pcere_error *error)
{
    uint64_t start = entry.mapping.start, end = entry.mapping.end, mask = facts->page_bytes - 1;
    while (start < end) {
        uint64_t cut_start = end, cut_end = end;        /* the excluded range that begins first at or after `start` */
        for (size_t i = 0; i < facts->excluded_count; i++) {
            uint64_t low = facts->excluded[i].address & ~mask;
            uint64_t high = (facts->excluded[i].address + facts->excluded[i].bytes + mask) & ~mask;
            if (!touches(start, end, low, high))
                continue;
            low = low < start ? start : low;
            if (low < cut_start || (low == cut_start && high > cut_end)) {
                cut_start = low;
                cut_end = high;
            }
        }
        enum pcere_status status = piece_add(list, entry, start, cut_start, error);
        if (status != PCERE_OK)
            return status;
        start = cut_end;
    }
    return PCERE_OK;
}

enum pcere_status maps_text(pid_t pid, char **ret_text, struct pcere_error *error)
{
    char path[64], piece[16384];
    struct text text = {0};
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = file < 0 ? -1 : 0;
    while (file >= 0 && (bytes = read(file, piece, sizeof piece)) > 0)
        text_add_bytes(&text, piece, (size_t)bytes);
    int errnum = errno;
    if (file >= 0)
        close(file);
    text_add_bytes(&text, "", 1);
    char *taken = text_take(&text);
    if (bytes < 0 || !taken) {
        free(taken);
        return bytes < 0 ? pcere_fail(error, PCERE_SYSTEM, errnum, NULL, "cannot read '%s'", path) : pcere_fail_memory(error, "the list of mappings");
    }
    *ret_text = taken;
    return PCERE_OK;
}

enum pcere_status maps_read(const char *text, const struct map_facts *facts, struct map_list *list, struct pcere_error *error)
{
    char *lines = strdup(text), *rest = lines;
    enum pcere_status status = lines ? PCERE_OK : pcere_fail_memory(error, "the list of mappings");
    list->count = 0;
    list->shared_writable = false;
    for (char *line; status == PCERE_OK && (line = strsep(&rest, "\n"));) {
        struct map_entry entry;
        if (maps_parse(line, facts, &entry))
            status = maps_add(list, entry, facts, error);
    }
    free(lines);
    return status;
}

/* ---- memory at several addresses -------------------------------------------------------------------------------------------- */

static int object_order(const struct map_entry *a, const struct map_entry *b)
{
    return a->device != b->device ? (a->device > b->device) - (a->device < b->device) : (a->inode > b->inode) - (a->inode < b->inode);
}

/* Mappings of one object one after the other, writable ones first. */
static int sharing_order(const void *left, const void *right)
{
    const struct map_entry *a = *(const struct map_entry *const *)left, *b = *(const struct map_entry *const *)right;
    int order = object_order(a, b), writable = (int)(b->mapping.protection & PROT_WRITE) - (int)(a->mapping.protection & PROT_WRITE);
    return order ? order : writable ? writable : (a->mapping.start > b->mapping.start) - (a->mapping.start < b->mapping.start);
}

struct place { uint64_t offset, end, address; };        /* of an object: where its bytes from `offset` on were seen first */

struct places {
    struct place *items;        /* ascending by offset, not overlapping */
    size_t count, capacity;
    struct store_alias *aliases;
    size_t alias_count, alias_capacity;
};

/* The first place that ends behind the offset. */
static size_t place_above(const struct places *places, uint64_t offset)
{
    BISECT(low, 0, places->count, i, places->items[i].end <= offset);
    return low;
}

static bool place_add(struct places *places, size_t index, struct place place)
{
    if (!array_reserve(&places->items, &places->capacity, places->count + 1, sizeof *places->items))
        return false;
    memmove(&places->items[index + 1], &places->items[index], (places->count - index) * sizeof *places->items);
    places->items[index] = place;
    places->count++;
    return true;
}

static bool alias_add(struct places *places, struct store_alias alias)
{
    struct store_alias *last = places->alias_count ? &places->aliases[places->alias_count - 1] : NULL;
    if (last && last->address + last->bytes == alias.address && last->original + last->bytes == alias.original) {
        last->bytes += alias.bytes;
        return true;
    }
    if (!array_reserve(&places->aliases, &places->alias_capacity, places->alias_count + 1, sizeof *places->aliases))
        return false;
    places->aliases[places->alias_count++] = alias;
    return true;
}

/*   object    |--- seen at A ---|      |-- at B --|
 *   mapping          |------------------------|
 *                     alias of A   new    of B                 */
static bool mapping_place(struct places *places, const struct map_entry *entry)
{
    uint64_t address = entry->mapping.start, offset = entry->offset, end = offset + (entry->mapping.end - entry->mapping.start);
    while (offset < end) {
        size_t index = place_above(places, offset);
        const struct place *known = index < places->count ? &places->items[index] : NULL;
        bool seen = known && known->offset <= offset;
        uint64_t stop = seen ? known->end : known && known->offset < end ? known->offset : end;
        stop = stop < end ? stop : end;
        if (!(seen ? alias_add(places, (struct store_alias){address, known->address + (offset - known->offset), stop - offset})
                   : place_add(places, index, (struct place){offset, stop, address})))
            return false;
        address += stop - offset;
        offset = stop;
    }
    return true;
}

static int alias_order(const void *left, const void *right)
{
    const struct store_alias *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static bool may_be_seen_twice(const struct map_entry *entry)
{
    return entry->shared && entry->inode && entry->offset <= UINT64_MAX - (entry->mapping.end - entry->mapping.start);
}

enum pcere_status maps_aliases(const struct map_list *list, struct store_alias **ret_aliases, size_t *ret_count, struct pcere_error *error)
{
    struct places places = {0};
    size_t count = 0;
    const struct map_entry **shared = malloc((list->count ? list->count : 1) * sizeof *shared);
    bool enough = shared != NULL;
    for (size_t i = 0; enough && i < list->count; i++)
        if (may_be_seen_twice(&list->entries[i]))
            shared[count++] = &list->entries[i];
    if (count)
        qsort(shared, count, sizeof *shared, sharing_order);
    for (size_t i = 0, next; enough && i < count; i = next) {
        next = i + 1;
        while (next < count && object_order(shared[i], shared[next]) == 0)
            next++;
        places.count = 0;
        for (size_t j = i; enough && next - i > 1 && shared[i]->mapping.protection & PROT_WRITE && j < next; j++)
            enough = mapping_place(&places, shared[j]);
    }
    free(shared);
    free(places.items);
    if (!enough) {
        free(places.aliases);
        return pcere_fail_memory(error, "memory at two addresses");
    }
    if (places.alias_count)
        qsort(places.aliases, places.alias_count, sizeof *places.aliases, alias_order);
    *ret_aliases = places.aliases;
    *ret_count = places.alias_count;
    return PCERE_OK;
}

void maps_done(struct map_list *list)
{
    free(list->entries);
    *list = (struct map_list){0};
}
