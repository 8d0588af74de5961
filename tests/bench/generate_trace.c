/* tests/bench/generate_trace.c FILE EVENTS [WORKERS] - a trace as OMPC writes it, of any size, the same for the same words. FILE/: a file for each process in that directory, whose clocks differ.
 *
 * A head with 8 threads and workers with 4 executing and 2 communicating threads each; for each task the head's Target and Execute, the worker's Task, and a Submit with its
 * begin and end on the worker. 6.5 million events are about 1.1 GB.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;

static uint64_t chance(uint64_t most)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % most;
}

enum { PROCESSES_MOST = 65 };
static struct { FILE *file; int any; } outputs[PROCESSES_MOST];
static int apart;

static FILE *output(unsigned pid)
{
    FILE *file = outputs[apart ? pid : 0].file;
    fputs(outputs[apart ? pid : 0].any++ ? ",\n" : "", file);
    return file;
}

static void event(const char *name, unsigned pid, unsigned tid, uint64_t ts_ns, uint64_t dur_ns, uint64_t tag, unsigned origin, unsigned destination, uint64_t task,
                  unsigned line)
{
    FILE *file = output(pid);
    if (apart)
        ts_ns += pid * 777000123u + ts_ns / 100000 * pid;          /* 10 ppm for each */
    fprintf(file, "{\"pid\":%u,\"tid\":%u,\"ph\":\"X\",\"ts\":%llu.%03llu,\"dur\":%llu.%03llu,\"name\":\"%s\",\"args\":{\"mpi_tag\":%llu,\"origin\":%u,\"destination\":%u,"
            "\"task_id\":%llu,\"source_location\":\"core_sgemm.c:%u:8\"}}", pid, tid, (unsigned long long)(ts_ns / 1000),
            (unsigned long long)(ts_ns % 1000), (unsigned long long)(dur_ns / 1000), (unsigned long long)(dur_ns % 1000), name, (unsigned long long)tag, origin, destination,
            (unsigned long long)task, line);
}

static int outputs_open(const char *path, unsigned workers)
{
    char name[4096];
    apart = path[strlen(path) - 1] == '/';
    for (unsigned i = 0; i <= (apart ? workers : 0); i++) {
        if (apart && i)
            snprintf(name, sizeof name, "%sworker_process_%u.json", path, i - 1);
        else
            snprintf(name, sizeof name, "%s%s", path, apart ? "head_process.json" : "");
        if (!(outputs[i].file = fopen(name, "w")))
            return 0;
        setvbuf(outputs[i].file, NULL, _IOFBF, 1 << 20);
        fputs("{\"traceEvents\":[\n", outputs[i].file);
    }
    return 1;
}

int main(int count, char **words)
{
    uint64_t events = count > 2 ? strtoull(words[2], NULL, 10) : 0, made = 0, task = 0;
    unsigned workers = count > 3 ? (unsigned)strtoul(words[3], NULL, 10) : 8;
    int failed = 0;
    if (count < 3 || workers < 1 || workers >= PROCESSES_MOST || !words[1][0] || !outputs_open(words[1], workers)) {
        fputs("generate_trace FILE EVENTS [WORKERS]\n", stderr);
        return 2;
    }
    for (unsigned i = 0; i <= workers; i++) {
        FILE *file = output(i);
        fprintf(file, "{\"ph\":\"M\",\"pid\":%u,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"", i);
        fprintf(file, i ? "Worker Process %u\"}}" : "Head Process\"}}", i - 1);
    }
    uint64_t *busy = calloc((size_t)workers * 4, sizeof *busy), *talking = calloc((size_t)workers * 2, sizeof *talking), last = 0;
    for (; busy && talking && made + 6 <= events; made += 5, task++) {
        unsigned worker = (unsigned)chance(workers), thread = (unsigned)chance(4), talker = (unsigned)chance(2), line = 100 + (unsigned)chance(8);
        uint64_t *now = &busy[worker * 4 + thread], *line_free = &talking[worker * 2 + talker];
        uint64_t sent = *now > *line_free ? *now : *line_free, sending = 2000 + chance(3000), start = sent + sending + 5000, running = 20000 + chance(10000);
        char name[40];
        snprintf(name, sizeof name, "Task %llu", (unsigned long long)task);
        event("Submit / Begin", worker + 1, 10 + talker, sent, 500, task, 0, worker + 1, task, line);
        event("Submit / End", worker + 1, 10 + talker, sent + sending, 400, task, 0, worker + 1, task, line);
        event("Target Nowait", 0, (unsigned)(task % 8), sent, start + running - sent + 2000, task, 0, worker + 1, task, line);
        event("Execute", 0, (unsigned)(task % 8), start - 1000, running + 2000, task, 0, worker + 1, task, line);
        event(name, worker + 1, 20 + thread, start, running, task, 0, worker + 1, task, line);
        *line_free = sent + sending + 1000;
        *now = start + running + 1000;
        if (*now > last)
            last = *now;
    }
    event("Runtime Execution", 0, 0, 0, last, 0, 0, 0, 0, 1);
    for (unsigned i = 0; i <= (apart ? workers : 0); i++) {
        fputs("\n],\"displayTimeUnit\":\"ns\"}\n", outputs[i].file);
        failed |= fclose(outputs[i].file) != 0;
    }
    free(busy);
    free(talking);
    return failed;
}
