/* The same without thread-local storage: the runtime keeps a list of copies for each variable, as it does for Fortran (-fnoopenmp-use-tls). */
#include "threadprivate_persistent.c"
