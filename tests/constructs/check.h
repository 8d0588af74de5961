/* check.h - what the construct programs share: a check that holds inside regions, in codelets too, where nobody looks at a result. */
#ifndef TESTS_CONSTRUCTS_CHECK_H
#define TESTS_CONSTRUCTS_CHECK_H
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) \
    ((condition) ? (void)0 : (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition), abort()))

#endif
