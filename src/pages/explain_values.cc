#include "pages/explain_values.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "fields/field.h"
#include "health/lacked_metrics.h"

namespace podgpu {
namespace {

constexpr size_t kMostFieldsNamed = 3;

// Returns whether a healthy device may lack a value for this reason.
bool IsUsual(Absence absence) {
  return absence == Absence::kNotSupported || absence == Absence::kNoData;
}

struct Missing {
  size_t count = 0;
  std::vector<std::string> names;  // The first few.
};
using MissingByReason = std::array<Missing, kAbsenceCount>;

std::string Describe(const MissingByReason& missing) {
  std::string text;
  for (size_t i = 0; i < missing.size(); ++i) {
    const Missing& some = missing[i];
    if (some.count > 0) {
      const auto absence = static_cast<Absence>(i);
      absl::StrAppendFormat(&text, "; %d %s (%s): %s%s", some.count, AbsenceName(absence),
                            AbsenceMeaning(absence), Listed(some.names),
                            some.count > some.names.size() ? ", ..." : "");
    }
  }
  return text;
}

std::string_view JudgeValues(size_t present, const MissingByReason& missing) {
  if (missing[static_cast<size_t>(Absence::kStale)].count > 0) {
    return "withdrawn";
  }
  if (present == 0) {
    return "absent";
  }
  for (size_t i = 0; i < missing.size(); ++i) {
    if (missing[i].count > 0 && !IsUsual(static_cast<Absence>(i))) {
      return "degraded";
    }
  }
  return "ok";
}

std::string Spell(const Grid& grid, const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kText:
      return Quoted(grid.text(value));
    case Value::Kind::kInt64:
      return std::to_string(value.int64());
    case Value::Kind::kDouble:
    case Value::Kind::kAbsent:
      break;
  }
  return absl::StrFormat("%g", value.real());
}

// Returns "; NVML ... has them from Hopper on. Let DCGM ..." if the source never gives the field.
std::string WhyLacked(const Grid& grid, const Field* field) {
  const LackedFields* const lacked = grid.findings.lacked.get();
  if (lacked == nullptr || std::ranges::find(lacked->fields, field) == lacked->fields.end()) {
    return "";
  }
  return absl::StrFormat("; %s. %s", lacked->why, kLetDcgmRead);
}

}  // namespace

ExplainedStep ExplainValues(const Grid& grid, EntityId entity) {
  MissingByReason missing;
  size_t present = 0;
  size_t asked = 0;
  for (size_t i = 0; i < grid.fields().size(); ++i) {
    const FieldRow row{static_cast<uint16_t>(i)};
    if (!grid.ColumnsOf(row).Contains(entity)) {
      continue;
    }
    ++asked;
    const Value& value = grid.at(row, entity);
    if (value.present()) {
      ++present;
      continue;
    }
    Missing& some = missing[static_cast<size_t>(value.absence())];
    if (++some.count <= kMostFieldsNamed) {
      some.names.emplace_back(grid.fields()[i]->familiar_name());
    }
  }
  return {"values", JudgeValues(present, missing),
          absl::StrFormat("%d of %d fields%s", present, asked, Describe(missing))};
}

ExplainedStep ExplainMetric(const Grid& grid, EntityId entity, std::string_view metric) {
  const Field* const field = FindFieldByName(metric);
  if (field == nullptr) {
    return {"values", "absent",
            absl::StrFormat("DCGM has no field %s; use a name such as DCGM_FI_DEV_GPU_TEMP",
                            Quoted(metric))};
  }
  const std::optional<FieldRow> row = grid.RowOf(field->id);
  if (!row) {
    return {"values", "absent",
            absl::StrFormat("%s is not read: add the line \"%s, gauge, ...\" to the counters file",
                            metric, metric)};
  }
  if (!grid.ColumnsOf(*row).Contains(entity)) {
    return {"values", "absent",
            absl::StrFormat("%s is not a field of GPUs: rows of their parts carry it", metric)};
  }
  const Value& value = grid.at(*row, entity);
  if (!value.present()) {
    return {"values", "absent",
            absl::StrFormat("%s: %s (%s)%s", metric, AbsenceName(value.absence()),
                            AbsenceMeaning(value.absence()), WhyLacked(grid, field))};
  }
  return {
      "values", "ok",
      absl::StrFormat("%s is %s%s%s, sampled %.1f s before the reading", metric, Spell(grid, value),
                      field->unit.empty() ? "" : " ", field->unit, value.age_ms() / 1e3)};
}

}  // namespace podgpu
