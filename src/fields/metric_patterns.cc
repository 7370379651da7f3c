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

bool HasLine(const std::vector<Counter>& counters, std::string_view name) {
  return std::ranges::find(counters, name, &Counter::name) != counters.end();
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

// Returns the names of the field that are a whole pattern.
std::vector<std::string_view> ExactNames(const Field& field,
                                         const std::vector<std::string>& patterns) {
  std::vector<std::string_view> names;
  const auto take = [&](std::string_view name) {
    if (!name.empty() && std::ranges::find(patterns, name) != patterns.end()) {
      names.push_back(name);
    }
  };
  if (HasNumber(field)) {
    take(field.name);
    std::ranges::for_each(field.other_names, take);
  }
  return names;
}

// Returns the line of that name in a built-in list, which has one for each renamed metric.
Counter BuiltInLine(std::string_view name, const ListsOfRelease& release) {
  for (const EmbeddedFile& list : CounterLists()) {
    const StatusOr<Counters> parsed = ParseBuiltIn({std::string(list.name), list.bytes}, release);
    PODGPU_CHECK(parsed.ok());
    const auto line = std::ranges::find(parsed->counters, name, &Counter::name);
    if (line != parsed->counters.end()) {
      return *line;
    }
  }
  PODGPU_CHECK(false);
  return {};
}

Counter MakeCounter(const Field& field, std::string_view name) {
  const std::string unit = field.unit.empty() ? "" : absl::StrFormat(" (%s)", field.unit);
  return {.name = std::string(name),
          .field = &field,
          .type = "untyped",
          .help = absl::StrFormat("DCGM field %d%s.", field.id, unit)};
}

void AddOtherNames(std::vector<Counter>& counters, const ListsOfRelease& release) {
  const size_t count = counters.size();
  for (size_t i = 0; i < count; ++i) {
    const std::string_view other = OtherNameOf(counters[i].name);
    if (!other.empty() && !HasLine(counters, other)) {
      counters.push_back(BuiltInLine(other, release));
    }
  }
}

bool IsExcluded(const Counter& counter, const std::vector<Counter>& all,
                const std::vector<std::string>& exclude) {
  return MatchesAny(exclude, counter.name) ||
         (counter.field != nullptr && MatchesAny(exclude, counter.field->name) &&
          !HasLine(all, counter.field->name));
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
          return IsExcluded(counter, counters.counters, {pattern});
        })) {
      warn("--metrics-exclude", pattern);
    }
  }
}

}  // namespace

Counters Select(Counters counters, const MetricPatterns& patterns) {
  for (const Field& field : Catalogue()) {
    for (const std::string_view name : ExactNames(field, patterns.include)) {
      if (!HasLine(counters.counters, name)) {
        counters.counters.push_back(MakeCounter(field, name));
      }
    }
    const std::string_view name = NameThatMatches(field, patterns.include);
    if (!name.empty() && !Lists(counters.counters, field)) {
      counters.counters.push_back(MakeCounter(field, name));
    }
  }
  if (patterns.both_names) {
    AddOtherNames(counters.counters, patterns.release);
  }
  WarnOfIdle(patterns, counters);
  const std::vector<Counter> all = counters.counters;
  std::erase_if(counters.counters,
                [&](const Counter& counter) { return IsExcluded(counter, all, patterns.exclude); });
  return counters;
}

}  // namespace podgpu
