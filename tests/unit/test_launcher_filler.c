/* tests/unit/test_launcher_filler.c - who asks for filled caches is answered, whatever it asks and however its process ends. */
#include "replay-rt/launcher/filler.h"
#include "replay-rt/protocol.h"
#include "tests/unit/unit.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct plan_filler *requests_map(const struct filler *filler)
{
    void *requests = mmap(NULL, PLAN_FILLERS * sizeof(struct plan_filler), PROT_READ | PROT_WRITE, MAP_SHARED, filler->fd, 0);
    return requests == MAP_FAILED ? NULL : requests;
}

/* As a codelet's thread does. */
static void ask(struct plan_filler *request)
{
    atomic_fetch_add(&request->asked, 1);
    syscall(SYS_futex, &request->asked, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static bool is_answered(struct plan_filler *request)
{
    for (int i = 0; i < 10000 && atomic_load(&request->done) != atomic_load(&request->asked); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return atomic_load(&request->done) == atomic_load(&request->asked);
}

static void threads_are_answered(void)
{
    struct filler filler = filler_open();
    CU_ASSERT_TRUE_FATAL(filler.fd >= 0);
    struct plan_filler *requests = requests_map(&filler);
    CU_ASSERT_PTR_NOT_NULL_FATAL(requests);
    CU_ASSERT_FALSE(filler_is_made(&filler));
    filler_serve(&filler, 2);
    filler_serve(&filler, 1);
    CU_ASSERT_TRUE(requests[0].served && requests[1].served && !requests[2].served);
    for (uint32_t i = 0; i < 2; i++) {
        requests[i].processor = 0;
        requests[i].part = i;
        requests[i].parts = 2;
        requests[i].written = 1;
        requests[i].of = 3;
        ask(&requests[i]);
    }
    CU_ASSERT_TRUE(is_answered(&requests[0]) && is_answered(&requests[1]));
    CU_ASSERT_TRUE(filler_is_made(&filler));
    ask(&requests[1]);                    /* again */
    CU_ASSERT_TRUE(is_answered(&requests[1]));
    ask(&requests[2]);                    /* of a team that was not announced: nobody is there */
    CU_ASSERT_FALSE(atomic_load(&requests[2].done) == atomic_load(&requests[2].asked));
    filler_serve(&filler, 3);
    CU_ASSERT_TRUE(is_answered(&requests[2]));
    filler_close(&filler);
    filler_close(&filler);                /* there is none any more */
    munmap(requests, PLAN_FILLERS * sizeof *requests);
}

/* A codelet may write there what it likes. */
static void nonsense_is_answered(void)
{
    struct filler filler = filler_open();
    struct plan_filler *requests = requests_map(&filler);
    CU_ASSERT_PTR_NOT_NULL_FATAL(requests);
    filler_make(&filler);
    filler_make(&filler);                 /* once */
    filler_serve(&filler, UINT32_MAX);    /* as many as there are requests */
    requests[0].processor = UINT32_MAX;
    requests[0].part = 7;
    requests[0].written = 9;
    ask(&requests[0]);
    requests[PLAN_FILLERS - 1].processor = 100000;
    requests[PLAN_FILLERS - 1].part = requests[PLAN_FILLERS - 1].parts = UINT32_MAX;
    requests[PLAN_FILLERS - 1].written = requests[PLAN_FILLERS - 1].of = UINT64_MAX;
    ask(&requests[PLAN_FILLERS - 1]);
    CU_ASSERT_TRUE(is_answered(&requests[0]) && is_answered(&requests[PLAN_FILLERS - 1]));
    munmap(requests, PLAN_FILLERS * sizeof *requests);
    filler_close(&filler);
}

/* Where the system gives no memory, or no thread, nobody is told to ask. */
static void without_means_nobody_asks(void)
{
    struct filler none = FILLER_NONE, filler = filler_open();
    struct plan_filler *requests = requests_map(&filler);
    CU_ASSERT_PTR_NOT_NULL_FATAL(requests);
    filler_serve(&none, 2);
    filler_make(&none);
    CU_ASSERT_FALSE(filler_is_made(&none));
    pthread_attr_t attributes;
    size_t usual = 0;
    pthread_getattr_default_np(&attributes);
    pthread_attr_getstacksize(&attributes, &usual);
    if (!pthread_attr_setstacksize(&attributes, (size_t)1 << 46) && !pthread_setattr_default_np(&attributes)) {
        filler_serve(&filler, 2);
        CU_ASSERT_FALSE(requests[0].served);
        pthread_attr_setstacksize(&attributes, usual);
        pthread_setattr_default_np(&attributes);
    }
    filler_serve(&filler, 2);
    CU_ASSERT_TRUE(requests[0].served && requests[1].served);
    munmap(requests, PLAN_FILLERS * sizeof *requests);
    filler_close(&filler);
}

/* A process that was killed while it was waiting, or the session ends while its pages are made. */
static void closing_waits_for_nobody(void)
{
    for (int i = 0; i < 10; i++) {
        struct filler filler = filler_open();
        struct plan_filler *requests = requests_map(&filler);
        CU_ASSERT_PTR_NOT_NULL_FATAL(requests);
        filler_serve(&filler, 2);
        filler_make(&filler);
        ask(&requests[0]);
        if (i % 2)
            nanosleep(&(struct timespec){.tv_nsec = 300000L * i}, NULL);
        filler_close(&filler);
        CU_ASSERT_TRUE(filler.fd < 0);
        munmap(requests, PLAN_FILLERS * sizeof *requests);
    }
}

static const struct unit_test tests[] = {
    {"each thread of a team is answered, as often as it asks", threads_are_answered},
    {"so is who asks for what there is not", nonsense_is_answered},
    {"where there is no thread for it, nobody asks", without_means_nobody_asks},
    {"closing it waits for no process", closing_waits_for_nobody},
};

UNIT_MAIN("launcher: filler", tests)
