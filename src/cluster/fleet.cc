#include "cluster/fleet.h"

#include <algorithm>

#include "base/status.h"

namespace podgpu {
namespace {

constexpr std::string_view kResultNames[] = {
    "ok",     "unchanged", "no_connection",  "timeout", "tls",       "too_large",
    "broken", "refused",   "not_understood", "schema",  "wrong_node"};
static_assert(std::size(kResultNames) == kFetchResultCount);

bool HaveTheSameOwners(const DeviceUse& a, const DeviceUse& b) {
  return a.owners == b.owners && a.hidden_owners == b.hidden_owners;
}

bool AreTheSameInstance(const ReportedInstance& a, const ReportedInstance& b) {
  return a.gpu_instance_id == b.gpu_instance_id && HaveTheSameOwners(a.use, b.use);
}

bool AreTheSameGpu(const ReportedGpu& a, const ReportedGpu& b) {
  return a.index == b.index && a.uuid == b.uuid && a.model == b.model &&
         HaveTheSameOwners(a.use, b.use) &&
         std::ranges::equal(a.instances, b.instances, AreTheSameInstance);
}

}  // namespace

std::string_view FetchResultName(FetchResult result) {
  const auto index = static_cast<size_t>(result);
  PODGPU_CHECK(index < std::size(kResultNames));
  return kResultNames[index];
}

FetchResult FetchResultOf(const Status& failure) {
  switch (failure.code()) {
    case absl::StatusCode::kDeadlineExceeded:
      return FetchResult::kTimeout;
    case absl::StatusCode::kUnauthenticated:
      return FetchResult::kTls;
    case absl::StatusCode::kResourceExhausted:
      return FetchResult::kTooLarge;
    case absl::StatusCode::kDataLoss:
      return FetchResult::kBroken;
    default:
      return FetchResult::kNoConnection;
  }
}

bool NameTheSameHolders(const NodeReport& a, const NodeReport& b) {
  return a.node == b.node && std::ranges::equal(a.gpus, b.gpus, AreTheSameGpu);
}

}  // namespace podgpu
