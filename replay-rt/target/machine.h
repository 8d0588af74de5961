/* replay-rt/target/machine.h - what the runtime knows of the processor that it runs on; all that is another on each stands in one header and one file for
 * each: machine_x86_64.h and .c, machine_aarch64.h and .c.
 *
 *   MACHINE_JUMP_BYTES, MACHINE_FAR_JUMP_BYTES     jumps that are put at old addresses of functions
 *   MACHINE_CODE_ALIGNMENT                         of addresses that can be jumped to
 *   MACHINE_FILLING, MACHINE_FILLING_BYTES         of code where none is: it traps, and the thread was told so many bytes behind it
 *   MACHINE_AUDIT                                  its number in system call filters
 *   MACHINE_CALLS_ALWAYS, _READING, _USING         system calls that only it has, for the guard's lists (a list that ends in a comma, or nothing)
 *   machine_jump                                   false: it is too far for a jump of that size
 *   machine_far_jump
 *   machine_call_words, machine_call_answer        arguments and result of a system call that was stopped
 *   machine_instruction, machine_go_on_at          of a signal's context: where the thread was; let it go on elsewhere
 *   machine_old_call                               a call that only it has as one that all have. False: it is none of these
 *   machine_is_trap                                the instruction by which programs end themselves on purpose
 *   machine_work                                   `rounds` times eight additions that do not wait for each other: as many in a cycle as the processor can
 *   machine_chain                                  `rounds` times four multiplications that wait for each other: the processor's clock, whoever shares its units
 *   machine_float_set                              how this thread rounds, what it does with denormals, which exceptions trap, as struct store_setting has it
 *                                                  (0: stays); returns what was before. Threads of the region's team get it from its primary thread
 *   machine_pointer_guard_set                      what this thread disguises pointers to functions by, in the GNU C library of the program's processor
 *   machine_wait                                   tell by *flag that the stack is no longer needed, then sleep for ever without one
 */
#ifndef PCERE_REPLAY_TARGET_MACHINE_H
#define PCERE_REPLAY_TARGET_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

/* Call function(words) with the stack pointer at `stack` (rounded down to 16 bytes), as if called from the captured frame. */
void pcere_call_on_stack(void (*function)(const uint64_t *words), const uint64_t *words, uint64_t stack);

/* Lines of these addresses leave all caches, of all processors, some time before pcere_lines_left returns on this thread. Whole lines; `bytes`: any number. */
void pcere_lines_leave(const void *start, uint64_t bytes);
void pcere_lines_left(void);

/* May lines leave in any order? Where each has to wait for the one before, it takes tens of times as long: a last cache that is shared with others has given up by then what was to stay. */
bool pcere_lines_leave_together(void);

/* A system call that passes the guard: pcere_guard_call_end is the address behind its instruction. */
long pcere_guard_call(long number, long a, long b, long c, long d);
extern const char pcere_guard_call_end[];

#if defined(__x86_64__)
#include "replay-rt/target/machine_x86_64.h"
#elif defined(__aarch64__)
#include "replay-rt/target/machine_aarch64.h"
#else
#error "the codelets' runtime is not written for this processor"
#endif

#endif
