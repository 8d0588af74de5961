/* program.c - what stands between driver.c and the region: state that memory alone does not hold, the thread that enters, its stack and rounding.
 */
#include "codelet.h"
#include "region.h"

/* Where the optimiser leaves nothing of the region. */
static void nothing(int32_t *thread, int32_t *bound, ...)
{
    (void)thread, (void)bound;
}

microtask *region_code(void)
{
    return region ? region : nothing;
}

/* How this thread rounds, and what it does with denormals; those of its team do as it does. 0: as before. */
static uint64_t float_set(uint64_t control)
{
    uint32_t vectors = (uint32_t)control & 0xffff, vectors_before;
    uint16_t old = (uint16_t)(control >> 32), old_before;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(vectors_before), "=m"(old_before));
    if (control)
        __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(vectors), "m"(old));
    return (uint64_t)old_before << 32 | vectors_before;
}

void call_as_program(void (*function)(void))
{
    uint64_t ours = float_set(FLOAT_CONTROL);
    heap_inside(true);
    call_on_stack(function, STACK);
    heap_inside(false);
    float_set(ours);
}

void program_start(void)
{
    if (!region)
        fprintf(messages, "codelet: the compiler leaves nothing of this region\n");
    thread_locals_point();
    memory_restore();
    support_start();
    files_start();
    state_start();
    memory_protect();
}

void program_restore(void)
{
    heap_restore();
    support_restore();
    state_restore();
    files_restore();
}
