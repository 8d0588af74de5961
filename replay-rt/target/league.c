/* replay-rt/target/league.c - the league of teams that the region lies in. A codelet has none: its region's questions are answered as in the program, and loops whose
 * iterations are those of all teams get the part of its team.
 *
 * Functions of the OpenMP runtime, in front of its own. Weak, since a program may have functions of these names.
 */
#include "replay-rt/target/codelet.h"

#include <dlfcn.h>
#include <string.h>

int omp_get_level(void);

static struct { uint64_t teams, team; int level, limit; bool greedy; } league = {.teams = 1};
static int limit_here;          /* what the runtime says of a process of its own, outside of constructs that limit threads */

#define HOOK __attribute__((weak, visibility("default")))
#define NEXT(name) \
    static void *next_##name; \
    __attribute__((constructor)) static void find_##name(void) { next_##name = dlsym(RTLD_NEXT, #name); }

/* ---- which team of how many, of how many threads ------------------------------------------------------------------------------------------ */

typedef int number_fn(void);

static int runtime_number(void *slot)
{
    number_fn *next;
    memcpy(&next, &slot, sizeof next);
    return next ? next() : 0;
}

NEXT(omp_get_num_teams)
NEXT(omp_get_team_num)
NEXT(omp_get_thread_limit)

void pcere_league_enter(const struct codelet *codelet)
{
    const struct replay_plan *plan = codelet->plan;
    league.teams = plan->teams ? plan->teams : 1;
    league.team = plan->team;
    league.level = (int)plan->level_count + 1;
    league.limit = plan->thread_limit;
    limit_here = runtime_number(next_omp_get_thread_limit);
    league.greedy = plan->greedy;
}

/* A league that the region itself begins is the runtime's. */
static bool league_is_inner(void) { return runtime_number(next_omp_get_num_teams) > 1; }

HOOK int omp_get_num_teams(void);
HOOK int omp_get_num_teams(void) { return league_is_inner() ? runtime_number(next_omp_get_num_teams) : (int)league.teams; }
HOOK int omp_get_team_num(void);
HOOK int omp_get_team_num(void) { return league_is_inner() ? runtime_number(next_omp_get_team_num) : (int)league.team; }
HOOK int omp_get_num_teams_(void);
HOOK int omp_get_num_teams_(void) { return omp_get_num_teams(); }
HOOK int omp_get_team_num_(void);
HOOK int omp_get_team_num_(void) { return omp_get_team_num(); }

/* A limit that a construct inside the region sets (teams, target) is the runtime's as well. */
HOOK int omp_get_thread_limit(void);
HOOK int omp_get_thread_limit(void)
{
    int limit = runtime_number(next_omp_get_thread_limit);
    return league.limit && limit == limit_here ? league.limit : limit;
}
HOOK int omp_get_thread_limit_(void);
HOOK int omp_get_thread_limit_(void) { return omp_get_thread_limit(); }

/* ---- distribute parallel for, as flang compiles it --------------------------------------------------------------------------------- */

struct part { uint64_t first, count; bool last; };       /* iterations of this team; the last one of all is among them */

static struct part part_of(uint64_t count)
{
    struct part part;
    uint64_t each = count / league.teams, more = count % league.teams;
    if (league.greedy) {
        each += more > 0;
        part.first = each * league.team < count ? each * league.team : count;
        part.count = count - part.first < each ? count - part.first : each;
    } else {
        part.first = each * league.team + (league.team < more ? league.team : more);
        part.count = each + (league.team < more);
    }
    part.last = part.count && part.first + part.count == count;
    return part;
}

/* The team's part is what a loop of a single team would be given. Loops inside leagues that the region begins lie deeper. */
#define DISTRIBUTE(suffix, word, unsigned_word, step_word)                                                                                                   \
    typedef void init_fn_##suffix(void *, int32_t, int32_t, int32_t *, word *, word *, step_word *, step_word, step_word);                                   \
    typedef void dist_fn_##suffix(void *, int32_t, int32_t, int32_t *, word *, word *, word *, step_word *, step_word, step_word);                           \
    NEXT(__kmpc_for_static_init_##suffix)                                                                                                                    \
    NEXT(__kmpc_dist_for_static_init_##suffix)                                                                                                               \
    HOOK dist_fn_##suffix __kmpc_dist_for_static_init_##suffix;                                                                                              \
    HOOK void __kmpc_dist_for_static_init_##suffix(void *location, int32_t thread, int32_t schedule, int32_t *last, word *lower, word *upper,                \
                                                   word *upper_of_team, step_word *stride, step_word step, step_word chunk)                                  \
    {                                                                                                                                                        \
        init_fn_##suffix *init;                                                                                                                              \
        dist_fn_##suffix *dist;                                                                                                                              \
        memcpy(&init, &next___kmpc_for_static_init_##suffix, sizeof init);                                                                                   \
        memcpy(&dist, &next___kmpc_dist_for_static_init_##suffix, sizeof dist);                                                                              \
        if (omp_get_level() > league.level) {                                                                                                                \
            dist(location, thread, schedule, last, lower, upper, upper_of_team, stride, step, chunk);                                                        \
            return;                                                                                                                                          \
        }                                                                                                                                                    \
        uint64_t count = 0;                                                                                                                                  \
        if (step > 0 && *lower <= *upper)                                                                                                                    \
            count = (uint64_t)(unsigned_word)((unsigned_word)*upper - (unsigned_word)*lower) / (uint64_t)step + 1;                                           \
        else if (step < 0 && *lower >= *upper)                                                                                                               \
            count = (uint64_t)(unsigned_word)((unsigned_word)*lower - (unsigned_word)*upper) / (0 - (uint64_t)step) + 1;                                     \
        struct part part = part_of(count);                                                                                                                   \
        if (!part.count) {                                                                                                                                   \
            *upper_of_team = *upper;                                                                                                                         \
            *lower = (word)((unsigned_word)*upper + (unsigned_word)step);                                                                                    \
            *last = 0;                                                                                                                                       \
            return;                                                                                                                                          \
        }                                                                                                                                                    \
        *lower = (word)((unsigned_word)*lower + (unsigned_word)part.first * (unsigned_word)step);                                                            \
        *upper = *upper_of_team = (word)((unsigned_word)*lower + (unsigned_word)(part.count - 1) * (unsigned_word)step);                                     \
        init(location, thread, schedule, last, lower, upper, stride, step, chunk);                                                                           \
        *last = *last && part.last;                                                                                                                          \
    }

DISTRIBUTE(4, int32_t, uint32_t, int32_t)
DISTRIBUTE(4u, uint32_t, uint32_t, int32_t)
DISTRIBUTE(8, int64_t, uint64_t, int64_t)
DISTRIBUTE(8u, uint64_t, uint64_t, int64_t)
