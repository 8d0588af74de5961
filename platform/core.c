/* platform/core.c - see core.h. */
#include "platform/core.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define WINDOW_INSTRUCTIONS 224.0     /* that an out-of-order core works ahead, where it was not measured: machines of the last fifteen years, within a factor of two */
#define REFILL_CYCLES 15.0            /* likewise */
#define IPC_PLAIN 2.5                 /* of code of which nothing else is known */
#define WAITING_RATIO 1.15            /* longer than units and front end need: the code waits for its own results */
#define CLOCK_HZ 2.5e9                /* of a machine that does not tell */
#define SIMPLE_RATIO 1.3              /* a bound so much above that of loads and stores has other causes */

static struct quantity clock_hz(const struct platform_signature *signature, unsigned threads)
{
    struct quantity hz = {signature->frequency_hz > 0 ? signature->frequency_hz : CLOCK_HZ, NAN, NAN};
    for (size_t i = 0; i < signature->clock_count; i++)
        if ((!i || signature->clocks[i].threads <= threads) && quantity_known(&signature->clocks[i].hz))
            hz = signature->clocks[i].hz;
    return hz;
}

static double rate_of(const struct platform_signature *signature, const char *kind, unsigned bits)
{
    for (size_t i = 0; i < signature->arithmetic_count; i++)
        if (signature->arithmetic[i].bits == bits && strcmp(signature->arithmetic[i].kind, kind) == 0)
            return signature->arithmetic[i].flops_per_s.value;
    return NAN;
}

/* NAN: not measured. */
static double pipeline_of(const struct platform_signature *signature, const char *kind)
{
    for (size_t i = 0; i < signature->pipeline_count; i++)
        if (strcmp(signature->pipeline[i].kind, kind) == 0)
            return signature->pipeline[i].value.value;
    return NAN;
}

struct core_clock core_clock_find(const struct platform_signature *signature, unsigned threads)
{
    double window = pipeline_of(signature, "window"), refill = pipeline_of(signature, "refill");
    struct quantity hz = clock_hz(signature, threads);
    return (struct core_clock){.cycle_ns = 1e9 / hz.value, .doubt_ratio = quantity_doubt(&hz), .window = window > 0 ? window : WINDOW_INSTRUCTIONS,
                               .refill_cycles = refill > 0 ? refill : REFILL_CYCLES};
}

double core_plain_ns(const struct core_clock *clock, double instructions) { return instructions / IPC_PLAIN * clock->cycle_ns; }

/* ---- what waits for itself ----------------------------------------------------------------------------------------------- */

/* A correction by much more than two is an error. */
static double correction(double measured, double simulated)
{
    double ratio = measured / simulated;
    return isfinite(ratio) && ratio > 0.4 && ratio < 2.5 ? ratio : 1;
}

/* Cycles that a pass waits for the one before. Moves cost nothing in it. The share of additions in the chain tells which reference it is like: additions
 * alone, which some processors forward to each other sooner, or every other one a multiplication. */
static double waiting_cycles(const struct platform_signature *signature, const struct core_clock *clock, const struct mca_estimate *references, const struct mca_estimate *estimate)
{
    double cycles = estimate->cycles - (estimate->moves_cycles < estimate->cycles / 2 ? estimate->moves_cycles : 0);
    double alone = correction(1e9 / rate_of(signature, "add-chain", 64) / clock->cycle_ns, references[MCA_CHAIN].cycles);
    double paired = correction(mca_reference_instructions(MCA_PAIR_CHAIN) / pipeline_of(signature, mca_reference_kind(MCA_PAIR_CHAIN)), references[MCA_PAIR_CHAIN].cycles);
    double shorter = 1 - references[MCA_MAXIMUM_CHAIN].cycles / references[MCA_CHAIN].cycles;
    double share = isfinite(shorter) && shorter > 0.1 && cycles > 0 ? estimate->additions_cycles / (shorter * cycles) : 0;
    double like_alone = share > 1 ? 1 : share > 0.5 ? 2 * share - 1 : 0;
    return cycles * (like_alone * alone + (1 - like_alone) * paired);
}

/* ---- what keeps it busy -------------------------------------------------------------------------------------------------- */

struct mix {
    double loads, vector_loads, stores, vector_stores, updates;
    double places;                   /* stores that go on to another place, whose registers differ: only stores to one line share a cycle */
    const char *first_place, *place; /* of the stores; NULL: there are none */
};

static bool begins_with_any(const char *line, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(line, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

static bool is_place(const char *one, const char *other) { return one && strcspn(one, ")") == strcspn(other, ")") && strncmp(one, other, strcspn(one, ")")) == 0; }

static void store_count(const char *place, struct mix *mix)
{
    mix->stores++;
    mix->places += mix->place && !is_place(mix->place, place);
    mix->place = place;
    mix->first_place = mix->first_place ? mix->first_place : place;
}

/* AT&T: what is written comes last. */
static void line_count(const char *line, size_t length, struct mix *mix)
{
    static const char *const no_access[] = {"lea", "nop", "prefetch", "ret"}, *const only_read[] = {"cmp", "test", "ucomi", "comi", "bt", "j", "call", "push", "mul", "imul", "div", "idiv"};
    const char *last = line + strcspn(line, " \t");
    int depth = 0;
    for (const char *at = last; at < line + length; at++) {
        depth += (*at == '(') - (*at == ')');
        if (*at == ',' && !depth)
            last = at;
    }
    const char *memory = memchr(line, '(', length);
    if (!memory || begins_with_any(line, no_access, sizeof no_access / sizeof *no_access))
        return;
    bool vector = memmem(line, length, "%xmm", 4) || memmem(line, length, "%ymm", 4) || memmem(line, length, "%zmm", 4);
    bool writes = memory > last && !begins_with_any(line, only_read, sizeof only_read / sizeof *only_read);
    if (!writes)
        *(vector ? &mix->vector_loads : &mix->loads) += 1;
    else if (vector)
        mix->vector_stores++;
    else if (strncmp(line, "mov", 3) == 0 || strncmp(line, "set", 3) == 0)
        store_count(memory, mix);
    else
        mix->updates++;
}

static struct mix mix_of(const char *code)
{
    struct mix mix = {0};
    for (const char *line = code; *line;) {
        size_t length = strcspn(line, "\n");
        if (length)
            line_count(line, length, &mix);
        line += length + (line[length] == '\n');
    }
    mix.places += mix.place && !is_place(mix.first_place, mix.place);      /* the next pass begins elsewhere */
    return mix;
}

/* Cycles that loads and stores need, by instructions of each kind in a cycle. */
static double simple_cycles(const struct mix *mix, const double *rates)
{
    double vectors = mix->vector_loads + mix->vector_stores;
    const double needs[] = {
        mix->loads / rates[MCA_LOAD] + mix->vector_loads / rates[MCA_LOAD_VECTOR],
        mix->stores / rates[MCA_STORE] + mix->vector_stores / rates[MCA_STORE_VECTOR], (mix->updates + mix->places) / rates[MCA_UPDATE],
        mix->vector_loads > 0 && mix->vector_stores > 0 ? vectors / rates[MCA_STREAM] : 0,
    };
    double most = 0;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        most = needs[i] > most ? needs[i] : most;
    return most;
}

/* By which the machine differs from llvm-mca's idea of it in what such code needs: 1 where that was not measured. */
static double busy_correction(const struct platform_signature *signature, const struct mca_estimate *references, const char *code, double bound_cycles)
{
    double measured[MCA_REFERENCES] = {0}, simulated[MCA_REFERENCES] = {0};
    for (enum mca_reference i = 0; i < MCA_REFERENCES; i++) {
        if (!mca_reference_kind(i))
            continue;
        measured[i] = pipeline_of(signature, mca_reference_kind(i));
        simulated[i] = mca_reference_instructions(i) / references[i].bound_cycles;
        if (!(measured[i] > 0) || !(simulated[i] > 0) || !isfinite(simulated[i]))
            return 1;
    }
    struct mix mix = mix_of(code);
    double here = simple_cycles(&mix, measured), there = simple_cycles(&mix, simulated);
    return there > 0 && bound_cycles < SIMPLE_RATIO * there ? correction(here, there) : 1;
}

/* ---- streams ------------------------------------------------------------------------------------------------------------- */

unsigned core_code_streams(const char *code)
{
    char seen[32][8];
    unsigned count = 0;
    for (const char *open = strchr(code, '('); open && count < 32; open = strchr(open + 1, '(')) {
        char base[8] = "";
        size_t length = strcspn(open + 1, ",)");
        if (length < 2 || length >= sizeof base || !strncmp(open + 1, "%rsp", 4) || !strncmp(open + 1, "%rip", 4))
            continue;
        memcpy(base, open + 1, length);
        unsigned at = 0;
        while (at < count && strcmp(seen[at], base) != 0)
            at++;
        if (at == count)
            memcpy(seen[count++], base, sizeof base);
    }
    return count;
}

/* ---- both ---------------------------------------------------------------------------------------------------------------- */

double core_code_ns(const struct platform_signature *signature, const struct core_clock *clock, const struct character_code *code, uint32_t thread,
                    const struct mca_estimate *references, const struct mca_estimate *estimate, struct core_waiting *ret_waiting)
{
    double passes = (double)code->counts[thread];
    if (!estimate || !(estimate->cycles > 0)) {
        double rate = rate_of(signature, "add", 128), plain_ns = core_plain_ns(clock, (double)code->instructions), work_ns = rate > 0 ? 1e9 * (double)code->flops / rate : 0;
        return passes * (plain_ns > work_ns ? plain_ns : work_ns);
    }
    double additions = correction(16 * 1e9 / rate_of(signature, "add", 128) / clock->cycle_ns, references[MCA_SIDE_BY_SIDE].cycles);
    double busy = estimate->bound_cycles * additions * busy_correction(signature, references, code->text, estimate->bound_cycles);
    if (!code->loop)
        return passes * busy * clock->cycle_ns;
    if (estimate->cycles <= WAITING_RATIO * estimate->bound_cycles)
        return passes * busy * estimate->cycles / estimate->bound_cycles * clock->cycle_ns;
    double waiting = waiting_cycles(signature, clock, references, estimate), entries = code->entries ? (double)code->entries[thread] : 0;
    /* While the end of one trip through a loop waits, the core is in the next one already, as far ahead as it can see. */
    if (entries > 0 && passes > 0)
        waiting /= 1 + clock->window / (passes / entries * (double)code->instructions);
    if (waiting > busy)
        ret_waiting->idle_ns += passes * (waiting - busy) * clock->cycle_ns;
    if (entries > 0 && waiting > busy) {
        ret_waiting->waited_ns += passes * (waiting - busy) * clock->cycle_ns;
        ret_waiting->ends += entries;
    }
    return passes * (waiting > busy ? waiting : busy) * clock->cycle_ns;
}
