/* replay-rt/launcher/thread_pointers.h - which captured words lead to thread-local variables, which lie elsewhere in a replay: a std::list, std::map or
 * std::unordered_map keeps addresses of itself, and a short std::string.
 *
 *   thread's block   memo { before_begin --------------.
 *   heap                                   node <------'  buckets[7] = &memo.before_begin      this word, which a replay has to change
 */
#ifndef PCERE_REPLAY_LAUNCHER_THREAD_POINTERS_H
#define PCERE_REPLAY_LAUNCHER_THREAD_POINTERS_H

#include "core/error.h"
#include "replay-rt/launcher/codelet_memory.h"

struct thread_pointers { struct plan_pointer *items; size_t count, capacity; };

/* Such words in all pages that the codelet's memory and the steps (NULL: none) have in the pool, aligned ones. A page is read once for all codelets whose threads have
 * their blocks at the same places. PCERE_SYSTEM: no memory, or the pool's file cannot be read. */
enum pcere_status thread_pointers_find(const struct page_pool *pool, const struct store_codelet *codelet, const struct codelet_memory *memory, const struct plan_steps *steps,
                                       struct thread_pointers *ret_pointers, struct pcere_error *error);
void thread_pointers_done(struct thread_pointers *pointers);

#endif
