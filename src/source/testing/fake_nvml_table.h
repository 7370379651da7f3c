// An NVML for tests in this process: an NvmlTable whose functions answer from what a test set.
//
// A node of GPUs and MIG devices.  Whatever is not set answers a number of its own: `measure`, or
// else 7.  Any call may be made to fail, to hang, or to answer nonsense (fake_fault.h).  One
// FakeNvml may live at a time in a process.  Calls may come from any thread, one at a time; a test
// changes the node while no call runs, or inside Change.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
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
  bool is_there = true;  // Indices of MIG devices are sparse.
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
  // Its records of use.
  std::vector<abi::nvmlProcessUtilizationInfo_v1_t> records = {};
};

// What the driver writes down of processes, from their begin on; `lives` in no order.
struct FakeAccounting {
  bool is_on = false;
  bool obeys = true;  // Else it says so and stays as it is.
  std::vector<abi::nvmlAccountingStats_v2_t> lives = {};
};

struct FakeNvmlGpu {
  std::string uuid;
  uint32_t minor_number = 0;
  std::vector<FakeMigDevice> mig_devices;
  bool mig_enabled = false;
  bool mig_pending = false;  // A change of the mode waits.
  bool has_gpm = true;
  std::vector<FakeNvmlProcess> processes = {};
  FakeAccounting accounting = {};
  abi::nvmlReturn_t state = abi::NVML_SUCCESS;  // What every call about it answers otherwise.
};

class FakeNvml {
 public:
  FakeNvml();
  ~FakeNvml();
  FakeNvml(const FakeNvml&) = delete;
  FakeNvml& operator=(const FakeNvml&) = delete;

  abi::NvmlLibrary Library() const;

  std::vector<FakeNvmlGpu> gpus;
  bool has_mig = true;            // The library has the MIG symbols.
  std::set<std::string> without;  // Readings that the library lacks.
  // Which calls fail from now on, by symbol.  Any thread.
  void FailWith(std::map<std::string, abi::nvmlReturn_t> failing);
  std::function<void()> before_init;  // Runs at the beginning of nvmlInit_v2.
  int initialised = 0;                // Balance of nvmlInit_v2 and nvmlShutdown.
  int initialisations = 0;
  // The number that `symbol` tells of the GPU with this index.
  std::function<int64_t(const std::string& symbol, size_t gpu)> measure;
  std::map<std::string, int64_t> numbers;            // By symbol, where `measure` is not set.
  std::map<uint32_t, abi::nvmlFieldValue_t> values;  // By NVML's field id; others are numbers.
  std::function<int64_t()> stamp;                    // Of field values, since 1970.
  std::function<double(uint32_t metric)> gpm;        // What GPM says between two samples.

  // Has an event set tell of an XID.
  void AddXid(size_t gpu, uint64_t code);
  // Runs `change` while no call does.
  void Change(const std::function<void()>& change);

  // Every call of `symbol` meets `fault` until Heal; with `gpu`, calls about that GPU only.
  void Inject(const std::string& symbol, FakeFault fault, std::optional<size_t> gpu = {});
  void Free(const std::string& symbol);  // Lets the calls that block now go on.
  void Heal(const std::string& symbol);
  void AwaitHanging();  // Until a call blocks.
  // Told under the fake's lock when a call of `thread` begins to block, and when it is let go.
  std::function<void(std::thread::id thread, const std::string& symbol, bool blocks)> on_block;
  // Takes the driver away: everything fails until it is back, and old handles with it.
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

  // The code that a call answers before doing anything.  May block.
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
