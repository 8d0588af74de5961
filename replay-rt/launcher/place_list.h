/* replay-rt/launcher/place_list.h - what OMP_PLACES may say, and whether it names a processor that is here.
 *
 * The OpenMP runtime takes a list that it cannot read for another one, or for none, with a warning that a codelet does not show: its times would bear the
 * name of places that it never had.
 */
#ifndef PCERE_REPLAY_LAUNCHER_PLACE_LIST_H
#define PCERE_REPLAY_LAUNCHER_PLACE_LIST_H

enum place_list_kind {
    PLACE_LIST_WRONG,           /* OpenMP does not know such places */
    PLACE_LIST_ELSEWHERE,       /* none of the processors that it names is here, or open to this process */
    PLACE_LIST_GOOD,
};

/* A name ("cores", "sockets(2)") or a list of places ("{0,1},{2:4}", "{0:2}:4:2"). Of names it is not asked what they mean here. */
enum place_list_kind place_list_read(const char *text);

#endif
