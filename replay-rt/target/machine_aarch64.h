/* replay-rt/target/machine_aarch64.h - machine.h for AArch64. */
#ifndef PCERE_REPLAY_TARGET_MACHINE_AARCH64_H
#define PCERE_REPLAY_TARGET_MACHINE_AARCH64_H

#include <linux/audit.h>
#include <sys/syscall.h>

/* Codelets lie farther from captured code than a branch instruction reaches: there is one jump only. */
enum { MACHINE_JUMP_BYTES = 16, MACHINE_FAR_JUMP_BYTES = 16, MACHINE_CODE_ALIGNMENT = 4, MACHINE_FILLING = 0, MACHINE_FILLING_BYTES = 0 };

#define MACHINE_AUDIT AUDIT_ARCH_AARCH64
#define MACHINE_CALLS_ALWAYS
#define MACHINE_CALLS_READING
#define MACHINE_CALLS_USING

/* ldr x17, .+8; br x17; and the address behind it. */
static inline void machine_far_jump(unsigned char code[MACHINE_FAR_JUMP_BYTES], uint64_t to)
{
    static const uint32_t jump[] = {0x58000051, 0xd61f0220};
    memcpy(code, jump, sizeof jump);
    memcpy(code + sizeof jump, &to, sizeof to);
}

static inline bool machine_jump(unsigned char code[MACHINE_JUMP_BYTES], uint64_t from, uint64_t to)
{
    (void)from;
    machine_far_jump(code, to);
    return true;
}

static inline void machine_call_words(const void *context, long ret_words[4])
{
    for (int i = 0; i < 4; i++)
        ret_words[i] = (long)((const ucontext_t *)context)->uc_mcontext.regs[i];
}

static inline uint64_t machine_instruction(const void *context) { return ((const ucontext_t *)context)->uc_mcontext.pc; }
static inline void machine_go_on_at(void *context, uint64_t address) { ((ucontext_t *)context)->uc_mcontext.pc = address; }

static inline void machine_pointer_guard_set(uint64_t guard) { (void)guard; }

static inline void machine_call_answer(void *context, long answer)
{
    ((ucontext_t *)context)->uc_mcontext.regs[0] = (uint64_t)answer;
}

static inline bool machine_old_call(long *number, long words[4])
{
    (void)number;
    (void)words;
    return false;
}

static inline bool machine_is_trap(const unsigned char *code)     /* brk, udf #0 */
{
    uint32_t word;
    memcpy(&word, code, sizeof word);
    return (word & 0xffe0001f) == 0xd4200000 || word >> 16 == 0;
}

static inline void machine_work(uint64_t rounds)
{
    uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
    __asm__ volatile(".p2align 6\n1: add %1, %1, #1\nadd %2, %2, #1\nadd %3, %3, #1\nadd %4, %4, #1\nadd %5, %5, #1\nadd %6, %6, #1\nadd %7, %7, #1\nadd %8, %8, #1\n"
                     "subs %0, %0, #1\nb.ne 1b\n"
                     : "+r"(rounds), "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h) : : "cc");
}

static inline void machine_chain(uint64_t rounds)
{
    uint64_t a = 3;
    __asm__ volatile(".p2align 6\n1: mul %1, %1, %1\nmul %1, %1, %1\nmul %1, %1, %1\nmul %1, %1, %1\nsubs %0, %0, #1\nb.ne 1b\n" : "+r"(rounds), "+r"(a) : : "cc");
}

static inline uint64_t machine_float_set(uint64_t control)
{
    return control;                   /* the other processor's */
}

static inline _Noreturn void machine_wait(volatile int *flag)
{
    __asm__ volatile("mov w9, #1\n"
                     "str w9, [%0]\n"
                     "1: mov x0, xzr\n"           /* ppoll of nothing, without an end */
                     "   mov x1, xzr\n"
                     "   mov x2, xzr\n"
                     "   mov x3, xzr\n"
                     "   mov x8, #73\n"
                     "   svc #0\n"
                     "   b 1b\n"
                     :
                     : "r"(flag)
                     : "x0", "x1", "x2", "x3", "x8", "x9", "memory");
    __builtin_unreachable();
}

#endif
