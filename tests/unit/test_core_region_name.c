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
        {"quantum::Register::apply(std::variant" ARGUMENTS " const&)::Visitor::operator()@a.cpp:58", "quantum::Register::apply(*)::Visitor::operator()@a.cpp:58"},
        {SCOPES "for_each<tag, " SCOPES "pointer<std::tuple<double, std::~b2513dc3e2bf26b5~us<double>>, " SCOPES "Policy>>::run@a.cpp:18", "*::discretisation::finite_volume::for_each<*>::run@a.cpp:18"},
        {"(anonymous namespace)::run()::Visitor::operator()(std::vector" ARGUMENTS "&, int)@a.cpp:58", "*::run()::Visitor::operator()(*)@a.cpp:58"},
    };
    char text[REGION_NAME_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        region_name_shorten(cases[i].name, text);
        CU_ASSERT(strlen(text) <= REGION_NAME_MOST || strcmp(text, cases[i].name) == 0);
        CU_ASSERT_EQUAL(fnmatch(text, cases[i].name, 0), 0);
        CU_ASSERT_STRING_EQUAL(text, cases[i].text);
    }
}

#define CALL(what) "quantum::Register::pairs<quantum::Register::" what "(std::array<double, 4ul> const&, int)::$_0>@a.cpp:42"

/* Those that would look alike keep a word that tells them apart, and a pattern means one of them; codelets of one region are not taken for others. */
static void test_alike(void)
{
    static const char *const names[] = {CALL("one") " #7", CALL("controlled") " #7", CALL("one") " #9", "main@a.cpp:3", CALL("one_of"), "f<" SCOPES SCOPES "x>@a.cpp:4", NULL},
                             *const twins[] = {SCOPES SCOPES "run@a.cpp:18", "other::scope::" SCOPES "run@a.cpp:18"};
    static const char *const texts[] = {"quantum::Register::pairs<*one(*>@a.cpp:42 #7", "quantum::Register::pairs<*controlled*>@a.cpp:42 #7", "quantum::Register::pairs<*one(*>@a.cpp:42 #9", "main@a.cpp:3", "quantum::Register::pairs<*one_of*>@a.cpp:42", "f<*>@a.cpp:4"};
    char text[REGION_NAME_BYTES];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *got = region_name_among(names[i], names, 7, text);
        CU_ASSERT_PTR_EQUAL(got, texts[i] ? text : NULL);
        CU_ASSERT(!got || !texts[i] || strcmp(got, texts[i]) == 0);
    }
    CU_ASSERT_STRING_EQUAL(region_name_among(names[0], names, 3, text), "quantum::Register::pairs<*one*>@a.cpp:42 #7");
    CU_ASSERT_STRING_EQUAL(region_name_among(names[2], names, 3, text), "quantum::Register::pairs<*one*>@a.cpp:42 #9");
    CU_ASSERT_STRING_EQUAL(region_name_among(names[0], names, 1, text), "quantum::Register::pairs<*>@a.cpp:42 #7");
    CU_ASSERT_PTR_NULL(region_name_among(twins[0], twins, 2, text));
}

#define FILL(of) SCOPES "for_each<tag, device_ptr<" of ">, unsigned long, " SCOPES "host_functor<fill_functor<" of ">>>@b.cpp:65"

/* No word is theirs alone, but words that follow each other are. */
static void test_passages(void)
{
    static const char *const names[] = {FILL("double"), FILL("int"), SCOPES "for_each<tag, device_ptr<double>, unsigned long, " SCOPES "host_functor<sum_functor<int>>>@b.cpp:65", NULL};
    static const char *const texts[] = {"*::discretisation::finite_volume::for_each<*double>>*>@b.cpp:65", "*::discretisation::finite_volume::for_each<*int>,*>@b.cpp:65",
                                        "*::discretisation::finite_volume::for_each<*sum_functor*>@b.cpp:65"};
    char text[REGION_NAME_BYTES];
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(region_name_among(names[i], names, 4, text));
        CU_ASSERT_STRING_EQUAL(text, texts[i]);
        for (size_t j = 0; j < 3; j++)
            CU_ASSERT_EQUAL(fnmatch(text, names[j], 0) == 0, i == j);
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
    {"names that would look alike are told apart by a word of their arguments", test_alike},
    {"and where no word does, by the shortest passage", test_passages},
    {"whatever a name is made of, it is short and no letter is cut", test_strange_names},
};

UNIT_MAIN("core: names of regions", tests)
