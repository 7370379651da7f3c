#include "tests/matrix/live_heap.h"

#include <atomic>
#include <cstdlib>
#include <malloc.h>
#include <new>

#if defined(PODGPU_ADDRESS_SANITIZER) || defined(PODGPU_THREAD_SANITIZER)

namespace podgpu {

bool LiveHeapIsCounted() { return false; }
int64_t LiveHeapBytes() { return 0; }

}  // namespace podgpu

#else

namespace {

// The operators have no object that could hold it.
std::atomic<int64_t> live_bytes = 0;

void* Counted(void* bytes) {
  if (bytes == nullptr) {
    throw std::bad_alloc();
  }
  live_bytes.fetch_add(static_cast<int64_t>(malloc_usable_size(bytes)), std::memory_order_relaxed);
  return bytes;
}

void Release(void* bytes) noexcept {
  if (bytes != nullptr) {
    live_bytes.fetch_sub(static_cast<int64_t>(malloc_usable_size(bytes)),
                         std::memory_order_relaxed);
    std::free(bytes);
  }
}

size_t Aligned(size_t size, std::align_val_t alignment) {
  const auto step = static_cast<size_t>(alignment);
  return (size + step - 1) / step * step;
}

}  // namespace

void* operator new(size_t size) { return Counted(std::malloc(size)); }
void* operator new(size_t size, std::align_val_t alignment) {
  return Counted(std::aligned_alloc(static_cast<size_t>(alignment), Aligned(size, alignment)));
}
void operator delete(void* bytes) noexcept { Release(bytes); }
void operator delete(void* bytes, size_t /*size*/) noexcept { Release(bytes); }
void operator delete(void* bytes, std::align_val_t /*alignment*/) noexcept { Release(bytes); }
void operator delete(void* bytes, size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  Release(bytes);
}

namespace podgpu {

bool LiveHeapIsCounted() { return true; }
int64_t LiveHeapBytes() { return live_bytes.load(std::memory_order_relaxed); }

}  // namespace podgpu

#endif
