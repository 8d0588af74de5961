/* tests/unit/test_launcher_assembly.c - what is read out of a unit's assembly. */
#include "replay-rt/launcher/assembly.h"
#include "tests/unit/unit.h"

#include <string.h>

static const char text[] =
    "\t.text\n"
    "\t.globl\tdot\n"
    "dot:                                    # @dot\n"
    "\t.cfi_startproc\n"
    "# %bb.0:                                # %pb.7\n"
    "\ttestl\t%edi, %edi\n"
    "\tjle\t.LBB0_5\n"
    ".LBB0_1:                                # %pb.8\n"
    "                                        # =>This Loop Header: Depth=1\n"
    "                                        #     Child Loop BB0_2 Depth 2\n"
    "\tcallq\tlog@PLT\n"
    ".LBB0_2:                                # %pb.9\n"
    "                                        #   Parent Loop BB0_1 Depth=1\n"
    "                                        # =>  This Inner Loop Header: Depth=2\n"
    "\tmovsd\t(%rsi,%rcx,8), %xmm1\n"
    "\tmulpd\t%xmm2, %xmm1\n"
    "\tvfmadd231pd\t(%rdx), %ymm2, %ymm1\n"
    "\tleaq\t8(%rcx), %rcx\n"
    "# %bb.3:                                # %pb.10.split\n"
    "                                        #   in Loop: Header=BB0_2 Depth=2\n"
    "\tjne\t.LBB0_2\n"
    "# %bb.4:                                # %call.sqrt\n"
    "                                        #   in Loop: Header=BB0_1 Depth=1\n"
    "\tcallq\tsqrt@PLT\n"
    ".LBB0_6:                                # %pb.8.pb.11_crit_edge\n"
    "\tmovq\t%rax, %rbx\n"
    ".LBB0_5:                                # %pb.11\n"
    "\tretq\n"
    "# %bb.7:                                # %pb.9.preheader\n"
    "\t.data\n";

static void blocks_are_numbered(void)
{
    struct assembly assembly;
    CU_ASSERT_EQUAL_FATAL(assembly_parse(text, &assembly, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(assembly.count, 9);
    static const uint64_t numbers[] = {ASSEMBLY_NO_BLOCK, 7, 8, 9, 10, ASSEMBLY_NO_BLOCK, ASSEMBLY_NO_BLOCK, 11, ASSEMBLY_NO_BLOCK};
    for (size_t i = 0; i < assembly.count; i++)
        CU_ASSERT_EQUAL(assembly.blocks[i].number, numbers[i]);
    CU_ASSERT_TRUE(assembly.blocks[5].is_rare);
    CU_ASSERT_FALSE(assembly.blocks[6].is_rare);
    assembly_done(&assembly);
}

static void loops_are_told(void)
{
    struct assembly assembly;
    CU_ASSERT_EQUAL_FATAL(assembly_parse(text, &assembly, NULL), PCERE_OK);
    CU_ASSERT_PTR_NULL(assembly.blocks[1].loop);
    CU_ASSERT_STRING_EQUAL(assembly.blocks[2].loop, "BB0_1");
    CU_ASSERT_FALSE(assembly.blocks[2].innermost);
    CU_ASSERT_STRING_EQUAL(assembly.blocks[3].loop, "BB0_2");
    CU_ASSERT_TRUE(assembly.blocks[3].innermost && assembly.blocks[4].innermost);
    CU_ASSERT_FALSE(assembly.blocks[5].innermost);
    assembly_done(&assembly);
}

static void operations_are_counted(void)
{
    struct assembly assembly;
    CU_ASSERT_EQUAL_FATAL(assembly_parse(text, &assembly, NULL), PCERE_OK);
    const struct assembly_block *body = &assembly.blocks[3];
    CU_ASSERT_EQUAL(body->instructions, 4);
    CU_ASSERT_EQUAL(body->flops, 2 + 8);          /* two lanes; four lanes of a multiplication and an addition */
    CU_ASSERT_EQUAL(body->moved_bytes, 8 + 32);   /* leaq moves nothing */
    CU_ASSERT_STRING_EQUAL(assembly.blocks[2].calls, "log\n");
    CU_ASSERT_STRING_EQUAL(assembly.blocks[2].text, "");
    CU_ASSERT_STRING_EQUAL(assembly.blocks[7].text, "");
    assembly_done(&assembly);
}

/* A search by halving: of the select in block 28 the code generator made a branch, whose ways meet again in the same block. */
static void selects_that_became_branches_are_told(void)
{
    static const char search[] =
        "find:                                   # @find\n"
        "# %bb.0:                                # %pb.27\n"
        "\tjmp\t.LBB1_4\n"
        ".LBB1_6:                                # %pb.28\n"
        "                                        #   in Loop: Header=BB1_4 Depth=1\n"
        "\tmovq\t%r10, %r9\n"
        ".LBB1_7:                                # %pb.28\n"
        "                                        #   in Loop: Header=BB1_4 Depth=1\n"
        "\tsubq\t%r9, %r10\n"
        "\tjle\t.LBB1_8\n"
        ".LBB1_4:                                # %pb.28\n"
        "                                        # =>This Inner Loop Header: Depth=1\n"
        "\tcmpl\t%edi, (%rsi,%r10,4)\n"
        "\tjle\t.LBB1_6\n"
        "# %bb.5:                                #   in Loop: Header=BB1_4 Depth=1\n"
        "\tmovq\t%r10, %r8\n"
        "\tjmp\t.LBB1_7\n"
        ".LBB1_8:                                # %pb.29\n"
        "\tretq\n"
        "sum:                                    # @sum\n"
        ".LBB2_1:                                # %pb.30\n"
        "                                        # =>This Inner Loop Header: Depth=1\n"
        "\taddl\t(%rsi), %eax\n"
        "\tjne\t.LBB2_1\n"
        "# %bb.2:                                # %pb.31\n"
        "\tretq\n";
    static const bool forks[] = {false, false, false, false, true};
    struct assembly assembly;
    CU_ASSERT_EQUAL_FATAL(assembly_parse(search, &assembly, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(assembly.count, 10);
    for (size_t i = 0; i < assembly.count; i++)
        CU_ASSERT_EQUAL(assembly.blocks[i].forks, i < sizeof forks / sizeof *forks && forks[i]);
    CU_ASSERT_STRING_EQUAL(assembly.blocks[4].label, "BB1_4");
    CU_ASSERT_EQUAL(assembly.blocks[8].number, 30);     /* whose branch leads to itself only as a loop */
    assembly_done(&assembly);
}

static void nonsense_gives_nothing(void)
{
    struct assembly assembly;
    CU_ASSERT_EQUAL_FATAL(assembly_parse("", &assembly, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(assembly.count, 0);
    CU_ASSERT_EQUAL_FATAL(assembly_parse("\tmovq %rax, %rbx\n.LBB\n# %bb.\n#\n:\n\0", &assembly, NULL), PCERE_OK);
    assembly_done(&assembly);
}

static void sums_that_begin_anew_are_told(void)
{
    static const char sum[] = "movsd\t(%rax,%rcx,8), %xmm1\nmulsd\t(%rdx,%rcx,8), %xmm1\naddsd\t%xmm1, %xmm0\naddq\t$1, %rcx\n";
    CU_ASSERT_TRUE(assembly_begins_anew(sum, "xorpd\t%xmm0, %xmm0\nxorl\t%ecx, %ecx\n"));
    CU_ASSERT_TRUE(assembly_begins_anew(sum, "movsd\t(%rdi), %xmm0\n"));
    CU_ASSERT_FALSE(assembly_begins_anew(sum, "xorpd\t%xmm1, %xmm1\n"));        /* another register */
    CU_ASSERT_FALSE(assembly_begins_anew(sum, "xorpd\t%xmm0, %xmm0\naddsd\t%xmm2, %xmm0\n" "mulsd\t%xmm0, %xmm0\n"));
    CU_ASSERT_FALSE(assembly_begins_anew("movsd\t(%rax), %xmm0\nmovsd\t%xmm0, (%rdx)\n", ""));      /* nothing is carried */
    CU_ASSERT_TRUE(assembly_begins_anew("addsd\t%xmm3, %xmm4\nmovapd\t%xmm4, %xmm3\n", "xorpd\t%xmm3, %xmm3\nxorpd\t%xmm4, %xmm4\n"));
}

static const struct unit_test tests[] = {
    {"loops whose sums begin anew are told", sums_that_begin_anew_are_told},
    {"blocks have the numbers of the unit's blocks that they were made of", blocks_are_numbered},
    {"a block knows its innermost loop", loops_are_told},
    {"operations, bytes and calls are counted", operations_are_counted},
    {"selects that became branches are told", selects_that_became_branches_are_told},
    {"text that is no assembly gives no blocks", nonsense_gives_nothing},
};
UNIT_MAIN("launcher.assembly", tests)
