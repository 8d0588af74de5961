/* profiler/target/tool_interface.h - the OpenMP tool interface's declarations, which the compiler brings: CMake finds the file. */
#ifndef PCERE_PROFILER_TARGET_TOOL_INTERFACE_H
#define PCERE_PROFILER_TARGET_TOOL_INTERFACE_H

#pragma GCC system_header
#include PCERE_OMP_TOOLS_HEADER

#endif
