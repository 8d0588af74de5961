/* capture-rt/target/begin.c - an OpenMP runtime that begins asks for a tool (OMPT), before it allocates anything: so this library hears of one that came with a library loaded for itself,
 * whichever of its functions is called first. There is no tool here; one of the program's own is asked in turn.
 */
#include "capture-rt/target/target.h"

#include <dlfcn.h>
#include <string.h>

typedef void *start_tool(unsigned version, const char *runtime);

TARGET_EXPORT void *ompt_start_tool(unsigned version, const char *runtime);
TARGET_EXPORT void *ompt_start_tool(unsigned version, const char *runtime)
{
    void *symbol = dlsym(RTLD_NEXT, "ompt_start_tool");
    start_tool *next;
    memcpy(&next, &symbol, sizeof next);
    target_runtime_attach(__builtin_return_address(0));
    return next ? next(version, runtime) : NULL;
}
