// Opening shared libraries: one of the five seams to the outside world.
//
// Vendor libraries are found at run time, so one binary works on nodes with DCGM, with NVML alone,
// and with neither. Tests hand in a loader that knows no library, or one whose libraries lack
// symbols. A library is never unloaded, because its threads may outlive any handle. Any thread.
#pragma once

#include <string>

#include "base/status.h"

namespace podgpu {

class LibraryLoader {
 public:
  LibraryLoader() = default;
  LibraryLoader(const LibraryLoader&) = delete;
  LibraryLoader& operator=(const LibraryLoader&) = delete;
  virtual ~LibraryLoader() = default;

  // Opens `name`: a path, or a bare soname for the system's search. The handle stays valid until
  // the process ends. Failure: kNotFound with the dynamic linker's message.
  virtual StatusOr<void*> Open(const std::string& name) = 0;

  // Returns the address of `symbol`, or null when the library lacks it.
  virtual void* Symbol(void* library, const char* symbol) = 0;
};

// dlopen with RTLD_NOW | RTLD_LOCAL.
class SystemLibraryLoader final : public LibraryLoader {
 public:
  StatusOr<void*> Open(const std::string& name) override;
  void* Symbol(void* library, const char* symbol) override;
};

}  // namespace podgpu
