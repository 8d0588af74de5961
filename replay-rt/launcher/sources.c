/* replay-rt/launcher/sources.c - the files of the user are never written: those that were open for writing become files of the codelet's own. */
#include "replay-rt/launcher/sources.h"

#include <fcntl.h>
#include <string.h>

static void what_add(struct text *what, const struct store_descriptor *descriptor, const char *kind)
{
    if (descriptor->number == 0)
        text_addf(what, "standard input, which was %s", kind);
    else
        text_addf(what, "%s (descriptor %d)", kind, descriptor->number);
}

static uint32_t file_source(const struct store_descriptor *descriptor, uint64_t *ret_changed_ns, struct text *what)
{
    uint32_t access = descriptor->flags & O_ACCMODE;
    bool kept = descriptor->marks & STORE_DESCRIPTOR_CONTENT, named = descriptor->path[0] && !(descriptor->marks & STORE_DESCRIPTOR_DELETED);
    if (kept || access == O_WRONLY)
        return PLAN_SOURCE_COPY;
    if (access == O_RDONLY && named) {
        *ret_changed_ns = descriptor->changed_ns;
        return PLAN_SOURCE_FILE;
    }
    what_add(what, descriptor, named ? "a file that was too large to be kept" : "a file without a name");
    return PLAN_SOURCE_COPY;
}

static uint32_t device_source(const struct store_descriptor *descriptor, struct text *what)
{
    static const char *const paths[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (!strcmp(descriptor->path, paths[i]))
            return PLAN_SOURCE_DEVICE;
    what_add(what, descriptor, "a device");
    return PLAN_SOURCE_LOST;
}

uint32_t descriptor_source(const struct store_descriptor *descriptor, uint64_t *ret_changed_ns, struct text *what)
{
    *ret_changed_ns = 0;
    switch (descriptor->kind) {
    case STORE_DESCRIPTOR_FILE:
        return file_source(descriptor, ret_changed_ns, what);
    case STORE_DESCRIPTOR_DIRECTORY:
        return PLAN_SOURCE_FILE;
    case STORE_DESCRIPTOR_PIPE:
        if ((descriptor->flags & O_ACCMODE) != O_WRONLY)
            what_add(what, descriptor, "a pipe");
        return PLAN_SOURCE_NOTHING;
    case STORE_DESCRIPTOR_TERMINAL:
        what_add(what, descriptor, "a terminal");
        return PLAN_SOURCE_NOTHING;
    case STORE_DESCRIPTOR_DEVICE:
        return device_source(descriptor, what);
    case STORE_DESCRIPTOR_SOCKET:
        what_add(what, descriptor, "a socket");
        return PLAN_SOURCE_LOST;
    default:
        what_add(what, descriptor, "an event or timer descriptor");
        return PLAN_SOURCE_LOST;
    }
}
