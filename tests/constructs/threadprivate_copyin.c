/* threadprivate_copyin.c - the primary thread's copy is handed to all. */
#include "check.h"

static struct { int level; double weight[50]; } setting;
#pragma omp threadprivate(setting)
static long checked;

int main(void)
{
    for (int step = 1; step <= 3; step++) {
        setting.level = step * 10;
        setting.weight[49] = step;
#pragma omp parallel copyin(setting)
        {
            CHECK(setting.level == step * 10 && setting.weight[49] == step);
#pragma omp single
            checked++;
            setting.level = -1;
        }
    }
    CHECK(checked == 3 && setting.level == -1);
    return 0;
}
