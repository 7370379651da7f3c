#include "cluster/in_use_query.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

#include "base/go_values.h"
#include "base/percent.h"
#include "base/text.h"
#include "cluster/json_columns.h"
#include "metrics_api/values/metrics_table.h"
#include "metrics_api/values/use_window.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShortestWindow{10'000};

StatusOr<milliseconds> ParseWindow(const std::string& text, milliseconds longest) {
  const auto window = ParseGoDuration(text);
  constexpr std::chrono::nanoseconds kStep = milliseconds(kWindowStepMs);
  if (!window || *window < kShortestWindow || *window > longest ||
      *window % kStep != kStep.zero()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "\"window\" is from 10s to %ds, in whole steps of 5s; --metrics-api-window sets how far "
        "samples reach back, at most 10m",
        std::chrono::duration_cast<std::chrono::seconds>(longest).count()));
  }
  return std::chrono::duration_cast<milliseconds>(*window);
}

StatusOr<AveragedMeasure> ParseMeasure(const std::string& text) {
  const auto* const found = std::ranges::find(kAveragedMeasureNames, std::string_view(text));
  if (found == kAveragedMeasureNames.end()) {
    return absl::InvalidArgumentError("\"measure\" is memory_copy, sm, tensor or memory_fill");
  }
  return static_cast<AveragedMeasure>(found - kAveragedMeasureNames.begin());
}

// A number with at most three decimals: autoscalers compute in thousandths.
std::string Thousandths(double number) {
  constexpr double kThousand = 1'000;
  return absl::StrFormat("%g", std::round(number * kThousand) / kThousand);
}

}  // namespace

StatusOr<InUseQuery> ParseInUseQuery(std::string_view text, milliseconds longest) {
  InUseQuery query;
  query.window = std::min(query.window, longest);
  std::string measure, window;
  const std::pair<std::string_view, std::string*> parameters[] = {
      {"namespace", &query.question.name_space},
      {"workload", &query.question.workload},
      {"model", &query.question.model},
      {"measure", &measure},
      {"window", &window}};
  for (auto& [name, value] : QueryParameters(text)) {
    const auto* const known =
        std::ranges::find(parameters, name, &std::pair<std::string_view, std::string*>::first);
    if (known == std::end(parameters)) {
      return absl::InvalidArgumentError(
          absl::StrFormat("there is no parameter %s; the parameters are namespace, workload, "
                          "model, measure and window",
                          Quoted(name)));
    }
    if (!known->second->empty()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("the parameter %s stands there twice", Quoted(name)));
    }
    *known->second = std::move(value);
  }
  if (!measure.empty()) {
    PODGPU_ASSIGN_OR_RETURN(query.question.measure, ParseMeasure(measure));
  }
  if (!window.empty()) {
    PODGPU_ASSIGN_OR_RETURN(query.window, ParseWindow(window, longest));
  }
  return query;
}

std::string WriteInUse(const InUseQuery& query, const InUseMean& mean, WallTime now) {
  constexpr int64_t kMicrosecondsPerMillisecond = 1'000;
  const int64_t now_ms = ToMicroseconds(now) / kMicrosecondsPerMillisecond;
  constexpr double kMillisecondsPerSecond = 1'000;
  const auto seconds = [](int64_t ms) {
    return Thousandths(static_cast<double>(ms) / kMillisecondsPerSecond);
  };
  JsonObject json;
  // KEDA takes 0 as "not in use".
  constexpr double kLeast = 0.001;
  const double value = mean.percent.value;
  json.Add("value", Thousandths(value > 0 ? std::max(value, kLeast) : 0));
  json.Add("unit", JsonText("percent"));
  json.Add("measure", JsonText(kAveragedMeasureNames[static_cast<size_t>(query.question.measure)]));
  json.Add("gpus_in_use", std::to_string(mean.in_use));
  json.Add("gpus", std::to_string(mean.devices));
  json.Add("oldest_sample_age_seconds",
           seconds(std::max<int64_t>(now_ms - mean.percent.oldest_ms, 0)));
  json.Add("window_seconds", seconds(query.window.count()));
  return json.Whole() + "\n";
}

}  // namespace podgpu
