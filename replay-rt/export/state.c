/* state.c - what the C library kept for the program where the region starts: environment, locale, random numbers, signal handlers.
 *
 * state.h has them; what it does not name is as this process has it.
 */
#define _GNU_SOURCE
#include "codelet.h"
#include "state.h"

#include <dlfcn.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- environment and locale ----------------------------------------------------------------------------------------------------- */

static void environment_set(void)
{
    if (ENVIRONMENT && is_captured((void *)ENVIRONMENT))
        environ = (char **)ENVIRONMENT;
}

/* std::locale::global(std::locale(name)), without a C++ compiler: a locale is one pointer there. */
static void cpp_locale_set(const char *name)
{
    void (*construct)(void **, const char *), (*global)(void **, void **), (*destroy)(void **);
    void *named = NULL, *before = NULL;
    *(void **)&construct = dlsym(RTLD_DEFAULT, "_ZNSt6localeC1EPKc");
    *(void **)&global = dlsym(RTLD_DEFAULT, "_ZNSt6locale6globalERKS_");
    *(void **)&destroy = dlsym(RTLD_DEFAULT, "_ZNSt6localeD1Ev");
    if (!construct || !global || !destroy)
        return;
    construct(&named, name);
    global(&before, &named);
    destroy(&before);
    destroy(&named);
}

static void locale_set(void)
{
    static const char process[] = LOCALE_PROCESS, thread[] = LOCALE_THREAD;
    if (!*process)
        return;
    bool there = setlocale(LC_ALL, process);
    if (there && LOCALE_CPP)
        cpp_locale_set(process);
    locale_t own = there && *thread ? newlocale(LC_ALL_MASK, thread, (locale_t)0) : (locale_t)0;
    if (own)
        uselocale(own);
    if (!there || (*thread && !own))
        fprintf(messages, "codelet: the program's locale (%s) is not installed here\n", there ? thread : process);
}

/* ---- random numbers: the C library takes a state, and gives one away, only while another is in use ------------------------------------ */

struct random { uint64_t address; int kind; size_t bytes; const char *state; };
enum { RANDOM_TABLE = 1, RANDOM_48 = 2 };
static const struct random randoms[] = {
#define RANDOM(kind, address, bytes, state) {address, kind, bytes, state},
    RANDOMS(RANDOM)
    {0, 0, 0, NULL},
};

static char aside[8] __attribute__((aligned(8))), own[256] __attribute__((aligned(8)));

static void random_restore(void)
{
    for (const struct random *random = randoms; random->kind; random++)
        if (random->kind == RANDOM_TABLE) {
            char *home = random->address && is_captured((void *)random->address) ? (char *)random->address : own;
            initstate(1, aside, sizeof aside);
            memcpy(home, random->state, random->bytes);
            setstate(home);
        } else {
            unsigned short state[3];
            memcpy(state, random->state, sizeof state);
            seed48(state);
        }
}

/* ---- variables of the C library's that the program uses by name -------------------------------------------------------------------------- */

#define VARIABLE(name, bytes, leads, state) extern __attribute__((weak)) char variable_##name[] __asm__(#name);
LIBRARY_VARIABLES(VARIABLE)
#undef VARIABLE

/* Pointers that lead nowhere here stay as they are. */
static __attribute__((unused)) void variable_set(char *at, size_t bytes, bool leads, const char *state)
{
    uint64_t first;
    if (!at || bytes < (leads ? sizeof first : 1))
        return;
    memcpy(&first, state, leads ? sizeof first : 1);
    if (!leads || !first || is_captured((void *)first))
        memcpy(at, state, bytes);
}

static void variables_restore(void)
{
#define VARIABLE(name, bytes, leads, state) variable_set(variable_##name, bytes, leads, state);
    LIBRARY_VARIABLES(VARIABLE)
#undef VARIABLE
}

/* ---- signals: a handler's captured address leads to it ---------------------------------------------------------------------------------- */

static void handler_set(int number, uint64_t handler, uint64_t mask, int flags)
{
    struct sigaction action = {.sa_flags = flags & (SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER | SA_RESETHAND), .sa_handler = SIG_IGN};
    if (handler != (uint64_t)SIG_IGN && !is_captured((void *)handler))
        return;                                     /* a library's */
    memcpy(&action.sa_handler, &handler, sizeof handler);
    memcpy(&action.sa_mask, &mask, sizeof mask);
    sigaction(number, &action, NULL);
}

void state_start(void)
{
    environment_set();
    locale_set();                                   /* LOCPATH is the program's */
    (void)handler_set;
}

void state_settle(void)
{
    if (randoms[0].kind)
        initstate(1, aside, sizeof aside);
}

void state_restore(void)
{
    environment_set();
    random_restore();
    variables_restore();
#define SIGNAL(number, handler, mask, flags) handler_set(number, handler, mask, flags);
    SIGNALS(SIGNAL)
}
