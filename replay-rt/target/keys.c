/* replay-rt/target/keys.c - what threads keep by pthread_setspecific and tss_set, and what the C library keeps in each.
 *
 * Captured data hold the numbers of keys: this process's keys must have the same. The C library gives the lowest that is free; so all up to the highest are
 * taken before anybody else asks, and those that the program did not have are given back. The OpenMP runtime finds its own free when it starts.
 */
#include "replay-rt/ranges.h"
#include "replay-rt/target/codelet.h"
#include "replay-rt/target/machine.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

enum { KEYS_MOST = 4096 };

static const struct plan_key *key_find(const struct codelet *codelet, uint32_t number, uint32_t thread)
{
    const struct plan_key *keys = PLAN_TABLE(codelet, keys, struct plan_key);
    for (uint64_t i = 0; i < codelet->plan->keys.count; i++)
        if (keys[i].key == number && keys[i].thread == thread)
            return &keys[i];
    return NULL;
}

static const struct plan_key *made_find(const struct codelet *codelet, uint32_t number)
{
    const struct plan_key *made = key_find(codelet, number, PLAN_KEY_MADE);
    return made ? made : key_find(codelet, number, PLAN_KEY_HELD);
}

static uint32_t keys_highest(const struct codelet *codelet)
{
    const struct plan_key *keys = PLAN_TABLE(codelet, keys, struct plan_key);
    uint32_t highest = 0;
    for (uint64_t i = 0; i < codelet->plan->keys.count; i++)
        highest = keys[i].key > highest ? keys[i].key : highest;
    return highest;
}

static unsigned char taken[KEYS_MOST];      /* 1: by pcere_keys_make */
static unsigned char missing[KEYS_MOST];    /* 1: a library has it, and captured memory that holds its number does without */

/* Ends a value of it: at its captured address is the rebuilt function. One of a library is not called, as at the end of a process. */
static bool key_end(const struct codelet *codelet, uint32_t number, void (**ret_end)(void *))
{
    const struct plan_key *key = made_find(codelet, number);
    if (!key || !key->value || !plan_mapping_at(PLAN_TABLE(codelet, mappings, struct plan_mapping), codelet->plan->mappings.count, key->value))
        return false;
    memcpy(ret_end, &key->value, sizeof key->value);
    return true;
}

/* False: no more of them are to be had. */
static bool key_take(const struct codelet *codelet, uint32_t highest)
{
    pthread_key_t key, again;
    void (*end)(void *);
    if (pthread_key_create(&key, NULL))
        return false;
    if (key > highest || (key_end(codelet, key, &end) && (pthread_key_delete(key) || pthread_key_create(&again, end) || again != key))) {
        pthread_key_delete(key);
        return false;
    }
    taken[key] = 1;
    return key < highest;
}

void pcere_keys_make(struct codelet *codelet)
{
    uint32_t highest = keys_highest(codelet), tries = 0;
    if (!codelet->plan->keys.count)
        return;
    while (highest < KEYS_MOST && tries <= highest && key_take(codelet, highest))
        tries++;
    for (uint32_t number = 0; number <= highest && number < KEYS_MOST; number++) {
        bool made = key_find(codelet, number, PLAN_KEY_MADE), here = taken[number];
        missing[number] = !here;
        if (made && !here)
            pcere_plan_end(codelet, PLAN_FAILED, "it has thread-specific values (pthread_setspecific) under key %u, which cannot be had here: a library has it", number);
        if (here && key_find(codelet, number, PLAN_KEY_RUNTIME))
            taken[number] = pthread_key_delete(number) != 0;
    }
}

/* Numbers that nobody had are given back once the OpenMP runtime has its own. */
void pcere_keys_release(const struct codelet *codelet)
{
    for (uint32_t number = 0; codelet->plan->keys.count && number <= keys_highest(codelet); number++)
        if (taken[number] && !made_find(codelet, number) && !key_find(codelet, number, PLAN_KEY_RUNTIME))
            pthread_key_delete(number);
    memset(taken, 0, sizeof taken);
}

/* Such pointers lie in what the C library keeps of modules that it loaded. What this process disguised before, to run at its end, is not used: codelets end at once. */
static void guard_set(void *context, uint32_t thread, uint32_t threads)
{
    (void)thread, (void)threads;
    machine_pointer_guard_set(*(const uint64_t *)context);
}

static void values_set(void *context, uint32_t thread, uint32_t threads)
{
    (void)threads;
    const struct codelet *codelet = context;
    const struct plan_key *keys = PLAN_TABLE(codelet, keys, struct plan_key);
    for (uint64_t i = 0; i < codelet->plan->keys.count; i++)
        if (keys[i].thread == PLAN_KEY_MADE || (keys[i].thread == PLAN_KEY_HELD && keys[i].key < KEYS_MOST && !missing[keys[i].key])) {
            const struct plan_key *value = key_find(codelet, keys[i].key, thread);
            pthread_setspecific(keys[i].key, value ? (void *)value->value : NULL);
        }
}

void pcere_keys_restore(struct codelet *codelet)
{
    bool made = false;
    const struct plan_key *keys = PLAN_TABLE(codelet, keys, struct plan_key);
    for (uint64_t i = 0; i < codelet->plan->keys.count; i++)
        made |= keys[i].thread == PLAN_KEY_MADE || keys[i].thread == PLAN_KEY_HELD;
    if (made)
        pcere_team_run(values_set, codelet);
    if (codelet->plan->pointer_guard)
        pcere_team_run(guard_set, &codelet->plan->pointer_guard);
}
