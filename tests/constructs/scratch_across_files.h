/* scratch_across_files.h - what the files of scratch_across_files.c tell each other. */
#ifndef TESTS_CONSTRUCTS_SCRATCH_ACROSS_FILES_H
#define TESTS_CONSTRUCTS_SCRATCH_ACROSS_FILES_H
#include <stddef.h>
enum { PAD = 512, WORK = 3000 };
struct counters { int steps; long *of_threads; };
extern int workers;                              /* set by settings_read() */
void settings_read(void);
int thread_count(void);
int thread_number(void);
void *bytes_per_thread(int threads, size_t bytes);
void sum_in_parts(double *parts);
void count_steps(struct counters *counters);
void mark_parts(char *marks);
#endif
