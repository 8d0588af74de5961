/* replay-rt/launcher/assembly.c - see assembly.h: labels, instructions, and the comments that LLVM writes beside them. */
#include "replay-rt/launcher/assembly.h"

#include "core/text.h"
#include "include/pcere/character_abi.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    struct assembly assembly;
    size_t capacity;
    uint64_t function;
    struct text text, calls;
    bool failed;
};

static void block_end(struct parser *parser)
{
    if (!parser->assembly.count)
        return;
    struct assembly_block *block = &parser->assembly.blocks[parser->assembly.count - 1];
    if (!block->text)
        block->text = text_take(&parser->text);
    if (!block->calls)
        block->calls = text_take(&parser->calls);
    parser->failed |= !block->text || !block->calls;
}

static void block_begin(struct parser *parser)
{
    block_end(parser);
    if (parser->failed || !array_reserve(&parser->assembly.blocks, &parser->capacity, parser->assembly.count + 1, sizeof *parser->assembly.blocks))
        parser->failed = true;
    else
        parser->assembly.blocks[parser->assembly.count++] = (struct assembly_block){.number = ASSEMBLY_NO_BLOCK, .function = parser->function};
}

/* A block that the code generator put before a loop is named after the loop's, but runs once where that runs often: how often is not known. */
static uint64_t number_of(const char *digits)
{
    char *end;
    uint64_t number = strtoull(digits, &end, 10);
    return strncmp(end, ".preheader", strlen(".preheader")) == 0 ? ASSEMBLY_NO_BLOCK : number;
}

/* What a comment says of the block at whose start it stands. `label`: of that block, "BB0_3", or "". */
static void comment_take(struct assembly_block *block, const char *comment, size_t length, const char *label)
{
    char line[256];
    snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1), comment);
    const char *name = strstr(line, "%" CHARACTER_BLOCK_PREFIX), *header = strstr(line, "in Loop: Header=");
    if (name && block->number == ASSEMBLY_NO_BLOCK && !strstr(line, "_crit_edge"))
        block->number = number_of(name + strlen("%" CHARACTER_BLOCK_PREFIX));
    else if (!name && strstr(line, "# %"))
        block->is_rare = true;        /* a call that stands in where an instruction does not do, of the square root of what is negative */
    if (strstr(line, "This Inner Loop Header") && *label) {
        free(block->loop);
        block->loop = strdup(label);
        block->innermost = true;
    } else if (strstr(line, "This Loop Header") && *label) {
        free(block->loop);
        block->loop = strdup(label);
    } else if (header && !block->loop) {
        header += strlen("in Loop: Header=");
        block->loop = strndup(header, strcspn(header, " \t"));
    }
}

static bool is_float_operation(const char *mnemonic, unsigned *ret_operations)
{
    static const char *const plain[] = {"add", "sub", "mul", "div", "sqrt", "max", "min"};
    const char *at = *mnemonic == 'v' ? mnemonic + 1 : mnemonic;
    size_t length = strlen(at);
    if (length < 5 || (at[length - 2] != 's' && at[length - 2] != 'p') || (at[length - 1] != 'd' && at[length - 1] != 's'))
        return false;
    *ret_operations = 2;
    if (!strncmp(at, "fmadd", 5) || !strncmp(at, "fmsub", 5) || !strncmp(at, "fnmadd", 6) || !strncmp(at, "fnmsub", 6))
        return true;
    *ret_operations = 1;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!strncmp(at, plain[i], strlen(plain[i])) && strlen(plain[i]) + 2 == length)
            return true;
    return false;
}

static unsigned operand_bytes(const char *mnemonic, const char *operands)
{
    size_t length = strlen(mnemonic);
    char kind = length > 1 ? mnemonic[length - 2] : ' ', last = length ? mnemonic[length - 1] : ' ';
    unsigned vector = strstr(operands, "%zmm") ? 64 : strstr(operands, "%ymm") ? 32 : strstr(operands, "%xmm") ? 16 : 0;
    if (vector && kind == 's' && (last == 'd' || last == 's'))
        return last == 'd' ? 8 : 4;
    if (vector && strncmp(mnemonic, "mov", 3) == 0 && (last == 'q' || last == 'd'))
        return last == 'q' ? 8 : strstr(mnemonic, "pd") ? vector : 4;
    return vector ? vector : last == 'q' ? 8 : last == 'l' ? 4 : last == 'w' ? 2 : last == 'b' ? 1 : 8;
}

static void instruction_take(struct parser *parser, const char *line, size_t length)
{
    struct assembly_block *block = &parser->assembly.blocks[parser->assembly.count - 1];
    char words[512], mnemonic[32] = "";
    if (length >= sizeof words)
        return;
    memcpy(words, line, length);
    words[length] = '\0';
    size_t first = strcspn(words, " \t");
    if (first < sizeof mnemonic)
        snprintf(mnemonic, sizeof mnemonic, "%.*s", (int)first, words);
    const char *operands = words + first + strspn(words + first, " \t");
    block->instructions++;
    if (!strncmp(mnemonic, "ret", 3))
        return;
    if (!strncmp(mnemonic, "call", 4)) {
        if (*operands != '*')
            text_addf(&parser->calls, "%.*s\n", (int)strcspn(operands, "@ \t"), operands);
        return;
    }
    unsigned operations;
    if (is_float_operation(mnemonic, &operations)) {
        bool packed = mnemonic[strlen(mnemonic) - 2] == 'p';
        unsigned lane = mnemonic[strlen(mnemonic) - 1] == 'd' ? 8 : 4, width = strstr(operands, "%zmm") ? 64 : strstr(operands, "%ymm") ? 32 : 16;
        block->flops += operations * (packed ? width / lane : 1);
    }
    if (strchr(operands, '(') && strncmp(mnemonic, "lea", 3) != 0 && strncmp(mnemonic, "nop", 3) != 0 && strncmp(mnemonic, "prefetch", 8) != 0)
        block->moved_bytes += operand_bytes(mnemonic, operands);
    text_addf(&parser->text, "%s\n", words);
}

static void line_take(struct parser *parser, const char *line, size_t length, char label[static 64])
{
    const char *comment = memchr(line, '#', length);
    size_t code = comment ? (size_t)(comment - line) : length;
    bool is_block = code > 4 && !strncmp(line, ".LBB", 4), is_fall = length > 7 && !strncmp(line, "# %bb.", 6);
    if (is_block || is_fall) {
        block_begin(parser);
        *label = '\0';
        if (is_block)
            snprintf(label, 64, "%.*s", (int)strcspn(line + 2, ":"), line + 2);
        if (is_fall)
            comment = memchr(line + 1, '#', length - 1);
        if (is_block && !parser->failed)
            parser->assembly.blocks[parser->assembly.count - 1].label = strdup(label);
        if (comment && !parser->failed)
            comment_take(&parser->assembly.blocks[parser->assembly.count - 1], comment, length - (size_t)(comment - line), label);
        return;
    }
    while (code && isspace((unsigned char)line[code - 1]))
        code--;
    size_t start = strspn(line, " \t");
    if (start < code && line[code - 1] == ':' && !start) {
        if (*line != '.') {           /* a function, or a variable, in which there are no instructions */
            parser->function++;
            block_begin(parser);
        }
    } else if (start >= code) {
        if (comment && parser->assembly.count && !parser->failed)
            comment_take(&parser->assembly.blocks[parser->assembly.count - 1], comment, length - (size_t)(comment - line), label);
    } else if (line[start] != '.' && line[start] != '"' && parser->assembly.count && !parser->failed)
        instruction_take(parser, line + start, code - start);
}

/* The target of the conditional branch that ends a block, "BB0_4"; NULL: it has none. */
static const char *branch_target(const struct assembly_block *block, size_t *ret_length)
{
    const char *jump = NULL;
    for (const char *line = block->text; *line; line += strcspn(line, "\n") + 1)
        if (*line == 'j' && strncmp(line, "jmp", 3) != 0)
            jump = line;
    const char *target = jump ? strstr(jump, ".L") : NULL;
    if (!target)
        return NULL;
    *ret_length = strcspn(target + 2, "\n");
    return target + 2;
}

/* From one piece of a block to another one of it, that is not the loop's first, leads a select's branch. */
static bool block_forks(const struct assembly *assembly, size_t block)
{
    const struct assembly_block *blocks = assembly->blocks, *from = &blocks[block];
    size_t length = 0, first = block;
    const char *target = from->number == ASSEMBLY_NO_BLOCK ? NULL : branch_target(from, &length);
    bool forks = false;
    while (first && blocks[first - 1].function == from->function)
        first--;
    for (size_t i = first; target && i < assembly->count && blocks[i].function == from->function; i++) {
        if (i == block || blocks[i].number != from->number)
            continue;
        if (i < block && blocks[i].forks)
            return false;
        const char *label = blocks[i].label;
        bool is_target = label && strlen(label) == length && strncmp(label, target, length) == 0, is_header = label && blocks[i].loop && strcmp(label, blocks[i].loop) == 0;
        forks |= (is_target || i == block + 1) && !is_header;
    }
    return forks;
}

enum pcere_status assembly_parse(const char *text, struct assembly *ret_assembly, struct pcere_error *error)
{
    struct parser parser = {0};
    char label[64] = "";
    for (const char *line = text; *line && !parser.failed;) {
        size_t length = strcspn(line, "\n");
        line_take(&parser, line, length, label);
        line += length + (line[length] == '\n');
    }
    block_end(&parser);
    /* A block says only in which loop it is, not whether that is an innermost one: its first block does. */
    for (size_t i = 0; i < parser.assembly.count; i++)
        for (size_t k = 0; parser.assembly.blocks[i].loop && !parser.assembly.blocks[i].innermost && k < parser.assembly.count; k++)
            parser.assembly.blocks[i].innermost = parser.assembly.blocks[k].innermost && parser.assembly.blocks[k].function == parser.assembly.blocks[i].function &&
                                                  !strcmp(parser.assembly.blocks[k].loop, parser.assembly.blocks[i].loop);
    for (size_t i = 0; i < parser.assembly.count && !parser.failed; i++)
        parser.assembly.blocks[i].forks = block_forks(&parser.assembly, i);
    text_done(&parser.text);
    text_done(&parser.calls);
    if (parser.failed) {
        assembly_done(&parser.assembly);
        return pcere_fail_memory(error, "assembly");
    }
    *ret_assembly = parser.assembly;
    return PCERE_OK;
}

void assembly_done(struct assembly *assembly)
{
    for (size_t i = 0; i < assembly->count; i++) {
        free(assembly->blocks[i].loop);
        free(assembly->blocks[i].label);
        free(assembly->blocks[i].text);
        free(assembly->blocks[i].calls);
    }
    free(assembly->blocks);
    *assembly = (struct assembly){0};
}

/* ---- what a loop carries from pass to pass ------------------------------------------------------------------------------- */

struct vector_use { uint32_t read, written; };     /* bits of vector registers 0 to 31 */

static int register_number(const char *at)         /* of "%xmm3" and its like; -1: it is none */
{
    if (strncmp(at, "%xmm", 4) != 0 && strncmp(at, "%ymm", 4) != 0 && strncmp(at, "%zmm", 4) != 0)
        return -1;
    int number = (int)strtol(at + 4, NULL, 10);
    return number < 32 ? number : -1;
}

/* AT&T: the last operand is written, and read as well where there are two and it is no move. */
static struct vector_use line_use(const char *line, size_t length)
{
    static const char *const only_writes[] = {"mov", "cvt", "pshuf", "sqrtp", "vmov", "vbroadcast", "vcvt", "lddqu"};
    static const char *const partial[] = {"movhp", "movlp", "vmovhp", "vmovlp"};
    struct vector_use use = {0};
    int numbers[8], count = 0;
    bool last_is_register = false, writes_only = false;
    for (const char *at = line; at < line + length && count < 8; at++)
        if (*at == '%' && register_number(at) >= 0) {
            numbers[count++] = register_number(at);
            last_is_register = memchr(at, ',', (size_t)(line + length - at)) == NULL && memchr(at, ')', (size_t)(line + length - at)) == NULL;
        }
    if (!count)
        return use;
    for (size_t i = 0; i < sizeof only_writes / sizeof *only_writes; i++)
        writes_only |= strncmp(line, only_writes[i], strlen(only_writes[i])) == 0;
    for (size_t i = 0; i < sizeof partial / sizeof *partial; i++)
        writes_only &= strncmp(line, partial[i], strlen(partial[i])) != 0;
    writes_only |= *line == 'v';     /* three operands */
    bool clears = count >= 2 && numbers[0] == numbers[1] && (strstr(line, "xor") || strstr(line, "pxor")) && strcspn(line, "x") < 3;
    for (int i = 0; i < count - (last_is_register ? 1 : 0); i++)
        if (!clears)
            use.read |= 1u << numbers[i];
    if (last_is_register) {
        use.written |= 1u << numbers[count - 1];
        if (!writes_only && !clears)
            use.read |= 1u << numbers[count - 1];
    }
    return use;
}

bool assembly_begins_anew(const char *loop, const char *before)
{
    uint32_t written = 0, carried = 0, anew = 0;
    for (const char *line = loop; *line;) {
        size_t length = strcspn(line, "\n");
        struct vector_use use = line_use(line, length);
        carried |= use.read & ~written;
        written |= use.written;
        line += length + (line[length] == '\n');
    }
    carried &= written;              /* what is only read does not change */
    for (const char *line = before; *line;) {
        size_t length = strcspn(line, "\n");
        struct vector_use use = line_use(line, length);
        anew = (anew | (use.written & ~use.read)) & ~(use.written & use.read);
        line += length + (line[length] == '\n');
    }
    return carried && !(carried & ~anew);
}
