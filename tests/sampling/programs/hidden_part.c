/* tests/sampling/programs/hidden_part.c - what hidden.c calls: it remembers which iteration ran last. With one thread. */
#include <math.h>
#include <stdlib.h>

void wait_for(int turn);
void check_order(int turn);
double work(int turn);

static volatile int done, checked;

/* Until the iteration before is done: for ever, if it is left out. */
void wait_for(int turn)
{
    while (done < turn)
        ;
    done = turn + 1;
}

void check_order(int turn)
{
    if (checked < turn)
        abort();
    checked = turn + 1;
}

double work(int turn)
{
    double value = turn;
    for (int i = 0; i < 3000; i++)
        value = sqrt(value + 1);
    return value + 1;
}
