/*
 * What every benchmark does around its computation: check the threads that were asked for, read the
 * clock, compare with a published value, print the results in the manner of the NPB.
 */
#ifndef NPB_NPB_H
#define NPB_NPB_H

#include <stdbool.h>

#ifndef NPB_CLASS
#error "compile with -DNPB_CLASS='S' (or 'W', 'A', 'B', 'C')"
#endif

/* Exit status of a benchmark besides 0: verified. */
enum {
    NPB_FAILED = 1, /* ran, and its results differ from the published ones */
    NPB_USAGE = 2,  /* did not run: bad environment or arguments */
};

struct npb_run {
    const char *name;      /* "CG" */
    const char *size;      /* for people: "14000", "256 x 256 x 256" */
    int iterations;        /* 0 if it has none */
    const char *operation; /* what is counted: "floating point" */
    double seconds;        /* of the interval that the NPB time */
    double operations;     /* done in that interval, by the NPB's formula */
    bool verified;
};

/*
 * Prints the heading and returns the number of threads that a parallel region will ask for.
 * Returns 0, after a sentence on stderr, if OMP_NUM_THREADS is not a list of positive numbers or if there
 * are more threads than most (0: any number); the caller then ends with NPB_USAGE.
 */
int npb_begin(const struct npb_run *run, int most);

/* Monotonic time in seconds. */
double npb_seconds(void);

/*
 * Prints value, reference and |value - reference| / |reference|, and returns whether that is at most
 * epsilon. A value that is not a number does not pass.
 */
bool npb_close(const char *what, double value, double reference, double epsilon);

/* Prints the table of results; returns the program's exit status (NPB_FAILED too if stdout is lost). */
int npb_end(const struct npb_run *run);

#endif
