/* replay-rt/target/machine_x86_64.c - entering a region on the captured stack, and a system call of this runtime's own, on x86-64. */
#include "replay-rt/target/machine.h"

#if defined(__x86_64__)

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

#endif
