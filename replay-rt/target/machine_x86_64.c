/* replay-rt/target/machine_x86_64.c - entering a region on the captured stack, a system call of this runtime's own, and lines that leave caches, on x86-64. */
#include "replay-rt/target/machine.h"

#if defined(__x86_64__)

#include <cpuid.h>

enum { LINE_BYTES = 64, EXTENDED_FEATURES = 7, LEAVE_TOGETHER_BIT = 23 };

/* Frame pointer and unwind directives let a backtrace of the region reach the codelet's own frames. */
__asm__(".text\n"
        ".globl pcere_call_on_stack\n"
        ".hidden pcere_call_on_stack\n"
        ".type pcere_call_on_stack, @function\n"
        "pcere_call_on_stack:\n"
        "    .cfi_startproc\n"
        "    pushq %rbp\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset %rbp, -16\n"
        "    movq %rsp, %rbp\n"
        "    .cfi_def_cfa_register %rbp\n"
        "    andq $-16, %rdx\n"
        "    movq %rdx, %rsp\n"
        "    movq %rdi, %rax\n"
        "    movq %rsi, %rdi\n"
        "    callq *%rax\n"
        "    movq %rbp, %rsp\n"
        "    popq %rbp\n"
        "    .cfi_def_cfa %rsp, 8\n"
        "    retq\n"
        "    .cfi_endproc\n"
        ".size pcere_call_on_stack, .-pcere_call_on_stack\n");

__asm__(".pushsection .text.pcere_guard_call, \"ax\", @progbits\n"
        ".globl pcere_guard_call\n.hidden pcere_guard_call\n.type pcere_guard_call, @function\npcere_guard_call:\n"
        "movq %rdi, %rax\nmovq %rsi, %rdi\nmovq %rdx, %rsi\nmovq %rcx, %rdx\nmovq %r8, %r10\n"
        "syscall\n"
        ".globl pcere_guard_call_end\n.hidden pcere_guard_call_end\npcere_guard_call_end:\n"
        "ret\n.size pcere_guard_call, .-pcere_guard_call\n.popsection\n");

/* A virtual machine's processor is asked once: each time is an exit. */
bool pcere_lines_leave_together(void)
{
    enum { UNKNOWN, NO, YES };
    static _Atomic int known = UNKNOWN;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (known == UNKNOWN)
        known = __get_cpuid_count(EXTENDED_FEATURES, 0, &a, &b, &c, &d) && (b >> LEAVE_TOGETHER_BIT & 1) ? YES : NO;
    return known == YES;
}

void pcere_lines_leave(const void *start, uint64_t bytes)
{
    uintptr_t line = (uintptr_t)start & ~(uintptr_t)(LINE_BYTES - 1), end = (uintptr_t)start + bytes;
    if (pcere_lines_leave_together())
        for (; line < end; line += LINE_BYTES)
            __asm__ volatile("clflushopt %0" : "+m"(*(volatile char *)line));
    else
        for (; line < end; line += LINE_BYTES)
            __asm__ volatile("clflush %0" : "+m"(*(volatile char *)line));
}

void pcere_lines_left(void)
{
    __asm__ volatile("mfence" ::: "memory");
}

#endif
