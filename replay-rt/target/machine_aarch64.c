/* replay-rt/target/machine_aarch64.c - entering a region on the captured stack, a system call of this runtime's own, and lines that leave caches, on AArch64. */
#include "replay-rt/target/machine.h"

#if defined(__aarch64__)

__asm__(".text\n"
        ".globl pcere_call_on_stack\n"
        ".hidden pcere_call_on_stack\n"
        ".type pcere_call_on_stack, %function\n"
        "pcere_call_on_stack:\n"
        "    .cfi_startproc\n"
        "    stp x29, x30, [sp, #-16]!\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset x29, -16\n"
        "    .cfi_offset x30, -8\n"
        "    mov x29, sp\n"
        "    .cfi_def_cfa x29, 16\n"
        "    and x9, x2, #-16\n"
        "    mov sp, x9\n"
        "    mov x9, x0\n"
        "    mov x0, x1\n"
        "    blr x9\n"
        "    mov sp, x29\n"
        "    .cfi_def_cfa sp, 16\n"
        "    ldp x29, x30, [sp], #16\n"
        "    .cfi_def_cfa_offset 0\n"
        "    .cfi_restore x29\n"
        "    .cfi_restore x30\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size pcere_call_on_stack, .-pcere_call_on_stack\n");

__asm__(".pushsection .text.pcere_guard_call, \"ax\", %progbits\n"
        ".globl pcere_guard_call\n.hidden pcere_guard_call\n.type pcere_guard_call, %function\npcere_guard_call:\n"
        "mov x8, x0\nmov x0, x1\nmov x1, x2\nmov x2, x3\nmov x3, x4\n"
        "svc #0\n"
        ".globl pcere_guard_call_end\n.hidden pcere_guard_call_end\npcere_guard_call_end:\n"
        "ret\n.size pcere_guard_call, .-pcere_guard_call\n.popsection\n");

enum { LINE_BYTES = 64 };

bool pcere_lines_leave_together(void)
{
    return true;
}

void pcere_lines_leave(const void *start, uint64_t bytes)
{
    uintptr_t end = (uintptr_t)start + bytes;
    for (uintptr_t line = (uintptr_t)start & ~(uintptr_t)(LINE_BYTES - 1); line < end; line += LINE_BYTES)
        __asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
}

void pcere_lines_left(void)
{
    __asm__ volatile("dsb sy" ::: "memory");
}

#endif
