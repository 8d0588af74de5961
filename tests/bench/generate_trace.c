/* tests/bench/generate_trace.c FILE EVENTS [WORKERS] - a trace as OMPC writes it, of any size, the same for the same words.
 *
 * A head with 8 threads and workers with 4 executing and 2 communicating threads each; for each task the head's Target and Execute, the worker's Task, and a Submit with its
 * begin and end on the worker. 6.5 million events are about 1.1 GB.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 88172645463325252u;

static uint64_t chance(uint64_t most)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % most;
}

static FILE *file;
static int first = 1;

static void event(const char *name, unsigned pid, unsigned tid, uint64_t ts_ns, uint64_t dur_ns, uint64_t tag, unsigned origin, unsigned destination, uint64_t task,
                  unsigned line)
{
    fprintf(file, "%s{\"pid\":%u,\"tid\":%u,\"ph\":\"X\",\"ts\":%llu.%03llu,\"dur\":%llu.%03llu,\"name\":\"%s\",\"args\":{\"mpi_tag\":%llu,\"origin\":%u,\"destination\":%u,"
            "\"task_id\":%llu,\"source_location\":\"core_sgemm.c:%u:8\"}}", first ? "" : ",\n", pid, tid, (unsigned long long)(ts_ns / 1000),
            (unsigned long long)(ts_ns % 1000), (unsigned long long)(dur_ns / 1000), (unsigned long long)(dur_ns % 1000), name, (unsigned long long)tag, origin, destination,
            (unsigned long long)task, line);
    first = 0;
}

int main(int count, char **words)
{
    if (count < 3 || !(file = fopen(words[1], "w"))) {
        fputs("generate_trace FILE EVENTS [WORKERS]\n", stderr);
        return 2;
    }
    uint64_t events = strtoull(words[2], NULL, 10), made = 0, task = 0;
    unsigned workers = count > 3 ? (unsigned)strtoul(words[3], NULL, 10) : 8;
    setvbuf(file, NULL, _IOFBF, 1 << 20);
    fputs("{\"traceEvents\":[\n", file);
    for (unsigned i = 0; i <= workers; i++) {
        fprintf(file, "%s{\"ph\":\"M\",\"pid\":%u,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"", i ? ",\n" : "", i);
        fprintf(file, i ? "Worker Process %u\"}}" : "Head Process\"}}", i - 1);
        first = 0;
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
    fputs("\n],\"displayTimeUnit\":\"ns\"}\n", file);
    free(busy);
    free(talking);
    return fclose(file) != 0;
}
