#include "metrics_api/values/window_tables.h"

#include <algorithm>

#include "base/log.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kKeptWithoutQuestionMs = 3'600'000;
// Each table costs memory, and time every 5 s.
constexpr size_t kMostTables = 4;
constexpr int64_t kTableWithoutQuestionMs = 60'000;

int64_t MillisecondsOf(WallTime now) {
  constexpr int64_t kMicrosecondsPerMillisecond = 1'000;
  return ToMicroseconds(now) / kMicrosecondsPerMillisecond;
}

// Whether a table with this end answers a question now. The clock may have been set back.
bool IsNew(const MetricsTable& table, int64_t now_ms) {
  return table.end_ms <= now_ms && now_ms < table.end_ms + kWindowStepMs;
}

}  // namespace

void WindowTables::ForgetOldQuestions(int64_t now_ms) {
  if (!asked_ms_ || now_ms < *asked_ms_ + kKeptWithoutQuestionMs) {
    return;
  }
  asked_ms_.reset();
  made_.clear();
  if (!publishes_) {
    Log(LogLevel::kInfo, "samples for /api/v1/in-use are dropped: no question for an hour");
    window_.Take({});
  }
  Measure();
}

void WindowTables::Take(const Nodes& nodes) {
  WindowFleet fleet = nodes();
  window_.Take(fleet.nodes, std::move(fleet.absent));
}

void WindowTables::Measure() {
  points_ = window_.points();
  size_t bytes = window_.bytes();
  if (const auto newest = newest_.Get()) {
    bytes += newest->bytes();
  }
  for (const Made& made : made_) {
    bytes += made.table->bytes();
  }
  bytes_ = bytes;
}

void WindowTables::Feed(const Nodes& nodes, WallTime now, const NodeLabelMap* labels) {
  const int64_t now_ms = MillisecondsOf(now);
  MutexLock lock(mutex_);
  ForgetOldQuestions(now_ms);
  if (!KeepsSamples()) {
    return;
  }
  Take(nodes);
  const int64_t end_ms = now_ms / kWindowStepMs * kWindowStepMs;
  if (!publishes_ || end_ms == published_end_ms_) {
    return;
  }
  published_end_ms_ = end_ms;
  newest_.Set(window_.MakeTable(end_ms, length_, labels));
  Measure();
}

StatusOr<std::shared_ptr<const MetricsTable>> WindowTables::Of(milliseconds length,
                                                               const Nodes& nodes, WallTime now) {
  const int64_t now_ms = MillisecondsOf(now);
  MutexLock lock(mutex_);
  ForgetOldQuestions(now_ms);
  if (!KeepsSamples()) {
    Log(LogLevel::kInfo, "samples for /api/v1/in-use are kept from now on");
    Take(nodes);
  }
  asked_ms_ = now_ms;
  std::erase_if(made_, [&](const Made& made) {
    return made.length != length && now_ms >= made.asked_ms + kTableWithoutQuestionMs;
  });
  auto made = std::ranges::find(made_, length, &Made::length);
  if (made == made_.end()) {
    if (made_.size() == kMostTables) {
      return absl::ResourceExhaustedError(
          "questions of the last minute were about four other windows; use one of those");
    }
    made = made_.insert(made, Made{length, 0, nullptr});
  }
  made->asked_ms = now_ms;
  if (made->table == nullptr || !IsNew(*made->table, now_ms)) {
    made->table = window_.MakeTable(now_ms, length, nullptr, UseWindow::Content::kDevices);
    Measure();
  }
  return made->table;
}

}  // namespace podgpu
