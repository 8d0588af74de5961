/* replay-rt/target/sample_x86_64.c - the interposed calls where registers matter: where loops begin and end, and where the region is entered. */
#include "replay-rt/target/sample_hooks.h"

#if defined(__x86_64__)

#include <ucontext.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

bool pcere_sample_entries_ready(void)
{
    return true;
}

uint64_t pcere_sample_frame_bytes(const struct sample_call *call)
{
    ucontext_t context = {0};
    greg_t *registers = context.uc_mcontext.gregs;
    unw_cursor_t cursor;
    unw_word_t end = 0;
    registers[REG_RBX] = (greg_t)call->rbx;
    registers[REG_RBP] = (greg_t)call->rbp;
    registers[REG_R12] = (greg_t)call->r12;
    registers[REG_R13] = (greg_t)call->r13;
    registers[REG_R14] = (greg_t)call->r14;
    registers[REG_R15] = (greg_t)call->r15;
    registers[REG_RSP] = (greg_t)call->rsp;
    registers[REG_RIP] = (greg_t)call->rip;
    if (unw_init_local(&cursor, (unw_context_t *)&context) || unw_step(&cursor) <= 0 || unw_get_reg(&cursor, UNW_X86_64_RSP, &end)
        || end <= call->rsp || end - call->rsp > SAMPLE_FRAME_MOST)
        return 0;
    return end - call->rsp;
}

#define STATIC_INIT(name, kind)                                        \
    ".globl " name "\n"                                                \
    ".type " name ", @function\n" name ":\n"                           \
    "    .cfi_startproc\n"                                             \
    "    cmpb $0, pcere_sample_active(%rip)\n"                         \
    "    jne 1f\n"                                                     \
    "    jmp *pcere_sample_real+8*" kind "(%rip)\n"                    \
    "1:  pushq %rbp\n"                                                 \
    "    .cfi_def_cfa_offset 16\n"                                     \
    "    .cfi_offset %rbp, -16\n"                                      \
    "    movq %rsp, %rbp\n"                                            \
    "    .cfi_def_cfa_register %rbp\n"                                 \
    "    subq $112, %rsp\n"                                            \
    "    movq %rbx, (%rsp)\n"                                          \
    "    movq (%rbp), %rax\n"                                          \
    "    movq %rax, 8(%rsp)\n"                                         \
    "    movq %r12, 16(%rsp)\n"                                        \
    "    movq %r13, 24(%rsp)\n"                                        \
    "    movq %r14, 32(%rsp)\n"                                        \
    "    movq %r15, 40(%rsp)\n"                                        \
    "    leaq 16(%rbp), %rax\n"                                        \
    "    movq %rax, 48(%rsp)\n"                                        \
    "    movq 8(%rbp), %rax\n"                                         \
    "    movq %rax, 56(%rsp)\n"                                        \
    "    movq %rdi, 64(%rsp)\n"                                        \
    "    movq %rsi, 72(%rsp)\n"                                        \
    "    movq %rdx, 80(%rsp)\n"                                        \
    "    movq %rcx, 88(%rsp)\n"                                        \
    "    movq %r8, 96(%rsp)\n"                                         \
    "    movq %r9, 104(%rsp)\n"                                        \
    "    movq %rsp, %rdi\n"                                            \
    "    movl $" kind ", %esi\n"                                       \
    "    callq pcere_sample_static_init\n"                             \
    "    leave\n"                                                      \
    "    .cfi_def_cfa %rsp, 8\n"                                       \
    "    retq\n"                                                       \
    "    .cfi_endproc\n"                                               \
    ".size " name ", .-" name "\n"

__asm__(".text\n"
        ".hidden pcere_sample_active, pcere_sample_armed, pcere_sample_task, pcere_sample_real\n"
        ".hidden pcere_sample_static_init, pcere_sample_static_fini, pcere_sample_enter, pcere_sample_leave, pcere_sample_nested\n");
__asm__(".text\n" STATIC_INIT("__kmpc_for_static_init_4", "0"));
__asm__(".text\n" STATIC_INIT("__kmpc_for_static_init_4u", "1"));
__asm__(".text\n" STATIC_INIT("__kmpc_for_static_init_8", "2"));
__asm__(".text\n" STATIC_INIT("__kmpc_for_static_init_8u", "3"));

__asm__(".text\n"
        ".globl __kmpc_for_static_fini\n"
        ".type __kmpc_for_static_fini, @function\n"
        "__kmpc_for_static_fini:\n"
        "    .cfi_startproc\n"
        "    cmpb $0, pcere_sample_active(%rip)\n"
        "    jne 1f\n"
        "    jmp *pcere_sample_real+32(%rip)\n"
        "1:  leaq 8(%rsp), %rdx\n"
        "    pushq %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    callq pcere_sample_static_fini\n"
        "    testq %rax, %rax\n"
        "    jne 2f\n"
        "    addq $8, %rsp\n"
        "    popq %rsi\n"
        "    popq %rdi\n"
        "    .cfi_def_cfa_offset 8\n"
        "    jmp *pcere_sample_real+32(%rip)\n"
        "2:  movq 48(%rax), %rdi\n"
        "    leaq -256(%rdi), %rsp\n"
        "    movq 64(%rax), %rsi\n"
        "    movq 72(%rax), %rcx\n"
        "    rep movsb\n"
        "    movq (%rax), %rbx\n"
        "    movq 8(%rax), %rbp\n"
        "    movq 16(%rax), %r12\n"
        "    movq 24(%rax), %r13\n"
        "    movq 32(%rax), %r14\n"
        "    movq 40(%rax), %r15\n"
        "    movq 48(%rax), %rsp\n"
        "    jmpq *56(%rax)\n"
        "    .cfi_endproc\n"
        ".size __kmpc_for_static_fini, .-__kmpc_for_static_fini\n"

        /* The region's own fork gets pcere_sample_microtask in place of the region's function. */
        ".globl __kmpc_fork_call\n"
        ".type __kmpc_fork_call, @function\n"
        "__kmpc_fork_call:\n"
        "    .cfi_startproc\n"
        "    cmpb $0, pcere_sample_active(%rip)\n"
        "    jne 1f\n"
        "2:  jmp *pcere_sample_real+40(%rip)\n"
        "1:  cmpb $0, pcere_sample_armed(%rip)\n"
        "    je 3f\n"
        "    movb $0, pcere_sample_armed(%rip)\n"
        "    movq %rdx, pcere_sample_task(%rip)\n"
        "    leaq pcere_sample_microtask(%rip), %rdx\n"
        "    jmp 2b\n"
        "3:  pushq %rdi\n"
        "    pushq %rsi\n"
        "    pushq %rdx\n"
        "    pushq %rcx\n"
        "    pushq %r8\n"
        "    pushq %r9\n"
        "    pushq %rax\n"
        "    .cfi_adjust_cfa_offset 56\n"
        "    callq pcere_sample_nested\n"
        "    popq %rax\n"
        "    popq %r9\n"
        "    popq %r8\n"
        "    popq %rcx\n"
        "    popq %rdx\n"
        "    popq %rsi\n"
        "    popq %rdi\n"
        "    .cfi_adjust_cfa_offset -56\n"
        "    jmp 2b\n"
        "    .cfi_endproc\n"
        ".size __kmpc_fork_call, .-__kmpc_fork_call\n"

        /* Arguments beyond the sixth lie on the stack, where the region's function must find them: so its return address takes the place of ours, which
         * is kept elsewhere. */
        ".hidden pcere_sample_microtask\n"
        ".type pcere_sample_microtask, @function\n"
        "pcere_sample_microtask:\n"
        "    pushq %rdi\n"
        "    pushq %rsi\n"
        "    pushq %rdx\n"
        "    pushq %rcx\n"
        "    pushq %r8\n"
        "    pushq %r9\n"
        "    subq $8, %rsp\n"
        "    movq 56(%rsp), %rdi\n"
        "    callq pcere_sample_enter\n"
        "    addq $8, %rsp\n"
        "    popq %r9\n"
        "    popq %r8\n"
        "    popq %rcx\n"
        "    popq %rdx\n"
        "    popq %rsi\n"
        "    popq %rdi\n"
        "    addq $8, %rsp\n"
        "    callq *pcere_sample_task(%rip)\n"
        "    callq pcere_sample_leave\n"
        "    jmpq *%rax\n"
        ".size pcere_sample_microtask, .-pcere_sample_microtask\n");

#endif
