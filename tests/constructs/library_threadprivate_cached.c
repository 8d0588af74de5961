/* The same without thread-local storage: the runtime keeps a list of copies for each variable of the library. */
#include "library_threadprivate.c"
