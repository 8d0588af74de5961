#include "capture-rt/tracer/delays.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* "TIME ON A PROCESSOR, WAITED FOR ONE, HOW OFTEN". */
bool delays_waited(pid_t pid, pid_t tid, uint64_t *ret_ns)
{
    char path[64], text[96];
    unsigned long long ran_ns, waited_ns;
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[bytes > 0 ? bytes : 0] = '\0';
    if (sscanf(text, "%llu %llu", &ran_ns, &waited_ns) != 2)
        return false;
    *ret_ns = waited_ns;
    return true;
}

void delays_look(pid_t pid, const struct freeze *freeze, struct delays *ret_delays)
{
    size_t count = 0;
    for (size_t i = 0; freeze->count > 1 && freeze->count <= DELAYS_MOST && i < freeze->count; i++) {
        ret_delays->threads[count].tid = freeze->threads[i].tid;
        count += !freeze->threads[i].gone && delays_waited(pid, freeze->threads[i].tid, &ret_delays->threads[count].waited_ns);
    }
    ret_delays->count = count;
}

uint64_t delays_between(const struct delays *before, const struct delays *after)
{
    uint64_t most_ns = 0;
    for (size_t i = 0; i < before->count; i++)
        for (size_t j = 0; j < after->count; j++)
            if (after->threads[j].tid == before->threads[i].tid && after->threads[j].waited_ns > before->threads[i].waited_ns + most_ns)
                most_ns = after->threads[j].waited_ns - before->threads[i].waited_ns;
    return most_ns;
}
