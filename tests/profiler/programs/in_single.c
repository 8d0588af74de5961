/* Tasks that are made in single: by the paper's rules their labels name the thread that came first. */
#include <omp.h>

volatile int sink[64];

int main(int count, char **arguments)
{
    (void)arguments;
    #pragma omp parallel num_threads(2)
    {
        /* Which thread is first is decided here, as the surroundings decide it elsewhere. */
        if (omp_get_thread_num() == (count > 1))
            for (volatile int i = 0; i < 3000000; i++)
                ;
        #pragma omp single
        {
            #pragma omp task
            sink[0]++;
            #pragma omp task
            sink[1]++;
        }
    }
    return 0;
}
