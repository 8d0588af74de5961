/* store/directory.h - the directory of a store: which names lie in it, whether one is ours, and its last key's check. Private to
 * store/.
 */
#ifndef PCERE_STORE_DIRECTORY_H
#define PCERE_STORE_DIRECTORY_H

#include "core/text.h"
#include "store/format.h"

/* Descriptor of an open store's directory. */
int store_directory(const struct store *store);

struct samples_damage {
    size_t lines;                    /* of samples.jsonl that the last load passed by */
    struct pcere_error first;        /* what is wrong with the first of them */
};
struct samples_damage *store_samples_damage(struct store *store);

bool store_has_program(const struct store *store);
bool store_has_invocations(const struct store *store);
/* Codelets that are there, sorted, whether or not the manifest names them. */
enum pcere_status store_codelet_names(const struct store *store, char ***ret_names, size_t *ret_count, struct pcere_error *error);
/* Files in codelets/ that say what codelets do (store/character.h), sorted. store_codelet_names_free frees both. */
enum pcere_status store_character_names(const struct store *store, char ***ret_names, size_t *ret_count, struct pcere_error *error);
void store_codelet_names_free(char **names, size_t count);

/* Does the directory hold a PCERE store, by its manifest or the head of its pages? Only such a directory is ever replaced. */
bool directory_is_store(int directory, const char *path);

/* Is that the name of something that a writer makes in a store's directory ("." and ".." included)? */
bool directory_name_is_ours(const char *name);
/* Does the directory hold nothing but names that a writer makes? What a killed writer left behind, that is. */
bool directory_is_leftover(int directory, const char *path);

/* Append `separator`, `"check": "0123456789abcdef"` and `tail`: the digits are the xxh64 of all that stands before them, so that
 * every byte of a line or file is covered. */
void check_add(struct text *text, const char *separator, const char *tail);
/* PCERE_DATA naming `where` unless the text ends in such a check that matches, and in `tail`. */
enum pcere_status check_verify(const char *text, size_t bytes, const char *tail, const char *where, struct pcere_error *error);

#endif
