/* core/elf_file.h - an ELF executable as PCERE needs it: its bitcode units, address tables, symbols, TLS, needed libraries.
 *
 * The file is hostile: every offset is checked; damage gives PCERE_DATA. 64-bit x86 only. All is read when the file is opened, so
 * that it may change or vanish afterwards; what is handed out is borrowed from the handle.
 */
#ifndef PCERE_CORE_ELF_FILE_H
#define PCERE_CORE_ELF_FILE_H

#include "core/error.h"
#include "include/pcere/rt_abi.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_unit {                       /* one translation unit of .pcere.bc; borrowed from the file's mapping */
    struct pcere_unit_header header;
    const char *flags;                  /* header.flags_bytes bytes, each argument NUL-terminated */
    const char *source;
    const void *bitcode;                /* stored_bytes, coded */
};

struct elf_symbol {                     /* one entry of .pcere.sym, or of .symtab/.dynsym */
    const char *name;                   /* borrowed; without a symbol version ("stdout", not "stdout@GLIBC_2.2.5") */
    uint64_t address;                   /* link-time; TLS: offset in the block */
    uint64_t size;
    uint64_t unit_id;                   /* 0 if from .symtab/.dynsym */
    uint16_t kind;                      /* enum pcere_symbol_kind */
    bool local;
    bool indirect;                      /* STT_GNU_IFUNC: `address` is a function that tells the address */
    bool copy;                          /* target of a copy relocation (stdout in a non-PIE program) */
};

#define ELF_FRAMES_OBJECT "object.0"    /* of GCC's start files in a static program: what the unwinder makes of its tables */

struct elf_construct {                  /* one entry of .pcere.con; strings borrowed from the file's mapping */
    struct pcere_construct_entry entry;
    uint64_t unit_id;
    const char *function, *file;        /* as in struct pcere_site */
    const char *region;                 /* name of the parallel region that it is or lies in; "" where that is known only at run time */
};

struct elf_file;

/* PCERE_USAGE: there is no such regular file. PCERE_DATA: it is not an executable or shared object of this kind, or is damaged. */
enum pcere_status elf_file_open(const char *path, struct elf_file **ret_file, struct pcere_error *error);
void elf_file_close(struct elf_file *file);                       /* accepts NULL */

const char *elf_file_path(const struct elf_file *file);           /* as it was opened by */
bool elf_file_is_pie(const struct elf_file *file);                /* ET_DYN */
bool elf_file_is_static(const struct elf_file *file);             /* no PT_INTERP */
void elf_file_span(const struct elf_file *file, uint64_t *ret_low, uint64_t *ret_high);   /* of all PT_LOAD, link-time, page-aligned */
/* What code of the small model reaches by 32-bit distances: as above, without the sections for large data (-mcmodel=medium). */
void elf_file_near_span(const struct elf_file *file, uint64_t *ret_low, uint64_t *ret_high);
uint64_t elf_file_tls_bytes(const struct elf_file *file);         /* p_memsz of PT_TLS, 0 without */
uint64_t elf_file_tls_data_bytes(const struct elf_file *file);    /* p_filesz: what begins with a value other than zero */
uint64_t elf_file_tls_offset(const struct elf_file *file);        /* thread pointer minus block start (x86-64, variant II) */
const char *elf_file_build_id(const struct elf_file *file);       /* hex or NULL */
const char *elf_file_soname(const struct elf_file *file);         /* what others call this library: DT_SONAME, or NULL */
size_t elf_file_needed(const struct elf_file *file, const char *const **ret_names);       /* DT_NEEDED */
/* Does it want a symbol from another object whose name begins so? */
bool elf_file_imports(const struct elf_file *file, const char *prefix);
uint64_t elf_file_data_end(const struct elf_file *file);          /* link-time: where what the file holds of writable memory ends; behind it lies .bss */
struct elf_range { uint64_t address, bytes; };                    /* link-time */
/* What only linkers have use for: headers, where code ends, tables for unwinding, the head of the
 * table of functions, and sections of symbols, names, hashes and relocations. At most `most` are told; returns how many. */
size_t elf_file_linkage(const struct elf_file *file, struct elf_range *ret_ranges, size_t most);

struct elf_pointer { uint64_t address, value; };                  /* link-time; value 0: not told by this file */
/* Words that the dynamic linker fills, ascending: with addresses in the file itself (functions that it defines, whatever has no name), or with what others decide. *ret_pointers is malloc'ed. False: no
 * memory, or there are relocations of a kind that is not read. */
bool elf_file_pointers(const struct elf_file *file, struct elf_pointer **ret_pointers, size_t *ret_count);
struct elf_range elf_file_code(const struct elf_file *file);      /* from the first segment that is executed to the end of the last */
/* The link-time address of a name that linkers define where it is used: __start_SECTION, __stop_SECTION, etext, edata, end and __executable_start, by the headers, which
 * stripped files have as well. False: it is none. */
bool elf_file_boundary(const struct elf_file *file, const char *name, uint64_t *ret_address);

size_t elf_file_units(const struct elf_file *file, const struct elf_unit **ret_units);    /* 0: not built with the plugin */
/* So many units more were compiled with other versions of the plugin, one of them with *ret_version: nothing of them is known. */
size_t elf_file_other_units(const struct elf_file *file, uint32_t *ret_version);
/* That all of them were: PCERE_DATA, with a hint. */
enum pcere_status elf_fail_other_version(const struct elf_file *file, struct pcere_error *error);
size_t elf_file_tables(const struct elf_file *file, const struct elf_symbol **ret_symbols);   /* all entries of .pcere.sym, or .debug_pcere,
                                                                      whose symbol the linker kept */
size_t elf_file_symbols(const struct elf_file *file, const struct elf_symbol **ret_symbols);  /* global and weak defined symbols of
                                                                      .symtab (else .dynsym), and thread-local ones, .gomp_critical_user_*, *.llvm.* and ELF_FRAMES_OBJECT of any binding;
                                                                      in the file's order */
const struct elf_symbol *elf_file_symbol(const struct elf_file *file, const char *name);      /* the first of these by that name, or NULL */
/* Constructs in the order of the units. Several units may bring one id: inline functions, and templates. */
size_t elf_file_constructs(const struct elf_file *file, const struct elf_construct **ret_constructs);
/* The construct with this id, or NULL. */
const struct elf_construct *elf_file_construct(const struct elf_file *file, uint64_t id);
const char *elf_construct_kind(const struct elf_construct *construct);                    /* "parallel", "for", ...; static */
/* Decode a unit's bitcode (zstd or raw): malloc'ed, header.raw_bytes long. PCERE_DATA: it does not decode to that. */
enum pcere_status elf_unit_bitcode(const struct elf_unit *unit, void **ret_bitcode, size_t *ret_bytes, struct pcere_error *error);

#endif
