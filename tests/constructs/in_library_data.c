/* in_library_data.c - a library whose variables the program uses, which calls functions of the program, and whose own can be taken by address. */
long library_values[100] = {1};
long *library_cursor = library_values + 3;
long (*library_step)(long);

long program_twice(long x);

static long plus_one(long x) { return x + 1; }

long library_default(long x);
long library_default(long x) { return library_step ? library_step(x) : plus_one(x); }

long library_fill(int count);
long library_fill(int count)
{
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < count; i++) {
        library_values[i] = program_twice(library_default(i));
        sum += library_values[i];
    }
    library_cursor = &library_values[count / 2];
    return sum;
}
