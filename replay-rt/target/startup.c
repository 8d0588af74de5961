/* replay-rt/target/startup.c - what the kernel laid on the first stack before the program began, kept for those who still look there.
 *
 *   first stack   argc | argv ... | environ ... | auxiliary vector ... | strings | end
 *
 * The C library and the dynamic linker remember addresses in it (the platform's name, getauxval's vector, the program's name): all of it is copied, and
 * what points there, in the copy and in the data of every loaded object, points to the copy from then on.
 */
#include "replay-rt/target/codelet.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define STACKS_UNLIMITED_BYTES ((size_t)2 << 20)       /* glibc's, on x86-64 and AArch64 */

struct startup { uint64_t low, high, distance, page_bytes; bool failed; };

static void word_move(const struct startup *startup, uint64_t *word)
{
    if (*word >= startup->low && *word < startup->high)
        *word += startup->distance;
}

/* Up to the auxiliary vector's end there are words only; what follows are strings. */
static void vectors_move(const struct startup *startup, uint64_t *words)
{
    uint64_t *end = (uint64_t *)(startup->high + startup->distance), *at = words + 1;
    for (int vector = 0; vector < 2; vector++)
        for (; at < end && *at++;)
            word_move(startup, at - 1);
    for (; at + 1 < end && *at != AT_NULL; at += 2)
        word_move(startup, at + 1);
}

static bool read_only_open(const struct startup *startup, const struct dl_phdr_info *info, int protection)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_GNU_RELRO)
            continue;
        uint64_t start = (info->dlpi_addr + header->p_vaddr) & ~(startup->page_bytes - 1);
        uint64_t end = (info->dlpi_addr + header->p_vaddr + header->p_memsz) & ~(startup->page_bytes - 1);
        if (end > start && mprotect((void *)start, end - start, protection))
            return false;
    }
    return true;
}

static int object_move(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct startup *startup = context;
    (void)bytes;
    if (!read_only_open(startup, info, PROT_READ | PROT_WRITE))
        return startup->failed = true;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_W))
            continue;
        uint64_t *word = (uint64_t *)((info->dlpi_addr + header->p_vaddr + 7) & ~UINT64_C(7));
        for (uint64_t *end = (uint64_t *)(info->dlpi_addr + header->p_vaddr + header->p_memsz); word + 1 <= end; word++)
            word_move(startup, word);
    }
    startup->failed |= !read_only_open(startup, info, PROT_READ);
    return startup->failed;
}

bool pcere_startup_keep(char **argv, uint64_t stack_end)
{
    struct startup startup = {.low = (uint64_t)(argv - 1), .high = stack_end, .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
    uint64_t bytes = startup.high - startup.low, before = startup.low % 64;      /* as aligned as it was */
    char *copy = mmap(NULL, bytes + before, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return false;
    memcpy(copy + before, (const void *)startup.low, bytes);
    startup.distance = (uint64_t)(copy + before) - startup.low;
    vectors_move(&startup, (uint64_t *)(copy + before));
    dl_iterate_phdr(object_move, &startup);
    return !startup.failed;
}

/* The C library took the limit as the size of threads' stacks when this process began; where there is none, it has a size of its own. */
void pcere_startup_stacks(const struct codelet *codelet)
{
    struct rlimit limit;
    pthread_attr_t attributes;
    rlim_t wanted = codelet->plan->stack_limit, page = codelet->plan->page_bytes;
    if (!prlimit(0, RLIMIT_STACK, NULL, &limit) && limit.rlim_cur != wanted) {
        limit.rlim_cur = wanted;
        prlimit(0, RLIMIT_STACK, &limit, NULL);
    }
    if (pthread_getattr_default_np(&attributes))
        return;
    size_t bytes = wanted == RLIM_INFINITY ? STACKS_UNLIMITED_BYTES : (wanted + page - 1) / page * page;
    if (!pthread_attr_setstacksize(&attributes, bytes))      /* not where it is less than the least */
        pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}
