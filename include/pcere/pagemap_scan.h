/* include/pcere/pagemap_scan.h - the kernel's interface PAGEMAP_SCAN (Linux 6.7: Documentation/admin-guide/mm/pagemap.rst), for headers older than that. */
#ifndef PCERE_PAGEMAP_SCAN_H
#define PCERE_PAGEMAP_SCAN_H

#include <stdint.h>
#include <sys/ioctl.h>

#if __has_include(<linux/fs.h>)
#include <linux/fs.h>
#endif

#ifndef PAGEMAP_SCAN
#define PAGE_IS_WPALLOWED (1 << 0)
#define PAGE_IS_WRITTEN (1 << 1)
#define PAGE_IS_FILE (1 << 2)
#define PAGE_IS_PRESENT (1 << 3)
#define PAGE_IS_SWAPPED (1 << 4)
#define PAGE_IS_PFNZERO (1 << 5)
#define PM_SCAN_WP_MATCHING (1 << 0)
#define PM_SCAN_CHECK_WPASYNC (1 << 1)
struct page_region { uint64_t start, end, categories; };
struct pm_scan_arg {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define PAGEMAP_SCAN _IOWR('f', 16, struct pm_scan_arg)
#endif

#endif
