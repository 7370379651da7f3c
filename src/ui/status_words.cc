#include "ui/status_words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

constexpr double kHundred = 100;
constexpr double kBytesPerGib = 1024.0 * 1024 * 1024;
constexpr double kBytesPerMib = 1024.0 * 1024;
constexpr double kJoulesPerWh = 3600;
constexpr double kWhPerKwh = 1000;
constexpr double kMsPerSecond = 1000;
// From here on, the total memory of a device is written without a fraction.
constexpr double kLargeGib = 20;
constexpr double kPlotWidth = 300;
constexpr const char* kAbsent = "-";
constexpr const char* kStartingVerdict = "starting: the first page is not ready yet";
constexpr const char* kToldAbove = "the fault above says why";

// Most severe first.
constexpr std::array<std::string_view, 7> kStates = {
    "lost", "unresponsive", "recovering", "degraded", "waiting", "starting", "ok"};

// Rounds halves up, as the script does; printf rounds them to even.
double Rounded(double number, double scale = 1) { return std::floor(number * scale + 0.5) / scale; }

std::string Whole(double number) { return absl::StrFormat("%.0f", Rounded(number)); }
std::string Tenths(double number) { return absl::StrFormat("%.1f", Rounded(number, 10)); }

std::string WithCommas(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3; at -= 3) {
    digits.insert(at - 3, ",");
  }
  return digits;
}

void AppendListed(std::string_view part, std::string& list, std::string_view between = ", ") {
  list += list.empty() ? "" : between;
  list += part;
}

bool IsFault(const NodeStatus& status, std::string_view text) {
  return std::ranges::any_of(
      status.faults, [text](const StatusFault& fault) { return fault.text.starts_with(text); });
}

}  // namespace

std::string PercentWords(const std::optional<double>& ratio) {
  return ratio ? Whole(*ratio * kHundred) + " %" : kAbsent;
}

std::string MemoryWords(const std::optional<uint64_t>& used, const std::optional<uint64_t>& total) {
  if (!used) {
    return kAbsent;
  }
  const std::string gib = Tenths(static_cast<double>(*used) / kBytesPerGib);
  if (!total) {
    return gib + " GiB";
  }
  const double whole = static_cast<double>(*total) / kBytesPerGib;
  return absl::StrFormat("%s of %s GiB", gib, whole < kLargeGib ? Tenths(whole) : Whole(whole));
}

std::string PowerWords(const std::optional<double>& watts, const std::optional<double>& limit) {
  if (!watts) {
    return kAbsent;
  }
  return limit ? absl::StrFormat("%s of %s W", Whole(*watts), Whole(*limit)) : Whole(*watts) + " W";
}

std::string PowerWords(const StatusUse& use) {
  const std::string mark = use.is_apportioned && use.power_watts ? "~" : "";
  return mark + PowerWords(use.power_watts, std::nullopt);
}

std::string EnergyWords(const std::optional<double>& joules) {
  if (!joules) {
    return kAbsent;
  }
  const double wh = *joules / kJoulesPerWh;
  if (wh >= kWhPerKwh) {
    return Tenths(wh / kWhPerKwh) + " kWh";
  }
  return (wh < kHundred ? Tenths(wh) : Whole(wh)) + " Wh";
}

std::string EnergyWords(const StatusUse& use) {
  return (use.is_apportioned && use.energy_joules ? "~" : "") + EnergyWords(use.energy_joules);
}

std::string TemperatureWords(const std::optional<double>& celsius) {
  return celsius ? Whole(*celsius) + " °C" : kAbsent;
}

std::string MethodWords(const StatusUse& use) {
  constexpr std::pair<std::string_view, std::string_view> kMethods[] = {
      {"exclusive", "measured"},
      {"sm_share", "apportioned by SM time"},
      {"equal", "apportioned in equal parts"},
      {"mig_activity", "apportioned by the activity of MIG instances"},
  };
  const auto* const found = std::ranges::find(
      kMethods, use.method, [](const auto& row) { return std::string(row.first); });
  if (found != std::end(kMethods)) {
    return std::string(found->second);
  }
  return use.method.empty() && use.is_apportioned ? "apportioned" : use.method;
}

std::string SpanWords(int64_t milliseconds) {
  constexpr int64_t kMinute = 60;
  constexpr int64_t kHour = 60;
  constexpr int64_t kDay = 24;
  const int64_t seconds = std::max<int64_t>(milliseconds, 0) / static_cast<int64_t>(kMsPerSecond);
  const int64_t minutes = seconds / kMinute;
  const int64_t hours = minutes / kHour;
  if (minutes < 1) {
    return absl::StrFormat("%ds", seconds);
  }
  if (hours < 1) {
    return absl::StrFormat("%dm", minutes);
  }
  return hours < kDay ? absl::StrFormat("%dh%02dm", hours, minutes % kHour)
                      : absl::StrFormat("%dd%dh", hours / kDay, hours % kDay);
}

std::string IdleWords(const std::optional<int64_t>& since_ms, bool is_longer, int64_t now_ms) {
  return since_ms
             ? absl::StrFormat("idle %s%s", is_longer ? ">" : "", SpanWords(now_ms - *since_ms))
             : "";
}

std::string AgeWords(const NodeStatus& status, int64_t now_ms) {
  if (!status.sampled_at_ms) {
    return "no sample yet";
  }
  const int64_t age_ms = std::max<int64_t>(now_ms - *status.sampled_at_ms, 0);
  return absl::StrFormat("sample %s s old", Tenths(static_cast<double>(age_ms) / kMsPerSecond));
}

std::string HolderWords(const StatusHolder& holder) {
  const std::string pod = absl::StrFormat("%s/%s", holder.pod_namespace, holder.pod);
  return holder.container.empty() ? pod : absl::StrFormat("%s (%s)", pod, holder.container);
}

std::string HoldersWords(const std::vector<StatusHolder>& holders, uint32_t hidden) {
  std::string list;
  for (const StatusHolder& holder : holders) {
    AppendListed(HolderWords(holder), list);
  }
  if (hidden > 0) {
    AppendListed(absl::StrFormat("%d in namespaces that are not shown", hidden), list);
  }
  return list;
}

std::string ShareWords(const StatusShare& share) {
  return share.holder ? HolderWords(*share.holder) : "unattributed";
}

std::string OwnerWords(const StatusInstance& instance, bool owners_known) {
  const std::string holders = HoldersWords(instance.holders, instance.hidden_holders);
  return !holders.empty() ? holders : owners_known ? "free" : "not known";
}

std::string InstanceWords(const StatusInstance& instance) {
  return absl::StrFormat("MIG %d, %s", instance.gpu_instance_id, instance.profile);
}

std::string SelfWords(const StatusSelf& self) {
  std::string words;
  if (self.resident_bytes) {
    words = Tenths(static_cast<double>(*self.resident_bytes) / kBytesPerMib) + " MiB";
  }
  if (self.cpu_ratio) {
    AppendListed(
        absl::StrFormat("%.2f %% of a core", Rounded(*self.cpu_ratio * kHundred, kHundred)), words);
  }
  AppendListed(WithCommas(self.series) + " series", words);
  if (self.slowest_scrape_seconds) {
    const std::string ms = Tenths(*self.slowest_scrape_seconds * kMsPerSecond);
    AppendListed(absl::StrFormat("slowest scrape %s ms", ms == "0.0" ? "under 0.1" : ms), words);
  }
  return words;
}

std::string ProcessWords(const StatusProcess& process) {
  std::string words = process.name.empty() ? kAbsent : process.name;
  if (process.holder) {
    AppendListed(HolderWords(*process.holder), words);
  }
  return words;
}

std::vector<StatusProcess> ProcessesByGpu(const NodeStatus& status) {
  std::vector<StatusProcess> processes = status.processes;
  std::ranges::sort(processes, {}, [](const StatusProcess& process) {
    return std::pair(process.gpu, process.pid);
  });
  return processes;
}

std::string DetailWords(const NodeStatus& status, const StatusPart& part) {
  return IsFault(status, absl::StrFormat("%s: %s", part.part, part.detail)) ? kToldAbove
                                                                            : part.detail;
}

std::string ReasonWords(const NodeStatus& status, const StatusMissing& missing) {
  return IsFault(status, missing.reason) ? kToldAbove : missing.reason;
}

std::string VerdictWords(const NodeStatus* status) {
  if (status == nullptr) {
    return kStartingVerdict;
  }
  const bool is_told = std::ranges::any_of(status->parts, [status](const StatusPart& part) {
    return status->verdict.find(part.detail) != std::string::npos &&
           DetailWords(*status, part) == kToldAbove;
  });
  return is_told ? status->verdict.substr(0, status->verdict.find(':')) : status->verdict;
}

std::string SentenceWords(std::string_view text) {
  std::string sentence(text);
  if (sentence.empty()) {
    return sentence;
  }
  if (sentence.front() >= 'a' && sentence.front() <= 'z') {
    sentence.front() = static_cast<char>(sentence.front() - 'a' + 'A');
  }
  return sentence.back() == '.' ? sentence : sentence + '.';
}

std::string CountWords(const NodeStatus& status) {
  std::string words;
  for (const std::string_view state : kStates) {
    const auto count = std::ranges::count(status.gpus, state, &StatusGpu::state);
    if (count > 0) {
      AppendListed(absl::StrFormat("%d %s", count, state), words);
    }
  }
  if (status.gpus.empty() && status.ready) {
    words = "no GPU";
  }
  for (const StatusPart& part : status.parts) {
    if (part.state != "ok") {
      AppendListed(absl::StrFormat("%s %s", part.part, part.state), words, "; ");
    }
  }
  return words.empty() ? status.verdict.substr(0, status.verdict.find(':')) : words;
}

bool ShowsUtilization(const NodeStatus& status) {
  const auto& gpus = status.gpus;
  return std::ranges::none_of(
             gpus, [](const StatusGpu& gpu) { return gpu.sm_active_ratio.has_value(); }) &&
         std::ranges::any_of(
             gpus, [](const StatusGpu& gpu) { return gpu.utilization_ratio.has_value(); });
}

std::optional<double> SmRatio(const StatusGpu& gpu, bool shows_utilization) {
  return shows_utilization ? gpu.utilization_ratio : gpu.sm_active_ratio;
}

bool IsFolded(const NodeStatus& status) {
  size_t rows = 0;
  for (const StatusGpu& gpu : status.gpus) {
    rows += gpu.shares.size() + gpu.instances.size();
  }
  return rows > kMostOpenRows;
}

std::string PlotPath(const std::vector<int8_t>& samples, int64_t step_ms) {
  const auto count = static_cast<int64_t>(samples.size());
  // One second is one unit wide.
  const double width = std::max(static_cast<double>(step_ms) / kMsPerSecond, 1.0);
  const auto x = [&](int64_t place) {
    return kPlotWidth - Rounded(static_cast<double>(count - place) * width, 10);
  };
  const auto at = [&](int64_t place) {
    return place < 0 || place >= count || x(place) < 0 ? int8_t{-1}
                                                       : samples[static_cast<size_t>(place)];
  };
  std::string path;
  int64_t end = -1;  // Behind the newest sample.
  for (int64_t i = 0; i < count; ++i) {
    const int8_t value = at(i);
    end = value < 0 ? end : i + 1;
    if (value < 0 || (value == at(i - 1) && value == at(i + 1))) {
      continue;  // A level line needs only its ends.
    }
    absl::StrAppendFormat(&path, "%c%g %d", at(i - 1) < 0 ? 'M' : 'L', x(i),
                          static_cast<int64_t>(kHundred) - value);
    path += at(i - 1) < 0 && at(i + 1) < 0 ? "h1" : "";  // A sample alone.
  }
  if (end >= 0 && end < count) {
    absl::StrAppendFormat(&path, "M%g 0V100", x(end));
  }
  return path;
}

std::string PlotWords(std::string_view what, const std::vector<int8_t>& samples, int64_t step_ms) {
  constexpr int64_t kMsPerMinute = 60'000;
  std::vector<int8_t> known;
  std::ranges::copy_if(samples, std::back_inserter(known), [](int8_t value) { return value >= 0; });
  if (known.empty()) {
    return absl::StrFormat("%s: no samples", what);
  }
  const auto [least, most] = std::ranges::minmax(known);
  const auto minutes =
      std::max<int64_t>(static_cast<int64_t>(samples.size()) * step_ms / kMsPerMinute, 1);
  std::string words = absl::StrFormat("%s, %d %s: %d to %d", what, minutes,
                                      minutes == 1 ? "minute" : "minutes", least, most);
  return samples.back() < 0 ? words + ", now no sample"
                            : absl::StrFormat("%s, now %d percent", words, samples.back());
}

}  // namespace podgpu
