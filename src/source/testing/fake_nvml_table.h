// A fake NVML for tests: an NvmlTable whose functions answer what the test has set.
//
// Simulates a node of GPUs and MIG devices.  A value that the test does not set is `measure`'s, or
// else 7.  Any call can be made to fail, to hang, or to return garbage (fake_fault.h).  Only one
// FakeNvml may exist at a time in a process.  Calls may come from any thread, one at a time; a test
// changes the node while no call runs, or inside Change.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "abi/load.h"
#include "source/testing/fake_fault.h"

namespace podgpu {

struct FakeMigDevice {
  bool is_there = true;  // False: a gap in the sparse indices of MIG devices.
  uint32_t gpu_instance_id = 0;
  uint32_t compute_instance_id = 0;
  std::string uuid;
  std::string profile = "1g.10gb";
};

struct FakeNvmlProcess {
  uint32_t pid = 0;
  uint64_t memory_bytes = 0;
  bool mps_client = false;
  uint32_t gpu_instance_id = 0xffffffff;
  // Its utilization samples.
  std::vector<abi::nvmlProcessUtilizationInfo_v1_t> records = {};
};

// The driver's accounting; `lives` in no order.
struct FakeAccounting {
  bool is_on = false;
  bool obeys = true;  // False: answers success and changes nothing.
  std::vector<abi::nvmlAccountingStats_v2_t> lives = {};
};

struct FakeNvmlGpu {
  std::string uuid;
  uint32_t minor_number = 0;
  std::vector<FakeMigDevice> mig_devices;
  bool mig_enabled = false;
  bool mig_pending = false;  // A change of the MIG mode is pending.
  bool has_gpm = true;
  std::vector<FakeNvmlProcess> processes = {};
  FakeAccounting accounting = {};
  abi::nvmlReturn_t state =
      abi::NVML_SUCCESS;  // Unless success, the answer to every call about it.
};

class FakeNvml {
 public:
  FakeNvml();
  ~FakeNvml();
  FakeNvml(const FakeNvml&) = delete;
  FakeNvml& operator=(const FakeNvml&) = delete;

  abi::NvmlLibrary Library() const;

  std::vector<FakeNvmlGpu> gpus;
  bool has_mig = true;            // The library exports the MIG symbols.
  std::set<std::string> without;  // Symbols that the library lacks.
  // Sets which calls fail from now on, by symbol.  Any thread.
  void FailWith(std::map<std::string, abi::nvmlReturn_t> failing);
  std::function<void()> before_init;  // Runs at the beginning of nvmlInit_v2.
  int initialised = 0;                // Calls of nvmlInit_v2 less calls of nvmlShutdown.
  int initialisations = 0;
  // Returns the number that `symbol` answers for the GPU with this index.
  std::function<int64_t(const std::string& symbol, size_t gpu)> measure;
  std::map<std::string, int64_t> numbers;            // By symbol; used when `measure` is not set.
  std::map<uint32_t, abi::nvmlFieldValue_t> values;  // By NVML's field id; others are numbers.
  std::function<int64_t()> stamp;                    // Of field values, since 1970.
  // How many values of a list nvmlDeviceGetFieldValues sets; it leaves the others as they were.
  size_t most_values = std::numeric_limits<size_t>::max();
  std::function<double(uint32_t metric)> gpm;  // A GPM metric between two samples.

  // Adds an XID, which the event set reports.
  void AddXid(size_t gpu, uint64_t code);
  // Runs `change` while no call runs.
  void Change(const std::function<void()>& change);

  // Every call of `symbol` meets `fault` until Heal; with `gpu`, only calls about that GPU.
  void Inject(const std::string& symbol, FakeFault fault, std::optional<size_t> gpu = {});
  void Free(const std::string& symbol);  // Lets the calls that block now return.
  void Heal(const std::string& symbol);
  void AwaitHanging();  // Waits until a call blocks.
  // Called under the fake's lock when a call of `thread` begins to block and when it stops
  // blocking.
  std::function<void(std::thread::id thread, const std::string& symbol, bool blocks)> on_block;
  // Removes or restores the driver.  While it is removed every call fails; handles from before are
  // invalid.
  void SetDown(bool down);

  std::set<std::string> called() const;
  int CountOf(const std::string& symbol) const;
  void ForgetCalls();

 private:
  friend struct FakeNvmlCalls;
  struct Injected {
    FakeFault fault;
    std::optional<size_t> gpu;
  };
  struct Blocked {
    std::string symbol;
    std::thread::id thread;
    bool is_free = false;
  };

  // Returns the code with which a call must return at once.  May block.
  abi::nvmlReturn_t Enter(const std::string& symbol, abi::nvmlDevice_t device,
                          std::unique_lock<std::mutex>& lock);
  void Spoil(const std::string& symbol, std::span<const FakeOut> outs);
  void FreeLocked(const std::string& symbol);
  void SayBlocked(const Blocked& call, bool blocks) const;
  int64_t NumberOf(const std::string& symbol, abi::nvmlDevice_t device) const;
  std::optional<size_t> IndexOf(abi::nvmlDevice_t device) const;

  mutable std::mutex mutex_;
  std::map<std::string, abi::nvmlReturn_t> failing_;
  std::condition_variable changed_;
  std::map<std::string, Injected> faults_;
  std::list<Blocked> blocked_;
  bool down_ = false;
  std::map<std::string, int> calls_;
  std::list<abi::nvmlEventData_t> events_;
  uintptr_t samples_ = 0;  // Made so far.
};

}  // namespace podgpu
