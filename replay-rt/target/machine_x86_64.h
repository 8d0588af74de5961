/* replay-rt/target/machine_x86_64.h - machine.h for x86-64. */
#ifndef PCERE_REPLAY_TARGET_MACHINE_X86_64_H
#define PCERE_REPLAY_TARGET_MACHINE_X86_64_H

#include <fcntl.h>
#include <linux/audit.h>
#include <sys/syscall.h>

enum { MACHINE_JUMP_BYTES = 5, MACHINE_FAR_JUMP_BYTES = 14, MACHINE_CODE_ALIGNMENT = 1, MACHINE_FILLING = 0xcc, MACHINE_FILLING_BYTES = 1 };

#define MACHINE_AUDIT AUDIT_ARCH_X86_64
#define MACHINE_CALLS_ALWAYS                                                                                                              \
    SYS_open, SYS_creat, SYS_unlink, SYS_rename, SYS_mkdir, SYS_rmdir, SYS_link, SYS_symlink, SYS_mknod, SYS_chmod, SYS_chown, SYS_lchown, \
        SYS_utime, SYS_utimes, SYS_futimesat, SYS_fork, SYS_vfork,
#define MACHINE_CALLS_READING SYS_dup2, SYS_getdents,
#define MACHINE_CALLS_USING SYS_epoll_wait,

static inline bool machine_jump(unsigned char code[MACHINE_JUMP_BYTES], uint64_t from, uint64_t to)
{
    int64_t distance = (int64_t)(to - (from + MACHINE_JUMP_BYTES));
    int32_t near = (int32_t)distance;
    code[0] = 0xe9;
    memcpy(code + 1, &near, sizeof near);
    return near == distance;
}

/* jmp *0(%rip), and the address behind it. */
static inline void machine_far_jump(unsigned char code[MACHINE_FAR_JUMP_BYTES], uint64_t to)
{
    static const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0};
    memcpy(code, jump, sizeof jump);
    memcpy(code + sizeof jump, &to, sizeof to);
}

static inline void machine_call_words(const void *context, long ret_words[4])
{
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    ret_words[0] = registers[REG_RDI];
    ret_words[1] = registers[REG_RSI];
    ret_words[2] = registers[REG_RDX];
    ret_words[3] = registers[REG_R10];
}

static inline uint64_t machine_instruction(const void *context) { return (uint64_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]; }
static inline void machine_go_on_at(void *context, uint64_t address) { ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] = (greg_t)address; }

static inline void machine_pointer_guard_set(uint64_t guard) { __asm__ volatile("movq %0, %%fs:0x30" : : "r"(guard)); }

static inline void machine_call_answer(void *context, long answer)
{
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = answer;
}

static inline bool machine_old_call(long *number, long words[4])
{
    const long first = words[0], second = words[1];
    switch (*number) {
    case SYS_open:
        words[3] = words[2];
        words[2] = second;
        break;
    case SYS_creat:
        words[3] = second;
        words[2] = O_CREAT | O_WRONLY | O_TRUNC;
        break;
    case SYS_unlink:
        words[2] = 0;
        break;
    case SYS_rename:
        *number = SYS_renameat;
        return true;
    case SYS_fork: case SYS_vfork:
        *number = SYS_clone;
        return true;
    default:
        return false;
    }
    words[0] = AT_FDCWD;
    words[1] = first;
    *number = *number == SYS_unlink ? SYS_unlinkat : SYS_openat;
    return true;
}

static inline bool machine_is_trap(const unsigned char *code)     /* ud2 */
{
    return code[0] == 0x0f && code[1] == 0x0b;
}

static inline void machine_work(uint64_t rounds)
{
    uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
    __asm__ volatile(".p2align 6\n1: addq $1, %1\naddq $1, %2\naddq $1, %3\naddq $1, %4\naddq $1, %5\naddq $1, %6\naddq $1, %7\naddq $1, %8\nsubq $1, %0\njnz 1b\n"
                     : "+r"(rounds), "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h) : : "cc");
}

static inline void machine_chain(uint64_t rounds)
{
    uint64_t a = 1;
    __asm__ volatile(".p2align 6\n1: imulq $3, %1, %1\nimulq $3, %1, %1\nimulq $3, %1, %1\nimulq $3, %1, %1\nsubq $1, %0\njnz 1b\n" : "+r"(rounds), "+r"(a) : : "cc");
}

static inline uint64_t machine_float_set(uint64_t control)
{
    uint32_t vectors = (uint32_t)control & 0xffff, vectors_before = 0;    /* all other bits fault */
    uint16_t old = (uint16_t)(control >> 32), old_before = 0;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(vectors_before), "=m"(old_before));
    if (control)
        __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(vectors), "m"(old));
    return (uint64_t)old_before << 32 | vectors_before;
}

static inline _Noreturn void machine_wait(volatile int *flag)
{
    __asm__ volatile("movl $1, %0\n"
                     "1: movl $34, %%eax\n"       /* pause */
                     "   syscall\n"
                     "   jmp 1b\n"
                     : "=m"(*flag)
                     :
                     : "rax", "rcx", "r11", "memory");
    __builtin_unreachable();
}

#endif
