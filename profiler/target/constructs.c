/* profiler/target/constructs.c - which construct of the program a call of the OpenMP runtime belongs to.
 *
 * With the plugin an ident says its id; else the source place that the compiler wrote into it names the construct, or where the call lies in its
 * module. All of it goes to the file's tables once; the answer is remembered by thread and by process.
 */
#include "profiler/target/recorder.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define SITES (1u << 16)            /* of the process; a power of two */
#define MODULES 512u

struct module { uintptr_t low, high, bias; uint64_t name_hash; };

static struct {
    pthread_mutex_t lock;
    struct recorder_site *sites;
    struct { uint64_t id; uint32_t index, kind; } *constructs;     /* by id */
    uint32_t site_count, construct_count;
    struct module modules[MODULES];
    uint32_t module_count;
    struct trace_block *table;
    uint32_t table_used, table_sequence;
} tables = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t text_hash(uint64_t hash, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return mix(hash, bytes);
}

static void *table_room(uint32_t bytes)
{
    if (tables.table && sizeof(struct trace_block) + tables.table_used + bytes > TRACE_BLOCK_BYTES) {
        munmap(tables.table, TRACE_BLOCK_BYTES);
        tables.table = NULL;
    }
    if (!tables.table) {
        tables.table = recorder_block(TRACE_BLOCK_TABLE, 0, tables.table_sequence++);
        tables.table_used = 0;
    }
    if (!tables.table)
        return NULL;
    return (char *)(tables.table + 1) + tables.table_used;
}

/* `texts` are put one behind the other, each with its NUL, each cut to what an entry may hold. */
static bool entry_add(const struct trace_entry *entry, const char *const *texts, const size_t *lengths, size_t count)
{
    enum { TEXT_MOST = 6000 };
    size_t bytes = sizeof *entry;
    for (size_t i = 0; i < count; i++)
        bytes += (lengths[i] < TEXT_MOST ? lengths[i] : TEXT_MOST) + 1;
    bytes = (bytes + 7) / 8 * 8;
    struct trace_entry *room = table_room((uint32_t)bytes);
    if (!room)
        return false;
    *room = *entry;
    room->bytes = (uint32_t)bytes;
    char *text = room->text;
    for (size_t i = 0; i < count; i++) {
        size_t length = lengths[i] < TEXT_MOST ? lengths[i] : TEXT_MOST;
        memcpy(text, texts[i], length);
        text += length + 1;
    }
    tables.table_used += (uint32_t)bytes;
    __atomic_store_n(&tables.table->used, tables.table_used, __ATOMIC_RELEASE);     /* all of it, or nothing */
    return true;
}

void recorder_thread_entry(uint32_t thread, uint32_t kernel_id, uint64_t type)
{
    pthread_mutex_lock(&tables.lock);
    entry_add(&(struct trace_entry){.kind = TRACE_ENTRY_THREAD, .index = thread, .module = kernel_id, .id = type}, NULL, NULL, 0);
    pthread_mutex_unlock(&tables.lock);
}

struct module_search { uintptr_t address; struct module found; char path[4096]; char build_id[64]; };

static void build_id_read(const struct dl_phdr_info *info, const ElfW(Phdr) *header, struct module_search *search)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = (const char *)(info->dlpi_addr + header->p_vaddr), *end = at + header->p_memsz;
    while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)at;
        const char *name = at + sizeof *note, *bytes = name + (note->n_namesz + 3) / 4 * 4;
        const char *next = bytes + (note->n_descsz + 3) / 4 * 4;
        if (next > end || next <= at)
            return;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
            size_t count = note->n_descsz < 31 ? note->n_descsz : 31;
            for (size_t i = 0; i < count; i++) {
                search->build_id[2 * i] = digits[(unsigned char)bytes[i] >> 4];
                search->build_id[2 * i + 1] = digits[bytes[i] & 15];
            }
        }
        at = next;
    }
}

static int module_visit(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes;
    struct module_search *search = context;
    bool here = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && search->address >= low && search->address - low < header->p_memsz) {
            search->found = (struct module){low, low + header->p_memsz, info->dlpi_addr, 0};
            here = true;
        }
    }
    if (!here)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            build_id_read(info, &info->dlpi_phdr[i], search);
    size_t length = strnlen(info->dlpi_name, sizeof search->path - 1);
    memcpy(search->path, info->dlpi_name, length);
    return 1;
}

/* Number of the module in the table, from 1; 0: unknown. */
static uint32_t module_of(const void *address, struct module *ret_module)
{
    uintptr_t place = (uintptr_t)address;
    for (uint32_t i = 0; i < tables.module_count; i++)
        if (place >= tables.modules[i].low && place < tables.modules[i].high) {
            *ret_module = tables.modules[i];
            return i + 1;
        }
    static struct module_search search;         /* under the lock */
    memset(&search, 0, sizeof search);
    search.address = place;
    if (!dl_iterate_phdr(module_visit, &search) || tables.module_count == MODULES)
        return 0;
    const char *base = strrchr(search.path, '/');
    base = base ? base + 1 : search.path;
    const char *named = search.build_id[0] ? search.build_id : base;
    search.found.name_hash = text_hash(14695981039346656037u, named, strlen(named));
    uint32_t number = tables.module_count + 1;
    const char *texts[] = {search.path, search.build_id};
    size_t lengths[] = {strlen(search.path), strlen(search.build_id)};
    if (!entry_add(&(struct trace_entry){.kind = TRACE_ENTRY_MODULE, .index = number, .id = search.found.name_hash}, texts, lengths, 2))
        return 0;
    tables.modules[tables.module_count++] = search.found;
    *ret_module = search.found;
    return number;
}

/* ";file;function;line;column;;": does it name a line? Its four fields' length goes to *ret_bytes; *ret_id: of ";pcere:<16 digits>;" behind them. */
static bool source_names_line(const char *source, size_t *ret_bytes, uint64_t *ret_id)
{
    *ret_id = 0;
    *ret_bytes = 0;
    if (!source || source[0] != ';')
        return false;
    const char *mark = strstr(source, ";pcere:");
    if (mark) {
        uint64_t id = 0;
        const char *at = mark + 7;
        int digits = 0;
        for (; digits < 16; digits++, at++) {
            int digit = *at >= '0' && *at <= '9' ? *at - '0' : *at >= 'a' && *at <= 'f' ? *at - 'a' + 10 : -1;
            if (digit < 0)
                break;
            id = id << 4 | (unsigned)digit;
        }
        if (digits == 16 && *at == ';')
            *ret_id = id;
    }
    const char *fields[6];
    size_t count = 0;
    for (const char *at = source; *at && count < 6; at++)
        if (*at == ';')
            fields[count++] = at;
    if (count < 5)
        return false;
    *ret_bytes = (size_t)(fields[4] - source);
    return fields[2][1] >= '1' && fields[2][1] <= '9';
}

static uint32_t construct_find(uint64_t id, uint32_t kind)
{
    for (uint32_t i = (uint32_t)mix(id, kind) % SITES; tables.constructs[i].index; i = (i + 1) % SITES)
        if (tables.constructs[i].id == id && tables.constructs[i].kind == kind)
            return tables.constructs[i].index;
    return 0;
}

static uint32_t construct_add(uint64_t id, uint32_t kind, uint32_t basis, const struct recorder_ident *ident, size_t source_bytes,
                              uint32_t module, uint64_t offset)
{
    if (tables.construct_count >= SITES / 2)
        return 0;
    uint32_t index = tables.construct_count + 1;
    const char *texts[] = {source_bytes ? ident->source : ""};
    size_t lengths[] = {source_bytes};
    struct trace_entry entry = {.kind = TRACE_ENTRY_CONSTRUCT, .construct_kind = (uint8_t)kind, .basis = (uint8_t)basis, .index = index,
                                .module = module, .id = id, .offset = offset};
    if (!entry_add(&entry, texts, lengths, 1))
        return 0;
    tables.construct_count++;
    struct trace_header *header = recorder_state->header;
    header->construct_count = index;
    uint64_t *counts[] = {&header->by_id, &header->by_source, &header->by_address};
    ++*counts[basis - TRACE_BY_ID];
    uint32_t i = (uint32_t)mix(id, kind) % SITES;
    while (tables.constructs[i].index)
        i = (i + 1) % SITES;
    tables.constructs[i].id = id;
    tables.constructs[i].kind = kind;
    tables.constructs[i].index = index;
    return index;
}

static uint32_t site_add(const struct recorder_ident *ident, const void *address, uint32_t kind)
{
    struct module module = {0};
    uint32_t number = module_of(address, &module);
    uint64_t offset = number ? (uintptr_t)address - module.bias : 0, id = 0;
    size_t source_bytes = 0;
    uint32_t basis = TRACE_BY_ADDRESS;
    bool named = ident && source_names_line(ident->source, &source_bytes, &id);
    if (id) {
        basis = TRACE_BY_ID;
    } else if (named) {
        basis = TRACE_BY_SOURCE;
        id = text_hash(14695981039346656037u, ident->source, source_bytes);
    } else {
        source_bytes = 0;
        id = mix(mix(module.name_hash, offset), 1);
    }
    uint32_t index = construct_find(id, kind);
    return index ? index : construct_add(id, kind, basis, ident, source_bytes, number, offset);
}

static bool tables_ready(void)
{
    if (tables.sites && tables.constructs)
        return true;
    void *sites = mmap(NULL, SITES * sizeof *tables.sites, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void *constructs = mmap(NULL, SITES * sizeof *tables.constructs, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (sites == MAP_FAILED || constructs == MAP_FAILED)
        return false;
    tables.sites = sites;
    tables.constructs = constructs;
    return true;
}

uint32_t recorder_construct_slow(struct recorder *recorder, const struct recorder_ident *ident, const void *address, uint32_t kind)
{
    uint32_t index = 0;
    pthread_mutex_lock(&tables.lock);
    if (tables_ready()) {
        uint32_t at = (uint32_t)mix(mix((uintptr_t)ident, (uintptr_t)address), kind) % SITES;
        struct recorder_site *site = &tables.sites[at];
        while (site->index && (site->ident != ident || site->address != address || site->kind != kind))
            site = &tables.sites[at = (at + 1) % SITES];
        index = site->index;
        struct recorder_ident variable = {.source = address};        /* the compiler's text about it is all that there is of one */
        if (!index && tables.site_count < SITES / 2 && (index = site_add(kind == TRACE_VARIABLE ? &variable : ident, address, kind))) {
            *site = (struct recorder_site){ident, address, index, kind};
            tables.site_count++;
        }
    }
    if (!index)
        recorder_state->header->unnamed++;
    pthread_mutex_unlock(&tables.lock);
    if (index) {
        uintptr_t mixed = ((uintptr_t)ident >> 4) * 31 + ((uintptr_t)address ^ (uintptr_t)address >> 7) + kind;
        recorder->cache[mixed % RECORDER_CACHE] = (struct recorder_site){ident, address, index, kind};
    }
    return index;
}
