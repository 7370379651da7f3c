// The source of --source=auto: NVML when it can give every requested metric on these GPUs, else
// DCGM; and NVML in place of a host engine whose client, libdcgm, is missing.
//
// NVML is small and needs no engine that can fail; DCGM has more fields, health, and profiling of
// GPUs before Hopper.  So the first Discover opens NVML and checks what it lacks.  DCGM is opened
// only if something is lacking; if it cannot be used, NVML serves what it can.  The choice is made
// once and logged with its reason.  It is made again only when Watch or Read asks for something
// that NVML lacks.  If the configuration names a host engine, DCGM comes first; without libdcgm,
// NVML serves in its place, and each later Watch looks for libdcgm again.  Threads: as source.h
// says.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fact_and_remedy.h"
#include "base/mutex.h"
#include "sample/findings.h"
#include "source/nvml/source.h"
#include "source/source.h"

namespace podgpu {

class AutoSource final : public Source {
 public:
  // Functions that open the two sources; kNotFound when the library is missing.
  struct Makers {
    std::function<StatusOr<std::unique_ptr<NvmlSource>>()> nvml;
    std::function<StatusOr<std::unique_ptr<Source>>()> dcgm;
  };
  // `fields` and `asked`: what Watch and Read are expected to ask for.  `engine`: the address of
  // the host engine that the configuration names; empty: none.
  AutoSource(Makers makers, std::vector<const Field*> fields, FindingsAsked asked,
             std::string engine = "");

  StatusOr<Topology> Discover(PartKinds kinds) override;
  // Returns kUnavailable when NVML was chosen and lacks one of `fields`, or when it stands in for
  // an engine that can be connected to now; the next Discover chooses again.
  StatusOr<WatchResult> Watch(const Topology& topology, const std::vector<const Field*>& fields,
                              std::chrono::microseconds period) override;
  Status Read(Grid& grid) override;
  void Interrupt() noexcept override;
  void Release() override;
  void SetProfiling(bool is_on) override;
  void SetCollections(std::shared_ptr<const FieldCollections> collections) override;
  std::string ReleaseReason() const override {
    return chosen_ == nullptr ? "" : chosen_->ReleaseReason();
  }
  std::string Describe() const override;

 private:
  StatusOr<Topology> Choose(PartKinds kinds);
  // Chooses DCGM for the named engine, or NVML in its place.
  StatusOr<Topology> ChooseForEngine(PartKinds kinds);
  // Returns kUnavailable after it has taken DCGM in place of the NVML that stands in for it.
  Status TakeEngineIfPossible();
  WatchResult StandIn(WatchResult result) const;
  // Opens DCGM because `nvml` lacks something; keeps `nvml` if DCGM cannot be used.
  StatusOr<Topology> ChooseDcgmOver(std::unique_ptr<NvmlSource> nvml, Topology seen,
                                    const std::string& lacks, PartKinds kinds);
  // Returns what is asked for and NVML lacks, in words; empty when it lacks nothing.
  std::string LackingIn(const NvmlSource& nvml) const;
  Status ResetIfLacking();
  // `why` is empty if the configuration leaves no choice.
  void Take(std::unique_ptr<Source> source, const char* name, std::string why);
  void Forget();
  // Runs `call` on `source`; meanwhile Interrupt interrupts that source.
  template <typename Call>
  auto With(Source& source, Call call);

  const Makers makers_;
  std::vector<const Field*> fields_;
  FindingsAsked asked_;
  const std::string engine_;
  FactAndRemedy engine_is_missed_;  // Why NVML stands in for engine_; empty: it does not.
  bool profiles_ = true;
  std::shared_ptr<const FieldCollections> collections_;
  std::unique_ptr<Source> chosen_;
  const NvmlSource* nvml_ = nullptr;  // Points to chosen_ when that is NVML.
  bool dcgm_failed_ = false;          // NVML was chosen although DCGM was wanted.

  mutable Mutex mutex_;  // Interrupt and Describe come from other threads.
  Source* running_ PODGPU_GUARDED_BY(mutex_) = nullptr;
  const Source* shown_ PODGPU_GUARDED_BY(mutex_) = nullptr;  // The same as `chosen_`, for Describe.
  std::string why_ PODGPU_GUARDED_BY(mutex_);
};

}  // namespace podgpu
