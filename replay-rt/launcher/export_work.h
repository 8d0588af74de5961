/* replay-rt/launcher/export_work.h - what the parts of an export hand to each other: the opened codelet, its units, what it lacks. */
#ifndef PCERE_REPLAY_LAUNCHER_EXPORT_WORK_H
#define PCERE_REPLAY_LAUNCHER_EXPORT_WORK_H

#include "core/text.h"
#include "replay-rt/launcher/codelet_memory.h"
#include "replay-rt/launcher/export.h"
#include "replay-rt/launcher/replay_session.h"

struct names { char **items; size_t count, capacity; };     /* sorted once they are complete; each is malloc'ed */

bool names_add(struct names *names, const char *name, size_t length);     /* false: no memory */
void names_sort(struct names *names);
const char *names_find(const struct names *names, const char *name);     /* of a sorted list; NULL: it has none */
bool names_have(const struct names *names, const char *name);
void names_done(struct names *names);

struct export_object {                /* what the codelet's build made of a unit */
    const struct elf_unit *unit;      /* borrowed */
    struct names defined, undefined;  /* symbols that other objects see */
};

struct export_use { const char *user, *used; bool followed; };      /* a function, and a function or variable that it refers to */

struct export_chosen {                /* a unit that is exported */
    const struct export_object *object;
    char suffix[16];                  /* behind its internal names, without the dot: "u1" */
    char file[24];                    /* "region.ll" */
    struct names variables;           /* that its text defines, with suffixes */
    struct names taken;               /* functions whose addresses it takes */
    struct export_use *uses;          /* by user */
    size_t use_count;
    char *uses_text;                  /* holds their names */
};

enum export_other_kind {
    EXPORT_NO_BITCODE,                /* of an object without bitcode */
    EXPORT_MISSING,                   /* the original does not have it */
    EXPORT_UNREACHED,                 /* of a unit that is not exported, since the region does not use it */
};
struct export_other { char *name; uint64_t address; enum export_other_kind kind; };     /* what no exported unit and no library defines */

struct export_link {                  /* a name that another image of the program has, or the region's own has without a unit */
    char *name;
    size_t image;
    uint64_t address;                 /* captured; thread-local: offset in the image's block */
    uint16_t kind;                    /* enum pcere_symbol_kind */
    bool reached;                     /* the region uses it */
};

struct export_work {
    struct replay_session session;
    const struct replay_target *target;
    const struct replay_options *options;
    struct store_codelet codelet;
    size_t image;                     /* in which the region lies, in session.images: */
    const struct loaded_image *home;
    struct codelet_memory memory;
    struct plan_file plan;            /* tables of addresses; the result is not used */
    uint64_t base;
    struct export_object *objects;    size_t object_count;
    struct export_chosen *chosen;     size_t chosen_count;
    struct export_other *others;      size_t other_count, other_capacity;
    struct export_link *links;        size_t link_count, link_capacity;
    struct names reached;             /* functions, and variables of other units, that the region uses; sorted at the end */
    uint32_t compiler_major;          /* version of LLVM that wrote the units' texts, and reads them */
    uint64_t arguments;               /* of the region's function: fewer than the codelet's words where a condition is one of them */
    char *microtask;                  /* symbol of the region's function */
    int folder;                       /* descriptor of the directory that is being written */
    const char *folder_path;
    uint64_t page_count, mapping_count, skip_count;     /* lines and pages of memory.txt */
    uint64_t content_count;
    struct export_report report;
};

#define EXPORT_FAULT "export.write"
#define EXPORT_TABLE(work, name, type) ((const type *)((const char *)(work)->plan.plan + (work)->plan.plan->name.offset))

/* Remember a sentence for README and report. */
enum pcere_status export_limit(struct export_work *work, struct pcere_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Write one file of the directory from a text, which is then empty. */
enum pcere_status export_text(const struct export_work *work, const char *name, struct text *text, struct pcere_error *error);

/* The name that a symbol of the original has in the exported text. */
void export_name(const struct export_chosen *chosen, const struct elf_symbol *symbol, struct text *out);
/* Is it of an exported unit? NULL: no. */
const struct export_chosen *export_chosen_unit(const struct export_work *work, uint64_t unit_id);
bool export_name_is_writable(const char *name);

/* export_functions.c: functions.sed, and two tables of addresses.s: addresses of functions that code takes, and captured ones that lead to exported code. */
enum pcere_status export_functions_write(const struct export_work *work, struct text *addresses, struct pcere_error *error);

/* export_copies.c: threads' copies of threadprivate variables that are no thread-local ones: tables of region.h, what they begin with in addresses.s. */
void export_copies_write(const struct export_work *work, struct text *out);
void export_copies_values_write(const struct export_work *work, struct text *out);
/* Are blocks that the region allocates the C library's? Those that it leaves behind can be given back before the next run. */
bool export_reclaims(const struct export_work *work);
/* export_units.c: which units the region's code needs; their texts; the region's function. */
enum pcere_status export_units_write(struct export_work *work, struct pcere_error *error);
/* export_images.c: what the region uses of other images, once its units are known. */
enum pcere_status export_images_resolve(struct export_work *work, struct pcere_error *error);
/* Was it mapped when the region began? Then its code and data are captured memory. */
bool export_image_is_there(const struct export_work *work, size_t image);
/* Is a library of the store such an image? */
bool export_library_is_memory(const struct export_work *work, const char *name);
/* Is it linked: does the region use a name of it, or is one of its thread-local variables there? Not the image of the region. */
bool export_image_is_linked(const struct export_work *work, size_t image);
/* Its assembly files. */
enum pcere_status export_images_write(struct export_work *work, struct pcere_error *error);
/* The executable's thread-local variables: those of the region's image and of the program, where their code expects them. */
void export_thread_blocks_write(const struct export_work *work, struct text *out);
/* Thread-local blocks of all images: tables of region.h. */
void export_thread_tables_write(const struct export_work *work, struct text *out);
/* export_memory.c: memory.txt and memory.bin. */
enum pcere_status export_memory_write(struct export_work *work, struct pcere_error *error);
/* export_code.c: addresses.s and region.h, after all above. */
enum pcere_status export_code_write(struct export_work *work, struct pcere_error *error);
/* export_state.c: state.h. */
enum pcere_status export_state_write(struct export_work *work, struct pcere_error *error);
/* export_guide.c: Makefile and README.md, last. */
enum pcere_status export_guide_write(struct export_work *work, struct pcere_error *error);

#endif
