/* cli/profile_files.h - profiles that a user names, read together. */
#ifndef PCERE_CLI_PROFILE_FILES_H
#define PCERE_CLI_PROFILE_FILES_H

#include "analysis/profile.h"

struct profile_files {
    struct profile **profiles;
    char **names;
    size_t count;
};

/* Read `count` files. PCERE_USAGE, PCERE_DATA as profile_read. */
enum pcere_status profile_files_read(char *const *names, size_t count, struct profile_files *ret_files, struct pcere_error *error);
/* The same for one word: names separated by commas, or one name that is a file as it is. */
enum pcere_status profile_files_read_list(const char *list, struct profile_files *ret_files, struct pcere_error *error);
void profile_files_done(struct profile_files *files);

/* PCERE_USAGE with the nearest name, if the profile does not have the event. */
enum pcere_status profile_event_require(const struct profile *profile, const char *name, size_t *ret_event, struct pcere_error *error);

#endif
