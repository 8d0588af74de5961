/* core/region_name.h - names of regions for people. A C++ region inside templates has a name of hundreds of letters, which makes any table unreadable. */
#ifndef PCERE_CORE_REGION_NAME_H
#define PCERE_CORE_REGION_NAME_H

#include <stddef.h>

enum { REGION_NAME_MOST = 60, REGION_NAME_BYTES = 4 * REGION_NAME_MOST };     /* letters of a short name; bytes that it takes at most with what stands behind it */

/* "a::B<int, ...>::f<x>@y.cpp:18 #7" as "*::f<*>@y.cpp:18 #7": template arguments first, then outer scopes, then the middle give way to stars, as little as is needed. So it is
 * a pattern that matches the name wherever a region is asked for (but for names with brackets). Short ones stay as they are. Two regions may have the same short name. Returns `text`. */
char *region_name_shorten(const char *name, char text[static REGION_NAME_BYTES]);

#endif
