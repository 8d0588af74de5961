#include "capture-rt/tracer/copier.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

#define SPINS 2000u              /* some 50 us: a copy takes about as long */
#define YIELDS 200u              /* another process may have the processor that it needs */
#define NAP_NS 50000
#define NAPS_A_LOOK 20u          /* at whether it is still there */

void copier_prepare(const struct copier *copier)
{
    volatile char *slots = (volatile char *)copier->log + copier->log->copies_offset;
    for (size_t at = 0; at < (size_t)CAPTURE_COPY_SLOTS * CAPTURE_COPY_BYTES; at += 4096)
        slots[at] = 0;
}

void copier_begin(struct copier *copier)
{
    copier->lost = false;
    freeze_one_release(copier->freeze, copier->tid);
}

bool copier_ask(struct copier *copier, uint64_t address, uint64_t bytes)
{
    uint32_t slot = (uint32_t)(copier->asked % CAPTURE_COPY_SLOTS);
    struct capture_answer question = {.type = CAPTURE_ANSWER_COPY, .address = address, .bytes = (uint32_t)bytes, .slot = slot};
    copier->log->copies_failed[slot] = 0;
    ssize_t sent;
    do
        sent = copier->lost ? -1 : send(copier->socket, &question, sizeof question, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR && !copier->lost);
    copier->lost |= sent != (ssize_t)sizeof question;
    copier->asked += !copier->lost;
    return !copier->lost;
}

bool copier_is_ready(const struct copier *copier)
{
    return __atomic_load_n(&copier->log->copies_made, __ATOMIC_ACQUIRE) > copier->taken;
}

static bool is_gone(const struct copier *copier)
{
    char path[64], state = 'X';
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)copier->child->pid, (int)copier->tid);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 'S';                    /* a name with a bracket in it */
    if (file)
        fclose(file);
    return state == 'X' || state == 'Z';
}

const void *copier_take(struct copier *copier)
{
    for (unsigned i = 0; !copier_is_ready(copier) && !copier->lost; i++) {
        if (i < SPINS)
            __builtin_ia32_pause();
        else if (i < SPINS + YIELDS)
            sched_yield();
        else {
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
            copier->lost |= i % NAPS_A_LOOK == 0 && is_gone(copier);
        }
    }
    uint64_t slot = copier->taken % CAPTURE_COPY_SLOTS;
    if (copier->lost || copier->log->copies_failed[slot]) {
        copier->taken += copier->taken < copier->asked;
        return NULL;
    }
    copier->taken++;
    return (const char *)copier->log + copier->log->copies_offset + slot * CAPTURE_COPY_BYTES;
}

enum pcere_status copier_end(struct copier *copier, struct pcere_error *error)
{
    while (copier->taken < copier->asked)
        copier_take(copier);
    return freeze_one(copier->child, copier->tid, copier->freeze, error);
}
