// One GPU as NVML sees it: its handle, its MIG instances, and the reading of what is asked of them.
//
// A device reads into cells of its own, by a plan that all devices share; the source copies them
// into a grid afterwards.  So a device that hangs in a call keeps its memory to itself: the source
// lets go of it and goes on with the others.  Values that change rarely, or are dear, are read when
// a round says so and stand until the next such round, as fresh as their last reading was due; what
// the board does not have is asked for again only then, too.  One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "abi/load.h"
#include "base/clock.h"
#include "sample/grid.h"
#include "sample/value.h"
#include "source/nvml/call.h"
#include "source/nvml/catalogue.h"
#include "source/nvml/gpm.h"
#include "source/nvml/task.h"

namespace podgpu {

// What is read of every device; immutable.
struct NvmlPlan {
  struct Column {
    FieldRow row;  // In the grid.
    NvmlRecipe recipe;
    int64_t lowest = 0;  // The least and the most that the quantity can be.
    int64_t highest = 0;
    size_t first = 0;  // Index of its first request, or of its metric.
  };
  struct Request {
    uint32_t field_id = 0;
    uint32_t scope = 0;
  };
  std::vector<Column> columns;
  std::vector<Request> requests;  // Field values, read by one call.
  std::vector<uint32_t> metrics;  // GPM's.
};

// For those of `fields` that NVML can give; `fields` are the rows of the grid.
NvmlPlan MakeNvmlPlan(const std::vector<const Field*>& fields);

// A GPU instance, and the handle of its first compute instance.
struct NvmlInstanceHandle {
  uint32_t gpu_instance_id = 0;
  abi::nvmlDevice_t handle = nullptr;
  std::string profile;
  bool operator==(const NvmlInstanceHandle&) const = default;
};

// Where a device is found.
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

  // When and how a reading is made.
  struct ReadOptions {
    WallTime wall{};
    Instant now{};
    bool is_slow = false;  // Everything is read.
    bool profiles = true;
  };
  // Reads all that `plan` wants.  The code that made further calls pointless (a lost GPU, a driver
  // that has gone), or success.
  abi::nvmlReturn_t Read(const std::shared_ptr<const NvmlPlan>& plan, const ReadOptions& options);

  const NvmlAddress& address() const { return address_; }
  // By column of the plan; `instance` is an index into the address's, or none for the GPU.
  Value CellOf(size_t column, std::optional<size_t> instance) const;
  // The text of a cell that has one.
  const std::string& TextOf(size_t column, std::optional<size_t> instance) const;

 private:
  struct Instance {
    NvmlGpm gpm;
    NvmlAnswers answers;
    std::vector<Value> cells;  // By column; what is the GPU's stands there.
  };
  // A counter at a time, for what is told as a rate.
  struct Counted {
    int64_t number = 0;
    int64_t stamp_us = 0;
  };

  void Prepare(const std::shared_ptr<const NvmlPlan>& plan);
  bool IsDue(size_t column, const ReadOptions& options) const;
  void AskForValues();
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
  std::unique_ptr<abi::nvmlGpmMetricsGet_t> metrics_request_;  // 13 KB, where it is needed.
  NvmlAnswers answers_;
  std::vector<abi::nvmlFieldValue_t> values_;  // By request.
  abi::nvmlReturn_t values_code_ = abi::NVML_SUCCESS;
  std::vector<Value> cells_;        // By column.
  std::vector<std::string> texts_;  // By column.
  std::vector<Counted> counted_;    // By column.
  std::vector<Instance> instances_;
};

// One reading of many devices, in turn, kept from reading to reading.  When it is given up, another
// one takes its place, since the thread that hangs still uses this one.
class NvmlReadPass final : public NvmlTask {
 public:
  void Run() override;

  // What is to be done; set while the task does not run.
  std::vector<std::shared_ptr<NvmlDevice>> devices;
  std::shared_ptr<const NvmlPlan> plan;
  NvmlDevice::ReadOptions options;
  size_t first = 0;  // The device to begin with.

  // By device: what its reading said.
  std::vector<abi::nvmlReturn_t> codes;
};

}  // namespace podgpu
