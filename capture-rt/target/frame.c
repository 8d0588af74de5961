/* capture-rt/target/frame.c - what the calling function writes into its own frame between a captured region's begin probe and its fork.
 *
 * Registers that are spilled, as a rule: a replay does not come by there, and has what the capture saw at the probe. The region cannot know of these words, since
 * whatever it can reach was there when the probe was called, which could have looked at it.
 */
#include "capture-rt/target/target.h"

#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };      /* the smallest */

extern void *__libc_stack_end __attribute__((weak));

/* Where the stack of this thread ends that holds the address; 0: it lies on no stack of the system's. */
static uintptr_t stack_end(const struct target_state *state, uintptr_t address)
{
    uintptr_t end = target_thread_pointer();        /* its block lies above its stack */
    if (end == state->initial_thread)
        end = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;
    return address < end && end - address < TARGET_STACK_MOST ? end : 0;
}

/* As far as it can be read: what lies between this thread's stack and its end may be a stack of the program's own (makecontext), with nothing behind it. */
static size_t memory_read(uintptr_t address, size_t bytes, void *to)
{
    struct iovec local = {to, bytes}, pages[2] = {{(void *)address, bytes}, {0}};
    size_t first = PAGE_BYTES - address % PAGE_BYTES;
    if (first < bytes) {
        pages[0].iov_len = first;
        pages[1] = (struct iovec){(char *)address + first, bytes - first};
    }
    long got = syscall(SYS_process_vm_readv, getpid(), &local, 1L, pages, first < bytes ? 2L : 1L, 0L);
    return got > 0 ? (size_t)got : 0;
}

void target_frame_keep(struct target_state *state, const struct target_open *open)
{
    struct target_frame *frame = &state->frame;
    uintptr_t end = open->record.path == PCERE_PATH_SERIALIZED ? 0 : stack_end(state, open->stack_pointer);
    frame->open = NULL;
    frame->word_count = 0;
    if (!end)
        return;
    frame->bytes = memory_read(open->stack_pointer, end - open->stack_pointer < sizeof frame->copy ? end - open->stack_pointer : sizeof frame->copy, frame->copy);
    frame->open = open;
    target_fork_due = TARGET_FORK_FRAME;
}

void target_frame_compare(void)
{
    struct target_frame *frame = &target_state->frame;
    const struct target_open *open = frame->open;
    target_fork_due = TARGET_FORK_DUE;
    if (!open || !target_state->active)
        return;
    for (size_t at = 0; at + sizeof(uint64_t) <= frame->bytes && frame->word_count < CAPTURE_FRAME_WORDS; at += sizeof(uint64_t))
        if (memcmp(frame->copy + at, (const char *)open->stack_pointer + at, sizeof(uint64_t)) != 0)
            frame->words[frame->word_count++] = open->stack_pointer + at;
}

void target_frame_tell(struct target_state *state, const struct target_open *open)
{
    struct capture_stop *stop = &state->log->stop;
    stop->frame_word_count = open && state->frame.open == open ? state->frame.word_count : 0;
    memcpy(stop->frame_words, state->frame.words, sizeof stop->frame_words);
}
