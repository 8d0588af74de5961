/* cli/output.c - how numbers, messages and progress look to people.
 *
 * It knows stdout from stderr, terminals from files, and three significant digits from noise.
 */
#include "cli/cli.h"
#include "core/units.h"
#include "store/store.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

static void progress_clear(struct cli *cli)
{
    if (cli->progress_shown)
        fputs("\r\033[K", stderr);
    cli->progress_shown = false;
}

void cli_error_print(const struct cli *cli, const struct pcere_error *error)
{
    fflush(stdout);             /* both may go to one file, in this order */
    if (cli->progress_shown)
        fputs("\r\033[K", stderr);
    if (cli->verb)
        fprintf(stderr, "pcere %s: %s\n", cli->verb->name, error->message);
    else
        fprintf(stderr, "pcere: %s\n", error->message);
    if (error->hint[0])
        fprintf(stderr, "hint: %s\n", error->hint);
}

/* What a report says of each of its predictions is said once. */
static bool is_told(const char *note)
{
    static uint64_t told[64];
    static size_t count;
    uint64_t hash = XXH64(note, strlen(note), 0);
    for (size_t i = 0; i < count; i++)
        if (told[i] == hash)
            return true;
    if (count < sizeof told / sizeof *told)
        told[count++] = hash;
    return false;
}

void cli_note(struct cli *cli, const char *format, ...)
{
    if (cli->quiet)
        return;
    char *note;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&note, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    if (!is_told(note)) {
        fflush(stdout);
        progress_clear(cli);
        fprintf(stderr, "pcere %s: %s\n", cli->verb->name, note);
    }
    free(note);
}

/* One less than the terminal has: a line that reaches its edge may go on in the next one, which nothing wipes away. */
static size_t progress_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1u : 79;
}

/* Of UTF-8 text, as many bytes as take no more columns. */
static size_t bytes_within(const char *text, size_t columns)
{
    size_t bytes = 0;
    for (size_t width = 0; text[bytes]; bytes++) {
        width += ((unsigned char)text[bytes] & 0xc0) != 0x80;
        if (width > columns)
            break;
    }
    return bytes;
}

void cli_progress(struct cli *cli, const char *text)
{
    if (!text) {
        progress_clear(cli);
        return;
    }
    if (cli->quiet)
        return;
    if (cli->verbose) {
        fprintf(stderr, "pcere %s: %s\n", cli->verb->name, text);
        return;
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (!isatty(STDERR_FILENO) || now_ns - cli->started_ns < 1000000000u)
        return;
    fprintf(stderr, "\r\033[K%.*s", (int)bytes_within(text, progress_columns()), text);
    cli->progress_shown = true;
}

int cli_stdout_divert(void)
{
    fflush(stdout);
    int saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (saved >= 0)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    return saved;
}

void cli_stdout_return(int saved)
{
    if (saved < 0)
        return;
    dup2(saved, STDOUT_FILENO);
    close(saved);
}

bool cli_colour(FILE *out)
{
    const char *no = getenv("NO_COLOR");
    return !(no && no[0]) && isatty(fileno(out));
}

char *cli_interval_text(char text[static CLI_TEXT_MOST], uint64_t time_ns, uint64_t low_ns, uint64_t high_ns)
{
    static const double scales[] = {1, 1e3, 1e6, 1e9};
    char middle[UNITS_TEXT_BYTES];
    units_format_ns(time_ns, middle);
    const char *unit = strchr(middle, ' ') + 1, *point = strchr(middle, '.');
    int decimals = point ? (int)(unit - point) - 2 : 0;
    double scale = scales[unit[0] == 'n' ? 0 : unit[0] == 'u' ? 1 : unit[0] == 'm' ? 2 : 3];
    snprintf(text, CLI_TEXT_MOST, "%s [%.*f, %.*f]", middle, decimals, (double)low_ns / scale, decimals, (double)high_ns / scale);
    return text;
}

char *cli_ratio_text(char text[static CLI_TEXT_MOST], double ratio)
{
    snprintf(text, CLI_TEXT_MOST, "%.1f %%", 100 * ratio);
    return text;
}

struct cli_table {
    size_t columns, rows;
    char **cells;                   /* row after row, the headings first */
    bool failed;
};

struct cli_table *cli_table_new(size_t columns, const char *const *headings)
{
    struct cli_table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    table->columns = columns;
    cli_table_row(table, headings);
    return table;
}

void cli_table_row(struct cli_table *table, const char *const *cells)
{
    if (!table || table->failed)
        return;
    char **grown = reallocarray(table->cells, (table->rows + 1) * table->columns, sizeof *grown);
    if (!grown) {
        table->failed = true;
        return;
    }
    table->cells = grown;
    for (size_t i = 0; i < table->columns; i++)
        grown[table->rows * table->columns + i] = strdup(cells[i] ? cells[i] : "");
    table->rows++;
}

/* Columns on the screen: UTF-8 continuation bytes take none. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static const char *cell_at(const struct cli_table *table, size_t row, size_t column, bool *ret_right)
{
    const char *heading = table->cells[column];
    *ret_right = heading && heading[0] == '>';
    const char *cell = table->cells[row * table->columns + column];
    return !cell ? "" : row == 0 && (*ret_right || heading[0] == '~') ? cell + 1 : cell;
}

/* Names in columns of such are shortened, unless nothing short tells two different ones apart. */
static void names_shorten(struct cli_table *table)
{
    char text[REGION_NAME_BYTES];
    const char **names = calloc(table->rows, sizeof *names);
    for (size_t column = 0; names && column < table->columns; column++) {
        char **cells = table->cells + column;
        if (!cells[0] || cells[0][0] != '~')
            continue;
        for (size_t row = 1; row < table->rows; row++)
            names[row - 1] = cells[row * table->columns];
        char **texts = calloc(table->rows, sizeof *texts);
        for (size_t row = 1; texts && row < table->rows; row++)
            if (names[row - 1] && region_name_among(names[row - 1], names, table->rows - 1, text))
                texts[row] = strdup(text);
        for (size_t row = 1; texts && row < table->rows; row++)
            if (texts[row]) {
                free(cells[row * table->columns]);
                cells[row * table->columns] = texts[row];
            }
        free(texts);
    }
    free(names);
}

char *cli_region_name(char text[static REGION_NAME_BYTES], const struct store_manifest *manifest, const char *name)
{
    const char **names = calloc(manifest->region_count + 1, sizeof *names);
    for (size_t i = 0; names && i < manifest->region_count; i++)
        names[i] = manifest->regions[i].name;
    char *found = names ? region_name_among(name, names, manifest->region_count, text) : NULL;
    free(names);
    return found ? found : region_name_shorten(name, text);
}

void cli_table_print(struct cli_table *table, FILE *out)
{
    if (!table || table->rows < 2)
        return;
    names_shorten(table);
    size_t *widths = calloc(table->columns, sizeof *widths);
    if (!widths)
        return;
    bool right;
    for (size_t row = 0; row < table->rows; row++)
        for (size_t column = 0; column < table->columns; column++) {
            size_t width = width_of(cell_at(table, row, column, &right));
            if (width > widths[column])
                widths[column] = width;
        }
    const char *dim = cli_colour(out) ? "\033[2m" : "", *plain = cli_colour(out) ? "\033[0m" : "";
    for (size_t row = 0; row < table->rows; row++) {
        fputs(row == 0 ? dim : "", out);
        size_t owed = 0;            /* spaces that are due before the next ink: no line ends in blanks */
        for (size_t column = 0; column < table->columns; column++) {
            const char *cell = cell_at(table, row, column, &right);
            size_t pad = widths[column] - width_of(cell);
            owed += right ? pad : 0;
            if (cell[0]) {
                fprintf(out, "%*s%s", (int)owed, "", cell);
                owed = 0;
            }
            owed += (right ? 0 : pad) + 2;
        }
        fprintf(out, "%s\n", row == 0 ? plain : "");
    }
    free(widths);
}

void cli_table_free(struct cli_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->rows * table->columns; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table);
}
