/* tests/fuzz/make_corpus.c - writes the inputs that the fuzzers start from: make_corpus DIRECTORY SEED_PROGRAM
 *
 *   DIRECTORY/manifest/ codelet/ pages/ samples/ elf_file/     one whole file each
 *   DIRECTORY/profile/ trace/ chrome/ dot/ character/          the same; a trace as trace_parts.h has it
 *   DIRECTORY/pack/                                            the archive in a packed store, not compressed
 */
#include "core/files.h"
#include "store/character.h"
#include "store/store.h"
#include "tests/fuzz/seed_runs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static void must(enum pcere_status status, const struct pcere_error *error)
{
    if (!status)
        return;
    fprintf(stderr, "make_corpus: %s\n", error->message);
    exit(1);
}

static void put(const char *folder, const char *kind, const char *source)
{
    char path[4200];
    struct pcere_error error;
    snprintf(path, sizeof path, "%s/%s", folder, kind);
    must(directory_make(AT_FDCWD, path, &error), &error);
    snprintf(path, sizeof path, "%s/%s/seed", folder, kind);
    must(file_copy(source, AT_FDCWD, path, NULL, &error), &error);
}

static void make_store(const char *path)
{
    struct store_writer *writer;
    struct store *store;
    struct pcere_error error;
    unsigned char data[3 * 512] = {1, 2, 3};
    uint64_t pages[3], words[2] = {1, 2}, times[2] = {3, 4}, stored;
    memset(data + 1024, 9, 512);
    must(store_writer_open(path, true, 512, 1, &writer, &error), &error);
    must(store_writer_pages(writer, data, 3, pages, &error), &error);
    struct store_mapping mapping[2] = {{4096, 4096 + sizeof data, 3, STORE_ROLE_HEAP, "[heap]"}, {8192, 8192 + 512, 1, STORE_ROLE_ANONYMOUS, "memfd:seed"}};
    struct store_alias alias = {8192, 4096, 512};
    struct store_run runs[3], allocated = {1u << 20, pages[1], 1};
    for (size_t i = 0; i < 3; i++)
        runs[i] = (struct store_run){4096 + 512 * i, pages[i], 1};
    struct store_thread thread = {.number = 0, .tls_address = 4096, .tls_bytes = 64};
    struct store_lock lock = {.address = 4100};
    struct store_frame frame = {0x401000, "main"};
    struct store_range ignored = {4200, 8};
    struct store_descriptor descriptor = {.number = 5, .kind = STORE_DESCRIPTOR_FILE, .marks = STORE_DESCRIPTOR_READ | STORE_DESCRIPTOR_CONTENT,
                                          .offset = 100, .bytes = 700, .content_count = 2, .path = "/tmp/seed.txt"};
    struct store_stream stream = {.address = 4300, .descriptor = 5, .bytes = {1}};
    struct store_random random = {.kind = STORE_RANDOM_TABLE, .bytes = 128, .before = {3}};
    struct store_run contents[2] = {{0, pages[0], 1}, {512, pages[2], 1}};
    struct store_codelet codelet = {
        .region = (char[]){"main@seed.c:1"}, .invocation = 1, .members = 1, .words = words, .word_count = 2, .mappings = mapping,
        .mapping_count = 2, .aliases = &alias, .alias_count = 1, .before = runs, .before_count = 3, .after = runs, .after_count = 1, .has_after = true, .made = &allocated, .made_count = 1,
        .threads = &thread, .thread_count = 1, .locks = &lock, .lock_count = 1, .frames = &frame, .frame_count = 1,
        .ignored = &ignored, .ignored_count = 1,
        .descriptors = &descriptor, .descriptor_count = 1, .streams = &stream, .stream_count = 1, .contents = contents, .content_count = 2,
        .randoms = &random, .random_count = 1, .externals = runs, .external_count = 1};
    char *name;
    must(store_writer_codelet(writer, &codelet, &name, &stored, &error), &error);
    char *arguments[] = {(char[]){"-n"}, NULL};
    struct store_class class = {.representative = 1, .members = 1, .captured = true, .codelet = name};
    struct store_region region = {.name = (char[]){"main@seed.c:1"}, .status = (char[]){"captured"}, .invocations = 1,
                                  .classes = &class, .class_count = 1};
    struct store_limit not_entered = {(char[]){"work@seed.c:9"}, (char[]){PCERE_THREADS_ENTERED "2 threads on"}};
    struct store_manifest manifest = {.complete = true, .program = (char[]){"./seed"}, .arguments = arguments,
                                      .regions = &region, .region_count = 1, .not_entered = &not_entered, .not_entered_count = 1};
    must(store_writer_manifest(writer, &manifest, &error), &error);
    store_writer_close(writer);
    struct store_sample sample = {.kind = (char[]){"replay"}, .host_name = (char[]){"here"}, .region = (char[]){"main@seed.c:1"},
                                  .samples_ns = times, .sample_count = 2};
    must(store_open(path, &store, &error), &error);
    must(store_sample_append(store, &sample, &error), &error);
    must(store_sample_append(store, &sample, &error), &error);
    const struct store_series series = {.region = (char[]){"main@seed.c:1"}, .invocations = 2, .count = 2, .number = (uint64_t[]){1, 2},
                                        .begin_ns = (uint64_t[]){0, 9}, .time_ns = (uint64_t[]){5, 6}, .representative = (uint64_t[]){1, 0}};
    must(store_invocations_write(store, &series, 1, &error), &error);
    struct character_thread per_thread[2] = {{.moves = 9, .branches = 3, .reuse = {.uses = {{{5, 1}, {0, 7}}}, .cold = {{2, 3}}, .writebacks = {4}}}};
    struct character_code code = {.text = (char[]){"addq %rax, %rbx\n"}, .instructions = 1, .moved_bytes = 8, .loop = true, .counts = words};
    struct character_call call = {.name = (char[]){"sqrt"}, .counts = times};
    const struct store_character character = {.threads = 2, .team = 2, .line_bytes = 64, .followed_ratio = 1, .isa = (char[]){"x86-64"}, .memory_bytes = 4096, .codes = &code, .code_count = 1,
                                              .calls = &call, .call_count = 1, .per_thread = per_thread};
    must(store_character_write(store, "seed", &character, &error), &error);
    store_close(store);
    free(name);
}

/* Archives of the seed are small: they fit a fixed buffer. */
static void put_archive(const char *folder, const char *path)
{
    static unsigned char plain[1 << 20];
    char file[4200];
    void *data;
    size_t bytes;
    struct store *store;
    struct store_pack sizes;
    struct pcere_error error;
    snprintf(file, sizeof file, "%s/seed.tar.zst", folder);
    must(store_open(path, &store, &error), &error);
    must(store_pack(store, file, true, &sizes, &error), &error);
    store_close(store);
    must(file_read(AT_FDCWD, file, sizeof plain, &data, &bytes, &error), &error);
    ZSTD_DStream *stream = ZSTD_createDStream();
    ZSTD_inBuffer in = {data, bytes, 0};
    ZSTD_outBuffer out = {plain, sizeof plain, 0};
    while (ZSTD_decompressStream(stream, &out, &in) != 0 && in.pos < in.size && out.pos < out.size) {}
    ZSTD_freeDStream(stream);
    free(data);
    snprintf(file, sizeof file, "%s/seed.tar", folder);
    must(file_replace(AT_FDCWD, file, plain, out.pos, false, NULL, &error), &error);
    put(folder, "pack", file);
}

int main(int argc, char **argv)
{
    struct pcere_error error;
    char store[4096], path[4200];
    if (argc != 4)
        return 2;
    must(directory_make(AT_FDCWD, argv[1], &error), &error);
    snprintf(store, sizeof store, "%s/seed.pcere", argv[1]);
    make_store(store);
    static const char *const files[][2] = {{"manifest", "manifest.json"}, {"pages", "pages"}, {"samples", "samples.jsonl"}, {"invocations", "invocations.json"},
                                           {"codelet", "codelets/main@seed.c_1-1.codelet"}, {"character", "codelets/seed.2.character"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", store, files[i][1]);
        put(argv[1], files[i][0], path);
    }
    put(argv[1], "elf_file", argv[2]);
    put(argv[1], "debug_info", argv[3]);
    put_archive(argv[1], store);
    seed_runs_make(argv[1]);
    return 0;
}
