/* tests/fuzz/seed_program.c - the smallest executable that has the sections of PCERE: where fuzz_elf_file starts from. */
int seed_variable = 1;
_Thread_local int seed_tls = 2;
void _start(void);

void _start(void)
{
    for (;;)
        seed_variable += seed_tls;
}

__asm__(".section .pcere.bc,\"\",@progbits\n.p2align 4\n"
        ".ascii \"PCEREBC1\"\n.long 2, 19\n.quad 0x1234\n.long 0, 2, 2, 2\n.quad 4, 4, 5, 5, 0\n"
        ".ascii \"-O2\\0a.c\\0BC123\"\n.p2align 4\n"
        ".section .pcere.sym,\"\",@progbits\n.p2align 4\n"
        "1: .ascii \"PCERESY1\"\n.long 2, 1\n.quad 0x1234, 2f-1b\n"
        ".quad seed_variable, 4\n.short 1, 0\n.long 16\n.ascii \"seed_variable\\0\\0\\0\"\n"
        ".p2align 4\n2:\n.text\n");
