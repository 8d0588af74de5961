/* files.c - what the program had open where the region starts: descriptors, and streams (FILE) of the C library.
 *
 * Regular files are opened for reading; what the program wrote to is a file in memory, with its content. What the region prints is dropped.
 * A captured FILE keeps its buffer and positions, and borrows from a fresh one what belongs to this process's C library.
 */
#define _GNU_SOURCE
#include "codelet.h"
#include "region.h"
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *out, *messages;

/* ---- descriptors ------------------------------------------------------------------------------------------------------------------ */

enum source { THE_FILE, A_COPY, A_DEVICE, NOTHING, LOST };
static struct descriptor {
    int number, source, flags;
    const char *path;
    off_t offset, bytes;
    uint64_t changed_ns;                            /* 0: it does not matter whether it changed */
    size_t content_first, content_count;
    int master, store;                              /* what is put in its place; the file in memory behind that */
} descriptors[] = {
#define DESCRIPTOR(number, source, flags, path, offset, bytes, changed_ns, content_first, content_count) \
    {number, source, flags, path, offset, bytes, changed_ns, content_first, content_count, -1, -1},
    DESCRIPTORS(DESCRIPTOR)
    {.number = -1},
};
enum { ABOVE = HIGHEST_DESCRIPTOR < 256 ? 256 : HIGHEST_DESCRIPTOR + 1 };   /* descriptors of our own are there */
static bool kept[ABOVE];

static int raised(int file)
{
    int number = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, ABOVE);
    if (file >= 0)
        close(file);
    return number;
}

static void content_write(const struct descriptor *descriptor)
{
    bool good = !ftruncate(descriptor->store, 0) && !ftruncate(descriptor->store, descriptor->bytes);
    for (size_t i = 0; good && i < descriptor->content_count; i++) {
        const struct content *content = &contents[descriptor->content_first + i];
        size_t bytes = content->pages * PAGE_BYTES;
        good = pwrite(descriptor->store, content->bytes, bytes, content->offset) == (ssize_t)bytes;
    }
    if (!good || ftruncate(descriptor->store, descriptor->bytes))
        fprintf(messages, "codelet: no room for a copy of '%s'\n", descriptor->path);
}

static int file_open(const struct descriptor *descriptor)
{
    struct stat status;
    int file = open(descriptor->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (descriptor->flags & (O_DIRECTORY | O_NONBLOCK)));
    if (file < 0 || fstat(file, &status))
        fprintf(messages, "codelet: '%s', which the program had open: %s\n", descriptor->path, strerror(errno));
    else if (descriptor->changed_ns && ((uint64_t)status.st_mtim.tv_sec * 1000000000 + (uint64_t)status.st_mtim.tv_nsec != descriptor->changed_ns
                                        || status.st_size != descriptor->bytes))
        fprintf(messages, "codelet: '%s', which the program had open, has changed since\n", descriptor->path);
    return file;
}

static int copy_open(struct descriptor *descriptor)
{
    char path[40];
    descriptor->store = raised(memfd_create("codelet-file", MFD_CLOEXEC));
    content_write(descriptor);
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor->store);
    return open(path, (descriptor->flags & (O_ACCMODE | O_APPEND | O_NONBLOCK)) | O_CLOEXEC);
}

static void descriptor_open(struct descriptor *descriptor)
{
    int file = descriptor->source == THE_FILE   ? file_open(descriptor)
               : descriptor->source == A_COPY   ? copy_open(descriptor)
               : descriptor->source == A_DEVICE ? open(descriptor->path, (descriptor->flags & (O_ACCMODE | O_NONBLOCK)) | O_CLOEXEC) : -1;
    descriptor->master = raised(file >= 0 ? file : open("/dev/null", O_RDWR | O_CLOEXEC));
    kept[descriptor->number] = true;
}

static void descriptors_restore(void)
{
    for (int first = 0, next; first < ABOVE; first = next + 1) {    /* what the run before left open */
        for (next = first; next < ABOVE && !kept[next]; next++)
            ;
        if (next > first)
            close_range((unsigned)first, (unsigned)next - 1, 0);
    }
    for (struct descriptor *descriptor = descriptors; descriptor->number >= 0; descriptor++) {
        if (descriptor->store >= 0 && (descriptor->flags & O_ACCMODE) != O_RDONLY)
            content_write(descriptor);
        if (dup3(descriptor->master, descriptor->number, descriptor->flags & O_CLOEXEC) >= 0 && descriptor->source <= A_COPY)
            lseek(descriptor->number, descriptor->offset, SEEK_SET);
    }
}

/* ---- streams ------------------------------------------------------------------------------------------------------------------------ */

enum { STREAM_BYTES = sizeof(FILE) + sizeof(void *), LINKED = 0x80, NEEDS_LOCK = 0x80 };    /* a FILE, and the address of its table */
enum stream_kind { A_FILE, STDIN, STDOUT, STDERR };
static const struct stream { uint64_t address; int kind; const char *bytes; } streams[] = {
#define STREAM(address, kind, bytes) {address, kind, bytes},
    STREAMS(STREAM)
    {0, 0, NULL},
};
static struct { char *address, bytes[STREAM_BYTES]; } standard[4];

/* The captured words with the C library's own from another stream; that is never closed. */
static void stream_make(const struct stream *stream, const FILE *lender, char *ret_bytes)
{
    FILE words;
    int flags2;
    char *second = (char *)&words + offsetof(FILE, _fileno) + sizeof(int);     /* a bit-field in newer libraries */
    memcpy(&words, stream->bytes, sizeof words);
    words._flags &= ~LINKED;                        /* not in this library's list of streams */
    memcpy(&flags2, second, sizeof flags2);
    flags2 |= NEEDS_LOCK;
    memcpy(second, &flags2, sizeof flags2);
    words._chain = NULL;
    words._lock = lender->_lock;
    words._wide_data = lender->_wide_data;
    memcpy(ret_bytes, &words, sizeof words);
    memcpy(ret_bytes + sizeof words, lender + 1, sizeof(void *));
}

static const FILE *lender_open(void)
{
    FILE *lender = fopen("/dev/null", "r+e");
    close(fileno(lender));
    lender->_fileno = -1;
    return lender;
}

static void stream_adopt(const struct stream *stream, const FILE *lender)
{
    char bytes[STREAM_BYTES], others[STREAM_BYTES];
    stream_make(stream, lender, bytes);
    for (size_t i = 0; i < sizeof bytes; i++)       /* only what is another: the rest is compared */
        others[i] = (char)(bytes[i] ^ stream->bytes[i]);
    memory_patch(stream->address, bytes, others, sizeof bytes);
}

/* Its old address lies in the data of a C library that is not here, or was linked into the program. */
static void standard_adopt(const struct stream *stream)
{
    FILE **const names[] = {NULL, &stdin, &stdout, &stderr};
    char *start = (char *)(stream->address & ~(uint64_t)(PAGE_BYTES - 1)), *end = (char *)stream->address + STREAM_BYTES;
    if (is_captured((void *)stream->address)) {
        stream_adopt(stream, *names[stream->kind]);
        *names[stream->kind] = (FILE *)stream->address;
        return;
    }
    for (char *at = start; at < end; at += PAGE_BYTES) {
        bool ours = false;
        for (int i = STDIN; i <= STDERR; i++)
            ours |= standard[i].address && at < standard[i].address + STREAM_BYTES && at + PAGE_BYTES > standard[i].address;
        if (!ours && mmap(at, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != at)
            return;                                 /* this process's own serves, then */
    }
    stream_make(stream, *names[stream->kind], standard[stream->kind].bytes);
    standard[stream->kind].address = (char *)stream->address;
    *names[stream->kind] = (FILE *)stream->address;
}

static void standard_restore(void)
{
    for (int i = STDIN; i <= STDERR; i++)
        if (standard[i].address)
            memcpy(standard[i].address, standard[i].bytes, STREAM_BYTES);
}

/* ---- all ------------------------------------------------------------------------------------------------------------------------ */

void files_start(void)
{
    for (int i = 0; i < ABOVE; i++)
        kept[i] = i <= STDERR_FILENO || fcntl(i, F_GETFD) >= 0;
    if (DOES_IO && chdir(DIRECTORY))
        errno = 0;                                  /* it may be of another machine */
    for (struct descriptor *descriptor = descriptors; descriptor->number >= 0; descriptor++)
        descriptor_open(descriptor);
    fflush(stdout);
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    if (DOES_IO)
        dup2(nowhere, STDERR_FILENO);
    close(nowhere);
    for (const struct stream *stream = streams; stream->address; stream++)
        if (stream->kind == A_FILE)
            stream_adopt(stream, lender_open());
        else
            standard_adopt(stream);
    standard_restore();
}

void files_restore(void)
{
    if (DOES_IO)
        descriptors_restore();
    standard_restore();
}

void out_open(void)
{
    out = fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, ABOVE), "w");
    messages = fdopen(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, ABOVE), "w");
    setvbuf(messages, NULL, _IONBF, 0);
}
