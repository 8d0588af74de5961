/* include/pcere/threadprivate.h - where threads' copies of threadprivate variables lie that are no thread-local ones (-fnoopenmp-use-tls, flang):
 * capture keeps them in memory of the program's, behind this table, and replay finds them there.
 *
 *   | struct threadprivate_table | copies, each aligned to 128 bytes ... | not used yet
 */
#ifndef PCERE_THREADPRIVATE_H
#define PCERE_THREADPRIVATE_H

#include <stdint.h>

#define THREADPRIVATE_MAGIC 0x73656970636f7470u
#define THREADPRIVATE_COPIES_MAX 8192u

struct threadprivate_copy {
    uint64_t variable;           /* address of the variable itself, which is the initial thread's copy */
    uint64_t copy;               /* address */
    uint64_t bytes;
    uint32_t global_thread;      /* the OpenMP runtime's number of the thread */
    uint32_t team;               /* 1 + the thread's number in the team of the region that was captured last; 0: it is not in it */
};

struct threadprivate_table {
    uint64_t magic;
    uint64_t count;              /* of copies; at most THREADPRIVATE_COPIES_MAX */
    struct threadprivate_copy copies[THREADPRIVATE_COPIES_MAX];
};

#endif
