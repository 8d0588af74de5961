/* tests/fuzz/fuzz_trace.c - traces of our own: any records and tables under right checksums. They are read as units with labels by both rules, as a profile, as a label graph, as a
 * timeline with its task graph, and as metrics. */
#include "profiler/host/unit_profile.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/trace_parts.h"
#include "trace/dependences.h"
#include "trace/native.h"
#include "trace/native_metrics.h"

#include <xxhash.h>

struct made { int file; size_t bytes, index_bytes; struct trace_index index[TRACE_PARTS_MOST]; };

static void put(const struct made *made, const void *data, size_t bytes, size_t at)
{
    if (pwrite(made->file, data, bytes, (off_t)at) != (ssize_t)bytes)
        abort();
}

static void block_make(struct made *made, const struct trace_part *part, const uint8_t *content, size_t bytes)
{
    bool records = part->kind % 2 == 0;
    static union { struct trace_block block; char room[TRACE_BLOCK_BYTES]; } room;
    struct trace_block *block = &room.block;
    *block = (struct trace_block){
        .magic = TRACE_BLOCK_MAGIC, .kind = records ? TRACE_BLOCK_RECORDS : TRACE_BLOCK_TABLE, .thread = part->thread, .sequence = part->kind / 2,
        .used = (uint32_t)(records ? bytes / sizeof(struct trace_record) : bytes), .base_ticks = 1000, .monotonic_ns = 1000,
    };
    memcpy(block + 1, content, bytes);
    block->checksum = trace_block_checksum(block);
    put(made, block, sizeof *block + bytes, made->bytes);
    made->index[made->index_bytes / sizeof *made->index] = (struct trace_index){.offset = made->bytes, .used = block->used, .thread = block->thread, .kind = block->kind};
    made->index_bytes += sizeof *made->index;
    made->bytes += TRACE_BLOCK_BYTES;
}

static void file_make(const uint8_t *data, size_t size, struct made *made)
{
    const struct trace_parts *parts = (const void *)data;
    static union { struct trace_header header; char room[TRACE_HEADER_BYTES]; } head;
    struct trace_header *header = &head.header;
    memset(&head, 0, sizeof head);
    made->bytes = TRACE_HEADER_BYTES;
    for (size_t at = sizeof *parts; size - at >= sizeof(struct trace_part) && made->index_bytes < sizeof made->index;) {
        const struct trace_part *part = (const void *)(data + at);
        at += sizeof *part;
        size_t bytes = part->bytes[0] | (size_t)part->bytes[1] << 8, room = TRACE_BLOCK_BYTES - sizeof(struct trace_block);
        bytes = bytes < size - at ? bytes : size - at;
        block_make(made, part, data + at, bytes < room ? bytes : room);
        at += bytes;
    }
    memcpy(header->magic, TRACE_MAGIC, sizeof header->magic);
    header->version = TRACE_VERSION;
    header->header_bytes = TRACE_HEADER_BYTES;
    header->block_bytes = TRACE_BLOCK_BYTES;
    header->event_count = parts->events % 8;
    for (uint32_t i = 0; i < header->event_count; i++)
        snprintf(header->events[i].name, sizeof header->events[i].name, "event-%u", i);
    header->attached = TRACE_VERSION;
    header->tool_started = 1;
    header->thread_count = parts->threads % 9;
    header->construct_count = parts->constructs;
    header->clock = parts->clock % 4;
    header->ended = parts->flags & TRACE_PARTS_ENDED ? 1 : 0;
    header->start = (struct trace_anchor){1000, 1000, 1000};
    header->end = (struct trace_anchor){1u << 20, 1u << 21, 1u << 21};
    header->sealed = !(parts->flags & TRACE_PARTS_UNSEALED);
    header->index_offset = made->bytes;
    header->index_count = made->index_bytes / sizeof *made->index;
    header->index_checksum = XXH64(made->index, made->index_bytes, 0);
    header->header_checksum = XXH64(header, TRACE_HEADER_BYTES, 0);
    put(made, header, TRACE_HEADER_BYTES, 0);
    if (ftruncate(made->file, (off_t)(made->bytes + made->index_bytes)) != 0)
        abort();
    put(made, made->index, made->index_bytes, made->bytes);
}

static void units_use(const struct trace_file *file, enum label_rules rules, const char *marked)
{
    static FILE *nowhere;
    char *arguments[] = {NULL};
    const struct unit_profile_run run = {.program = "/bin/x", .arguments = arguments, .environment = arguments, .host = "here"};
    struct pcere_error error = {0};
    struct units units;
    struct profile *profile;
    if (!nowhere && !(nowhere = fopen("/dev/null", "w")))
        abort();
    FUZZ_EXPECT(units_collect(file, &(struct units_options){.rules = rules, .marked = marked}, &units, &error) == PCERE_OK);
    FUZZ_EXPECT(unit_profile_make(&units, rules, &run, &profile, &error) == PCERE_OK);
    FUZZ_EXPECT(profile->count == units.count && profile_check(profile, "made", &error) == PCERE_OK);
    uint64_t active = 0, total = 0;
    for (size_t i = 0; i < units.count; i++)
        active += units.list[i].active_ticks;
    for (size_t i = 0; i < units.thread_count; i++) {
        active += units.outside[i].ticks + units.outside[i].waiting_ticks;
        total += units.outside[i].total_ticks;
    }
    FUZZ_EXPECT(active == total);
    FUZZ_EXPECT(label_graph_write(&units, 100, nowhere, "nowhere", &error) == PCERE_OK);
    profile_free(profile);
    units_done(&units);
}

static void timeline_use(const char *path)
{
    struct timeline timeline = {0};
    struct graph graph = {0};
    struct pcere_error error = {0};
    enum pcere_status status = native_read(path, &timeline, &error);
    FUZZ_EXPECT(status == PCERE_OK || *error.message);
    if (status == PCERE_OK)
        status = timeline_pair(&timeline, &error);
    if (status == PCERE_OK && timeline.task_count && dependences_graph(&timeline, &graph, &error) == PCERE_OK) {
        struct graph_paths paths;
        FUZZ_EXPECT(graph.count >= timeline.task_count);          /* waits are nodes, too */
        FUZZ_EXPECT(graph_paths_find(&graph, &paths, &error) == PCERE_OK);
        graph_paths_done(&paths);
    }
    graph_done(&graph);
    timeline_done(&timeline);
}

static void metrics_use(const char *path)
{
    struct run_metrics metrics;
    struct pop pop;
    struct pcere_error error = {0};
    bool done = false;
    FUZZ_EXPECT(native_metrics(path, 3, &metrics, &pop, &done, &error) == PCERE_OK);
    uint64_t sum = 0;
    for (int part = 0; done && part < POP_PARTS; part++)
        sum += pop.parts_ns[part];
    FUZZ_EXPECT(!done || sum == pop.wall_ns * pop.threads);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[100];
    struct made made = {0};
    struct trace_file *file = NULL;
    struct pcere_error error = {0};
    if (size < sizeof(struct trace_parts))
        return 0;
    snprintf(path, sizeof path, "%s/trace", fuzz_folder_get());
    if ((made.file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) < 0)
        abort();
    file_make(data, size, &made);
    close(made.file);
    enum pcere_status status = trace_file_open(path, &file, &error);
    FUZZ_EXPECT(status == PCERE_OK || (status == PCERE_DATA && *error.message));
    if (status == PCERE_OK) {
        units_use(file, LABEL_RULES_PCERE, NULL);
        units_use(file, LABEL_RULES_PAPER, NULL);
        units_use(file, LABEL_RULES_PCERE, "0.17");
        trace_file_close(file);
    }
    timeline_use(path);
    metrics_use(path);
    return 0;
}
