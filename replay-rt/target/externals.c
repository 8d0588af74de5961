/* replay-rt/target/externals.c - captured pointers into shared libraries, which lie elsewhere in this process.
 *
 *   where the capture had sin   [ jmp sin ]     where it had a virtual table, or a page of data without names   [ a copy of ours ]
 *
 * A page is made for them where nothing of the capture lies. Pointers stay as they were, so that comparing memory finds them equal.
 */
#include "replay-rt/target/codelet.h"
#include "replay-rt/target/machine.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <locale.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t page_bytes;
static const unsigned char **symbols;     /* of the plan's externals, one each; NULL: in no library here */

static void *answer_of(const char *function)
{
    void *symbol = dlsym(RTLD_DEFAULT, function), *(*call)(void);
    memcpy(&call, &symbol, sizeof call);
    return symbol ? call() : NULL;
}

static const unsigned char *symbol_find(const char *name)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", NULL);
#define PCERE_LIBC_ANSWER(function) answer_of(#function)
#define PCERE_LIBC_CONSTANT(constant_name, constant, size) \
    if (!strcmp(name, #constant_name)) \
        return (const unsigned char *)(constant);
#include "include/pcere/libc_constants.inc"
#undef PCERE_LIBC_CONSTANT
#undef PCERE_LIBC_ANSWER
    const unsigned char *own = pcere_heap_symbol(name);
    return own ? own : dlsym(RTLD_DEFAULT, name);
}

/* ---- functions and data without a name -------------------------------------------------------------------------------------------
 * A converter of iconv_open leads into the C library's own code, which exports nothing there; a stream of C++ to its locale's facets. Where this process has the
 * same build of a library it has that code as far behind its beginning as the capture had it: who jumps to the old address goes on there, and who reads there finds
 * a copy of our page. What pages hold that a library writes is such a copy as well where that is of the C++ library: objects such as std::cout, whose buffers lie
 * elsewhere. Other libraries' state would fall apart into two. */

enum { LIBRARIES_MOST = 128, BUILD_ID_BYTES = 64, PARTS_MOST = 8, COPIED_MOST = 256 };

struct part { uint64_t low, high; bool changes; };      /* of whole pages, in this process */
static struct library {
    uint64_t low, high, own, text_low, text_high;
    struct part parts[PARTS_MOST];
    size_t part_count;
    bool copied;                /* what it writes, too */
    char build_id[2 * BUILD_ID_BYTES + 1];
} libraries[LIBRARIES_MOST];
static size_t library_count;
static uint64_t pages_copied[COPIED_MOST];
static size_t copied_count;

/* Of a note segment; "" where there is none. */
static void build_id_read(const char *notes, size_t bytes, char ret_hex[static 2 * BUILD_ID_BYTES + 1])
{
    ret_hex[0] = '\0';
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof note);
        size_t name = at + sizeof note, content = name + ((note.n_namesz + 3u) & ~3u);
        at = content + ((note.n_descsz + 3u) & ~3u);
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || memcmp(notes + name, "GNU", 4) != 0 || note.n_descsz > BUILD_ID_BYTES || at > bytes)
            continue;
        for (size_t i = 0; i < note.n_descsz; i++)
            snprintf(ret_hex + 2 * i, 3, "%02x", (unsigned char)notes[content + i]);
        return;
    }
}

static int library_match(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes;
    uint64_t low = UINT64_MAX, text_low = 0, text_high = 0, relro_low = 0, relro_high = 0;
    struct part parts[PARTS_MOST];
    size_t part_count = 0;
    char build_id[2 * BUILD_ID_BYTES + 1] = "";
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && start < low)
            low = start & ~(uint64_t)4095;
        if (header->p_type == PT_LOAD && header->p_flags & PF_X) {
            text_low = start;
            text_high = start + header->p_memsz;
        } else if (header->p_type == PT_LOAD && header->p_flags & PF_R && part_count < PARTS_MOST)
            parts[part_count++] = (struct part){start & ~(page_bytes - 1), (start + header->p_memsz + page_bytes - 1) & ~(page_bytes - 1), header->p_flags & PF_W};
        else if (header->p_type == PT_GNU_RELRO) {
            relro_low = start;
            relro_high = start + header->p_memsz;
        } else if (header->p_type == PT_NOTE && !build_id[0])
            build_id_read((const char *)start, header->p_memsz, build_id);
    }
    struct library *wanted = context;
    if (!build_id[0] || strcmp(build_id, wanted->build_id) != 0)
        return 0;
    wanted->own = low;
    wanted->text_low = text_low;
    wanted->text_high = text_high;
    /* what the dynamic linker wrote, and nobody writes any more, comes first, since it lies in a part that changes */
    relro_high &= ~(page_bytes - 1);
    if (relro_low < relro_high)
        wanted->parts[wanted->part_count++] = (struct part){relro_low & ~(page_bytes - 1), relro_high, false};
    for (size_t i = 0; i < part_count && wanted->part_count < PARTS_MOST; i++)
        wanted->parts[wanted->part_count++] = parts[i];
    return 1;
}

/* "/usr/lib/libc.so.6 BUILD-ID" */
static void library_note(const struct plan_external *external, const char *name)
{
    const char *space = strrchr(name, ' '), *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    struct library library = {.low = external->address, .high = external->address + external->bytes};
    if (!space || !space[1] || strlen(space + 1) >= sizeof library.build_id || library_count == LIBRARIES_MOST)
        return;
    strcpy(library.build_id, space + 1);
    library.copied = !strncmp(base, "libstdc++.so", 12) || !strncmp(base, "libc++.so", 9) || !strncmp(base, "libc++abi.so", 12);
    if (dl_iterate_phdr(library_match, &library))
        libraries[library_count++] = library;
}

/* Next time there is a jump. Whoever comes to the page meanwhile is served as this one is. */
static void jump_leave(uint64_t address, uint64_t to)
{
    static _Atomic bool busy;
    unsigned char *page = (unsigned char *)(address & ~(page_bytes - 1));
    if (address + MACHINE_FAR_JUMP_BYTES > (uint64_t)page + page_bytes || atomic_exchange(&busy, true))
        return;
    void *got = mmap(page, page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    bool there = got == page;
    if (there)
        memset(page, MACHINE_FILLING, page_bytes);
    else if (got == MAP_FAILED && errno == EEXIST)
        there = !mprotect(page, page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC);
    if (there) {
        machine_far_jump((unsigned char *)address, to);
        __builtin___clear_cache((char *)address, (char *)address + MACHINE_FAR_JUMP_BYTES);
        mprotect(page, page_bytes, PROT_READ | PROT_EXEC);
    }
    atomic_store(&busy, false);
}

bool pcere_externals_serve(int number, void *context)
{
    uint64_t address = machine_instruction(context) - (number == SIGTRAP ? MACHINE_FILLING_BYTES : 0);
    for (size_t i = 0; i < library_count; i++) {
        const struct library *library = &libraries[i];
        uint64_t own = library->own + (address - library->low);
        if (address < library->low || address >= library->high || own < library->text_low || own >= library->text_high)
            continue;
        int error = errno;
        jump_leave(address, own);
        errno = error;
        machine_go_on_at(context, own);
        return true;
    }
    return false;
}

/* Our page for one of the capture's; NULL: it has none that may be copied. */
static const struct part *page_part(uint64_t captured, uint64_t *ret_own)
{
    for (size_t i = 0; i < library_count; i++) {
        const struct library *library = &libraries[i];
        uint64_t own = library->own + (captured - library->low);
        if (captured < library->low || captured >= library->high)
            continue;
        *ret_own = own;
        for (size_t j = 0; j < library->part_count; j++)
            if (own >= library->parts[j].low && own < library->parts[j].high)
                return library->parts[j].changes && !library->copied ? NULL : &library->parts[j];
    }
    return NULL;
}

/* The page is whole before it comes to its place: other threads may look at it at once. */
static bool page_copy(uint64_t captured, uint64_t own, bool changes)
{
    void *page = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *want = (void *)captured;
    unsigned char there;
    bool moved = false;
    if (page != MAP_FAILED && mincore(want, page_bytes, &there) != 0 && errno == ENOMEM) {
        memcpy(page, (const void *)own, page_bytes);
        if (!changes)
            mprotect(page, page_bytes, PROT_READ);
        moved = mremap(page, page_bytes, page_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, want) == want;
    }
    if (page != MAP_FAILED && !moved)
        munmap(page, page_bytes);
    return moved;
}

bool pcere_externals_serve_data(uint64_t address)
{
    static _Atomic bool busy;
    int error = errno;
    uint64_t captured = address & ~(page_bytes - 1), own = 0;
    const struct part *part = page_part(captured, &own);
    if (!part)
        return false;
    while (atomic_exchange(&busy, true)) {}
    bool served = false;
    for (size_t i = 0; i < copied_count && !served; i++)
        served = pages_copied[i] == captured;
    if (!served && copied_count < COPIED_MOST && page_copy(captured, own, part->changes)) {
        pages_copied[copied_count++] = captured;
        served = true;
    }
    atomic_store(&busy, false);
    errno = error;
    return served;
}

/* ---- those with a name ------------------------------------------------------------------------------------------------------------ */

void pcere_externals_prepare(struct codelet *codelet)
{
    const struct plan_external *externals = PLAN_TABLE(codelet, externals, struct plan_external);
    uint64_t count = codelet->plan->externals.count;
    symbols = calloc(count ? count : 1, sizeof *symbols);
    if (!symbols)
        pcere_plan_end(codelet, PLAN_FAILED, "no memory for the list of libraries' functions");
    page_bytes = codelet->plan->page_bytes;
    for (uint64_t i = 0; i < count; i++) {
        const char *name = pcere_plan_string(codelet->plan, externals[i].name);
        if (*name == '/')
            library_note(&externals[i], name);
        else
            symbols[i] = symbol_find(name);
    }
}

/* Where jumps of the executable lead, which stand for functions of libraries there. */
static uint64_t jump_target(uint64_t address)
{
#ifdef __x86_64__
    static const unsigned char begin[] = {0xf3, 0x0f, 0x1e, 0xfa}, through[] = {0xff, 0x25};   /* endbr64; jmp *distance(%rip) */
    enum { NEAR = 0xe9 };                            /* jmp distance */
    const unsigned char *at = (const unsigned char *)address;
    int32_t distance;
    uint64_t target;
    if (*at == NEAR) {
        memcpy(&distance, at + 1, sizeof distance);
        at = at + 1 + sizeof distance + (ptrdiff_t)distance;
    }
    at += memcmp(at, begin, sizeof begin) ? 0 : sizeof begin;
    if (memcmp(at, through, sizeof through) != 0)
        return address;
    memcpy(&distance, at + sizeof through, sizeof distance);
    memcpy(&target, at + sizeof through + sizeof distance + (ptrdiff_t)distance, sizeof target);
    return target;
#else
    return address;
#endif
}

bool pcere_externals_differ(const struct codelet *codelet, uint64_t captured, uint64_t own)
{
    const struct plan_external *externals = PLAN_TABLE(codelet, externals, struct plan_external);
    uint64_t count = codelet->plan->externals.count;
    bool known = false, other = false;
    Dl_info found, executable;
    if (dladdr((void *)own, &found) && dladdr((const void *)(uintptr_t)pcere_externals_differ, &executable) && found.dli_fbase == executable.dli_fbase)
        own = jump_target(own);
    for (uint64_t i = 0; i < count; i++) {          /* several names may have one address, in the capture or here */
        if (externals[i].bytes || !symbols[i])
            continue;
        known |= externals[i].address == captured;
        other |= (uint64_t)symbols[i] == own;
        if (externals[i].address == captured && (uint64_t)symbols[i] == own)
            return false;
    }
    return known && other;
}

static uint64_t external_end(const struct plan_external *external)
{
    return external->address + (external->bytes ? external->bytes : MACHINE_FAR_JUMP_BYTES);
}

/* What is in place already needs nothing; what lies in captured memory is the program's. */
static bool is_wanted(const struct memory *memory, const struct plan_external *external, const unsigned char *symbol)
{
    return symbol && (uint64_t)symbol != external->address && !pcere_memory_is_mapped(memory, external->address)
           && !pcere_memory_is_mapped(memory, external_end(external) - 1);
}

/* Pages from *mapped, the end of those that were made before, as far as the external reaches. */
static void pages_map(struct memory *memory, const struct plan_external *external, uint64_t *mapped)
{
    uint64_t start = external->address & ~(page_bytes - 1);
    uint64_t end = (external_end(external) + page_bytes - 1) & ~(page_bytes - 1);
    if (start < *mapped)
        start = *mapped;
    if (start >= end)
        return;
    void *got = mmap((void *)start, end - start, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != (void *)start)
        pcere_plan_end(memory->codelet, got != MAP_FAILED || errno == EEXIST ? PLAN_COLLIDED : PLAN_UNMAPPED,
                       "addresses 0x%llx to 0x%llx of its libraries cannot be had", (unsigned long long)start, (unsigned long long)end);
    for (uint64_t page = start, own; page < end; page += page_bytes) {
        const struct part *part = page_part(page, &own);
        if (part)
            memcpy((void *)page, (const void *)own, page_bytes);        /* what lies between those that have a name */
        else
            memset((void *)page, MACHINE_FILLING, page_bytes);
    }
    *mapped = end;
}

static void external_place(const struct plan_external *external, const unsigned char *symbol)
{
    unsigned char *to = (unsigned char *)external->address;
    if (external->bytes) {
        memcpy(to, symbol, external->bytes);
        return;
    }
    machine_far_jump(to, (uint64_t)symbol);
    __builtin___clear_cache((char *)to, (char *)to + MACHINE_FAR_JUMP_BYTES);
}

void pcere_externals_apply(struct memory *memory)
{
    struct replay_plan *plan = memory->codelet->plan;
    const struct plan_external *externals = PLAN_TABLE(memory->codelet, externals, struct plan_external);
    uint64_t mapped = 0, used = 0;
    for (uint64_t i = 0; i < plan->externals.count; i++) {
        if (!is_wanted(memory, &externals[i], symbols[i]))
            continue;
        if (externals[i].address < used) {        /* another name of the same, or too near to the one before */
            plan->result.functions_skipped++;
            continue;
        }
        pages_map(memory, &externals[i], &mapped);
        external_place(&externals[i], symbols[i]);
        used = external_end(&externals[i]);
        plan->result.functions_redirected++;
    }
    for (uint64_t i = 0; i < plan->externals.count; i++)
        if (is_wanted(memory, &externals[i], symbols[i])) {
            uint64_t start = externals[i].address & ~(plan->page_bytes - 1);
            mprotect((void *)start, external_end(&externals[i]) - start, PROT_READ | PROT_EXEC);
        }
}
