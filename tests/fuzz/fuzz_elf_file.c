/* tests/fuzz/fuzz_elf_file.c - executables: any bytes; then everything that was found is read to its end. */
#include "core/elf_file.h"
#include "tests/fuzz/fuzz.h"

static size_t read_symbols(size_t count, const struct elf_symbol *symbols)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += strlen(symbols[i].name) + symbols[i].kind;
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[100];
    struct elf_file *file;
    struct pcere_error error = {0};
    snprintf(path, sizeof path, "%s/program", fuzz_folder_get());
    fuzz_write(path, data, size);
    enum pcere_status status = elf_file_open(path, &file, &error);
    if (status) {
        FUZZ_EXPECT((status == PCERE_DATA || status == PCERE_SYSTEM) && *error.message);
        return 0;
    }
    const struct elf_unit *units;
    const struct elf_symbol *symbols;
    const char *const *needed;
    volatile size_t sum = 0;
    uint64_t low, high;
    elf_file_span(file, &low, &high);
    FUZZ_EXPECT(low < high);
    for (size_t i = 0, count = elf_file_units(file, &units); i < count; i++) {
        void *bitcode;
        size_t bytes;
        sum += strlen(units[i].source);
        for (uint64_t at = 0; at < units[i].header.flags_bytes; at += strlen(units[i].flags + at) + 1)
            sum++;
        if (elf_unit_bitcode(&units[i], &bitcode, &bytes, &error) == PCERE_OK) {
            FUZZ_EXPECT(bytes == units[i].header.raw_bytes);
            free(bitcode);
        }
    }
    size_t tables = elf_file_tables(file, &symbols);
    sum += read_symbols(tables, symbols);
    tables = elf_file_symbols(file, &symbols);
    sum += read_symbols(tables, symbols);
    for (size_t i = 0, count = elf_file_needed(file, &needed); i < count; i++)
        sum += strlen(needed[i]);
    elf_file_close(file);
    return 0;
}
