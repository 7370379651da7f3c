#include "top/session.h"

#include <algorithm>
#include <ctime>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "base/version.h"
#include "top/fetch.h"
#include "top/read_explanation.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kMicrosecondsPerMillisecond = 1'000;
constexpr int kTicksBetweenExplanations = 5;
// An answer that takes longer is late: the frame says so, and the age of its values counts.
constexpr milliseconds kUsualPatience{2'000};
// The cluster role does not tell when values of its nodes are too old.
constexpr milliseconds kOldFleet{60'000};
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

// Moves what was read into `shown`; an answer that top cannot read leaves it.
template <typename Type>
Status Taken(StatusOr<Type> read, std::optional<Type>& shown) {
  if (absl::IsUnimplemented(read.status())) {
    return read.status();  // Another schema; it says what to do.
  }
  if (!read.ok()) {
    return absl::FailedPreconditionError(
        absl::StrFormat("podgpu top %s cannot read its answer: %s; use the same release on both "
                        "sides",
                        kVersion, read.status().message()));
  }
  shown = *std::move(read);
  return absl::OkStatus();
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
    const std::string epoch = columns_.epoch();
    return epoch.empty() || is_withdrawn_ ? "/api/v1/fleet" : "/api/v1/fleet?epoch=" + epoch;
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

// An explanation takes the place of a status in every fifth tick, and at once for another GPU.
std::optional<TopSession::Question> TopSession::ExplanationQuestion(Size size) {
  if (is_fleet_ || wants_status_first_ || !node_.status || !link_.failure().empty() ||
      !PartsOf(view_, size).explanation) {
    return std::nullopt;
  }
  const std::optional<uint32_t> gpu = GpuToExplain(*node_.status, view_, node_.now_ms);
  const bool is_other = gpu && (!node_.has_explanation() || node_.explained_gpu != *gpu);
  if (!gpu || (!is_other && since_explained_ < kTicksBetweenExplanations)) {
    return std::nullopt;
  }
  since_explained_ = 0;
  wants_status_first_ = true;  // Two explanations never follow each other.
  return Question{absl::StrFormat("%s%d", kTopExplainPath, *gpu), ""};
}

std::optional<TopSession::Question> TopSession::NextQuestion(Size size) {
  const Instant now = clock_.Now();
  if (!link_.IsDue(now) || (Stands() && !LacksParts(size))) {
    return std::nullopt;
  }
  link_.Asked(now);
  shows_explanation_ = PartsOf(view_, size).explanation;
  if (auto explanation = ExplanationQuestion(size)) {
    return explanation;
  }
  ++since_explained_;
  wants_status_first_ = false;
  const std::string path = StatusPath(size);
  const bool is_known = is_fleet_ || path == status_path_;
  return Question{path, is_known && !is_withdrawn_ ? etag_ : ""};
}

void TopSession::TakeAnswer(const Question& question, StatusOr<HttpAnswer> answer) {
  const Instant now = clock_.Now();
  const bool is_explanation = question.path.starts_with(kTopExplainPath);
  const Status taken = is_explanation ? TakeExplanation(question, answer)
                       : answer.ok()  ? TakeStatus(question, *answer)
                                      : answer.status();
  if (!taken.ok()) {
    link_.Failed(now, std::string(taken.message()), HasAnswered(taken));
    return;
  }
  link_.Answered(now, view_.interval);
  if (!is_explanation) {
    if (!is_fleet_ && !node_.has_explanation() && shows_explanation_) {
      link_.Hurry(now);  // The first one does not wait for a tick.
    }
    status_path_ = question.path;
    if (answer->status != kUnchanged) {
      etag_ = answer->etag;
    }
  }
}

Status TopSession::TakeStatus(const Question& question, const HttpAnswer& answer) {
  if (answer.status == kUnchanged) {
    return absl::OkStatus();
  }
  if (is_fleet_) {
    PODGPU_RETURN_IF_ERROR(Taken(columns_.Take(answer.body), fleet_.fleet));
  } else {
    PODGPU_RETURN_IF_ERROR(Taken(ReadNodeStatus(answer.body), node_.status));
    node_.has_processes = question.path.find("processes=1") != std::string::npos;
  }
  is_withdrawn_ = fleet_.is_old = false;
  status_at_ = clock_.Now();
  node_ms_at_ = WallMs(clock_);
  const std::optional<int64_t> sampled_at_ms =
      is_fleet_ || !node_.status ? std::optional<int64_t>() : node_.status->sampled_at_ms;
  if (sampled_at_ms && answer.exact_age) {
    node_ms_at_ = *sampled_at_ms + answer.exact_age->count();
  }
  return absl::OkStatus();
}

// Only a lost connection is a failure of the whole screen; all else is told in the pane.
Status TopSession::TakeExplanation(const Question& question, const StatusOr<HttpAnswer>& answer) {
  if (!answer.ok() && !HasAnswered(answer.status())) {
    return answer.status();
  }
  const std::string_view number = std::string_view(question.path).substr(kTopExplainPath.size());
  node_.explained_gpu = static_cast<uint32_t>(ParseDecimal(number).value_or(0));
  StatusOr<Explanation> explanation = answer.ok() ? ReadExplanation(answer->body) : answer.status();
  node_.explanation.reset();
  node_.explanation_failure.clear();
  if (explanation.ok()) {
    node_.explanation = *std::move(explanation);
  } else {
    node_.explanation_failure = std::string(explanation.status().message());
  }
  return absl::OkStatus();
}

// A paused frame stands still.
bool TopSession::Stands() const {
  return view_.is_paused && has_answer() && link_.failure().empty();
}

// Returns whether the frame shows a part that was never asked for; also a paused one gets it.
bool TopSession::LacksParts(Size size) const {
  if (is_fleet_ || !node_.status) {
    return false;
  }
  const ShownParts parts = PartsOf(view_, size);
  const std::optional<uint32_t> gpu = GpuToExplain(*node_.status, view_, node_.now_ms);
  const bool lacks_explanation =
      parts.explanation && gpu && (!node_.has_explanation() || node_.explained_gpu != *gpu);
  return lacks_explanation || (parts.processes && !node_.has_processes);
}

void TopSession::RefreshTimes() {
  const Instant now = clock_.Now();
  if (!Stands()) {
    node_.now_ms = fleet_.now_ms = node_ms_at_ + MsBetween(status_at_, now);
  }
  node_.silence.failure = link_.failure();
  node_.silence.has_answered = link_.has_answered();
  node_.silence.silent_for_ms = MsBetween(link_.heard_at(), now);
  node_.silence.next_try_in_ms = link_.is_asking() ? 0 : MsBetween(now, link_.next_at());
  if (link_.failure().empty() && link_.is_asking() && now - link_.asked_at() >= kUsualPatience) {
    node_.silence.failure = "it takes long";
    node_.silence.has_answered = false;
  }
  fleet_.silence = node_.silence;
  if (has_answer() && !node_.silence.failure.empty() && !is_withdrawn_) {
    WithdrawOldValues();
  }
}

void TopSession::WithdrawOldValues() {
  const int64_t sampled_at_ms =
      node_.status ? node_.status->sampled_at_ms.value_or(node_ms_at_) : node_ms_at_;
  const int64_t limit_ms = node_.status ? node_.status->stale_after_ms : kOldFleet.count();
  if (node_.now_ms - sampled_at_ms <= limit_ms) {
    return;
  }
  is_withdrawn_ = true;
  fleet_.is_old = true;
  node_.explanation.reset();
  node_.explanation_failure.clear();
  if (node_.status) {
    node_.status = WithoutValues(*std::move(node_.status));
  }
}

PressResult TopSession::Press(const KeyPress& key, Size size) {
  RefreshTimes();
  const PressContext context =
      is_fleet_ ? FleetContext(fleet_, view_, size) : ContextOf(node_, view_, size);
  const milliseconds interval = view_.interval;
  const PressResult result = podgpu::Press(key, context, view_);
  if (LacksParts(size) || view_.interval != interval) {
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
