# Regions that hold for the captured thread count only are flagged, and not replayed with more threads; others are.
source "$(dirname "$0")/common.sh"

# Of the document that `regions` printed: functions with a region that is flagged; and whether that is for a division of the work.
limited() { json '[.regions[] | select(.thread_sized != null) | .function] | sort | join(" ")'; }
limited_how() { json '[.regions[] | select(.thread_sized != null) | [.function, (.thread_sized | test("^a division of the work"))] | join("=")] | sort | join(" ")'; }

for flags in -O0 -O3; do
    program sized thread_sized.c
    captured sized --force --threads 2
    run "$PCERE" regions --json sized.pcere
    holds "$flags: memory and divisions made for the threads before the region are flagged, and nothing else" \
        test "$(limited)" = "divided_before part_by_pointer part_of_array_on_the_stack part_of_grown_array"
    holds "$flags: the reason names the place" \
        jq -e 'any(.regions[]; .function == "part_by_pointer" and (.thread_sized | test("allocated at thread_sized.c:[0-9]+, sized by omp_get_max_threads at thread_sized.c:[0-9]+")))' .out
    run "$PCERE" regions sized.pcere
    says "$flags: the table says so too" 0 out 'at most 2 threads: memory with one part per thread'
    run "$PCERE" replay --repeat 1 sized.pcere --threads 2
    says "$flags: as many threads as captured are replayed" 0
    run "$PCERE" replay --repeat 1 sized.pcere --threads 1
    says "$flags: and fewer, but where these would leave some of the work" 1 err '1 of 8 replays failed: divided_before.*exactly 2 threads, since it uses a division of the work'
    run "$PCERE" replay sized.pcere '*part_by*' --threads 4
    says "$flags: more are refused" 1 err 'holds for at most 2 threads.*allocated at'
    says "$flags: with a hint" 1 err 'pcere capture --threads'
    run "$PCERE" replay sized.pcere '*divided_inside*' '*fixed_parts*' '*strided*' '*no_parts*' --threads 4
    says "$flags: the others run with more" 0
    run "$PCERE" predict sized.pcere --threads 4
    says "$flags: a prediction says what is missing, and why" 0 out '^MISSING with 4 threads' out 'cannot run with 4 threads, since it uses .*pcere capture --threads 4'
done

# A number that a region keeps for later invocations, behind a flag or the number itself, is from before the others; one that it sets anew is the team's own.
for flags in -O0 -O2 -O3; do
    program kept thread_kept.c
    captured kept --force --threads 2
    run "$PCERE" regions --json kept.pcere
    holds "$flags: what is kept behind a variable of the program is flagged, and what was used before it is set; nothing else" \
        test "$(limited)" = "room_behind_a_flag room_behind_its_number set_when_it_was_used used_before_in_a_pool work_behind_a_flag"
    run "$PCERE" replay --repeat 1 kept.pcere '*room_behind*' --threads 4
    says "$flags: more threads are refused there" 1 err 'holds for at most 2 threads'
    run "$PCERE" replay --repeat 1 kept.pcere '*room_that_grows*' '*set_anew*' --threads 4
    says "$flags: the others run with more" 0
done

# Work that was shared out for as many threads, in tables as well: fewer would leave some of it. Not: what a team helps itself to, sets itself, or draws numbers from.
for flags in -O0 -O2 -O3; do
    program parts thread_parts.c
    captured parts --force --threads 2
    run "$PCERE" regions --json parts.pcere
    exact="by_a_table by_parts_that_were_made by_remainders from_one_to_the_next in_turn sum_in_turn sum_of_a_part sum_of_draws"
    most="divided_scratch parts_for_any_team pointers_of_a_table rooms_of_one_size"
    [ "$flags" != -O0 ] || exact=${exact/by_parts_that_were_made /} most="by_parts_that_were_made $most" # one is copied whole there
    named() { json "[.regions[] | select(.thread_sized | . and (test(\"^a division of the work by \") == $1)) | .function] | sort | join(\" \")"; }
    is "$flags: work that was shared out before the region is flagged" "$(named true)" "$exact"
    is "$flags: and memory, and nothing else" "$(named false)" "$most"
    run "$PCERE" replay --repeat 1 --threads 1,4 parts.pcere by_a_table
    says "$flags: more threads would have nothing to do, and fewer leave some" 1 out 'by_a_table@.* 1 .*exactly 2 threads' out 'by_a_table@.* 4 .*exactly 2 threads' \
        err 'exactly 2 threads, since it uses a division of the work.*set at thread_parts.c:[0-9]+, as many as omp_get_max_threads at thread_parts.c'
    run "$PCERE" replay --repeat 1 --threads 4 parts.pcere pointers_of_a_table
    says "$flags: pointers that were made for each are not there for more" 1 err 'holds for at most 2 threads.*set at thread_parts.c:[0-9]+'
    run "$PCERE" replay --repeat 1 --threads 1 parts.pcere pointers_of_a_table divided_scratch rooms_of_one_size
    says "$flags: fewer have enough" 0
    run "$PCERE" verify --threads 1 parts.pcere parts_for_any_team
    says "$flags: what takes any part runs with fewer, and is right" 0
    run "$PCERE" replay --repeat 1 --threads 1,4 parts.pcere draws helps_others sets_its_own sums_that_begin_with_zero
    says "$flags: so do what draws numbers, helps others, sets its own part, or adds up" 0
done

# Containers in an array for all threads that there may be, of which as many as there are have something.
for flags in -O2 -O3; do
    program containers thread_containers.cpp
    captured containers --force --threads 2
    run "$PCERE" regions --json containers.pcere
    is "$flags: containers that a loop over the threads makes larger are flagged, and nothing else" "$(limited)" "along_the_lists vectors_of_a_c_array vectors_of_an_array what_is_owned"
    run "$PCERE" replay --repeat 1 --threads 4 containers.pcere along_the_lists
    says "$flags: of a list for each thread more find none" 1 err 'holds for 1 or 2 threads, since it uses work in pieces, 1 for each of the threads'
    run "$PCERE" replay --repeat 1 --threads 1,4 containers.pcere for_all_there_may_be made_by_each along_points along_numbers
    says "$flags: the others have any number of threads" 0
done

# A count among a table's floating-point numbers is one of those that a program computes with; shares that are divided as such numbers are shares.
for flags in -O0 -O2 -O3; do
    program tables thread_tables.cpp
    captured tables --force --threads 2
    run "$PCERE" regions --json tables.pcere
    is "$flags: a table that has a count is none of the threads', and divided numbers are" "$(limited)" "by_a_kept_share by_a_rounded_share"
done

# Memory that a program cuts from a larger piece of its own, for as many threads as there were. Not: an arena that knows of no threads.
for flags in -O0 -O2 -O3; do
    program arenas thread_arenas.c
    captured arenas --force --threads 2
    run "$PCERE" regions --json arenas.pcere
    is "$flags: what was cut for the threads from before the region is flagged, and nothing else" \
        "$(limited)" "place_in_an_array pointer_that_goes_on row_for_each"
    run "$PCERE" replay --repeat 1 --threads 4 arenas.pcere place_in_an_array
    says "$flags: more threads are refused" 1 err 'holds for at most 2 threads.*allocated at thread_arenas.c:[0-9]+, sized by omp_get_max_threads at thread_arenas.c'
    run "$PCERE" verify --threads 1,4 arenas.pcere shared_out_by_hand
    says "$flags: others run with any number" 0
done

# Functions that are called through an object's table may be those of several classes.
for flags in -O0 -O2 -O3; do
    program virtual thread_virtual.cpp
    captured virtual --force --threads 2
    run "$PCERE" regions --json virtual.pcere
    is "$flags: what several classes do with a thread count is flagged, and nothing else" \
        "$(limited_how)" "Divided::compute=true Scattered::compute=false"
    run "$PCERE" replay --repeat 1 --threads 1,2 virtual.pcere 'Divided*'
    says "$flags: another number is refused where work was divided" 1 err 'holds for exactly 2 threads'
    run "$PCERE" verify --threads 1,4 virtual.pcere 'Plain*'
    says "$flags: the others run" 0
done

# Functions that a program keeps in tables, and calls in regions too; and those that make its objects, by name.
for flags in -O0 -O2 -O3; do
    program callbacks thread_callbacks.c
    captured callbacks --force --threads 2
    run "$PCERE" regions --json callbacks.pcere
    is "$flags: what functions from a table do with a thread count is flagged, and nothing else" \
        "$(limited_how)" "calls_what_it_was_given=false divided=true"
    run "$PCERE" replay --repeat 1 --threads 4 callbacks.pcere 'calls*'
    says "$flags: there is no more room than for these" 1 err 'holds for at most 2 threads.*allocated at thread_callbacks.c:[0-9]+, sized by omp_get_max_threads'
    program factories thread_factories.cpp
    captured factories --force --threads 2
    run "$PCERE" regions --json factories.pcere
    is "$flags: so is what objects do that such functions made" "$(limited)" "Divided::compute"
    run "$PCERE" verify --threads 1,4 factories.pcere 'Plain*'
    says "$flags: the others run" 0
done

# A team must be as large as somebody asked for. Not: where that is told, or corrected, and the work is done.
for flags in -O0 -O2 -O3; do
    program teams thread_teams.c
    captured teams --force --threads 2
    run "$PCERE" regions --json teams.pcere
    is "$flags: work for a team of the captured size alone is flagged, and nothing else" \
        "$(limited)" "all_or_nothing leaves_early"
    run "$PCERE" replay --repeat 1 --threads 1,4 teams.pcere all_or_nothing
    says "$flags: fewer and more threads are refused there" 1 out 'all_or_nothing@.* 1 .*exactly 2 threads' out 'all_or_nothing@.* 4 .*exactly 2 threads' \
        err 'exactly 2 threads, since it uses a comparison of its team with a thread count from before the region .omp_get_max_threads at thread_teams.c:[0-9]+, compared at'
    run "$PCERE" verify --threads 1,4 teams.pcere warns
    says "$flags: what tells only is right with any number" 0
    run "$PCERE" replay --repeat 1 --threads 1,4 teams.pcere corrects
    says "$flags: and what corrects the number runs with any" 0
done

# What was dealt to the threads is done by as many only. Not: what the team deals itself, lists that anybody takes or that threads make anew, scratch.
for flags in -O0 -O2 -O3; do
    program dealt thread_dealt.cpp
    captured dealt --force --threads 2
    run "$PCERE" regions --json dealt.pcere
    exact="dealt_by_a_hash dealt_by_a_table dealt_in_turn dealt_to_tables dealt_to_the_least dealt_to_vectors dealt_to_workers" most="cleared_scratch dealt_by_the_team its_own_lists lists_for_anybody"
    # the vectors' own functions are not looked into there
    [ "$flags" != -O0 ] || { exact="dealt_to_tables dealt_to_workers"; most="cleared_scratch dealt_by_a_hash dealt_by_a_table dealt_by_the_team dealt_in_turn dealt_to_the_least dealt_to_vectors its_own_lists"; }
    is "$flags: what was dealt to the threads from before the region is flagged" "$(named true)" "$exact"
    is "$flags: the rest is memory, or nothing" "$(named false)" "$most"
    run "$PCERE" replay --repeat 1 --threads 1 dealt.pcere dealt_to_workers
    says "$flags: fewer would leave some" 1 err 'exactly 2 threads, since it uses a division of the work.*dealt at thread_dealt.cpp:[0-9]+, to as many as (omp_get_max_threads|num_threads) at thread_dealt.cpp'
    run "$PCERE" verify --threads 1 dealt.pcere lists_for_anybody
    says "$flags: what anybody takes is right with fewer" 0
    run "$PCERE" replay --repeat 1 --threads 4 dealt.pcere lists_for_anybody
    says "$flags: and eight lists are shared out among four" 0
done

# As many pieces of work as there were threads, or a few times as many: others share them unevenly, or find none. Not: many for each, the team's own, and functions for any number.
for flags in -O0 -O2 -O3; do
    program pieces thread_pieces.c
    captured pieces --force --threads 2
    run "$PCERE" regions --json pieces.pcere
    flagged="chunks_divided eight_for_each four_chunks_for_each piece_for_each piece_for_each_asked piece_for_each_at_most piece_for_each_set share_for_each task_for_each taskloop_of_as_many three_tasks_for_each two_for_each"
    [ "$flags" != -O0 ] || { flagged=${flagged/piece_for_each_at_most /}; flagged=${flagged/piece_for_each_set /}; }          # no least of two there, but branches
    is "$flags: pieces, tasks and chunks for the threads from before the region are flagged, and each thread's share; nothing else" \
        "$(limited)" "$flagged"
    run "$PCERE" replay --repeat 1 pieces.pcere '*piece_for_each*' '*task*' '*chunks_divided*' --threads 1
    says "$flags: fewer threads take several" 0
    run "$PCERE" replay --repeat 1 pieces.pcere '*piece_for_each*' --threads 4
    says "$flags: more would find none" 1 err 'holds for 1 or 2 threads, since it uses work in pieces, 1 for each of the threads before the region .omp_get_max_threads at thread_pieces.c:[0-9]*, shared out at'
    run "$PCERE" replay --repeat 1 pieces.pcere '*two_for_each*' --threads 3
    says "$flags: three threads do not share four pieces" 1 err 'holds for 1, 2 or 4 threads'
    run "$PCERE" replay --repeat 1 pieces.pcere '*two_for_each*' '*eight_for_each*' '*chunks_for_each*' --threads 4
    says "$flags: four threads share four and eight" 0
    run "$PCERE" replay --repeat 1 pieces.pcere '*three_tasks*' --threads 4
    says "$flags: four threads do not share six tasks" 1 err 'holds for 1, 2, 3 or 6 threads, since it uses work in pieces, 3 for each of the threads'
    run "$PCERE" verify pieces.pcere '*two_for_each*' '*three_tasks*' --threads 3,4
    says "$flags: what they leave in memory is the same" 0
    run "$PCERE" replay --repeat 1 pieces.pcere '*share_for_each*' --threads 1
    says "$flags: each thread's share is one for as many" 1 err 'holds for exactly 2 threads'
done

# Functions that have a region outside of all others alone: what they do inside of one, for a thread's own part, is not their region's.
for flags in -O0 -O2; do
    program levels thread_levels.c
    captured levels --force --threads 2
    run "$PCERE" regions --json levels.pcere
    is "$flags: what only the inside of regions does is none of a region that is entered outside alone" "$(limited)" "at_any_level main"
    run "$PCERE" verify --threads 1,4 levels.pcere '*by_*'
    says "$flags: these have any number of threads" 0
done

# Room for the threads that a program decides on, by doubling, cases, the highest number or a set of processors. Not: grains that it chooses by how many there are, and steps of a tree.
for flags in -O0 -O2 -O3; do
    program room thread_room.c
    captured room --force --threads 2
    run "$PCERE" regions --json room.pcere
    wanted="has_the_allowed has_the_highest is_chosen is_doubled is_shifted"
    [ "$flags" != -O0 ] || wanted="has_the_highest is_doubled is_shifted"
    is "$flags: room that was decided on is flagged, and nothing else" "$(limited)" "$wanted"
    run "$PCERE" replay --repeat 1 --threads 1,4 room.pcere works_by_grains adds_in_a_tree
    says "$flags: the others run" 0
done

# A count from before a region sends it one way or another: it holds on one side of that alone. Not: processors, other numbers, its own team, what work is divided into.
for flags in -O0 -O2 -O3; do
    program turns thread_turns.c
    captured turns --force --threads 2
    run "$PCERE" regions --json turns.pcere
    chosen="many_pieces many_pieces_at_most many_tasks "
    [ "$flags" != -O0 ] || chosen=              # branches there
    is "$flags: what a thread count decides is flagged, and nothing else" "$(limited)" \
        "asks_another_region by_flag by_truth has_many ${chosen}scatters scatters_by_settings"
    run "$PCERE" regions turns.pcere
    says "$flags: with the side on which it holds" 0 out 'scatters@.*at least 2 threads: another way from 2 threads on \(omp_get_max_threads at thread_turns.c:[0-9]+' out 'has_many@.*at most 3 threads: another way from 4'
    run "$PCERE" replay --repeat 1 --threads 1,4 turns.pcere scatters
    says "$flags: one thread is refused, and more are not" 1 out 'scatters@.* 4 .*1 sample' err 'replays failed: scatters@.* at least 2 threads, since it uses another way from 2' err 'hint: capture it with fewer threads'
    run "$PCERE" replay --repeat 1 --threads 1,4 turns.pcere has_many
    says "$flags: and four, where the way parts there" 1 out 'has_many@.* 1 .*1 sample' err 'replays failed: has_many@.* at most 3 threads'
    run "$PCERE" replay --repeat 1 --threads 1,4 turns.pcere asks_itself by_processors by_level by_work by_other_flag
    says "$flags: the others run" 0
    captured turns --force --threads 1
    run "$PCERE" replay --repeat 1 --threads 2 turns.pcere scatters
    says "$flags: captured with one, more are refused" 1 err 'scatters@.* at most 1 thread, since it uses another way' err 'hint: capture it with more threads'
done

# What cannot run so is missing for good: a prediction has the rest (nearly all of the time here, on a busy machine, too), and says that.
cat > sides.c <<'C'
#include <omp.h>
static double a[200000];
int main(void)
{
    int threads = omp_get_max_threads();
    for (int i = 0; i < 12; i++) {
#pragma omp parallel for
        for (int j = 0; j < 100000; j++)
            for (int k = 0; k < (threads > 1 ? 10 : 12); k++) a[j] = a[j] * 0.5 + k;
#pragma omp parallel for
        for (int j = 0; j < 200000; j++)
            for (int k = 0; k < 60; k++) a[j] = a[j] * 0.5 + k;
    }
    return a[3] < 0;
}
C
run "$CLANG" -g -O1 -fopenmp "-fpass-plugin=$(plugin)" sides.c -o sides
says "sides is built" 0
run "$PCERE" capture --force --one-run ./sides
run "$PCERE" replay --repeat 1 --threads 1,2 sides.pcere
says "a part of it is refused" 1 err 'sides.c:7 holds for at most 1 thread'
run "$PCERE" predict sides.pcere
says "two threads are predicted all the same" 0 out '^ +2  ' out '^MISSING with 2 threads: [0-9]+ codelet' out 'sides.c:7 cannot run with 2 threads, since it uses another way from 2 threads on .*pcere capture --threads 2'
run "$PCERE" export sides.pcere sides.c:7 --force -o exported
holds "an export has its limit" grep -q 'THREADS_MOST 1  *.* another way from 2 threads on' exported/region.h

# Other ways to one part per thread: made once and kept, numbers that threads keep or draw, as many turns as the team has threads, blocks that begin behind their own length, counts read
# from text, asked for or found by counting, barriers for as many. Not: memory of each invocation, and work that any team shares.
for flags in -O0 -O2; do
    program ways thread_ways.cpp
    run env OMP_NUM_THREADS=2 "$PCERE" capture --force --all-classes --threads 2 ./ways 2
    says "$flags: ways runs and is captured" 0 out '^PASS'
    run "$PCERE" regions --json ways.pcere
    is "$flags: what was made for the threads is flagged, and nothing else" "$(limited)" \
        "allocated_through_a_variable allowed_processors asked_by_a_variable counted_by_sum divided_by_atomic kept_by_a_static kept_from_the_first numbers_drawn parts_with_owners read_by_a_parser read_from_text registered_threads turns_of_the_team waits_at_its_own waits_for_all"
    run "$PCERE" replay --repeat 1 --threads 4 ways.pcere kept_from_the_first
    says "$flags: what a region keeps is refused with more threads" 1 err 'holds for at most 2 threads.*sized by omp_get_num_threads at thread_ways.cpp'
    run "$PCERE" replay --repeat 1 --threads 4 ways.pcere waits_at_its_own waits_for_all
    says "$flags: what waits at a barrier for the capture's threads is, too" 1 out 'a count of threads that ends at .*omp_get_max_threads at thread_ways.cpp:[0-9]+, compared at' err 'exactly 2 threads, since it uses a barrier for a thread count .*made at thread_ways.cpp:[0-9]+, omp_get_max_threads'
    run "$PCERE" verify --threads 1,4 ways.pcere made_each_time queue_of_chunks
    says "$flags: the others run, and are right" 0
    run "$PCERE" replay --repeat 1 --threads 1,2 ways.pcere waits_for_all
    says "$flags: fewer would wait for ever" 1 out 'waits_for_all.* 2 .*1 sample' out 'waits_for_all.* 1 .*exactly 2 threads, since' err 'hint: capture it with fewer threads'
    run "$PCERE" regions ways.pcere
    says "$flags: and the table" 0 out 'waits_for_all.*exactly 2 threads: a barrier' out 'waits_at_its_own.*at most 2 threads: a count'
    run "$PCERE" replay --repeat 1 --threads 4 ways.pcere has_a_part_for_each_hit tells_the_last
    says "$flags: so do what is sized by hits that were counted, and one that asks for its team itself" 0
done

# Barriers and latches of the C++ library, in what it inlines and what it does not; counters that are stepped down; threads that are counted under a critical construct.
for flags in "-std=c++20 -O0" "-std=c++20 -O2" "-std=c++20 -O3"; do
    program barriers thread_barriers.cpp
    run env OMP_NUM_THREADS=2 "$PCERE" capture --force --all-classes --threads 2 ./barriers
    says "$flags: barriers runs and is captured" 0 out '^PASS'
    run "$PCERE" regions --json barriers.pcere
    is "$flags: what waits for the capture's threads, and what is sized by a count of them, is flagged" \
        "$(json '[.regions[] | select(.thread_sized != null) | .function] | unique | join(" ")')" "counted_by_critical counts_down meets starts_together"
    run "$PCERE" replay --repeat 1 --threads 1,4 barriers.pcere meets starts_together
    says "$flags: more and fewer threads are refused" 1 out 'meets@.* 1 .*exactly 2 threads, since it uses a barrier' out 'starts_together@.* 1 .*exactly 2 threads'
    run "$PCERE" verify --threads 1,4 barriers.pcere counts_items_down '*adds_up*'
    says "$flags: the others run, and are right" 0
    run "$PCERE" replay --repeat 1 --threads 1,4 barriers.pcere meets_its_own_team
    says "$flags: so does one that makes a barrier for its own team" 0
done

# Pointers that each thread set in another region: threads beyond the captured ones have none. Not: those that a region sets itself, looks at first, gets by copyin, or whose elements it counts.
for flags in -O2 "-O2 -fnoopenmp-use-tls" -O0; do
    program own thread_own.cpp
    captured own --force
    run "$PCERE" regions --json own.pcere
    wanted="follows_given follows_into follows_pair follows_scratch follows_work"
    [ "$flags" != -O0 ] || wanted=${wanted/follows_scratch /}             # a call of std::vector's operator there
    is "$flags: what each thread made for itself is flagged, and nothing else" "$(limited)" "$wanted"
    holds "$flags: by name" jq -e 'any(.regions[]; .function == "follows_work" and (.thread_sized | test("each thread made for itself in another region \\(work, at thread_own.cpp:[0-9]+\\)")))' .out
    run "$PCERE" replay --repeat 1 --threads 2 own.pcere follows_work
    says "$flags: and refused with more threads" 1 err 'holds for at most 1 thread.*work, at thread_own.cpp'
    run "$PCERE" replay --repeat 1 --threads 2 own.pcere looks_first has_no_pointer makes_its_own pushes loops gets_a_copy
    says "$flags: the others run" 0
done

# Numbers that each thread set in another region, and that end a loop or say where it works: threads beyond the captured ones have what the program starts with.
for flags in -O2 "-O2 -fnoopenmp-use-tls" "-O3 -march=native" -O0; do
    program numbers thread_numbers.cpp
    captured numbers --force
    run "$PCERE" regions --json numbers.pcere
    is "$flags: numbers that each thread set for itself are flagged, and nothing else" "$(limited)" \
        "as_many_as_given as_many_as_steps by_its_number by_its_pace from_low_to_high"
    holds "$flags: by name" \
        jq -e 'any(.regions[]; .function == "as_many_as_steps" and (.thread_sized | test("numbers that each thread set for itself in another region \\(steps, at thread_numbers.cpp:[0-9]+\\)")))' .out
    run "$PCERE" replay --repeat 1 --threads 2 numbers.pcere as_many_as_steps
    says "$flags: and refused with more threads" 1 err 'holds for at most 1 thread.*steps, at thread_numbers.cpp'
    run "$PCERE" replay --repeat 1 --threads 2 numbers.pcere sets_it_first has_it_set moves_its_cursor as_it_begins draws counts gets_a_copy first_thread_alone
    says "$flags: the others run" 0
done

cat >kept_make.c <<'END'
#include <stdlib.h>
double *kept;
#pragma omp threadprivate(kept)
void make(void)
{
#pragma omp parallel
    kept = calloc(100, sizeof *kept);
}
END
cat >kept_use.c <<'END'
#include <stdio.h>
extern double *kept;
#pragma omp threadprivate(kept)
void make(void);
int main(void)
{
    double sum = 0;
    make();
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000; i++)
        sum += kept[i % 100] += 1;
    return puts(sum >= 1000 ? "PASS" : "FAIL") < 0;
}
END
for flags in -O2 "-O0 -fnoopenmp-use-tls"; do
    programs=$PWD program kept kept_make.c kept_use.c
    captured kept --force
    run "$PCERE" replay --repeat 1 --threads 2 kept.pcere main
    says "$flags: what another file's region made for each thread is told as well" 1 err 'holds for at most 1 thread.*another region \(kept, at kept_make.c:[0-9]+\)'
done

# Files that are compiled apart: one knows how many threads there are, another one allocates, a third has the regions.
cat >apart.h <<'END'
enum { PARTS_MOST = 64 };
int thread_count(void);
void *must_allocate(unsigned long bytes);
struct data { long *numbers, *sums; long count, fixed[PARTS_MOST]; };
void own_parts(struct data *data);
void fixed_parts(struct data *data);
void divided_inside(struct data *data);
void divided_before(struct data *data, int parts);
END
cat >apart_count.c <<'END'
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include "apart.h"
int thread_count(void) { return omp_in_parallel() ? omp_get_num_threads() : omp_get_max_threads(); }
void *must_allocate(unsigned long bytes)
{
    void *memory = calloc(1, bytes);
    if (!memory) {
        fprintf(stderr, "no memory: %lu\n", bytes);
        exit(1);
    }
    return memory;
}
END
cat >apart_regions.c <<'END'
#include <omp.h>
#include "apart.h"
static void add(struct data *data, long *to, int part, int parts)
{
    long first = data->count * part / parts, end = data->count * (part + 1) / parts;
    for (long i = first; i < end; i++)
        *to += data->numbers[i];
}
void own_parts(struct data *data)
{
#pragma omp parallel
    add(data, &data->sums[8 * omp_get_thread_num()], omp_get_thread_num(), thread_count());
}
void fixed_parts(struct data *data)
{
#pragma omp parallel
    add(data, &data->fixed[omp_get_thread_num() % PARTS_MOST], omp_get_thread_num(), thread_count());
}
void divided_inside(struct data *data)
{
#pragma omp parallel
    {
        int part = omp_get_thread_num(), parts = thread_count();
        for (long i = data->count * part / parts; i < data->count * (part + 1) / parts; i++)
            data->numbers[i]++;
    }
}
void divided_before(struct data *data, int parts)
{
#pragma omp parallel
    for (long i = data->count * omp_get_thread_num() / parts; i < data->count * (omp_get_thread_num() + 1) / parts; i++)
        data->numbers[i]--;
}
END
cat >apart.c <<'END'
#include <stdio.h>
#include "apart.h"
int main(void)
{
    struct data data = {.count = 10000};
    data.numbers = must_allocate(data.count * sizeof *data.numbers);
    data.sums = must_allocate(thread_count() * 8 * sizeof *data.sums);
    for (int step = 0; step < 2; step++) {
        divided_inside(&data);
        own_parts(&data);
        fixed_parts(&data);
        divided_before(&data, thread_count());
    }
    return data.numbers[5] || puts("PASS") < 0;
}
END
for flags in -O0 "-O2 -flto=thin -fuse-ld=lld"; do
    # shellcheck disable=SC2086
    "$CLANG" $flags -g -fopenmp "-fpass-plugin=$(plugin)" apart_count.c apart.c apart_regions.c -o apart || exit 1
    captured apart --force
    run "$PCERE" regions --json apart.pcere
    is "$flags: what files know of each other's memory is flagged, and nothing else" "$(limited)" \
        "divided_before own_parts"
    run "$PCERE" replay apart.pcere '*own_parts*' --threads 4
    says "$flags: and refused" 1 err 'holds for at most 1 thread.*allocated at apart.c:7, sized by omp_get_max_threads at apart_count.c:5'
    run "$PCERE" replay apart.pcere '*fixed_parts*' '*divided_inside*' --threads 4
    says "$flags: the others run" 0
done
run env "PATH=$work/none" "$PCERE" capture --force --all-classes ./apart
says "without a compiler the program is captured" 0 err 'not looked at together.*there is no'
# A constructor is called by a name of its own, which stands for a function of another one; a virtual function is known where there is one to choose from, and not where there are two; and what was
# allocated in a file keeps its place when that is joined with others.
cat >settings.h <<'END'
struct settings { int threads; settings(); };
struct sums { double *of; explicit sums(int threads); };
struct plan { virtual ~plan() {} virtual int threads() const = 0; };
struct shape { virtual int parts() const = 0; };
plan *plan_make();
shape *shape_make(int kind);
END
cat >settings.cpp <<'END'
#include <omp.h>
#include "settings.h"
settings::settings() { threads = omp_get_max_threads(); }
struct all_threads : plan { int threads() const override { return omp_get_max_threads(); } };
struct wide : shape { int parts() const override { return omp_get_max_threads(); } };
struct fixed : shape { int parts() const override { return 64; } };
plan *plan_make() { return new all_threads; }
shape *shape_make(int kind) { return kind ? static_cast<shape *>(new fixed) : new wide; }
END
cat >sums.cpp <<'END'
#include "settings.h"
sums::sums(int threads)
{
  of = new double[8 * threads]();
}
END
cat >uses.cpp <<'END'
#include <cstdio>
#include <omp.h>
#include <vector>
#include "settings.h"
static void adds_to_sums(sums &all) {
#pragma omp parallel for
  for (int i = 0; i < 1000; i++)
    all.of[8 * omp_get_thread_num()] += i;
}
static void adds_to_vector(std::vector<double> &all) {
#pragma omp parallel for
  for (int i = 0; i < 1000; i++)
    all[8 * omp_get_thread_num()] += i;
}
static void adds_by_plan(std::vector<double> &all) {
#pragma omp parallel for
  for (int i = 0; i < 1000; i++)
    all[8 * omp_get_thread_num()] += i;
}
static void adds_by_shape(std::vector<double> &all) {
#pragma omp parallel for
  for (int i = 0; i < 1000; i++)
    all[8 * omp_get_thread_num()] += i;
}
int main(int count, char **) {
  settings now;
  sums all(now.threads);
  std::vector<double> more(8 * now.threads), by_plan(8 * plan_make()->threads()), by_shape(8 * shape_make(count)->parts());
  adds_to_sums(all);
  adds_to_vector(more);
  adds_by_plan(by_plan);
  adds_by_shape(by_shape);
  return std::puts(all.of[0] + more[0] > 0 ? "PASS" : "FAIL") < 0;
}
END
for flags in -O0 -O2; do
    programs=$PWD program uses uses.cpp settings.cpp sums.cpp
    captured uses --force
    run "$PCERE" replay --repeat 1 --threads 2 uses.pcere
    says "$flags: what a constructor in another file asks for is known" 1 err '3 of 4 replays failed' err 'allocated at sums.cpp:4, sized by omp_get_max_threads at settings.cpp:3'
    run "$PCERE" regions uses.pcere
    says "$flags: and what a container has by it" 0 out 'adds_to_vector.*allocated at uses.cpp:28, sized by omp_get_max_threads at settings.cpp:3'
    says "$flags: so is what a virtual function returns that there is one of" 0 out 'adds_by_plan.*allocated at uses.cpp:28, sized by omp_get_max_threads at settings.cpp:4'
done
# A container allocates in functions of its own: the program's line that calls it is told.
cat >contained.cpp <<'END'
#include <cstdio>
#include <omp.h>
#include <vector>
static std::vector<double> sums;
static std::vector<std::vector<double>> parts;
int main()
{
    for (int step = 0; step < 3; step++) {
        if ((int)sums.size() < 8 * omp_get_max_threads())
            sums.resize(8 * omp_get_max_threads());
        #pragma omp parallel
        {
            double sum = 0;
            #pragma omp for
            for (int i = 0; i < 1000; i++)
                sum += i;
            sums[8 * omp_get_thread_num()] = sum;
        }
    }
    parts.assign(omp_get_max_threads(), std::vector<double>(16));
    #pragma omp parallel
    parts[omp_get_thread_num()][3] = 2;
    return std::printf("PASS %g\n", sums[0] + parts[0][3]) < 0;
}
END
"${CLANG/clang/clang++}" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" contained.cpp -o contained || exit 1
captured contained
run "$PCERE" regions contained.pcere
says "what a container allocates is told by the line that has it do so" 0 out 'contained.cpp:11.*allocated at contained.cpp:10, sized by omp_get_max_threads at contained.cpp:10' \
    out 'contained.cpp:21.*allocated at contained.cpp:20, sized by omp_get_max_threads at contained.cpp:20'

# Where that would take longer than captures do, it is done once more threads are asked for; on another machine as well, and once for a store.
head -c 4000000 /dev/zero | tr '\0' '\377' >large
echo 'const unsigned char large[] = {
#embed "large"
};' >apart_large.c
"$CLANG" -w -O0 -g -fopenmp "-fpass-plugin=$(plugin)" apart.c apart_count.c apart_regions.c apart_large.c -o apart || exit 1
captured apart --force
says "that files are looked at later is told" 0 err 'files with [0-9.]* MiB of bitcode are looked at together before the first replay with another number of threads'
sized() { "$PCERE" regions --json "$1" | jq -r '[.regions[] | select(.thread_sized != null) | .function] | sort | join(" ")'; }
run "$PCERE" pack apart.pcere -o apart.tar.zst
run "$PCERE" unpack apart.tar.zst -o there.pcere
mv apart apart_hidden
run "$PCERE" replay --repeat 1 apart.pcere --threads 1
is "the capture's threads need no look" "$(sized apart.pcere)" ""
run "$PCERE" replay --repeat 1 apart.pcere --threads 4
says "more threads are refused" 1 err 'holds for at most 1 thread'
is "what was found stays in the store" "$(sized apart.pcere)" "divided_before own_parts"
run "$PCERE" replay there.pcere '*own_parts*' --threads 4
says "and where the store was carried to" 1 err 'holds for at most 1 thread.*allocated at apart.c:7, sized by omp_get_max_threads at apart_count.c:5'
holds "which has that no look is left" jq -e .looked_together there.pcere/manifest.json
# Calls of one function are told apart: by the region that runs them, and by where they stand, also of allocators in a row. Recursion keeps the functions from moving into their callers.
compile calls <<'END'
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
struct part { long first, end; };
struct blocking { long depth; };
static long *fetch(long bytes, int tries)          /* an allocator behind another one */
{
    long *memory = calloc((size_t)bytes, 2);
    if (!memory && tries && (memory = fetch(bytes, tries - 1)))
        memory[0] = 0;
    return memory;
}
static long *reserve(long bytes, int tries)
{
    long *memory = fetch(bytes, tries);
    if (!memory && tries && (memory = reserve(bytes, tries - 1)))
        memory[0] = 0;
    return memory;
}
static void add(double *to, long first, long end, const struct blocking *blocking, struct part *parts)
{
    if (end - first > blocking->depth) {
        long middle = first + (end - first) / 2;
        add(to, first, middle, blocking, parts);
        add(to, middle, end, blocking, parts);
        return;
    }
    double *packed = calloc((size_t)blocking->depth, sizeof *packed);
    for (long i = 0; i < blocking->depth; i++)
        packed[i] = 1;
    if (parts) {
        int me = omp_get_thread_num();
        parts[me] = (struct part){first, end};
        to[first] += packed[parts[me].end % blocking->depth];
    }
    for (long i = first; i < end; i++)
        to[i] += packed[i * i % blocking->depth];
    free(packed);
}
void product(double *to, long count)       /* as matrix libraries do it: by threads of its own, or inside a region by the calling one */
{
    int threads = omp_get_max_threads();
    struct blocking blocking = {count / threads + 1};
    if (threads == 1 || omp_get_num_threads() > 1) {
        add(to, 0, count, &blocking, NULL);
        return;
    }
    struct part *parts = (struct part *)reserve(threads * (long)sizeof *parts, 3);
#pragma omp parallel num_threads(threads)
    {
        long me = omp_get_thread_num(), all = omp_get_num_threads();
        add(to, count * me / all, count * (me + 1) / all, &blocking, parts);
    }
    free(parts);
}
void many_products(double *to, long count)
{
#pragma omp parallel for
    for (int k = 0; k < 8; k++)
        product(to + k * count, count);
}
void marks_of_any(long *marks)
{
#pragma omp parallel
    marks[omp_get_thread_num() % 64]++;
}
void marks_of_threads(long *marks)
{
#pragma omp parallel
    marks[omp_get_thread_num()]++;
}
void shared_out(long *marks, long count)         /* ends where the work does, however many threads share it */
{
#pragma omp parallel
    {
        long all = omp_get_num_threads(), part = (count + all - 1) / all, first = part * omp_get_thread_num();
        long end = first + part < count ? first + part : count;
        for (long i = first; i < end; i++)
            marks[i]++;
    }
}
int main(void)
{
    double *to = calloc(8000, sizeof *to);
    long *any = reserve(64 * sizeof *any, 3), *own = reserve(omp_get_max_threads() * (long)sizeof *own, 3);
    for (int step = 0; step < 2; step++) {
        product(to, 8000);
        many_products(to, 1000);
        marks_of_any(any);
        marks_of_threads(own);
        shared_out(own, omp_get_max_threads());
    }
    return puts(to[77] > 0 && own[0] == 4 ? "PASS" : "FAIL") < 0;
}
END
captured calls --force --threads 2
run "$PCERE" regions --json calls.pcere
is "what other calls of a function made for the threads is no region's that makes its own" \
    "$(limited)" "marks_of_threads product"
run "$PCERE" verify --threads 1,4 calls.pcere many_products shared_out
says "and so it runs with more threads" 0
# A team that the program asked for by a variable, as large as the capture's: whether it always asks for that is not known.
compile asks <<'END'
#include <omp.h>
#include <stdio.h>
static long parts[64];
static void own(int threads) {
    #pragma omp parallel num_threads(threads)
    parts[omp_get_thread_num()]++;
}
static void free_to_choose(void) {
    #pragma omp parallel
    parts[omp_get_thread_num()]++;
}
int main(int count, char **words) {
    (void)words;
    free_to_choose();
    own(count);
    puts("PASS");
    return 0;
}
END
captured asks --force
run "$PCERE" replay --repeat 1 --threads 1,2 asks.pcere
says "it is replayed with another number, and that is said" 0 err 'own@asks.c:[0-9]+ may have asked for 1 thread by itself .*pcere predict --measure tells, and pcere capture --threads 2'
run "$PCERE" verify --threads 1,2 --json asks.pcere
is "of that region at that number, and of no other" "$(json '[.codelets[] | select(.asked_threads != null) | "\(.region | split("@")[0]) \(.threads) \(.asked_threads)"] | join(", ")')" "own 2 1"
run "$PCERE" predict --measure --repeat 1 asks.pcere
says "real runs tell that the program asks for that whatever is asked" 0 out '^FIXED with 2 threads: in real runs own@asks.c:[0-9]+ had 1 thread all the same'
run "$PCERE" predict --json asks.pcere
is "with other numbers than the capture's, and of that region alone" "$(json '[.predictions[] | "\(.threads) \(.real_team) \(.real_team_regions)"] | join(", ")')" "1 null 0, 2 1 1"
captured asks --force --threads 2
run "$PCERE" replay --repeat 1 --threads 3 --json asks.pcere own
is "captured with two threads it keeps its own number" "$(json '[.replays[] | .team, .asked_threads] | join(" ")')" "1 "

# A team that the program set for itself, which memory was made for: replays have it whatever is asked, so that no number is too many.
compile sets <<'END'
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
static void own(long *parts) {
    #pragma omp parallel
    for (volatile long i = 0; i < 2000000; i++)
        parts[8 * omp_get_thread_num()]++;
}
int main(void) {
    omp_set_num_threads(2);
    long *parts = calloc(8 * omp_get_max_threads(), sizeof *parts);
    if (!parts)
        return 1;
    own(parts);
    puts("PASS");
    return 0;
}
END
captured sets --force
run "$PCERE" regions sets.pcere
says "a team that the program set holds for its own number" 0 out 'at most 2 threads: memory with one part per thread'
run "$PCERE" replay --repeat 1 --threads 4 sets.pcere
says "it is replayed as it is whatever is asked" 0 out 'its team has 2 threads'
run "$PCERE" replay --repeat 1 --threads 1 sets.pcere
says "which is told of fewer, too" 0 out ' 1 .*its team has 2 threads'
run "$PCERE" regions sets.pcere
says "and in the table of regions" 0 out 'always with 2 threads, as the program asks'
run "$PCERE" predict --threads 2,4 sets.pcere
says "of others a prediction says that they lack" 0 out 'own@.* runs with 2 threads at any number of threads, as the program asks' out '^MISSING with 2 threads: .* was not replayed with 2 threads'
holds "and calls none too many" test "$(grep -cE 'cannot run with|MISSING with 4' .out)" = 0
run "$PCERE" verify --json --threads 1 sets.pcere
holds "its threads add in any order, whatever is asked: a bound for rounding" jq -e 'all(.codelets[]; .bound_ratio > 0)' .out

# Room for as many threads as there are processors is there for more threads than the capture had; where a number of threads is in it as well, it is not.
cat >processors.cpp <<'END'
#include <algorithm>
#include <cstdio>
#include <omp.h>
#include <thread>
#include <vector>
enum { N = 100000 };
static double data[N], total;
__attribute__((noinline)) static void add(std::vector<double> &parts)
{
    for (double part : parts)
        total += part;
}
static void by_processors()
{
    std::vector<double> parts(8 * std::max(1u, std::thread::hardware_concurrency()));
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        parts[8 * omp_get_thread_num()] += data[i];
    add(parts);
}
static void by_either()
{
    std::vector<double> parts(8 * std::min(omp_get_num_procs(), omp_get_max_threads()));
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        parts[8 * omp_get_thread_num()] += data[i];
    add(parts);
}
int main()
{
    std::fill(data, data + N, 1.0);
    by_processors();
    by_either();
    puts(total == 2.0 * N ? "PASS" : "FAIL");
}
END
"${CLANG/clang/clang++}" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" processors.cpp -o processors || exit 1
captured processors --force
count=$(nproc)
run "$PCERE" regions processors.pcere
says "what room is for is told" 0 out "by_processors.*at most $count threads?: memory with one part for each of $count processors? " out 'by_either.*at most 1 thread: memory with one part per thread'
run "$PCERE" replay --repeat 1 --threads "$count" processors.pcere 'by_processors*'
says "as many threads as processors have room" 0
run "$PCERE" replay --repeat 1 --threads "$((count + 1))" processors.pcere 'by_processors*'
says "and no more" 1 err "holds for at most $count threads?, since"
run "$PCERE" replay --repeat 1 --threads 2 processors.pcere 'by_either*'
says "nor more than captured, where these are in it" 1 err 'holds for at most 1 thread, since'
run "$PCERE" export processors.pcere 'by_processors*' -o processors.out
run make -s -C processors.out run THREADS="$count"
says "an exported one has as many as well" 0 out "OMP_NUM_THREADS=$count"

# The same where the region's clause says how many.
cat >asks.c <<'END'
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **arguments)
{
    int threads = count > 1 ? atoi(arguments[1]) : 2;
    double *parts = calloc(threads, 64), sum = 0;
#pragma omp parallel num_threads(threads)
    {
        double own = 0;
#pragma omp for
        for (int i = 0; i < 400000; i++)
            own += i;
        parts[omp_get_thread_num() * 8] = own;
    }
    for (int i = 0; i < threads; i++)
        sum += parts[i * 8];
    puts(sum == 400000.0 * 399999 / 2 ? "PASS" : "FAIL");
    return 0;
}
END
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" asks.c -o asks || exit 1
captured asks --force
run "$PCERE" verify --threads 1,2,4 --json asks.pcere
holds "a team that a clause asks for has room in the program, whatever is asked of a replay" jq -e '[.codelets[] | .identical] == [true, true, true]' .out
run "$PCERE" export asks.pcere main -o asks.out
run make -s -C asks.out check
says "and exported it has as many by itself" 0 out '^check: identical'

# Without debug information there are no lines, and functions are told by their names, as the source has them.
cat >nameless.cpp <<'END'
#include <cstdio>
#include <vector>
#include <omp.h>
namespace mesh {
[[gnu::noinline]] long parts(int n)
{
    std::vector<long> own(omp_get_max_threads());
    long sum = 0;
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        own[omp_get_thread_num()] += i % 7;
    for (long one : own)
        sum += one;
    return sum;
}
}
int main() { puts(mesh::parts(7000) == 21000 ? "PASS" : "FAIL"); }
END
"$CLANG" -O2 -fopenmp "-fpass-plugin=$(plugin)" nameless.cpp -o nameless -lstdc++ || exit 1
captured nameless --force
run "$PCERE" regions --json nameless.pcere
holds "functions in reasons have the source's names" \
    jq -e '[.regions[].thread_sized] | length == 1 and (.[0] | test("allocated in mesh::parts, sized by omp_get_max_threads in mesh::parts"))' .out

finish
