#include "base/testing/allocations.h"

#include <cstdlib>
#include <new>

namespace {

thread_local podgpu::Allocations taken;

void* Take(size_t bytes, size_t alignment) {
  ++taken.count;
  taken.bytes += bytes;
  // aligned_alloc requires a multiple of the alignment.
  void* memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(bytes)
          : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) {
    std::abort();
  }
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return Take(bytes, 1); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return Take(bytes, 1); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return Take(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace podgpu {

Allocations AllocationsOfThisThread() { return taken; }

}  // namespace podgpu
