#include "replay-rt/launcher/patience.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MOST_NS 1000000000u
#define READING_NS_A_BYTE 5u            /* of a slow disk */
#define ANSWER_STEP_NS 1000000
enum { ANSWER_STEPS = 500, ANSWERS_MISSED_MOST = 4 };

bool patience_ended(struct patience *patience, uint32_t progress, uint64_t now_ns, uint64_t used_ns, bool sleeps, uint64_t most_ns)
{
    uint64_t passed_ns = now_ns - patience->looked_ns, ran_ns = used_ns - patience->used_ns;
    patience->looked_ns = now_ns;
    patience->used_ns = used_ns;
    passed_ns = passed_ns < LOOK_MOST_NS ? passed_ns : LOOK_MOST_NS;
    passed_ns = sleeps || ran_ns > passed_ns ? passed_ns : ran_ns;
    patience->waited_ns = progress == patience->progress ? patience->waited_ns + passed_ns : 0;
    patience->progress = progress;
    return patience->waited_ns > most_ns;
}

uint64_t patience_used_ns(pid_t child)
{
    clockid_t clock;
    struct timespec used = {0};
    if (clock_getcpuclockid(child, &clock) || clock_gettime(clock, &used))
        clock_gettime(CLOCK_MONOTONIC, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* 0 behind the last one. */
static pid_t thread_next(DIR *threads)
{
    for (struct dirent *entry; threads && (entry = readdir(threads));)
        if (atoi(entry->d_name) > 0)
            return (pid_t)atoi(entry->d_name);
    return 0;
}

static DIR *threads_open(pid_t child)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)child);
    return opendir(path);
}

static char thread_state(pid_t child, pid_t thread)
{
    char path[80], text[256];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)child, (int)thread);
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    const char *name_end = strrchr(text, ')');        /* names may hold anything */
    return name_end && name_end[1] == ' ' ? name_end[2] : '?';
}

bool patience_sleeps(pid_t child)
{
    DIR *threads = threads_open(child);
    bool sleeps = threads != NULL;
    for (pid_t thread; sleeps && (thread = thread_next(threads));)
        sleeps = thread_state(child, thread) == 'S';
    if (threads)
        closedir(threads);
    return sleeps;
}

uint64_t patience_choose(uint64_t in_vivo_ns, uint64_t slower, uint64_t runs, uint64_t memory_bytes, uint64_t least_ns)
{
    uint64_t times = runs * (slower < 1024 ? slower : 1024), reading_ns = memory_bytes < UINT64_MAX / 4 / READING_NS_A_BYTE ? memory_bytes * READING_NS_A_BYTE : 0;
    uint64_t region_ns = in_vivo_ns < UINT64_MAX / 4 / times ? in_vivo_ns * times : 0;
    return (region_ns > least_ns ? region_ns : least_ns) + reading_ns;
}

/* One after the other: they write to one place. A thread that blocks signals does not answer. */
void patience_ask(pid_t child, struct replay_plan *plan)
{
    DIR *threads = threads_open(child);
    pid_t thread;
    for (int missed = 0; missed < ANSWERS_MISSED_MOST && (thread = thread_next(threads)); missed++) {
        uint32_t told = atomic_load(&plan->result.told);
        if (syscall(SYS_tgkill, child, thread, PLAN_TELL_SIGNAL))
            continue;
        for (int i = 0; i < ANSWER_STEPS && atomic_load(&plan->result.told) == told; i++)
            nanosleep(&(struct timespec){.tv_nsec = ANSWER_STEP_NS}, NULL);
        missed -= atomic_load(&plan->result.told) != told;
    }
    if (threads)
        closedir(threads);
}
