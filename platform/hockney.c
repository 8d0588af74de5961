#include "platform/hockney.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static double line_time(const struct hockney_line *line, double bytes) { return line->alpha_ns + line->beta_ns_per_byte * bytes; }

static void line_judge(struct hockney_line *line, const uint64_t *bytes, const double *time_ns, size_t count)
{
    double mean = 0, total = 0, residual = 0;
    for (size_t i = 0; i < count; i++)
        mean += time_ns[i] / (double)count;
    line->worst_residual_ratio = 0;
    for (size_t i = 0; i < count; i++) {
        double off = time_ns[i] - line_time(line, (double)bytes[i]);
        residual += off * off;
        total += (time_ns[i] - mean) * (time_ns[i] - mean);
        line->worst_residual_ratio = fmax(line->worst_residual_ratio, fabs(off) / time_ns[i]);
    }
    line->r2 = total > 0 ? 1 - residual / total : 1;
}

/* Weighted least squares with weight 1 / t^2; where a coefficient would be negative it is 0, and the other one is fitted alone. */
struct hockney_line hockney_fit(const uint64_t *bytes, const double *time_ns, size_t count)
{
    assert(count);
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
    for (size_t i = 0; i < count; i++) {
        double weight = 1 / (time_ns[i] * time_ns[i]), x = (double)bytes[i];
        w += weight;
        wx += weight * x;
        wy += weight * time_ns[i];
        wxx += weight * x * x;
        wxy += weight * x * time_ns[i];
    }
    double divisor = w * wxx - wx * wx;
    struct hockney_line line = {.alpha_ns = 0, .beta_ns_per_byte = wxy / wxx};
    if (count > 1 && divisor > 1e-12 * w * wxx) {
        line.beta_ns_per_byte = (w * wxy - wx * wy) / divisor;
        line.alpha_ns = (wy - line.beta_ns_per_byte * wx) / w;
        if (line.alpha_ns < 0)
            line = (struct hockney_line){.alpha_ns = 0, .beta_ns_per_byte = wxy / wxx};
        else if (line.beta_ns_per_byte < 0)
            line = (struct hockney_line){.alpha_ns = wy / w, .beta_ns_per_byte = 0};
    }
    line_judge(&line, bytes, time_ns, count);
    return line;
}

/* The range that a size lies in: how many edges are below it. */
static size_t range_of(uint64_t bytes, const uint64_t *edges, size_t edge_count)
{
    size_t range = 0;
    while (range < edge_count && bytes > edges[range])
        range++;
    return range;
}

enum pcere_status hockney_pieces(struct platform_transfer *transfer, const uint64_t *edges, size_t edge_count, struct pcere_error *error)
{
    size_t count = transfer->point_count;
    uint64_t *bytes = calloc(count + 1, sizeof *bytes);
    double *times = calloc(count + 1, sizeof *times);
    struct platform_piece *pieces = calloc(edge_count + 1, sizeof *pieces);
    if (!bytes || !times || !pieces || !count) {
        free(bytes);
        free(times);
        free(pieces);
        return count ? pcere_fail_memory(error, "a fit") : PCERE_OK;
    }
    for (size_t i = 0; i < count; i++) {
        bytes[i] = transfer->points[i].bytes;
        times[i] = transfer->points[i].time_ns.value;
    }
    struct hockney_line whole = hockney_fit(bytes, times, count);
    size_t piece_count = 0;
    for (size_t first = 0, begin = 0; first < count;) {
        size_t end = first;
        while (end < count && range_of(bytes[end], edges, edge_count) == range_of(bytes[first], edges, edge_count))
            end++;
        bool joined = piece_count && end - first == 1;
        begin = joined ? begin : first;
        struct hockney_line line = hockney_fit(bytes + begin, times + begin, end - begin);
        piece_count += !joined;
        pieces[piece_count - 1] = (struct platform_piece){bytes[begin], bytes[end - 1], line.alpha_ns, line.beta_ns_per_byte};
        first = end;
    }
    transfer->alpha_ns = whole.alpha_ns;
    transfer->beta_ns_per_byte = whole.beta_ns_per_byte;
    transfer->r2 = whole.r2;
    transfer->worst_residual_ratio = whole.worst_residual_ratio;
    free(transfer->pieces);
    transfer->pieces = pieces;
    transfer->piece_count = piece_count;
    free(bytes);
    free(times);
    return PCERE_OK;
}

double hockney_time_ns(const struct platform_transfer *transfer, uint64_t bytes)
{
    const struct platform_piece *nearest = NULL;
    for (size_t i = 0; i < transfer->piece_count; i++)
        if (!nearest || bytes >= transfer->pieces[i].from_bytes)
            nearest = &transfer->pieces[i];
    return nearest ? nearest->alpha_ns + nearest->beta_ns_per_byte * (double)bytes
                   : transfer->alpha_ns + transfer->beta_ns_per_byte * (double)bytes;
}
