// in_library_new.cpp - the only operators new and delete of a program without a C++ library, in a library that was built without the plugin.
#include <cstdlib>

void *operator new(std::size_t bytes) { return std::malloc(bytes); }
void *operator new[](std::size_t bytes) { return std::malloc(bytes); }

enum class alignment_t : std::size_t {};
extern "C" void *aligned_new(std::size_t bytes, alignment_t alignment) __asm__("_ZnwmSt11align_val_t");
void *aligned_new(std::size_t bytes, alignment_t alignment) { return std::aligned_alloc(static_cast<std::size_t>(alignment), bytes); }

void operator delete(void *block) noexcept { std::free(block); }
void operator delete[](void *block) noexcept { std::free(block); }
void operator delete(void *block, std::size_t) noexcept { std::free(block); }
void operator delete[](void *block, std::size_t) noexcept { std::free(block); }
extern "C" void aligned_delete(void *block, std::size_t bytes, alignment_t alignment) __asm__("_ZdlPvmSt11align_val_t");
void aligned_delete(void *block, std::size_t, alignment_t) { std::free(block); }
