/* function_addresses.h - what function_addresses.c has elsewhere. */
#ifndef TESTS_CONSTRUCTS_FUNCTION_ADDRESSES_H
#define TESTS_CONSTRUCTS_FUNCTION_ADDRESSES_H
typedef int (*function)(int);
int of_other_file(int x);
function chosen_by_other_file(int x);
int of_library(int x);
int is_of_library(function run);
#endif
