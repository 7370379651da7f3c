#include "source/auto_source.h"

#include <utility>

#include "absl/strings/str_format.h"

#include "base/log.h"

namespace podgpu {
namespace {

// The driver's library comes first, since DCGM is no use without it.
// Returns the message of `second` without the list of searched paths that `first` has too.
std::string WithoutPaths(const Status& second, const Status& first) {
  std::string text(second.message());
  const size_t begin = text.find(" (");
  const size_t end = begin == std::string::npos ? begin : text.find(')', begin);
  if (end != std::string::npos &&
      first.message().find(text.substr(begin, end + 1 - begin)) != std::string::npos) {
    text.erase(begin, end + 1 - begin);
  }
  return text;
}

Status NeitherCanBeUsed(const Status& nvml, const Status& dcgm) {
  return {nvml.code(),
          dcgm.code() == absl::StatusCode::kNotFound
              ? absl::StrFormat("%s. libdcgm cannot be loaded either", nvml.message())
              : absl::StrFormat("%s. Nor can DCGM be used: %s", nvml.message(), dcgm.message())};
}

}  // namespace

AutoSource::AutoSource(Makers makers, std::vector<const Field*> fields, FindingsAsked asked,
                       std::string engine)
    : makers_(std::move(makers)),
      fields_(std::move(fields)),
      asked_(asked),
      engine_(std::move(engine)) {}

template <typename Call>
auto AutoSource::With(Source& source, Call call) {
  {
    MutexLock lock(mutex_);
    running_ = &source;
  }
  auto result = call(source);
  MutexLock lock(mutex_);
  running_ = nullptr;
  return result;
}

StatusOr<Topology> AutoSource::Discover(PartKinds kinds) {
  if (chosen_ == nullptr) {
    return engine_.empty() ? Choose(kinds) : ChooseForEngine(kinds);
  }
  return With(*chosen_, [&](Source& source) { return source.Discover(kinds); });
}

StatusOr<Topology> AutoSource::Choose(PartKinds kinds) {
  StatusOr<std::unique_ptr<NvmlSource>> nvml = makers_.nvml();
  if (!nvml.ok()) {
    StatusOr<std::unique_ptr<Source>> dcgm = makers_.dcgm();
    if (!dcgm.ok()) {
      return NeitherCanBeUsed(nvml.status(), dcgm.status());
    }
    Take(*std::move(dcgm), "DCGM", "NVML cannot be used: " + std::string(nvml.status().message()));
    return Discover(kinds);
  }
  PODGPU_ASSIGN_OR_RETURN(Topology seen,
                          With(**nvml, [&](Source& source) { return source.Discover(kinds); }));
  const std::string lacks = LackingIn(**nvml);
  if (!lacks.empty()) {
    return ChooseDcgmOver(*std::move(nvml), std::move(seen), lacks, kinds);
  }
  nvml_ = nvml->get();
  Take(*std::move(nvml), "NVML", "it has every requested metric");
  return seen;
}

// An engine that does not answer is waited for.  Only a client that cannot be loaded is replaced:
// it stays so until someone changes the container.
StatusOr<Topology> AutoSource::ChooseForEngine(PartKinds kinds) {
  StatusOr<std::unique_ptr<Source>> dcgm = makers_.dcgm();
  if (dcgm.ok()) {
    Take(*std::move(dcgm), "DCGM", "");
    return Discover(kinds);
  }
  if (dcgm.status().code() == absl::StatusCode::kInvalidArgument) {
    return dcgm.status();
  }
  StatusOr<std::unique_ptr<NvmlSource>> nvml = makers_.nvml();
  StatusOr<Topology> seen = [&]() -> StatusOr<Topology> {
    PODGPU_RETURN_IF_ERROR(nvml.status());
    return With(**nvml, [&](Source& source) { return source.Discover(kinds); });
  }();
  if (!seen.ok()) {
    return Status(
        dcgm.status().code(),
        absl::StrFormat("%s. Nor can NVML serve in its place: %s", dcgm.status().message(),
                        WithoutPaths(seen.status(), dcgm.status())));
  }
  engine_is_missed_ = Parted(dcgm.status(), "");
  dcgm_failed_ = true;
  nvml_ = nvml->get();
  Take(*std::move(nvml), "NVML", "in place of the host engine " + engine_);
  return seen;
}

Status AutoSource::TakeEngineIfPossible() {
  if (engine_is_missed_.fact.empty()) {
    return absl::OkStatus();
  }
  StatusOr<std::unique_ptr<Source>> dcgm = makers_.dcgm();
  if (!dcgm.ok()) {
    return absl::OkStatus();
  }
  Release();
  Forget();
  engine_is_missed_ = {};
  Take(*std::move(dcgm), "DCGM", "libdcgm can be loaded now");
  return absl::UnavailableError("libdcgm can be loaded now; connecting to the host engine");
}

WatchResult AutoSource::StandIn(WatchResult result) const {
  if (engine_is_missed_.fact.empty()) {
    return result;
  }
  const std::string lacks = LackingIn(*nvml_);
  result.stand_in =
      absl::StrFormat("NVML is read in place of the host engine %s%s, since %s", engine_,
                      lacks.empty() ? "" : " and lacks " + lacks, engine_is_missed_.fact);
  result.remedy = engine_is_missed_.remedy;
  return result;
}

StatusOr<Topology> AutoSource::ChooseDcgmOver(std::unique_ptr<NvmlSource> nvml, Topology seen,
                                              const std::string& lacks, PartKinds kinds) {
  StatusOr<std::unique_ptr<Source>> dcgm = makers_.dcgm();
  StatusOr<Topology> topology = [&]() -> StatusOr<Topology> {
    PODGPU_RETURN_IF_ERROR(dcgm.status());
    return With(**dcgm, [&](Source& source) { return source.Discover(kinds); });
  }();
  if (topology.ok()) {
    With(*nvml, [](Source& source) {
      source.Release();
      return true;
    });
    Take(*std::move(dcgm), "DCGM", "NVML alone lacks " + lacks);
    return topology;
  }
  dcgm_failed_ = true;
  nvml_ = nvml.get();
  Take(std::move(nvml), "NVML",
       absl::StrFormat("%s absent, since DCGM cannot be used: %s", lacks,
                       topology.status().message()));
  return seen;
}

std::string AutoSource::LackingIn(const NvmlSource& nvml) const {
  const std::vector<const Field*> fields = nvml.FieldsLacked(fields_);
  if (!fields.empty()) {
    const std::string first(fields.front()->name);
    return fields.size() == 1 ? first : absl::StrFormat("%s and %d more", first, fields.size() - 1);
  }
  return asked_.health || asked_.peers ? "the health of GPUs and of the paths between them" : "";
}

Status AutoSource::ResetIfLacking() {
  if (nvml_ == nullptr || dcgm_failed_) {
    return absl::OkStatus();
  }
  const std::string lacks = LackingIn(*nvml_);
  if (lacks.empty()) {
    return absl::OkStatus();
  }
  Release();
  Forget();
  return absl::UnavailableError(
      absl::StrFormat("the chosen source NVML lacks %s; choosing again", lacks));
}

StatusOr<WatchResult> AutoSource::Watch(const Topology& topology,
                                        const std::vector<const Field*>& fields,
                                        std::chrono::microseconds period) {
  fields_ = fields;
  PODGPU_RETURN_IF_ERROR(TakeEngineIfPossible());
  PODGPU_RETURN_IF_ERROR(ResetIfLacking());
  PODGPU_ASSIGN_OR_RETURN(WatchResult watched, With(*chosen_, [&](Source& source) {
                            return source.Watch(topology, fields, period);
                          }));
  return StandIn(std::move(watched));
}

Status AutoSource::Read(Grid& grid) {
  if (chosen_ == nullptr) {
    return absl::UnavailableError("no device source is chosen");
  }
  if (grid.findings.asked != asked_) {
    asked_ = grid.findings.asked;
    PODGPU_RETURN_IF_ERROR(ResetIfLacking());
  }
  return With(*chosen_, [&](Source& source) { return source.Read(grid); });
}

void AutoSource::Interrupt() noexcept {
  MutexLock lock(mutex_);
  if (running_ != nullptr) {
    running_->Interrupt();
  }
}

void AutoSource::Release() {
  if (chosen_ != nullptr) {
    With(*chosen_, [](Source& source) {
      source.Release();
      return true;
    });
  }
}

void AutoSource::SetProfiling(bool is_on) {
  profiles_ = is_on;
  if (chosen_ != nullptr) {
    chosen_->SetProfiling(is_on);
  }
}

void AutoSource::SetCollections(std::shared_ptr<const FieldCollections> collections) {
  collections_ = std::move(collections);
  if (chosen_ != nullptr) {
    chosen_->SetCollections(collections_);
  }
}

std::string AutoSource::Describe() const {
  MutexLock lock(mutex_);
  if (shown_ == nullptr) {
    return "no device source is chosen yet";
  }
  return why_.empty() ? shown_->Describe()
                      : absl::StrFormat("%s (chosen: %s)", shown_->Describe(), why_);
}

void AutoSource::Take(std::unique_ptr<Source> source, const char* name, std::string why) {
  if (!why.empty()) {
    Log(LogLevel::kInfo, "device source chosen", {{"source", name}, {"why", why}});
  }
  chosen_ = std::move(source);
  chosen_->SetProfiling(profiles_);
  chosen_->SetCollections(collections_);
  MutexLock lock(mutex_);
  shown_ = chosen_.get();
  why_ = std::move(why);
}

void AutoSource::Forget() {
  {
    MutexLock lock(mutex_);
    shown_ = nullptr;
  }
  nvml_ = nullptr;
  chosen_ = nullptr;
}

}  // namespace podgpu
