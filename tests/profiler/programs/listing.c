/* The program of Listing 1.1: 16 execution units. */
volatile int sink[32];

int main(void)
{
    #pragma omp parallel num_threads(2)
    {
        #pragma omp for schedule(static)
        for (int i = 0; i < 8; i++) {
            #pragma omp task
            sink[i]++;
        }

        #pragma omp for schedule(dynamic, 2)
        for (int i = 0; i < 8; i++)
            sink[i]++;

        #pragma omp task
        sink[20]++;
    }
    return 0;
}
