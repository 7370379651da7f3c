// An NVML for tests in this process: an NvmlTable whose functions answer from what a test set.
//
// As fake_dcgm_table.h, for the identity part: GPUs with minor numbers and MIG devices.  One
// FakeNvml may live at a time in a process.  One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "abi/load.h"

namespace podgpu {

struct FakeMigDevice {
  bool is_there = true;  // Indices of MIG devices are sparse.
  uint32_t gpu_instance_id = 0;
  uint32_t compute_instance_id = 0;
  std::string uuid;
};

struct FakeNvmlGpu {
  std::string uuid;
  uint32_t minor_number = 0;
  std::vector<FakeMigDevice> mig_devices;
};

class FakeNvml {
 public:
  FakeNvml();
  ~FakeNvml();
  FakeNvml(const FakeNvml&) = delete;
  FakeNvml& operator=(const FakeNvml&) = delete;

  abi::NvmlLibrary Library() const;

  std::vector<FakeNvmlGpu> gpus;
  bool has_mig = true;                               // The library has the MIG symbols.
  std::map<std::string, abi::nvmlReturn_t> failing;  // By symbol.
  std::function<void()> before_init;                 // Runs at the beginning of nvmlInit_v2.
  int initialised = 0;                               // Balance of nvmlInit_v2 and nvmlShutdown.
  int initialisations = 0;
};

}  // namespace podgpu
