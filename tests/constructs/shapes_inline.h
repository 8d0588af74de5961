/* shapes_inline.h - variables that every unit which sees them defines, and of whose code that makes them the linker keeps one. */
#ifndef TESTS_CONSTRUCTS_SHAPES_INLINE_H
#define TESTS_CONSTRUCTS_SHAPES_INLINE_H
#include <map>
#include <string>
#include <vector>

inline std::vector<int> heights(100, 3);
template <class T> struct Defaults { static inline std::map<std::string, T> values{{"one", T(1)}, {"two", T(2)}}; };

long heights_raise(int by);
#endif
