// in_library_allocator.cpp - a library that is the program's allocator, as mimalloc and tcmalloc: malloc and the like, and operators new and delete that do not call it.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace {
struct Block { Block *next; std::size_t bytes, slot, mark; };
constexpr std::size_t SLOTS = 40, MARK = 0x0a110ca7, AREA_BYTES = 64u << 20;
char *area;
std::size_t used;
Block *available[SLOTS];
char busy;

void *take(std::size_t alignment, std::size_t bytes)
{
    std::size_t slot = 6, room = bytes + sizeof(Block) + (alignment > 16 ? alignment : 0);
    while ((std::size_t{1} << slot) < room)
        if (++slot == SLOTS)
            return nullptr;
    while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
        ;
    Block *block = alignment > 16 ? nullptr : available[slot];
    if (!area)
        area = static_cast<char *>(mmap(nullptr, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (block) {
        available[slot] = block->next;
    } else if ((std::size_t{1} << slot) <= AREA_BYTES - used) {
        std::uintptr_t start = reinterpret_cast<std::uintptr_t>(area) + used + sizeof *block;
        block = reinterpret_cast<Block *>((start + alignment - 1) / alignment * alignment) - 1;
        used += std::size_t{1} << slot;
    }
    if (block)
        *block = {nullptr, bytes, alignment > 16 ? 0 : slot, MARK};
    __atomic_clear(&busy, __ATOMIC_RELEASE);
    return block ? block + 1 : nullptr;
}

void give(void *start)
{
    Block *block = static_cast<Block *>(start) - 1;
    if (!start)
        return;
    if (block->mark != MARK)
        __builtin_trap();
    while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
        ;
    block->mark = 0;
    if (block->slot) {
        block->next = available[block->slot];
        available[block->slot] = block;
    }
    __atomic_clear(&busy, __ATOMIC_RELEASE);
}
}

extern "C" {
void *malloc(std::size_t bytes) { return take(16, bytes); }
void free(void *start) { give(start); }
void *aligned_alloc(std::size_t alignment, std::size_t bytes) { return take(alignment < 16 ? 16 : alignment, bytes); }
void *memalign(std::size_t alignment, std::size_t bytes) { return aligned_alloc(alignment, bytes); }
int posix_memalign(void **ret_start, std::size_t alignment, std::size_t bytes) { return (*ret_start = aligned_alloc(alignment, bytes)) ? 0 : ENOMEM; }
std::size_t malloc_usable_size(void *start) { return start ? (static_cast<Block *>(start) - 1)->bytes : 0; }
void *calloc(std::size_t count, std::size_t bytes)
{
    void *start = bytes && count > SIZE_MAX / bytes ? nullptr : take(16, count * bytes);
    return start ? std::memset(start, 0, count * bytes) : nullptr;
}
void *realloc(void *start, std::size_t bytes)
{
    std::size_t known = malloc_usable_size(start);
    void *grown = take(16, bytes);
    if (grown && start) {
        std::memcpy(grown, start, known < bytes ? known : bytes);
        give(start);
    }
    return grown;
}
}

void *operator new(std::size_t bytes) { return take(16, bytes); }
void *operator new[](std::size_t bytes) { return take(16, bytes); }
void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept { return take(16, bytes); }
void *operator new(std::size_t bytes, std::align_val_t alignment) { return take(static_cast<std::size_t>(alignment), bytes); }
void operator delete(void *start) noexcept { give(start); }
void operator delete[](void *start) noexcept { give(start); }
void operator delete(void *start, std::size_t) noexcept { give(start); }
void operator delete[](void *start, std::size_t) noexcept { give(start); }
void operator delete(void *start, std::align_val_t) noexcept { give(start); }
void operator delete(void *start, std::size_t, std::align_val_t) noexcept { give(start); }
