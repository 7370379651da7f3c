#include "base/library.h"

#include <dlfcn.h>

#include "absl/strings/str_format.h"

namespace podgpu {

StatusOr<void*> SystemLibraryLoader::Open(const std::string& name) {
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason =
        ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps the text per thread.
    return absl::NotFoundError(
        absl::StrFormat("%s", reason == nullptr ? "the dynamic linker gave no reason" : reason));
  }
  return library;
}

void* SystemLibraryLoader::Symbol(void* library, const char* symbol) {
  return ::dlsym(library, symbol);
}

}  // namespace podgpu
