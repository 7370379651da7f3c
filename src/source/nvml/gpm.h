// Profiling with NVML's GPM: metrics between two samples of the counters of a GPU or instance.
//
// Only on Hopper and later; several programs can use it at the same time.  Each Read takes a sample
// and reports the metrics since the previous sample; the first Read has none yet.  Samples are at
// least 150 ms apart, because the driver renews them every 100 ms; a Read that comes earlier
// reports the previous result again.  Counters that another program holds, or that the driver
// reserves for administrators, have their own absences. Owned by one device; used on one thread at
// a time.
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

// GPM's samples, which the library allocates; kept for reuse.
//
// A device is destroyed on the source thread and may hang on another one; but samples are allocated
// and freed by NVML calls, which may hang too.  So a device returns its samples here without a
// call, and they are freed later on the thread that makes the calls (task.h).  Give may be called
// on any thread, the rest only on the thread that calls the library.
class NvmlSamples {
 public:
  // Takes a kept sample, or allocates a new one.
  abi::nvmlReturn_t Take(const abi::NvmlTable& api, abi::nvmlGpmSample_t& sample);

  // Keeps the sample; makes no NVML call.
  void Give(abi::nvmlGpmSample_t sample);

  // Frees all kept samples.
  void Free(const abi::NvmlTable& api);

 private:
  Mutex mutex_;  // Give and Take may run on different threads.
  std::vector<abi::nvmlGpmSample_t> unused_ PODGPU_GUARDED_BY(mutex_);
};

class NvmlGpm {
 public:
  // The result of one metric.
  struct Metric {
    abi::nvmlReturn_t code = abi::NVML_ERROR_NO_DATA;
    double value = 0;
  };

  // `gpu_instance_id`: the instance to sample; nothing: the whole GPU.
  NvmlGpm(std::shared_ptr<const abi::NvmlLibrary> library, std::shared_ptr<NvmlSamples> samples,
          abi::nvmlDevice_t gpu, std::optional<uint32_t> gpu_instance_id);
  NvmlGpm(NvmlGpm&&) noexcept = default;
  NvmlGpm(const NvmlGpm&) = delete;
  NvmlGpm& operator=(const NvmlGpm&) = delete;
  NvmlGpm& operator=(NvmlGpm&&) = delete;
  ~NvmlGpm() = default;

  // Reads `metrics` (GPM's ids, the same in every call); metrics() then returns the results.
  // `request` is the call's buffer of 13 KB, which callers may share.
  void Read(std::span<const uint32_t> metrics, Instant now, abi::nvmlGpmMetricsGet_t& request);
  const std::vector<Metric>& metrics() const { return told_; }

  // Returns the samples; the next Read begins with a first sample.
  void Pause();
  // Does the same for `count` metrics; metrics() then has the code of a board that has none of
  // them, or NVML_ERROR_NO_DATA.
  void Pause(size_t count);

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
  std::optional<abi::nvmlReturn_t> support_;  // The driver's answer, asked once.
  Sample older_, newer_;
  std::optional<Instant> taken_at_;  // Time of older_.
  std::vector<Metric> told_;
};

}  // namespace podgpu
