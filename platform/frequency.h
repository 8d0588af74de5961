/* platform/frequency.h - what the kernel says of the processors' clock (cpufreq in sysfs): who sets it, and between what.
 *
 * Nothing of that says what the clock is under load: that is measured (platform/probe/, clock and sustain). Everything read is taken as text of unknown origin.
 */
#ifndef PCERE_PLATFORM_FREQUENCY_H
#define PCERE_PLATFORM_FREQUENCY_H

#include <stdbool.h>
#include <stdint.h>

enum frequency_boost { FREQUENCY_BOOST_UNKNOWN, FREQUENCY_BOOST_OFF, FREQUENCY_BOOST_ON };

struct frequency {
    bool known;                              /* the kernel manages the clock of processor 0; else all that follows is empty */
    char driver[32], governor[32];           /* "intel_pstate", "powersave" */
    uint64_t least_hz, most_hz, base_hz;     /* 0: unknown; base: without boost, of all cores at once */
    enum frequency_boost boost;
    bool follows_load;                       /* the governor lowers the clock of idle processors, and takes its time to raise it */
};

/* `root`: "" for this machine, or the folder that a recorded /sys lies in. */
void frequency_read(const char *root, struct frequency *ret_frequency);

/* "intel_pstate, governor powersave, 0.8 to 3.9 GHz, 2.4 without boost, boost on", or that the kernel does not say. Returns `text`. */
enum { FREQUENCY_TEXT_BYTES = 192 };
char *frequency_text(const struct frequency *frequency, char text[static FREQUENCY_TEXT_BYTES]);

#endif
