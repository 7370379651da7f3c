#include "cli/metric_help.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "exporter/page_sections.h"
#include "fields/counters_csv.h"
#include "fields/field.h"
#include "source/nvml/catalogue.h"
#include "view/native_table.h"

namespace podgpu {
namespace {

struct Described {
  FamilyDoc doc;
  std::string shown_by;  // The views or the flag that show it.
};

std::string ShownBy(const DescribedSection& section) {
  if (section.views.empty()) {
    return "/metric, with --requested-vs-used=on";
  }
  std::string text = section.views.size() == 1 ? "view " : "views ";
  for (const View view : section.views) {
    text += view == section.views.front() ? "" : " and ";
    text += kViewNames.at(static_cast<size_t>(view));
  }
  return text + (section.of_processes ? ", with --process-metrics=on" : "");
}

// All families except those with DCGM's names.
std::vector<Described> AllFamilies() {
  std::vector<Described> all;
  for (DescribedSection& section : DescribedSections()) {
    for (FamilyDoc& doc : section.families) {
      all.push_back({std::move(doc), ShownBy(section)});
    }
  }
  return all;
}

std::string UnitText(std::string_view unit) {
  return unit.empty() ? "without a unit" : "in " + std::string(unit);
}

// Returns for example "DCGM field 155 (DCGM_FI_DEV_POWER_USAGE); with --source=nvml: driver".
std::string OriginText(const Field& field) {
  const std::string_view nvml = NvmlOrigin(field);
  return absl::StrFormat("DCGM field %d (%s); with --source=nvml: %s", field.id, field.name,
                         nvml.empty() ? "absent" : nvml);
}

std::string TextOfFamily(const Described& described) {
  const Family& family = described.doc.family;
  std::string text = absl::StrFormat("%s: %s, %s\n  %s\n  shown by: %s\n", family.name, family.type,
                                     UnitText(family.unit), family.help, described.shown_by);
  for (const uint16_t id : described.doc.field_ids) {
    if (const Field* const field = FindField(id); field != nullptr) {
      absl::StrAppendFormat(&text, "  from: %s\n", OriginText(*field));
    }
  }
  return text;
}

// Returns the meaning of the field in the words of the built-in counters lists or of the measure
// that it feeds; empty if neither has it.
std::string MeaningOf(const Field& field) {
  for (const EmbeddedFile& list : CounterLists()) {
    const StatusOr<Counters> counters = ParseCounters(list.bytes, list.name);
    if (!counters.ok()) {
      continue;
    }
    const auto counter = std::ranges::find(counters->counters, &field, &Counter::field);
    if (counter != counters->counters.end() && !counter->is_label()) {
      return absl::StrFormat("  %s\n", counter->help);
    }
  }
  for (const Measure& measure : Measures()) {
    if (measure.field_id == field.id && !measure.bit) {
      return absl::StrFormat("  %s\n", measure.help);
    }
  }
  return {};
}

std::string TextOfField(const Field& field) {
  std::string text = absl::StrFormat(
      "%s: %s\n%s  since DCGM %s\n  shown by: view dcgm, if the counters file or "
      "--metrics-include has a line with this name\n  from: %s\n",
      field.name, UnitText(field.unit), MeaningOf(field), field.since, OriginText(field));
  for (const std::string_view other : field.other_names) {
    if (!other.empty()) {
      absl::StrAppendFormat(&text, "  earlier name: %s\n", other);
    }
  }
  for (const Measure& measure : Measures()) {
    if (measure.field_id == field.id && text.find(measure.name) == std::string::npos) {
      absl::StrAppendFormat(&text, "  in base units: %s\n", measure.name);
    }
  }
  return text;
}

Status Unknown(std::string_view name, const std::vector<Described>& families) {
  std::vector<std::string_view> names;
  names.reserve(families.size() + Catalogue().size());
  for (const Described& described : families) {
    names.emplace_back(described.doc.family.name);
  }
  for (const Field& field : Catalogue()) {
    names.push_back(field.name);
  }
  const std::optional<std::string_view> nearest = Nearest(name, names);
  return absl::InvalidArgumentError(
      absl::StrFormat("help metrics: there is no metric %s%s. podgpu help metrics lists the names",
                      Quoted(name), nearest ? absl::StrFormat("; nearest is %s", *nearest) : ""));
}

}  // namespace

StatusOr<std::string> MetricHelp(std::string_view name) {
  const std::vector<Described> families = AllFamilies();
  if (name.empty()) {
    std::string names;
    for (const Described& described : families) {
      names += described.doc.family.name + "\n";
    }
    return names + "and the DCGM fields by their names, such as DCGM_FI_DEV_GPU_UTIL\n";
  }
  for (const Described& described : families) {
    if (described.doc.family.name == name) {
      return TextOfFamily(described);
    }
  }
  const Field* const field = FindFieldByName(name);
  return field != nullptr ? StatusOr<std::string>(TextOfField(*field)) : Unknown(name, families);
}

}  // namespace podgpu
