/* report/assets.c - see assets.h; CMake says where the files lie. */
#include "report/assets.h"

#define ASSET(name, path)                                                        \
    __asm__(".section .rodata." #name ",\"a\",@progbits\n"                       \
            "asset_" #name "_start: .incbin \"" path "\"\n"                      \
            "asset_" #name "_end: .byte 0\n"                                     \
            ".previous\n");                                                      \
    extern const char asset_##name##_start[], asset_##name##_end[];              \
    const struct asset asset_##name = {asset_##name##_start, asset_##name##_end}

ASSET(page, REPORT_PAGE "/page.html");
ASSET(style, REPORT_PAGE "/page.css");
ASSET(script, REPORT_PAGE "/page.js");
ASSET(charts, REPORT_CHARTS);
