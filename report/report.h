/* report/report.h - one document of schema pcere.report/1 as a page, as a table, and as what Extra-P reads.
 *
 * The document (jansson) is all that is looked at: docs/format/report.md says its keys. No file is read: what the page needs, the
 * charting library included, was put into the program when it was built.
 */
#ifndef PCERE_REPORT_REPORT_H
#define PCERE_REPORT_REPORT_H

#include "core/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* One HTML file that needs nothing else: styles, script, Chart.js and the document are in it, and nothing is loaded from anywhere. Whatever
 * the document's strings hold, they cannot end the script or become markup. PCERE_SYSTEM: `out` did not take it all; `name` says which. */
enum pcere_status report_write_html(const json_t *document, FILE *out, const char *name, struct pcere_error *error);

/* Comma-separated values (RFC 4180) with a line of headings: a line for each region and each predicted thread count of each prediction,
 * then of the whole program (region empty); regions of a store without predictions have one line each with their in-vivo time only. */
enum pcere_status report_write_csv(const json_t *document, FILE *out, const char *name, struct pcere_error *error);

/* JSON lines as Extra-P reads them: {"params": {"p": THREADS}, "callpath": "program->region", "metric": "time", "value": SECONDS}, a line
 * for each repetition of each real run and of each prediction (metric "predicted_time"). `params` of one file are of one machine: that of
 * the document's first prediction. PCERE_DATA: there is neither a prediction nor a real run. */
enum pcere_status report_write_extrap(const json_t *document, FILE *out, const char *name, struct pcere_error *error);

/* Does a file that begins with these bytes hold what one of these wrote, or the document itself? Its first REPORT_HEAD_BYTES tell. */
enum { REPORT_HEAD_BYTES = 1024 };
bool report_is_one(const char *head, size_t bytes);

#endif
