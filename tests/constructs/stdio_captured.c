/* stdio_captured.c - a FILE that was opened before the region is written and read inside it. */
#include "check.h"

int main(void)
{
    FILE *file = tmpfile();
    long sum = 0;
    CHECK(file && fprintf(file, "first\n") > 0);
#pragma omp parallel for
    for (int i = 0; i < 50; i++)
        CHECK(fprintf(file, "%d\n", i) > 0);
    rewind(file);
#pragma omp parallel
#pragma omp single
    {
        char line[40];
        CHECK(fgets(line, sizeof line, file) && line[0] == 'f');
        while (fgets(line, sizeof line, file))
            sum += atoi(line);
    }
    fclose(file);
    CHECK(sum == 1225);
    return 0;
}
