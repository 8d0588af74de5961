/* tests/programs/memory.c - a region amid memory of every kind that changes in every way between its invocations.
 *
 * memory LOG [STEPS [MEGABYTES]]: before and after each invocation, a line for each object is written to LOG:
 *     INVOCATION begin|end NAME ADDRESS BYTES HASH
 * so that a capture of any invocation can be checked byte by byte (check_memory.c).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u

static unsigned char statics[75 * PAGE + 123];
static unsigned char initialised[9 * PAGE] = {1, 2, 3};
static _Thread_local unsigned char local[5 * PAGE + 17] = {42};

struct object { const char *name; unsigned char *data; size_t bytes; };
static struct object objects[16];
static size_t object_count;
static int log_descriptor;
static uint64_t state = 88172645463325252u;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static uint64_t hash(const unsigned char *data, size_t bytes)
{
    uint64_t result = 0xcbf29ce484222325u, word;
    size_t i = 0;
    for (; i + 8 <= bytes; i += 8) {
        memcpy(&word, data + i, 8);
        result = (result ^ word) * 0x100000001b3u;
        result ^= result >> 31;
    }
    for (; i < bytes; i++)
        result = (result ^ data[i]) * 0x100000001b3u;
    return result;
}

static void tell(int invocation, const char *when)
{
    char line[256];
    for (size_t i = 0; i < object_count; i++) {
        int length = snprintf(line, sizeof line, "%d %s %s %p %zu %llx\n", invocation, when, objects[i].name, (void *)objects[i].data,
                              objects[i].bytes, (unsigned long long)hash(objects[i].data, objects[i].bytes));
        if (write(log_descriptor, line, (size_t)length) != length)
            _exit(3);
    }
}

static struct object *object_add(const char *name, unsigned char *data, size_t bytes)
{
    objects[object_count] = (struct object){name, data, bytes};
    return &objects[object_count++];
}

static unsigned char *map(size_t bytes)
{
    unsigned char *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return data == MAP_FAILED ? NULL : data;
}

static void scribble(const struct object *object, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        object->data[next_random() % object->bytes] = (unsigned char)next_random();
}

/* The region: writes to some objects, wherever they are. */
static void region(int step)
{
    size_t count = object_count;
#pragma omp parallel for
    for (size_t i = 0; i < count; i++)
        if ((i + (size_t)step) % 3 == 0)
            for (size_t j = (size_t)step % 7; j < objects[i].bytes; j += 5 * PAGE)
                objects[i].data[j] = (unsigned char)(objects[i].data[j] * 5 + step);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    int steps = argc > 2 ? atoi(argv[2]) : 12;
    size_t large_bytes = (argc > 3 ? (size_t)atoi(argv[3]) : 2) << 20;
    unsigned char on_stack[6 * PAGE + 77];
    memset(on_stack, 7, sizeof on_stack);
    log_descriptor = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    int file = open("/proc/self/exe", O_RDONLY);
    if (log_descriptor < 0 || file < 0)
        return 3;

    object_add("statics", statics, sizeof statics);
    object_add("initialised", initialised, sizeof initialised);
    object_add("thread-local", local, sizeof local);
    object_add("stack", on_stack, sizeof on_stack);
    struct object *small = object_add("small heap", malloc(3000), 3000);
    struct object *grown = object_add("grown heap", malloc(100000), 100000);
    struct object *large = object_add("large heap", calloc(large_bytes, 1), large_bytes);
    struct object *mapped = object_add("mapped", map(64 * PAGE), 64 * PAGE);
    struct object *moved = object_add("moved", map(16 * PAGE), 16 * PAGE);
    struct object *renewed = object_add("renewed", map(32 * PAGE), 32 * PAGE);
    unsigned char *huge = map(8u << 20);
    madvise(huge, 8u << 20, MADV_HUGEPAGE);
    object_add("huge pages", huge + 123, (7u << 20) + 77);
    object_add("file", mmap(NULL, 5 * PAGE, PROT_READ, MAP_PRIVATE, file, 0), 5 * PAGE);
    object_add("file written", mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0), 3 * PAGE);
    object_add("shared", mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 4 * PAGE);
    memset(small->data, 1, small->bytes);
    memset(grown->data, 2, grown->bytes);
    object_count = 11;                           /* the file's pages are read-only: see below */
    struct object constant = objects[11], written = objects[12], shared = objects[13];

    for (int step = 1; step <= steps; step++) {
        for (size_t i = 0; i < 11; i++)
            scribble(&objects[i], 3);
        scribble(&written, 1);
        scribble(&shared, 1);
        switch (step % 6) {
        case 1:
            madvise(mapped->data + 8 * PAGE, 8 * PAGE, MADV_DONTNEED);
            break;
        case 2:
            grown->bytes += 70000;
            grown->data = realloc(grown->data, grown->bytes);
            memset(grown->data + grown->bytes - 70000, step, 70000);
            break;
        case 3:
            moved->data = mremap(moved->data, moved->bytes, moved->bytes + 2 * PAGE, MREMAP_MAYMOVE);
            moved->bytes += 2 * PAGE;
            break;
        case 4:                                  /* a new mapping at an old address */
            munmap(renewed->data, renewed->bytes);
            renewed->data = mmap(renewed->data, renewed->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
            renewed->data[3 * PAGE] = (unsigned char)step;
            break;
        case 5:
            mprotect(mapped->data, 4 * PAGE, PROT_READ);
            mprotect(mapped->data, 4 * PAGE, PROT_READ | PROT_WRITE);
            if (read(file, large->data + 5 * PAGE, 2 * PAGE) != 2 * PAGE)     /* the kernel writes */
                return 3;
            lseek(file, 0, SEEK_SET);
            break;
        default: {
            pid_t pid = fork();                  /* a child that goes through the region as well */
            if (pid == 0) {
                region(step);
                scribble(large, 100);
                _exit(0);
            }
            waitpid(pid, NULL, 0);
        }
        }
        objects[11] = constant, objects[12] = written, objects[13] = shared;
        object_count = 14;
        tell(step, "begin");
        objects[11] = written, objects[12] = shared;
        object_count = 13;                       /* the region leaves the read-only one alone */
        region(step);
        tell(step, "end");
        object_count = 11;
    }
    puts("PASS");
    return 0;
}
