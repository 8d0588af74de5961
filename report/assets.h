/* report/assets.h - the files of the page, inside the program: put there by the assembler when it was built.
 */
#ifndef PCERE_REPORT_ASSETS_H
#define PCERE_REPORT_ASSETS_H

#include <stddef.h>

struct asset { const char *start, *end; };

extern const struct asset asset_page, asset_style, asset_script, asset_charts;

#endif
