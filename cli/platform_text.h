/* cli/platform_text.h - a machine's signature as text for people. */
#ifndef PCERE_CLI_PLATFORM_TEXT_H
#define PCERE_CLI_PLATFORM_TEXT_H

#include "platform/signature.h"

#include <stdio.h>

/* Its name, a drawing of what shares what, and tables of memory, pairs, arithmetic and overheads. */
void platform_text_print(const struct platform_signature *signature, FILE *out);

#endif
