/* memory.c - captured memory at its old addresses: mapped, restored.
 *
 * memory.bin holds pages, one after the other. memory.txt says what lies where, a line each, ascending:
 *
 *   mapping START END RIGHTS               the program had these addresses mapped; z in RIGHTS: what is dropped there reads as zeros
 *   same START END ORIGINAL                what is there is what is at ORIGINAL: two mappings of one memory
 *   pages ADDRESS COUNT BEFORE AFTER       COUNT pages from ADDRESS. BEFORE: number in memory.bin of what the first of them held at the
 *                                          region's start, `zero`, or `absent` (never touched); AFTER: behind its end, `=`: unchanged
 *   content OFFSET COUNT NUMBER            COUNT pages of a file that was open (files.c), from NUMBER in memory.bin, or `zero`
 *   skip START END                         not compared: see README.md
 */
#define _GNU_SOURCE
#include "codelet.h"
#include "region.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct range mappings[MAPPING_COUNT];
static int rights[MAPPING_COUNT];
static _Atomic bool rights_changed;                 /* by the region */
static bool reads_zeros[MAPPING_COUNT];
struct page pages[PAGE_COUNT];
static struct same { char *start, *end, *original; } sames[SAME_COUNT + 1];
struct range gaps[PAGE_COUNT + MAPPING_COUNT + SAME_COUNT], skips[SKIP_COUNT + 1];
size_t page_count, gap_count, skip_count;
char zero_page[PAGE_BYTES];
static struct page *written[PAGE_COUNT];
static size_t mapping_count, same_count, written_count, content_count;
struct content contents[CONTENT_COUNT + 1];

static char *content(char *stored, size_t stored_pages, const char *word, uint64_t index, char *before)
{
    if (*word == '=')
        return before;
    if (!strcmp(word, "absent"))
        return NULL;
    if (!strcmp(word, "zero"))
        return zero_page;
    index += strtoull(word, NULL, 10);
    if (index >= stored_pages) {
        fprintf(stderr, "codelet: memory.bin is cut short\n");
        exit(2);
    }
    return stored + index * PAGE_BYTES;
}

static void memory_read(void)
{
    struct stat status;
    int file = open("memory.bin", O_RDONLY);
    FILE *list = fopen("memory.txt", "r");
    if (file < 0 || !list || fstat(file, &status)) {
        perror("codelet: memory.bin, memory.txt");
        exit(2);
    }
    size_t bytes = (size_t)status.st_size;
    char *stored = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    char line[256], before[32], after[32];
    unsigned long start, end, count;
    while (fgets(line, sizeof line, list))
        if (sscanf(line, "mapping %lx %lx %31s", &start, &end, before) == 3 && mapping_count < MAPPING_COUNT) {
            rights[mapping_count] = (strchr(before, 'r') ? PROT_READ : 0) | (strchr(before, 'w') ? PROT_WRITE : 0)
                                    | (strchr(before, 'x') ? PROT_EXEC : 0);
            reads_zeros[mapping_count] = strchr(before, 'z');
            mappings[mapping_count++] = (struct range){(char *)start, (char *)end};
        } else if (sscanf(line, "pages %lx %lu %31s %31s", &start, &count, before, after) == 4) {
            for (unsigned long i = 0; i < count && page_count < PAGE_COUNT; i++) {
                struct page *page = &pages[page_count++];
                page->address = (char *)start + i * PAGE_BYTES;
                page->before = content(stored, bytes / PAGE_BYTES, before, i, NULL);
                page->after = content(stored, bytes / PAGE_BYTES, after, i, page->before);
            }
        } else if (sscanf(line, "same %lx %lx %lx", &start, &end, &count) == 3 && same_count < SAME_COUNT) {
            sames[same_count++] = (struct same){(char *)start, (char *)end, (char *)count};
        } else if (sscanf(line, "content %lu %lu %31s", &start, &count, before) == 3 && content_count < CONTENT_COUNT) {
            struct content *piece = &contents[content_count++];
            *piece = (struct content){start, count, content(stored, bytes / PAGE_BYTES, before, count - 1, NULL)};
            piece->bytes -= *before == 'z' ? 0 : (count - 1) * PAGE_BYTES;
            piece->pages = *before == 'z' ? 0 : count;     /* nothing needs to be written */
        } else if (sscanf(line, "skip %lx %lx", &start, &end) == 2 && skip_count < SKIP_COUNT) {
            skips[skip_count++] = (struct range){(char *)start, (char *)end};
        }
    fclose(list);
    close(file);
}

/* The stack that this process began with may lie where the captured one must: it has been left. */
static void first_stack_unmap(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned long start, end;
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "[stack]") && sscanf(line, "%lx-%lx", &start, &end) == 2)
            for (size_t i = 0; i < mapping_count; i++)
                if (mappings[i].start < (char *)end && mappings[i].end > (char *)start)
                    syscall(SYS_munmap, start, end - start);     /* mappings.c keeps captured addresses */
    if (maps)
        fclose(maps);
}

/* What lies there again of another address is none. */
static void gap_add(char *start, char *end)
{
    for (size_t i = 0; i < same_count && start < end; i++)
        if (sames[i].end > start && sames[i].start < end) {
            if (start < sames[i].start)
                gaps[gap_count++] = (struct range){start, sames[i].start};
            start = sames[i].end;
        }
    if (start < end)
        gaps[gap_count++] = (struct range){start, end};
}

static int original_order(const void *left, const void *right)
{
    const struct same *a = left, *b = right;
    return (a->original > b->original) - (a->original < b->original);
}

/* Originals become shared memory, those that touch in one piece, which is seen at its other addresses by mremap(2) with an old size of 0. Not by the function, into which
 * libraries that watch mappings (libucm) write a jump of theirs. */
static void same_map(void)
{
    qsort(sames, same_count, sizeof *sames, original_order);
    for (size_t i = 0, next; i < same_count; i = next) {
        char *start = sames[i].original, *end = start;
        for (next = i; next < same_count && sames[next].original <= end; next++) {
            char *own = sames[next].original + (sames[next].end - sames[next].start);
            end = own > end ? own : end;
        }
        bool mapped = mmap(start, (size_t)(end - start), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == start;
        for (size_t j = i; mapped && j < next; j++)
            mapped = syscall(SYS_mremap, sames[j].original, 0, (size_t)(sames[j].end - sames[j].start), MREMAP_MAYMOVE | MREMAP_FIXED, sames[j].start) != -1;
        if (!mapped) {
            perror("codelet: memory at two addresses");
            exit(2);
        }
    }
}

bool memory_map(void)
{
    size_t page = 0;
    memory_read();
    first_stack_unmap();
    for (size_t i = 0; i < mapping_count; i++) {
        char *at = mappings[i].start;
        if (mmap(at, (size_t)(mappings[i].end - at), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != at)
            return false;
        for (; page < page_count && pages[page].address < mappings[i].end; page++) {
            if (!pages[page].before)
                continue;
            gap_add(at, pages[page].address);
            at = pages[page].address + PAGE_BYTES;
            written[written_count++] = &pages[page];
        }
        gap_add(at, mappings[i].end);
    }
    same_map();
    return true;
}

static void rights_set(int more)
{
    for (size_t i = 0; i < mapping_count; i++)      /* not as the region does it (mappings.c) */
        syscall(SYS_mprotect, mappings[i].start, (size_t)(mappings[i].end - mappings[i].start), rights[i] | more);
}

void memory_protect(void)
{
    rights_set(0);
}

void memory_changes_rights(void)
{
    rights_changed = true;
}

void memory_open(void)
{
    if (rights_changed)
        rights_set(PROT_READ | PROT_WRITE);
}

/* May lines leave caches in any order? One behind the other takes tens of times as long, and a last cache that is shared gives up meanwhile what was to stay. */
static bool lines_leave_together(void)
{
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 23 & 1);
#else
    return true;
#endif
}

/* What is read to restore memory would push what the region uses out of the caches. */
static void page_leave(const char *page, bool together)
{
    (void)page, (void)together;
    for (size_t offset = 0; offset < PAGE_BYTES; offset += 64)
#if defined(__x86_64__)
        if (together)
            __asm__ volatile("clflushopt %0" : "+m"(*(volatile char *)(uintptr_t)(page + offset)));
        else
            __asm__ volatile("clflush %0" : "+m"(*(volatile char *)(uintptr_t)(page + offset)));
#elif defined(__aarch64__)
        __asm__ volatile("dc civac, %0" : : "r"(page + offset) : "memory");
#else
        break;
#endif
}

/* Not as the region does it (mappings.c). */
static void pages_drop(char *start, char *end)
{
    syscall(SYS_madvise, start, (size_t)(end - start), MADV_DONTNEED);
}

void memory_restore(void)
{
    memory_open();
    for (size_t i = 0; i < gap_count; i++)
        pages_drop(gaps[i].start, gaps[i].end);
    bool together = lines_leave_together();
#pragma omp parallel                                /* by all threads: what one thread brought to its cache alone is slow for the others */
    {
#pragma omp for schedule(static)
        for (size_t i = 0; i < written_count; i++) {
            memcpy(written[i]->address, written[i]->before, PAGE_BYTES);
            page_leave(written[i]->before, together);
        }
        __sync_synchronize();
    }
    if (rights_changed)
        memory_protect();
}

void memory_patch(uint64_t address, const void *bytes, const void *mask, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct page *page = page_of((void *)(address + i));
        size_t offset = (address + i) % PAGE_BYTES;
        if (!page || !page->before || page->before == zero_page)
            continue;
        char byte = ((const char *)bytes)[i], bits = (char)(mask ? ((const char *)mask)[i] : -1);
        page->address[offset] = page->before[offset] = (char)((page->before[offset] & ~bits) | (byte & bits));
        if (page->after != zero_page)
            page->after[offset] = (char)((page->after[offset] & ~bits) | (byte & bits));
    }
}

void written_find(void)
{
    memory_open();
    written_count = 0;
    for (size_t i = 0; i < page_count; i++)
        if (pages[i].before && memcmp(pages[i].address, pages[i].before, PAGE_BYTES))
            written[written_count++] = &pages[i];
}

/* The first of `count` ascending ranges that ends above the address. */
static size_t range_above(const struct range *ranges, size_t count, const char *address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool range_holds(const struct range *ranges, size_t count, const char *address)
{
    size_t index = range_above(ranges, count, address);
    return index < count && ranges[index].start <= address;
}

bool is_captured(const void *address)
{
    return range_holds(mappings, mapping_count, address);
}

bool is_read_only(const char *start, size_t bytes)
{
    size_t index = range_above(mappings, mapping_count, start);
    return index < mapping_count && mappings[index].start <= start && bytes <= (size_t)(mappings[index].end - start)
           && (rights[index] & (PROT_READ | PROT_WRITE)) == PROT_READ;
}

bool captured_between(const char *start, const char *end)
{
    size_t index = range_above(mappings, mapping_count, start);
    return index < mapping_count && mappings[index].start < end;
}

/* The first page from there on. */
static struct page *page_above(const char *start)
{
    size_t low = 0, high = page_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pages[middle].address < start)
            low = middle + 1;
        else
            high = middle;
    }
    return &pages[low];
}

struct page *page_of(const void *address)
{
    char *start = (char *)((uint64_t)address / PAGE_BYTES * PAGE_BYTES);
    struct page *page = page_above(start);
    return page < pages + page_count && page->address == start ? page : NULL;
}

/* Memory at two addresses is shared here, and keeps its content. */
void memory_drop(char *start, char *end, bool unmapped)
{
    for (size_t i = range_above(mappings, mapping_count, start); i < mapping_count && mappings[i].start < end; i++) {
        char *from = mappings[i].start > start ? mappings[i].start : start, *to = mappings[i].end < end ? mappings[i].end : end;
        if (!unmapped && !reads_zeros[i])
            continue;
        pages_drop(from, to);
        for (struct page *page = page_above(from); page < pages + page_count && page->address < to; page++)
            page->dropped = true;
    }
}
