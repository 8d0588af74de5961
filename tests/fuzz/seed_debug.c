/* seed_debug.c - one of each thing that debug information tells: where fuzz_debug_info starts from. Not to be run. */
struct node { int value : 5, mark : 3; struct node *next; union { double real; float parts[2]; } number; };
enum colour { RED, GREEN };
static struct node table[3][4];
_Thread_local struct node *of_thread = &table[1][2];
const char *const words = "words";
double _Complex wave;
enum colour colour = GREEN;

void __kmpc_fork_call(void *where, int count, void (*body)(int *, int *, ...), ...);

void (*volatile forked)(int *, int *, ...);

__attribute__((noinline)) void __kmpc_fork_call(void *where, int count, void (*body)(int *, int *, ...), ...)
{
    forked = where && count ? body : 0;
}

__attribute__((noinline)) static void work(struct node **node, long count)
{
    static int calls;
    struct node *first = *node;
    #pragma omp parallel firstprivate(count)
    for (long i = 0; i < count; i++)
        first->value = calls++ & 7;
}

void _start(void);

void _start(void)
{
    struct node local[2] = {{.value = 1}}, *first = local;
    int number = 0;
    for (;;) {
        work(&first, 5);
        wave += first->number.real + (double)(unsigned char)words[colour] + of_thread->number.real;
        table[number & 1][2] = local[1];
    }
}
