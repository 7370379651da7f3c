#include "fields/metric_patterns.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/status.h"
#include "base/text.h"
#include "fields/glob.h"
#include "fields/renamed_fields.h"

namespace podgpu {
namespace {

bool MatchesAny(const std::vector<std::string>& patterns, std::string_view name) {
  return std::ranges::any_of(
      patterns, [&](const std::string& pattern) { return GlobMatches(pattern, name); });
}

bool HasNumber(const Field& field) {
  return field.type == FieldType::kInt64 || field.type == FieldType::kDouble;
}

bool Lists(const std::vector<Counter>& counters, const Field& field) {
  return std::ranges::any_of(counters, [&](const Counter& counter) {
    return counter.field == &field && !counter.is_label();
  });
}

// Returns the oldest matching name of the field, because dashboards use the old names; empty when
// none matches.
std::string_view NameThatMatches(const Field& field, const std::vector<std::string>& patterns) {
  std::string_view oldest;
  if (HasNumber(field)) {
    oldest = MatchesAny(patterns, field.name) ? field.name : oldest;
    for (const std::string_view name : field.other_names) {
      oldest = !name.empty() && MatchesAny(patterns, name) ? name : oldest;
    }
  }
  return oldest;
}

Counter MakeCounter(const Field& field, std::string_view name) {
  const std::string unit = field.unit.empty() ? "" : absl::StrFormat(" (%s)", field.unit);
  return {.name = std::string(name),
          .field = &field,
          .type = "untyped",
          .help = absl::StrFormat("DCGM field %d%s.", field.id, unit)};
}

// Returns the line of that name in a built-in list, which has one for each renamed metric.
Counter BuiltInLine(std::string_view name) {
  for (const EmbeddedFile& list : CounterLists()) {
    const StatusOr<Counters> parsed = ParseCounters(list.bytes, list.name);
    PODGPU_CHECK(parsed.ok());
    const auto line = std::ranges::find(parsed->counters, name, &Counter::name);
    if (line != parsed->counters.end()) {
      return *line;
    }
  }
  PODGPU_CHECK(false);
  return {};
}

void AddOtherNames(std::vector<Counter>& counters) {
  const size_t count = counters.size();
  for (size_t i = 0; i < count; ++i) {
    const std::string_view other = OtherNameOf(counters[i].name);
    if (!other.empty() && std::ranges::find(counters, other, &Counter::name) == counters.end()) {
      counters.push_back(BuiltInLine(other));
    }
  }
}

bool IsExcluded(const Counter& counter, const std::vector<std::string>& exclude) {
  return MatchesAny(exclude, counter.name) ||
         (counter.field != nullptr && MatchesAny(exclude, counter.field->name));
}

void WarnOfIdle(const MetricPatterns& patterns, Counters& counters) {
  const auto warn = [&](std::string_view flag, const std::string& pattern) {
    counters.warnings.push_back(
        absl::StrFormat("%s: %s matches nothing. Correct it, or remove it", flag, Quoted(pattern)));
  };
  for (const std::string& pattern : patterns.include) {
    if (!std::ranges::any_of(Catalogue(), [&](const Field& field) {
          return !NameThatMatches(field, {pattern}).empty();
        })) {
      warn("--metrics-include", pattern);
    }
  }
  for (const std::string& pattern : patterns.exclude) {
    if (!std::ranges::any_of(counters.counters, [&](const Counter& counter) {
          return IsExcluded(counter, {pattern});
        })) {
      warn("--metrics-exclude", pattern);
    }
  }
}

}  // namespace

Counters Select(Counters counters, const MetricPatterns& patterns) {
  for (const Field& field : Catalogue()) {
    const std::string_view name = NameThatMatches(field, patterns.include);
    if (!name.empty() && !Lists(counters.counters, field)) {
      counters.counters.push_back(MakeCounter(field, name));
    }
  }
  if (patterns.both_names) {
    AddOtherNames(counters.counters);
  }
  WarnOfIdle(patterns, counters);
  std::erase_if(counters.counters,
                [&](const Counter& counter) { return IsExcluded(counter, patterns.exclude); });
  return counters;
}

}  // namespace podgpu
