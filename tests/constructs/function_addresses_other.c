/* function_addresses_other.c - the other file of function_addresses.c. */
#include "function_addresses.h"

int of_other_file(int x) { return x + 3; }
function chosen_by_other_file(int x) { return x > -1000000 ? of_library : of_other_file; }
