#include "exporter/counters_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "kube/api_mirror.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{1'000};
constexpr milliseconds kLongestPause{30'000};
// The pause where a person must act: grant a right (also the right to watch) or make the ConfigMap.
constexpr milliseconds kPauseForAPerson{60'000};

// An API server that is starting refuses for a moment although it granted the right before, so only
// a right that was never granted needs a person.
bool NeedsAPerson(const ApiRound& round) {
  return round.status.code() == absl::StatusCode::kNotFound ||
         (round.status.code() == absl::StatusCode::kPermissionDenied && !round.was_allowed);
}

}  // namespace

CountersSource::CountersSource(CountersSourceOptions options, const Files& files, Clock& clock)
    : options_(std::move(options)),
      files_(files),
      clock_(clock),
      file_(options_.path, files, options_.release, options_.setting) {
  ConfigMapFacts first;
  if (options_.config_map && !options_.server.ok()) {
    first.answered = true;
    first.trouble = std::string(options_.server.status().message());
  }
  facts_.Set(std::make_shared<const ConfigMapFacts>(first));
  if (options_.config_map && options_.server.ok()) {
    thread_.Start([this](const std::stop_token& stop) { Follow(*options_.server, stop); },
                  "counters");
  }
}

StatusOr<Counters> CountersSource::Load() {
  if (!options_.config_map) {
    return LoadFile();
  }
  AwaitAnswer();
  const std::shared_ptr<const ConfigMapFacts> facts = facts_.Get();
  if (facts->exists) {
    return Judge(*facts);
  }
  Log(LogLevel::kWarn, "cannot read the counters ConfigMap; using the counters file",
      {{"configmap", Named()}, {"file", file_.path()}, {"reason", TroubleIn(*facts)}});
  return LoadFile();
}

StatusOr<Counters> CountersSource::LoadFile() {
  return options_.list ? StatusOr<Counters>(*options_.list) : file_.Load();
}

std::optional<StatusOr<Counters>> CountersSource::LoadIfChanged() {
  const std::shared_ptr<const ConfigMapFacts> facts = facts_.Get();
  if (!judged_ && !facts->exists) {
    return options_.list ? std::nullopt : file_.LoadIfChanged();
  }
  if (judged_ && judged_->SaysTheSame(*facts)) {
    return std::nullopt;
  }
  return Judge(*facts);
}

std::string CountersSource::warning() const {
  if (!options_.config_map || judged_) {
    return {};
  }
  return absl::StrFormat(
      "--configmap-data: podgpu cannot read %s and uses the counters file until it can: %s",
      Named(), TroubleIn(*facts_.Get()));
}

std::string CountersSource::TroubleIn(const ConfigMapFacts& facts) {
  return facts.answered ? facts.trouble : "the API server has not answered yet";
}

// Publishes each change at once.  The pauses are between failed requests, and longer where a person
// must act.
void CountersSource::Follow(const ApiServerOptions& server, const std::stop_token& stop) {
  ApiMirror mirror(server, *options_.config_map, files_);
  bool is_told = false;  // `take` was called in this pass.
  const auto take = [&] {
    is_told = true;
    ConfigMapFacts next{.answered = true, .exists = false, .metrics = {}, .trouble = {}};
    for (const auto& [key, object] : mirror.objects()) {
      next.exists = true;
      next.metrics = object.metrics;
    }
    next.trouble = next.exists ? "" : Named() + " does not exist";
    Publish(std::move(next));
  };
  milliseconds pause = kFirstPause;
  while (!stop.stop_requested()) {
    is_told = false;
    const ApiRound round = mirror.Follow(stop, take);
    if (round.status.ok()) {
      pause = kFirstPause;  // A watch that ended normally continues from its last version.
    } else if (!stop.stop_requested()) {
      ConfigMapFacts next = *facts_.Get();
      next.answered = true;
      next.trouble = std::string(round.status.message());
      if (!is_told && round.status.code() == absl::StatusCode::kNotFound) {
        next.exists = false;
      }
      Publish(std::move(next));
      pause = NeedsAPerson(round) ? kPauseForAPerson : std::min(2 * pause, kLongestPause);
    }
    const Duration asked = round.retry_after.value_or(std::chrono::seconds(0));
    if (!clock_.WaitUntil(clock_.Now() + std::max<Duration>(pause, asked), stop)) {
      return;
    }
  }
}

void CountersSource::Publish(ConfigMapFacts next) {
  facts_.Set(std::make_shared<const ConfigMapFacts>(std::move(next)));
  answered_.Nudge();
}

void CountersSource::AwaitAnswer() {
  const std::stop_token never;
  const Instant deadline = clock_.Now() + options_.patience;
  while (!facts_.Get()->answered && clock_.Now() < deadline) {
    answered_.SleepUntil(clock_, deadline, never);
  }
}

StatusOr<Counters> CountersSource::Judge(const ConfigMapFacts& facts) {
  judged_ = facts;
  if (!facts.exists) {
    return absl::InvalidArgumentError(
        Named() +
        " was deleted; the last list stays in use. Create it again, or start without "
        "--configmap-data");
  }
  if (!facts.metrics) {
    return absl::InvalidArgumentError(Named() +
                                      " has no key \"metrics\". Put the counters file under it");
  }
  PODGPU_ASSIGN_OR_RETURN(Counters counters, ParseList(*facts.metrics, Named(), options_.release));
  if (counters.counters.empty()) {
    return absl::InvalidArgumentError(Named() +
                                      " lists no metric under the key \"metrics\". Add a line");
  }
  return counters;
}

std::string CountersSource::Named() const {
  const ConfigMapName name = options_.config_map.value_or(ConfigMapName());
  return absl::StrFormat("ConfigMap %s/%s", name.name_space, name.name);
}

}  // namespace podgpu
