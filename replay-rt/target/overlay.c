/* replay-rt/target/overlay.c - what must change in captured memory so that it works with new code and new libraries.
 *
 *   old address of a function   [ jump rebuilt ]      a pointer in captured data leads to the rebuilt function
 *   old global offset table     [ new address ]      old code that has no bitcode finds the new libraries
 *
 * Pointers into libraries are externals.c's.
 */
#include "replay-rt/target/codelet.h"
#include "replay-rt/target/machine.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static int function_order(const void *left, const void *right)
{
    const struct codelet_function *const *a = left, *const *b = right;
    return ((*a)->captured > (*b)->captured) - ((*a)->captured < (*b)->captured);
}

static bool function_redirect(struct memory *memory, const struct codelet_function *function)
{
    uint64_t from = (uint64_t)function->captured;
    unsigned char jump[MACHINE_JUMP_BYTES];
    if (from % MACHINE_CODE_ALIGNMENT || !machine_jump(jump, from, (uint64_t)function->rebuilt) || !pcere_memory_adjust(memory, from, jump, sizeof jump))
        return false;
    __builtin___clear_cache((char *)from, (char *)from + sizeof jump);
    return true;
}

static void functions_redirect(struct memory *memory)
{
    struct plan_result *result = &memory->codelet->plan->result;
    size_t count = 0, known = 0;
    for (size_t k = 0; k < pcere_images_count(); k++)
        count += (size_t)(pcere_image(k)->functions_end - pcere_image(k)->functions);
    const struct codelet_function **functions = calloc(count ? count : 1, sizeof(struct codelet_function *));
    if (!functions)
        pcere_plan_end(memory->codelet, PLAN_FAILED, "no memory for the list of functions");
    for (size_t k = 0; k < pcere_images_count(); k++)
        for (const struct codelet_function *f = pcere_image(k)->functions; f < pcere_image(k)->functions_end; f++)
            if (f->captured)
                functions[known++] = f;
    qsort(functions, known, sizeof(struct codelet_function *), function_order);
    for (size_t i = 0; i < known; i++) {
        uint64_t at = (uint64_t)functions[i]->captured;
        if (i && at == (uint64_t)functions[i - 1]->captured)
            continue;                 /* the same inline function of another unit */
        size_t next = i + 1;
        while (next < known && (uint64_t)functions[next]->captured == at)
            next++;
        bool overlaps = next < known && (uint64_t)functions[next]->captured - at < MACHINE_JUMP_BYTES;
        if (!overlaps && function_redirect(memory, functions[i]))
            result->functions_redirected++;
        else
            result->functions_skipped++;
    }
    free(functions);
}

extern const struct codelet_runtime __start_pcere_runtimes[] __attribute__((weak, visibility("hidden")));
extern const struct codelet_runtime __stop_pcere_runtimes[] __attribute__((weak, visibility("hidden")));

/* What was linked into the program stays where it is, and knows nothing of this process. */
static void runtimes_redirect(struct memory *memory)
{
    for (const struct codelet_runtime *runtime = __start_pcere_runtimes; runtime < __stop_pcere_runtimes; runtime++)
        if (runtime->here && runtime->here != runtime->captured)    /* rebuilt code may need it where it is */
            function_redirect(memory, &(struct codelet_function){runtime->captured, runtime->jump});
}

static const char **symbols;          /* of the plan's relocations, one each; NULL: not in any library here */

/* Each unit of a C++ program asks the library for its streams in a constructor (std::ios_base::Init), and constructors are not run in a
 * codelet. Before copy relocations take what is in them. */
static void cpp_streams_start(void)
{
    static char object[16];
    void *symbol = dlsym(RTLD_DEFAULT, "_ZNSt8ios_base4InitC1Ev");
    void (*construct)(void *object);
    memcpy(&construct, &symbol, sizeof construct);
    if (construct)
        construct(object);
}

static const char *symbol_find(const char *name)
{
    const char *own = pcere_heap_symbol(name);
    return own ? own : dlsym(RTLD_DEFAULT, name);
}

void pcere_overlay_prepare(struct codelet *codelet)
{
    cpp_streams_start();
    pcere_streams_prepare();
    const struct plan_relocation *relocations = PLAN_TABLE(codelet, relocations, struct plan_relocation);
    uint64_t count = codelet->plan->relocations.count;
    symbols = calloc(count ? count : 1, sizeof *symbols);
    if (!symbols)
        pcere_plan_end(codelet, PLAN_FAILED, "no memory for the list of symbols");
    for (uint64_t i = 0; i < count; i++)
        if (relocations[i].kind <= PLAN_RELOCATION_COPY)
            symbols[i] = symbol_find(pcere_plan_string(codelet->plan, relocations[i].name));
    pcere_externals_prepare(codelet);
}

/* A TLS block of a library that was there from the start lies at the same distance from every thread's pointer. */
static bool block_distance(size_t image, uint64_t *ret_distance)
{
    const struct codelet_tls *block = pcere_image(image)->tls;
    if (block == pcere_image(image)->tls_end)
        return false;
    *ret_distance = (uint64_t)block->address() - (uint64_t)__builtin_thread_pointer();
    return true;
}

static bool relocation_value(const struct plan_relocation *relocation, uint64_t *ret_value)
{
    uint64_t distance = 0;
    switch (relocation->kind) {
    case PLAN_RELOCATION_VALUE:
        *ret_value = (uint64_t)relocation->addend;
        return true;
    case PLAN_RELOCATION_MODULE:
        *ret_value = pcere_image_module(relocation->name);
        return *ret_value != 0;
    case PLAN_RELOCATION_THREAD:
        if (!block_distance(relocation->name, &distance))
            return false;
        *ret_value = distance + (uint64_t)relocation->addend;
        return true;
    default:
        return false;
    }
}

static void relocation_apply(struct memory *memory, const struct plan_relocation *relocation, const char *symbol)
{
    if (relocation->kind > PLAN_RELOCATION_COPY) {
        uint64_t value = 0;
        if (relocation_value(relocation, &value))
            pcere_memory_adjust(memory, relocation->address, &value, sizeof value);
        return;
    }
    if (!symbol)
        return;
    if (relocation->kind == PLAN_RELOCATION_COPY) {
        if (relocation->addend > 0)
            pcere_memory_adjust(memory, relocation->address, symbol, (size_t)relocation->addend);
        return;
    }
    uint64_t word = (uint64_t)symbol + (uint64_t)relocation->addend;
    if (relocation->kind == PLAN_RELOCATION_DATA) {
        const unsigned char *pristine = pcere_memory_pristine(memory, relocation->address);
        uint64_t captured = 0;
        if (pristine)
            memcpy(&captured, pristine, sizeof captured);
        if (!captured || pcere_memory_is_mapped(memory, captured))
            return;
    }
    pcere_memory_adjust(memory, relocation->address, &word, sizeof word);
}

static void range_zero(struct memory *memory, const struct plan_range *range)
{
    static const unsigned char zeros[64];
    for (uint64_t done = 0; done < range->bytes; done += sizeof zeros) {
        uint64_t piece = range->bytes - done < sizeof zeros ? range->bytes - done : sizeof zeros;
        pcere_memory_adjust(memory, range->address + done, zeros, piece);   /* without a page it is zero already */
    }
}

void pcere_overlay_apply(struct memory *memory)
{
    const struct replay_plan *plan = memory->codelet->plan;
    const struct plan_relocation *relocations = PLAN_TABLE(memory->codelet, relocations, struct plan_relocation);
    for (uint64_t i = 0; i < plan->relocations.count; i++)
        relocation_apply(memory, &relocations[i], symbols[i]);
    const struct plan_range *zeroed = PLAN_TABLE(memory->codelet, zeroed, struct plan_range);
    for (uint64_t i = 0; i < plan->zeroed.count; i++)
        range_zero(memory, &zeroed[i]);
    runtimes_redirect(memory);
    functions_redirect(memory);
    pcere_externals_apply(memory);
}
