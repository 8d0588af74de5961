/* profiler/target/attach.c - how the library wakes up inside the user's process, and how it notices the end.
 *
 * Before main: find the trace file, map its header, learn where the OpenMP runtime lies, and remove all that brought us here from the environment, so that
 * the program and its children see their own.
 */
#include "profiler/target/recorder.h"

#include "core/openmp_object.h"
#include "core/preloaded.h"

#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct recorder_state inert;
struct recorder_state *recorder_state = &inert;

static int descriptor_parse(const char *text)
{
    int number = 0;
    if (*text < '0' || *text > '9')
        return -1;
    for (; *text >= '0' && *text <= '9' && number < 1000000; text++)
        number = number * 10 + (*text - '0');
    return *text ? -1 : number;
}

/* The counter of the processor is a clock if it neither stops nor changes its pace. */
static bool tsc_is_clock(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) && d & 1u << 8;
}

/* glibc 2.35 and later say where it is; 0 bytes: the kernel does not have it, or the user forbade it. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

static __thread uint32_t no_cpu __attribute__((tls_model("initial-exec"))) = UINT32_MAX;

static int64_t cpu_place(void)
{
    enum { CPU_ID = 4 };        /* of struct rseq */
    const unsigned *bytes = &__rseq_size;
    const ptrdiff_t *offset = &__rseq_offset;
    __asm__("" : "+r"(bytes), "+r"(offset));     /* the compiler takes a declared object for one that exists */
    return bytes && offset && *bytes >= 2 * CPU_ID && *offset ? *offset + CPU_ID : (const char *)&no_cpu - (const char *)__builtin_thread_pointer();
}

struct runtimes { uintptr_t low, high; bool foreign; };

static int runtime_visit(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes;
    struct runtimes *runtimes = context;
    const char *name = info->dlpi_name, *base = strrchr(name, '/');
    base = base ? base + 1 : name;
    if (strncmp(base, "libgomp.so", 10) == 0 || strncmp(base, "libiomp5.so", 11) == 0)
        runtimes->foreign = true;
    if (strncmp(base, "libomp.so", 9) != 0 && strncmp(base, "libomp-", 7) != 0)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            runtimes->low = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            runtimes->high = runtimes->low + info->dlpi_phdr[i].p_memsz;
        }
    return 0;
}

extern const char __pcere_linked_text[] __attribute__((weak));      /* in a statically linked program: the runtimes' code is behind it */

static void runtime_find(struct recorder_state *state)
{
    struct runtimes runtimes = {.low = (uintptr_t)__pcere_linked_text, .high = UINTPTR_MAX};
    if (!runtimes.low)
        dl_iterate_phdr(runtime_visit, &runtimes);
    state->runtime_low = runtimes.low;
    state->runtime_high = runtimes.high;
    state->header->foreign_runtime = runtimes.foreign && !runtimes.low;
}

static struct trace_header *header_map(int file)
{
    struct stat facts;
    if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size < (off_t)TRACE_HEADER_BYTES)
        return NULL;
    struct trace_header *header = mmap(NULL, TRACE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (header == MAP_FAILED)
        return NULL;
    if (memcmp(header->magic, TRACE_MAGIC, sizeof header->magic) == 0 && header->version == TRACE_VERSION && header->attached == 0 &&
        header->event_count <= TRACE_EVENTS_MOST && header->device == (uint64_t)facts.st_dev && header->inode == (uint64_t)facts.st_ino)
        return header;
    munmap(header, TRACE_HEADER_BYTES);
    return NULL;
}

static void limit_respect(struct trace_header *header)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < header->bytes_most)
        header->bytes_most = limit.rlim_cur;        /* beyond it the kernel would send a signal */
}

static void fork_note(void)
{
    if (recorder_state->active)
        __atomic_fetch_add(&recorder_state->header->forks, 1, __ATOMIC_RELAXED);
}

/* In a statically linked program it is one constructor among the program's own, which may use the OpenMP runtime: theirs come later, and their destructors before ours. */
__attribute__((constructor(101))) static void attach(void)
{
    char **slot = preloaded_slot(TRACE_ENVIRONMENT);
    if (!slot)
        return;
    int file = descriptor_parse(*slot + sizeof TRACE_ENVIRONMENT);
    struct trace_header *header = file < 0 ? NULL : header_map(file);
    if (!header)
        return;
    preloaded_leave(TRACE_ENVIRONMENT, header->library);
    pcere_openmp_object_forget();
    void *memory = mmap(NULL, sizeof(struct recorder_state), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, sizeof(struct recorder_state), MADV_WIPEONFORK) != 0)
        return;
    /* Out of the way of descriptors that the program counts on, and of loops that close the first few. */
    int moved = fcntl(file, F_DUPFD_CLOEXEC, 500);
    if (moved < 0)
        moved = fcntl(file, F_DUPFD_CLOEXEC, 3);
    if (moved >= 0)
        close(file);
    struct recorder_state *state = memory;
    state->file = moved >= 0 ? moved : file;
    state->header = header;
    state->event_count = header->event_count;
    state->count_slots = (header->event_count + 1) / 2;
    state->clock = header->clock_wanted == TRACE_CLOCK_MONOTONIC || !tsc_is_clock() ? TRACE_CLOCK_MONOTONIC : TRACE_CLOCK_TSC;
    state->cpu_place = cpu_place();
    limit_respect(header);
    recorder_state = state;
    runtime_find(state);
    header->clock = state->clock;
    header->pid = getpid();
    header->start = recorder_anchor();
    pthread_atfork(NULL, fork_note, NULL);
    header->attached = TRACE_VERSION;
    state->active = 1;
}

/* The end is noted as if the program ended here: a codelet does so without its destructors. */
RECORDER_EXPORT void __pcere_profile_mark(uint64_t on);
RECORDER_EXPORT void __pcere_profile_mark(uint64_t on)
{
    struct recorder *recorder = recorder_get();
    if (!recorder)
        return;
    recorder_put(recorder, TRACE_WORD(TRACE_MARK, 0, 0), on);
    if (!on) {
        recorder_state->header->end = recorder_anchor();
        recorder_state->header->ended = 1;
    }
}

/* Of programs that were compiled to tell their iterations (include/pcere/counts.h). */
RECORDER_EXPORT void __pcere_iteration(uint64_t number);
RECORDER_EXPORT void __pcere_iteration(uint64_t number)
{
    struct recorder *recorder = recorder_get();
    if (recorder && recorder_state->header->wanted & TRACE_WANT_ITERATIONS)
        recorder_put(recorder, TRACE_WORD(TRACE_ITERATION, 0, 0), number);
}

__attribute__((destructor(101))) static void detach(void)
{
    struct recorder_state *state = recorder_state;
    if (!state->active)
        return;
    runtime_find(state);
    state->header->end = recorder_anchor();
    state->header->ended = 1;
}
