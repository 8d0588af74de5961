namespace field {
struct Cell {
    double flow[3];
    int owner;
};
struct Grid {
    int count;
    Cell *cells;
};
Grid *grid_new() { return new Grid{40, new Cell[40]{}}; }
void grid_set(Grid *grid, int cell, int owner) { grid->cells[cell].owner = owner; }
}
struct Other {
    long unused;
    int numbers[4];
};
Other *other_new() { return new Other{}; }
void other_set(Other *other, int place, int number) { other->numbers[place] = number; }
