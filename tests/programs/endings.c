/* tests/programs/endings.c - a program that ends in the way that its argument names, after three invocations of a region. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static double values[10000];

static double region(double factor)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 10000; i++) {
        values[i] = values[i] * factor + i;
        sum += values[i];
    }
    return sum;
}

static void inside(void)
{
#pragma omp parallel
    {
#pragma omp master
        exit(6);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "return";
    double sum = 0;
    if (strcmp(how, "none") == 0)
        return 4;
    for (int i = 0; i < 3; i++)
        sum += region(0.5);
    printf("sum %.0f\n", sum);
    fflush(stdout);
    if (strcmp(how, "crash") == 0)
        *(volatile int *)16 = 1;
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "_exit") == 0)
        _exit(5);
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(how, "inside") == 0)
        inside();
    if (strcmp(how, "exec") == 0)
        execl("/bin/echo", "echo", "replaced", (char *)NULL);
    if (strcmp(how, "daemon") == 0 && daemon(1, 1) == 0) {
        for (int i = 0; i < 20; i++, usleep(10000))
            sum += region(0.25);
        printf("daemon done\n");
        return 0;
    }
    if (strcmp(how, "fork") == 0)
        for (int i = 0; i < 5; i++) {
            pid_t pid = fork();
            if (pid == 0) {
                sum += region(0.25);
                printf("child %d\n", i);
                exit(i);
            }
            int status;
            if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != i)
                return 9;
            sum += region(0.125);
        }
    if (strcmp(how, "counted") == 0 && argc > 2) {      /* fewer invocations each time that it is run */
        FILE *file = fopen(argv[2], "r+");
        int times = 0;
        if (file && fscanf(file, "%d", &times) == 1) {
            rewind(file);
            fprintf(file, "%d\n", times - 1);
            fclose(file);
        }
        for (int i = 0; i < times; i++)
            sum += region(0.125);
    }
    puts("PASS");
    return strcmp(how, "seven") == 0 ? 7 : 0;
}
