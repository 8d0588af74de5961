/* capture-rt/target/locale.c - in which language a program writes numbers: the C library's locale, a thread's own, and that of C++.
 *
 * Where the constants of the "C" locale lie. Asking changes nothing and allocates nothing. The C++ library is asked by the names of its functions: a locale is one pointer.
 */
#include "capture-rt/target/target.h"

#include <dlfcn.h>
#include <langinfo.h>
#include <locale.h>

struct writer { char *at, *end; bool full; };

static void write_text(struct writer *writer, const char *text)
{
    size_t length = strlen(text);
    if (length >= (size_t)(writer->end - writer->at)) {
        writer->full = true;
        return;
    }
    memcpy(writer->at, text, length + 1);
    writer->at += length;
}

/* As setlocale(3) names a locale of several names. */
static void write_own(struct writer *writer, locale_t own)
{
    static const struct { int category; const char *name; } categories[] = {
        {LC_CTYPE, "LC_CTYPE="}, {LC_NUMERIC, ";LC_NUMERIC="}, {LC_TIME, ";LC_TIME="}, {LC_COLLATE, ";LC_COLLATE="}, {LC_MONETARY, ";LC_MONETARY="},
        {LC_MESSAGES, ";LC_MESSAGES="}, {LC_PAPER, ";LC_PAPER="}, {LC_NAME, ";LC_NAME="}, {LC_ADDRESS, ";LC_ADDRESS="},
        {LC_TELEPHONE, ";LC_TELEPHONE="}, {LC_MEASUREMENT, ";LC_MEASUREMENT="}, {LC_IDENTIFICATION, ";LC_IDENTIFICATION="}};
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        write_text(writer, categories[i].name);
        write_text(writer, nl_langinfo_l(NL_LOCALE_NAME(categories[i].category), own));
    }
}

typedef void locale_construct(void **locale);
typedef void *const *locale_classic(void);

/* Is std::locale() another than std::locale::classic()? */
static bool is_named_in_cpp(void)
{
    void *construct_symbol = dlsym(RTLD_DEFAULT, "_ZNSt6localeC1Ev"), *destroy_symbol = dlsym(RTLD_DEFAULT, "_ZNSt6localeD1Ev");
    void *classic_symbol = dlsym(RTLD_DEFAULT, "_ZNSt6locale7classicEv"), *global = NULL;
    locale_construct *construct, *destroy;
    locale_classic *classic;
    if (!construct_symbol || !destroy_symbol || !classic_symbol)
        return false;
    memcpy(&construct, &construct_symbol, sizeof construct);
    memcpy(&destroy, &destroy_symbol, sizeof destroy);
    memcpy(&classic, &classic_symbol, sizeof classic);
    construct(&global);
    bool named = global != *classic();
    destroy(&global);
    return named;
}

/* Weak, not looked up: that would allocate in programs that have no C++ library. */
typedef void *resource_answer(void);
extern resource_answer _ZNSt3pmr19new_delete_resourceEv __attribute__((weak)), _ZNSt3pmr20null_memory_resourceEv __attribute__((weak));
extern resource_answer _ZNSt3__13pmr19new_delete_resourceEv __attribute__((weak)), _ZNSt3__13pmr20null_memory_resourceEv __attribute__((weak));

static void constants_fill(struct capture_stop *stop)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", NULL);
#define PCERE_LIBC_ANSWER(function) (function ? function() : NULL)
#define PCERE_LIBC_CONSTANT(name, constant, size) {(uintptr_t)(constant), (size)},
    const struct capture_constant constants[CAPTURE_CONSTANTS] = {
#include "include/pcere/libc_constants.inc"
    };
#undef PCERE_LIBC_CONSTANT
#undef PCERE_LIBC_ANSWER
    memcpy(stop->constants, constants, sizeof constants);
}

void target_locale_fill(struct capture_stop *stop)
{
    constants_fill(stop);
    const char *global = setlocale(LC_ALL, NULL);
    locale_t own = uselocale((locale_t)0);
    struct writer writer = {stop->locale, stop->locale + sizeof stop->locale, false};
    stop->locale[0] = '\0';
    if (!global || (own == LC_GLOBAL_LOCALE && strcmp(global, "C") == 0))
        return;
    write_text(&writer, global);
    write_text(&writer, "\n");
    if (own != LC_GLOBAL_LOCALE)
        write_own(&writer, own);
    write_text(&writer, "\n");
    write_text(&writer, is_named_in_cpp() ? "c++\n" : "\n");
    if (writer.full)
        stop->locale[0] = '\0';
}
