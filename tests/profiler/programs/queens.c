/* N-queens: untied tasks with a copy of the board each. */
#include <stdio.h>

enum { SIZE = 7 };
struct board { int row[SIZE]; };

static int safe(const struct board *board, int column, int row)
{
    for (int i = 0; i < column; i++)
        if (board->row[i] == row || board->row[i] - row == column - i || row - board->row[i] == column - i)
            return 0;
    return 1;
}

static void place(struct board board, int column, int *count)
{
    if (column == SIZE) {
        #pragma omp atomic
        ++*count;
        return;
    }
    for (int row = 0; row < SIZE; row++)
        if (safe(&board, column, row)) {
            #pragma omp task untied firstprivate(board, row, column)
            {
                struct board next = board;
                next.row[column] = row;
                place(next, column + 1, count);
            }
        }
    #pragma omp taskwait
}

int main(void)
{
    int count = 0;
    #pragma omp parallel
    #pragma omp single
    place((struct board){{0}}, 0, &count);
    printf("%d\n", count);
    return count != 40;
}
