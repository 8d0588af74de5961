/* replay-rt/launcher/objects_private.h - what is known of an object: shared by objects.c, which finds them, object_arrays.c, object_segments.c and object_names.c. For these only. */
#ifndef PCERE_REPLAY_LAUNCHER_OBJECTS_PRIVATE_H
#define PCERE_REPLAY_LAUNCHER_OBJECTS_PRIVATE_H

#include "replay-rt/launcher/objects.h"

#define NONE UINT32_MAX

enum object_kind {
    OBJECT_VARIABLE,
    OBJECT_ARGUMENT,                      /* lies in no memory: the region got it as a word */
    OBJECT_BLOCK,                         /* what a pointer leads to: as many of its type as there is room for */
    OBJECT_SYMBOL,                        /* a name, no type */
};

struct object {
    uint64_t address, bytes;
    uint32_t type;
    uint32_t declared;                    /* OBJECT_BLOCK: what the pointer says that it is: `type`, or a base class of that */
    uint32_t pointer;                     /* OBJECT_BLOCK: type of the pointer */
    uint32_t parent;                      /* OBJECT_BLOCK: what holds the pointer, at `slot` */
    uint32_t alias;                       /* an object above of the same type (a list, a tree), or NONE */
    uint32_t thread;                      /* 1 + number, of a thread-local variable */
    uint64_t slot, group;
    uint64_t block_bytes;                 /* of the block, where this is only the head of it; 0: it is all */
    enum object_kind kind;
    bool by_reference;
    bool extended;                        /* one of its type alone, as part of an object of a derived class, whose own values lie behind it and in its padding */
    bool open;                            /* one of its type, whose last member goes on behind it */
    bool either;                          /* open, or an array of its type: only what is the same in both is known */
    bool endless;                         /* nobody knows where the block ends: `bytes` is where it must */
    const char *name, *function;
};

struct block { uint64_t start, end; uint32_t owner; };     /* of the heap, or that the region allocated */

#define WALKS_MOST 8
struct walk { uint64_t start, end; };     /* all that is a block in there is known */

/* Everything of `type` from `from` on to `end` that lies as far from `from` as whole elements was added, whoever led there. */
struct stretch { uint64_t end, phase, from; uint32_t type; };

struct segment { uint64_t start, end; uint32_t object, shared; };  /* disjoint, ascending; shared: another variable of another type that lies there, too (EQUIVALENCE, COMMON), or NONE */

struct objects {
    struct objects_source source;
    struct object *items;
    size_t count, capacity;
    uint32_t *roots;                      /* objects whose end is known, by address */
    size_t root_count;
    struct block *blocks;
    size_t block_count, block_capacity;
    struct walk walks[WALKS_MOST];
    size_t walk_count;
    struct stretch *stretches;            /* a hash table; end 0: free */
    size_t stretch_count, stretch_room;
    struct segment *segments;
    size_t segment_count, segment_capacity;
    uint64_t slots;
    uint64_t image_low, image_end;
    bool failed;
};

static inline uint64_t objects_mixed(uint64_t a, uint64_t b)
{
    const uint64_t mix = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t value = (a + mix) * mix;
    value = ((value ^ value >> 32) + b) * mix;
    return value ^ value >> 29;
}

/* Behind the last whole element of a block, or what may be none. */
static inline bool object_is_rest(const struct object *object, uint64_t element, uint64_t offset)
{
    return object->kind == OBJECT_BLOCK && !object->open && !object->extended && element && offset >= element && object->bytes - offset / element * element < element;
}

/* Numbers of the objects that lie in memory, by address, and of one address in the order they were found; the caller frees them. NULL without memory. */
uint32_t *objects_by_address(const struct objects *objects, size_t *ret_count);

/* Bytes from the first to the last element of the array whose descriptor lies there. 0: nobody knows. */
uint64_t objects_array_bytes(const struct objects *objects, const struct debug_type *pointer, uint64_t descriptor, uint64_t element);
/* Of a variable or block: the value that holds byte `offset`; as debug_type_walk. */
void objects_walk(const struct objects *objects, const struct object *object, uint64_t offset, struct debug_leaf *ret_leaf);

/* Adds the indices, by the descriptor's bounds, of what lies `offset` bytes into a block: "(17,3)", as a pattern "(:,:)"; "(+30)", elements from the first, where the bounds are not in memory. False: no descriptor leads to it. */
bool objects_array_name(const struct objects *objects, const struct object *object, uint64_t offset, bool pattern, struct text *out);

/* Once all objects are there: where several overlap, what was found first has the bytes. Sets `failed` without memory. */
void objects_segments_make(struct objects *objects);

#endif
