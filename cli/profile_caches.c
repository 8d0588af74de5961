/* cli/profile_caches.c - which caches the model of caches has, by words or as this machine has them; and whether loops told their iterations. */
#include "cli/profile_run.h"
#include "platform/topology.h"

#include <stdlib.h>
#include <string.h>

static bool number_read(const char **text, uint64_t most, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (**text < '1' || **text > '9')
        return false;
    for (; **text >= '0' && **text <= '9'; ++*text)
        if ((number = number * 10 + (uint64_t)(**text - '0')) > most)
            return false;
    *ret_number = number;
    return true;
}

/* "48KiB/12/64" up to a comma or the end. */
static bool cache_read(const char **text, struct trace_cache *ret_cache)
{
    static const struct { const char *word; uint64_t bytes; } units[] = {{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"K", 1 << 10}, {"M", 1 << 20}, {"", 1}};
    uint64_t bytes, ways, line = 64;
    if (!number_read(text, UINT32_MAX, &bytes))
        return false;
    size_t unit = 0;
    while (strncmp(*text, units[unit].word, strlen(units[unit].word)) != 0)
        unit++;
    *text += strlen(units[unit].word);
    if (*(*text)++ != '/' || !number_read(text, 4096, &ways))
        return false;
    if (**text == '/' && (++*text, !number_read(text, 4096, &line)))
        return false;
    *ret_cache = (struct trace_cache){.bytes = bytes * units[unit].bytes, .ways = (uint32_t)ways, .line_bytes = (uint32_t)line};
    return true;
}

static enum pcere_status caches_of_host(struct trace_cache *ret_caches, struct pcere_error *error)
{
    struct topology topology;
    struct trace_cache caches[2] = {{0}, {0}};
    enum pcere_status status = topology_read(NULL, 0, &topology, error);
    if (status != PCERE_OK)
        return status;
    for (size_t i = 0; i < topology.cache_count; i++)
        if (topology.caches[i].level == 1 || topology.caches[i].level == 2)
            caches[topology.caches[i].level - 1] =
                (struct trace_cache){.bytes = topology.caches[i].bytes, .ways = topology.caches[i].ways, .line_bytes = topology.caches[i].line_bytes};
    topology_done(&topology);
    if (!trace_caches_sound(caches))
        return pcere_fail(error, PCERE_REFUSED, 0, "--caches 32KiB/8,1MiB/16 names some", "this machine does not tell two levels of caches that can be modelled");
    memcpy(ret_caches, caches, sizeof caches);
    return PCERE_OK;
}

enum pcere_status profile_caches_choose(const char *word, struct trace_cache *ret_caches, struct pcere_error *error)
{
    if (!word)
        return caches_of_host(ret_caches, error);
    struct trace_cache caches[2];
    const char *rest = word;
    bool read = cache_read(&rest, &caches[0]) && *rest++ == ',' && cache_read(&rest, &caches[1]) && !*rest;
    if (!read)
        return pcere_fail(error, PCERE_USAGE, 0, "write them as 32KiB/8,1MiB/16 or 32KiB/8/64,1MiB/16/64", "--caches: '%.60s' are not two caches", word);
    if (!trace_caches_sound(caches))
        return pcere_fail(error, PCERE_USAGE, 0, "bytes are sets × ways × bytes of a line; sets and lines are powers of two, and lines of both levels equal",
                          "--caches: '%.60s' cannot be modelled", word);
    memcpy(ret_caches, caches, sizeof caches);
    return PCERE_OK;
}
