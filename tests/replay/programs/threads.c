/* threads.c - threadprivate variables (also copied in), locks of both kinds, and a lock inside heap data. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int base = 10;
static double buffer[700];
static struct { char c; long deep[9]; } record;
#pragma omp threadprivate(base, buffer, record)

struct account { omp_lock_t lock; long balance; omp_nest_lock_t nest; };
static struct account *accounts;
static omp_lock_t first;

static double work(int n)
{
    double sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        for (int i = 0; i < n; i++) {
            buffer[i % 700] += base + i;
            record.deep[i % 9] += i;
        }
        record.c++;
        base++;
        sum += buffer[n % 700];
    }
    return sum;
}

static void copied(void)
{
    base = 100;
#pragma omp parallel copyin(base)
    {
        base += 1;
        record.deep[0] += base;
    }
}

static void locks(void)
{
#pragma omp parallel for
    for (int i = 0; i < 300; i++) {
        struct account *account = &accounts[i % 4];
        omp_set_lock(&account->lock);
        account->balance += i;
        omp_unset_lock(&account->lock);
        omp_set_nest_lock(&account->nest);
        omp_set_nest_lock(&account->nest);
        account->balance--;
        omp_unset_nest_lock(&account->nest);
        omp_unset_nest_lock(&account->nest);
        omp_set_lock(&first);
        omp_unset_lock(&first);
    }
}

int main(void)
{
    double sum = 0;
    accounts = calloc(4, sizeof *accounts);
    omp_init_lock(&first);
    for (int i = 0; i < 4; i++) {
        omp_init_lock(&accounts[i].lock);
        omp_init_nest_lock(&accounts[i].nest);
    }
    for (int step = 0; step < 4; step++) {
        sum += work(400);
        copied();
        locks();
    }
    printf("PASS %g %ld\n", sum, accounts[1].balance);
    return 0;
}
