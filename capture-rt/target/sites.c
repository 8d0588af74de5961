/* capture-rt/target/sites.c - which regions there are: those whose sites the plugin made, and those of units without it, found as they are entered.
 *
 * A region's entry in the log outlives its library. Regions are added one after the other; who looks for one takes no lock.
 */
#include "capture-rt/target/target.h"

#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t sites_mutex = PTHREAD_MUTEX_INITIALIZER;     /* regions are added one after the other */

static uint64_t text_hash(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

static void text_copy(char *to, const char *from, size_t bytes)
{
    size_t length = 0;
    for (; from && length + 1 < bytes && from[length]; length++)
        to[length] = from[length];
    to[length] = '\0';
}

struct object_search { uintptr_t address; char *to; uintptr_t bias; bool first; };

static int object_name(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct object_search *search = context;
    bool executable = search->first;
    (void)bytes;
    search->first = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_LOAD || search->address < low || search->address - low >= header->p_memsz)
            continue;
        text_copy(search->to, executable ? "" : info->dlpi_name, CAPTURE_NAME_BYTES);
        search->bias = info->dlpi_addr;
        return 1;
    }
    return 0;
}

static uint32_t region_find_or_add(struct capture_log *log, const struct pcere_site *site)
{
    const char *name = site->region ? site->region : "";
    uint64_t hash = text_hash(name);
    uint32_t count = log->region_count;
    for (uint32_t i = 0; i < count; i++)
        if (!log->regions[i].plain && log->regions[i].name_hash == hash && strncmp(log->regions[i].name, name, CAPTURE_NAME_BYTES - 1) == 0) {
            log->regions[i].site_flags |= site->flags;
            if (!log->regions[i].thread_sized[0]) /* another unit's of that name, and what it says holds for both */
                text_copy(log->regions[i].thread_sized, site->thread_sized, sizeof log->regions[i].thread_sized);
            return i;
        }
    if (count >= CAPTURE_REGIONS_MAX) {
        log->regions_dropped++;
        return TARGET_REGION_NONE;
    }
    struct capture_region_entry *entry = &log->regions[count];
    entry->name_hash = hash;
    entry->line = site->line;
    entry->site_flags = site->flags;
    text_copy(entry->name, name, sizeof entry->name);
    text_copy(entry->function, site->function, sizeof entry->function);
    text_copy(entry->file, site->file, sizeof entry->file);
    text_copy(entry->thread_sized, site->thread_sized, sizeof entry->thread_sized);
    dl_iterate_phdr(object_name, &(struct object_search){(uintptr_t)site, entry->object, 0, true});
    entry->ready = 1;
    __atomic_store_n(&log->region_count, count + 1, __ATOMIC_RELEASE);
    return count;
}

struct plain_site { const void *code; struct pcere_site site; };

/* "f@x.c:12", as the plugin names it; where the compiler noted no line, "0x1130@program": who has the file makes a name of that. */
static void plain_describe(struct capture_region_entry *entry, const char *source)
{
    char digits[16] = "";
    char *const to[] = {entry->file, entry->function, digits};
    const size_t bytes[] = {sizeof entry->file, sizeof entry->function, sizeof digits};
    for (int i = 0; source && *source == ';' && i < 3; i++) {
        size_t length = strcspn(++source, ";");
        text_copy(to[i], source, length < bytes[i] ? length + 1 : bytes[i]);
        source += length;
    }
    for (const char *at = digits; *at >= '0' && *at <= '9' && entry->line < 100000000; at++)
        entry->line = entry->line * 10 + (uint32_t)(*at - '0');
    if (!entry->line)
        entry->file[0] = entry->function[0] = '\0';
    const char *path = entry->line ? entry->file : entry->object[0] ? entry->object : "program", *base = strrchr(path, '/');
    char function[sizeof entry->function], where[CAPTURE_NAME_BYTES / 4];
    text_copy(function, entry->function, sizeof function);
    text_copy(where, base ? base + 1 : path, sizeof where);
    if (entry->line)
        snprintf(entry->name, sizeof entry->name, "%s@%s:%u", function, where, entry->line);
    else
        snprintf(entry->name, sizeof entry->name, "0x%llx@%s", (unsigned long long)entry->code, where);
}

static bool plain_add(struct capture_log *log, struct plain_site *plain, const void *code, const char *source, uint32_t version)
{
    uint32_t count = log->region_count;
    if (count >= CAPTURE_REGIONS_MAX) {
        log->regions_dropped++;
        return false;
    }
    struct capture_region_entry *entry = &log->regions[count];
    *entry = (struct capture_region_entry){.plain = 1, .plugin_version = version};
    struct object_search search = {(uintptr_t)code, entry->object, 0, true};
    dl_iterate_phdr(object_name, &search);
    entry->code = (uintptr_t)code - search.bias;
    plain_describe(entry, source);
    log->histories[count].unwanted = 1;
    plain->site = (struct pcere_site){.abi_version = PCERE_ABI_VERSION, .line = entry->line, .region = entry->name, .function = entry->function,
                                      .file = entry->file, .cookie = (void *)((uintptr_t)count + 1)};
    entry->ready = 1;
    __atomic_store_n(&log->region_count, count + 1, __ATOMIC_RELEASE);
    return true;
}

struct pcere_site *target_plain_site(struct target_state *state, const void *code, const char *source, uint32_t version)
{
    static struct plain_site plains[2 * CAPTURE_REGIONS_MAX];       /* open addressing, never full: so many regions do not fit */
    const uint32_t mask = 2 * CAPTURE_REGIONS_MAX - 1;
    uint32_t first = (uint32_t)((uintptr_t)code * UINT64_C(0x9e3779b97f4a7c15) >> 40) & mask, at = first;
    const void *there;
    while ((there = __atomic_load_n(&plains[at].code, __ATOMIC_ACQUIRE)) && there != code)
        at = (at + 1) & mask;
    if (there)
        return &plains[at].site;
    pthread_mutex_lock(&sites_mutex);
    for (at = first; plains[at].code && plains[at].code != code; at = (at + 1) & mask) {}
    bool known = plains[at].code || plain_add(state->log, &plains[at], code, source, version);
    if (known)
        __atomic_store_n(&plains[at].code, code, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&sites_mutex);
    return known ? &plains[at].site : NULL;
}

/* The cookie of a site is its region's index plus one; UINTPTR_MAX: nothing to be done for it. */
static uint32_t site_enter(struct capture_log *log, struct pcere_site *site)
{
    pthread_mutex_lock(&sites_mutex);
    uint32_t region = region_find_or_add(log, site);
    if (log->site_count < CAPTURE_SITES_MAX)
        log->sites[log->site_count++] = (uintptr_t)site;
    pthread_mutex_unlock(&sites_mutex);
    uintptr_t cookie = region == TARGET_REGION_NONE ? UINTPTR_MAX : (uintptr_t)region + 1;
    __atomic_store_n(&site->cookie, (void *)cookie, __ATOMIC_RELAXED);
    return region;
}

uint32_t target_site_region(struct capture_log *log, struct pcere_site *site)
{
    uintptr_t cookie = (uintptr_t)__atomic_load_n(&site->cookie, __ATOMIC_RELAXED);
    if (__builtin_expect(cookie == 0, 0))
        return site_enter(log, site);
    return cookie <= CAPTURE_REGIONS_MAX ? (uint32_t)(cookie - 1) : TARGET_REGION_NONE;
}
