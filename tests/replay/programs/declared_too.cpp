/* Another Grid, of another namespace; and, as C allows, another Other. */
namespace model {
struct Grid {
    double values[30];
};
Grid one;
}
struct Other {
    double values[9];
};
static Other own;
double too()
{
    for (int i = 0; i < 9; i++)
        own.values[i] = model::one.values[i] = i;
    double sum = 0;
    for (double value : own.values)
        sum += value;
    return sum;
}
