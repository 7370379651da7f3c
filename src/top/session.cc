#include "top/session.h"

#include <algorithm>
#include <ctime>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "top/read_explanation.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kMicrosecondsPerMillisecond = 1'000;
constexpr std::string_view kExplainPath = "/api/v1/explain?gpu=";
constexpr int kTicksBetweenExplanations = 5;
constexpr int kUnchanged = 304;

int64_t WallMs(const Clock& clock) {
  return ToMicroseconds(clock.WallNow()) / kMicrosecondsPerMillisecond;
}

int64_t MsBetween(Instant from, Instant to) {
  return std::chrono::duration_cast<milliseconds>(to - from).count();
}

int64_t UtcOffset(int64_t now_ms) {
  const auto now = static_cast<time_t>(now_ms / 1'000);
  tm local{};
  return ::localtime_r(&now, &local) == nullptr ? 0 : local.tm_gmtoff;
}

}  // namespace

TopSession::TopSession(const TopOptions& options, Clock& clock)
    : clock_(clock), is_fleet_(options.is_fleet), ascii_(options.ascii), link_(clock.Now()) {
  view_.interval = options.interval;
  view_.colour = options.colour;
  node_.url = fleet_.url = options.url;
  node_.utc_offset_s = fleet_.utc_offset_s = UtcOffset(WallMs(clock));
  node_ms_at_ = WallMs(clock);
  status_at_ = clock.Now();
}

std::string TopSession::StatusPath(Size size) const {
  if (is_fleet_) {
    return "/api/v1/fleet";
  }
  const ShownParts parts = PartsOf(view_, size);
  std::string path = "/api/v1/status";
  char separator = '?';
  for (const auto& [is_wanted, name] :
       {std::pair(parts.processes, "processes=1"), std::pair(parts.history, "history=1")}) {
    if (is_wanted) {
      absl::StrAppendFormat(&path, "%c%s", separator, name);
      separator = '&';
    }
  }
  return path;
}

std::optional<TopSession::Question> TopSession::NextQuestion(Size size) {
  const Instant now = clock_.Now();
  if (!link_.IsDue(now) || (view_.is_paused && has_answer())) {
    return std::nullopt;
  }
  link_.Asked(now);
  if (!is_fleet_ && node_.status && PartsOf(view_, size).explanation && link_.failure().empty()) {
    const std::optional<uint32_t> gpu = GpuToExplain(*node_.status, view_, node_.now_ms);
    const bool is_other = gpu && (!node_.explanation || node_.explained_gpu != *gpu);
    if (gpu && !wants_status_first_ &&
        (is_other || since_explained_ >= kTicksBetweenExplanations)) {
      since_explained_ = 0;
      wants_status_first_ = true;  // Two explanations never follow each other.
      return Question{absl::StrFormat("%s%d", kExplainPath, *gpu), ""};
    }
  }
  ++since_explained_;
  wants_status_first_ = false;
  const std::string path = StatusPath(size);
  return Question{path, path == status_path_ && !is_withdrawn_ ? etag_ : ""};
}

void TopSession::TakeAnswer(const Question& question, StatusOr<HttpAnswer> answer) {
  const Instant now = clock_.Now();
  if (!answer.ok()) {
    link_.Failed(now, std::string(answer.status().message()));
    return;
  }
  const bool is_explanation = question.path.starts_with(kExplainPath);
  const Status taken = is_explanation ? TakeExplanation(question, *answer) : TakeStatus(*answer);
  if (!taken.ok()) {
    link_.Failed(now, std::string(taken.message()));
    return;
  }
  link_.Answered(now, view_.interval);
  if (!is_explanation) {
    status_path_ = question.path;
    if (answer->status != kUnchanged) {
      etag_ = answer->etag;
    }
  }
}

Status TopSession::TakeStatus(const HttpAnswer& answer) {
  if (answer.status == kUnchanged) {
    return absl::OkStatus();
  }
  if (is_fleet_) {
    PODGPU_ASSIGN_OR_RETURN(fleet_.fleet, ReadFleet(answer.body));
  } else {
    PODGPU_ASSIGN_OR_RETURN(node_.status, ReadNodeStatus(answer.body));
  }
  is_withdrawn_ = false;
  status_at_ = clock_.Now();
  node_ms_at_ = WallMs(clock_);
  const std::optional<int64_t> sampled_at_ms =
      is_fleet_ || !node_.status ? std::optional<int64_t>() : node_.status->sampled_at_ms;
  if (sampled_at_ms && answer.exact_age) {
    node_ms_at_ = *sampled_at_ms + answer.exact_age->count();
  }
  return absl::OkStatus();
}

Status TopSession::TakeExplanation(const Question& question, const HttpAnswer& answer) {
  PODGPU_ASSIGN_OR_RETURN(node_.explanation, ReadExplanation(answer.body));
  const std::string_view number = std::string_view(question.path).substr(kExplainPath.size());
  node_.explained_gpu = static_cast<uint32_t>(ParseDecimal(number).value_or(0));
  return absl::OkStatus();
}

// A paused frame stands still.
void TopSession::RefreshTimes() {
  const Instant now = clock_.Now();
  const bool stands = view_.is_paused && has_answer() && link_.failure().empty();
  if (!stands) {
    node_.now_ms = fleet_.now_ms = node_ms_at_ + MsBetween(status_at_, now);
  }
  node_.failure = fleet_.failure = link_.failure();
  node_.silent_for_ms = fleet_.silent_for_ms = MsBetween(link_.heard_at(), now);
  node_.next_try_in_ms = fleet_.next_try_in_ms = MsBetween(now, link_.next_at());
  if (node_.status && !node_.failure.empty() && !is_withdrawn_) {
    const int64_t age = node_.now_ms - node_.status->sampled_at_ms.value_or(node_ms_at_);
    if (age > node_.status->stale_after_ms) {
      node_.status = WithoutValues(*std::move(node_.status));
      is_withdrawn_ = true;
    }
  }
}

PressResult TopSession::Press(const KeyPress& key, Size size) {
  RefreshTimes();
  const PressContext context =
      is_fleet_ ? FleetContext(fleet_, view_, size) : ContextOf(node_, view_, size);
  const ShownParts before = PartsOf(view_, size);
  const PressResult result = podgpu::Press(key, context, view_);
  if (!is_fleet_ && (PartsOf(view_, size) != before || view_.pane == Pane::kExplain)) {
    link_.Hurry(clock_.Now());
  }
  return result;
}

Canvas TopSession::Draw(Size size) {
  RefreshTimes();
  return is_fleet_ ? DrawFleet(fleet_, view_, size, ascii_)
                   : DrawTop(node_, view_, size, {.ascii = ascii_});
}

std::string TopSession::DrawAll(size_t columns) {
  RefreshTimes();
  return is_fleet_ ? DrawFleetOnce(fleet_, view_, columns, ascii_)
                   : DrawOnce(node_, view_, columns, {.ascii = ascii_});
}

Instant TopSession::NextWake() const {
  const Instant second = clock_.Now() + std::chrono::seconds(1);
  return link_.is_asking() || view_.is_paused ? second : std::min(second, link_.next_at());
}

}  // namespace podgpu
