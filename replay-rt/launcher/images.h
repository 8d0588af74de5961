/* replay-rt/launcher/images.h - the executable and the user's shared libraries of a store: their files, where they lay, and what a name means
 * in each of them.
 *
 * Image 0 is the executable, image k the manifest's images[k - 1]. All addresses but those in `file` are captured ones.
 */
#ifndef PCERE_REPLAY_LAUNCHER_IMAGES_H
#define PCERE_REPLAY_LAUNCHER_IMAGES_H

#include "core/elf_file.h"
#include "replay-rt/launcher/image.h"
#include "store/store.h"

struct loaded_image {
    struct elf_file *elf;             /* NULL: the store has no copy of this library */
    struct image file;
    const char *name, *file_name;     /* in libraries/; where it was captured, without its folder; "" for the executable; borrowed from the store */
    uint64_t bias, low, high;
    bool global;                      /* its names serve every image; else only its own code */
    uint64_t base;                    /* of what is rebuilt of it: set by whoever lays it out */
    uint64_t pool_offset;             /* of its file in the page pool: set by page_pool_new */
};

struct images { struct loaded_image *items; size_t count; };

/* PCERE_DATA: a file of the store is damaged. */
enum pcere_status images_open(const struct store *store, struct images *ret_images, struct pcere_error *error);
void images_close(struct images *images);    /* accepts half-built */
bool images_stacks_execute(const struct images *images);    /* the program's threads had executable stacks, since one of its files asks for these */

/* Was the image mapped when the codelet's region began? */
bool image_is_present(const struct images *images, size_t index, const struct store_codelet *codelet);
/* Can the codelet be replayed with these? PCERE_DATA: a library that it needs is not in the store. PCERE_NO: the object that holds its region is
 * linked twice into one image, so that nobody knows which copy ran. */
enum pcere_status images_check(const struct images *images, const struct store_codelet *codelet, struct pcere_error *error);

/* What image `from` found when it looked for a symbol, as the dynamic linker searches: first the images whose names serve all, in their
 * order, then itself. A copy of a variable that the executable keeps counts if an image has the original. SIZE_MAX: none, or a library that
 * is not captured. Borrowed symbol; its address is link-time. */
size_t images_resolve(const struct images *images, size_t from, const char *name, const struct image_export **ret_symbol);

/* The image in which the codelet's region lies: the one with the unit, by the call path where several have it. */
size_t images_of_region(const struct images *images, const struct store_codelet *codelet);

#endif
