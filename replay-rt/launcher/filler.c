/* replay-rt/launcher/filler.c - see filler.h. */
#include "replay-rt/launcher/filler.h"

#include "core/host.h"

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILLER_BYTES_LEAST (1u << 20)        /* smaller than any last cache: the system does not know */
#define FILLER_BYTES_USUAL (32u << 20)
#define FILLER_BYTES_MOST (64u << 20)

enum { PIECE_BYTES = 1 << 18 };

struct filler filler_open(void)
{
    uint64_t bytes = host_largest_cache_bytes();
    int fd = memfd_create("pcere-filler", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, (off_t)(bytes < FILLER_BYTES_LEAST ? FILLER_BYTES_USUAL : bytes < FILLER_BYTES_MOST ? bytes : FILLER_BYTES_MOST))) {
        close(fd);
        return FILLER_NONE;
    }
    return (struct filler){.fd = fd};
}

bool filler_is_made(const struct filler *filler)
{
    struct stat about;
    return filler->fd >= 0 && !fstat(filler->fd, &about) && about.st_blocks;
}

/* By writing: what fallocate leaves behind is cleared, and mapped, one page at a time. */
static void *pages_make(void *context)
{
    static const char zeros[PIECE_BYTES];
    int fd = (int)(intptr_t)context;
    struct stat about;
    sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});          /* the first process looks at what each processor does */
    if (fstat(fd, &about))
        return NULL;
    for (off_t at = 0; at < about.st_size;) {
        size_t bytes = about.st_size - at < PIECE_BYTES ? (size_t)(about.st_size - at) : PIECE_BYTES;
        ssize_t written = pwrite(fd, zeros, bytes, at);
        if (written <= 0)
            return NULL;
        at += written;
    }
    return NULL;
}

void filler_make(struct filler *filler)
{
    sigset_t all, kept;
    if (filler->fd < 0 || filler->asked)
        return;
    filler->asked = true;
    sigfillset(&all);                    /* what interrupts a session is for its own thread */
    if (pthread_sigmask(SIG_BLOCK, &all, &kept))
        return;
    filler->making = !pthread_create(&filler->thread, NULL, pages_make, (void *)(intptr_t)filler->fd);
    pthread_sigmask(SIG_SETMASK, &kept, NULL);
}

void filler_close(struct filler *filler)
{
    if (filler->making)
        pthread_join(filler->thread, NULL);
    if (filler->fd >= 0) {
        (void)!ftruncate(filler->fd, 0);           /* also where a process that ends has it still */
        close(filler->fd);
    }
    *filler = FILLER_NONE;
}
