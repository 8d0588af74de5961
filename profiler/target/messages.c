/* profiler/target/messages.c - MPI: what this process sends and receives, for its clock beside those of others.
 *
 * Our functions stand before MPI's. It knows what the two families of MPI libraries (MPICH's binary interface and Open MPI's) have different: the number or the address of
 * MPI_COMM_WORLD, wildcards, and where a status has its source and tag. Everything else is passed on as it came, in words.
 */
#include "profiler/target/recorder.h"

#include <dlfcn.h>
#include <stdint.h>

typedef uintptr_t word;                  /* a handle, a pointer or a count: whatever the library takes it for */

static struct { bool known, open_mpi; word world; int any_source; } mpi;

static void library_know(void)
{
    void *world = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
    mpi.open_mpi = world != NULL;
    mpi.world = world ? (word)world : 0x44000000u;
    mpi.any_source = world ? -1 : -2;
    __atomic_store_n(&mpi.known, true, __ATOMIC_RELEASE);
}

static bool is_world(word communicator)
{
    return mpi.open_mpi ? communicator == mpi.world : (uint32_t)communicator == mpi.world;
}

/* This thread's recorder, if MPI is up; a begin is recorded. A call inside another one of MPI's is that one's. */
static struct recorder *message_begin(enum trace_message kind)
{
    struct recorder *recorder = __atomic_load_n(&mpi.known, __ATOMIC_ACQUIRE) ? recorder_get() : NULL;
    if (!recorder || recorder->messages++)
        return recorder;
    recorder_put(recorder, TRACE_WORD(TRACE_MESSAGE_BEGIN, kind, 0), 0);
    return recorder;
}

static void message_end(struct recorder *recorder, enum trace_message kind, int peer, int tag)
{
    if (!recorder || --recorder->messages)
        return;
    uint32_t other = peer >= 0 && (uint32_t)peer + 1 < TRACE_EXTRA_MOST ? (uint32_t)peer + 1 : 0;
    recorder_put(recorder, TRACE_WORD(TRACE_MESSAGE_END, kind, other), (uint32_t)tag);
}

#define NEXT(name) ((__typeof__(name) *)recorder_next_once(&known, #name))

/* ---- who this is -------------------------------------------------------------------------------------------------------------- */

static void rank_note(void)
{
    struct recorder *recorder = recorder_get();
    int rank = -1, size = -1;
    void (*functions[2])(void) = {recorder_next("PMPI_Comm_rank"), recorder_next("PMPI_Comm_size")};
    if (!recorder || !functions[0] || !functions[1])
        return;
    library_know();
    ((int (*)(word, int *))functions[0])(mpi.world, &rank);
    ((int (*)(word, int *))functions[1])(mpi.world, &size);
    if (rank >= 0 && size > rank)
        recorder_put(recorder, TRACE_WORD(TRACE_RANK, 0, (uint32_t)size < TRACE_EXTRA_MOST ? (uint32_t)size : TRACE_EXTRA_MOST), (uint32_t)rank);
}

RECORDER_EXPORT int MPI_Init(int *, char ***);
RECORDER_EXPORT int MPI_Init(int *count, char ***arguments)
{
    static void (*known)(void);
    int status = NEXT(MPI_Init)(count, arguments);
    rank_note();
    return status;
}

RECORDER_EXPORT int MPI_Init_thread(int *, char ***, int, int *);
RECORDER_EXPORT int MPI_Init_thread(int *count, char ***arguments, int required, int *provided)
{
    static void (*known)(void);
    int status = NEXT(MPI_Init_thread)(count, arguments, required, provided);
    rank_note();
    return status;
}

/* ---- from one to one ---------------------------------------------------------------------------------------------------------- */

#define SEND(name)                                                                                                             \
    RECORDER_EXPORT int name(word, int, word, int, int, word);                                                                 \
    RECORDER_EXPORT int name(word buffer, int count, word type, int to, int tag, word communicator)                            \
    {                                                                                                                          \
        static void (*known)(void);                                                                                            \
        enum trace_message kind = is_world(communicator) ? TRACE_MESSAGE_SEND : TRACE_MESSAGE_OTHER;                            \
        struct recorder *recorder = message_begin(kind);                                                                       \
        int status = NEXT(name)(buffer, count, type, to, tag, communicator);                                                    \
        message_end(recorder, kind, to, tag);                                                                                  \
        return status;                                                                                                         \
    }
SEND(MPI_Send) SEND(MPI_Ssend) SEND(MPI_Rsend) SEND(MPI_Bsend)

#define SEND_LATER(name)                                                                                                       \
    RECORDER_EXPORT int name(word, int, word, int, int, word, word);                                                           \
    RECORDER_EXPORT int name(word buffer, int count, word type, int to, int tag, word communicator, word request)              \
    {                                                                                                                          \
        static void (*known)(void);                                                                                            \
        enum trace_message kind = is_world(communicator) ? TRACE_MESSAGE_SEND : TRACE_MESSAGE_OTHER;                            \
        struct recorder *recorder = message_begin(kind);                                                                       \
        int status = NEXT(name)(buffer, count, type, to, tag, communicator, request);                                           \
        message_end(recorder, kind, to, tag);                                                                                  \
        return status;                                                                                                         \
    }
SEND_LATER(MPI_Isend) SEND_LATER(MPI_Issend) SEND_LATER(MPI_Irsend) SEND_LATER(MPI_Ibsend)

/* The program's status, or ours where it wants none: {source, tag} lie at its begin, or behind two counts. */
struct status { int words[64]; };

static const int *status_names(const void *status)
{
    return (const int *)status + (mpi.open_mpi ? 0 : 2);
}

static bool is_ignored(word status)
{
    return status < 2;
}

RECORDER_EXPORT int MPI_Recv(word, int, word, int, int, word, word);
RECORDER_EXPORT int MPI_Recv(word buffer, int count, word type, int from, int tag, word communicator, word status)
{
    static void (*known)(void);
    struct status ours;
    enum trace_message kind = is_world(communicator) ? TRACE_MESSAGE_RECEIVE : TRACE_MESSAGE_OTHER;
    struct recorder *recorder = message_begin(kind);
    bool wild = recorder && (from < 0 || tag < 0);
    word told = wild && is_ignored(status) ? (word)&ours : status;
    int result = NEXT(MPI_Recv)(buffer, count, type, from, tag, communicator, told);
    if (wild && result == 0) {
        from = from == mpi.any_source ? status_names((const void *)told)[0] : from;
        tag = tag < 0 ? status_names((const void *)told)[1] : tag;
    }
    message_end(recorder, kind, from, tag);
    return result;
}

/* When it has come is not seen: it only takes its place in the order. */
RECORDER_EXPORT int MPI_Irecv(word, int, word, int, int, word, word);
RECORDER_EXPORT int MPI_Irecv(word buffer, int count, word type, int from, int tag, word communicator, word request)
{
    static void (*known)(void);
    enum trace_message kind = is_world(communicator) ? TRACE_MESSAGE_POST : TRACE_MESSAGE_OTHER;
    struct recorder *recorder = message_begin(kind);
    int status = NEXT(MPI_Irecv)(buffer, count, type, from, tag, communicator, request);
    message_end(recorder, kind, tag < 0 ? -1 : from, tag);
    return status;
}

RECORDER_EXPORT int MPI_Sendrecv(word, int, word, int, int, word, int, word, int, int, word, word);
RECORDER_EXPORT int MPI_Sendrecv(word out, int out_count, word out_type, int to, int out_tag, word in, int in_count, word in_type, int from, int in_tag, word communicator, word status)
{
    static void (*known)(void);
    struct status ours;
    bool world = is_world(communicator);
    struct recorder *recorder = message_begin(world ? TRACE_MESSAGE_SEND : TRACE_MESSAGE_OTHER);
    bool wild = recorder && (from < 0 || in_tag < 0), outer = recorder && recorder->messages == 1;
    word told = wild && is_ignored(status) ? (word)&ours : status;
    message_end(recorder, world ? TRACE_MESSAGE_SEND : TRACE_MESSAGE_OTHER, to, out_tag);
    struct recorder *second = outer ? message_begin(world ? TRACE_MESSAGE_RECEIVE : TRACE_MESSAGE_OTHER) : NULL;
    int result = NEXT(MPI_Sendrecv)(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag, communicator, told);
    if (wild && result == 0) {
        from = from == mpi.any_source ? status_names((const void *)told)[0] : from;
        in_tag = in_tag < 0 ? status_names((const void *)told)[1] : in_tag;
    }
    message_end(second, world ? TRACE_MESSAGE_RECEIVE : TRACE_MESSAGE_OTHER, from, in_tag);
    return result;
}

/* ---- of all ------------------------------------------------------------------------------------------------------------------- */

#define PLAIN(...) __VA_ARGS__
#define COLLECTIVE(name, kind, types, parameters, arguments, communicator, root)                                               \
    RECORDER_EXPORT int name(types);                                                                                           \
    RECORDER_EXPORT int name(parameters)                                                                                       \
    {                                                                                                                          \
        static void (*known)(void);                                                                                            \
        enum trace_message what = is_world(communicator) ? kind : TRACE_MESSAGE_OTHER;                                          \
        struct recorder *recorder = message_begin(what);                                                                       \
        int status = NEXT(name)(arguments);                                                                                    \
        message_end(recorder, what, root, 0);                                                                                  \
        return status;                                                                                                         \
    }
COLLECTIVE(MPI_Barrier, TRACE_MESSAGE_ALL, PLAIN(word), PLAIN(word communicator), PLAIN(communicator), communicator, -1)
COLLECTIVE(MPI_Allreduce, TRACE_MESSAGE_ALL, PLAIN(word, word, int, word, word, word), PLAIN(word out, word in, int count, word type, word operation, word communicator),
           PLAIN(out, in, count, type, operation, communicator), communicator, -1)
COLLECTIVE(MPI_Allgather, TRACE_MESSAGE_ALL, PLAIN(word, int, word, word, int, word, word),
           PLAIN(word out, int out_count, word out_type, word in, int in_count, word in_type, word communicator), PLAIN(out, out_count, out_type, in, in_count, in_type, communicator),
           communicator, -1)
COLLECTIVE(MPI_Alltoall, TRACE_MESSAGE_ALL, PLAIN(word, int, word, word, int, word, word),
           PLAIN(word out, int out_count, word out_type, word in, int in_count, word in_type, word communicator), PLAIN(out, out_count, out_type, in, in_count, in_type, communicator),
           communicator, -1)
COLLECTIVE(MPI_Bcast, TRACE_MESSAGE_FROM_ROOT, PLAIN(word, int, word, int, word), PLAIN(word buffer, int count, word type, int root, word communicator),
           PLAIN(buffer, count, type, root, communicator), communicator, root)
COLLECTIVE(MPI_Reduce, TRACE_MESSAGE_TO_ROOT, PLAIN(word, word, int, word, word, int, word),
           PLAIN(word out, word in, int count, word type, word operation, int root, word communicator), PLAIN(out, in, count, type, operation, root, communicator), communicator, root)
COLLECTIVE(MPI_Wait, TRACE_MESSAGE_OTHER, PLAIN(word, word), PLAIN(word request, word told), PLAIN(request, told), request, -1)
COLLECTIVE(MPI_Waitall, TRACE_MESSAGE_OTHER, PLAIN(int, word, word), PLAIN(int count, word requests, word statuses), PLAIN(count, requests, statuses), requests, -1)
