/* replay-rt/launcher/filler.c - see filler.h. */
#include "replay-rt/launcher/filler.h"

#include "core/host.h"
#include "replay-rt/protocol.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FILLER_BYTES_LEAST (1u << 20)        /* smaller than any last cache: the system does not know */
#define FILLER_BYTES_USUAL (32u << 20)
#define FILLER_BYTES_MOST (64u << 20)
#define LINE_BYTES 64u
#define PIECE_BYTES ((uint64_t)1 << 18)      /* is made at one go */
#define MAKER_STEP_NS 20000

struct helper { struct filling *filling; struct plan_filler *request; pthread_t thread; };

struct filling {
    struct plan_filler *requests;            /* PLAN_FILLERS */
    volatile unsigned char *bytes;
    uint64_t byte_count, page_bytes, piece_count;
    _Atomic uint64_t piece_next, pieces_made;
    _Atomic bool ends;
    bool making;                             /* `maker` runs, or has ended and was not waited for */
    pthread_t maker;
    struct helper helpers[PLAN_FILLERS];
    uint32_t helper_count;
};

static void futex(_Atomic uint32_t *word, int what, uint32_t value)
{
    syscall(SYS_futex, word, what, value, NULL, NULL, 0);
}

static uint64_t bytes_wanted(void)
{
    uint64_t bytes = host_largest_cache_bytes();
    bytes = bytes < FILLER_BYTES_LEAST ? FILLER_BYTES_USUAL : bytes < FILLER_BYTES_MOST ? bytes : FILLER_BYTES_MOST;
    return (bytes + PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES;
}

static void filling_free(struct filling *filling)
{
    if (filling->bytes)
        munmap((void *)(uintptr_t)filling->bytes, filling->byte_count);
    if (filling->requests)
        munmap(filling->requests, PLAN_FILLERS * sizeof *filling->requests);
    free(filling);
}

struct filler filler_open(void)
{
    struct filling *filling = calloc(1, sizeof *filling);
    int fd = memfd_create("pcere-filler", MFD_CLOEXEC);
    size_t request_bytes = PLAN_FILLERS * sizeof *filling->requests;
    if (!filling || fd < 0 || ftruncate(fd, (off_t)request_bytes)) {
        free(filling);
        if (fd >= 0)
            close(fd);
        return FILLER_NONE;
    }
    filling->byte_count = bytes_wanted();
    filling->piece_count = filling->byte_count / PIECE_BYTES;
    filling->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    void *requests = mmap(NULL, request_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    void *bytes = mmap(NULL, filling->byte_count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    filling->requests = requests == MAP_FAILED ? NULL : requests;
    filling->bytes = bytes == MAP_FAILED ? NULL : bytes;
    if (filling->requests && filling->bytes)
        return (struct filler){.fd = fd, .filling = filling};
    filling_free(filling);
    close(fd);
    return FILLER_NONE;
}

bool filler_is_made(const struct filler *filler)
{
    return filler->filling && atomic_load(&filler->filling->piece_next);
}

/* What nobody has begun to make yet; then all is there when what others make is. Memory that was only read would be one page of zeros. */
static void pieces_make(struct filling *filling)
{
    uint64_t piece;
    while ((piece = atomic_load(&filling->piece_next)) < filling->piece_count && (piece = atomic_fetch_add(&filling->piece_next, 1)) < filling->piece_count) {
        for (uint64_t at = piece * PIECE_BYTES; at < (piece + 1) * PIECE_BYTES; at += filling->page_bytes)
            filling->bytes[at] = 1;
        atomic_fetch_add(&filling->pieces_made, 1);
    }
}

static void pieces_await(struct filling *filling)
{
    pieces_make(filling);
    while (atomic_load(&filling->pieces_made) < filling->piece_count)
        nanosleep(&(struct timespec){.tv_nsec = MAKER_STEP_NS}, NULL);
}

static void *maker_run(void *context)
{
    sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});          /* the first process looks at what each processor does */
    pieces_make(context);
    return NULL;
}

/* What interrupts a session is for its own thread. */
static bool thread_start(pthread_t *thread, void *(*run)(void *context), void *context)
{
    sigset_t all, kept;
    sigfillset(&all);
    if (pthread_sigmask(SIG_BLOCK, &all, &kept))
        return false;
    bool started = !pthread_create(thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &kept, NULL);
    return started;
}

void filler_make(struct filler *filler)
{
    struct filling *filling = filler->filling;
    if (filling && !filling->making && !atomic_load(&filling->piece_next))
        filling->making = thread_start(&filling->maker, maker_run, filling);
}

/* Near caches are those of the processor that asks. */
static void processor_take(uint32_t processor)
{
    cpu_set_t one;
    if (processor >= CPU_SETSIZE || (uint32_t)sched_getcpu() == processor)
        return;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* Pages that are written lie evenly among those that are only read. */
static void part_fill(struct filling *filling, const struct plan_filler *request)
{
    uint64_t pages = filling->byte_count / filling->page_bytes, of = request->of ? request->of : 1, written = request->written < of ? request->written : of;
    uint64_t parts = request->parts ? request->parts : 1, part = request->part < parts ? request->part : 0;
    for (uint64_t page = pages * part / parts; page < pages * (part + 1) / parts; page++) {
        bool write = (page + 1) * written / of != page * written / of;
        for (uint64_t offset = 0; offset < filling->page_bytes; offset += LINE_BYTES) {
            volatile unsigned char *byte = filling->bytes + page * filling->page_bytes + offset;
            unsigned char value = *byte;
            if (write)
                *byte = (unsigned char)(value + 1);
        }
    }
}

static void *helper_run(void *context)
{
    const struct helper *helper = context;
    struct plan_filler *request = helper->request;
    while (!atomic_load(&helper->filling->ends)) {
        uint32_t asked = atomic_load(&request->asked);
        if (asked == atomic_load(&request->done)) {
            futex(&request->asked, FUTEX_WAIT, asked);
            continue;
        }
        processor_take(request->processor);
        pieces_await(helper->filling);
        part_fill(helper->filling, request);
        atomic_store(&request->done, asked);
        futex(&request->done, FUTEX_WAKE, INT_MAX);
    }
    return NULL;
}

void filler_serve(struct filler *filler, uint32_t threads)
{
    struct filling *filling = filler->filling;
    while (filling && filling->helper_count < threads && filling->helper_count < PLAN_FILLERS) {
        struct helper *helper = &filling->helpers[filling->helper_count];
        *helper = (struct helper){.filling = filling, .request = &filling->requests[filling->helper_count]};
        if (!thread_start(&helper->thread, helper_run, helper))
            return;
        filling->helper_count++;
        atomic_store(&helper->request->served, 1);
    }
}

void filler_close(struct filler *filler)
{
    struct filling *filling = filler->filling;
    if (filling) {
        atomic_store(&filling->ends, true);
        for (uint32_t i = 0; i < filling->helper_count; i++) {
            atomic_fetch_add(&filling->helpers[i].request->asked, 1);
            futex(&filling->helpers[i].request->asked, FUTEX_WAKE, INT_MAX);
        }
        for (uint32_t i = 0; i < filling->helper_count; i++)
            pthread_join(filling->helpers[i].thread, NULL);
        atomic_store(&filling->piece_next, filling->piece_count);
        if (filling->making)
            pthread_join(filling->maker, NULL);
        filling_free(filling);
        close(filler->fd);
    }
    *filler = FILLER_NONE;
}
