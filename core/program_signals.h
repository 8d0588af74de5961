/* core/program_signals.h - signals that come to a command while a program of the user's runs for it.
 *
 *   ctrl-C, ctrl-\     reach the program by itself, since the terminal sends them to both: ignored here, so that what comes of it can be told
 *   SIGINT, SIGQUIT    from a process: handed on to the program, but not two of one moment (timeout(1) sends one to its child and one to the group)
 *   SIGTERM, SIGHUP    handed on to the program, whose end is then told as any other; the second one ends the command, too
 *
 * What was ignored stays ignored, and what is handled stays so. One program at a time.
 */
#ifndef PCERE_CORE_PROGRAM_SIGNALS_H
#define PCERE_CORE_PROGRAM_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#define PROGRAM_SIGNALS 4

struct program_signals { struct sigaction before[PROGRAM_SIGNALS]; };

void program_signals_begin(struct program_signals *ret_signals);
/* The program is there: what came meanwhile is handed on. */
void program_signals_to(pid_t program);
/* It has ended: what comes from now on is the command's. */
void program_signals_gone(void);
/* As before. A handler of the command's is told of SIGINT or SIGQUIT that came meanwhile: the program may have ended before it got them. */
void program_signals_end(const struct program_signals *signals);
/* Did one come, from the terminal or a process, since the last program began? Whoever sent it wants no other run. */
bool program_signals_came(void);
/* In the program's process, before it begins: as things were. Async-signal-safe. */
void program_signals_give(const struct program_signals *signals);
/* Which of them the program is to have at their default. */
void program_signals_plain(const struct program_signals *signals, sigset_t *ret_set);

#endif
