#include "cluster/history_reader.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "base/percent.h"
#include "cluster/json_columns.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

constexpr int64_t kStepSeconds = 300;
constexpr size_t kSteps = 289;  // 24 hours, with both ends.
constexpr seconds kFailureStays{15};
constexpr size_t kMostWanted = 32;
constexpr size_t kMostKept = 512;
constexpr int kHistorySchema = 1;
constexpr double kMostPercent = 100;
constexpr double kInaccuracy = 1;  // Counters of the hardware give ratios just above 1.

TimeRange LastDay(WallTime now) {
  const int64_t now_s = std::chrono::floor<seconds>(now.time_since_epoch()).count();
  const int64_t end = now_s - now_s % kStepSeconds;
  return {.begin_s = end - static_cast<int64_t>(kSteps - 1) * kStepSeconds,
          .step_s = kStepSeconds,
          .count = kSteps};
}

std::string FormOf(const std::string& promql, const TimeRange& range) {
  return absl::StrFormat("query=%s&start=%d&end=%d&step=%d", PercentEncode(promql), range.begin_s,
                         range.begin_s + static_cast<int64_t>(range.count - 1) * range.step_s,
                         range.step_s);
}

History Absent(const TimeRange& range, std::string reason) {
  return {.times = range, .percent = {}, .absent = std::move(reason)};
}

History HistoryIn(const std::string& body, const TimeRange& range, PrometheusReply& reply) {
  StatusOr<std::vector<std::optional<double>>> values = ReadPrometheusRange(body, range);
  if (!values.ok()) {
    reply.result = FetchResult::kNotUnderstood;
    reply.detail = std::string(values.status().message());
    return Absent(range, reply.detail);
  }
  for (std::optional<double>& value : *values) {
    if (value && (*value < 0 || *value > kMostPercent + kInaccuracy)) {
      value.reset();  // No GPU has such a value.
    } else if (value) {
      value = std::min(*value, kMostPercent);
    }
  }
  if (std::ranges::none_of(*values, [](const auto& value) { return value.has_value(); })) {
    return Absent(range, "Prometheus has no values of the last 24 hours");
  }
  return {.times = range, .percent = *std::move(values), .absent = {}};
}

}  // namespace

HistoryReader::HistoryReader(PrometheusClientOptions options, const Files& files, Resolver resolve,
                             Clock& clock)
    : clock_(clock), client_(std::move(options), files, std::move(resolve), clock) {}

std::shared_ptr<const History> HistoryReader::Find(const std::string& key) const {
  const auto kept = kept_.find(key);
  return kept == kept_.end() || clock_.Now() >= kept->second.until ? nullptr : kept->second.history;
}

std::shared_ptr<const History> HistoryReader::Known(const std::string& key) {
  const MutexLock lock(mutex_);
  return Find(key);
}

std::shared_ptr<const History> HistoryReader::Of(const std::string& key,
                                                 const std::string& promql) {
  {
    // One lock for both questions: an answer that came between them would be asked for again.
    const MutexLock lock(mutex_);
    if (std::shared_ptr<const History> known = Find(key)) {
      return known;
    }
    if (std::ranges::find(wanted_, key, &Wanted::key) != wanted_.end()) {
      return nullptr;
    }
    if (wanted_.size() >= kMostWanted) {
      return std::make_shared<const History>(Absent(
          LastDay(clock_.WallNow()), "too many histories are requested at once; ask again later"));
    }
    wanted_.push_back({key, promql});
  }
  wakeup_.Nudge();
  return nullptr;
}

bool HistoryReader::IsWanted(const std::string& key) {
  const MutexLock lock(mutex_);
  return std::ranges::find(wanted_, key, &Wanted::key) != wanted_.end();
}

HistoryCounts HistoryReader::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

void HistoryReader::Run(const std::stop_token& stop) {
  constexpr std::chrono::hours kLong{1};
  const std::stop_callback wake(stop, [this] { client_.Interrupt(); });
  do {
    while (!stop.stop_requested() && AskNext(stop)) {
    }
  } while (wakeup_.SleepUntil(clock_, clock_.Now() + kLong, stop));
}

bool HistoryReader::AskNext(const std::stop_token& stop) {
  const std::optional<Wanted> wanted = Next();
  if (!wanted) {
    return false;
  }
  Ask(*wanted, stop);
  return true;
}

std::optional<HistoryReader::Wanted> HistoryReader::Next() {
  const MutexLock lock(mutex_);
  return wanted_.empty() ? std::nullopt : std::optional(wanted_.front());
}

void HistoryReader::Ask(const Wanted& wanted, const std::stop_token& stop) {
  const TimeRange range = LastDay(clock_.WallNow());
  client_.Prepare();
  PrometheusReply reply = client_.Post("/api/v1/query_range", FormOf(wanted.promql, range), stop);
  if (stop.stop_requested()) {
    return;
  }
  auto history = std::make_shared<const History>(
      IsGood(reply.result) ? HistoryIn(reply.body, range, reply)
                           : Absent(range, "Prometheus does not answer: " + reply.detail));
  Note(reply);
  const int64_t next_s = range.begin_s + static_cast<int64_t>(range.count) * range.step_s;
  const auto until_next = WallTime(seconds(next_s)) - clock_.WallNow();
  Keep(wanted.key, std::move(history),
       IsGood(reply.result) ? std::chrono::duration_cast<Duration>(until_next)
                            : Duration(kFailureStays));
}

void HistoryReader::Note(const PrometheusReply& reply) {
  const FailureChange change = failures_.Take(reply, clock_.Now());
  if (change == FailureChange::kFails) {
    Log(LogLevel::kWarn, "request for history to Prometheus failed; the fleet page says so",
        {{"detail", reply.detail}});
  } else if (change == FailureChange::kSucceedsAgain) {
    Log(LogLevel::kInfo, "Prometheus answers requests for history again",
        {{"detail", "the last query succeeded"}});
  }
  const MutexLock lock(mutex_);
  ++counts_[static_cast<size_t>(reply.result)];
}

void HistoryReader::Keep(const std::string& key, std::shared_ptr<const History> history,
                         Duration duration) {
  const MutexLock lock(mutex_);
  const Instant now = clock_.Now();
  if (kept_.size() >= kMostKept) {
    std::erase_if(kept_, [now](const auto& entry) { return entry.second.until <= now; });
  }
  if (kept_.size() >= kMostKept) {
    kept_.clear();
  }
  kept_[key] = {std::move(history), now + std::max(duration, Duration(seconds(1)))};
  wanted_.pop_front();
}

std::string WriteHistory(const History& history) {
  JsonObject json;
  json.Add("schema", std::to_string(kHistorySchema));
  json.Add("begin_s", std::to_string(history.times.begin_s));
  json.Add("step_s", std::to_string(history.times.step_s));
  JsonColumn percent;
  for (const std::optional<double>& value : history.percent) {
    percent.AddRounded(value);
  }
  json.Add("activity_percent", percent.Whole());
  if (!history.absent.empty()) {
    json.Add("absent", JsonText(history.absent));
  }
  return json.Whole() + '\n';
}

}  // namespace podgpu
