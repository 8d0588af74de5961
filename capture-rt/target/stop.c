/* capture-rt/target/stop.c - how the program is held while the tracer reads it.
 *
 * All signals wait meanwhile, so that no handler runs in the middle of a dump. Whatever happens to the tracer, the program goes on: a
 * closed socket is as good as an answer.
 */
#include "capture-rt/target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

static void range_add_module(struct capture_stop *stop, uint64_t start, uint64_t end, uint32_t kind, size_t tls_module)
{
    if (stop->range_count < CAPTURE_RANGES_MAX)
        stop->ranges[stop->range_count++] = (struct capture_range){start, end, kind, (uint32_t)tls_module};
    else
        stop->ranges_dropped++;
}

static void range_add(struct capture_stop *stop, uint64_t start, uint64_t end, uint32_t kind)
{
    range_add_module(stop, start, end, kind, 0);
}

struct images { struct capture_stop *stop; uintptr_t own, system[2]; bool first; };

static int image_add(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct images *images = context;
    uint64_t low = UINT64_MAX, high = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD)
            continue;
        uint64_t start = info->dlpi_addr + header->p_vaddr;
        low = start < low ? start : low;
        high = start + header->p_memsz > high ? start + header->p_memsz : high;
    }
    bool system = false;
    for (size_t i = 0; i < sizeof images->system / sizeof *images->system; i++)
        system |= images->system[i] >= low && images->system[i] < high;
    if (!images->first && low < high)
        range_add_module(images->stop, low, high, images->own >= low && images->own < high ? CAPTURE_RANGE_OWN
                                                  : system ? CAPTURE_RANGE_SYSTEM : CAPTURE_RANGE_OBJECT,
                         bytes >= sizeof *info ? info->dlpi_tls_modid : 0);
    images->first = false;
    return 0;
}

static void ranges_fill(const struct target_state *state)
{
    struct capture_stop *stop = &state->log->stop;
    uint64_t start, end;
    stop->range_count = stop->ranges_dropped = 0;
    range_add(stop, (uintptr_t)state->log, (uintptr_t)state->log + state->log->log_bytes, CAPTURE_RANGE_OWN);
    range_add(stop, (uintptr_t)state, (uintptr_t)(state + 1), CAPTURE_RANGE_OWN);
    target_arena_range(&start, &end);
    if (start < end)
        range_add(stop, start, end, CAPTURE_RANGE_OWN);
    uint64_t fresh[4];
    target_fresh_ranges(fresh);
    stop->fresh_next = fresh[2];
    stop->fresh_large_pages = target_fresh_large_pages();
    for (int i = 0; i < 4; i += 2)
        if (fresh[i] < fresh[i + 1])
            range_add(stop, fresh[i], fresh[i + 1], CAPTURE_RANGE_OWN);
    if (target_copies_unused(&start, &end) && start < end)
        range_add(stop, start, end, CAPTURE_RANGE_OWN);
    struct images images = {.stop = stop, .own = (uintptr_t)&target_state, .first = true,
                            .system = {(uintptr_t)stdin, (uintptr_t)target_runtime_address()}};
    dl_iterate_phdr(image_add, &images);
    stop->heap_end = (uintptr_t)sbrk(0);
}

static void signals_fill(struct capture_stop *stop)
{
    stop->signal_count = 0;
    for (int number = 1; number <= (int)CAPTURE_SIGNALS_MAX; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_DFL)
            continue;
        struct capture_signal *signal = &stop->signals[stop->signal_count++];
        *signal = (struct capture_signal){.handler = (uintptr_t)action.sa_handler, .number = (uint32_t)number, .flags = (uint32_t)action.sa_flags};
        memcpy(&signal->mask, &action.sa_mask, sizeof signal->mask);
    }
}

/* Made here, since it serves the address space that made it; sent away and closed, so that it ends with the tracer. */
static int tracking_open(struct target_state *state)
{
    if (state->tracking_sent || !state->log->tracking)
        return -1;
    state->tracking_sent = true;
    int descriptor = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    if (descriptor < 0)
        state->log->tracking_errno = (uint32_t)errno;
    return descriptor;
}

static bool message_send(int socket, const struct capture_message *message, int descriptor)
{
    struct iovec part = {.iov_base = (void *)(uintptr_t)message, .iov_len = sizeof *message};
    union { struct cmsghdr header; char bytes[CMSG_SPACE(sizeof(int))]; } control = {.bytes = {0}};
    struct msghdr envelope = {.msg_iov = &part, .msg_iovlen = 1};
    if (descriptor >= 0) {
        envelope.msg_control = control.bytes;
        envelope.msg_controllen = sizeof control.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&envelope);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &envelope, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof *message;
}

/* ---- copying ----------------------------------------------------------------------------------------------------------------
 * This thread has its own memory under its hands: it copies several times as fast as another process reads it. All other threads stand still. */

static sigjmp_buf copy_unreadable;
static bool copies_populated;
static const int copy_signals[] = {SIGSEGV, SIGBUS};
#define COPY_SIGNALS (sizeof copy_signals / sizeof *copy_signals)

struct copying { bool begun; struct sigaction before[COPY_SIGNALS]; };

static void copy_fail(int signal)
{
    (void)signal;
    siglongjmp(copy_unreadable, 1);
}

/* What cannot be read (guards in the middle of a mapping, protection keys) is told by a signal. Nobody sees the handler: whoever could stands still. */
static void copying_begin(const struct target_state *state, struct copying *copying)
{
    struct sigaction action = {.sa_handler = copy_fail, .sa_flags = SA_NODEFER};    /* so that the mask is the same after the jump */
    sigset_t both;
    sigemptyset(&both);
    for (size_t i = 0; i < COPY_SIGNALS; i++) {
        sigaction(copy_signals[i], &action, &copying->before[i]);
        sigaddset(&both, copy_signals[i]);
    }
    pthread_sigmask(SIG_UNBLOCK, &both, NULL);
    if (!copies_populated)
        madvise((char *)state->log + state->log->copies_offset, (size_t)CAPTURE_COPY_SLOTS * CAPTURE_COPY_BYTES, MADV_POPULATE_WRITE);
    copies_populated = true;
    copying->begun = true;
}

static void copying_end(const struct copying *copying)
{
    sigset_t all;
    if (!copying->begun)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    for (size_t i = 0; i < COPY_SIGNALS; i++)
        sigaction(copy_signals[i], &copying->before[i], NULL);
}

static void copy_make(const struct target_state *state, const struct capture_answer *answer)
{
    struct capture_log *log = state->log;
    bool possible = answer->slot < CAPTURE_COPY_SLOTS && answer->bytes <= CAPTURE_COPY_BYTES;
    if (possible && sigsetjmp(copy_unreadable, 0) == 0)
        memcpy((char *)log + log->copies_offset + (size_t)answer->slot * CAPTURE_COPY_BYTES, (const void *)(uintptr_t)answer->address, answer->bytes);
    else if (possible)
        log->copies_failed[answer->slot] = 1;
    __atomic_fetch_add(&log->copies_made, 1, __ATOMIC_RELEASE);
}

/* What was answered; CAPTURE_ANSWER_NO_MORE where nobody is there any more. */
static enum capture_answer_type answer_wait(const struct target_state *state, uint64_t *ret_cpu_ns)
{
    struct capture_answer answer;
    struct copying copying = {.begun = false};
    ssize_t received;
    bool whole;
    for (;;) {
        do
            received = recv(state->socket, &answer, sizeof answer, 0);
        while (received < 0 && errno == EINTR);
        whole = received == (ssize_t)sizeof answer;
        if (!whole || answer.type != CAPTURE_ANSWER_COPY)
            break;
        if (!copying.begun)
            copying_begin(state, &copying);
        copy_make(state, &answer);
    }
    copying_end(&copying);
    *ret_cpu_ns = whole ? answer.cpu_us * UINT64_C(1000) : 0;
    return whole && answer.type != CAPTURE_ANSWER_NO_MORE ? (enum capture_answer_type)answer.type : CAPTURE_ANSWER_NO_MORE;
}

bool target_stop_enter(struct target_state *state, bool begins)
{
    pthread_mutex_lock(&state->stopping);
    bool beside = begins && state->captures_open && __atomic_load_n(&state->log->hold_expired, __ATOMIC_ACQUIRE);
    if (state->socket >= 0 && !beside)
        return true;
    pthread_mutex_unlock(&state->stopping);
    return false;
}

void target_stop_leave(struct target_state *state)
{
    pthread_mutex_unlock(&state->stopping);
}

/* From here unwinding begins: this frame is there until the answer is. */
static inline __attribute__((always_inline)) void registers_fill(uint64_t registers[CAPTURE_REGISTERS])
{
    __asm__ volatile("1: leaq 1b(%%rip), %%rax\n\t"
                     "movq %%rbx, %c[rbx](%[to])\n\tmovq %%rbp, %c[rbp](%[to])\n\tmovq %%rsp, %c[rsp](%[to])\n\t"
                     "movq %%r12, %c[r12](%[to])\n\tmovq %%r13, %c[r12]+8(%[to])\n\tmovq %%r14, %c[r12]+16(%[to])\n\t"
                     "movq %%r15, %c[r12]+24(%[to])\n\tmovq %%rax, %c[rip](%[to])"
                     :
                     : [to] "r"(registers), [rbx] "i"(8 * CAPTURE_REGISTER_RBX), [rbp] "i"(8 * CAPTURE_REGISTER_RBP),
                       [rsp] "i"(8 * CAPTURE_REGISTER_RSP), [r12] "i"(8 * CAPTURE_REGISTER_R12), [rip] "i"(8 * CAPTURE_REGISTER_RIP)
                     : "rax", "memory");
}

bool target_stop(struct target_state *state, struct capture_message *message)
{
    int error = errno;
    uint64_t begin_ns = target_clock_ns();
    sigset_t all, before;
    sigfillset(&all);
    if (message->type == CAPTURE_MESSAGE_BEGIN)
        target_runtime_threads(state, abs(message->num_threads), message->proc_bind);
    bool at_begin = message->type == CAPTURE_MESSAGE_BEGIN;
    if (message->type == CAPTURE_MESSAGE_END)
        target_fresh_trim();
    target_timers_stop(&state->timers);
    bool alone = target_thread_pointer() == state->initial_thread && !target_runtime_level() && target_runtime_teams() == 1;
    target_locks_probe(state, alone, at_begin ? abs(message->num_threads) : 0, at_begin ? message->proc_bind : -1);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    message->tid = (int32_t)syscall(SYS_gettid);
    message->max_threads = target_runtime_max_threads();
    if (message->type == CAPTURE_MESSAGE_BEGIN || message->type == CAPTURE_MESSAGE_END) {
        ranges_fill(state);
        target_modules_fill(&state->log->stop);
        target_symbols_fill(&state->log->stop, alone);
        __atomic_fetch_add(&state->log->stops, 1, __ATOMIC_RELAXED);
    }
    if (message->type == CAPTURE_MESSAGE_BEGIN) {
        signals_fill(&state->log->stop);
        target_threads_fill(&state->log->stop);
        target_locale_fill(&state->log->stop);
        target_runtime_settings(&state->log->stop);
        state->log->stop.environment = (uintptr_t)environ;
        state->log->stop.float_control = target_float_control();
        state->log->stop.pointer_guard = target_pointer_guard();
    }
    registers_fill(state->log->stop.registers);
    int tracking = tracking_open(state);
    state->log->stop.tracking_sent = (uint32_t)(tracking + 1);
    bool sent = message_send(state->socket, message, tracking);
    if (!sent)
        state->log->stops_lost++;
    if (tracking >= 0)
        close(tracking);
    enum capture_answer_type answer = sent ? answer_wait(state, &state->stop_cpu_ns) : CAPTURE_ANSWER_NO_MORE;
    if (answer == CAPTURE_ANSWER_NO_MORE)
        state->socket = -1;     /* left open: the number may be another file's by now */
    target_timers_go(&state->timers, at_begin && answer == CAPTURE_ANSWER_GO);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    uint64_t end_ns = target_clock_ns(), released_ns = __atomic_load_n(&state->log->released_ns, __ATOMIC_RELAXED);
    if (released_ns > begin_ns && released_ns < end_ns)
        __atomic_fetch_add(&state->log->stall_waited_ns, end_ns - released_ns, __ATOMIC_RELAXED);
    state->log->stall_ns_last = end_ns - begin_ns;
    __atomic_fetch_add(&state->log->stall_ns, state->log->stall_ns_last, __ATOMIC_RELAXED);
    errno = error;
    return answer == CAPTURE_ANSWER_GO;
}
