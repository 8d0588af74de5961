/* core/region_name.h - names of regions for people. A C++ region inside templates has a name of hundreds of letters, which makes any table unreadable. */
#ifndef PCERE_CORE_REGION_NAME_H
#define PCERE_CORE_REGION_NAME_H

#include <stddef.h>

enum { REGION_NAME_MOST = 60, REGION_NAME_BYTES = 4 * REGION_NAME_MOST };     /* letters of a short name; bytes that it takes at most with what stands behind it */

/* "a::B<int, ...>::f<x>@y.cpp:18 #7" as "*::f<*>@y.cpp:18 #7": template arguments first, then lists of parameters, then outer scopes, then the middle give way to stars, as little as
 * is needed. So it is a pattern that matches the name wherever a region is asked for (but for names with square brackets). Short ones stay as they are. Two regions may have the same
 * short name. Returns `text`. */
char *region_name_shorten(const char *name, char text[static REGION_NAME_BYTES]);

/* The same where it stands beside `names`: what would look like another region is told apart by a word of its arguments, "f<*squared*>@y.cpp:18", or by the shortest passage that none of the
 * others has, "f<*fill<int*>@y.cpp:18", and is a pattern that matches none of those that look so; it may be longer by that. Names with another " #7" behind them are one region's. NULL: nothing that
 * up to REGION_NAME_MOST letters tells it apart. */
char *region_name_among(const char *name, const char *const *names, size_t count, char text[static REGION_NAME_BYTES]);

#endif
