/* tests/unit/test_analysis_profile.c - profiles: labels and their order, files, damage, JSON, which ones belong together. */
#include "tests/unit/profile_sample.h"

#include "core/json.h"

#include <stdlib.h>
#include <unistd.h>

static const struct sample_xu three[] = {
    {"0/2", 0, 30, {7, 1}}, {"0/10", 1, 10, {5, 3}}, {"0/1", 0, 20, {1u << 20, UINT64_C(1) << 40}},
};

static void labels_order(void)
{
    CU_ASSERT(profile_label_compare("0/2", "0/10") < 0);
    CU_ASSERT(profile_label_compare("0/10", "0/9/1") > 0);
    CU_ASSERT(profile_label_compare("0/1", "0/1/1") < 0);
    CU_ASSERT(profile_label_compare("0/1", "0/01") != 0);
    CU_ASSERT(profile_label_compare("0/b1", "0/a2") > 0);
    CU_ASSERT(profile_label_compare("0/18446744073709551616", "0/18446744073709551617") < 0);
    CU_ASSERT_EQUAL(profile_label_compare("0/3@x", "0/3@x"), 0);
}

static void sorting_moves_whole_rows(void)
{
    struct pcere_error error = {0};
    struct profile *profile = SAMPLE("i l", three);
    struct profile_segment segment = {.xu = 1, .begin_ns = 10, .active_ns = 10, .counts = (uint64_t[]){5, 3}};
    CU_ASSERT_EQUAL(profile_add_segment(profile, &segment, &error), PCERE_OK);
    CU_ASSERT_FALSE(profile->in_label_order);
    CU_ASSERT_EQUAL_FATAL(profile_sort(profile, &error), PCERE_OK);
    char digits[33];
    CU_ASSERT_STRING_EQUAL(profile_label_text(profile, 0, digits), "0/1");
    CU_ASSERT_STRING_EQUAL(profile_label_text(profile, 1, digits), "0/2");
    CU_ASSERT_STRING_EQUAL(profile_label_text(profile, 2, digits), "0/10");
    CU_ASSERT_EQUAL(profile->counts[1][0], UINT64_C(1) << 40);
    CU_ASSERT_EQUAL(profile->start_ns[2], 10);
    CU_ASSERT_EQUAL(profile->construct[2], 1);
    CU_ASSERT_EQUAL(profile->segments.xu[0], 2);
    profile_free(profile);
}

static void compare_profiles(const struct profile *a, const struct profile *b)
{
    CU_ASSERT_EQUAL_FATAL(a->count, b->count);
    CU_ASSERT_EQUAL_FATAL(a->event_count, b->event_count);
    for (size_t i = 0; i < a->count; i++) {
        char x[33], y[33];
        CU_ASSERT_STRING_EQUAL(profile_label_text(a, i, x), profile_label_text(b, i, y));
        CU_ASSERT_EQUAL(a->labels[i].low, b->labels[i].low);
        CU_ASSERT_EQUAL(a->kinds[i], b->kinds[i]);
        CU_ASSERT_EQUAL(a->construct[i], b->construct[i]);
        CU_ASSERT_EQUAL(a->cpu[i], b->cpu[i]);
        CU_ASSERT_EQUAL(a->start_ns[i], b->start_ns[i]);
        CU_ASSERT_EQUAL(a->active_ns[i], b->active_ns[i]);
        for (size_t event = 0; event < a->event_count; event++) {
            CU_ASSERT_EQUAL(a->counts[event][i], b->counts[event][i]);
            CU_ASSERT_EQUAL(a->low[event] ? a->low[event][i] : 0, b->low[event] ? b->low[event][i] : 0);
        }
    }
    CU_ASSERT_STRING_EQUAL(a->runs[0].settings[0], b->runs[0].settings[0]);
    CU_ASSERT_STRING_EQUAL(a->runs[0].blind[0], b->runs[0].blind[0]);
    CU_ASSERT_STRING_EQUAL(a->events[1].name, b->events[1].name);
    CU_ASSERT_PTR_NULL(b->runs[0].region);
}

static struct profile *rich(void)
{
    struct pcere_error error = {0};
    struct profile *profile = SAMPLE("i l", three);
    struct profile_segment segment = {.xu = 1, .begin_ns = 10, .active_ns = 10, .counts = (uint64_t[]){5, 3}};
    struct profile_dropped dropped = {.construct = 1, .kind = PROFILE_SECTION, .xus = 9};
    CU_ASSERT_EQUAL(profile_add_segment(profile, &segment, &error), PCERE_OK);
    CU_ASSERT_EQUAL(profile_add_interval(profile, 1, &error), PCERE_OK);
    CU_ASSERT_EQUAL(profile_add_sources(profile, &error), PCERE_OK);
    CU_ASSERT_EQUAL(profile_add_dropped(profile, &dropped, &error), PCERE_OK);
    CU_ASSERT_EQUAL(profile_add_name(profile, "x.c:1", 0, &error), PCERE_OK);
    CU_ASSERT_EQUAL(profile_add_name(profile, "x.c:1", UINT64_MAX, &error), PCERE_OK);
    profile->low[1][0] = 0;
    profile->sources[0][2] = 77;
    return profile;
}

static void file_round_trip(void)
{
    struct pcere_error error = {0};
    struct profile *profile = rich(), *again;
    void *data, *data2;
    size_t bytes, bytes2;
    CU_ASSERT_EQUAL_FATAL(profile_encode(profile, &data, &bytes, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(profile_decode(data, bytes, "x", &again, &error), PCERE_OK);
    compare_profiles(profile, again);
    CU_ASSERT_EQUAL(again->sources[0][2], 77);
    CU_ASSERT_EQUAL(again->segments.count, 1);
    CU_ASSERT_EQUAL(again->segments.counts[1][0], 3);
    CU_ASSERT_EQUAL(again->dropped[0].xus, 9);
    CU_ASSERT_EQUAL_FATAL(again->name_count, 2);
    CU_ASSERT_STRING_EQUAL(again->names[1].name, "x.c:1");
    CU_ASSERT(again->names[0].id == 0 && again->names[1].id == UINT64_MAX);
    CU_ASSERT_EQUAL_FATAL(profile_encode(again, &data2, &bytes2, &error), PCERE_OK);
    CU_ASSERT(bytes == bytes2 && memcmp(data, data2, bytes) == 0);
    free(data);
    free(data2);
    profile_free(profile);
    profile_free(again);
}

static void hashes_round_trip(void)
{
    struct pcere_error error = {0};
    struct profile *profile = sample_profile("i", NULL, 0), *again;
    for (uint64_t i = 0; i < 3; i++) {
        struct profile_xu xu = {.hash = {.high = 5 - i, .low = i}, .kind = PROFILE_TASK, .cpu = 1, .counts = &i};
        CU_ASSERT_EQUAL(profile_add_xu(profile, &xu, &error), PCERE_OK);
    }
    struct profile_xu text = {.label = "0"};
    CU_ASSERT_EQUAL(profile_add_xu(profile, &text, &error), PCERE_USAGE);
    CU_ASSERT_EQUAL(profile_sort(profile, &error), PCERE_OK);
    void *data;
    size_t bytes;
    CU_ASSERT_EQUAL_FATAL(profile_encode(profile, &data, &bytes, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(profile_decode(data, bytes, "x", &again, &error), PCERE_OK);
    char digits[33];
    CU_ASSERT_STRING_EQUAL(profile_label_text(again, 0, digits), "00000000000000030000000000000002");
    CU_ASSERT_EQUAL(again->counts[0][0], 2);
    free(data);
    profile_free(profile);
    profile_free(again);
}

static void empty_round_trip(void)
{
    struct pcere_error error = {0};
    struct profile *profile = sample_profile("i l", NULL, 0), *again;
    void *data;
    size_t bytes;
    CU_ASSERT_EQUAL_FATAL(profile_encode(profile, &data, &bytes, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(profile_decode(data, bytes, "x", &again, &error), PCERE_OK);
    CU_ASSERT_EQUAL(again->count, 0);
    CU_ASSERT_EQUAL(again->event_count, 2);
    free(data);
    profile_free(profile);
    profile_free(again);
}

static void damage_is_found(void)
{
    struct profile *profile = rich(), *again = NULL;
    void *data;
    size_t bytes;
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL_FATAL(profile_encode(profile, &data, &bytes, &error), PCERE_OK);
    for (size_t at = 0; at < bytes; at++) {
        unsigned char *copy = malloc(bytes);
        memcpy(copy, data, bytes);
        copy[at] ^= 1u << (at % 8);
        error = (struct pcere_error){0};
        CU_ASSERT_EQUAL(profile_decode(copy, bytes, "x", &again, &error), PCERE_DATA);
        CU_ASSERT(error.message[0] && error.hint[0]);
        free(copy);
    }
    for (size_t cut = 0; cut < bytes; cut++) {
        unsigned char *copy = malloc(cut + 1);
        memcpy(copy, data, cut);
        CU_ASSERT_EQUAL(profile_decode(copy, cut, "x", &again, &error), PCERE_DATA);
        free(copy);
    }
    CU_ASSERT_PTR_NULL(again);
    free(data);
    profile_free(profile);
}

static void json_round_trip(void)
{
    struct pcere_error error = {0};
    struct sample_xu odd[] = {{"0/\"\\\n", 0, 1, {1, 2}}, {"0/1", 1, 2, {3, 4}}};
    struct profile *profiles[] = {rich(), SAMPLE("i l", odd)};
    for (size_t i = 0; i < 2; i++) {
        struct profile *again;
        char *text;
        size_t bytes;
        FILE *file = open_memstream(&text, &bytes);
        json_t *head = json_pack("{ss}", "schema", "pcere.profile/1"), *document;
        CU_ASSERT_EQUAL_FATAL(profile_json_write(profiles[i], head, file, "memory", &error), PCERE_OK);
        fclose(file);
        CU_ASSERT_EQUAL_FATAL(json_parse(text, bytes, "x", &document, &error), PCERE_OK);
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(document, "schema")), "pcere.profile/1");
        CU_ASSERT_EQUAL_FATAL(profile_json_read(document, "x", &again, &error), PCERE_OK);
        compare_profiles(profiles[i], again);
        json_object_set_new(json_array_get(json_object_get(document, "xus"), 0), "type", json_string("tusk"));
        CU_ASSERT_EQUAL(profile_json_read(document, "x", &(struct profile *){NULL}, &error), PCERE_DATA);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "tusk"));
        json_decref(head);
        json_decref(document);
        free(text);
        profile_free(again);
        profile_free(profiles[i]);
    }
}

static void csv_is_quoted(void)
{
    struct pcere_error error = {0};
    struct sample_xu odd[] = {{"0,\"1\"", 0, 1, {1, 2}}};
    struct profile *profile = SAMPLE("i l", odd);
    char *text;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    CU_ASSERT_EQUAL(profile_csv_write(profile, file, "memory", &error), PCERE_OK);
    fclose(file);
    CU_ASSERT_STRING_EQUAL(text, "label,type,construct,thread,cpu,start_ns,active_ns,i,l\n\"0,\"\"1\"\"\",task,a@x.c:1,0,,1,10,1,2\n");
    free(text);
    profile_free(profile);
}

static void other_runs_are_refused(void)
{
    struct pcere_error error = {0};
    struct profile *a = SAMPLE("i l", three), *b = SAMPLE("i l", three);
    CU_ASSERT_EQUAL(profile_same_run(a->runs, "A", b->runs, "B", &error), PCERE_OK);
    b->runs[0].build_id[0] = 'f';
    CU_ASSERT_EQUAL(profile_same_run(a->runs, "A", b->runs, "B", &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "different programs"));
    b->runs[0].build_id[0] = 'a';
    b->runs[0].arguments[0][0] = '9';
    CU_ASSERT_EQUAL(profile_same_run(a->runs, "A", b->runs, "B", &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "arguments: '10' and '90'"));
    b->runs[0].arguments[0][0] = '1';
    b->runs[0].settings[0][16] = '4';
    CU_ASSERT_EQUAL(profile_same_run(a->runs, "A", b->runs, "B", &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "settings"));
    b->runs[0].settings[0][16] = '2';
    b->runs[0].threads = 1;
    CU_ASSERT_EQUAL(profile_same_run(a->runs, "A", b->runs, "B", &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "2 and 1 threads"));
    profile_free(a);
    profile_free(b);
}

static void events_are_unique(void)
{
    struct pcere_error error = {0};
    struct profile *profile = sample_profile("i", NULL, 0);
    struct profile_event event = {.name = "i", .unit = "1", .backend = "ir"};
    CU_ASSERT_EQUAL(profile_add_event(profile, &event, NULL, &error), PCERE_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "'i' is there twice"));
    profile_free(profile);
}

/* The table of the names in labels, as a file may have it. */
static void names_are_checked(void)
{
    static const struct { const char *names, *says; } cases[] = {
        {"null", "names"}, {"{}", "names"}, {"[1]", "id"}, {"[{\"name\": \"x.c:1\"}]", "id"}, {"[{\"name\": 1, \"id\": null}]", "name"},
        {"[{\"name\": \"x.c:1\", \"id\": \"00\"}]", "id"}, {"[{\"name\": \"x.c:1\", \"id\": \"0000000000000000\"}]", "0 is no construct's id"},
        {"[{\"name\": \"\", \"id\": null}]", "no such name"}, {"[{\"name\": \"a@b\", \"id\": null}]", "'a@b'"},
        {"[{\"name\": \"b\", \"id\": null}, {\"name\": \"a\", \"id\": null}]", "'a' comes behind 'b'"},
        {"[{\"name\": \"a\", \"id\": null}, {\"name\": \"a\", \"id\": null}]", "'a' comes behind 'a'"},
    };
    struct pcere_error error = {0};
    struct profile *profile = SAMPLE("i l", three);
    json_t *description;
    CU_ASSERT_EQUAL_FATAL(profile_describe(profile, &description, &error), PCERE_OK);
    CU_ASSERT_PTR_NULL(json_object_get(description, "names"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile *again = profile_new();
        json_object_set_new(description, "names", json_loads(cases[i].names, JSON_DECODE_ANY, NULL));
        error = (struct pcere_error){0};
        CU_ASSERT_EQUAL(profile_describe_read(again, description, "x", &error), PCERE_DATA);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, cases[i].says));
        profile_free(again);
    }
    json_decref(description);
    profile_free(profile);
}

static const struct unit_test tests[] = {
    {"a table of names that is damaged is refused", names_are_checked},
    {"numbers in labels are ordered by value", labels_order},
    {"sorting moves whole rows, and segments follow", sorting_moves_whole_rows},
    {"a profile is the same after its file", file_round_trip},
    {"a profile without texts of labels is the same after its file", hashes_round_trip},
    {"a profile without XUs is a profile", empty_round_trip},
    {"every flipped bit and every cut is found", damage_is_found},
    {"a profile is the same after its JSON, and odd labels are escaped", json_round_trip},
    {"CSV fields are quoted", csv_is_quoted},
    {"runs of other programs, inputs, settings and threads are refused by name", other_runs_are_refused},
    {"an event cannot be there twice", events_are_unique},
};

UNIT_MAIN("profiles", tests)
