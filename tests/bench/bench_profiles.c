/* tests/bench/bench_profiles.c - writes profiles of many XUs, as runs of one program with dynamic schedules and tasks give them. Run by scripts/bench-profiles.
 *
 *   bench_profiles DIRECTORY PROFILES XUS
 *
 * DIRECTORY/1.pcx and so on: each has one event that all have and four of its own. An XU has its label in each, and counts that differ by 2 %; which thread it
 * ran on, and when, differ. Of a hundred constructs a few have most of the XUs. The same words write the same bytes.
 */
#include "analysis/profile.h"
#include "core/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONSTRUCTS = 100, OWN_EVENTS = 4, EVENTS = OWN_EVENTS + 1 };

static uint64_t state = 0x9e3779b97f4a7c15ull;

static uint64_t chance(uint64_t most)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % most;
}

/* A number that is always the same for an XU and an event. */
static uint64_t mixed(uint64_t a, uint64_t b)
{
    uint64_t x = (a * 64 + b) * 0x9e3779b97f4a7c15ull;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9ull;
    return x ^ x >> 32;
}

static void must(enum pcere_status status, const struct pcere_error *error)
{
    if (status == PCERE_OK)
        return;
    fprintf(stderr, "bench_profiles: %s\n", error->message);
    exit((int)status);
}

static void tables_fill(struct profile *profile, unsigned number, uint64_t xus)
{
    struct pcere_error error;
    char program[] = "/bin/bench", build[] = "00", host[] = "here", unit[] = "1", backend[] = "sw", name[40];
    struct profile_run run = {.program = program, .build_id = build, .host = host, .threads = 8, .level = 1, .wall_ns = xus * 1000, .xus = xus};
    must(profile_add_run(profile, &run, NULL, &error), &error);
    for (unsigned i = 0; i < EVENTS; i++) {
        snprintf(name, sizeof name, i ? "event-%u" : "common", i + number * OWN_EVENTS);
        must(profile_add_event(profile, &(struct profile_event){.name = name, .unit = unit, .backend = backend}, NULL, &error), &error);
    }
    for (unsigned i = 0; i < CONSTRUCTS; i++) {
        snprintf(name, sizeof name, "solve@bench.c:%u", 10 + i);
        must(profile_add_construct(profile, 1000 + i, name, NULL, &error), &error);
    }
}

static struct profile *profile_make(unsigned number, uint64_t xus)
{
    struct pcere_error error;
    struct profile *profile = profile_new();
    if (!profile)
        abort();
    tables_fill(profile, number, xus);
    must(profile_reserve(profile, xus, &error), &error);
    for (uint64_t i = 0; i < xus; i++) {
        uint64_t part = mixed(i / 1000, 0) % CONSTRUCTS, construct = part * part / CONSTRUCTS, size = 1000 + mixed(i, 1) % 100000;
        char label[120];
        if (i % 2)
            snprintf(label, sizeof label, "0.%llu@main@bench.c:7.%llu@solve@bench.c:%llu.%llu", (unsigned long long)(i / 100000), (unsigned long long)(i / 1000),
                     (unsigned long long)construct + 10, (unsigned long long)(i % 1000) * 16);
        else
            snprintf(label, sizeof label, "0.%llu@main@bench.c:7.0.%llu@solve@bench.c:%llu.%llu", (unsigned long long)(i / 100000), (unsigned long long)(i / 1000 % 8),
                     (unsigned long long)construct + 10, (unsigned long long)(i % 100000));
        uint64_t counts[EVENTS];
        for (unsigned event = 0; event < EVENTS; event++) {
            uint64_t exact = size * (1 + mixed(construct, event ? event + number * OWN_EVENTS : 0) % 7);
            counts[event] = exact + exact * chance(41) / 1000 - exact / 50;
        }
        must(profile_add_xu(profile, &(struct profile_xu){
                                         .label = label, .kind = i % 2 ? PROFILE_DYNAMIC_CHUNK : PROFILE_TASK, .construct = (uint32_t)construct,
                                         .thread = (uint32_t)chance(8), .cpu = (uint32_t)chance(8), .start_ns = i * 1000 + chance(100000),
                                         .active_ns = size + chance(1000), .counts = counts}, &error), &error);
    }
    must(profile_sort(profile, &error), &error);
    return profile;
}

int main(int argc, char **argv)
{
    struct pcere_error error = {0};
    uint64_t profiles = 0, xus = 0;
    if (argc != 4 || units_parse_count("PROFILES", argv[2], 2, 1000, &profiles, &error) || units_parse_count("XUS", argv[3], 1, PROFILE_XUS_MOST, &xus, &error)) {
        fprintf(stderr, "usage: bench_profiles DIRECTORY PROFILES XUS\n%s\n", error.message);
        return 2;
    }
    for (unsigned i = 0; i < profiles; i++) {
        char path[4096];
        struct profile *profile = profile_make(i, xus);
        snprintf(path, sizeof path, "%s/%u.pcx", argv[1], i + 1);
        must(profile_write(profile, path, true, &error), &error);
        profile_free(profile);
    }
    return 0;
}
