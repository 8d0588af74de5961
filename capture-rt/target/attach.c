/* capture-rt/target/attach.c - how the library wakes up inside the user's process.
 *
 * Before main: find the two descriptors, map the log, learn where shared objects, TLS and the lazily bound words lie, and remove
 * all that brought us here from the environment, so that the program and its children see their own.
 */
#include "capture-rt/target/target.h"

#include "core/openmp_object.h"
#include "core/openmp_processors.h"
#include "core/preloaded.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct target_state inert;
struct target_state *target_state = &inert;

static struct capture_log *shared_log;          /* known in a forked process, too, where the state is wiped */

static void fork_note(void)
{
    uint32_t none = CAPTURE_FORKED_NONE;
    __atomic_compare_exchange_n(&shared_log->forked, &none, CAPTURE_FORKED_ANY, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void target_inactive_note(void)
{
    if (shared_log && target_state != &inert)
        __atomic_store_n(&shared_log->forked, CAPTURE_FORKED_ENTERED, __ATOMIC_RELAXED);
}

static bool number_parse(const char **text, int *ret_number)
{
    const char *at = *text;
    bool negative = *at == '-';
    int number = 0;
    at += negative;
    if (*at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9' && number < 1000000; at++)
        number = number * 10 + (*at - '0');
    *ret_number = negative ? -number : number;
    *text = at;
    return true;
}

static bool descriptors_parse(const char *value, int *ret_log, int *ret_socket)
{
    return number_parse(&value, ret_log) && *value++ == ',' && number_parse(&value, ret_socket) && *value == '\0';
}

struct image_facts {
    struct capture_log *log;
    uintptr_t thread_pointer;
    bool first;
};

static void plt_note(struct capture_log *log, const struct dl_phdr_info *info, const ElfW(Phdr) *dynamic)
{
    uintptr_t relocations = 0, bytes = 0;
    /* Addresses in the dynamic section of a loaded object are relocated in place by glibc. */
    for (const ElfW(Dyn) *entry = (const void *)(info->dlpi_addr + dynamic->p_vaddr); entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_JMPREL)
            relocations = entry->d_un.d_ptr;
        else if (entry->d_tag == DT_PLTRELSZ)
            bytes = entry->d_un.d_val;
    }
    if (relocations && relocations < info->dlpi_addr)
        relocations += info->dlpi_addr;
    const ElfW(Rela) *rela = (const void *)relocations;
    for (size_t i = 0; rela && i < bytes / sizeof *rela; i++) {
        uint64_t address = info->dlpi_addr + rela[i].r_offset;
        if (log->plt_low == 0 || address < log->plt_low)
            log->plt_low = address;
        if (address + 8 > log->plt_high)
            log->plt_high = address + 8;
    }
}

static int image_note(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct image_facts *facts = context;
    bool executable = facts->first;
    facts->first = false;
    if (executable)
        facts->log->image_bias = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && executable) {
            facts->log->image_low = facts->log->image_low && facts->log->image_low < low ? facts->log->image_low : low;
            facts->log->image_high = facts->log->image_high > low + header->p_memsz ? facts->log->image_high : low + header->p_memsz;
        }
        if (header->p_type == PT_LOAD && (header->p_flags & PF_X) && executable) {
            facts->log->text_low = facts->log->text_low && facts->log->text_low < low ? facts->log->text_low : low;
            facts->log->text_high = facts->log->text_high > low + header->p_memsz ? facts->log->text_high : low + header->p_memsz;
        }
        if (header->p_type == PT_DYNAMIC && executable)
            plt_note(facts->log, info, header);
    }
    if (bytes >= sizeof *info && info->dlpi_tls_data) {
        uint64_t tls = (uintptr_t)info->dlpi_tls_data;
        if (tls < facts->thread_pointer && facts->thread_pointer - tls < (1u << 24) &&
            (facts->log->tls_low == 0 || tls < facts->log->tls_low))
            facts->log->tls_low = tls;
    }
    return 0;
}

static uint64_t control_block_bytes(void)
{
    const uint32_t *bytes = dlsym(RTLD_DEFAULT, "_thread_db_sizeof_pthread");
    return bytes && *bytes >= 256 && *bytes <= 65536 ? *bytes : 4096;
}

static void images_learn(struct capture_log *log, uintptr_t thread_pointer)
{
    struct image_facts facts = {.log = log, .thread_pointer = thread_pointer, .first = true};
    log->control_bytes = control_block_bytes();
    log->foreign_allocator = target_allocator_is_foreign();
    dl_iterate_phdr(image_note, &facts);
}

struct runtime_facts { uintptr_t inside, low, high; bool in_executable, first; };

static int runtime_note(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct runtime_facts *facts = context;
    bool executable = facts->first;
    (void)bytes;
    facts->first = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && (header->p_flags & PF_X) && facts->inside >= low && facts->inside < low + header->p_memsz)
            *facts = (struct runtime_facts){facts->inside, low, low + header->p_memsz, executable, false};
    }
    return 0;
}

static void runtime_learn(struct capture_log *log, const void *caller)
{
    if (!target_fork_find(caller))
        return;
    struct runtime_facts facts = {.inside = (uintptr_t)target_runtime_address(), .first = true};
    dl_iterate_phdr(runtime_note, &facts);
    if (facts.in_executable && log->linked.openmp_high)
        facts = (struct runtime_facts){.low = log->image_bias + log->linked.openmp_low, .high = log->image_bias + log->linked.openmp_high};
    if (facts.low && !facts.in_executable) {
        log->runtime_found = 1;
        if ((target_allocator_is_ours() || log->linked.openmp_high || target_allocator_divert(target_runtime_address())) && target_arena_open()) {
            target_allocator_separate(facts.low, facts.high);
            log->runtime_separate = 1;
        }
    }
    target_operators_divert();
    target_runtime_resolve();
    target_locks_resolve();
    target_copies_resolve();
    target_openmp_memory_resolve();
}

void target_runtime_attach(const void *caller)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    if (__builtin_expect(target_fork_next() != NULL, 1))
        return;
    int error = errno;
    if (target_state->active) {
        pthread_mutex_lock(&mutex);
        if (!target_fork_next())
            runtime_learn(target_state->log, caller);
        pthread_mutex_unlock(&mutex);
    } else if (target_fork_find(caller)) {  /* before the constructor, or in a process that is not looked at */
        target_locks_resolve();
        target_copies_resolve();
        target_openmp_memory_resolve();
    }
    errno = error;
}

/* Of the GNU C library; elsewhere they are not there. */
extern char _IO_list_all[] __attribute__((weak)), _IO_file_jumps[] __attribute__((weak)), _IO_wfile_jumps[] __attribute__((weak));
extern char _IO_2_1_stdin_[] __attribute__((weak)), _IO_2_1_stdout_[] __attribute__((weak)), _IO_2_1_stderr_[] __attribute__((weak));

static void streams_learn(struct capture_log *log)
{
    log->stream_list = (uintptr_t)_IO_list_all;
    log->stream_tables[0] = (uintptr_t)_IO_file_jumps;
    log->stream_tables[1] = (uintptr_t)_IO_wfile_jumps;
    log->standard_streams[0] = (uintptr_t)_IO_2_1_stdin_;
    log->standard_streams[1] = (uintptr_t)_IO_2_1_stdout_;
    log->standard_streams[2] = (uintptr_t)_IO_2_1_stderr_;
}

static struct capture_log *log_map(int descriptor)
{
    off_t bytes = lseek(descriptor, 0, SEEK_END);
    if (bytes < (off_t)sizeof(struct capture_log))
        return NULL;
    struct capture_log *log = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (log == MAP_FAILED)
        return NULL;
    if (log->magic != CAPTURE_MAGIC || log->version != CAPTURE_VERSION || log->log_bytes != (uint64_t)bytes ||
        log->copies_offset < sizeof *log || log->records_offset < log->copies_offset + (uint64_t)CAPTURE_COPY_SLOTS * CAPTURE_COPY_BYTES || log->records_offset > log->log_bytes ||
        log->records_max > (log->log_bytes - log->records_offset) / sizeof(struct capture_record)) {
        munmap(log, (size_t)bytes);
        return NULL;
    }
    target_reserved_bytes += (size_t)bytes;
    return log;
}

static struct target_state *state_new(void)
{
    struct target_state *state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (state == MAP_FAILED)
        return NULL;
    if (madvise(state, sizeof *state, MADV_WIPEONFORK) != 0) {
        munmap(state, sizeof *state);
        return NULL;
    }
    return state;
}

/* What an invocation of no length would be measured as. */
#define CLOCK_BATCH 100u                /* clocks tick every ten ns on some machines: one reading tells less than many */

static uint64_t clock_cost_ns(void)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 10; i++) {
        uint64_t begin_ns = target_clock_ns(), end_ns = begin_ns;
        for (unsigned j = 0; j < CLOCK_BATCH; j++)
            end_ns = target_clock_ns();
        least = end_ns - begin_ns < least ? end_ns - begin_ns : least;
    }
    return (least + CLOCK_BATCH / 2) / CLOCK_BATCH;
}

/* In a statically linked program it is one constructor among the program's own, which may use the OpenMP runtime: theirs come later. */
__attribute__((constructor(101))) static void attach(void)
{
    int error = errno, log_descriptor, socket;
    char **slot = preloaded_slot(CAPTURE_ENVIRONMENT);
    if (!slot || !descriptors_parse(*slot + sizeof CAPTURE_ENVIRONMENT, &log_descriptor, &socket))
        return;
    struct capture_log *log = log_map(log_descriptor);
    struct target_state *state = log ? state_new() : NULL;
    if (!state)
        return;
    close(log_descriptor);
    if (socket >= 0)
        fcntl(socket, F_SETFD, FD_CLOEXEC);
    preloaded_leave(CAPTURE_ENVIRONMENT, log->library);
    pcere_openmp_object_forget();
    if (log->places_ours)
        pcere_openmp_processors_free();

    state->log = log;
    state->records = (struct capture_record *)((char *)log + log->records_offset);
    state->socket = log->mode != CAPTURE_MODE_TIMING ? socket : -1;
    pthread_mutex_init(&state->stopping, NULL);
    pthread_mutex_init(&state->choosing, NULL);
    pthread_mutex_init(&state->claiming, NULL);
    state->attached_ns = target_clock_ns();
    state->initial_thread = log->initial_thread = target_thread_pointer();
    images_learn(log, state->initial_thread);
    if (state->socket >= 0 && target_allocator_is_ours())
        target_fresh_reserve();
    target_threads_resolve();
    runtime_learn(log, NULL);
    streams_learn(log);
    target_modules_resolve();           /* which allocates: in a run for times alone as well, so that the program's blocks lie where they do in the other one */
    log->probe_ns = clock_cost_ns();
    log->pid = getpid();
    __atomic_store_n(&log->region_count, log->known_regions, __ATOMIC_RELAXED);
    target_state = state;
    state->active = 1;
    shared_log = log;
    pthread_atfork(NULL, fork_note, NULL);
    __atomic_store_n(&log->attached, CAPTURE_VERSION, __ATOMIC_RELEASE);
    errno = error;
}
