/* Tasks that are made in single: by the paper's rules their labels name the thread that came first. */
#include <omp.h>
#include <unistd.h>

static volatile int sink[2], made;

int main(int count, char **arguments)
{
    (void)arguments;
    #pragma omp parallel num_threads(2)
    {
        /* Which thread comes later is decided here, as the surroundings decide it elsewhere: the second with a word, else the first. */
        while (omp_get_thread_num() == (count > 1) && !made)
            usleep(100);
        #pragma omp single
        {
            #pragma omp task
            sink[0]++;
            #pragma omp task
            sink[1]++;
            made = 1;
        }
    }
    return 0;
}
