#include "top/words.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr int64_t kSecond = 1'000, kMinute = 60 * kSecond, kHour = 60 * kMinute, kDay = 24 * kHour;
constexpr double kJoulesPerWh = 3'600;

struct StateWord {
  std::string_view state, short_word;
  Ink ink;
};
constexpr StateWord kStateWords[] = {
    {"ok", "ok", Ink::kPlain},
    {"degraded", "degr", Ink::kWarning},
    {"unresponsive", "unresp", Ink::kAlarm},
    {"lost", "lost", Ink::kAlarm},
    {"recovering", "recov", Ink::kProgress},
    {"starting", "start", Ink::kProgress},
    {"waiting", "wait", Ink::kProgress},
};

std::string Marked(const std::string& text, bool is_apportioned) {
  return is_apportioned ? "~" + text : text;
}

}  // namespace

std::string PercentWord(std::optional<double> ratio) {
  return ratio ? absl::StrFormat("%.0f", *ratio * 100) : std::string(kDash);
}

std::string GibWord(std::optional<uint64_t> bytes) {
  return bytes ? absl::StrFormat("%.1f", static_cast<double>(*bytes) / kGib) : std::string(kDash);
}

std::string MemoryWord(std::optional<uint64_t> bytes) {
  if (!bytes) {
    return std::string(kDash);
  }
  const double gib = static_cast<double>(*bytes) / kGib;
  constexpr double kGibPerTib = 1'024;
  return gib < kGibPerTib ? absl::StrFormat("%.1fG", gib)
                          : absl::StrFormat("%.1fT", gib / kGibPerTib);
}

std::string WattsWord(std::optional<double> watts, bool is_apportioned) {
  return watts ? Marked(absl::StrFormat("%.0f", *watts), is_apportioned) : std::string(kDash);
}

std::string PowerWord(double watts) {
  constexpr double kKilo = 1'000;
  return watts < kKilo ? absl::StrFormat("%.0f W", watts)
                       : absl::StrFormat("%.2f kW", watts / kKilo);
}

std::string EnergyWord(std::optional<double> joules, bool is_apportioned) {
  if (!joules) {
    return std::string(kDash);
  }
  const double wh = *joules / kJoulesPerWh;
  struct Step {
    double below;
    double divisor;
    int digits;
    const char* unit;
  };
  constexpr Step kSteps[] = {
      {49.5, 1, 1, "Wh"},  // From here on two decimals of a kWh tell as much.

      {995, 1e3, 2, "kWh"},
      {99.95e3, 1e3, 1, "kWh"},
      {999.5e3, 1e3, 0, "kWh"},
      {HUGE_VAL, 1e6, 1, "MWh"}};
  const Step& step = *std::ranges::find_if(kSteps, [wh](const Step& s) { return wh < s.below; });
  return Marked(absl::StrFormat("%.*f %s", step.digits, wh / step.divisor, step.unit),
                is_apportioned);
}

std::string IdleWord(int64_t ms, bool is_longer) {
  ms = std::max<int64_t>(ms, 0);
  constexpr int64_t kLongInHours = 10 * kHour, kLongInDays = 100 * kHour;
  const char* const mark = is_longer ? ">" : "";
  if (ms < kHour) {
    return absl::StrFormat("%s%dm", mark, ms / kMinute);
  }
  if (ms < kLongInHours || (ms < kDay && !is_longer)) {
    return absl::StrFormat("%s%dh%02dm", mark, ms / kHour, ms % kHour / kMinute);
  }
  return ms < kLongInDays ? absl::StrFormat("%s%dh", mark, ms / kHour)
                          : absl::StrFormat("%s%dd", mark, ms / kDay);
}

std::string IntervalWord(int64_t ms) {
  return ms % kSecond == 0 ? absl::StrFormat("%ds", ms / kSecond)
                           : absl::StrFormat("%.1fs", static_cast<double>(ms) / kSecond);
}

std::string GpusWord(const std::vector<uint32_t>& gpus) {
  std::string text;
  for (size_t i = 0; i < gpus.size();) {
    size_t last = i;
    while (last + 1 < gpus.size() && gpus[last + 1] == gpus[last] + 1) {
      ++last;
    }
    if (last < i + 2) {
      last = i;  // Two in a row are as short with a comma.
    }
    absl::StrAppendFormat(&text, "%s%d", text.empty() ? "" : ",", gpus[i]);
    if (last > i) {
      absl::StrAppendFormat(&text, "-%d", gpus[last]);
    }
    i = last + 1;
  }
  return text;
}

std::string_view ShortState(std::string_view state) {
  const auto* const row = std::ranges::find(kStateWords, state, &StateWord::state);
  return row == std::end(kStateWords) ? state : row->short_word;
}

Ink InkOfState(std::string_view state) {
  const auto* const row = std::ranges::find(kStateWords, state, &StateWord::state);
  return row == std::end(kStateWords) ? Ink::kPlain : row->ink;
}

}  // namespace podgpu
