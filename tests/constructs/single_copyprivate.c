/* single_copyprivate.c - one thread reads, all get it. */
#include "check.h"

struct setting { double scale; int count; char name[20]; };
static int got[256], times;

int main(void)
{
#pragma omp parallel
    {
        struct setting setting = {0, 0, ""};
        double *table = NULL;
#pragma omp single copyprivate(setting, table)
        {
            setting.scale = 2.5;
            setting.count = 42;
            snprintf(setting.name, sizeof setting.name, "name %d", ++times);
            table = malloc(100 * sizeof *table);
            table[99] = 1.5;
        }
        CHECK(setting.scale == 2.5 && setting.count == 42 && setting.name[5] == '1' && table[99] == 1.5);
#pragma omp barrier
#pragma omp single
        {
            free(table);
            got[0] = setting.count;
        }
    }
    CHECK(got[0] == 42 && times == 1);
    return 0;
}
