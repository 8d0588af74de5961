/* tests/unit/test_core_region_name.c - names of regions that people can read, and that mean the region still. */
#include "core/region_name.h"
#include "tests/unit/unit.h"

#include <fnmatch.h>
#include <string.h>

#define SCOPES "simulation::discretisation::finite_volume::"
#define ARGUMENTS "<" SCOPES "Geometry<double, 3ul>, std::vector, " SCOPES "Policy>"

static void test_names(void)
{
    static const struct { const char *name, *text; } cases[] = {
        {"conj_grad@cg.c:405", "conj_grad@cg.c:405"},
        {"finite_volume::Solver" ARGUMENTS "::apply<main::$_0>@a.cpp:18", "finite_volume::Solver<*>::apply<*>@a.cpp:18"},
        {SCOPES "Solver" ARGUMENTS "::apply_to_each<main::$_0>@a.cpp:18#2", "*::finite_volume::Solver<*>::apply_to_each<*>@a.cpp:18#2"},
        {SCOPES "Solver" ARGUMENTS "::apply_to_each<main::$_0>@a.cpp:18 #7", "*::finite_volume::Solver<*>::apply_to_each<*>@a.cpp:18 #7"},
        {SCOPES SCOPES "operator<<" ARGUMENTS "@a.cpp:18", "*::discretisation::finite_volume::operator<<<*>@a.cpp:18"},
        {SCOPES SCOPES "Table" ARGUMENTS "::operator->@a.cpp:18", "*::finite_volume::Table<*>::operator->@a.cpp:18"},
    };
    char text[REGION_NAME_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        region_name_shorten(cases[i].name, text);
        CU_ASSERT(strlen(text) <= REGION_NAME_MOST || strcmp(text, cases[i].name) == 0);
        CU_ASSERT_EQUAL(fnmatch(text, cases[i].name, 0), 0);
        CU_ASSERT_STRING_EQUAL(text, cases[i].text);
    }
}

/* Brackets that do not match, no place, a long word, a long file, letters of several bytes, nothing at all. */
static void test_strange_names(void)
{
    char word[600], text[REGION_NAME_BYTES];
    static const char *const ends[] = {"@a.c:1", "", "<@a.c:1", ">@a.c:1", "@", "\xc3\xa4@a.c:1"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        memset(word, 'w', sizeof word);
        memcpy(word + 300, ends[i], strlen(ends[i]) + 1);
        CU_ASSERT_EQUAL(fnmatch(region_name_shorten(word, text), word, 0), 0);
        CU_ASSERT(strlen(text) <= REGION_NAME_MOST);
    }
    for (size_t i = 0; i + 2 < 400; i += 2)
        memcpy(word + i, "\xc3\xa4", 3);
    CU_ASSERT_EQUAL(fnmatch(region_name_shorten(word, text), word, 0), 0);
    for (const char *at = text; *at; at++)
        CU_ASSERT(*at == '*' || ((*at == '\xc3') == (at[1] == '\xa4')));
    memset(word, 'w', sizeof word);
    word[0] = '@';
    word[sizeof word - 1] = '\0';
    CU_ASSERT(strlen(region_name_shorten(word, text)) < REGION_NAME_BYTES);
    CU_ASSERT_STRING_EQUAL(region_name_shorten("", text), "");
}

static const struct unit_test tests[] = {
    {"a long name loses template arguments first, then scopes, and is a pattern for itself", test_names},
    {"whatever a name is made of, it is short and no letter is cut", test_strange_names},
};

UNIT_MAIN("core: names of regions", tests)
