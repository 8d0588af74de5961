/* trace/view_output.c - where a view's pieces go: one writer's straight to its file, several writers' in turns that do not depend on their speed. */
#include "trace/view.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

void view_turns_init(struct view_turns *turns, FILE *file, unsigned count)
{
    struct stat facts;
    *turns = (struct view_turns){.descriptor = fileno(file), .count = count};
    pthread_mutex_init(&turns->lock, NULL);
    pthread_cond_init(&turns->changed, NULL);
    turns->offset = lseek(turns->descriptor, 0, SEEK_CUR);
    turns->seekable = turns->offset >= 0 && fstat(turns->descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && !(fcntl(turns->descriptor, F_GETFL) & O_APPEND);
}

void view_turns_done(struct view_turns *turns, FILE *file)
{
    if (turns->seekable)
        fseeko(file, turns->offset, SEEK_SET);
    pthread_mutex_destroy(&turns->lock);
    pthread_cond_destroy(&turns->changed);
}

/* offset -1: behind what was written before. */
static bool all_written(int descriptor, const char *data, size_t bytes, off_t offset)
{
    while (bytes) {
        ssize_t count = offset < 0 ? write(descriptor, data, bytes) : pwrite(descriptor, data, bytes, offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        data += count;
        bytes -= (size_t)count;
        offset += offset < 0 ? 0 : (off_t)count;
    }
    return true;
}

static void turn_pass(struct view_turns *turns)
{
    for (unsigned i = 0; i < turns->count; i++) {
        turns->turn = (turns->turn + 1) % turns->count;
        if (!turns->over[turns->turn])
            break;
    }
    pthread_cond_broadcast(&turns->changed);
}

static void piece_write(struct view_output *output, bool last)
{
    struct view_turns *turns = output->turns;
    pthread_mutex_lock(&turns->lock);
    while (turns->turn != output->writer)
        pthread_cond_wait(&turns->changed, &turns->lock);
    off_t offset = turns->offset;
    bool written = !turns->failed_errno;
    turns->offset += (off_t)output->used;
    if (written && !turns->seekable && !all_written(turns->descriptor, output->buffer, output->used, -1)) {
        turns->failed_errno = errno ? errno : EIO;
        written = false;
    }
    turns->over[output->writer] |= last;
    turn_pass(turns);
    pthread_mutex_unlock(&turns->lock);
    if (written && turns->seekable && !all_written(turns->descriptor, output->buffer, output->used, offset)) {
        int errnum = errno ? errno : EIO;
        pthread_mutex_lock(&turns->lock);
        turns->failed_errno = errnum;
        pthread_mutex_unlock(&turns->lock);
        written = false;
    }
    output->failed |= !written;
}

void view_turns_leave(struct view_output *output)
{
    piece_write(output, true);
    output->used = 0;
}

void view_flush(struct view_output *output)
{
    if (output->used && output->turns)
        piece_write(output, false);
    else if (output->used && fwrite(output->buffer, 1, output->used, output->file) != output->used)
        output->failed = true;
    output->used = 0;
}
