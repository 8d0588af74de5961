#include "capture-rt/tracer/files.h"

#include "core/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define DESCRIPTORS_MOST 4096u
#define STREAMS_MOST 4096u
#define NS 1000000000u
#define SETTLE_TRIES 20

/* ---- descriptors ----------------------------------------------------------------------------------------------------------- */

static uint64_t time_ns(struct timespec time) { return time.tv_sec < 0 ? 0 : (uint64_t)time.tv_sec * NS + (uint64_t)time.tv_nsec; }

static uint32_t kind_of(const struct stat *status)
{
    unsigned int number = major(status->st_rdev);
    switch (status->st_mode & S_IFMT) {
    case S_IFREG: return STORE_DESCRIPTOR_FILE;
    case S_IFDIR: return STORE_DESCRIPTOR_DIRECTORY;
    case S_IFIFO: return STORE_DESCRIPTOR_PIPE;
    case S_IFSOCK: return STORE_DESCRIPTOR_SOCKET;
    case S_IFCHR: return number == 4 || number == 5 || (number >= 136 && number <= 143) ? STORE_DESCRIPTOR_TERMINAL : STORE_DESCRIPTOR_DEVICE;
    default: return S_ISBLK(status->st_mode) ? STORE_DESCRIPTOR_DEVICE : STORE_DESCRIPTOR_OTHER;
    }
}

/* The process's folders, open for as long as it is looked at: a path through /proc is dearer than what it leads to. */
struct folders { pid_t pid; int descriptors, information; };

/* Lines of a small file of /proc; empty where there is none. */
static void lines_read(int folder, const char *name, char *lines, size_t bytes)
{
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, lines, bytes - 1) : -1;
    if (file >= 0)
        close(file);
    lines[got > 0 ? got : 0] = '\0';
}

/* What follows a line's first word. */
static bool line_value(const char *lines, const char *word, int base, uint64_t *ret_value)
{
    size_t length = strlen(word);
    while (*lines && strncmp(lines, word, length) != 0) {
        lines += strcspn(lines, "\n");
        lines += *lines == '\n';
    }
    char *end = NULL;
    uint64_t value = *lines ? strtoull(lines + length, &end, base) : 0;
    if (!end || end == lines + length)
        return false;
    *ret_value = value;
    return true;
}

static void information_read(const struct folders *folders, const char *number, struct store_descriptor *descriptor)
{
    char lines[512];
    uint64_t value;
    lines_read(folders->information, number, lines, sizeof lines);
    if (line_value(lines, "pos:", 10, &value) && value <= INT64_MAX)
        descriptor->offset = value;
    if (line_value(lines, "flags:", 8, &value))
        descriptor->flags = (uint32_t)value;
}

static void path_read(const struct folders *folders, const char *number, nlink_t links, struct store_descriptor *descriptor)
{
    static const char deleted[] = " (deleted)";
    ssize_t length = readlinkat(folders->descriptors, number, descriptor->path, sizeof descriptor->path - 1);
    if (length < 0 || length >= (ssize_t)sizeof descriptor->path - 1 || descriptor->path[0] != '/')
        length = 0;
    memset(descriptor->path + length, 0, sizeof descriptor->path - (size_t)length);
    if (descriptor->kind != STORE_DESCRIPTOR_FILE || links > 0)
        return;
    descriptor->marks |= STORE_DESCRIPTOR_DELETED;
    size_t tail = sizeof deleted - 1, whole = (size_t)length;
    if (whole > tail && strcmp(descriptor->path + whole - tail, deleted) == 0)
        memset(descriptor->path + whole - tail, 0, tail);
}

/* The process's own open file is asked: sockets and anonymous pipes cannot be opened by a path. */
static uint64_t waiting_bytes(pid_t pid, int number, uint32_t kind)
{
    if (kind != STORE_DESCRIPTOR_PIPE && kind != STORE_DESCRIPTOR_SOCKET && kind != STORE_DESCRIPTOR_TERMINAL)
        return 0;
    int process = (int)syscall(SYS_pidfd_open, pid, 0), bytes = 0;
    int copy = process >= 0 ? (int)syscall(SYS_pidfd_getfd, process, number, 0) : -1;
    if (copy < 0 || ioctl(copy, FIONREAD, &bytes) != 0 || bytes < 0)
        bytes = 0;
    if (copy >= 0)
        close(copy);
    if (process >= 0)
        close(process);
    return (uint64_t)bytes;
}

/* Inherited, and not opened anew under its number since. */
static bool is_shared(pid_t pid, int number)
{
    return syscall(SYS_kcmp, getpid(), pid, KCMP_FILE, (unsigned long)number, (unsigned long)number) == 0;
}

static bool descriptor_add(const struct folders *folders, int number, struct files *files)
{
    char name[16];
    struct stat status;
    snprintf(name, sizeof name, "%d", number);
    if (fstatat(folders->descriptors, name, &status, 0) != 0 || files->count == DESCRIPTORS_MOST)
        return true;
    if (!array_reserve(&files->descriptors, &files->capacity, files->count + 1, sizeof *files->descriptors) ||
        !array_reserve(&files->facts, &files->fact_capacity, files->count + 1, sizeof *files->facts))
        return false;
    struct store_descriptor *descriptor = &files->descriptors[files->count];
    *descriptor = (struct store_descriptor){.number = number, .kind = kind_of(&status), .changed_ns = time_ns(status.st_mtim)};
    if (descriptor->kind == STORE_DESCRIPTOR_FILE && status.st_size > 0)
        descriptor->bytes = (uint64_t)status.st_size;
    information_read(folders, name, descriptor);
    path_read(folders, name, status.st_nlink, descriptor);
    files->facts[files->count++] = (struct file_facts){status.st_dev, status.st_ino, time_ns(status.st_atim), time_ns(status.st_mtim),
                                                         waiting_bytes(folders->pid, number, descriptor->kind), is_shared(folders->pid, number)};
    return true;
}

/* Where names of files begin that the region opens: the program may have gone elsewhere since it began. */
static bool folder_add(pid_t pid, struct files *files)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    struct folders folders = {.descriptors = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)};
    if (folders.descriptors < 0)
        return true;
    bool enough = array_reserve(&files->descriptors, &files->capacity, 1, sizeof *files->descriptors) &&
                  array_reserve(&files->facts, &files->fact_capacity, 1, sizeof *files->facts);
    if (enough) {
        files->descriptors[0] = (struct store_descriptor){.number = STORE_DESCRIPTOR_FOLDER, .kind = STORE_DESCRIPTOR_DIRECTORY};
        files->facts[0] = (struct file_facts){0};
        path_read(&folders, "cwd", 1, &files->descriptors[0]);
        files->count = files->descriptors[0].path[0] != '\0';
    }
    close(folders.descriptors);
    return enough;
}

static int number_compare(const void *left, const void *right)
{
    const int *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* The target closes what it sent to us as soon as it is on its way, which may be later than now. */
static bool is_tracking(const struct folders *folders, const char *number, uint32_t sent)
{
    static const char name[] = "anon_inode:[userfaultfd]";
    char words[sizeof name] = "";
    if (!sent || (uint32_t)atoi(number) != sent - 1)
        return false;
    return readlinkat(folders->descriptors, number, words, sizeof words) == (ssize_t)sizeof name - 1 && memcmp(words, name, sizeof name - 1) == 0;
}

static bool descriptors_read(pid_t pid, int own, uint32_t sent, struct files *files)
{
    char path[64];
    int *numbers = NULL;
    size_t count = 0, capacity = 0;
    bool enough = true;
    snprintf(path, sizeof path, "/proc/%d/fdinfo", (int)pid);
    struct folders folders = {.pid = pid, .information = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)};
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    folders.descriptors = folder ? dirfd(folder) : -1;
    for (const struct dirent *entry; enough && folder && (entry = readdir(folder)) != NULL;) {
        char *end;
        long number = strtol(entry->d_name, &end, 10);
        if (end == entry->d_name || *end || number < 0 || number > INT32_MAX || number == own ||
            is_tracking(&folders, entry->d_name, sent))
            continue;
        enough = array_reserve(&numbers, &capacity, count + 1, sizeof *numbers);
        if (enough)
            numbers[count++] = (int)number;
    }
    if (count)
        qsort(numbers, count, sizeof *numbers, number_compare);
    for (size_t i = 0; enough && i < count; i++)
        enough = descriptor_add(&folders, numbers[i], files);
    if (folder)
        closedir(folder);
    if (folders.information >= 0)
        close(folders.information);
    free(numbers);
    return enough;
}

static void counters_read(pid_t pid, struct files *files)
{
    char path[64], lines[512];
    snprintf(path, sizeof path, "/proc/%d/io", (int)pid);
    lines_read(AT_FDCWD, path, lines, sizeof lines);
    line_value(lines, "rchar:", 10, &files->read_bytes);
    line_value(lines, "wchar:", 10, &files->written_bytes);
}

/* ---- streams --------------------------------------------------------------------------------------------------------------- */

_Static_assert(STORE_STREAM_BYTES == sizeof(FILE) + sizeof(uint64_t), "a stream is a FILE and the address of its table");

static bool memory_read(pid_t pid, uint64_t address, void *to, size_t bytes)
{
    struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)address, bytes};
    return address && process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

static FILE stream_words(const struct store_stream *stream)
{
    FILE words;
    memcpy(&words, stream->bytes, sizeof words);
    return words;
}

static uint64_t stream_table(const struct store_stream *stream)
{
    uint64_t table;
    memcpy(&table, stream->bytes + sizeof(FILE), sizeof table);
    return table;
}

#define STREAM_MAGIC 0xfbad0000u
#define STREAM_MAGIC_MASK 0xffff0000u

static bool foreign_add(pid_t pid, const struct store_stream *stream, struct files *files)
{
    const FILE words = stream_words(stream);
    for (size_t i = 0; i < files->foreign_count; i++)
        if (files->foreign[i].address == stream->address)
            return true;
    if (((uint32_t)words._flags & STREAM_MAGIC_MASK) != STREAM_MAGIC)
        return true;
    if (!array_reserve(&files->foreign, &files->foreign_capacity, files->foreign_count + 1, sizeof *files->foreign))
        return false;
    struct file_foreign *foreign = &files->foreign[files->foreign_count++];
    *foreign = (struct file_foreign){.address = stream->address, .descriptor = words._fileno, .wide = words._mode > 0};
    memcpy(foreign->bytes, stream->bytes, sizeof foreign->bytes);
    if (foreign->wide)
        memory_read(pid, (uintptr_t)words._wide_data, foreign->wide_words, sizeof foreign->wide_words);
    return true;
}

static bool has_plain_table(const struct store_stream *stream, const struct capture_log *log)
{
    return stream_table(stream) == log->stream_tables[0] || stream_table(stream) == log->stream_tables[1];
}

/* Streams that write to growing memory are on no list. One that was closed may be anything by now, but for a stream. */
static bool memory_streams_read(pid_t pid, const struct capture_log *log, struct files *files)
{
    for (uint32_t i = 0; i < CAPTURE_MEMORY_STREAMS; i++) {
        struct store_stream stream = {.address = log->memory_streams[i]};
        if (memory_read(pid, stream.address, stream.bytes, sizeof stream.bytes) && !has_plain_table(&stream, log)
            && !foreign_add(pid, &stream, files))
            return false;
    }
    return true;
}

/* Streams into memory or of the program's own making (fmemopen, fopencookie) have other tables. */
static bool streams_read(pid_t pid, const struct capture_log *log, struct files *files)
{
    uint64_t at = 0;
    memory_read(pid, log->stream_list, &at, sizeof at);
    for (uint32_t seen = 0; at && seen < STREAMS_MOST; seen++) {
        struct store_stream stream = {.address = at};
        if (!memory_read(pid, at, stream.bytes, sizeof stream.bytes))
            break;
        const FILE words = stream_words(&stream);
        stream.descriptor = words._fileno;
        for (uint32_t i = 0; i < 3; i++)
            if (at == log->standard_streams[i])
                stream.kind = STORE_STREAM_STDIN + i;
        bool plain = has_plain_table(&stream, log) && words._mode <= 0;
        if (!plain && !foreign_add(pid, &stream, files))
            return false;
        if (plain && !array_reserve(&files->streams, &files->stream_capacity, files->stream_count + 1, sizeof *files->streams))
            return false;
        if (plain)
            files->streams[files->stream_count++] = stream;
        at = (uint64_t)(uintptr_t)words._chain;
    }
    return memory_streams_read(pid, log, files);
}

enum pcere_status files_read(pid_t pid, const struct capture_log *log, int own, struct files *ret_files, struct pcere_error *error)
{
    struct files files = {0};
    if (!folder_add(pid, &files) || !descriptors_read(pid, own, log->stop.tracking_sent, &files) || !streams_read(pid, log, &files)) {
        files_done(&files);
        return pcere_fail_memory(error, "the list of open files");
    }
    counters_read(pid, &files);
    struct timespec now;
    files.stamped_ns = clock_gettime(CLOCK_REALTIME_COARSE, &now) ? 0 : time_ns(now);
    *ret_files = files;
    return PCERE_OK;
}

void files_done(struct files *files)
{
    free(files->descriptors);
    free(files->facts);
    free(files->streams);
    free(files->foreign);
    *files = (struct files){0};
}

/* The kernel stamps pipes with a clock that ticks every few milliseconds. */
void files_settle(const struct files *before)
{
    uint64_t last_ns = 0;
    struct timespec now;
    for (size_t i = 0; i < before->count; i++)
        if (before->descriptors[i].kind == STORE_DESCRIPTOR_PIPE && before->facts[i].read_ns > last_ns)
            last_ns = before->facts[i].read_ns;
    for (int i = 0; i < SETTLE_TRIES && !clock_gettime(CLOCK_REALTIME_COARSE, &now) && time_ns(now) == last_ns; i++)
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
}

/* ---- before against after -------------------------------------------------------------------------------------------------- */

static struct store_descriptor *descriptor_find(struct files *files, int32_t number)
{
    for (size_t i = 0; i < files->count; i++)
        if (files->descriptors[i].number == number)
            return &files->descriptors[i];
    return NULL;
}

/* By a region that read, or wrote, so many bytes of whatever files. Where others may have moved the position as well, it did not if it went farther. */
static bool position_tells(const struct store_descriptor *before, const struct store_descriptor *after, bool shared, uint64_t bytes)
{
    return bytes > 0 && before->offset != after->offset && (!shared || after->offset - before->offset <= bytes);
}

static uint32_t marks_of_file(const struct store_descriptor *before, const struct store_descriptor *after, bool shared, uint64_t read_bytes, uint64_t written_bytes)
{
    uint32_t access = before->flags & O_ACCMODE, marks = 0;
    if (access != O_WRONLY && position_tells(before, after, shared, read_bytes))
        marks |= STORE_DESCRIPTOR_READ;
    if (access != O_RDONLY && position_tells(before, after, shared, written_bytes))
        marks |= STORE_DESCRIPTOR_WRITTEN;
    return marks;
}

/* Of what has no position. Newer kernels keep no times of pipes, and what a socket received is not counted among what was read. */
static uint32_t marks_of_channel(const struct store_descriptor *before, const struct file_facts *facts, const struct file_facts *then, bool read,
                                 bool written)
{
    uint32_t access = before->flags & O_ACCMODE, marks = 0;
    bool pipe = before->kind == STORE_DESCRIPTOR_PIPE;
    if (access != O_WRONLY && (facts->waiting_bytes > then->waiting_bytes || (pipe && read && facts->read_ns != then->read_ns)))
        marks |= STORE_DESCRIPTOR_READ;
    if (access != O_RDONLY && pipe && written && (facts->waiting_bytes < then->waiting_bytes || facts->written_ns != then->written_ns))
        marks |= STORE_DESCRIPTOR_WRITTEN;
    return marks;
}

#define STREAM_PUTTING 0x0800u            /* what the C library calls _IO_CURRENTLY_PUTTING: it was written last. Reading sets the ends of what is to be written as well */

static bool stream_is_written(const FILE *was, const FILE *is)
{
    bool putting = ((uint32_t)was->_flags | (uint32_t)is->_flags) & STREAM_PUTTING;
    return putting && (was->_IO_write_ptr != is->_IO_write_ptr || was->_IO_write_base != is->_IO_write_base);
}

/* A stream tells more than its descriptor: what it only buffered, and that it was filled again from what has no position. */
static void stream_compare(struct files *before, const struct store_stream *old, const struct store_stream *new, bool read)
{
    struct store_descriptor *descriptor = descriptor_find(before, old->descriptor);
    const FILE was = stream_words(old), is = stream_words(new);
    if (!descriptor)
        return;
    uint32_t access = descriptor->flags & O_ACCMODE;
    bool writes = access != O_RDONLY && stream_is_written(&was, &is);
    if (writes)
        descriptor->marks |= STORE_DESCRIPTOR_WRITTEN;
    if (writes || access == O_WRONLY || descriptor->number == STDOUT_FILENO || descriptor->number == STDERR_FILENO)
        return;
    if (descriptor->kind == STORE_DESCRIPTOR_FILE ? was._IO_read_ptr != is._IO_read_ptr : read && was._IO_read_end != is._IO_read_end && is._IO_read_end != is._IO_read_base)
        descriptor->marks |= STORE_DESCRIPTOR_READ;
}

static bool foreign_is_used(const struct file_foreign *before, const struct files *after)
{
    FILE was, is;
    memcpy(&was, before->bytes, sizeof was);
    for (size_t i = 0; i < after->foreign_count; i++)
        if (after->foreign[i].address == before->address) {
            memcpy(&is, after->foreign[i].bytes, sizeof is);
            return was._IO_read_ptr != is._IO_read_ptr || was._IO_read_end != is._IO_read_end || was._IO_write_base != is._IO_write_base
                   || was._IO_write_ptr != is._IO_write_ptr || was._IO_buf_base != is._IO_buf_base
                   || memcmp(before->wide_words, after->foreign[i].wide_words, sizeof before->wide_words) != 0;
        }
    return true;                      /* closed */
}

/* A stream that the region itself made wide is one in the replay as well, and yet not as it was: their words are no plain stream's. */
static void foreign_compare(struct files *before, const struct files *after)
{
    for (size_t i = 0; i < before->foreign_count && !before->used.address; i++)
        if (foreign_is_used(&before->foreign[i], after))
            before->used = before->foreign[i];
    for (size_t i = 0; i < after->foreign_count && !before->used.address; i++)
        for (size_t j = 0; j < before->stream_count && !before->used.address; j++)
            if (after->foreign[i].wide && before->streams[j].address == after->foreign[i].address)
                before->used = after->foreign[i];
}

/* How many bytes positions of files went on by that were read. The rest was read at places of their own (pread), or from what was opened meanwhile. */
static uint64_t positions_passed(const struct files *before, const struct files *after)
{
    uint64_t passed = 0;
    for (size_t i = 0, j = 0; i < before->count; i++) {
        const struct store_descriptor *descriptor = &before->descriptors[i];
        while (j < after->count && after->descriptors[j].number < descriptor->number)
            j++;
        if (descriptor->kind == STORE_DESCRIPTOR_FILE && descriptor->marks & STORE_DESCRIPTOR_READ && j < after->count &&
            after->descriptors[j].number == descriptor->number && after->descriptors[j].offset > descriptor->offset)
            passed += after->descriptors[j].offset - descriptor->offset;
    }
    return passed;
}

/* Was anything open before that the region may have read from, wherever its position is? Of what has none, no replay has what was read anyway. */
static bool was_readable(const struct files *before)
{
    for (size_t i = 0; i < before->count; i++) {
        const struct store_descriptor *descriptor = &before->descriptors[i];
        bool gives = descriptor->kind == STORE_DESCRIPTOR_FILE || (descriptor->kind == STORE_DESCRIPTOR_DEVICE && strcmp(descriptor->path, "/dev/null") != 0);
        if (gives && (descriptor->flags & O_ACCMODE) != O_WRONLY)
            return true;
    }
    return false;
}

void files_compare(struct files *before, const struct files *after)
{
    uint64_t read_bytes = after->read_bytes - before->read_bytes, written_bytes = after->written_bytes - before->written_bytes;
    bool read = read_bytes > 0, written = written_bytes > 0;
    for (size_t i = 0, j = 0; i < before->count; i++) {
        struct store_descriptor *descriptor = &before->descriptors[i];
        const struct file_facts *facts = &before->facts[i];
        while (j < after->count && after->descriptors[j].number < descriptor->number)
            j++;
        if (j == after->count || after->descriptors[j].number != descriptor->number || after->facts[j].device != facts->device ||
            after->facts[j].inode != facts->inode)
            continue;
        if (descriptor->kind == STORE_DESCRIPTOR_FILE)
            descriptor->marks |= marks_of_file(descriptor, &after->descriptors[j], facts->shared, read_bytes, written_bytes);
        else
            descriptor->marks |= marks_of_channel(descriptor, facts, &after->facts[j], read, written);
    }
    before->read_elsewhere = read_bytes > positions_passed(before, after);
    for (size_t i = 0; i < before->stream_count; i++)
        for (size_t j = 0; j < after->stream_count; j++)
            if (before->streams[i].address == after->streams[j].address && before->streams[i].descriptor == after->streams[j].descriptor)
                stream_compare(before, &before->streams[i], &after->streams[j], read);
    foreign_compare(before, after);
    before->read_opened = before->read_elsewhere && !was_readable(before);
}

/* ---- in words -------------------------------------------------------------------------------------------------------------- */

static void name_add(struct text *text, const struct store_descriptor *descriptor)
{
    static const char *const kinds[] = {
        [STORE_DESCRIPTOR_FILE] = "a file",         [STORE_DESCRIPTOR_DIRECTORY] = "a directory", [STORE_DESCRIPTOR_PIPE] = "a pipe",
        [STORE_DESCRIPTOR_SOCKET] = "a socket",     [STORE_DESCRIPTOR_TERMINAL] = "a terminal",   [STORE_DESCRIPTOR_DEVICE] = "a device",
        [STORE_DESCRIPTOR_OTHER] = "something",
    };
    static const char *const standard[] = {"standard input", "standard output", "standard error"};
    const char *slash = strrchr(descriptor->path, '/');
    if (descriptor->number >= 0 && descriptor->number <= 2)
        text_add(text, standard[descriptor->number]);
    else if (descriptor->kind == STORE_DESCRIPTOR_FILE && slash && !(descriptor->marks & STORE_DESCRIPTOR_DELETED))
        text_add(text, slash + 1);
    else
        text_addf(text, "%s (descriptor %d)", kinds[descriptor->kind], descriptor->number);
}

static size_t names_add(struct text *text, const struct files *files, uint32_t mark, const char *verb)
{
    size_t found = 0;
    for (size_t i = 0; i < files->count; i++) {
        const struct store_descriptor *descriptor = &files->descriptors[i];
        bool told = false;                /* under another number */
        for (size_t j = 0; j < i && !told; j++)
            told = files->descriptors[j].marks & mark && descriptor->path[0] == '/' && !strcmp(files->descriptors[j].path, descriptor->path);
        if (!(descriptor->marks & mark) || told)
            continue;
        text_addf(text, "%s%s", found ? ", " : text->length ? "; " : "", found ? "" : verb);
        name_add(text, descriptor);
        found++;
    }
    return found;
}

enum pcere_status files_words(const struct files *before, const struct files *after, char **ret_words, struct pcere_error *error)
{
    struct text text = {0};
    uint64_t read_bytes = after->read_bytes - before->read_bytes, written_bytes = after->written_bytes - before->written_bytes;
    if (!names_add(&text, before, STORE_DESCRIPTOR_READ, "reads ") && read_bytes)
        text_addf(&text, "reads %" PRIu64 " byte%s", read_bytes, read_bytes == 1 ? "" : "s");
    if (!names_add(&text, before, STORE_DESCRIPTOR_WRITTEN, "writes ") && written_bytes)
        text_addf(&text, "%swrites %" PRIu64 " byte%s", text.length ? "; " : "", written_bytes, written_bytes == 1 ? "" : "s");
    if (text.length == 0) {
        text_done(&text);
        *ret_words = NULL;
        return PCERE_OK;
    }
    char *words = text_take(&text);
    if (!words)
        return pcere_fail_memory(error, "what a region reads and writes");
    *ret_words = words;
    return PCERE_OK;
}

/* Such streams keep addresses of the C library's own data, which a replay's library has elsewhere. */
static enum pcere_status foreign_obstacle(const struct files *before, char **ret_reason, struct pcere_error *error)
{
    *ret_reason = NULL;
    if (!before->used.address)
        return PCERE_OK;
    struct text text = {0};
    if (before->used.wide && before->used.descriptor >= 0)
        text_addf(&text, "it uses a stream of wide characters (descriptor %d), which no replay can have", before->used.descriptor);
    else
        text_add(&text, "it uses a stream in memory, or one of the program's own making (fmemopen, open_memstream, fopencookie), which no replay can have");
    *ret_reason = text_take(&text);
    return *ret_reason ? PCERE_OK : pcere_fail_memory(error, "a reason");
}

enum pcere_status files_obstacle(const struct files *before, char **ret_reason, struct pcere_error *error)
{
    for (size_t i = 0; i < before->count; i++) {
        const struct store_descriptor *descriptor = &before->descriptors[i];
        uint32_t kind = descriptor->kind;
        bool lost = kind == STORE_DESCRIPTOR_PIPE || kind == STORE_DESCRIPTOR_SOCKET || kind == STORE_DESCRIPTOR_TERMINAL || kind == STORE_DESCRIPTOR_OTHER;
        if (!lost || !(descriptor->marks & STORE_DESCRIPTOR_READ))
            continue;
        struct text text = {0};
        text_add(&text, "it reads from ");
        name_add(&text, descriptor);
        text_add(&text, ", and what came from there is not in the capture");
        *ret_reason = text_take(&text);
        return *ret_reason ? PCERE_OK : pcere_fail_memory(error, "a reason");
    }
    return foreign_obstacle(before, ret_reason, error);
}

/* ---- contents -------------------------------------------------------------------------------------------------------------- */

static bool wants_content(const struct files *files, const struct store_descriptor *descriptor, bool changing)
{
    bool reads = (descriptor->flags & O_ACCMODE) == O_RDWR || (descriptor->flags & O_ACCMODE) == O_RDONLY;
    bool may_change = (descriptor->flags & O_ACCMODE) == O_RDWR;
    if (descriptor->kind != STORE_DESCRIPTOR_FILE || !reads || descriptor->marks & STORE_DESCRIPTOR_CONTENT || descriptor->number == 1 ||
        descriptor->number == 2 || descriptor->bytes > FILES_CONTENT_BYTES_MOST)
        return false;
    return changing ? may_change : !may_change && (files->read_elsewhere || descriptor->marks & STORE_DESCRIPTOR_READ);
}

static enum pcere_status content_read(pid_t pid, const struct store_descriptor *descriptor, unsigned char *to, struct pcere_error *error)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)pid, descriptor->number);
    int file = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    uint64_t done = 0;
    ssize_t got = 1;
    while (file >= 0 && done < descriptor->bytes && got > 0)
        if ((got = pread(file, to + done, descriptor->bytes - done, (off_t)done)) > 0)
            done += (uint64_t)got;
    int cause = errno;
    if (file >= 0)
        close(file);
    return done == descriptor->bytes ? PCERE_OK : pcere_fail(error, PCERE_NO, cause, NULL, "cannot read descriptor %d", descriptor->number);
}

static enum pcere_status content_store(const unsigned char *data, uint64_t pages, struct store_writer *writer, uint64_t page_bytes,
                                       struct store_run **runs, size_t *run_count, size_t *run_capacity, struct pcere_error *error)
{
    uint64_t *numbers = calloc(pages, sizeof *numbers);
    size_t first = *run_count;
    enum pcere_status status = numbers ? store_writer_pages(writer, data, pages, numbers, error) : pcere_fail_memory(error, "a file's content");
    for (uint64_t i = 0; status == PCERE_OK && i < pages; i++) {
        struct store_run *last = *run_count > first ? &(*runs)[*run_count - 1] : NULL;
        bool next = last && numbers[i] == (last->page == STORE_PAGE_ZERO ? STORE_PAGE_ZERO : last->page + last->count);
        if (next)
            last->count++;
        else if (array_reserve(runs, run_capacity, *run_count + 1, sizeof **runs))
            (*runs)[(*run_count)++] = (struct store_run){i * page_bytes, numbers[i], 1};
        else
            status = pcere_fail_memory(error, "a file's content");
    }
    free(numbers);
    return status;
}

enum pcere_status files_contents(pid_t pid, struct files *files, bool changing, struct store_writer *writer, uint64_t page_bytes,
                                 struct store_run **runs, size_t *run_count, size_t *run_capacity, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; status == PCERE_OK && i < files->count; i++) {
        struct store_descriptor *descriptor = &files->descriptors[i];
        if (!wants_content(files, descriptor, changing))
            continue;
        uint64_t pages = (descriptor->bytes + page_bytes - 1) / page_bytes;
        unsigned char *data = calloc(pages + 1, page_bytes);
        if (!data)
            return pcere_fail_memory(error, "a file's content");
        size_t first = *run_count;
        bool whole = content_read(pid, descriptor, data, NULL) == PCERE_OK;
        if (whole && pages)
            status = content_store(data, pages, writer, page_bytes, runs, run_count, run_capacity, error);
        free(data);
        if (!whole || status != PCERE_OK)
            continue;
        descriptor->marks |= STORE_DESCRIPTOR_CONTENT;
        descriptor->content_first = first;
        descriptor->content_count = *run_count - first;
    }
    return status;
}

void files_move(struct files *files, struct store_codelet *codelet)
{
    size_t kept = 0;
    for (size_t i = 0; i < files->count; i++)
        if (files->descriptors[i].number != STDOUT_FILENO && files->descriptors[i].number != STDERR_FILENO)
            files->descriptors[kept++] = files->descriptors[i];
    codelet->descriptors = files->descriptors;
    codelet->descriptor_count = kept;
    codelet->streams = files->streams;
    codelet->stream_count = files->stream_count;
    files->descriptors = NULL;
    files->streams = NULL;
    files_done(files);
}
