/* cli/trace_text.c - see trace_text.h. */
#include "cli/trace_text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void csv_print(const char *const *cells, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        const char *cell = cells[i] ? cells[i] : "";
        bool plain = !strpbrk(cell, ",\"\n");
        fputs(plain ? "" : "\"", out);
        for (; *cell; cell++) {
            if (*cell == '"')
                fputc('"', out);
            fputc(*cell, out);
        }
        fputs(plain ? "" : "\"", out);
        fputs(i + 1 < count ? "," : "\n", out);
    }
}

static bool is_stdout(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

enum pcere_status result_open(const char *path, bool force, FILE **ret_file, struct pcere_error *error)
{
    if (is_stdout(path)) {
        *ret_file = stdout;
        return PCERE_OK;
    }
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0600);
    FILE *stream = file >= 0 ? fdopen(file, "w") : NULL;
    if (!stream)
        return pcere_fail(error, errno == EEXIST || errno == ENOENT ? PCERE_USAGE : PCERE_SYSTEM, errno, errno == EEXIST ? "--force replaces it, -o FILE names another" : NULL,
                          "cannot write '%.300s'", path);
    *ret_file = stream;
    return PCERE_OK;
}

enum pcere_status result_close(const char *path, FILE *file, enum pcere_status written, struct pcere_error *error)
{
    if (is_stdout(path))
        return written;
    bool failed = ferror(file) != 0;
    struct stat facts;
    bool is_file = fstat(fileno(file), &facts) == 0 && S_ISREG(facts.st_mode);
    if ((fclose(file) != 0 || failed) && written == PCERE_OK)
        written = pcere_fail(error, PCERE_SYSTEM, errno, "free some space", "cannot write '%.300s'", path);
    if (written != PCERE_OK && is_file)
        unlink(path);
    return written;
}
