/* cli/compare_text.h - how differences and dissimilarities of profiles look, as text, CSV and JSON. */
#ifndef PCERE_CLI_COMPARE_TEXT_H
#define PCERE_CLI_COMPARE_TEXT_H

#include "analysis/difference.h"
#include "analysis/epd.h"
#include "cli/cli.h"
#include "cli/profile_files.h"

/* A value as people read it, by its unit: "1.20 s", "93.1 MiB", "600". Returns `text`. */
char *compare_value_text(char text[CLI_TEXT_MOST], double value, const char *unit);

struct compare_view {
    const struct profile_files *files; /* of both sides */
    const char *only;                  /* an event, or NULL: all */
    enum difference_by by;
    const char *differs;               /* a sentence, or NULL: runs of one program and input */
    bool csv;
};

void compare_print(const struct compare_view *view, const struct difference *difference, FILE *out);
enum pcere_status compare_document_add(json_t *document, const struct compare_view *view, const struct difference *difference, struct pcere_error *error);

/* One side alone: `difference` is of it with itself. */
void sums_print(const struct compare_view *view, const struct difference *difference, FILE *out);
enum pcere_status sums_document_add(json_t *document, const struct compare_view *view, const struct difference *difference, struct pcere_error *error);

void epd_print(const struct profile_files *profiles, const struct epd_calibration *calibration, const struct epd_result *results, bool csv, FILE *out);
enum pcere_status epd_document_add(json_t *document, const struct profile_files *references, const struct profile_files *profiles,
                                   const struct epd_calibration *calibration, const struct epd_result *results, struct pcere_error *error);

#endif
