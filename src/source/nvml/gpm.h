// Profiling through NVML's GPM: metrics between two samples of a GPU's or instance's counters.
//
// Hopper and later; several programs may do so at a time.  Each Read takes a sample and tells what
// went on since the one before; the first tells nothing yet.  Samples are at least 100 ms apart:
// asked sooner, Read tells again what it told last.  A counter that another program holds, or that
// the driver keeps for administrators, is an absence of its own.  Belongs to one device; one thread
// at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "abi/load.h"
#include "abi/nvml_table.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace podgpu {

// GPM's samples, which the library allocates, kept to be used again.
//
// Devices come and go on one thread, and hang on another; but a sample is made and freed by a call,
// which may hang, too.  So a device gives its samples back here without a call, and they are freed
// where calls are made (task.h), all together.  Any thread may give; the rest belongs to the thread
// that calls the library.
class NvmlSamples {
 public:
  // One that lies here, or a new one.
  abi::nvmlReturn_t Take(const abi::NvmlTable& api, abi::nvmlGpmSample_t& sample);

  // Keeps it; calls nothing.
  void Give(abi::nvmlGpmSample_t sample);

  // Frees all that lie here.
  void Free(const abi::NvmlTable& api);

 private:
  Mutex mutex_;  // Who gives back a device's samples may be another thread than who reads.
  std::vector<abi::nvmlGpmSample_t> unused_ PODGPU_GUARDED_BY(mutex_);
};

class NvmlGpm {
 public:
  // What became of one metric.
  struct Metric {
    abi::nvmlReturn_t code = abi::NVML_ERROR_NO_DATA;
    double value = 0;
  };

  // `gpu_instance_id`: of the instance to sample; nothing: the whole GPU.
  NvmlGpm(std::shared_ptr<const abi::NvmlLibrary> library, std::shared_ptr<NvmlSamples> samples,
          abi::nvmlDevice_t gpu, std::optional<uint32_t> gpu_instance_id);
  NvmlGpm(NvmlGpm&&) noexcept = default;
  NvmlGpm(const NvmlGpm&) = delete;
  NvmlGpm& operator=(const NvmlGpm&) = delete;
  NvmlGpm& operator=(NvmlGpm&&) = delete;
  ~NvmlGpm() = default;

  // Reads `metrics` (GPM's ids, the same in each call), told by metrics().  `request` is room for
  // the call, 13 KB that many may share.
  void Read(std::span<const uint32_t> metrics, Instant now, abi::nvmlGpmMetricsGet_t& request);
  const std::vector<Metric>& metrics() const { return told_; }

  // Gives the samples back; the next Read begins anew.
  void Pause();

 private:
  struct GiveBack {
    std::shared_ptr<NvmlSamples> samples;
    void operator()(abi::nvmlGpmSample_t sample) const { samples->Give(sample); }
  };
  using Sample = std::unique_ptr<abi::nvmlGpmSample_st, GiveBack>;

  abi::nvmlReturn_t CheckSupport();
  abi::nvmlReturn_t Allocate(Sample& sample) const;
  abi::nvmlReturn_t Take();
  abi::nvmlReturn_t Compare(std::span<const uint32_t> metrics, abi::nvmlGpmMetricsGet_t& request);
  void TellAll(size_t count, abi::nvmlReturn_t code);

  const std::shared_ptr<const abi::NvmlLibrary> library_;
  const std::shared_ptr<NvmlSamples> samples_;
  const abi::nvmlDevice_t gpu_;
  const std::optional<uint32_t> gpu_instance_id_;
  std::optional<abi::nvmlReturn_t> support_;  // What the driver said to the question.
  Sample older_, newer_;
  std::optional<Instant> taken_at_;  // When older_ was.
  std::vector<Metric> told_;
};

}  // namespace podgpu
