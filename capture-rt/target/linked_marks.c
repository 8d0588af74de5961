/* capture-rt/target/linked_marks.c - where our object begins in a statically linked program, whose runtimes follow it.
 *
 *   each section:   | start files | the program's objects and archives | pcere-static.o | OpenMP, C++, C runtimes |
 *                                                                      ^ mark
 *
 * These are the first bytes of the object, which is made of this file first. core/linked_program.h reads the marks. Linkers
 * that drop what nobody refers to (--gc-sections) keep them for the table.
 */
__asm__(".section .text,\"ax\",@progbits\n"
        ".globl __pcere_linked_text\n.type __pcere_linked_text, @function\n.p2align 4\n__pcere_linked_text: ret\n.size __pcere_linked_text, 1\n"
        ".section .data,\"aw\",@progbits\n"
        ".globl __pcere_linked_data\n.type __pcere_linked_data, @object\n.p2align 6\n__pcere_linked_data: .quad 0\n.size __pcere_linked_data, 8\n"
        ".section .bss,\"aw\",@nobits\n"
        ".globl __pcere_linked_bss\n.type __pcere_linked_bss, @object\n.p2align 6\n__pcere_linked_bss: .zero 8\n.size __pcere_linked_bss, 8\n"
        ".section .tdata,\"awT\",@progbits\n"
        ".globl __pcere_linked_tdata\n.type __pcere_linked_tdata, @object\n.p2align 3\n__pcere_linked_tdata: .quad 0\n.size __pcere_linked_tdata, 8\n"
        ".section .tbss,\"awT\",@nobits\n"
        ".globl __pcere_linked_tbss\n.type __pcere_linked_tbss, @object\n.p2align 3\n__pcere_linked_tbss: .zero 8\n.size __pcere_linked_tbss, 8\n"
        ".section pcere_linked_marks,\"awR\",@progbits\n.p2align 3\n.quad __pcere_linked_text, __pcere_linked_data, __pcere_linked_bss\n"
        ".quad __pcere_linked_tdata@tpoff, __pcere_linked_tbss@tpoff\n"
        ".text\n");
