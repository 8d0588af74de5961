/* replay-rt/target/files.c - the descriptors that the program had: opened once, put back in their places before each run.
 *
 *   3   4   5  ..  highest captured | base ..                          masters, the pages file, /proc/self/pagemap
 *   `- as captured, dup3 of a master
 *
 * The user's files are opened for reading only. What the program had open for writing is a file in memory.
 */
#include "replay-rt/target/codelet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BASE_LEAST = 256, ROOM = 256, NUMBERS_MOST = 1 << 20 };

int pcere_messages = STDERR_FILENO;

static struct {
    int base;                         /* captured descriptors are below */
    bool *kept;                       /* by number: not the program's, and left alone */
    int *masters;                     /* by descriptor of the plan: what is put in its place, or -1 */
    int *stores;                      /* the files in memory behind them, or -1 */
} files = {.base = BASE_LEAST};

int pcere_descriptor_raise(int descriptor)
{
    if (descriptor < 0)
        return -1;
    int raised = fcntl(descriptor, F_DUPFD_CLOEXEC, files.base);
    if (raised < 0)
        return descriptor;
    close(descriptor);
    return raised;
}

void pcere_files_begin(const struct codelet *codelet)
{
    const struct plan_descriptor *descriptors = PLAN_TABLE(codelet, descriptors, struct plan_descriptor);
    uint64_t count = codelet->plan->descriptors.count;
    int highest = count ? descriptors[count - 1].number : 0;
    if (highest >= files.base)
        files.base = highest < NUMBERS_MOST ? highest + 1 : NUMBERS_MOST;
    struct rlimit limit;
    rlim_t wanted = (rlim_t)files.base + count * 2 + ROOM;
    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* ---- opening --------------------------------------------------------------------------------------------------------------- */

static bool content_write(const struct codelet *codelet, const struct plan_descriptor *descriptor, int file)
{
    const struct plan_copy *contents = PLAN_TABLE(codelet, contents, struct plan_copy);
    bool good = !ftruncate(file, 0);
    for (uint64_t i = 0; good && i < descriptor->content_count; i++) {
        const struct plan_copy *copy = &contents[descriptor->content_first + i];
        uint64_t bytes = copy->pages * codelet->plan->page_bytes;
        good = copy->zero || pwrite(file, codelet->pages + copy->source, bytes, (off_t)copy->address) == (ssize_t)bytes;
    }
    return good && !ftruncate(file, (off_t)descriptor->bytes);
}

static int opened_again(int file, uint32_t flags)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return open(path, (int)(flags & (O_ACCMODE | O_APPEND | O_NONBLOCK)) | O_CLOEXEC);
}

static int file_open(const struct plan_descriptor *descriptor, const char *path, struct lost_descriptor *lost)
{
    struct stat status;
    int file = open(path, (int)(descriptor->flags & (O_DIRECTORY | O_NONBLOCK)) | O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0 || fstat(file, &status)) {
        snprintf(lost->what, sizeof lost->what, "'%.150s', which cannot be opened (%s)", path, strerror(errno));
        return file;
    }
    uint64_t changed_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
    if (descriptor->changed_ns && (changed_ns != descriptor->changed_ns || (uint64_t)status.st_size != descriptor->bytes))
        snprintf(lost->what, sizeof lost->what, "'%.180s', " PLAN_CHANGED, path);
    return file;
}

static bool is_read(const struct plan_descriptor *descriptor) { return (descriptor->flags & O_ACCMODE) != O_WRONLY; }

/* What takes the place of descriptor number i; words in `lost` for what it cannot do. */
static void master_open(struct codelet *codelet, uint64_t i, struct lost_descriptor *lost)
{
    const struct plan_descriptor *descriptor = &PLAN_TABLE(codelet, descriptors, struct plan_descriptor)[i];
    const char *path = pcere_plan_string(codelet->plan, descriptor->path);
    *lost = (struct lost_descriptor){.number = descriptor->number};
    snprintf(lost->what, sizeof lost->what, "%s", pcere_plan_string(codelet->plan, descriptor->what));
    int master = -1;
    switch (descriptor->source) {
    case PLAN_SOURCE_FILE:
        master = file_open(descriptor, path, lost);
        break;
    case PLAN_SOURCE_COPY:
        files.stores[i] = pcere_descriptor_raise(memfd_create("pcere-file", MFD_CLOEXEC));
        if (files.stores[i] >= 0 && content_write(codelet, descriptor, files.stores[i]))
            master = opened_again(files.stores[i], descriptor->flags);
        break;
    case PLAN_SOURCE_DEVICE:
        master = open(path, (int)(descriptor->flags & (O_ACCMODE | O_NONBLOCK)) | O_CLOEXEC);
        break;
    case PLAN_SOURCE_LOST:
        lost->whole = true;
        break;
    default:
        break;
    }
    files.masters[i] = pcere_descriptor_raise(master >= 0 ? master : open("/dev/null", O_RDWR | O_CLOEXEC));
    if (master < 0 && !*lost->what && descriptor->source != PLAN_SOURCE_NOTHING) {
        snprintf(lost->what, sizeof lost->what, "a file for which there is no room here (descriptor %d)", descriptor->number);
        lost->whole = !is_read(descriptor);
    }
}

/* Messages of the region were for its user, not for ours. */
static void output_drop(const struct codelet *codelet)
{
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (codelet->plan->does_io) {
        pcere_messages = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, files.base);
        dup2(nowhere, STDERR_FILENO);
    }
    dup2(nowhere, STDOUT_FILENO);
    if (nowhere > STDERR_FILENO)
        close(nowhere);
}

void pcere_files_open(struct codelet *codelet)
{
    uint64_t count = codelet->plan->descriptors.count;
    size_t lost_count = 0;
    struct lost_descriptor *lost = calloc(count + 1, sizeof *lost);
    files.kept = calloc((size_t)files.base, sizeof *files.kept);
    files.masters = calloc(count + 1, sizeof *files.masters);
    files.stores = calloc(count + 1, sizeof *files.stores);
    if (!lost || !files.kept || !files.masters || !files.stores)
        pcere_plan_end(codelet, PLAN_FAILED, "no memory for the list of open files");
    output_drop(codelet);
    for (int i = 0; i < files.base; i++)
        files.kept[i] = i <= STDERR_FILENO || fcntl(i, F_GETFD) >= 0;
    const struct plan_descriptor *descriptors = PLAN_TABLE(codelet, descriptors, struct plan_descriptor);
    for (uint64_t i = 0; i < count; i++) {
        files.stores[i] = -1;
        if (descriptors[i].number < 0 || descriptors[i].number >= files.base || (i && descriptors[i].number <= descriptors[i - 1].number))
            pcere_plan_end(codelet, PLAN_FAILED, "the plan's descriptors are not in order");
        master_open(codelet, i, &lost[lost_count]);
        lost_count += lost[lost_count].what[0] != '\0';
    }
    for (uint64_t i = 0; i < count; i++)
        files.kept[descriptors[i].number] = true;
    if (chdir(pcere_plan_string(codelet->plan, codelet->plan->directory)))
        errno = 0;                    /* it may be of another machine */
    pcere_guard_begin(codelet, lost, lost_count);
    free(lost);
}

/* ---- before each run ------------------------------------------------------------------------------------------------------- */

/* What the run before left open. */
static void others_close(void)
{
    for (int first = 0, next; first < files.base; first = next + 1) {
        for (next = first; next < files.base && !files.kept[next]; next++)
            ;
        if (next > first)
            close_range((unsigned)first, (unsigned)next - 1, 0);
    }
}

void pcere_files_restore(struct codelet *codelet)
{
    const struct plan_descriptor *descriptors = PLAN_TABLE(codelet, descriptors, struct plan_descriptor);
    pcere_guard_restore();
    others_close();
    for (uint64_t i = 0; i < codelet->plan->descriptors.count; i++) {
        const struct plan_descriptor *descriptor = &descriptors[i];
        if (files.stores[i] >= 0 && (descriptor->flags & O_ACCMODE) != O_RDONLY)
            content_write(codelet, descriptor, files.stores[i]);
        if (dup3(files.masters[i], descriptor->number, descriptor->flags & O_CLOEXEC) >= 0 && descriptor->source <= PLAN_SOURCE_COPY)
            lseek(descriptor->number, (off_t)descriptor->offset, SEEK_SET);
    }
}
