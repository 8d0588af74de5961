/* file_inside.c - a region opens, reads and closes a regular file that still exists when it is replayed. */
#include "check.h"
#include <fcntl.h>
#include <unistd.h>

static int magic[8];

int main(void)
{
#pragma omp parallel for
    for (int i = 0; i < 8; i++) {
        unsigned char head[4] = {0};
        int file = open("/bin/sh", O_RDONLY);
        CHECK(file >= 0 && read(file, head, sizeof head) == (ssize_t)sizeof head);
        close(file);
        FILE *stream = fopen("/bin/sh", "rb");
        CHECK(stream && fgetc(stream) == 0x7f);
        fclose(stream);
        magic[i] = head[1] == 'E' && head[2] == 'L' && head[3] == 'F';
    }
    for (int i = 0; i < 8; i++)
        CHECK(magic[i]);
    return 0;
}
