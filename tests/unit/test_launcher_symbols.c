/* tests/unit/test_launcher_symbols.c - names between linker and captured program. */
#include "replay-rt/launcher/link_symbols.h"

#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

static void harmless_names_are_written(void)
{
    struct text out = {0};
    CU_ASSERT_TRUE(link_symbol_write(&out, "table.pcere.0123456789abcdef", 0x555555558040));
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, ".set \"table.pcere.0123456789abcdef\", 0x555555558040\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, ".hidden \"table.pcere.0123456789abcdef\"\n"));
    CU_ASSERT_TRUE(link_symbol_write(&out, "_ZZ4mainE5table (.llvm.123)$@<>", 1));
    text_done(&out);
}

static void harmful_names_are_not(void)
{
    static const char *const names[] = {"", "a\"b", "a\nb", "a\\b", "\x01", "x\x7f"};
    struct text out = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CU_ASSERT_FALSE(link_symbol_write(&out, names[i], 1));
    CU_ASSERT_EQUAL(out.length, 0);
    text_done(&out);
}

static void logs_are_read(void)
{
    static const char log[] = "ld.lld: error: undefined symbol: folded\n"
                              ">>> referenced by x.c\n>>> an undefined symbol: is only mentioned here\n\n"
                              "ld.lld: error: undefined hidden symbol: x.pcere.00000000000000aa\n"
                              "ld.lld: error: undefined symbol: folded\n"
                              "ld.lld: error: cannot open crt1.o\n"
                              "ld.lld: error: relocation R_X86_64_PLT32 cannot refer to absolute symbol: old\n>>> defined in x.o\n"
                              "ld.lld: error: undefined symbol: last";
    char **names = NULL;
    size_t count = 0;
    CU_ASSERT_EQUAL(link_symbols_undefined(log, &names, &count, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(count, 4);
    CU_ASSERT_STRING_EQUAL(names[0], "folded");
    CU_ASSERT_STRING_EQUAL(names[1], "x.pcere.00000000000000aa");
    CU_ASSERT_STRING_EQUAL(names[2], "old");
    CU_ASSERT_STRING_EQUAL(names[3], "last");
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    names = NULL;
    CU_ASSERT_EQUAL(link_symbols_undefined("", &names, &count, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(count, 0);
    free(names);
}

static const struct unit_test tests[] = {
    {"names of compilers are written as hidden absolute symbols", harmless_names_are_written},
    {"names that could end the line or the quotes are refused", harmful_names_are_not},
    {"undefined symbols are read from the linker's log, each once", logs_are_read},
};

UNIT_MAIN("launcher: symbols", tests)
