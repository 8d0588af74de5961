/* fuzz_debug_info.c - debug information: any bytes; then every variable is looked at, and what it points to. libdw reads most of it. */
#include "core/text.h"
#include "replay-rt/launcher/debug_info.h"
#include "tests/fuzz/fuzz.h"

enum { OFFSETS = 24, DEPTH = 3 };

static void look(struct debug_info *info, uint32_t number, int depth)
{
    for (uint64_t offset = 0; offset < OFFSETS; offset++) {
        struct text exact = {0}, pattern = {0};
        struct debug_leaf leaf;
        debug_type_walk(info, number, offset * 7, offset & 1, &exact, &pattern, &leaf);
        FUZZ_EXPECT(leaf.bytes > 0 && leaf.offset <= offset * 7 && !exact.failed);
        text_done(&exact);
        text_done(&pattern);
    }
    const struct debug_type type = *debug_type_get(info, number);
    uint64_t tail = 0;
    FUZZ_EXPECT(!debug_type_tail(info, number, &tail) || tail <= type.bytes);
    FUZZ_EXPECT(type.kind != DEBUG_FLOAT || type.bytes == 4 || type.bytes == 8 || type.bytes == 16);
    if (depth < DEPTH && type.kind == DEBUG_POINTER)
        look(info, debug_type_target(info, number), depth + 1);
    for (size_t i = 0; depth < DEPTH && i < type.member_count && i < OFFSETS; i++)
        look(info, type.members[i].type, depth + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[100];
    struct debug_info *info;
    struct debug_variable *list;
    const struct debug_variable *variables;
    struct pcere_error error = {0};
    size_t count;
    snprintf(path, sizeof path, "%s/program", fuzz_folder_get());
    fuzz_write(path, data, size);
    FUZZ_EXPECT(debug_info_open(path, &info, &error) == PCERE_OK);
    count = debug_info_variables(info, &variables);
    for (size_t i = 0; i < count && i < 64; i++) {
        FUZZ_EXPECT(*variables[i].name);
        look(info, variables[i].type, 0);
    }
    for (uint32_t line = 22; line < 28; line++)
        if (debug_info_arguments(info, "seed_debug.c", line, "work", 0x401000 + line, &list, &count, &error) == PCERE_OK) {
            for (size_t i = 0; i < count; i++)
                look(info, list[i].type, 0);
            free(list);
        }
    for (uint64_t pc = 0x400000; pc < 0x402000; pc += 0x30) {
        const struct debug_frame frame = {.pc = pc, .stack_pointer = 0x7000, .canonical_address = 0x7100, .frame_pointer = 0x70f0};
        if (debug_info_frame(info, &frame, &list, &count, &error) == PCERE_OK)
            free(list);
    }
    debug_info_close(info);
    return 0;
}
