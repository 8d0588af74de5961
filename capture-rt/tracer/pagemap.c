#include "capture-rt/tracer/pagemap.h"

#include "core/text.h"
#include "include/pcere/pagemap_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kernel's interface, for older headers. */
#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED (1 << 13)
#endif
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif

#define VECTOR_LENGTH 1024
#define TWO_SCANS_BYTES ((uint64_t)128 << 20)    /* less than this is looked at faster by one thread than by two */
#define BUNCH_GAP_PAGES 32u                       /* so many pages are looked at in the time of one call */
#define HALF_ALIGN_BYTES ((uint64_t)2 << 20)     /* a page table's reach: the halves share none */
#define ENTRY_PRESENT (UINT64_C(1) << 63)
#define ENTRY_SWAPPED (UINT64_C(1) << 62)
#define ENTRY_FILE (UINT64_C(1) << 61)

static bool tracking_works(int tracking)
{
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_WP_ASYNC};
    return ioctl(tracking, UFFDIO_API, &api) == 0;
}

static bool scan_works(int descriptor)
{
    struct pm_scan_arg argument = {.size = sizeof argument, .category_mask = PAGE_IS_PRESENT, .return_mask = PAGE_IS_PRESENT};
    return ioctl(descriptor, PAGEMAP_SCAN, &argument) >= 0;      /* an empty range */
}

enum pcere_status pagemap_open(pid_t pid, int tracking, bool scan, uint64_t page_bytes, struct pagemap *ret_pagemap,
                               struct pcere_error *error)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/pagemap", (int)pid);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        enum pcere_status status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot read '%s'", path);
        if (tracking >= 0)
            close(tracking);
        return status;
    }
    scan = scan && scan_works(descriptor);
    if (tracking >= 0 && (!scan || !tracking_works(tracking))) {
        close(tracking);
        tracking = -1;
    }
    *ret_pagemap = (struct pagemap){.descriptor = descriptor, .tracking = tracking, .scan = scan, .page_bytes = page_bytes};
    return PCERE_OK;
}

void pagemap_close(struct pagemap *pagemap)
{
    if (pagemap->tracking >= 0)
        close(pagemap->tracking);
    if (pagemap->descriptor >= 0)
        close(pagemap->descriptor);
    free(pagemap->pieces);
    *pagemap = (struct pagemap){.descriptor = -1, .tracking = -1};
}

static enum pcere_status piece_add(struct pagemap *pagemap, uint64_t start, uint64_t end, uint32_t flags, struct pcere_error *error)
{
    struct page_piece *last = pagemap->count ? &pagemap->pieces[pagemap->count - 1] : NULL;
    if (last && last->end == start && last->flags == flags) {
        last->end = end;
        return PCERE_OK;
    }
    if (!array_reserve(&pagemap->pieces, &pagemap->capacity, pagemap->count + 1, sizeof *pagemap->pieces))
        return pcere_fail_memory(error, "the list of present pages");
    pagemap->pieces[pagemap->count++] = (struct page_piece){start, end, flags};
    return PCERE_OK;
}

static enum pcere_status look_failed(int errnum, struct pcere_error *error)
{
    if (errnum == ESRCH)
        return pcere_fail(error, PCERE_NO, 0, NULL, "the program ended during a stop");
    return pcere_fail(error, PCERE_SYSTEM, errnum, NULL, "cannot tell which pages of the program are there");
}

static uint32_t flags_of(uint64_t categories, bool tracked)
{
    return (categories & PAGE_IS_PFNZERO ? (uint32_t)PAGE_ZERO : 0) | (categories & PAGE_IS_FILE ? (uint32_t)PAGE_FILE : 0) |
           (!tracked || categories & PAGE_IS_WRITTEN ? (uint32_t)PAGE_WRITTEN : 0);
}

/* 0 or an errno; EPERM: some of it is not tracked. */
static int scan(struct pagemap *pagemap, uint64_t start, uint64_t end, enum pagemap_tracking how, enum pcere_status *ret_status,
                struct pcere_error *error)
{
    bool tracked = how != PAGEMAP_UNTRACKED;
    static _Thread_local struct page_region regions[VECTOR_LENGTH];     /* too much for a small stack of the initial thread (ulimit -s) */
    struct pm_scan_arg argument = {
        .size = sizeof argument, .end = end, .vec = (uintptr_t)regions, .vec_len = VECTOR_LENGTH,
        .flags = (how == PAGEMAP_RENEW ? PM_SCAN_WP_MATCHING : 0) | (tracked ? PM_SCAN_CHECK_WPASYNC : 0),
        .category_anyof_mask = PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
        .return_mask = PAGE_IS_PFNZERO | (pagemap->anonymous ? 0 : (uint64_t)PAGE_IS_FILE) | (tracked ? (uint64_t)PAGE_IS_WRITTEN : 0)};
    *ret_status = PCERE_OK;
    /* The kernel stops early only when the vector is full. Its walk_end is not to be trusted then: it can be that of an earlier part. */
    for (uint64_t at = start; at < end && *ret_status == PCERE_OK;) {
        argument.start = at;
        long found = ioctl(pagemap->descriptor, PAGEMAP_SCAN, &argument);
        if (found < 0)
            return errno;
        for (long i = 0; i < found && *ret_status == PCERE_OK; i++)
            *ret_status = piece_add(pagemap, regions[i].start, regions[i].end, flags_of(regions[i].categories, tracked), error);
        at = found < VECTOR_LENGTH ? end : regions[VECTOR_LENGTH - 1].end;
    }
    return 0;
}

struct scan_half {
    struct pagemap pagemap;     /* the same descriptors, its own pieces */
    uint64_t start, end;
    enum pagemap_tracking how;
    int errnum;
    enum pcere_status status;
    struct pcere_error error;
};

static void *scan_half(void *context)
{
    struct scan_half *half = context;
    half->errnum = scan(&half->pagemap, half->start, half->end, half->how, &half->status, &half->error);
    return NULL;
}

/* As scan; what is large is looked at by two threads, since the program that waits leaves its processor free. */
static int scan_large(struct pagemap *pagemap, uint64_t start, uint64_t end, enum pagemap_tracking how, enum pcere_status *ret_status,
                      struct pcere_error *error)
{
    struct scan_half upper = {.pagemap = {.descriptor = pagemap->descriptor, .page_bytes = pagemap->page_bytes,
                                           .anonymous = pagemap->anonymous}, .end = end, .how = how};
    uint64_t middle = (start + (end - start) / 2) / HALF_ALIGN_BYTES * HALF_ALIGN_BYTES;
    pthread_t thread;
    upper.start = middle;
    if (end - start < TWO_SCANS_BYTES || pthread_create(&thread, NULL, scan_half, &upper) != 0)
        return scan(pagemap, start, end, how, ret_status, error);
    int errnum = scan(pagemap, start, middle, how, ret_status, error);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < upper.pagemap.count && errnum == 0 && *ret_status == PCERE_OK; i++) {
        const struct page_piece *piece = &upper.pagemap.pieces[i];
        *ret_status = piece_add(pagemap, piece->start, piece->end, piece->flags, error);
    }
    free(upper.pagemap.pieces);
    if (errnum == 0 && *ret_status == PCERE_OK && upper.errnum == 0 && upper.status != PCERE_OK) {
        *ret_status = upper.status;
        if (error)
            *error = upper.error;
    }
    return errnum ? errnum : upper.errnum;
}

/* As scan_large, for what was tracked before and is not written much: the kernel tells what was written, or is not there, by one bit of each
 * page; only such stretches are looked at closely. All others are there, as they were. Where most pages are not there, that is most of them, and dearer to tell than those that are. */
static int scan_written(struct pagemap *pagemap, uint64_t start, uint64_t end, enum pcere_status *ret_status, struct pcere_error *error)
{
    static _Thread_local struct page_region regions[VECTOR_LENGTH];     /* too much for a small stack of the initial thread (ulimit -s) */
    struct pm_scan_arg argument = {.size = sizeof argument, .end = end, .vec = (uintptr_t)regions, .vec_len = VECTOR_LENGTH,
                                   .flags = PM_SCAN_CHECK_WPASYNC, .category_mask = PAGE_IS_WRITTEN, .return_mask = PAGE_IS_WRITTEN};
    uint64_t done = start, low = end, high = end;       /* low to high: a bunch of stretches, not looked at yet */
    int errnum = 0;
    *ret_status = PCERE_OK;
    for (uint64_t at = start; at < end && errnum == 0 && *ret_status == PCERE_OK;) {
        argument.start = at;
        long found = ioctl(pagemap->descriptor, PAGEMAP_SCAN, &argument);
        if (found < 0)
            return errno;
        at = found < VECTOR_LENGTH ? end : regions[VECTOR_LENGTH - 1].end;
        for (long i = 0; i <= found && errnum == 0 && *ret_status == PCERE_OK; i++) {
            const struct page_region next = i < found ? regions[i] : (struct page_region){.start = end, .end = end};
            if (i == found && at < end)
                break;                          /* there is more */
            if (low == end)
                low = next.start;
            else if (next.start > high + BUNCH_GAP_PAGES * pagemap->page_bytes || next.start == end) {
                *ret_status = done < low ? piece_add(pagemap, done, low, 0, error) : PCERE_OK;
                errnum = *ret_status == PCERE_OK ? scan_large(pagemap, low, high, PAGEMAP_RENEW, ret_status, error) : 0;
                done = high;
                low = next.start;
            }
            high = next.end;
        }
    }
    if (errnum == 0 && *ret_status == PCERE_OK && done < end)
        *ret_status = piece_add(pagemap, done, end, 0, error);
    return errnum;
}

static enum pcere_status entries_read(struct pagemap *pagemap, uint64_t start, uint64_t end, struct pcere_error *error)
{
    static _Thread_local uint64_t entries[4096];
    enum pcere_status status = PCERE_OK;
    for (uint64_t at = start; at < end && status == PCERE_OK;) {
        uint64_t count = (end - at) / pagemap->page_bytes;
        count = count < 4096 ? count : 4096;
        ssize_t bytes = pread(pagemap->descriptor, entries, count * sizeof *entries,
                              (off_t)(at / pagemap->page_bytes * sizeof *entries));
        if (bytes < 0)
            return look_failed(errno, error);
        if (bytes < (ssize_t)sizeof *entries)
            return look_failed(ESRCH, error);
        count = (uint64_t)bytes / sizeof *entries;
        for (uint64_t i = 0; i < count && status == PCERE_OK; i++, at += pagemap->page_bytes)
            if (entries[i] & (ENTRY_PRESENT | ENTRY_SWAPPED))
                status = piece_add(pagemap, at, at + pagemap->page_bytes,
                                   PAGE_WRITTEN | (entries[i] & ENTRY_FILE && !(entries[i] & ENTRY_SWAPPED) ? PAGE_FILE : 0u), error);
    }
    return status;
}

enum pcere_status pagemap_look(struct pagemap *pagemap, uint64_t start, uint64_t end, enum pagemap_tracking how,
                               struct pcere_error *error)
{
    enum pcere_status status;
    int errnum;
    size_t before = pagemap->count;
    if (!pagemap->scan)
        return entries_read(pagemap, start, end, error);
    if (how != PAGEMAP_UNTRACKED && pagemap->tracking >= 0) {
        errnum = how == PAGEMAP_RENEW && pagemap->anonymous && !pagemap->sparse ? scan_written(pagemap, start, end, &status, error)
                                                            : scan_large(pagemap, start, end, how, &status, error);
        if (errnum == EPERM && how == PAGEMAP_RENEW) {      /* new, or moved: register it, and look again */
            uint64_t low = pagemap->mapping_end ? pagemap->mapping_start : start, high = pagemap->mapping_end ? pagemap->mapping_end : end;
            struct uffdio_register request = {.range = {.start = low, .len = high - low}, .mode = UFFDIO_REGISTER_MODE_WP};
            pagemap->count = before;
            if (ioctl(pagemap->tracking, UFFDIO_REGISTER, &request) == 0)
                errnum = scan_large(pagemap, start, end, how, &status, error);
            for (size_t i = before; i < pagemap->count; i++)    /* whatever the look that failed has write-protected */
                pagemap->pieces[i].flags |= PAGE_WRITTEN;
        }
        if (errnum == 0)
            return status;
        if (errnum == ESRCH)
            return look_failed(errnum, error);
        pagemap->count = before;
    }
    errnum = scan_large(pagemap, start, end, PAGEMAP_UNTRACKED, &status, error);
    return errnum ? look_failed(errnum, error) : status;
}

void pagemap_release(const struct pagemap *pagemap, uint64_t start, uint64_t end)
{
    struct uffdio_writeprotect request = {.range = {.start = start, .len = end - start}};
    if (pagemap->tracking >= 0)
        ioctl(pagemap->tracking, UFFDIO_WRITEPROTECT, &request);     /* refused: they stay tracked, which is as right */
}
