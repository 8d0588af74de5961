#include "core/host.h"

#include "core/files.h"
#include "core/json.h"
#include "core/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define HOST_FILE "/etc/pcere/host"
#define CPU_DIRECTORY "/sys/devices/system/cpu"
#define NODE_DIRECTORY "/sys/devices/system/node"
#define HOST_CPUS_MOST 65536
#define HOST_FILE_BYTES_MOST ((size_t)64 << 20)

static char given_name[HOST_NAME_BYTES];

bool host_name_valid(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
            return false;
    return length > 0 && length < HOST_NAME_BYTES && isalnum((unsigned char)name[0]);
}

enum pcere_status host_set_name(const char *name, struct pcere_error *error)
{
    if (name && *name && !host_name_valid(name))
        return pcere_fail(error, PCERE_USAGE, 0, "use one word of letters, digits, '.', '_' and '-'",
                          "'%.80s' is not a name for a machine", name);
    snprintf(given_name, sizeof given_name, "%s", name ? name : "");
    return PCERE_OK;
}

/* First line of a small file, malloc'ed; NULL if it cannot be read. */
static char *read_line(const char *path)
{
    void *data;
    size_t bytes;
    if (file_read(AT_FDCWD, path, HOST_FILE_BYTES_MOST, &data, &bytes, NULL))
        return NULL;
    char *line = data;
    line[strcspn(line, "\n")] = 0;
    return line;
}

/* Value behind "KEY<blanks>: " in a file such as /proc/cpuinfo, malloc'ed; NULL without it. */
static char *read_field(const char *path, const char *key)
{
    void *data;
    size_t bytes;
    if (file_read(AT_FDCWD, path, HOST_FILE_BYTES_MOST, &data, &bytes, NULL))
        return NULL;
    char *value = NULL;
    for (char *rest = data, *line; !value && (line = strsep(&rest, "\n"));) {
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        char *colon = line + strlen(key) + strspn(line + strlen(key), " \t");
        if (*colon == ':')
            value = strdup(colon + 1 + strspn(colon + 1, " \t"));
    }
    free(data);
    return value;
}

static char *cpu_line(unsigned cpu, const char *file)
{
    char path[160];
    snprintf(path, sizeof path, CPU_DIRECTORY "/cpu%u/%s", cpu, file);
    return read_line(path);
}

/* How many CPUs a kernel list such as "0-3,8" names; calls `each` (may be NULL) for every one. 0: not such a list. */
static unsigned cpu_list_walk(const char *list, void (*each)(unsigned cpu, void *context), void *context)
{
    unsigned count = 0;
    for (const char *at = list; *at;) {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (end == at)
            return 0;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (last < first || last >= HOST_CPUS_MOST)
            return 0;
        for (unsigned long cpu = first; cpu <= last; cpu++, count++)
            if (each)
                each((unsigned)cpu, context);
        if (*end != ',')
            break;
        at = end + 1;
    }
    return count;
}

/* A core is counted at the first of the CPUs that share it. */
static void count_core(unsigned cpu, void *context)
{
    unsigned *cores = context;
    char *siblings = cpu_line(cpu, "topology/thread_siblings_list");
    if (!siblings || strtoul(siblings, NULL, 10) == cpu)
        ++*cores;
    free(siblings);
}

static void count_cpus(unsigned *ret_cores, unsigned *ret_threads)
{
    char *online = read_line(CPU_DIRECTORY "/online");
    unsigned cores = 0;
    unsigned threads = online ? cpu_list_walk(online, count_core, &cores) : 0;
    free(online);
    if (!threads) {
        long count = sysconf(_SC_NPROCESSORS_ONLN);
        threads = cores = count > 0 ? (unsigned)count : 1;
    }
    *ret_cores = cores ? cores : threads;
    *ret_threads = threads;
}

static char *cpu_model(void)
{
    char *model = read_field("/proc/cpuinfo", "model name");
    if (model)
        return model;
    struct utsname system;
    return strdup(uname(&system) == 0 ? system.machine : "cpu");
}

char *host_described_name(const char *description)
{
    json_t *host = description ? json_loads(description, 0, NULL) : NULL;
    const char *name = json_string_value(json_object_get(host, "name"));
    char *copy = name ? strdup(name) : NULL;
    json_decref(host);
    return copy;
}

enum pcere_status host_cpu_features(char **ret_features, struct pcere_error *error)
{
    char *features = read_field("/proc/cpuinfo", "flags");
    if (!features)
        features = read_field("/proc/cpuinfo", "Features");
    if (!features)
        return pcere_fail(error, PCERE_SYSTEM, 0, "mount /proc", "/proc/cpuinfo does not tell what the processor can do");
    *ret_features = features;
    return PCERE_OK;
}

/* "Intel(R) Xeon(R) CPU E5-2690 0 @ 2.90GHz", 16: "intel-xeon-cpu-e5-2690-0-16". */
static char *name_from_model(const char *model, unsigned cores)
{
    char word[HOST_NAME_BYTES - 12];
    size_t length = 0;
    for (const char *at = model; *at && *at != '@' && length < sizeof word - 1; at++) {
        if (*at == '(') {
            const char *close = strchr(at, ')');
            if (close) {
                at = close;
                continue;
            }
        }
        if (isalnum((unsigned char)*at))
            word[length++] = (char)tolower((unsigned char)*at);
        else if (length && word[length - 1] != '-')
            word[length++] = '-';
    }
    while (length && word[length - 1] == '-')
        length--;
    word[length] = 0;
    char *name;
    return asprintf(&name, "%s-%u", length ? word : "cpu", cores) < 0 ? NULL : name;
}

enum pcere_status host_name(char **ret_name, struct pcere_error *error)
{
    char *name;
    if (*given_name)
        name = strdup(given_name);
    else if ((name = read_line(HOST_FILE))) {
        name[strcspn(name, " \t\r")] = 0;
        if (!host_name_valid(name)) {
            free(name);
            return pcere_fail(error, PCERE_DATA, 0, "write one word of letters, digits, '.', '_' and '-' into it",
                              "'" HOST_FILE "' does not hold a name for this machine");
        }
    } else {
        unsigned cores, threads;
        count_cpus(&cores, &threads);
        char *model = cpu_model();
        name = model ? name_from_model(model, cores) : NULL;
        free(model);
    }
    if (!name)
        return pcere_fail_memory(error, "the name of this machine");
    *ret_name = name;
    return PCERE_OK;
}

/* "32768K" as bytes; 0: unknown. */
static uint64_t parse_cache_size(const char *text)
{
    char *end;
    unsigned long long size = strtoull(text, &end, 10);
    unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    return size < (1ull << 30) ? (uint64_t)size << shift : 0;
}

/* Of the first processor's caches. */
static char *cache_line(unsigned index, const char *file)
{
    char path[64];
    snprintf(path, sizeof path, "cache/index%u/%s", index, file);
    return cpu_line(0, path);
}

uint64_t host_largest_cache_bytes(void)
{
    uint64_t largest_bytes = 0;
    char *line = NULL;
    for (unsigned index = 0; index < 16; index++) {
        if (!(line = cache_line(index, "size")))
            break;
        uint64_t bytes = parse_cache_size(line);
        largest_bytes = bytes > largest_bytes ? bytes : largest_bytes;
        free(line);
    }
    return largest_bytes;
}

uint64_t host_private_cache_bytes(void)
{
    uint64_t private_bytes = 0;
    char *core = cpu_line(0, "topology/thread_siblings_list");
    for (unsigned index = 0; core && index < 16; index++) {
        char *size = cache_line(index, "size"), *shared = cache_line(index, "shared_cpu_list");
        uint64_t bytes = size && shared && strcmp(shared, core) == 0 ? parse_cache_size(size) : 0;
        private_bytes = bytes > private_bytes ? bytes : private_bytes;
        free(size);
        free(shared);
    }
    free(core);
    return private_bytes;
}

static json_t *number_or_null(uint64_t value)
{
    return value ? json_from_u64(value) : json_null();
}

static json_t *describe_caches(bool *failed)
{
    json_t *caches = json_array();
    for (unsigned index = 0; index < 16; index++) {
        static const char *const files[] = {"level", "type", "size", "coherency_line_size", "shared_cpu_list"};
        char *lines[5];
        for (unsigned i = 0; i < 5; i++)
            lines[i] = cache_line(index, files[i]);
        bool there = lines[0] && lines[1];
        if (there) {
            json_t *cache = json_object();
            json_put(cache, "level", number_or_null(strtoul(lines[0], NULL, 10)), failed);
            json_put(cache, "type", json_from_string(lines[1]), failed);
            json_put(cache, "bytes", number_or_null(lines[2] ? parse_cache_size(lines[2]) : 0), failed);
            json_put(cache, "line_bytes", number_or_null(lines[3] ? strtoul(lines[3], NULL, 10) : 0), failed);
            json_put(cache, "shared_by", number_or_null(lines[4] ? cpu_list_walk(lines[4], NULL, NULL) : 0), failed);
            if (json_array_append_new(caches, cache) != 0)
                *failed = true;
        }
        for (unsigned i = 0; i < 5; i++)
            free(lines[i]);
        if (!there)
            break;
    }
    return caches;
}

enum pcere_status host_describe(json_t **ret_object, struct pcere_error *error)
{
    char *name;
    enum pcere_status status = host_name(&name, error);
    if (status)
        return status;
    unsigned cores, threads;
    count_cpus(&cores, &threads);
    char *model = cpu_model();
    char *memory = read_field("/proc/meminfo", "MemTotal");
    struct utsname system = {0};
    uname(&system);

    bool failed = false;
    json_t *host = json_object();
    json_put(host, "name", json_from_string(name), &failed);
    json_put(host, "cpu", json_from_string(model), &failed);
    json_put(host, "architecture", json_from_string(system.machine), &failed);
    json_put(host, "cores", json_from_u64(cores), &failed);
    json_put(host, "threads", json_from_u64(threads), &failed);
    json_put(host, "memory_bytes", number_or_null(memory ? strtoull(memory, NULL, 10) * 1024 : 0), &failed);
    json_put(host, "page_size_bytes", json_from_u64((uint64_t)sysconf(_SC_PAGESIZE)), &failed);
    json_put(host, "kernel", json_from_string(system.release), &failed);
    json_put(host, "caches", describe_caches(&failed), &failed);
    free(name);
    free(model);
    free(memory);
    if (failed) {
        json_decref(host);
        return pcere_fail_memory(error, "the description of this machine");
    }
    *ret_object = host;
    return PCERE_OK;
}

/* "cpu3/node1" is a link: its name says the node. */
static uint32_t node_of(size_t cpu)
{
    char path[80];
    uint32_t node = UINT32_MAX;
    snprintf(path, sizeof path, CPU_DIRECTORY "/cpu%zu", cpu);
    DIR *directory = opendir(path);
    for (const struct dirent *entry; directory && (entry = readdir(directory));)
        if (strncmp(entry->d_name, "node", 4) == 0 && isdigit((unsigned char)entry->d_name[4]))
            node = (uint32_t)strtoul(entry->d_name + 4, NULL, 10);
    if (directory)
        closedir(directory);
    return node;
}

enum pcere_status host_cpu_nodes(uint32_t **ret_nodes, size_t *ret_count, struct pcere_error *error)
{
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    size_t count = configured < 1 ? 1 : configured > HOST_CPUS_MOST ? HOST_CPUS_MOST : (size_t)configured;
    bool has_nodes = access(NODE_DIRECTORY, F_OK) == 0;
    uint32_t *nodes = calloc(count, sizeof *nodes);
    if (!nodes)
        return pcere_fail_memory(error, "the nodes");
    for (size_t cpu = 0; cpu < count && has_nodes; cpu++)
        nodes[cpu] = node_of(cpu);
    *ret_nodes = nodes;
    *ret_count = count;
    return PCERE_OK;
}
