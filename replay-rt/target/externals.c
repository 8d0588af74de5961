/* replay-rt/target/externals.c - captured pointers into shared libraries, which lie elsewhere in this process.
 *
 *   where the capture had sin   [ jmp sin ]     where it had a virtual table   [ a copy of ours ]
 *
 * A page is made for them where nothing of the capture lies. Pointers stay as they were, so that comparing memory finds them equal.
 */
#include "replay-rt/target/codelet.h"
#include "replay-rt/target/machine.h"

#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const unsigned char **symbols;     /* of the plan's externals, one each; NULL: in no library here */

static void *answer_of(const char *function)
{
    void *symbol = dlsym(RTLD_DEFAULT, function), *(*call)(void);
    memcpy(&call, &symbol, sizeof call);
    return symbol ? call() : NULL;
}

static const unsigned char *symbol_find(const char *name)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", NULL);
#define PCERE_LIBC_ANSWER(function) answer_of(#function)
#define PCERE_LIBC_CONSTANT(constant_name, constant, size) \
    if (!strcmp(name, #constant_name)) \
        return (const unsigned char *)(constant);
#include "include/pcere/libc_constants.inc"
#undef PCERE_LIBC_CONSTANT
#undef PCERE_LIBC_ANSWER
    return dlsym(RTLD_DEFAULT, name);
}

void pcere_externals_prepare(struct codelet *codelet)
{
    const struct plan_external *externals = PLAN_TABLE(codelet, externals, struct plan_external);
    uint64_t count = codelet->plan->externals.count;
    symbols = calloc(count ? count : 1, sizeof *symbols);
    if (!symbols)
        pcere_plan_end(codelet, PLAN_FAILED, "no memory for the list of libraries' functions");
    for (uint64_t i = 0; i < count; i++)
        symbols[i] = symbol_find(pcere_plan_string(codelet->plan, externals[i].name));
}

static uint64_t external_end(const struct plan_external *external)
{
    return external->address + (external->bytes ? external->bytes : MACHINE_FAR_JUMP_BYTES);
}

/* What is in place already needs nothing; what lies in captured memory is the program's. */
static bool is_wanted(const struct memory *memory, const struct plan_external *external, const unsigned char *symbol)
{
    return symbol && (uint64_t)symbol != external->address && !pcere_memory_is_mapped(memory, external->address)
           && !pcere_memory_is_mapped(memory, external_end(external) - 1);
}

/* Pages from *mapped, the end of those that were made before, as far as the external reaches. */
static void pages_map(struct memory *memory, const struct plan_external *external, uint64_t *mapped)
{
    uint64_t page_bytes = memory->codelet->plan->page_bytes, start = external->address & ~(page_bytes - 1);
    uint64_t end = (external_end(external) + page_bytes - 1) & ~(page_bytes - 1);
    if (start < *mapped)
        start = *mapped;
    if (start >= end)
        return;
    void *got = mmap((void *)start, end - start, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != (void *)start)
        pcere_plan_end(memory->codelet, got != MAP_FAILED || errno == EEXIST ? PLAN_COLLIDED : PLAN_UNMAPPED,
                       "addresses 0x%llx to 0x%llx of its libraries cannot be had", (unsigned long long)start, (unsigned long long)end);
    *mapped = end;
}

static void external_place(const struct plan_external *external, const unsigned char *symbol)
{
    unsigned char *to = (unsigned char *)external->address;
    if (external->bytes) {
        memcpy(to, symbol, external->bytes);
        return;
    }
    machine_far_jump(to, (uint64_t)symbol);
    __builtin___clear_cache((char *)to, (char *)to + MACHINE_FAR_JUMP_BYTES);
}

void pcere_externals_apply(struct memory *memory)
{
    struct replay_plan *plan = memory->codelet->plan;
    const struct plan_external *externals = PLAN_TABLE(memory->codelet, externals, struct plan_external);
    uint64_t mapped = 0, used = 0;
    for (uint64_t i = 0; i < plan->externals.count; i++) {
        if (!is_wanted(memory, &externals[i], symbols[i]))
            continue;
        if (externals[i].address < used) {        /* another name of the same, or too near to the one before */
            plan->result.functions_skipped++;
            continue;
        }
        pages_map(memory, &externals[i], &mapped);
        external_place(&externals[i], symbols[i]);
        used = external_end(&externals[i]);
        plan->result.functions_redirected++;
    }
    for (uint64_t i = 0; i < plan->externals.count; i++)
        if (is_wanted(memory, &externals[i], symbols[i])) {
            uint64_t start = externals[i].address & ~(plan->page_bytes - 1);
            mprotect((void *)start, external_end(&externals[i]) - start, PROT_READ | PROT_EXEC);
        }
}
