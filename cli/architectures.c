#include "cli/architectures.h"

#include "cli/cli.h"
#include "core/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIGNATURE_MOST_BYTES = 16 << 20 };
#define SUFFIX ".json"
#define ADDING "'pcere platform discover' on that machine writes a file that can be named here; 'pcere platform --help' says where such files lie, docs/format/platform.md what is in them"

/* The user's directory as text; false: there is no home. */
static bool own_directory(char path[static PATH_MAX])
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data && data[0] == '/')
        return snprintf(path, PATH_MAX, "%s/pcere/archs", data) < PATH_MAX;
    return home && home[0] == '/' && snprintf(path, PATH_MAX, "%s/.local/share/pcere/archs", home) < PATH_MAX;
}

void architectures_done(struct architectures *architectures)
{
    for (size_t i = 0; i < architectures->count; i++) {
        free(architectures->list[i].name);
        free(architectures->list[i].path);
    }
    free(architectures->list);
    *architectures = (struct architectures){0};
}

static bool known(const struct architectures *found, const char *name, size_t length)
{
    for (size_t i = 0; i < found->count; i++)
        if (strlen(found->list[i].name) == length && strncmp(found->list[i].name, name, length) == 0)
            return true;
    return false;
}

static enum pcere_status directory_add(const char *directory, struct architectures *found, struct pcere_error *error)
{
    DIR *entries = opendir(directory);
    if (!entries)
        return PCERE_OK;        /* it need not be there */
    enum pcere_status status = PCERE_OK;
    for (struct dirent *entry; status == PCERE_OK && (entry = readdir(entries));) {
        size_t length = strlen(entry->d_name);
        if (length <= strlen(SUFFIX) || strcmp(entry->d_name + length - strlen(SUFFIX), SUFFIX) != 0 || entry->d_name[0] == '.' ||
            known(found, entry->d_name, length - strlen(SUFFIX)))
            continue;
        struct architecture *list = realloc(found->list, (found->count + 1) * sizeof *list);
        if (list) {
            found->list = list;
            list[found->count] = (struct architecture){.name = strndup(entry->d_name, length - strlen(SUFFIX))};
            if (asprintf(&list[found->count].path, "%s/%s", directory, entry->d_name) < 0)
                list[found->count].path = NULL;
            found->count++;
        }
        if (!list || !list[found->count - 1].name || !list[found->count - 1].path)
            status = pcere_fail_memory(error, "the list of architectures");
    }
    closedir(entries);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct architecture *)a)->name, ((const struct architecture *)b)->name);
}

enum pcere_status architectures_find(struct architectures *ret_found, struct pcere_error *error)
{
    struct architectures found = {0};
    char path[PATH_MAX], *one = NULL;
    enum pcere_status status = own_directory(path) ? directory_add(path, &found, error) : PCERE_OK;
    if (status == PCERE_OK && cli_file_find("archs/sandybridge.json", &one, NULL) == PCERE_OK) {
        *strrchr(one, '/') = '\0';
        status = directory_add(one, &found, error);
    }
    free(one);
    if (status) {
        architectures_done(&found);
        return status;
    }
    if (found.count)
        qsort(found.list, found.count, sizeof *found.list, by_name);
    *ret_found = found;
    return PCERE_OK;
}

static enum pcere_status unknown(const char *word, const struct architectures *found, struct pcere_error *error)
{
    char names[360] = "";
    const char *words[64], *nearest;
    size_t count = 0, length = 0;
    for (size_t i = 0; i < found->count && count < 64; i++) {
        words[count++] = found->list[i].name;
        if (length + strlen(found->list[i].name) + 3 < sizeof names)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "", found->list[i].name);
    }
    nearest = cli_nearest(word, words, count);
    return pcere_fail(error, PCERE_USAGE, 0,
                      nearest ? "a name may be misspelt; " ADDING : ADDING,
                      "there is no architecture '%.60s'%s%s%s; there are: %s", word, nearest ? " (did you mean '" : "", nearest ? nearest : "",
                      nearest ? "'?)" : "", names[0] ? names : "none");
}

enum pcere_status architecture_read(const char *word, struct platform_signature *ret_signature, char **ret_path, struct pcere_error *error)
{
    size_t length = strlen(word);
    char *path = NULL;
    enum pcere_status status = PCERE_OK;
    if (strchr(word, '/') || (length > strlen(SUFFIX) && strcmp(word + length - strlen(SUFFIX), SUFFIX) == 0))
        path = strdup(word);
    else {
        struct architectures found;
        status = architectures_find(&found, error);
        if (status)
            return status;
        for (size_t i = 0; i < found.count && !path; i++)
            if (strcmp(found.list[i].name, word) == 0)
                path = strdup(found.list[i].path);
        if (!path)
            status = unknown(word, &found, error);
        architectures_done(&found);
        if (status)
            return status;
    }
    if (!path)
        return pcere_fail_memory(error, "a path");
    void *text;
    size_t bytes;
    status = file_read(AT_FDCWD, path, SIGNATURE_MOST_BYTES, &text, &bytes, error);
    if (status == PCERE_OK) {
        status = signature_read(text, bytes, path, ret_signature, error);
        free(text);
    }
    if (status)
        free(path);
    else
        *ret_path = path;
    return status;
}

enum pcere_status architecture_place(const char *name, char **ret_path, struct pcere_error *error)
{
    char directory[PATH_MAX];
    if (!own_directory(directory))
        return pcere_fail(error, PCERE_REFUSED, 0, "name a file with -o", "there is no home directory for the signature");
    for (char *slash = strchr(directory + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        enum pcere_status status = access(directory, F_OK) == 0 ? PCERE_OK : directory_make(AT_FDCWD, directory, error);
        if (status)
            return status;
        *slash = '/';
    }
    enum pcere_status status = directory_make(AT_FDCWD, directory, error);
    if (status == PCERE_OK && asprintf(ret_path, "%s/%s" SUFFIX, directory, name) < 0)
        status = pcere_fail_memory(error, "a path");
    return status;
}
