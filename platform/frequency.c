/* platform/frequency.c - see frequency.h. */
#include "platform/frequency.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPUS "/sys/devices/system/cpu/"
#define POLICY CPUS "cpu0/cpufreq/"
#define KILO 1000u
#define MOST_KHZ 100000000u                  /* of a file that says more, nothing is believed */

static bool line_read(const char *root, const char *path, char *line, size_t size)
{
    char whole[PATH_MAX];
    if (snprintf(whole, sizeof whole, "%s%s", root, path) >= (int)sizeof whole)
        return false;
    FILE *in = fopen(whole, "re");
    bool read = in && fgets(line, (int)size, in);
    if (in)
        fclose(in);
    if (!read)
        return false;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; *at; at++)
        if (!isprint((unsigned char)*at))
            *at = '?';
    return *line != '\0';
}

static uint64_t hz_read(const char *root, const char *path)
{
    char line[32], *end;
    if (!line_read(root, path, line, sizeof line) || !isdigit((unsigned char)*line))
        return 0;
    unsigned long long khz = strtoull(line, &end, 10);
    return *end || khz > MOST_KHZ ? 0 : (uint64_t)khz * KILO;
}

static enum frequency_boost boost_read(const char *root)
{
    char line[8];
    if (line_read(root, CPUS "intel_pstate/no_turbo", line, sizeof line))
        return *line == '0' ? FREQUENCY_BOOST_ON : FREQUENCY_BOOST_OFF;
    if (line_read(root, CPUS "cpufreq/boost", line, sizeof line))
        return *line == '0' ? FREQUENCY_BOOST_OFF : FREQUENCY_BOOST_ON;
    return FREQUENCY_BOOST_UNKNOWN;
}

static bool starts(const char *text, const char *word) { return strncmp(text, word, strlen(word)) == 0; }

void frequency_read(const char *root, struct frequency *ret_frequency)
{
    struct frequency found = {0};
    found.known = line_read(root, POLICY "scaling_governor", found.governor, sizeof found.governor);
    if (found.known) {
        if (!line_read(root, POLICY "scaling_driver", found.driver, sizeof found.driver))
            snprintf(found.driver, sizeof found.driver, "unknown driver");
        found.least_hz = hz_read(root, POLICY "cpuinfo_min_freq");
        found.most_hz = hz_read(root, POLICY "cpuinfo_max_freq");
        found.base_hz = hz_read(root, POLICY "base_frequency");
        found.boost = boost_read(root);
        /* the powersave of these drivers means that the processor itself chooses, within a millisecond */
        bool own = strcmp(found.governor, "powersave") == 0 && (starts(found.driver, "intel_pstate") || starts(found.driver, "amd-pstate-epp") || starts(found.driver, "amd_pstate_epp"));
        found.follows_load = strcmp(found.governor, "performance") != 0 && !own;
    }
    *ret_frequency = found;
}

char *frequency_text(const struct frequency *frequency, char text[static FREQUENCY_TEXT_BYTES])
{
    if (!frequency->known) {
        snprintf(text, FREQUENCY_TEXT_BYTES, "the kernel does not manage the clock here, and says nothing of it");
        return text;
    }
    int at = snprintf(text, FREQUENCY_TEXT_BYTES, "%s, governor %s", frequency->driver, frequency->governor);
    if (frequency->least_hz && frequency->most_hz)
        at += snprintf(text + at, FREQUENCY_TEXT_BYTES - (size_t)at, ", %.3g to %.3g GHz", (double)frequency->least_hz / 1e9, (double)frequency->most_hz / 1e9);
    if (frequency->base_hz)
        at += snprintf(text + at, FREQUENCY_TEXT_BYTES - (size_t)at, ", %.3g without boost", (double)frequency->base_hz / 1e9);
    if (frequency->boost != FREQUENCY_BOOST_UNKNOWN)
        snprintf(text + at, FREQUENCY_TEXT_BYTES - (size_t)at, ", boost %s", frequency->boost == FREQUENCY_BOOST_ON ? "on" : "off");
    return text;
}
