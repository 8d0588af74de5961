/* replay-rt/launcher/objects.h - what lies where in captured memory: variables, and the blocks that pointers in them lead to.
 *
 *   globals, statics, thread-locals ─┐
 *   arguments of the region ─────────┼─▶ object ─▶ pointers in it ─▶ object ─▶ ..         breadth first: the shortest way to a block names it
 *   variables of the callers ────────┘
 *
 * Names are written as in the source: `grid->cells[12].rho`. Without debug information there are the symbols' names, and no types.
 */
#ifndef PCERE_REPLAY_LAUNCHER_OBJECTS_H
#define PCERE_REPLAY_LAUNCHER_OBJECTS_H

#include "core/error.h"
#include "core/text.h"
#include "replay-rt/launcher/captured_view.h"
#include "replay-rt/launcher/debug_info.h"
#include "replay-rt/launcher/images.h"
#include "store/store.h"

struct objects_source {               /* all borrowed, and needed as long as the objects are */
    struct debug_info *info;              /* of the image that holds the region */
    const struct images *images;
    size_t image;                         /* that image */
    const struct store_codelet *codelet;
    const struct store_region *region;
    struct captured_view *view;
};


struct objects;

/* PCERE_SYSTEM: no memory. What is captured and what debug information says of it may be at odds: both are hostile. */
enum pcere_status objects_new(const struct objects_source *source, struct objects **ret_objects, struct pcere_error *error);
void objects_free(struct objects *objects);     /* accepts NULL */

/* End of the program's image in memory: data of the program lies below, the heap above, even where the kernel made one mapping of both. */
uint64_t objects_image_end(const struct objects *objects);

struct object_place {
    uint32_t object;
    uint64_t address;                 /* of the value */
    struct debug_leaf leaf;           /* the value; its offset counts from the object's start */
    bool assumed;                     /* it lies behind the first of what a pointer leads to, which may be no array */
};

/* The value that holds the byte at an address. False: nothing is known to lie there. */
bool objects_find(const struct objects *objects, uint64_t address, struct object_place *ret_place);

/* Adds the value's name; with `pattern` without any index: "conj_grad: p[17]", "conj_grad: p[]". */
void objects_name(const struct objects *objects, const struct object_place *place, bool pattern, struct text *out);

/* A floating-point value of 4, 8 or 16 bytes; of a DEBUG_QUAD the nearest that there is. */
long double object_float(enum debug_kind kind, const void *bytes, uint64_t count);

#endif
