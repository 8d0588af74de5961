/* tests/unit/test_core_elf_file.c - this very program carries sections as the pass writes them, and reads them back; then damaged
 * copies of it. */
#include "core/elf_file.h"
#include "core/files.h"
#include "tests/unit/unit.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <zstd.h>

int elf_test_variable[25] = {1};
_Thread_local uint64_t elf_test_tls_first[3] __attribute__((aligned(64))) = {1, 2, 3};
_Thread_local char elf_test_tls_second;
_Thread_local uint64_t elf_test_tls_shared __asm__("shared.pcere.0000000000001234.llvm.77");     /* as ThinLTO calls a static variable that several modules use */

/* Two units, a table of addresses, and one of two constructs (flags "-O2", "-g"; source "a.c", "bc.c"; 5 and 0 bytes; five addresses, of which the
 * linker dropped two, and one that another name has). */
__asm__(".pushsection .pcere.bc,\"\",@progbits\n"
        ".p2align 4\n"
        ".ascii \"PCEREBC1\"\n.long 2, 19\n.quad 0x1234\n.long 0, 2, 2, 2\n.quad 7, 4, 5, 5, 0\n"
        ".ascii \"-O2\\0-g\\0a.c\\0BC123\"\n.p2align 4\n"
        ".ascii \"PCEREBC1\"\n.long 2, 19\n.quad 0x5678\n.long 0, 3, 0, 0\n.quad 0, 5, 0, 0, 0\n"
        ".ascii \"bc.c\\0\"\n.p2align 4\n"
        ".popsection\n"
        ".pushsection .pcere.sym,\"\",@progbits\n"
        ".p2align 4\n"
        "1: .ascii \"PCERESY1\"\n.long 2, 5\n.quad 0x1234, 2f-1b\n"
        ".quad elf_test_variable, 100\n.short 1, 0\n.long 24\n.ascii \"elf_test_variable\\0\\0\\0\\0\\0\\0\\0\"\n"
        ".quad elf_test_tls_second@dtpoff, 1\n.short 2, 1\n.long 8\n.ascii \"second\\0\\0\"\n"
        ".quad 0, 0\n.short 3, 0\n.long 8\n.ascii \"dropped\\0\"\n"
        ".quad 0, 8\n.short 2, 1\n.long 8\n.ascii \"nobody\\0\\0\"\n"
        ".quad 0, 8\n.short 2, 1\n.long 8\n.ascii \"shared\\0\\0\"\n"
        ".p2align 4\n"
        "2:\n.popsection\n"
        ".pushsection .pcere.con,\"\",@progbits\n"
        ".p2align 4\n"
        "3: .ascii \"PCERECO1\"\n.long 2, 2\n.quad 0x1234, 4f-3b\n"
        ".quad 0xabc, 0\n.long 1, 7, 9, 0\n.quad 16\n.ascii \"solve\\0a.c\\0s@a.c\\0\"\n"
        ".quad 0xdef, 0xabc\n.long 11, 0, 0, 1\n.quad 16\n.ascii \"solve\\0a.c\\0\\0\\0\\0\\0\\0\\0\"\n"
        ".p2align 4\n"
        "4:\n.popsection\n");

static struct elf_file *open_self(void)
{
    struct elf_file *file = NULL;
    struct pcere_error error = {0};
    if (elf_file_open("/proc/self/exe", &file, &error)) {
        fprintf(stderr, "%s\n", error.message);
        CU_FAIL_FATAL("this program cannot be read");
    }
    return file;
}

static int note_base(struct dl_phdr_info *info, size_t bytes, void *base)
{
    (void)bytes;
    *(uint64_t *)base = info->dlpi_addr;
    return 1;                           /* the first is the program itself */
}

static uint64_t load_bias(void)
{
    uint64_t base = 0;
    dl_iterate_phdr(note_base, &base);
    return base;
}

static void test_units(void)
{
    struct elf_file *file = open_self();
    const struct elf_unit *units;
    void *bitcode;
    size_t bytes;
    CU_ASSERT_EQUAL_FATAL(elf_file_units(file, &units), 2);
    CU_ASSERT_EQUAL(units[0].header.unit_id, 0x1234);
    CU_ASSERT_EQUAL(units[0].header.optimisation, 2);
    CU_ASSERT_EQUAL(memcmp(units[0].flags, "-O2\0-g", 7), 0);
    CU_ASSERT_STRING_EQUAL(units[0].source, "a.c");
    CU_ASSERT_EQUAL_FATAL(elf_unit_bitcode(&units[0], &bitcode, &bytes, NULL), PCERE_OK);
    CU_ASSERT_TRUE(bytes == 5 && memcmp(bitcode, "BC123", 5) == 0);
    free(bitcode);
    CU_ASSERT_STRING_EQUAL(units[1].source, "bc.c");
    CU_ASSERT_EQUAL(units[1].header.flags_bytes, 0);
    CU_ASSERT_EQUAL_FATAL(elf_unit_bitcode(&units[1], &bitcode, &bytes, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(bytes, 0);
    free(bitcode);
    elf_file_close(file);
}

static void test_tables(void)
{
    struct elf_file *file = open_self();
    const struct elf_symbol *entries;
    CU_ASSERT_EQUAL_FATAL(elf_file_tables(file, &entries), 3);
    CU_ASSERT_STRING_EQUAL(entries[0].name, "elf_test_variable");
    CU_ASSERT_EQUAL(entries[0].address + load_bias(), (uint64_t)(uintptr_t)elf_test_variable);
    CU_ASSERT_EQUAL(entries[0].size, 100);
    CU_ASSERT_EQUAL(entries[0].unit_id, 0x1234);
    CU_ASSERT_STRING_EQUAL(entries[1].name, "second");
    CU_ASSERT_EQUAL(entries[1].kind, PCERE_SYMBOL_TLS);
    CU_ASSERT_TRUE(entries[1].local);
    CU_ASSERT_STRING_EQUAL(entries[2].name, "shared");
    uint64_t thread_pointer;
    __asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
    CU_ASSERT_EQUAL(thread_pointer - elf_file_tls_offset(file) + entries[2].address, (uint64_t)(uintptr_t)&elf_test_tls_shared);
    elf_file_close(file);
}

static void test_constructs(void)
{
    struct elf_file *file = open_self();
    const struct elf_construct *constructs;
    CU_ASSERT_EQUAL_FATAL(elf_file_constructs(file, &constructs), 2);
    CU_ASSERT_EQUAL(constructs[0].entry.id, 0xabc);
    CU_ASSERT_EQUAL(constructs[0].entry.line, 7);
    CU_ASSERT_EQUAL(constructs[0].unit_id, 0x1234);
    CU_ASSERT_STRING_EQUAL(constructs[0].function, "solve");
    CU_ASSERT_STRING_EQUAL(constructs[0].file, "a.c");
    CU_ASSERT_STRING_EQUAL(constructs[0].region, "s@a.c");
    CU_ASSERT_STRING_EQUAL(elf_construct_kind(&constructs[0]), "parallel");
    CU_ASSERT_PTR_EQUAL(elf_file_construct(file, 0xdef), &constructs[1]);
    CU_ASSERT_EQUAL(constructs[1].entry.parent, 0xabc);
    CU_ASSERT_STRING_EQUAL(constructs[1].region, "");
    CU_ASSERT_STRING_EQUAL(elf_construct_kind(&constructs[1]), "implicit barrier");
    CU_ASSERT_PTR_NULL(elf_file_construct(file, 0x123));
    elf_file_close(file);
}

static void test_symbols_and_tls(void)
{
    struct elf_file *file = open_self();
    const struct elf_symbol *variable = elf_file_symbol(file, "elf_test_variable"), *first = elf_file_symbol(file, "elf_test_tls_first");
    const struct elf_symbol *function = elf_file_symbol(file, "main");
    CU_ASSERT_TRUE_FATAL(variable && first && function);
    CU_ASSERT_EQUAL(variable->address + load_bias(), (uint64_t)(uintptr_t)elf_test_variable);
    CU_ASSERT_TRUE(variable->size >= sizeof elf_test_variable);   /* sanitizers add room */
    CU_ASSERT_EQUAL(function->kind, PCERE_SYMBOL_FUNCTION);
    CU_ASSERT_EQUAL(first->kind, PCERE_SYMBOL_TLS);
    uint64_t thread_pointer;
    __asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
    CU_ASSERT_EQUAL(thread_pointer - elf_file_tls_offset(file) + first->address, (uint64_t)(uintptr_t)elf_test_tls_first);
    CU_ASSERT_TRUE(elf_file_tls_bytes(file) >= sizeof elf_test_tls_first + 1);
    CU_ASSERT_PTR_NULL(elf_file_symbol(file, "load_bias"));
    elf_file_close(file);
}

static void test_what_the_file_is(void)
{
    struct elf_file *file = open_self();
    uint64_t low, high, bias = load_bias();
    const char *const *needed;
    size_t count = elf_file_needed(file, &needed);
    bool libc = false;
    for (size_t i = 0; i < count; i++)
        libc |= strcmp(needed[i], "libc.so.6") == 0;
    CU_ASSERT_TRUE(libc);
    CU_ASSERT_PTR_NULL(elf_file_soname(file));
    struct elf_file *library = NULL;
    CU_ASSERT_EQUAL_FATAL(elf_file_open("/lib/x86_64-linux-gnu/libm.so.6", &library, NULL), PCERE_OK);
    CU_ASSERT_STRING_EQUAL(elf_file_soname(library), "libm.so.6");
    elf_file_close(library);
    CU_ASSERT_FALSE(elf_file_is_static(file));
    CU_ASSERT_EQUAL(elf_file_is_pie(file), bias != 0);
    elf_file_span(file, &low, &high);
    CU_ASSERT_TRUE(low + bias <= (uint64_t)(uintptr_t)elf_test_variable && (uint64_t)(uintptr_t)elf_test_variable < high + bias);
    CU_ASSERT_TRUE(low % 4096 == 0 && high % 4096 == 0);
    const char *build_id = elf_file_build_id(file);
    CU_ASSERT_TRUE(!build_id || strspn(build_id, "0123456789abcdef") == strlen(build_id));
    elf_file_close(file);
}

static void test_packed_bitcode(void)
{
    char text[1000], packed[2000];
    memset(text, 'x', sizeof text);
    struct elf_unit unit = {.source = "x.c", .bitcode = packed};
    size_t stored = ZSTD_compress(packed, sizeof packed, text, sizeof text, 3), bytes;
    void *bitcode;
    unit.header.coding = PCERE_UNIT_ZSTD;
    unit.header.raw_bytes = sizeof text;
    unit.header.stored_bytes = stored;
    CU_ASSERT_EQUAL_FATAL(elf_unit_bitcode(&unit, &bitcode, &bytes, NULL), PCERE_OK);
    CU_ASSERT_TRUE(bytes == sizeof text && memcmp(bitcode, text, bytes) == 0);
    free(bitcode);
    unit.header.raw_bytes = sizeof text + 1;
    CU_ASSERT_EQUAL(elf_unit_bitcode(&unit, &bitcode, &bytes, NULL), PCERE_DATA);
    unit.header.raw_bytes = sizeof text;
    unit.header.stored_bytes = stored - 1;
    CU_ASSERT_EQUAL(elf_unit_bitcode(&unit, &bitcode, &bytes, NULL), PCERE_DATA);
}

static void test_no_executable(void)
{
    struct elf_file *file;
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL(elf_file_open("/nonexistent", &file, &error), PCERE_USAGE);
    CU_ASSERT_EQUAL(elf_file_open("/tmp", &file, &error), PCERE_USAGE);
    CU_ASSERT_EQUAL(elf_file_open("/etc/passwd", &file, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "not an executable"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.hint, "-fpass-plugin"));
}

static void test_program_without_sections(void)
{
    struct elf_file *file;
    const struct elf_unit *units;
    const struct elf_symbol *symbols;
    CU_ASSERT_EQUAL_FATAL(elf_file_open("/bin/sh", &file, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(elf_file_units(file, &units), 0);
    CU_ASSERT_EQUAL(elf_file_tables(file, &symbols), 0);
    elf_file_close(file);
}

/* ---- damage -------------------------------------------------------------------------------------------------------------- */

static char copy_path[] = "/tmp/pcere-elf-XXXXXX";

static void read_copy(void)
{
    struct elf_file *file;
    const struct elf_unit *units;
    struct pcere_error error = {0};
    enum pcere_status status = elf_file_open(copy_path, &file, &error);
    if (status) {
        CU_ASSERT_EQUAL(status, PCERE_DATA);
        CU_ASSERT_TRUE(*error.message);
        return;
    }
    size_t count = elf_file_units(file, &units);
    for (size_t i = 0; i < count; i++) {
        void *bitcode;
        size_t length;
        if (elf_unit_bitcode(&units[i], &bitcode, &length, NULL) == PCERE_OK)
            free(bitcode);
    }
    elf_file_close(file);
}

/* Headers, sections of PCERE and section headers: every byte. The rest: no offset of ours. */
static void test_flips(void)
{
    void *data;
    size_t bytes;
    CU_ASSERT_EQUAL_FATAL(file_read(AT_FDCWD, "/proc/self/exe", 1u << 30, &data, &bytes, NULL), PCERE_OK);
    int descriptor = mkstemp(copy_path);
    CU_ASSERT_TRUE_FATAL(descriptor >= 0 && write(descriptor, data, bytes) == (ssize_t)bytes);
    unsigned char *at = data;
    Elf64_Ehdr header;
    memcpy(&header, at, sizeof header);
    const unsigned char *units = memmem(at, bytes, "PCEREBC1\2\0\0", 12), *tables = memmem(at, bytes, "PCERESY1\2\0\0", 12);
    CU_ASSERT_TRUE_FATAL(units && tables);
    size_t spans[][2] = {{0, 64 + 56u * header.e_phnum}, {(size_t)(units - at), 224}, {(size_t)(tables - at), 224},
                         {header.e_shoff, 64u * header.e_shnum}};
    for (size_t span = 0; span < 4; span++)
        for (size_t i = spans[span][0]; i < spans[span][0] + spans[span][1] && i < bytes; i++) {
            unsigned char flipped = (unsigned char)(at[i] ^ (i % 3 ? 1u << (i % 8) : 0xff));
            CU_ASSERT_EQUAL_FATAL(pwrite(descriptor, &flipped, 1, (off_t)i), 1);
            read_copy();
            CU_ASSERT_EQUAL_FATAL(pwrite(descriptor, &at[i], 1, (off_t)i), 1);
        }
    for (size_t length = bytes; length; length -= length > 2997 ? 997 : length > 7 ? 7 : length) {
        CU_ASSERT_EQUAL_FATAL(ftruncate(descriptor, (off_t)length), 0);
        read_copy();
    }
    CU_ASSERT_EQUAL_FATAL(ftruncate(descriptor, 0), 0);
    read_copy();
    close(descriptor);
    unlink(copy_path);
    free(data);
}

/* Where the section's own such header lies in a copy of this program: strings in these tests match as well, but the header has a second zero byte and lies behind them. */
static unsigned char *header_find(unsigned char *data, size_t bytes, const char *start, size_t start_bytes)
{
    unsigned char *found = memmem(data, bytes, start, start_bytes);
    for (unsigned char *next = found; next && (next = memmem(next + 1, bytes - (size_t)(next + 1 - data), start, start_bytes));)
        if (!memcmp(next + 8, "\2\0\0\0\23", 5) || !memcmp(next + 8, "\2\0\0\0\5", 5) || !memcmp(next + 8, "\2\0\0\0\2", 5))
            return next;
    return found;
}

static void test_other_versions_are_passed_over(void)
{
    void *data;
    size_t bytes;
    struct elf_file *file;
    const struct elf_unit *units;
    const struct elf_symbol *symbols;
    const struct elf_construct *constructs;
    uint32_t version = 0;
    CU_ASSERT_EQUAL_FATAL(file_read(AT_FDCWD, "/proc/self/exe", 1u << 30, &data, &bytes, NULL), PCERE_OK);
    static const char *const starts[] = {"PCEREBC1\2", "PCERESY1\2", "PCERECO1\2"};
    for (size_t i = 0; i < 3; i++) {
        unsigned char *found = header_find(data, bytes, starts[i], 10);
        CU_ASSERT_PTR_NOT_NULL_FATAL(found);
        memcpy(found + 8, "\11\0\0\0garbage of its own", 23);
        CU_ASSERT_EQUAL_FATAL(file_replace(AT_FDCWD, copy_path, data, bytes, false, NULL, NULL), PCERE_OK);
        CU_ASSERT_EQUAL_FATAL(elf_file_open(copy_path, &file, NULL), PCERE_OK);
        CU_ASSERT_EQUAL_FATAL(elf_file_units(file, &units), 1);
        CU_ASSERT_EQUAL(units[0].header.unit_id, 0x5678);
        CU_ASSERT_EQUAL(elf_file_other_units(file, &version), 1);
        CU_ASSERT_EQUAL(version, 9);
        CU_ASSERT_EQUAL(elf_file_tables(file, &symbols) == 0, i > 0);
        CU_ASSERT_EQUAL(elf_file_constructs(file, &constructs) == 0, i > 1);
        elf_file_close(file);
    }
    unlink(copy_path);
    free(data);
}

static void test_bad_sections_are_refused(void)
{
    static const struct { const char *find; size_t find_bytes, offset; unsigned char value; const char *says; } cases[] = {
        {"PCEREBC1\2", 10, 0, 'X', "does not begin"},
        {"PCEREBC1\2", 10, 24, 7, "size or coding"},
        {"PCEREBC1\2", 10, 47, 0xff, "cut off"},
        {"PCEREBC1\2", 10, 86, 'x', "no end"},
        {"PCERESY1\2", 10, 0, 'X', "does not begin"},
        {"PCERESY1\2", 10, 12, 9, "cut off"},
        {"PCERESY1\2", 10, 48, 77, "unknown kind"},
        {"PCERESY1\2", 10, 55, 0xff, "no end"},
        {"PCERECO1\2", 10, 0, 'X', "does not begin"},
        {"PCERECO1\2", 10, 8, 9, "another version"},
        {"PCERECO1\2", 10, 12, 1, "more than its entries"},
        {"PCERECO1\2", 10, 25, 0xff, "cut off"},
        {"PCERECO1\2", 10, 48, 99, "unknown kind"},
        {"PCERECO1\2", 10, 64, 0xff, "no end"},
        {"PCERECO1\2", 10, 87, 'x', "no end"},
    };
    void *data;
    size_t bytes;
    CU_ASSERT_EQUAL_FATAL(file_read(AT_FDCWD, "/proc/self/exe", 1u << 30, &data, &bytes, NULL), PCERE_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char *found = header_find(data, bytes, cases[i].find, cases[i].find_bytes);
        CU_ASSERT_PTR_NOT_NULL_FATAL(found);
        unsigned char kept = found[cases[i].offset];
        found[cases[i].offset] = cases[i].value;
        struct elf_file *file;
        struct pcere_error error = {0};
        CU_ASSERT_EQUAL_FATAL(file_replace(AT_FDCWD, copy_path, data, bytes, false, NULL, NULL), PCERE_OK);
        CU_ASSERT_EQUAL(elf_file_open(copy_path, &file, &error), PCERE_DATA);
        if (!strstr(error.message, cases[i].says)) {
            fprintf(stderr, "case %zu: %s\n", i, error.message);
            CU_FAIL("damage is named wrongly");
        }
        found[cases[i].offset] = kept;
    }
    unlink(copy_path);
    free(data);
}

static const struct unit_test tests[] = {
    {"units of bitcode are read", test_units},
    {"tables of addresses are read, without what the linker dropped", test_tables},
    {"tables of constructs are read, and found by id", test_constructs},
    {"symbols and the place of TLS agree with the running program", test_symbols_and_tls},
    {"kind, span, libraries and build id are read", test_what_the_file_is},
    {"packed bitcode is unpacked, and damage to it found", test_packed_bitcode},
    {"what is no executable is refused", test_no_executable},
    {"a program without sections of PCERE has no units", test_program_without_sections},
    {"no flipped byte and no truncation crashes", test_flips},
    {"what other versions of the plugin wrote is passed over", test_other_versions_are_passed_over},
    {"damaged sections are refused with what is wrong", test_bad_sections_are_refused},
};

UNIT_MAIN("core: elf_file", tests)
