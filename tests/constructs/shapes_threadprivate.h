// shapes_threadprivate.h - what a library with threadprivate objects offers.
#ifndef TESTS_CONSTRUCTS_SHAPES_THREADPRIVATE_H
#define TESTS_CONSTRUCTS_SHAPES_THREADPRIVATE_H
void library_fill(long count);
void library_start(long first);
long library_sum();
#endif
