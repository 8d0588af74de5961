/* tests/unit/test_launcher_sources.c - what stands in for files that were open. */
#include "replay-rt/launcher/sources.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <string.h>

static uint32_t source(struct store_descriptor descriptor, uint64_t *ret_changed_ns, const char *words)
{
    struct text what = {0};
    uint32_t found = descriptor_source(&descriptor, ret_changed_ns, &what);
    CU_ASSERT_STRING_EQUAL(what.data ? what.data : "", words);
    text_done(&what);
    return found;
}

static void files_that_are_read(void)
{
    uint64_t changed = 0;
    struct store_descriptor file = {.number = 5, .kind = STORE_DESCRIPTOR_FILE, .flags = O_RDONLY, .changed_ns = 77, .path = "/tmp/x"};
    CU_ASSERT_EQUAL(source(file, &changed, ""), PLAN_SOURCE_FILE);
    CU_ASSERT_EQUAL(changed, 77);
    file.marks = STORE_DESCRIPTOR_CONTENT;
    CU_ASSERT_EQUAL(source(file, &changed, ""), PLAN_SOURCE_COPY);
    CU_ASSERT_EQUAL(changed, 0);
    file.marks = STORE_DESCRIPTOR_DELETED;
    CU_ASSERT_EQUAL(source(file, &changed, "a file without a name (descriptor 5)"), PLAN_SOURCE_COPY);
}

static void files_that_are_written(void)
{
    uint64_t changed = 0;
    struct store_descriptor file = {.number = 5, .kind = STORE_DESCRIPTOR_FILE, .flags = O_WRONLY | O_APPEND, .path = "/tmp/x"};
    CU_ASSERT_EQUAL(source(file, &changed, ""), PLAN_SOURCE_COPY);
    file.flags = O_RDWR;
    CU_ASSERT_EQUAL(source(file, &changed, "a file that was too large to be kept (descriptor 5)"), PLAN_SOURCE_COPY);
    file.marks = STORE_DESCRIPTOR_CONTENT | STORE_DESCRIPTOR_DELETED;
    CU_ASSERT_EQUAL(source(file, &changed, ""), PLAN_SOURCE_COPY);
}

static void what_is_no_file(void)
{
    uint64_t changed = 0;
    struct store_descriptor other = {.number = 9, .kind = STORE_DESCRIPTOR_PIPE, .flags = O_RDONLY};
    CU_ASSERT_EQUAL(source(other, &changed, "a pipe (descriptor 9)"), PLAN_SOURCE_NOTHING);
    other.flags = O_WRONLY;
    CU_ASSERT_EQUAL(source(other, &changed, ""), PLAN_SOURCE_NOTHING);
    other.kind = STORE_DESCRIPTOR_SOCKET;
    CU_ASSERT_EQUAL(source(other, &changed, "a socket (descriptor 9)"), PLAN_SOURCE_LOST);
    other.kind = STORE_DESCRIPTOR_OTHER;
    CU_ASSERT_EQUAL(source(other, &changed, "an event or timer descriptor (descriptor 9)"), PLAN_SOURCE_LOST);
    other.kind = STORE_DESCRIPTOR_TERMINAL;
    other.number = 0;
    CU_ASSERT_EQUAL(source(other, &changed, "standard input, which was a terminal"), PLAN_SOURCE_NOTHING);
}

static void devices(void)
{
    uint64_t changed = 0;
    struct store_descriptor device = {.number = 4, .kind = STORE_DESCRIPTOR_DEVICE, .flags = O_RDONLY, .path = "/dev/urandom"};
    CU_ASSERT_EQUAL(source(device, &changed, ""), PLAN_SOURCE_DEVICE);
    strcpy(device.path, "/dev/sda");
    CU_ASSERT_EQUAL(source(device, &changed, "a device (descriptor 4)"), PLAN_SOURCE_LOST);
}

static const struct unit_test tests[] = {
    {"a file that is read is read where it is, unless its content was kept", files_that_are_read},
    {"a file that is written becomes one of the codelet's own", files_that_are_written},
    {"pipes can be written, sockets cannot be used, and the words say what it was", what_is_no_file},
    {"harmless devices are there, others are not", devices},
};

UNIT_MAIN("launcher: sources", tests)
