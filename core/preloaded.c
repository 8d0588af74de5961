/* core/preloaded.c - the environment that brought a library of PCERE's into the user's process. */
#include "core/preloaded.h"

#include <string.h>

extern char **environ;

char **preloaded_slot(const char *name)
{
    size_t length = strlen(name);
    for (char **slot = environ; slot && *slot; slot++)
        if (strncmp(*slot, name, length) == 0 && (*slot)[length] == '=')
            return slot;
    return NULL;
}

static void slot_remove(char **slot)
{
    for (; *slot; slot++)
        slot[0] = slot[1];
}

void preloaded_leave(const char *variable, const char *library)
{
    char **slot = preloaded_slot(variable);
    if (slot)
        slot_remove(slot);
    slot = preloaded_slot("LD_PRELOAD");
    size_t length = strlen(library);
    if (!slot || length == 0)
        return;
    char *value = *slot + sizeof "LD_PRELOAD";
    if (strncmp(value, library, length) != 0)
        return;
    if (value[length] == '\0')
        slot_remove(slot);
    else if (value[length] == ':')
        memmove(value, value + length + 1, strlen(value + length + 1) + 1);
}
