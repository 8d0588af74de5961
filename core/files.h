/* core/files.h - files and directories, whole: read with a limit, replace atomically, copy cheaply, remove a tree.
 *
 * Paths are relative to `directory`, a descriptor of a directory or AT_FDCWD, as in openat(2). Files are made with mode 0600,
 * directories with 0700. `fault` names the fault point (core/faults.h) that stands before each system call; NULL for none.
 * Failures of the system are PCERE_SYSTEM with errno unless said otherwise, and name the path.
 */
#ifndef PCERE_CORE_FILES_H
#define PCERE_CORE_FILES_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read a regular file of at most `limit_bytes` whole. *ret_data is malloc'ed and ends in a NUL that *ret_bytes does not count.
 * PCERE_DATA: it does not exist (errnum ENOENT), is no regular file, or is larger. */
enum pcere_status file_read(int directory, const char *path, size_t limit_bytes, void **ret_data, size_t *ret_bytes,
                            struct pcere_error *error);

/* Write all bytes at the descriptor's position, or at `offset` if it is not negative. `path` is for the message. */
enum pcere_status file_write_all(int descriptor, int64_t offset, const void *data, size_t bytes, const char *path,
                                 const char *fault, struct pcere_error *error);

/* Replace (or create) a file so that whoever opens it finds the old content or the new one, whole: written beside it, then
 * renamed. `durable`: also after a power failure (fsync of the file and of its directory). PCERE_USAGE: PATH is a device, a socket or a pipe, which
 * a rename would take away. */
enum pcere_status file_replace(int directory, const char *path, const void *data, size_t bytes, bool durable, const char *fault,
                               struct pcere_error *error);

/* The same for a file that is written piece by piece. file_stage makes an empty file, open for writing, which has no name yet
 * (PATH.tmp where the file system has no such files), so that it goes with a process that is killed; file_publish syncs it if `durable`, and gives it its
 * name, or removes it if `written` is a failure, which it returns. */
struct file_stage { char *name; int descriptor; bool named; };
enum pcere_status file_stage(int directory, const char *path, const char *fault, struct file_stage *ret_stage,
                             struct pcere_error *error);
enum pcere_status file_publish(int directory, const char *path, struct file_stage *stage, bool durable, const char *fault,
                               enum pcere_status written, struct pcere_error *error);

/* Copy the regular file `from` (any path) to `path`, as a reflink where the file system can, atomically as file_replace does.
 * PCERE_USAGE: `from` does not exist or is no regular file. */
enum pcere_status file_copy(const char *from, int directory, const char *path, const char *fault, struct pcere_error *error);

/* xxh64 (seed 0) and length of a file. PCERE_DATA: it does not exist or is no regular file. */
enum pcere_status file_hash(int directory, const char *path, uint64_t *ret_hash, uint64_t *ret_bytes, struct pcere_error *error);

/* Make a directory; one that is there already is fine. */
enum pcere_status directory_make(int directory, const char *path, struct pcere_error *error);

/* fsync of a directory: names in it survive a power failure. */
enum pcere_status directory_sync(int directory, const char *path, struct pcere_error *error);

/* Remove a file, or a directory and all it holds; never follows links. What does not exist is fine. */
enum pcere_status tree_remove(int directory, const char *path, struct pcere_error *error);

#endif
