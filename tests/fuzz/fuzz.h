/* tests/fuzz/fuzz.h - what the fuzzers share: a temporary directory that goes away, and files in it.
 *
 * Checksums would stop a fuzzer at once. So each makes them right first, as someone would who wants to do harm, and only then reads.
 */
#ifndef PCERE_TESTS_FUZZ_H
#define PCERE_TESTS_FUZZ_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char fuzz_folder[64];

static void fuzz_folder_remove(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", fuzz_folder);
    if (system(command) != 0)
        fputs("fuzz: cannot remove the temporary directory\n", stderr);
}

/* The directory, made at the first call; in memory where that is possible. */
static inline const char *fuzz_folder_get(void)
{
    if (*fuzz_folder)
        return fuzz_folder;
    snprintf(fuzz_folder, sizeof fuzz_folder, "%s/pcere-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(fuzz_folder))
        abort();
    atexit(fuzz_folder_remove);
    return fuzz_folder;
}

static inline void fuzz_write(const char *path, const void *data, size_t bytes)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0 || write(descriptor, data, bytes) != (ssize_t)bytes)
        abort();
    close(descriptor);
}

/* A failure must come with a status that says data, or memory, and a sentence. */
#define FUZZ_EXPECT(condition)                                                  \
    do {                                                                        \
        if (!(condition)) {                                                     \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);     \
            abort();                                                            \
        }                                                                       \
    } while (0)

#endif
