/* replay-rt/target/constants.c - constants that nobody names: a rebuilt unit has its own of a string literal, captured memory the program's.
 *
 *   the original's  p ──▶ [ $apr1$\0 ]  in the program, read-only
 *   the replay's    q ──▶ [ $apr1$\0 ]  in the codelet: from q to the constant's end there must be the same
 */
#include "replay-rt/target/codelet.h"
#include "include/pcere/bisect.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct codelet_constant *constants;    /* of all images, ascending; where linkers share strings' ends, those that overlap end together */
static size_t constant_count;

static int constant_order(const void *left, const void *right)
{
    const struct codelet_constant *a = left, *b = right;
    if (a->here != b->here)
        return (uintptr_t)a->here < (uintptr_t)b->here ? -1 : 1;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

void pcere_constants_open(struct codelet *codelet)
{
    size_t most = 0;
    for (size_t k = 0; k < pcere_images_count(); k++)
        most += (size_t)(pcere_image(k)->constants_end - pcere_image(k)->constants);
    if (!most)
        return;
    constants = calloc(most, sizeof *constants);
    if (!constants)
        pcere_plan_end(codelet, PLAN_FAILED, "no memory for the list of constants");
    for (size_t k = 0; k < pcere_images_count(); k++)
        for (const struct codelet_constant *c = pcere_image(k)->constants; c < pcere_image(k)->constants_end; c++)
            if (c->bytes)
                constants[constant_count++] = *c;
    qsort(constants, constant_count, sizeof *constants, constant_order);
}

/* From the address to the end of the constant that holds it. 0: none does. */
static uint64_t bytes_behind(uint64_t address)
{
    BISECT(low, 0, constant_count, i, (uint64_t)(uintptr_t)constants[i].here <= address);
    if (!low)
        return 0;
    uint64_t offset = address - (uint64_t)(uintptr_t)constants[low - 1].here;
    return offset < constants[low - 1].bytes ? constants[low - 1].bytes - offset : 0;
}

static bool is_read_only(const struct memory *memory, uint64_t address, uint64_t bytes)
{
    uint64_t page_bytes = memory->codelet->plan->page_bytes;
    if (bytes > UINT64_MAX - page_bytes || address > UINT64_MAX - page_bytes - bytes)
        return false;
    for (uint64_t page = address & ~(page_bytes - 1); page < address + bytes; page += page_bytes)
        if (!pcere_memory_is_mapped(memory, page) || (pcere_memory_protection(memory, page) & (PROT_READ | PROT_WRITE)) != PROT_READ)
            return false;
    return true;
}

bool pcere_constants_are_alike(const struct memory *memory, uint64_t captured, uint64_t here)
{
    uint64_t bytes = bytes_behind(here);
    return bytes && is_read_only(memory, captured, bytes) && !memcmp((const void *)captured, (const void *)here, bytes);
}
