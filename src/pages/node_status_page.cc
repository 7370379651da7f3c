#include "pages/node_status_page.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "base/version.h"
#include "pages/status_rows.h"

namespace podgpu {
namespace {

constexpr size_t kLeastGzipBytes = 16'384;  // About 16 GPUs.

void AddHistory(const GpuTimeline& timeline, NodeStatus& status) {
  status.history_step_ms = timeline.step().count();
  for (const StatusGpu& gpu : status.gpus) {
    GpuSamples samples = timeline.SamplesOf(gpu.uuid);
    status.history.push_back({gpu.index, std::move(samples.sm), std::move(samples.memory),
                              std::move(samples.power), std::move(samples.utilization)});
  }
}

}  // namespace

StatusOr<StatusParts> ParseStatusQuery(std::string_view query) {
  StatusParts parts;
  for (const std::string_view parameter : Split(query, '&')) {
    if (parameter == "processes=1") {
      parts.processes = true;
    } else if (parameter == "history=1") {
      parts.history = true;
    } else if (!parameter.empty()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "the parameters are \"processes=1\" and \"history=1\", not %s", Quoted(parameter)));
    }
  }
  return parts;
}

NodeStatus MakeNodeStatus(const NodeStatusFacts& facts, const StatusParts& parts) {
  NodeStatus status;
  status.version = kVersion;
  status.node = facts.node;
  status.source = facts.source;
  status.ready = facts.condition->ready;
  status.verdict = facts.condition->verdict;
  status.owners_known = facts.condition->owners_known;
  status.interval_ms = facts.interval.count();
  status.stale_after_ms = facts.stale_after.count();
  for (const PartCondition& part : facts.condition->parts) {
    status.parts.push_back({part.part, std::string(PartStateName(part.state)), part.detail});
  }
  const SnapshotParts& page = facts.snapshot->parts();
  if (page.grid != nullptr) {
    const UseCopy use = facts.copy_use();
    status.driver_version = page.grid->topology().driver_version;
    status.sampled_at_ms = ToMicroseconds(page.grid->read_at_wall) / 1000;
    AddDevices(facts, use, status);
    AddPods(facts, use, status);
    AddMissing(facts, use, status);
    if (parts.processes) {
      AddProcesses(facts, use, status);
    }
    if (parts.history) {
      AddHistory(facts.timeline, status);
    }
  }
  AddFaults(facts, status);
  status.self.series = facts.snapshot->series_count();
  status.self.slowest_scrape_seconds = facts.slowest_scrape_seconds;
  return status;
}

std::shared_ptr<const NodeStatus> NodeStatusPage::Of(const NodeStatusFacts& facts,
                                                     const StatusParts& parts) {
  if (facts.snapshot == nullptr || facts.condition == nullptr) {
    return nullptr;
  }
  Made& made = made_.at((parts.processes ? 1U : 0U) + (parts.history ? 2U : 0U));
  return made.status.Of({facts.snapshot->parts().tick, facts.condition}, [&](const NodeStatus*) {
    auto status = std::make_shared<NodeStatus>(MakeNodeStatus(facts, parts));
    const ProcessUsage& usage = usage_.At(facts.now);
    if (usage.resident_bytes && *usage.resident_bytes >= 0) {
      status->self.resident_bytes = static_cast<uint64_t>(*usage.resident_bytes);
    }
    status->self.cpu_ratio = CpuRatio(usage.cpu_seconds, facts.now);
    return status;
  });
}

std::shared_ptr<Document> NodeStatusPage::DocumentOf(const NodeStatusFacts& facts,
                                                     const StatusParts& parts) {
  const std::shared_ptr<const NodeStatus> status = Of(facts, parts);
  if (status == nullptr) {
    return nullptr;
  }
  Made& made = made_.at((parts.processes ? 1U : 0U) + (parts.history ? 2U : 0U));
  return made.document
      .Of(status,
          [&](const StatusDocument*) {
            return std::make_shared<const StatusDocument>(StatusDocument{
                MakeDocument(WriteNodeStatus(*status), "application/json", kLeastGzipBytes)});
          })
      ->document;
}

std::optional<double> NodeStatusPage::CpuRatio(double cpu_seconds, Instant now) {
  constexpr std::chrono::milliseconds kShortest{500};  // Shorter spans give no useful ratio.
  if (cpu_at_ && now - *cpu_at_ < kShortest) {
    return cpu_ratio_;
  }
  if (cpu_at_) {
    const double seconds = std::chrono::duration<double>(now - *cpu_at_).count();
    cpu_ratio_ = std::max(cpu_seconds - cpu_seconds_, 0.0) / seconds;
  }
  cpu_seconds_ = cpu_seconds;
  cpu_at_ = now;
  return cpu_ratio_;
}

}  // namespace podgpu
