// The same without thread-local storage: the runtime makes, copies and destroys the objects.
#include "cpp_threadprivate.cpp"
