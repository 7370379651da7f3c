// --source=auto: NVML where it has every metric that is asked for on these GPUs, else DCGM.
//
// NVML alone is small and has no engine to fail; DCGM knows more fields, profiling before Hopper,
// and health.  So the first Discover opens NVML and asks what it lacks; only then DCGM is looked
// for, and where it cannot be used, NVML serves what it has.  The choice is made once, said in the
// log with its reason, and made anew only when something is asked for later that NVML lacks.
// Threads as source.h says.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "sample/findings.h"
#include "source/nvml/source.h"
#include "source/source.h"

namespace podgpu {

class AutoSource final : public Source {
 public:
  // What the two are opened by; kNotFound where there is no such library.
  struct Makers {
    std::function<StatusOr<std::unique_ptr<NvmlSource>>()> nvml;
    std::function<StatusOr<std::unique_ptr<Source>>()> dcgm;
  };
  // `fields` and `asked`: what will be asked for, as far as is known.
  AutoSource(Makers makers, std::vector<const Field*> fields, FindingsAsked asked);

  StatusOr<Topology> Discover(PartKinds kinds) override;
  // kUnavailable when NVML was chosen and lacks one of `fields`: the next Discover chooses again.
  StatusOr<WatchResult> Watch(const Topology& topology, const std::vector<const Field*>& fields,
                              std::chrono::microseconds period) override;
  Status Read(Grid& grid) override;
  void Interrupt() noexcept override;
  void Release() override;
  void SetProfiling(bool is_on) override;
  std::string ReleaseReason() const override {
    return chosen_ == nullptr ? "" : chosen_->ReleaseReason();
  }
  std::string Describe() const override;

 private:
  StatusOr<Topology> Choose(PartKinds kinds);
  // DCGM in place of `nvml`, or `nvml` after all.
  StatusOr<Topology> ChooseDcgmOver(std::unique_ptr<NvmlSource> nvml, Topology seen,
                                    const std::string& lacks, PartKinds kinds);
  // What NVML does not have of what is asked for, in words; empty: nothing.
  std::string LackingIn(const NvmlSource& nvml) const;
  Status ResetIfLacking();
  void Take(std::unique_ptr<Source> source, const char* name, std::string why);
  void Forget();
  // Has `call` made on `source`, which Interrupt then means.
  template <typename Call>
  auto With(Source& source, Call call);

  const Makers makers_;
  std::vector<const Field*> fields_;
  FindingsAsked asked_;
  bool profiles_ = true;
  std::unique_ptr<Source> chosen_;
  const NvmlSource* nvml_ = nullptr;  // When that is what was chosen.
  bool dcgm_failed_ = false;          // NVML was taken although it lacks something.

  mutable Mutex mutex_;  // Interrupt and Describe come from other threads.
  Source* running_ PODGPU_GUARDED_BY(mutex_) = nullptr;
  const Source* shown_ PODGPU_GUARDED_BY(mutex_) = nullptr;  // chosen_, for Describe.
  std::string why_ PODGPU_GUARDED_BY(mutex_);
};

}  // namespace podgpu
