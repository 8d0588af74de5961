/* tests/unit/test_tracer_freeze.c - threads that are held and let go, and those that are killed meanwhile: the program's end is seen whatever becomes of them. */
#include "capture-rt/tracer/freeze.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_STATUS = 5, ENDS_SECONDS = 60 };

static struct world {
    struct child child;
    struct freeze freeze;
    int orders, answers;
} world;

static void *sleeper(void *context)
{
    (void)!write(*(int *)context, "s", 1);
    for (;;)
        pause();
    return NULL;
}

/* Two threads: one sleeps, the other answers each order but the last one, which ends the program. */
static void program(int orders, int answers)
{
    pthread_t other;
    char order;
    if (pthread_create(&other, NULL, sleeper, &answers))
        _exit(99);
    while (read(orders, &order, 1) == 1 && order != 'e')
        (void)!write(answers, &order, 1);
    _exit(EXIT_STATUS);
}

static bool answers(char wanted)
{
    char got = 0;
    return read(world.answers, &got, 1) == 1 && got == wanted;
}

/* False: this kernel lets nobody trace. */
static bool world_make(void)
{
    int orders[2], replies[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(orders, O_CLOEXEC) | pipe2(replies, O_CLOEXEC), 0);
    world = (struct world){.child = {.pid = fork(), .pidfd = -1}, .orders = orders[1], .answers = replies[0]};
    CU_ASSERT_TRUE_FATAL(world.child.pid >= 0);
    if (!world.child.pid)
        program(orders[0], replies[1]);
    close(orders[0]);
    close(replies[1]);
    CU_ASSERT_TRUE_FATAL(answers('s'));
    struct pcere_error error = {0};
    enum pcere_status status = freeze_all(&world.child, world.child.pid, &world.freeze, &error);
    if (status == PCERE_REFUSED)
        printf("left out: %s\n", error.message);
    else
        CU_ASSERT_EQUAL_FATAL(status, PCERE_OK);
    return status == PCERE_OK;
}

static void order(char word)
{
    CU_ASSERT_EQUAL(write(world.orders, &word, 1), 1);
}

/* As the tracer watches: the limit is for a test that fails only. */
static void end_is_seen(void)
{
    time_t latest = time(NULL) + ENDS_SECONDS;
    while (!world.child.ended && time(NULL) < latest) {
        freeze_reap(&world.child, &world.freeze);
        child_poll(&world.child);
        usleep(1000);
    }
    CU_ASSERT_TRUE(world.child.ended);
    freeze_reap(&world.child, &world.freeze);
    CU_ASSERT_EQUAL(world.freeze.count, 0);
}

static void world_end(void)
{
    if (!world.child.ended) {
        kill(world.child.pid, SIGKILL);
        end_is_seen();
    }
    freeze_done(&world.freeze);
    close(world.orders);
    close(world.answers);
}

static void threads_that_are_let_go_go_on(void)
{
    if (world_make()) {
        CU_ASSERT_EQUAL(world.freeze.count, 2);
        freeze_release(&world.freeze);
        CU_ASSERT_EQUAL(world.freeze.count, 0);
        order('a');
        CU_ASSERT_TRUE(answers('a'));
        order('e');
        end_is_seen();
        CU_ASSERT_TRUE(WIFEXITED(world.child.status) && WEXITSTATUS(world.child.status) == EXIT_STATUS);
    }
    world_end();
}

static void a_program_that_is_killed_while_it_stands_still_ends(void)
{
    if (world_make()) {
        CU_ASSERT_EQUAL(kill(world.child.pid, SIGKILL), 0);
        freeze_release(&world.freeze);
        end_is_seen();
        CU_ASSERT_TRUE(WIFSIGNALED(world.child.status) && WTERMSIG(world.child.status) == SIGKILL);
    }
    world_end();
}

/* Some thread ends the program while another one is held: that one is killed, and can be let go no more. */
static void a_program_ends_while_a_thread_is_held(bool let_go_late)
{
    if (world_make()) {
        for (size_t i = 0; i < world.freeze.count; i++)
            if (world.freeze.threads[i].tid != world.child.pid)
                world.freeze.threads[i].held_for = 7;
        freeze_release(&world.freeze);
        CU_ASSERT_EQUAL(world.freeze.count, 1);
        order('a');
        CU_ASSERT_TRUE(answers('a'));
        order('e');
        if (let_go_late) {
            char nothing;
            CU_ASSERT_EQUAL(read(world.answers, &nothing, 1), 0);         /* the program's descriptors are closed: all its threads were killed */
            CU_ASSERT_TRUE(freeze_let_go(&world.freeze, 7));
        }
        end_is_seen();
        CU_ASSERT_TRUE(WIFEXITED(world.child.status) && WEXITSTATUS(world.child.status) == EXIT_STATUS);
    }
    world_end();
}

static void an_end_while_a_thread_is_held_is_seen(void) { a_program_ends_while_a_thread_is_held(false); }
static void an_end_before_a_thread_is_let_go_is_seen(void) { a_program_ends_while_a_thread_is_held(true); }

static const struct unit_test tests[] = {
    {"threads that are let go go on", threads_that_are_let_go_go_on},
    {"a program that is killed while it stands still ends", a_program_that_is_killed_while_it_stands_still_ends},
    {"an end while a thread is held is seen", an_end_while_a_thread_is_held_is_seen},
    {"an end before a held thread is let go is seen", an_end_before_a_thread_is_let_go_is_seen},
};

UNIT_MAIN("tracer: freeze", tests)
