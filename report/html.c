/* report/html.c - the page: a template with four places, which are filled with style, charts, script and document. */
#include "report/assets.h"
#include "report/report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void text_write(FILE *out, const char *start, const char *end)
{
    fwrite(start, 1, (size_t)(end - start), out);
}

/* Inside a script element no text may look like markup: "<", ">" and "&" become JSON escapes, and so do the two line separators. */
static void document_write(FILE *out, const char *text)
{
    for (const char *at = text; *at; at++)
        if (*at == '<' || *at == '>' || *at == '&')
            fprintf(out, "\\u%04x", (unsigned)*at);
        else if (strncmp(at, "\xe2\x80\xa8", 3) == 0 || strncmp(at, "\xe2\x80\xa9", 3) == 0)
            fprintf(out, "\\u202%c", (at += 2, *at == '\xa8' ? '8' : '9'));
        else
            putc(*at, out);
}

/* "{{NAME}}" at the start of the rest: which asset it is; NULL: the document. */
static const struct asset *place_of(const char *name, size_t length, bool *ret_known)
{
    static const struct { const char *name; const struct asset *asset; } places[] = {
        {"style", &asset_style}, {"charts", &asset_charts}, {"script", &asset_script}, {"document", NULL},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strlen(places[i].name) == length && strncmp(places[i].name, name, length) == 0) {
            *ret_known = true;
            return places[i].asset;
        }
    *ret_known = false;
    return NULL;
}

enum pcere_status report_write_html(const json_t *document, FILE *out, const char *name, struct pcere_error *error)
{
    char *text = json_dumps(document, JSON_COMPACT | JSON_PRESERVE_ORDER);
    if (!text)
        return pcere_fail_memory(error, "the report");
    const char *at = asset_page.start;
    while (at < asset_page.end) {
        const char *open = memmem(at, (size_t)(asset_page.end - at), "{{", 2);
        const char *close = open ? memmem(open, (size_t)(asset_page.end - open), "}}", 2) : NULL;
        if (!close)
            break;
        bool known;
        const struct asset *asset = place_of(open + 2, (size_t)(close - open - 2), &known);
        text_write(out, at, open);
        if (known && asset)
            text_write(out, asset->start, asset->end);
        else if (known)
            document_write(out, text);
        at = close + 2;
    }
    text_write(out, at, asset_page.end);
    free(text);
    if (fflush(out) != 0 || ferror(out))
        return pcere_fail(error, PCERE_SYSTEM, errno, errno == EPIPE ? NULL : "is the disk full?", "cannot write %s", name);
    return PCERE_OK;
}
