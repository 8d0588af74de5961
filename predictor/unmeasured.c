/* predictor/unmeasured.c - see unmeasured.h. */
#include "predictor/unmeasured.h"

#include "core/text.h"
#include "predictor/measured.h"

#include <stdio.h>

enum pcere_status unmeasured_host(const struct predict_request *request, const char *captured_on, struct pcere_error *error)
{
    struct text known = {0};
    if (captured_on)
        text_addf(&known, "%s", captured_on);
    for (size_t i = 0; i < request->sample_count; i++) {
        const char *name = request->samples[i].host_name;
        bool seen = !name || text_equal(name, captured_on);
        for (size_t j = 0; j < i && !seen; j++)
            seen = text_equal(name, request->samples[j].host_name);
        if (!seen)
            text_addf(&known, "%s%s", known.length ? ", " : "", name);
    }
    char hint[sizeof error->hint];
    snprintf(hint, sizeof hint, "known are: %s; replay on '%s' to make it known", known.length ? known.data : "none", request->arch);
    text_done(&known);
    return pcere_fail(error, PCERE_USAGE, 0, hint, "the store has no measurement of a machine named '%s'", request->arch);
}

enum pcere_status unmeasured_class(const struct predict_request *request, struct replays *replays, bool own, const char *region, uint64_t representative,
                                   uint32_t threads, struct pcere_error *error)
{
    size_t missing = 0;
    struct text list = {0};
    for (size_t r = 0; r < request->manifest->region_count; r++) {
        const struct store_region *this = &request->manifest->regions[r];
        if (text_equal(this->name, region) && !store_region_may_have(this, request->manifest->threads, threads))
            return pcere_fail(error, PCERE_NO, 0, "capture the program with as many threads: pcere capture --threads N",
                              "%s cannot run with %u thread%s, since it uses %s", region, threads, threads == 1 ? "" : "s", this->thread_sized);
    }
    for (size_t t = 0; t < request->thread_count; t++) {
        size_t before = missing;
        for (size_t r = 0; r < request->manifest->region_count; r++) {
            const struct store_region *other = &request->manifest->regions[r];
            for (size_t c = 0; text_equal(other->status, "captured") && c < other->class_count; c++) {
                if (!other->classes[c].captured || other->classes[c].nested)
                    continue;
                replays_choose(request, other->name, other->classes[c].representative, request->threads[t], replays);
                bool known = own && measured_is_known(request->manifest, &other->classes[c], request->threads[t]);
                missing += replays->count == 0 && !known && !measured_is_light(request->manifest, &other->classes[c]);
            }
        }
        if (missing > before)
            text_addf(&list, "%s%u", list.length ? "," : "", request->threads[t]);
    }
    char hint[sizeof error->hint], others[64] = "";
    snprintf(hint, sizeof hint, "on %s: pcere replay%s%s%s%s%s --threads %s", request->arch, request->store_name ? " " : "",
             request->store_name ? request->store_name : "", text_equal(request->flags, "") ? "" : " --flags '",
             text_equal(request->flags, "") ? "" : request->flags, text_equal(request->flags, "") ? "" : "'", list.data ? list.data : "LIST");
    text_done(&list);
    if (missing > 1)
        snprintf(others, sizeof others, " (and %zu more)", missing - 1);
    return pcere_fail(error, PCERE_DATA, 0, hint, "invocation %llu of %s was not replayed with %u thread%s on '%s'%s",
                      (unsigned long long)representative, region, threads, threads == 1 ? "" : "s", request->arch, others);
}
