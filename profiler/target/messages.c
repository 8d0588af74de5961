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

/* Receives that were posted and have not come. One that finds no room is not told. */
enum { LATER_ROOM = 4096, LATER_REACH = 64, REQUESTS_MOST = 256 };
static struct { word request; int from, tag; } later[LATER_ROOM];
static bool later_taken;

static void later_lock(void)
{
    while (__atomic_test_and_set(&later_taken, __ATOMIC_ACQUIRE))
        ;
}

static word request_at(word requests, int number)
{
    return mpi.open_mpi ? ((const word *)requests)[number] : ((const uint32_t *)requests)[number];
}

static size_t later_place(word request, size_t step)
{
    return ((size_t)(request * 0x9e3779b97f4a7c15u >> 40) + step) % LATER_ROOM;
}

static bool later_take(word request, int *ret_from, int *ret_tag)
{
    bool found = false;
    later_lock();
    for (size_t i = 0; request && i < LATER_REACH && !found; i++) {
        size_t place = later_place(request, i);
        if (later[place].request != request)
            continue;
        *ret_from = later[place].from;
        *ret_tag = later[place].tag;
        later[place].request = 0;
        found = true;
    }
    __atomic_clear(&later_taken, __ATOMIC_RELEASE);
    return found;
}

/* What was known of this handle was another request's, which was freed. */
static void later_forget(word request)
{
    int from, tag;
    later_take(request, &from, &tag);
}

static void later_note(word request, int from, int tag)
{
    later_forget(request);
    later_lock();
    for (size_t i = 0; request && i < LATER_REACH; i++) {
        size_t place = later_place(request, i);
        if (later[place].request)
            continue;
        later[place].request = request;
        later[place].from = from;
        later[place].tag = tag;
        break;
    }
    __atomic_clear(&later_taken, __ATOMIC_RELEASE);
}

#define SEND_LATER(name)                                                                                                       \
    RECORDER_EXPORT int name(word, int, word, int, int, word, word);                                                           \
    RECORDER_EXPORT int name(word buffer, int count, word type, int to, int tag, word communicator, word request)              \
    {                                                                                                                          \
        static void (*known)(void);                                                                                            \
        enum trace_message kind = is_world(communicator) ? TRACE_MESSAGE_SEND : TRACE_MESSAGE_OTHER;                            \
        struct recorder *recorder = message_begin(kind);                                                                       \
        int status = NEXT(name)(buffer, count, type, to, tag, communicator, request);                                           \
        if (recorder && status == 0)                                                                                           \
            later_forget(request_at(request, 0));                                                                              \
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

struct waiting {                 /* a call that requests may complete in */
    struct recorder *recorder;
    word requests[REQUESTS_MOST];       /* as they were before it */
    int count;
    word told;                   /* statuses for MPI: the program's, or ours */
    size_t status_bytes;
    char ours[REQUESTS_MOST * 24];
};

static bool waiting_begin(struct waiting *waiting, int count, word requests, word statuses, bool recorded)
{
    waiting->recorder = __atomic_load_n(&mpi.known, __ATOMIC_ACQUIRE) ? recorder_get() : NULL;
    waiting->told = statuses;
    waiting->count = 0;
    waiting->status_bytes = mpi.open_mpi ? 24 : 20;
    if (!waiting->recorder || waiting->recorder->messages || count < 0)
        return false;
    for (; waiting->count < count && waiting->count < REQUESTS_MOST; waiting->count++)
        waiting->requests[waiting->count] = request_at(requests, waiting->count);
    if (is_ignored(statuses) && count <= REQUESTS_MOST)
        waiting->told = (word)waiting->ours;
    if (recorded)
        message_begin(TRACE_MESSAGE_OTHER);
    return true;
}

/* Request `number` is complete, and its status is the n-th. */
static void waiting_come(struct waiting *waiting, int number, int n)
{
    int from, tag;
    if (number < 0 || number >= waiting->count || !later_take(waiting->requests[number], &from, &tag))
        return;
    if (!is_ignored(waiting->told)) {
        const int *names = status_names((const char *)waiting->told + (size_t)n * waiting->status_bytes);
        from = from == mpi.any_source ? names[0] : from;
        tag = tag < 0 ? names[1] : tag;
    }
    message_begin(TRACE_MESSAGE_COME);
    message_end(waiting->recorder, TRACE_MESSAGE_COME, tag < 0 ? -1 : from, tag);
}

RECORDER_EXPORT int MPI_Irecv(word, int, word, int, int, word, word);
RECORDER_EXPORT int MPI_Irecv(word buffer, int count, word type, int from, int tag, word communicator, word request)
{
    static void (*known)(void);
    enum trace_message kind = is_world(communicator) ? TRACE_MESSAGE_POST : TRACE_MESSAGE_OTHER;
    struct recorder *recorder = message_begin(kind);
    int status = NEXT(MPI_Irecv)(buffer, count, type, from, tag, communicator, request);
    if (recorder && status == 0 && kind == TRACE_MESSAGE_POST && recorder->messages == 1)
        later_note(request_at(request, 0), from, tag);
    message_end(recorder, kind, tag < 0 ? -1 : from, tag);
    return status;
}

RECORDER_EXPORT int MPI_Cancel(word);
RECORDER_EXPORT int MPI_Cancel(word request)
{
    static void (*known)(void);
    if (__atomic_load_n(&mpi.known, __ATOMIC_ACQUIRE))
        later_forget(request_at(request, 0));
    return NEXT(MPI_Cancel)(request);
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

/* ---- waiting for those that come later ---------------------------------------------------------------------------------------- */

RECORDER_EXPORT int MPI_Wait(word, word);
RECORDER_EXPORT int MPI_Wait(word request, word status)
{
    static void (*known)(void);
    struct waiting waiting;
    bool own = waiting_begin(&waiting, 1, request, status, true);
    int result = NEXT(MPI_Wait)(request, waiting.told);
    if (own)
        message_end(waiting.recorder, TRACE_MESSAGE_OTHER, -1, 0);
    if (own && result == 0)
        waiting_come(&waiting, 0, 0);
    return result;
}

RECORDER_EXPORT int MPI_Waitall(int, word, word);
RECORDER_EXPORT int MPI_Waitall(int count, word requests, word statuses)
{
    static void (*known)(void);
    struct waiting waiting;
    bool own = waiting_begin(&waiting, count, requests, statuses, true);
    int result = NEXT(MPI_Waitall)(count, requests, waiting.told);
    if (own)
        message_end(waiting.recorder, TRACE_MESSAGE_OTHER, -1, 0);
    for (int i = 0; own && result == 0 && i < waiting.count; i++)
        waiting_come(&waiting, i, i);
    return result;
}

RECORDER_EXPORT int MPI_Waitany(int, word, int *, word);
RECORDER_EXPORT int MPI_Waitany(int count, word requests, int *index, word status)
{
    static void (*known)(void);
    struct waiting waiting;
    bool own = waiting_begin(&waiting, count, requests, status, true);
    int result = NEXT(MPI_Waitany)(count, requests, index, waiting.told);
    if (own)
        message_end(waiting.recorder, TRACE_MESSAGE_OTHER, -1, 0);
    if (own && result == 0)
        waiting_come(&waiting, *index, 0);
    return result;
}

#define SOME(name, recorded)                                                                                                   \
    RECORDER_EXPORT int name(int, word, int *, int *, word);                                                                   \
    RECORDER_EXPORT int name(int count, word requests, int *ret_count, int *indices, word statuses)                            \
    {                                                                                                                          \
        static void (*known)(void);                                                                                            \
        struct waiting waiting;                                                                                                \
        bool own = waiting_begin(&waiting, count, requests, statuses, recorded);                                               \
        int result = NEXT(name)(count, requests, ret_count, indices, waiting.told);                                            \
        if (own && recorded)                                                                                                   \
            message_end(waiting.recorder, TRACE_MESSAGE_OTHER, -1, 0);                                                         \
        for (int i = 0; own && result == 0 && i < *ret_count; i++)                                                             \
            waiting_come(&waiting, indices[i], i);                                                                             \
        return result;                                                                                                         \
    }
SOME(MPI_Waitsome, true) SOME(MPI_Testsome, false)

/* A test that finds nothing leaves nothing: programs ask in loops. */
RECORDER_EXPORT int MPI_Test(word, int *, word);
RECORDER_EXPORT int MPI_Test(word request, int *flag, word status)
{
    static void (*known)(void);
    struct waiting waiting;
    bool own = waiting_begin(&waiting, 1, request, status, false);
    int result = NEXT(MPI_Test)(request, flag, waiting.told);
    if (own && result == 0 && *flag)
        waiting_come(&waiting, 0, 0);
    return result;
}

RECORDER_EXPORT int MPI_Testall(int, word, int *, word);
RECORDER_EXPORT int MPI_Testall(int count, word requests, int *flag, word statuses)
{
    static void (*known)(void);
    struct waiting waiting;
    bool own = waiting_begin(&waiting, count, requests, statuses, false);
    int result = NEXT(MPI_Testall)(count, requests, flag, waiting.told);
    for (int i = 0; own && result == 0 && *flag && i < waiting.count; i++)
        waiting_come(&waiting, i, i);
    return result;
}

RECORDER_EXPORT int MPI_Testany(int, word, int *, int *, word);
RECORDER_EXPORT int MPI_Testany(int count, word requests, int *index, int *flag, word status)
{
    static void (*known)(void);
    struct waiting waiting;
    bool own = waiting_begin(&waiting, count, requests, status, false);
    int result = NEXT(MPI_Testany)(count, requests, index, flag, waiting.told);
    if (own && result == 0 && *flag)
        waiting_come(&waiting, *index, 0);
    return result;
}
