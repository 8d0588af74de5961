/* replay-rt/target/locale.c - in which language the program wrote numbers where its region began: the C library's locale, the entering thread's own,
 * and that of C++, by the names of its functions, since a locale is one pointer there.
 *
 * Names are looked up as the program would: its environment (LOCPATH) is in place.
 */
#include "replay-rt/target/codelet.h"

#include <dlfcn.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

typedef void construct_call(void **locale, const char *name);
typedef void global_call(void **ret_before, void *const *locale);
typedef void destroy_call(void **locale);

/* std::locale::global(std::locale(name)), where the C library has a locale of that name. */
static void cpp_set(const char *name)
{
    void *construct_symbol = dlsym(RTLD_DEFAULT, "_ZNSt6localeC1EPKc"), *global_symbol = dlsym(RTLD_DEFAULT, "_ZNSt6locale6globalERKS_");
    void *destroy_symbol = dlsym(RTLD_DEFAULT, "_ZNSt6localeD1Ev"), *named = NULL, *before = NULL;
    construct_call *construct;
    global_call *global;
    destroy_call *destroy;
    if (!construct_symbol || !global_symbol || !destroy_symbol)
        return;
    memcpy(&construct, &construct_symbol, sizeof construct);
    memcpy(&global, &global_symbol, sizeof global);
    memcpy(&destroy, &destroy_symbol, sizeof destroy);
    construct(&named, name);
    global(&before, &named);
    destroy(&before);
    destroy(&named);
}

void pcere_locale_apply(const struct codelet *codelet)
{
    struct replay_plan *plan = codelet->plan;
    const char *text = pcere_plan_string(plan, plan->locale);
    if (!*text)
        return;
    char *lines = strdup(text), *rest = lines;
    const char *global = lines ? strsep(&rest, "\n") : NULL, *own = rest ? strsep(&rest, "\n") : "", *cpp = rest ? strsep(&rest, "\n") : "";
    bool there = global && setlocale(LC_ALL, global);
    if (there && *cpp)
        cpp_set(global);
    locale_t thread = there && *own ? newlocale(LC_ALL_MASK, own, (locale_t)0) : (locale_t)0;
    if (thread)
        uselocale(thread);
    plan->result.locale_missing = !there || (*own && !thread);
    free(lines);
}
