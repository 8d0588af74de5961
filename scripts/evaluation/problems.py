"""scripts/evaluation/problems.py - what `pcere choose` is tried on: problems, the sizes of each, and bodies of a parallel region that solve it in another way."""
# Problems; of each the sizes, and bodies of a parallel region that solve it in another way: the same result, up to rounding.
ORDERS = {order: """#pragma omp for
            for (long %s = 0; %s < n; %s++)
                for (long %s = 0; %s < n; %s++)
                    for (long %s = 0; %s < n; %s++)
                        c[i * n + j] += a[i * n + k] * b[k * n + j];""" % tuple(letter for letter in order for _ in range(3))
          for order in ("ijk", "ikj", "jik", "jki")}
SHARED = """for (long k = 0; k < n; k++) {
#pragma omp for
                for (long %s = 0; %s < n; %s++)
                    for (long %s = 0; %s < n; %s++)
                        c[i * n + j] += a[i * n + k] * b[k * n + j];
            }"""
ORDERS["kij"] = SHARED % tuple("iiijjj")
ORDERS["kji"] = SHARED % tuple("jjjiii")
ORDERS["tiled"] = """#pragma omp for
            for (long ii = 0; ii < n; ii += 32)
                for (long kk = 0; kk < n; kk += 32)
                    for (long i = ii; i < ii + 32; i++)
                        for (long k = kk; k < kk + 32; k++)
                            for (long j = 0; j < n; j++)
                                c[i * n + j] += a[i * n + k] * b[k * n + j];"""
PROBLEMS = {
    "matrix times vector": ((320, 1088, 2304), {
        "rows": """#pragma omp for
            for (long i = 0; i < n; i++) {
                double sum = 0;
                for (long j = 0; j < n; j++)
                    sum += a[i * n + j] * b[j];
                c[i] = sum;
            }""",
        "columns": """{
                long from = n * omp_get_thread_num() / omp_get_num_threads(), to = n * (omp_get_thread_num() + 1) / omp_get_num_threads();
                for (long j = 0; j < n; j++)
                    for (long i = from; i < to; i++)
                        c[i] += a[j * n + i] * b[j];
            }""",
        "strided": """#pragma omp for
            for (long i = 0; i < n; i++) {
                double sum = 0;
                for (long j = 0; j < n; j++)
                    sum += a[j * n + i] * b[j];
                c[i] = sum;
            }"""}),
    "matrix times matrix": ((160,), ORDERS),
    "reduction": ((512, 1600, 3200), {
        "clause": """{
#pragma omp for reduction(+ : total)
            for (long i = 0; i < n * n; i++)
                total += a[i];
            }""",
        "four sums": """{
            double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp for
            for (long i = 0; i < n * n / 4; i++) {
                s0 += a[4 * i]; s1 += a[4 * i + 1]; s2 += a[4 * i + 2]; s3 += a[4 * i + 3];
            }
#pragma omp critical
            total += s0 + s1 + s2 + s3;
            }""",
        "atomic by rows": """{
#pragma omp for
            for (long i = 0; i < n; i++) {
                double sum = 0;
                for (long j = 0; j < n; j++)
                    sum += a[i * n + j];
#pragma omp atomic
                total += sum;
            }
            }"""}),
}
# Written after the first model, and run once with it as it was. Sets of caches and the reach of addresses were added since.
HELD_OUT = {
    "transposition": ((600, 1400), {
        "read by columns": """#pragma omp for
            for (long i = 0; i < n; i++)
                for (long j = 0; j < n; j++)
                    c[i * n + j] = a[j * n + i];""",
        "written by columns": """#pragma omp for
            for (long i = 0; i < n; i++)
                for (long j = 0; j < n; j++)
                    c[j * n + i] = a[i * n + j];""",
        "in tiles": """#pragma omp for
            for (long ii = 0; ii < n; ii += 8)
                for (long jj = 0; jj < n; jj += 8)
                    for (long i = ii; i < ii + 8; i++)
                        for (long j = jj; j < jj + 8; j++)
                            c[i * n + j] = a[j * n + i];"""}),
    "mean of four neighbours": ((700, 1800), {
        "along rows": """#pragma omp for
            for (long i = 1; i < n - 1; i++)
                for (long j = 1; j < n - 1; j++)
                    c[i * n + j] = 0.25 * (a[i * n + j - 1] + a[i * n + j + 1] + a[(i - 1) * n + j] + a[(i + 1) * n + j]);""",
        "along columns": """#pragma omp for
            for (long j = 1; j < n - 1; j++)
                for (long i = 1; i < n - 1; i++)
                    c[i * n + j] = 0.25 * (a[i * n + j - 1] + a[i * n + j + 1] + a[(i - 1) * n + j] + a[(i + 1) * n + j]);""",
        "in two sweeps": """{
#pragma omp for
            for (long i = 1; i < n - 1; i++)
                for (long j = 1; j < n - 1; j++)
                    c[i * n + j] = 0.25 * (a[i * n + j - 1] + a[i * n + j + 1]);
#pragma omp for
            for (long i = 1; i < n - 1; i++)
                for (long j = 1; j < n - 1; j++)
                    c[i * n + j] += 0.25 * (a[(i - 1) * n + j] + a[(i + 1) * n + j]);
            }"""}),
    "sum of two vectors": ((900, 2000), {
        "in one loop": """#pragma omp for
            for (long i = 0; i < n * n; i++)
                c[i] = 2.0 * a[i] + 3.0 * b[i];""",
        "in two loops": """{
#pragma omp for
            for (long i = 0; i < n * n; i++)
                c[i] = 2.0 * a[i];
#pragma omp for
            for (long i = 0; i < n * n; i++)
                c[i] += 3.0 * b[i];
            }""",
        "by blocks": """#pragma omp for
            for (long block = 0; block < n; block++) {
                for (long i = block * n; i < (block + 1) * n; i++)
                    c[i] = 2.0 * a[i];
                for (long i = block * n; i < (block + 1) * n; i++)
                    c[i] += 3.0 * b[i];
            }"""}),
}
# Each thread has its part; what the parts before it sum up to comes between.
PREFIX = """{
            long me = omp_get_thread_num(), all = omp_get_num_threads(), from = n * n * me / all, to = n * n * (me + 1) / all;
            double sum = 0;
%s
            part[8 * me + 8] = sum;
#pragma omp barrier
            sum = 0;
            for (long t = 1; t <= me; t++)
                sum += part[8 * t];
%s
            }"""
# Written after the sets of caches and the reach of addresses were in the model, and run once with it. Each has what its programs need besides a, b and c.
NEW = {
    "seven-point stencil": ((72, 150), {
        "by planes": """#pragma omp for
            for (long k = 1; k < n - 1; k++)
                for (long j = 1; j < n - 1; j++)
                    for (long i = 1; i < n - 1; i++)
                        v[(k * n + j) * n + i] = u[(k * n + j) * n + i] + 0.1 * (u[(k * n + j) * n + i - 1] + u[(k * n + j) * n + i + 1] + u[(k * n + j - 1) * n + i] +
                            u[(k * n + j + 1) * n + i] + u[((k - 1) * n + j) * n + i] + u[((k + 1) * n + j) * n + i]);""",
        "by blocks": """#pragma omp for
            for (long jj = 1; jj < n - 1; jj += 8)
                for (long k = 1; k < n - 1; k++)
                    for (long j = jj; j < (jj + 8 < n - 1 ? jj + 8 : n - 1); j++)
                        for (long i = 1; i < n - 1; i++)
                            v[(k * n + j) * n + i] = u[(k * n + j) * n + i] + 0.1 * (u[(k * n + j) * n + i - 1] + u[(k * n + j) * n + i + 1] + u[(k * n + j - 1) * n + i] +
                                u[(k * n + j + 1) * n + i] + u[((k - 1) * n + j) * n + i] + u[((k + 1) * n + j) * n + i]);""",
        "across planes": """#pragma omp for
            for (long j = 1; j < n - 1; j++)
                for (long i = 1; i < n - 1; i++)
                    for (long k = 1; k < n - 1; k++)
                        v[(k * n + j) * n + i] = u[(k * n + j) * n + i] + 0.1 * (u[(k * n + j) * n + i - 1] + u[(k * n + j) * n + i + 1] + u[(k * n + j - 1) * n + i] +
                            u[(k * n + j + 1) * n + i] + u[((k - 1) * n + j) * n + i] + u[((k + 1) * n + j) * n + i]);"""},
        "double *restrict u = array(n * n * n), *restrict v = array(n * n * n);"),
    "sparse matrix times vector": ((150, 450), {
        "compressed rows": """#pragma omp for
            for (long row = 0; row < rows; row++) {
                double sum = 0;
                for (long k = first[row]; k < first[row + 1]; k++)
                    sum += value[k] * a[column[k]];
                c[row] = sum;
            }""",
        "padded rows": """#pragma omp for
            for (long row = 0; row < rows; row++) {
                double sum = 0;
                for (long k = 0; k < 12; k++)
                    sum += padded[row * 12 + k] * a[place[row * 12 + k]];
                c[row] = sum;
            }""",
        "padded columns": """{
#pragma omp for
            for (long row = 0; row < rows; row++)
                c[row] = 0;
            for (long k = 0; k < 12; k++)
#pragma omp for
                for (long row = 0; row < rows; row++)
                    c[row] += turned[k * rows + row] * a[across[k * rows + row]];
            }"""}, """long rows = n * n, *first = malloc((size_t)(rows + 1) * sizeof *first), entries = 0;
    int *column = malloc((size_t)rows * 12 * sizeof *column), *place = malloc((size_t)rows * 12 * sizeof *place), *across = malloc((size_t)rows * 12 * sizeof *across);
    double *restrict value = array(rows * 12), *restrict padded = array(rows * 12), *restrict turned = array(rows * 12);
    unsigned long state = 1;
    for (long row = 0; row < rows; row++) {
        first[row] = entries;
        for (long k = 0; k < 12; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            long there = (row + (long)(state >> 40) % (4 * n) - 2 * n + rows) % rows;
            bool used = k < 4 + row % 9;
            place[row * 12 + k] = across[k * rows + row] = (int)there;
            padded[row * 12 + k] = turned[k * rows + row] = used;
            if (used) {
                value[entries] = 1;
                column[entries++] = (int)there;
            }
        }
    }
    first[rows] = entries;"""),
    "histogram": ((300, 1000), {
        "private copies": """{
            long own[512] = {0};
#pragma omp for
            for (long i = 0; i < n * n; i++)
                own[key[i]]++;
#pragma omp critical
            for (long i = 0; i < 512; i++)
                bins[i] += own[i];
            }""",
        "atomic": """#pragma omp for
            for (long i = 0; i < n * n; i++)
#pragma omp atomic
                bins[key[i]]++;""",
        "two private copies": """{
            long even[512] = {0}, odd[512] = {0};
#pragma omp for
            for (long i = 0; i < n * n / 2; i++) {
                even[key[2 * i]]++;
                odd[key[2 * i + 1]]++;
            }
#pragma omp critical
            for (long i = 0; i < 512; i++)
                bins[i] += even[i] + odd[i];
            }"""}, """static long bins[512];
    int *key = malloc((size_t)(n * n) * sizeof *key);
    unsigned long state = 1;
    for (long i = 0; i < n * n; i++)
        key[i] = (int)((state = state * 6364136223846793005u + 1442695040888963407u) >> 55);"""),
    "prefix sum": ((400, 1500), {
        "one thread": """{
#pragma omp single
            {
                double sum = 0;
                for (long i = 0; i < n * n; i++)
                    c[i] = sum += a[i];
            }
            }""",
        "sums first": PREFIX % ("""            for (long i = from; i < to; i++)
                sum += a[i];""", """            for (long i = from; i < to; i++)
                c[i] = sum += a[i];"""),
        "offsets later": PREFIX % ("""            for (long i = from; i < to; i++)
                c[i] = sum += a[i];""", """            if (me)
                for (long i = from; i < to; i++)
                    c[i] += sum;""")}, "static double part[8 * 65];"),
    "convolution": ((256, 1100), {
        "window": """#pragma omp for
            for (long i = 2; i < n - 2; i++)
                for (long j = 2; j < n - 2; j++) {
                    double sum = 0;
                    for (long y = -2; y <= 2; y++)
                        for (long x = -2; x <= 2; x++)
                            sum += weight[y + 2] * weight[x + 2] * a[(i + y) * n + j + x];
                    c[i * n + j] = sum;
                }""",
        "rows, then columns": """{
#pragma omp for
            for (long i = 0; i < n; i++)
                for (long j = 2; j < n - 2; j++)
                    b[i * n + j] = weight[0] * (a[i * n + j - 2] + a[i * n + j + 2]) + weight[1] * (a[i * n + j - 1] + a[i * n + j + 1]) + weight[2] * a[i * n + j];
#pragma omp for
            for (long i = 2; i < n - 2; i++)
                for (long j = 2; j < n - 2; j++)
                    c[i * n + j] = weight[0] * (b[(i - 2) * n + j] + b[(i + 2) * n + j]) + weight[1] * (b[(i - 1) * n + j] + b[(i + 1) * n + j]) + weight[2] * b[i * n + j];
            }""",
        "weight by weight": """{
#pragma omp for
            for (long i = 0; i < n * n; i++)
                c[i] = 0;
            for (long y = -2; y <= 2; y++)
                for (long x = -2; x <= 2; x++)
#pragma omp for
                    for (long i = 2; i < n - 2; i++)
                        for (long j = 2; j < n - 2; j++)
                            c[i * n + j] += weight[y + 2] * weight[x + 2] * a[(i + y) * n + j + x];
            }"""}, "static const double weight[5] = {0.05, 0.25, 0.4, 0.25, 0.05};"),
}

# What the blind problems' programs need: numbers from 0 to 2047 in no order; a permutation and its inverse.
DRAWS = """int *draw = malloc((size_t)(n * n) * sizeof *draw);
    unsigned long state = 1;
    for (long i = 0; i < n * n; i++)
        draw[i] = (int)((state = state * 6364136223846793005u + 1442695040888963407u) >> 53);"""
SHUFFLE = """int *from = malloc((size_t)(n * n) * sizeof *from), *to = malloc((size_t)(n * n) * sizeof *to);
    unsigned long state = 1;
    for (long i = 0; i < n * n; i++)
        from[i] = (int)i;
    for (long i = n * n - 1; i > 0; i--) {
        long other = (long)((state = state * 6364136223846793005u + 1442695040888963407u) >> 33) % (i + 1);
        int here = from[i];
        from[i] = from[other];
        from[other] = here;
    }
    for (long i = 0; i < n * n; i++)
        to[from[i]] = (int)i;"""
TRIANGLE = """#pragma omp for%s
            for (long i = 0; i < n; i++) {
                double sum = 0;
                for (long j = 0; j <= i; j++)
                    sum += a[i * n + j] * b[j];
                c[i] = sum;
            }"""
# Written after branches were told by what they cost, and run once with the model as it was then.
BLIND = {
    "norms of columns": ((900,), {
        "a column at a time": """#pragma omp for
            for (long j = 0; j < n; j++) {
                double sum = 0;
                for (long i = 0; i < n; i++)
                    sum += a[i * n + j] * a[i * n + j];
                c[j] = sqrt(sum);
            }""",
        "all columns at once": """{
                long from = n * omp_get_thread_num() / omp_get_num_threads(), to = n * (omp_get_thread_num() + 1) / omp_get_num_threads();
                for (long j = from; j < to; j++)
                    c[j] = 0;
                for (long i = 0; i < n; i++)
                    for (long j = from; j < to; j++)
                        c[j] += a[i * n + j] * a[i * n + j];
                for (long j = from; j < to; j++)
                    c[j] = sqrt(c[j]);
            }"""}),
    "polynomial": ((500,), {
        "Horner": """#pragma omp for
            for (long i = 0; i < n * n; i++) {
                double sum = 0.1;
                for (long k = 0; k < 12; k++)
                    sum = sum * a[i] + 0.01 * (double)k;
                c[i] = sum;
            }""",
        "powers": """#pragma omp for
            for (long i = 0; i < n * n; i++) {
                double sum = 0.11, power = 1;
                for (long k = 11; k >= 0; k--) {
                    sum += 0.01 * (double)k * power;
                    power *= a[i];
                }
                c[i] = sum + 0.1 * power;
            }"""}),
    "one field of four": ((700,), {
        "structures": """#pragma omp for reduction(+ : total)
            for (long i = 0; i < n * n / 4; i++)
                total += a[4 * i];""",
        "an array each": """#pragma omp for reduction(+ : total)
            for (long i = 0; i < n * n / 4; i++)
                total += a[i];"""}),
    "rows over their sums": ((800,), {
        "divided": """#pragma omp for
            for (long i = 0; i < n; i++) {
                double sum = 1;
                for (long j = 0; j < n; j++)
                    sum += a[i * n + j];
                for (long j = 0; j < n; j++)
                    c[i * n + j] = a[i * n + j] / sum;
            }""",
        "times the inverse": """#pragma omp for
            for (long i = 0; i < n; i++) {
                double sum = 1;
                for (long j = 0; j < n; j++)
                    sum += a[i * n + j];
                double inverse = 1 / sum;
                for (long j = 0; j < n; j++)
                    c[i * n + j] = a[i * n + j] * inverse;
            }"""}),
    "permutation": ((700,), {
        "gathered": """#pragma omp for
            for (long i = 0; i < n * n; i++)
                c[i] = a[from[i]];""",
        "scattered": """#pragma omp for
            for (long i = 0; i < n * n; i++)
                c[to[i]] = a[i];"""}, SHUFFLE),
    "triangular matrix times vector": ((1200,), {
        "static": TRIANGLE % "", "static, one row": TRIANGLE % " schedule(static, 1)", "dynamic": TRIANGLE % " schedule(dynamic, 16)"}),
    "look-up": ((300,), {
        "halving": """#pragma omp for
            for (long i = 0; i < n * n; i++) {
                long low = 0, high = 64;
                while (high - low > 1) {
                    long middle = (low + high) / 2;
                    if (table[middle] <= draw[i])
                        low = middle;
                    else
                        high = middle;
                }
                c[i] = (double)low;
            }""",
        "one after another": """#pragma omp for
            for (long i = 0; i < n * n; i++) {
                long low = 0;
                while (low < 63 && table[low + 1] <= draw[i])
                    low++;
                c[i] = (double)low;
            }""",
        "counted": """#pragma omp for
            for (long i = 0; i < n * n; i++) {
                long low = -1;
                for (long k = 0; k < 64; k++)
                    low += table[k] <= draw[i];
                c[i] = (double)low;
            }"""}, DRAWS + """
    static int table[64];
    for (int k = 0; k < 64; k++)
        table[k] = k * 32;"""),
    "exponentials of sums": ((400,), {
        "each": """#pragma omp for
            for (long i = 0; i < n; i++)
                for (long j = 0; j < n; j++)
                    c[i * n + j] = exp(0.1 * a[i] + 0.1 * b[j]);""",
        "of the row once": """#pragma omp for
            for (long i = 0; i < n; i++) {
                double row = exp(0.1 * a[i]);
                for (long j = 0; j < n; j++)
                    c[i * n + j] = row * exp(0.1 * b[j]);
            }"""}),
    "clipped sum": ((700,), {
        "with a branch": """#pragma omp for reduction(+ : total)
            for (long i = 0; i < n * n; i++)
                if (draw[i] > 700)
                    total += sqrt((double)draw[i]);""",
        "by a list": """{
            long count = 0, from = n * n * omp_get_thread_num() / omp_get_num_threads(), to = n * n * (omp_get_thread_num() + 1) / omp_get_num_threads();
            double sum = 0;
            for (long i = from; i < to; i++) {
                list[from + count] = draw[i];
                count += draw[i] > 700;
            }
            for (long i = from; i < from + count; i++)
                sum += sqrt((double)list[i]);
#pragma omp critical
            total += sum;
            }"""}, DRAWS + """
    int *list = malloc(((size_t)(n * n) + 1) * sizeof *list);"""),
    "rows of a matrix, smoothed": ((500,), {
        "rows in parallel": """#pragma omp for
            for (long i = 0; i < n; i++)
                for (long j = 1; j < n - 1; j++)
                    c[i * n + j] = 0.5 * a[i * n + j] + 0.25 * (a[i * n + j - 1] + a[i * n + j + 1]);""",
        "each row in parallel": """for (long i = 0; i < n; i++)
#pragma omp for
                for (long j = 1; j < n - 1; j++)
                    c[i * n + j] = 0.5 * a[i * n + j] + 0.25 * (a[i * n + j - 1] + a[i * n + j + 1]);"""}),
    "least and most": ((900,), {
        "in one pass": """#pragma omp for reduction(min : low) reduction(max : high)
            for (long i = 0; i < n * n; i++) {
                low = a[i] < low ? a[i] : low;
                high = a[i] > high ? a[i] : high;
            }""",
        "in two passes": """{
#pragma omp for reduction(min : low)
            for (long i = 0; i < n * n; i++)
                low = a[i] < low ? a[i] : low;
#pragma omp for reduction(max : high)
            for (long i = 0; i < n * n; i++)
                high = a[i] > high ? a[i] : high;
            }"""}, "double low = 1e9, high = -1e9;"),
    "sums along the slowest axis": ((96,), {
        "plane by plane": """{
            long from = n * n * omp_get_thread_num() / omp_get_num_threads(), to = n * n * (omp_get_thread_num() + 1) / omp_get_num_threads();
            for (long i = from; i < to; i++)
                c[i] = 0;
            for (long k = 0; k < n; k++)
                for (long i = from; i < to; i++)
                    c[i] += u[k * n * n + i];
            }""",
        "point by point": """#pragma omp for
            for (long i = 0; i < n * n; i++) {
                double sum = 0;
                for (long k = 0; k < n; k++)
                    sum += u[k * n * n + i];
                c[i] = sum;
            }"""}, "double *restrict u = array(n * n * n);"),
    "bits set": ((500,), {
        "lowest cleared": """#pragma omp for
            for (long i = 0; i < n * n; i++) {
                long count = 0;
                for (int bits = draw[i]; bits; bits &= bits - 1)
                    count++;
                c[i] = (double)count;
            }""",
        "by a table": """#pragma omp for
            for (long i = 0; i < n * n; i++)
                c[i] = (double)(known[draw[i] & 63] + known[draw[i] >> 6]);"""}, DRAWS + """
    static char known[64];
    for (int k = 0; k < 64; k++)
        known[k] = (char)__builtin_popcount((unsigned)k);"""),
}
