/* libraries.c - data of shared libraries that has no name, and that captured memory points to: the locale of a C++ stream, std::cout itself.
 *
 * Where this process has the same build of a library, whoever looks at such an address finds a copy of our page. Of what a library writes that
 * holds for the C++ library's alone: other libraries' state would fall apart into two.
 */
#define _GNU_SOURCE
#include "codelet.h"
#include "region.h"

#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

/* Of the capture, and of which build; where it begins here, NULL: it is not here, or another build. */
static struct library { uint64_t address, bytes; const char *file, *build; char *own; } libraries[] = {
#define LIBRARY(address, bytes, file, build) {address, bytes, file, build, NULL},
    LIBRARIES(LIBRARY)
    {0, 0, NULL, NULL, NULL},
};
#define LIBRARY_COUNT (sizeof libraries / sizeof *libraries - 1)

struct part { const char *address; const struct library *library; bool whole; };        /* whole: that page may be copied */

static uint64_t rounded(uint64_t address) { return address & ~(uint64_t)(PAGE_BYTES - 1); }

static bool is_build(const ElfW(Phdr) *header, const char *start, const char *build)
{
    char text[2 * 64 + 1] = "";
    for (size_t at = 0; header->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) <= header->p_memsz;) {
        const ElfW(Nhdr) *note = (const void *)(start + at);
        const unsigned char *content = (const unsigned char *)(note + 1) + ((note->n_namesz + 3) & ~3u);
        for (size_t i = 0; note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && i < note->n_descsz && i < 64; i++)
            snprintf(text + 2 * i, 3, "%02x", content[i]);
        at += sizeof *note + ((note->n_namesz + 3) & ~3u) + ((note->n_descsz + 3) & ~3u);
    }
    return text[0] && !strcmp(text, build);
}

static int object_match(struct dl_phdr_info *info, size_t bytes, void *context)
{
    uint64_t low = UINT64_MAX;
    (void)bytes, (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && rounded(info->dlpi_phdr[i].p_vaddr) < low)
            low = rounded(info->dlpi_phdr[i].p_vaddr);
    for (size_t j = 0; j < LIBRARY_COUNT; j++)
        for (int i = 0; i < info->dlpi_phnum; i++)
            if (is_build(&info->dlpi_phdr[i], (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr), libraries[j].build))
                libraries[j].own = (char *)(info->dlpi_addr + low);
    return 0;
}

static int part_match(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct part *part = context;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + header->p_vaddr, end = start + header->p_memsz, at = (uint64_t)part->address;
        bool cpp = !strncmp(part->library->file, "libstdc++.so", 12) || !strncmp(part->library->file, "libc++", 6);
        if (header->p_type == PT_LOAD && !(header->p_flags & PF_X) && at >= rounded(start) && at < rounded(end + PAGE_BYTES - 1))
            part->whole |= !(header->p_flags & PF_W) || cpp;
        if (header->p_type == PT_GNU_RELRO && at >= rounded(start) && at < rounded(end))
            part->whole = true;
    }
    return 0;
}

const void *library_page(uint64_t address)
{
    for (size_t i = 0; i < LIBRARY_COUNT; i++)
        if (libraries[i].own && rounded(address) - libraries[i].address < libraries[i].bytes) {
            struct part part = {.address = libraries[i].own + (rounded(address) - libraries[i].address), .library = &libraries[i]};
            dl_iterate_phdr(part_match, &part);
            return part.whole ? part.address : NULL;
        }
    return NULL;
}

/* One thread at a time, and the page is whole before it comes to its place: others may look at it at once. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    static _Atomic bool busy;
    void *want = (void *)rounded((uint64_t)info->si_addr);
    const void *own = info->si_code == SEGV_MAPERR ? library_page((uint64_t)want) : NULL;
    unsigned char there;
    (void)context;
    if (own) {
        while (atomic_exchange(&busy, true)) {}
        if (mincore(want, PAGE_BYTES, &there)) {
            char *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            memcpy(page, own, PAGE_BYTES);
            mremap(page, PAGE_BYTES, PAGE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, want);
        }
        atomic_store(&busy, false);
        return;
    }
    signal(number, SIG_DFL);                        /* it comes again, and is what it was */
}

void libraries_start(void)
{
    if (!LIBRARY_COUNT)
        return;
    dl_iterate_phdr(object_match, NULL);
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL);              /* the program's own comes later */
}
