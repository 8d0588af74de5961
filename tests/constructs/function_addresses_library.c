/* function_addresses_library.c - the library of function_addresses.c. */
#include "function_addresses.h"

int of_library(int x) { return x ^ 5; }
int is_of_library(function run) { return run == of_library; }
