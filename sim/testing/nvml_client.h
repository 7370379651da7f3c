// A client of the simulated libnvidia-ml for tests: calls functions by name, as a foreign program.
//
// Opens the library as shipped (lib/ of the build folder) and calls what dlsym finds.  Arguments
// must have the exact types of the vendor's parameters.  PODGPU_SIM_DIR selects the node.  For
// tests only; one thread unless a test says so.
#pragma once

#include <cstdlib>
#include <dlfcn.h>
#include <string>

#include <gtest/gtest.h>

#include "abi/nvml.h"
#include "abi/nvml_readings.h"

namespace podgpu::sim {

class NvmlClient {
 public:
  explicit NvmlClient(const char* file = "libnvidia-ml.so.1")
      : library_(dlopen((std::string(PODGPU_BINARY_DIR "/lib/") + file).c_str(),
                        RTLD_LAZY | RTLD_LOCAL)) {
    EXPECT_NE(library_, nullptr) << dlerror();
  }

  bool Has(const char* name) const { return Entry(name) != nullptr; }
  void* Entry(const char* name) const { return dlsym(library_, name); }
  template <typename... Arguments>
  int Call(const char* name, Arguments... arguments) const {
    auto* const entry = reinterpret_cast<int (*)(Arguments...)>(Entry(name));
    EXPECT_NE(entry, nullptr) << name;
    return entry == nullptr ? -1 : entry(arguments...);
  }
  abi::nvmlDevice_t ByIndex(unsigned index) const {
    abi::nvmlDevice_t device = nullptr;
    EXPECT_EQ(Call("nvmlDeviceGetHandleByIndex_v2", index, &device), abi::NVML_SUCCESS);
    return device;
  }
  abi::nvmlDevice_t Mig(unsigned gpu, unsigned index) const {
    abi::nvmlDevice_t device = nullptr;
    EXPECT_EQ(Call("nvmlDeviceGetMigDeviceHandleByIndex", ByIndex(gpu), index, &device),
              abi::NVML_SUCCESS);
    return device;
  }
  std::string Text(const char* name, abi::nvmlDevice_t device) const {
    char buffer[96] = {};
    EXPECT_EQ(Call(name, device, &buffer[0], 96U), abi::NVML_SUCCESS) << name;
    return buffer;
  }
  unsigned Number(const char* name, abi::nvmlDevice_t device) const {
    unsigned number = 999;
    EXPECT_EQ(Call(name, device, &number), abi::NVML_SUCCESS) << name;
    return number;
  }
  // Reads one value with nvmlDeviceGetFieldValues; the call must succeed.
  abi::nvmlFieldValue_t Field(abi::nvmlDevice_t device, unsigned field, unsigned scope = 0) const {
    abi::nvmlFieldValue_t value{};
    value.fieldId = field;
    value.scopeId = scope;
    EXPECT_EQ(Call("nvmlDeviceGetFieldValues", device, 1, &value), abi::NVML_SUCCESS);
    return value;
  }

 private:
  void* library_;
};

}  // namespace podgpu::sim
