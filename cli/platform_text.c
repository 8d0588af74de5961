#include "cli/platform_text.h"

#include "cli/cli.h"
#include "core/units.h"

#include <math.h>
#include <string.h>

/* ---- quantities ---------------------------------------------------------------------------------------------------------- */

/* "37.2 [36.9, 38.0]" in units of `unit`; "-" if it is not known. */
static char *quantity_text(char text[static CLI_TEXT_MOST], const struct quantity *quantity, double unit)
{
    if (!quantity_known(quantity))
        snprintf(text, CLI_TEXT_MOST, "-");
    else if (isnan(quantity->low) || isnan(quantity->high))
        snprintf(text, CLI_TEXT_MOST, "%.3g", quantity->value / unit);
    else
        snprintf(text, CLI_TEXT_MOST, "%.3g [%.3g, %.3g]", quantity->value / unit, quantity->low / unit, quantity->high / unit);
    return text;
}

static void level_name(char text[static CLI_TEXT_MOST], const struct platform_level *level)
{
    if (level->level)
        snprintf(text, CLI_TEXT_MOST, "L%u", level->level);
    else
        snprintf(text, CLI_TEXT_MOST, "memory");
}

/* ---- the drawing --------------------------------------------------------------------------------------------------------- */

enum { COLUMNS_MOST = 96 };

/* One row: `count` boxes over `width` columns in all, each with the text if it fits. */
static void boxes_print(FILE *out, unsigned count, unsigned width, const char *text)
{
    unsigned each = width / count;
    int room = (int)each - 2, length = (int)strlen(text);
    for (unsigned i = 0; i < count; i++) {
        int used = length <= room ? length : 0;
        int left = (room - used) / 2;
        fprintf(out, "[%*s%s%*s]", left, "", used ? text : "", room - used - left, "");
    }
    fputc('\n', out);
}

static void drawing_print(const struct platform_signature *signature, FILE *out)
{
    unsigned threads = signature_threads(signature), cores = signature_cores(signature);
    unsigned each = threads ? COLUMNS_MOST / threads : 0;
    each = each > 16 ? 16 : each;
    if (each < 4) {          /* too many to draw: as a list */
        fprintf(out, "%u socket%s of %u core%s of %u thread%s\n", signature->sockets, signature->sockets == 1 ? "" : "s", signature->cores_per_socket,
                signature->cores_per_socket == 1 ? "" : "s", signature->threads_per_core, signature->threads_per_core == 1 ? "" : "s");
        for (size_t i = 0; i < signature->level_count; i++) {
            const struct platform_level *level = &signature->levels[i];
            char name[CLI_TEXT_MOST], size[UNITS_TEXT_BYTES];
            level_name(name, level);
            fprintf(out, "  %-6s %s for %u thread%s each\n", name, units_format_bytes(level->bytes, size), level->shared_by, level->shared_by == 1 ? "" : "s");
        }
        return;
    }
    unsigned width = each * threads;
    for (size_t i = signature->level_count; i-- > 0;) {
        const struct platform_level *level = &signature->levels[i];
        char name[CLI_TEXT_MOST], size[UNITS_TEXT_BYTES], text[2 * CLI_TEXT_MOST];
        level_name(name, level);
        snprintf(text, sizeof text, "%s %s", name, units_format_bytes(level->bytes, size));
        unsigned boxes = level->shared_by ? threads / level->shared_by : 1;
        if (boxes && boxes * each > width)
            boxes = threads;
        boxes_print(out, boxes ? boxes : 1, width, text);
        if (!level->level && signature->sockets > 1) {
            snprintf(text, sizeof text, "socket, %u cores", signature->cores_per_socket);
            boxes_print(out, signature->sockets, width, text);
        }
    }
    boxes_print(out, cores, width, "core");
    if (signature->threads_per_core > 1)
        boxes_print(out, threads, width, "thread");
}

/* ---- tables -------------------------------------------------------------------------------------------------------------- */

static void levels_print(const struct platform_signature *signature, FILE *out)
{
    static const char *const headings[] = {"level", ">size", ">latency, ns", ">threads", ">read, GB/s", ">write, GB/s", ">triad, GB/s"};
    struct cli_table *table = cli_table_new(7, headings);
    for (size_t i = 0; table && i < signature->level_count; i++) {
        const struct platform_level *level = &signature->levels[i];
        for (size_t b = 0; b < (level->bandwidth_count ? level->bandwidth_count : 1); b++) {
            const struct platform_bandwidth *bandwidth = b < level->bandwidth_count ? &level->bandwidths[b] : NULL;
            char name[CLI_TEXT_MOST], size[UNITS_TEXT_BYTES], latency[CLI_TEXT_MOST], threads[CLI_TEXT_MOST] = "", texts[3][CLI_TEXT_MOST] = {"-", "-", "-"};
            level_name(name, level);
            if (bandwidth) {
                snprintf(threads, sizeof threads, "%u", bandwidth->threads);
                quantity_text(texts[0], &bandwidth->read, 1e9);
                quantity_text(texts[1], &bandwidth->write, 1e9);
                quantity_text(texts[2], &bandwidth->triad, 1e9);
            }
            const struct quantity *waits = b ? &bandwidth->latency_ns : &level->latency_ns;
            const char *cells[] = {b ? "" : name, b ? "" : units_format_bytes(level->bytes, size), b && !quantity_known(waits) ? "" : quantity_text(latency, waits, 1),
                                   threads, texts[0], texts[1], texts[2]};
            cli_table_row(table, cells);
        }
    }
    if (table)
        cli_table_print(table, out);
    cli_table_free(table);
}

static void transfer_row(struct cli_table *table, const struct platform_pair *pair, const char *kind, const struct platform_transfer *transfer)
{
    char cpus[CLI_TEXT_MOST], line[CLI_TEXT_MOST], alpha[CLI_TEXT_MOST], beta[CLI_TEXT_MOST], r2[CLI_TEXT_MOST], worst[CLI_TEXT_MOST], pieces[160] = "";
    bool reads = strcmp(kind, "read") == 0;
    size_t length = 0;
    snprintf(cpus, sizeof cpus, "%s (%u, %u)", pair->relation, pair->cpus[0], pair->cpus[1]);
    snprintf(alpha, sizeof alpha, "%.3g", transfer->alpha_ns);
    snprintf(beta, sizeof beta, "%.3g", transfer->beta_ns_per_byte);
    if (isnan(transfer->r2))
        strcpy(r2, "-");
    else
        snprintf(r2, sizeof r2, "%.4f", transfer->r2);
    if (isnan(transfer->worst_residual_ratio))
        strcpy(worst, "-");
    else
        cli_ratio_text(worst, transfer->worst_residual_ratio);
    for (size_t i = 0; i < transfer->piece_count && length < sizeof pieces - 32; i++)
        length += (size_t)snprintf(pieces + length, sizeof pieces - length, "%s%.3g + %.3g m", i ? "; " : "", transfer->pieces[i].alpha_ns,
                                   transfer->pieces[i].beta_ns_per_byte);
    const char *cells[] = {reads ? cpus : "", reads ? quantity_text(line, &pair->line_ns, 1) : "", kind, alpha, beta, r2, worst, pieces};
    cli_table_row(table, cells);
}

static void pairs_print(const struct platform_signature *signature, FILE *out)
{
    static const char *const headings[] = {"pair shares",   ">line, ns", "", ">alpha, ns", ">beta, ns/B", ">R2", ">worst residual", "by size, ns of m bytes"};
    struct cli_table *table = cli_table_new(8, headings);
    for (size_t i = 0; table && i < signature->pair_count; i++) {
        transfer_row(table, &signature->pairs[i], "read", &signature->pairs[i].read);
        transfer_row(table, &signature->pairs[i], "write", &signature->pairs[i].write);
    }
    if (table)
        cli_table_print(table, out);
    cli_table_free(table);
}

static void arithmetic_print(const struct platform_signature *signature, FILE *out)
{
    static const char *const headings[] = {"arithmetic", ">bits", ">Gflop/s of a core"};
    struct cli_table *table = cli_table_new(3, headings);
    for (size_t i = 0; table && i < signature->arithmetic_count; i++) {
        const struct platform_arithmetic *one = &signature->arithmetic[i];
        char bits[CLI_TEXT_MOST], rate[CLI_TEXT_MOST];
        snprintf(bits, sizeof bits, "%u", one->bits);
        const char *cells[] = {one->kind, bits, quantity_text(rate, &one->flops_per_s, 1e9)};
        cli_table_row(table, cells);
    }
    if (table)
        cli_table_print(table, out);
    cli_table_free(table);
}

static void translation_print(const struct platform_signature *signature, FILE *out)
{
    char pages[CLI_TEXT_MOST], miss[CLI_TEXT_MOST];
    if (quantity_known(&signature->translation.reach_pages))
        fprintf(out, "addresses of %s pages are at hand; of others they take %s ns\n", quantity_text(pages, &signature->translation.reach_pages, 1),
                quantity_text(miss, &signature->translation.miss_ns, 1));
}

static void overheads_print(const struct platform_signature *signature, FILE *out)
{
    static const char *const headings[] = {"overhead of", ">threads", ">ns"};
    struct cli_table *table = cli_table_new(3, headings);
    for (size_t i = 0; table && i < signature->overhead_count; i++) {
        const struct platform_overhead *one = &signature->overheads[i];
        char threads[CLI_TEXT_MOST], time[CLI_TEXT_MOST];
        snprintf(threads, sizeof threads, "%u", one->threads);
        const char *cells[] = {one->construct, threads, quantity_text(time, &one->time_ns, 1)};
        cli_table_row(table, cells);
    }
    if (table)
        cli_table_print(table, out);
    cli_table_free(table);
}

void platform_text_print(const struct platform_signature *signature, FILE *out)
{
    fprintf(out, "%s: %s (%s)\n", signature->name, signature->title, signature->basis == PLATFORM_PUBLISHED ? "published figures" : "measured");
    fprintf(out, "%s, %u-bit vectors%s", signature->isa, signature->vector_bits, signature->fma ? ", fused multiply-add" : "");
    for (size_t i = 0; i < signature->clock_count; i++) {
        char rate[CLI_TEXT_MOST];
        fprintf(out, ", %s GHz at %u thread%s", quantity_text(rate, &signature->clocks[i].hz, 1e9), signature->clocks[i].threads,
                signature->clocks[i].threads == 1 ? "" : "s");
        if (quantity_known(&signature->clocks[i].sustained_hz))
            fprintf(out, " (%s after %.3g s)", quantity_text(rate, &signature->clocks[i].sustained_hz, 1e9), signature->clocks[i].load_s);
    }
    fputs(signature->pinned ? "\n\n" : "\nthreads could not be pinned: intervals are wide\n\n", out);
    drawing_print(signature, out);
    void (*const tables[])(const struct platform_signature *, FILE *) = {levels_print, translation_print, pairs_print, arithmetic_print, overheads_print};
    const size_t counts[] = {signature->level_count, quantity_known(&signature->translation.reach_pages), signature->pair_count, signature->arithmetic_count, signature->overhead_count};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (counts[i]) {
            fputc('\n', out);
            tables[i](signature, out);
        }
    for (size_t i = 0; i < signature->source_count; i++)
        fprintf(out, "%ssource: %s\n", i ? "" : "\n", signature->sources[i]);
}
