/* tests/bench/record_cost.c ROUNDS [KIND] - what the recorder adds to each record: calls of the runtime, many thousand at a time and in turns with and without a tool, with nothing behind them
 * (tests/bench/stand_in_runtime.c). Run by scripts/bench-profiles under `pcere trace`. Prints for each round: the kind, records of a call, ns a record without and with.
 */
#define _GNU_SOURCE
#include "tests/bench/stand_in_runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RECORDS = 40960 };       /* a round: ten blocks of the trace */

#define MEMBER(result, name, parameters) result(*name) parameters;
static struct entries { STAND_IN_ENTRIES(MEMBER) } seen, direct;    /* as a program calls it; the stand-in's own */
static const struct entries *now;
static struct stand_in_ident where = {.flags = 2, .source = ";record_cost.c;main;1;1;;"};
static int32_t last, lower, upper, step;
static uint64_t cell;
static struct stand_in_depend depends[] = {{(intptr_t)&cell, sizeof cell, 3}};

static void nothing(int32_t *thread, int32_t *bound)
{
    (void)thread, (void)bound;
}

static void chunk(void) { now->__kmpc_dispatch_next_4(&where, 0, &last, &lower, &upper, &step); }
static void region(void) { now->__kmpc_fork_call(&where, 0, nothing); }
static void task(void) { now->__kmpc_omp_task(&where, 0, NULL); }
static void depending(void) { now->__kmpc_omp_task_with_deps(&where, 0, NULL, 1, depends, 0, NULL); }
static void unseen(void) { stand_in_unseen_task(1, depends); }

static void loop(void)
{
    lower = 0;
    upper = 99;
    now->__kmpc_for_static_init_4(&where, 0, 34, &last, &lower, &upper, &step, 1, 1);
    now->__kmpc_for_static_fini(&where, 0);
}

static void single(void)
{
    now->__kmpc_single(&where, 0);
    now->__kmpc_end_single(&where, 0);
}

static const struct kind { const char *name; void (*call)(void); int records; } kinds[] = {
    {"chunk", chunk, 1}, {"loop", loop, 3}, {"task", task, 3}, {"depending", depending, 4}, {"wait", stand_in_wait, 2}, {"lock", stand_in_lock, 2}, {"single", single, 2}, {"region", region, 7},
    {"unseen", unseen, 4},
};

static double now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

static double ns_a_record(const struct kind *kind, bool tool)
{
    int calls = RECORDS / kind->records;
    now = tool ? &seen : &direct;
    stand_in_tool(tool);
    double begin = now_ns();
    for (int i = 0; i < calls; i++)
        kind->call();
    return (now_ns() - begin) / (calls * kind->records);
}

static int rounds;
static const char *wanted;

static void kinds_run(int32_t *thread, int32_t *bound)
{
    (void)thread, (void)bound;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (wanted && strcmp(wanted, kinds[k].name) != 0)
            continue;
        stand_in_tool(true);
        seen.__kmpc_dispatch_init_4(&where, 0, 35, 0, 1000000, 1, 1);
        for (int i = 0; i < rounds; i++) {
            double ns[2];
            ns[i & 1] = ns_a_record(&kinds[k], i & 1);
            ns[!(i & 1)] = ns_a_record(&kinds[k], !(i & 1));
            printf("%s %d %.4f %.4f\n", kinds[k].name, kinds[k].records, ns[0], ns[1]);
        }
        stand_in_tool(true);
        stand_in_last_chunk();
        seen.__kmpc_dispatch_next_4(&where, 0, &last, &lower, &upper, &step);
    }
}

int main(int count, char **words)
{
    void *runtime = dlopen("libomp.so.5", RTLD_LAZY | RTLD_NOLOAD), *symbol;
    rounds = count > 1 ? atoi(words[1]) : 0;
    wanted = count > 2 ? words[2] : NULL;
    if (rounds < 1 || !runtime) {
        fputs("usage: record_cost ROUNDS [KIND], with the stand-in as libomp.so.5\n", stderr);
        return 2;
    }
#define FIND(result, name, parameters)                                                                                         \
    symbol = dlsym(runtime, #name);                                                                                            \
    memcpy(&direct.name, &symbol, sizeof symbol);                                                                              \
    seen.name = name;
    STAND_IN_ENTRIES(FIND)
    stand_in_start();
    seen.__kmpc_fork_call(&where, 0, kinds_run);
    stand_in_end();
    return 0;
}
