/* passes/front.c - PCEREPass.so: the one name of the plugin, for compilers of every version of LLVM.
 *
 * A plugin works in the version of LLVM that it was built for, and crashes others. This library knows no LLVM: it asks which one
 * it has been loaded into, and hands over to pcere/PCEREPass-MAJOR.so beside it, or says which versions are there.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef __x86_64__
#error "how a structure is returned is written here for x86-64"
#endif

#define VERSIONS_MOST 32

struct plugin_info {        /* what all versions of LLVM read first; newer ones have more behind it */
    uint32_t api_version;
    const char *name, *version;
    void (*register_passes)(void *builder);
};

/* PassPluginLibraryInfo is returned in memory that the caller gives: its address is the hidden first argument, and comes back. */
typedef struct plugin_info *info_fn(struct plugin_info *ret_info);
__attribute__((visibility("default"))) struct plugin_info *llvmGetPassPluginInfo(struct plugin_info *ret_info);

typedef void version_fn(unsigned *major, unsigned *minor, unsigned *patch);

/* "libLLVM-14.so.1", "libLLVM.so.19.1" */
static int library_look(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes;
    unsigned *major = context;
    const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
    return sscanf(name, "libLLVM-%u.so", major) == 1 || sscanf(name, "libLLVM.so.%u", major) == 1;
}

static unsigned llvm_major(void)
{
    unsigned major = 0, minor, patch;
    version_fn *version = (version_fn *)(uintptr_t)dlsym(RTLD_DEFAULT, "LLVMGetVersion");
    if (version)
        version(&major, &minor, &patch);
    else if (!dl_iterate_phdr(library_look, &major))
        major = PCERE_LLVM_MAJOR;       /* linked into the compiler, and not told */
    return major;
}

static int number_order(const void *left, const void *right)
{
    const unsigned *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void versions_print(const char *folder)
{
    unsigned versions[VERSIONS_MOST];
    size_t count = 0;
    char end;
    DIR *directory = opendir(folder);
    for (const struct dirent *entry; directory && count < VERSIONS_MOST && (entry = readdir(directory));)
        if (sscanf(entry->d_name, "PCEREPass-%u.s%c", &versions[count], &end) == 2 && end == 'o')
            count++;
    if (directory)
        closedir(directory);
    qsort(versions, count, sizeof *versions, number_order);
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, "%s%u", i ? ", " : "", versions[i]);
    if (!count)
        fputs("no version at all", stderr);
}

static info_fn *plugin_find(unsigned major)
{
    Dl_info self;
    char folder[4096], path[4200];
    if (!dladdr((const void *)(uintptr_t)llvmGetPassPluginInfo, &self) || strlen(self.dli_fname) >= sizeof folder - 8)
        return NULL;
    strcpy(folder, self.dli_fname);
    char *slash = strrchr(folder, '/');
    strcpy(slash ? slash + 1 : folder, "pcere");
    snprintf(path, sizeof path, "%s/PCEREPass-%u.so", folder, major);
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    info_fn *info = plugin ? (info_fn *)(uintptr_t)dlsym(plugin, "llvmGetPassPluginInfo") : NULL;
    if (info)
        return info;
    const char *why = dlerror();
    fprintf(stderr, "PCEREPass.so: this compiler is of LLVM %u, and PCERE's plugin is here for LLVM ", major);
    versions_print(folder);
    if (!access(path, F_OK))
        fprintf(stderr, " (%s)", why ? why : "one without an entry point");
    fprintf(stderr, "\nhint: compile with clang-%d; where llvm-%u-dev is installed when PCERE is built, it has a plugin for LLVM %u, too\n",
            PCERE_LLVM_MAJOR, major, major);
    return NULL;
}

struct plugin_info *llvmGetPassPluginInfo(struct plugin_info *ret_info)
{
    info_fn *info = plugin_find(llvm_major());
    if (info)
        return info(ret_info);
    *ret_info = (struct plugin_info){.name = "PCEREPass", .version = PCERE_VERSION};    /* version 0 of the interface: refused */
    return ret_info;
}
