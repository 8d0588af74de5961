/* tests/code/list_constructs.c - prints a program's table of constructs, for identities.sh: id, kind, line, ordinal, function, region, parent's kind
 * and line. */
#include "core/elf_file.h"

#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct elf_file *file;
    struct pcere_error error = {0};
    if (argc != 2 || elf_file_open(argv[1], &file, &error)) {
        fprintf(stderr, "%s\n", argc == 2 ? error.message : "list_constructs PROGRAM");
        return 1;
    }
    const struct elf_construct *constructs;
    size_t count = elf_file_constructs(file, &constructs);
    for (size_t i = 0; i < count; i++) {
        const struct pcere_construct_entry *entry = &constructs[i].entry;
        const struct elf_construct *parent = entry->parent ? elf_file_construct(file, entry->parent) : NULL;
        printf("%016" PRIx64 " %s, line %u, %u of %s, in '%s'", entry->id, elf_construct_kind(&constructs[i]), entry->line, entry->ordinal,
               constructs[i].function, constructs[i].region);
        if (parent)
            printf(", under %s in line %u", elf_construct_kind(parent), parent->entry.line);
        putchar('\n');
    }
    elf_file_close(file);
    return 0;
}
