/* tests/programs/surroundings.c - what a captured program sees around it: environment, descriptors, standard input, signals, errno. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

extern char **environ;
static volatile sig_atomic_t ticks;
static double values[200000];

static void tick(int signal)
{
    (void)signal;
    ticks++;
}

static void region(void)
{
#pragma omp parallel for
    for (int i = 0; i < 200000; i++)
        values[i] = values[i] * 0.5 + i;
}

static void environment_print(char **list)
{
    for (; *list; list++)
        printf("env %s\n", *list);
}

static void descriptors_print(void)
{
    struct stat facts;
    for (int i = 0; i < 64; i++)
        if (fstat(i, &facts) == 0)
            printf("descriptor %d\n", i);
}

int main(int argc, char **argv, char **environment)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "environment") == 0) {
        region();
        if (environment != environ)
            return 8;
        environment_print(environ);
        fflush(stdout);
        return system("env | sed 's/^/child /'") != 0;
    }
    if (strcmp(what, "descriptors") == 0) {
        region();
        descriptors_print();
        fflush(stdout);
        return system("ls /proc/self/fd | grep -c . | sed 's/^/child /'") != 0;
    }
    if (strcmp(what, "close") == 0) {            /* closes all it did not open, as daemons do, behind the C library's back */
        for (int i = 3; i < 4096; i++)
            syscall(SYS_close, i);
        for (int i = 0; i < 5; i++)
            region();
        puts("PASS");
        return 0;
    }
    if (strcmp(what, "input") == 0) {
        char line[256];
        size_t bytes = 0;
        region();
        while (fgets(line, sizeof line, stdin))
            bytes += strlen(line);
        region();
        printf("input %zu\n", bytes);
        return 0;
    }
    if (strcmp(what, "signals") == 0) {
        struct sigaction action = {.sa_handler = tick};
        struct itimerval every = {{0, 500}, {0, 500}};
        sigaction(SIGALRM, &action, NULL);
        setitimer(ITIMER_REAL, &every, NULL);
        double sum = 0;
        region();                                /* starting the runtime changes errno, with or without us */
        for (int i = 0; i < 50; i++) {
            errno = 77;
            region();
            if (errno != 77 && errno != EINTR)
                return 8;
            sum += values[i];
        }
        while (ticks < 100)
            pause();
        printf("PASS %.0f\n", sum);
        return 0;
    }
    return 2;
}
