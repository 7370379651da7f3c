// One GPU in NVML: its handle, its MIG instances, and the reading of its fields.
//
// A device reads into its own cells, by a plan that all devices share; the source copies the cells
// into a grid afterwards.  So when a device hangs in a call, the source can drop it and continue
// with the others: the hung thread touches only that device's memory.  Values that change rarely or
// are expensive are read only in a slow pass; until the next slow pass they keep their value and
// count as fresh.  What the board does not support is also tried again only in a slow pass.  With
// collections (fields/field_collections.h) each value is read when it is due, and has its age in
// between.  Used on one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "abi/load.h"
#include "base/clock.h"
#include "sample/grid.h"
#include "sample/value.h"
#include "source/nvml/call.h"
#include "source/nvml/gpm.h"
#include "source/nvml/plan.h"
#include "source/nvml/task.h"

namespace podgpu {

// A GPU instance, with the handle of its first compute instance.
struct NvmlInstanceHandle {
  uint32_t gpu_instance_id = 0;
  abi::nvmlDevice_t handle = nullptr;
  std::string profile;
  bool operator==(const NvmlInstanceHandle&) const = default;
};

// The handles and ids of a device.
struct NvmlAddress {
  NvmlTarget gpu;
  std::string uuid;
  bool mig_enabled = false;
  std::vector<NvmlInstanceHandle> instances;
  bool operator==(const NvmlAddress&) const = default;
};

class NvmlDevice {
 public:
  NvmlDevice(std::shared_ptr<const abi::NvmlLibrary> library, std::shared_ptr<NvmlSamples> samples,
             NvmlAddress address);

  // The time and the kind of a reading.
  struct ReadOptions {
    WallTime wall{};
    Instant now{};
    bool profiles = true;
  };
  // Reads all values of `plan`. Returns the code that makes further calls useless (a lost GPU, an
  // unloaded driver), or success.
  abi::nvmlReturn_t Read(const std::shared_ptr<const NvmlPlan>& plan, const ReadOptions& options);

  const NvmlAddress& address() const { return address_; }
  // Returns the value of a column of the plan.  `instance` is an index into the address's
  // instances; none: the GPU.
  Value CellOf(size_t column, std::optional<size_t> instance) const;
  // Returns the text of a cell that has one.
  const std::string& TextOf(size_t column, std::optional<size_t> instance) const;

 private:
  struct Instance {
    NvmlGpm gpm;
    NvmlAnswers answers;
    std::vector<Value> cells;  // One for each column; values of the whole GPU are copied here.
  };
  // A counter and its time stamp, for values that are reported as a rate.
  struct Counted {
    int64_t number = 0;
    int64_t stamp_us = 0;
    bool has_rate = false;  // There was an earlier sample.
  };

  void Prepare(const std::shared_ptr<const NvmlPlan>& plan);
  abi::nvmlReturn_t ReadDue(const ReadOptions& options);
  // Decides which columns this reading reads.
  void FindDue(const ReadOptions& options);
  bool IsDue(size_t column) const;
  bool IsDueByPace(size_t column, const ReadOptions& options) const;
  bool AwaitsSecondSample(size_t column) const;
  // Returns the value of a column, with the age that it has at this reading.
  Value Aged(size_t column, const Value& value) const;
  void AskForValues();
  void AskForUnansweredValues();
  abi::nvmlReturn_t Fill(std::vector<abi::nvmlFieldValue_t>& values) const;
  void ReadInstance(size_t index, const ReadOptions& options);
  void Profile(NvmlGpm& gpm, const ReadOptions& options);
  NvmlRaw Ask(size_t column);
  NvmlRaw AskLinkRate(size_t column);
  Value OfMetric(const NvmlPlan::Column& column, const NvmlGpm& gpm,
                 const ReadOptions& options) const;
  Value Keep(size_t column, NvmlRaw raw, WallTime now);

  const std::shared_ptr<const abi::NvmlLibrary> library_;
  const std::shared_ptr<NvmlSamples> samples_;
  const NvmlAddress address_;
  std::shared_ptr<const NvmlPlan> plan_;
  NvmlGpm gpm_;
  std::unique_ptr<abi::nvmlGpmMetricsGet_t> metrics_request_;  // 13 KB; made when needed.
  NvmlAnswers answers_;
  std::vector<abi::nvmlFieldValue_t> values_;      // One for each request.
  std::vector<abi::nvmlFieldValue_t> asked_;       // Those that are due.
  std::vector<abi::nvmlFieldValue_t> unanswered_;  // Values that the driver left out.
  abi::nvmlReturn_t values_code_ = abi::NVML_SUCCESS;
  // End of the last complete slow pass.  A pass that a lost GPU ends does not count, nor does one
  // that left this device out; otherwise values from before a loss would be shown as fresh.
  std::optional<Instant> all_read_at_;
  bool reads_all_ = false;         // This reading is a slow pass.
  bool samples_are_due_ = false;   // It reads a value of GPM.
  Instant now_{};                  // Time of this reading.
  std::vector<bool> due_;          // One for each column.
  std::vector<bool> pace_is_due_;  // One for each pace.
  // Last readings of each pace; nothing after a reading that failed.
  std::vector<std::optional<Instant>> pace_read_at_;
  std::vector<Instant> read_at_;    // Last reading of each column.
  std::vector<Value> cells_;        // One for each column.
  std::vector<std::string> texts_;  // One for each column.
  std::vector<Counted> counted_;    // One for each column.
  std::vector<Instance> instances_;
};

// One read pass over many devices, one after the other; reused for every reading.  When a pass is
// given up, a new NvmlReadPass replaces it, because the hung thread still uses the old one.
class NvmlReadPass final : public NvmlTask {
 public:
  void Run() override;

  // The work; set while the task does not run.
  std::vector<std::shared_ptr<NvmlDevice>> devices;
  std::shared_ptr<const NvmlPlan> plan;
  NvmlDevice::ReadOptions options;
  size_t first = 0;  // The device to begin with.

  // The code of the reading of each device.
  std::vector<abi::nvmlReturn_t> codes;
};

}  // namespace podgpu
