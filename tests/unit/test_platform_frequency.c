/* tests/unit/test_platform_frequency.c - what recorded sysfs trees say of the clock. */
#include "platform/frequency.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CPUS "/sys/devices/system/cpu/"
#define POLICY CPUS "cpu0/cpufreq/"

struct recorded { const char *path, *text; };

/* Write the files below a new folder and read them. */
static struct frequency read_recorded(const struct recorded *files, size_t count)
{
    char root[] = "/tmp/pcere-frequency-XXXXXX", path[256];
    struct frequency found;
    CU_ASSERT_FATAL(mkdtemp(root) != NULL);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s%s", root, files[i].path);
        for (char *at = strchr(path + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
            *at = '\0';
            mkdir(path, 0700);
            *at = '/';
        }
        FILE *out = fopen(path, "w");
        CU_ASSERT_FATAL(out != NULL);
        fputs(files[i].text, out);
        fclose(out);
    }
    frequency_read(root, &found);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", root);
    CU_ASSERT_EQUAL(system(command), 0);
    return found;
}

static void a_laptop(void)
{
    static const struct recorded files[] = {
        {POLICY "scaling_driver", "intel_pstate\n"}, {POLICY "scaling_governor", "powersave\n"}, {POLICY "cpuinfo_min_freq", "800000\n"},
        {POLICY "cpuinfo_max_freq", "3900000\n"},    {POLICY "base_frequency", "2400000\n"},     {CPUS "intel_pstate/no_turbo", "0\n"}};
    struct frequency found = read_recorded(files, sizeof files / sizeof *files);
    char text[FREQUENCY_TEXT_BYTES];
    CU_ASSERT_TRUE(found.known);
    CU_ASSERT_EQUAL(found.most_hz, 3900000000);
    CU_ASSERT_FALSE(found.follows_load);
    CU_ASSERT_STRING_EQUAL(frequency_text(&found, text), "intel_pstate, governor powersave, 0.8 to 3.9 GHz, 2.4 without boost, boost on");
}

static void an_older_server(void)
{
    static const struct recorded files[] = {{POLICY "scaling_driver", "acpi-cpufreq\n"}, {POLICY "scaling_governor", "ondemand\n"}, {POLICY "cpuinfo_min_freq", "1200000\n"},
                                            {POLICY "cpuinfo_max_freq", "2701000\n"},    {CPUS "cpufreq/boost", "0\n"}};
    struct frequency found = read_recorded(files, sizeof files / sizeof *files);
    char text[FREQUENCY_TEXT_BYTES];
    CU_ASSERT_TRUE(found.follows_load);
    CU_ASSERT_EQUAL(found.boost, FREQUENCY_BOOST_OFF);
    CU_ASSERT_STRING_EQUAL(frequency_text(&found, text), "acpi-cpufreq, governor ondemand, 1.2 to 2.7 GHz, boost off");
}

static void a_virtual_machine(void)
{
    static const struct recorded files[] = {{CPUS "online", "0-1\n"}};
    struct frequency found = read_recorded(files, 1);
    char text[FREQUENCY_TEXT_BYTES];
    CU_ASSERT_FALSE(found.known);
    CU_ASSERT_FALSE(found.follows_load);
    CU_ASSERT_STRING_EQUAL(frequency_text(&found, text), "the kernel does not manage the clock here, and says nothing of it");
}

static void files_of_nonsense(void)
{
    char longest[5000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    const struct recorded files[] = {{POLICY "scaling_driver", ""}, {POLICY "scaling_governor", longest}, {POLICY "cpuinfo_min_freq", "-7\n"},
                                     {POLICY "cpuinfo_max_freq", "99999999999999999999\n"}, {POLICY "base_frequency", "24MHz\n"}, {CPUS "cpufreq/boost", "\033[2J\n"}};
    struct frequency found = read_recorded(files, sizeof files / sizeof *files);
    char text[FREQUENCY_TEXT_BYTES];
    CU_ASSERT_TRUE(found.known);
    CU_ASSERT_EQUAL(found.least_hz + found.most_hz + found.base_hz, 0);
    CU_ASSERT(strlen(frequency_text(&found, text)) < FREQUENCY_TEXT_BYTES - 1);
}

static const struct unit_test tests[] = {
    {"a laptop whose processor chooses its own clock", a_laptop},
    {"a server whose governor follows load", an_older_server},
    {"a virtual machine tells nothing", a_virtual_machine},
    {"files of nonsense are not believed", files_of_nonsense},
};

UNIT_MAIN("platform: frequency", tests)
